"""Similarity of news items from their concepts, against people's judgements (Lee, Pincombe and Welsh, 2005)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from superwords.baselines import hdp, lda
from superwords.corpus import Corpus
from superwords.errors import InputError
from superwords.estimator import ConceptModel
from superwords.features import cooccurrence
from superwords.plots import save_figure
from superwords.plots.figures import INK, PALETTE, bare, new_figure
from superwords.reproduce.data import data_path, read_lines, t_interval

ITEMS, JUDGEMENTS = "lee.jsonl.gz", "lee_similarities.txt"
CONCEPTS, CONCEPTS_HELLINGER = "concepts", "concepts (Hellinger)"
LSA_SIZES, LDA_SIZES = (20, 50, 100), (20, 50, 100)
MIN_DF = 2
N_SWEEPS, TOPIC_ITERATIONS = 100, 1000


def load_items(data: Path) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """All items as a corpus of plain words, the rows that were judged, and the judgements."""
    records = read_lines(data_path(data, ITEMS))
    path = data_path(data, JUDGEMENTS)
    try:
        human = np.loadtxt(path, ndmin=2)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: this is no table of numbers ({error}).") from None
    judged = np.flatnonzero([record.get("group") == "eval" for record in records])
    if human.shape != (len(judged), len(judged)):
        raise InputError(f"{path}: there are {len(judged)} judged items, but the table is {human.shape}.")
    texts, ids = [record["text"] for record in records], [record["id"] for record in records]
    return Corpus.from_texts(texts, ids, words="plain", min_df=MIN_DF), judged, human


def agreement(similarity: np.ndarray, human: np.ndarray) -> float:
    """Pearson's correlation over the pairs of different items."""
    pairs = np.triu_indices(len(human), 1)
    return float(np.corrcoef(similarity[pairs], human[pairs])[0, 1])


def cosine(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit @ unit.T


def hellinger(rows: np.ndarray) -> np.ndarray:
    """The Bhattacharyya coefficient of weights that sum to 1: one less the squared Hellinger distance."""
    return np.sqrt(rows) @ np.sqrt(rows).T


def concept_similarity(
    model: ConceptModel, rows: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The posterior mean of the similarity: over all kept draws, each with its own concepts."""
    drawn: Iterable[np.ndarray] = (
        measure(model.weights_of(draw)[rows].toarray()) for draw in model.draws_.all()
    )
    return np.mean(list(drawn), axis=0)


def concepts_of(corpus: Corpus, seed: int, n_sweeps: int, n_jobs: int | None = None) -> ConceptModel:
    """The settings of `superwords fit`, with PPMI features (MODEL.md: better than log counts on debates)."""
    model = ConceptModel(
        b1="auto", b2="auto", n_chains=2, n_sweeps=n_sweeps, random_state=seed, n_jobs=n_jobs
    )
    return model.fit(corpus, features=cooccurrence(corpus, weighting="ppmi"))


def reproduce(
    data: Path,
    folder: Path,
    n_seeds: int = 3,
    n_sweeps: int = N_SWEEPS,
    iterations: int = TOPIC_ITERATIONS,
    n_jobs: int | None = None,
    tell: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Writes lee.csv (a row per method), lee_seeds.csv and lee.png."""
    corpus, judged, human = load_items(data)
    tell(f"{corpus.n_documents} news items, {corpus.n_words} words; {len(judged)} items judged by people")
    rows: list[dict[str, object]] = []

    def add(method: str, seed: int, similarity: np.ndarray) -> None:
        rows.append({"method": method, "seed": seed, "pearson": agreement(similarity, human)})

    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(corpus.counts)
    add("TF-IDF", 0, cosine(weighted.toarray()[judged]))
    for seed in range(n_seeds):
        for size in LSA_SIZES:
            reduced = TruncatedSVD(size, random_state=seed).fit_transform(weighted)
            add(f"LSA {size}", seed, cosine(reduced[judged]))
        for size in LDA_SIZES:
            topics = lda(corpus.counts, corpus.vocabulary, size, iterations, seed)
            add(f"LDA {size}", seed, cosine(topics.doc_topic[judged]))
        topics = hdp(corpus.counts, corpus.vocabulary, iterations, seed)
        add("HDP", seed, cosine(topics.doc_topic[judged]))
        model = concepts_of(corpus, seed, n_sweeps, n_jobs)
        add(CONCEPTS, seed, concept_similarity(model, judged, cosine))
        add(CONCEPTS_HELLINGER, seed, concept_similarity(model, judged, hellinger))
        last = {str(row["method"]): row["pearson"] for row in rows if row["seed"] == seed}
        tell(f"seed {seed}: " + ", ".join(f"{name} {value:.3f}" for name, value in last.items()))
    folder.mkdir(parents=True, exist_ok=True)
    each = pd.DataFrame(rows)
    each.to_csv(folder / "lee_seeds.csv", index=False)
    table = _table(each)
    table.to_csv(folder / "lee.csv", index=False)
    save_figure(_figure(table), folder / "lee.png")
    tell(_conclusion(table))
    return table


def _table(each: pd.DataFrame) -> pd.DataFrame:
    """A row per method, the best first; TF-IDF hangs on no seed and has no interval."""
    rows = []
    for method, own in each.groupby("method", sort=False):
        values = own["pearson"].to_numpy()
        low, high = t_interval(values)
        rows.append((method, float(values.mean()), low, high, len(values)))
    table = pd.DataFrame(rows, columns=pd.Index(["method", "pearson", "low", "high", "n_seeds"]))
    return table.sort_values("pearson", ascending=False, kind="stable").reset_index(drop=True)


def _conclusion(table: pd.DataFrame) -> str:
    mean = table.set_index("method")["pearson"]
    ours = float(mean[CONCEPTS])
    others = mean.drop([CONCEPTS, CONCEPTS_HELLINGER])
    above = ", ".join(others.index[others < ours]) or "none"
    return (
        f"Concepts reach {ours:.3f}; the best of the others is {others.idxmax()} with {others.max():.3f}. "
        f"Concepts are above {above}."
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = new_figure(6.0, 0.9 + 0.32 * len(table))
    axes = figure.subplots()
    position = np.arange(len(table))
    ours = table["method"].isin([CONCEPTS, CONCEPTS_HELLINGER])
    errors = np.nan_to_num([table["pearson"] - table["low"], table["high"] - table["pearson"]])
    colours = [PALETTE[1] if own else PALETTE[0] for own in ours]
    axes.barh(position, table["pearson"], color=colours, xerr=errors, ecolor=INK)
    axes.set_yticks(position, table["method"].tolist())
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("Pearson correlation with people's judgements", color=INK)
    bare(axes)
    figure.set_layout_engine("tight")
    return figure
