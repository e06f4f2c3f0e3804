"""Similarity of news items from their concepts, against people's judgements (Lee, Pincombe and Welsh, 2005)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

import superwords
from superwords.corpus.corpus import Corpus
from superwords.corpus.sentences import sentence_spans
from superwords.draws import Kept
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.settings import lam_by_use
from superwords.lab.baselines import Topics, hdp, lda
from superwords.lab.reproduce.corpora import data_path, read_lines, t_interval
from superwords.lab.reproduce.folder import make_folder, write_table
from superwords.plots import save_figure
from superwords.plots.figures import INK, PALETTE, bare, new_figure

ITEMS, JUDGEMENTS = "lee.jsonl.gz", "lee_similarities.txt"
CONCEPTS, CONCEPT_WEIGHTS = "concepts", "concepts, weights"
LSA_SIZES, LDA_SIZES = (20, 50, 100), (20, 50, 100)
MIN_DF = 2
LEAST_HALF = 10  # tokens
START = "kmeans:50"
N_SEEDS, N_SWEEPS, TOPIC_ITERATIONS, N_CHAINS = 3, 200, 300, 6


def load_items(data: Path) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """All items as a corpus of plain words, the rows that were judged, and the judgements."""
    records = read_lines(data_path(data, ITEMS))
    path = data_path(data, JUDGEMENTS)
    try:
        human = np.loadtxt(path, ndmin=2)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: this is not a table of numbers ({error}).") from None
    judged = np.flatnonzero([record.get("group") == "eval" for record in records])
    if human.shape != (len(judged), len(judged)):
        raise InputError(f"{path}: there are {len(judged)} judged items, but the table is {human.shape}.")
    texts, ids = [record["text"] for record in records], [record["id"] for record in records]
    return Corpus.from_texts(texts, ids, words="plain", min_df=MIN_DF), judged, human


def load_halves(data: Path) -> tuple[Corpus, np.ndarray]:
    """The items nobody judged, cut in two (every other sentence), and the rows of first and second halves, (2, n)."""
    texts = []
    for record in read_lines(data_path(data, ITEMS)):
        if record.get("group") != "eval":
            sentences = [record["text"][a:b] for a, b in sentence_spans(record["text"], "en")]
            texts += [" ".join(sentences[::2]), " ".join(sentences[1::2])]
    if len(texts) < 4:
        raise InputError(f"{data / ITEMS}: there are fewer than two items beside the judged ones.")
    corpus = Corpus.from_texts(texts, words="plain", min_df=MIN_DF)
    lengths = np.asarray(corpus.counts.sum(axis=1)).reshape(-1, 2)
    rows = 2 * np.flatnonzero((lengths >= LEAST_HALF).all(axis=1))
    return corpus, np.array([rows, rows + 1])


def half_accuracy(similarity: np.ndarray) -> float:
    """The share of other items' halves that a half's own other half is more similar to; both ways, ties half."""
    n = len(similarity) // 2
    accuracies = []
    for block in (similarity[:n, n:], similarity[n:, :n]):
        own = np.diag(block)[:, None]
        below = (block < own).sum(axis=1) + 0.5 * ((block == own).sum(axis=1) - 1)
        accuracies.append(float(below.mean()) / (n - 1))
    return float(np.mean(accuracies))


def agreement(similarity: np.ndarray, human: np.ndarray) -> float:
    """Pearson's correlation over the pairs of different items."""
    pairs = np.triu_indices(len(human), 1)
    return float(np.corrcoef(similarity[pairs], human[pairs])[0, 1])


def cosine(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit @ unit.T


def word_information(counts: sparse.csr_array) -> np.ndarray:
    """How much a word tells apart: the inverse document frequency that TF-IDF has too."""
    return TfidfTransformer().fit(counts).idf_


def tf_idf(counts: sparse.csr_array) -> Any:
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts)


def expected_words(model: ConceptModel, draws: Sequence[Kept]) -> np.ndarray:
    """(D, V): the probability that a document's next word is i, from its concepts and its own variant of each.

    Given a draw it is Σ_j E[π_j/S] f_ji θ_i / T_j, averaged over the draws.
    """
    order, alpha = model.order_, model.chains_[0].model.prior.alpha_pi
    total: sparse.csr_array | None = None
    for draw in draws:
        state = draw.state
        document = np.repeat(np.arange(len(order)), np.diff(state.doc_ptr))
        weight = alpha + draw.tokens.pair
        weight = weight / np.bincount(document, weight, len(order))[document]
        pair = np.repeat(np.arange(len(weight)), np.diff(state.pair_ptr))
        importance = state.theta[state.word]
        inside = np.bincount(pair, importance, len(weight))
        value = weight[pair] * importance / inside[pair]
        place = order[document[pair]], state.word
        drawn = sparse.csr_array(sparse.coo_array((value, place), shape=(len(order), len(state.theta))))
        total = drawn if total is None else total + drawn
    assert total is not None
    return total.toarray() / len(draws)


def concept_similarities(
    model: ConceptModel, rows: np.ndarray, information: np.ndarray
) -> dict[str, np.ndarray]:
    """Both readings of the concepts, each a mean over the chains: expected words, and the concepts' weights."""
    by_words, by_weights = [], []
    for chain in model.draws_.chains:
        by_words.append(cosine(expected_words(model, chain)[rows] * information))
        by_weights += [cosine(model.result_.weights_of(draw)[rows].toarray()) for draw in chain]
    return {CONCEPTS: np.mean(by_words, axis=0), CONCEPT_WEIGHTS: np.mean(by_weights, axis=0)}


def topic_similarities(
    name: str, chains: list[Topics], rows: np.ndarray, information: np.ndarray
) -> dict[str, np.ndarray]:
    """The same two readings of a topic model's chains."""
    weights = [cosine(topics.doc_topic[rows]) for topics in chains]
    words = [cosine(topics.doc_topic[rows] @ topics.topic_word * information) for topics in chains]
    return {name: np.mean(words, axis=0), f"{name}, weights": np.mean(weights, axis=0)}


def concepts_of(corpus: Corpus, seed: int, n_sweeps: int, n_chains: int, n_jobs: int | None) -> ConceptModel:
    """From the text alone; docs/lab/results.md says how the settings were chosen."""
    return superwords.fit(
        corpus,
        features=None,
        alpha_omega=0.05,
        lam=lam_by_use(corpus.counts, 10.0),
        b1=30.0 * corpus.n_documents,
        b2=10 + corpus.n_documents / 30,
        init=START,
        n_chains=n_chains,
        n_sweeps=n_sweeps,
        thin=5 if n_sweeps >= 20 else 1,
        random_state=seed,
        n_jobs=n_jobs,
        progress=False,
    )


def similarities(
    corpus: Corpus,
    rows: np.ndarray,
    seed: int,
    n_sweeps: int,
    iterations: int,
    n_chains: int,
    n_jobs: int | None = None,
) -> dict[str, np.ndarray]:
    """The similarity of the rows by every method that hangs on a seed; topic models have as many chains as ours."""
    counts, words = corpus.counts, corpus.vocabulary
    information = word_information(counts)
    weighted = tf_idf(counts)
    found = {}
    for size in LSA_SIZES:
        found[f"LSA {size}"] = cosine(TruncatedSVD(size, random_state=seed).fit_transform(weighted)[rows])
    seeds = range(seed * n_chains, (seed + 1) * n_chains)
    for size in LDA_SIZES:
        chains = [lda(counts, words, size, iterations, s) for s in seeds]
        found |= topic_similarities(f"LDA {size}", chains, rows, information)
        if n_chains > 1:
            single = topic_similarities(f"LDA {size}", chains[:1], rows, information)
            found |= {f"{name}, one chain": similarity for name, similarity in single.items()}
    chains = [hdp(counts, words, iterations, s) for s in seeds]
    found |= topic_similarities("HDP", chains, rows, information)
    model = concepts_of(corpus, seed, n_sweeps, n_chains, n_jobs)
    return found | concept_similarities(model, rows, information)


def reproduce(
    data: Path,
    folder: Path,
    n_seeds: int = N_SEEDS,
    n_sweeps: int = N_SWEEPS,
    iterations: int = TOPIC_ITERATIONS,
    n_chains: int = N_CHAINS,
    n_jobs: int | None = None,
    tell: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Writes lee_seeds.csv (as it grows), lee.csv (a row per method) and lee.png."""
    corpus, judged, human = load_items(data)
    make_folder(folder)
    tell(f"{corpus.n_documents} news items, {corpus.n_words} words; {len(judged)} items judged by people")
    plain = agreement(cosine(tf_idf(corpus.counts).toarray()[judged]), human)
    rows: list[dict[str, object]] = [{"method": "TF-IDF", "seed": 0, "pearson": plain}]
    each = pd.DataFrame(rows)
    for seed in range(n_seeds):
        found = similarities(corpus, judged, seed, n_sweeps, iterations, n_chains, n_jobs)
        values = {name: agreement(similarity, human) for name, similarity in found.items()}
        rows += [{"method": name, "seed": seed, "pearson": value} for name, value in values.items()]
        tell(f"seed {seed}: " + ", ".join(f"{name} {value:.3f}" for name, value in values.items()))
        each = pd.DataFrame(rows)
        write_table(each, folder / "lee_seeds.csv")
    table = _table(each)
    write_table(table, folder / "lee.csv")
    save_figure(_figure(table), folder / "lee.png")
    tell(_conclusion(table))
    return table


def match_halves(
    data: Path,
    folder: Path,
    n_sweeps: int = N_SWEEPS,
    iterations: int = TOPIC_ITERATIONS,
    n_chains: int = N_CHAINS,
    n_jobs: int | None = None,
    tell: Callable[[str], None] = print,
) -> pd.DataFrame:
    """What settings are chosen by, without a look at people's judgements: are halves of one item found similar?

    Writes halves.csv, a row per method, of one seed.
    """
    corpus, halves = load_halves(data)
    make_folder(folder)
    tell(f"{corpus.n_documents} halves of items, {corpus.n_words} words; {halves.shape[1]} pairs of halves")
    rows = halves.ravel()
    found = {"TF-IDF": cosine(tf_idf(corpus.counts).toarray()[rows])}
    found |= similarities(corpus, rows, 0, n_sweeps, iterations, n_chains, n_jobs)
    accuracy = pd.Series({name: half_accuracy(similarity) for name, similarity in found.items()})
    accuracy = accuracy.sort_values(ascending=False, kind="stable")
    for name, value in accuracy.items():
        tell(f"{name}: {value:.4f}")
    table = accuracy.rename_axis("method").reset_index(name="accuracy")
    write_table(table, folder / "halves.csv")
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
    others = mean.drop([CONCEPTS, CONCEPT_WEIGHTS])
    above = "; ".join(others.index[others < ours]) or "none"
    return (
        f"Concepts reach {ours:.3f}; the best of the others is {others.idxmax()} with {others.max():.3f}. "
        f"Concepts are above {above}."
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = new_figure(6.0, 0.9 + 0.32 * len(table))
    axes = figure.subplots()
    position = np.arange(len(table))
    ours = table["method"].isin([CONCEPTS, CONCEPT_WEIGHTS])
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
