"""Similarity of news items from their concepts, against people's judgements (Lee, Pincombe and Welsh, 2005)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

import superwords
from experiments.harness import Lab, Topics, bars, data_path, fit_topics, means, read_lines
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.settings import lam_by_use
from superwords.posterior.draws import ChainDraws, Kept
from superwords.text.corpus import Corpus
from superwords.text.sentences import sentence_spans

ITEMS, JUDGEMENTS = "lee.jsonl.gz", "lee_similarities.txt"
CONCEPTS, CONCEPT_WEIGHTS = "concepts", "concepts, weights"
LSA_SIZES, LDA_SIZES = (20, 50, 100), (20, 50, 100)
MIN_DF = 2
LEAST_HALF = 10  # tokens
START = "kmeans:50"
NEEDS, LIBRARIES = (ITEMS,), ("tomotopy",)
QUICK = {"seeds": 1, "sweeps": 4, "iterations": 5, "chains": 1}


def load_items(data: Path) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """Read all items as a corpus of plain words, the rows that were judged, and the judgements."""
    records = read_lines(data / ITEMS)
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
    """Read the items nobody judged, cut in two, and the (2, n) rows of first and second halves."""
    texts = []
    for record in read_lines(data / ITEMS):
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
    """Return how often a half is more similar to its own other half than to others' halves; ties count half."""
    n = len(similarity) // 2
    accuracies = []
    for block in (similarity[:n, n:], similarity[n:, :n]):
        own = np.diag(block)[:, None]
        below = (block < own).sum(axis=1) + 0.5 * ((block == own).sum(axis=1) - 1)
        accuracies.append(float(below.mean()) / (n - 1))
    return float(np.mean(accuracies))


def agreement(similarity: np.ndarray, human: np.ndarray) -> float:
    """Return pearson's correlation over the pairs of different items."""
    pairs = np.triu_indices(len(human), 1)
    return float(np.corrcoef(similarity[pairs], human[pairs])[0, 1])


def cosine(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit @ unit.T


def word_information(counts: sparse.csr_array) -> np.ndarray:
    """Return the inverse document frequency of the words."""
    return TfidfTransformer().fit(counts).idf_


def tf_idf(counts: sparse.csr_array) -> Any:
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts)


def expected_words(model: ConceptModel, draws: ChainDraws | list[Kept]) -> np.ndarray:
    """Return the (D, V) probability that a document's next word is i, by its own variants of its concepts.

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


def concept_similarities(model: ConceptModel, rows: np.ndarray, information: np.ndarray) -> dict[str, np.ndarray]:
    """Return both readings of the concepts, each a mean over the chains: expected words, and the concepts' weights."""
    by_words = []
    for chain in model.draws_.chains:
        by_words.append(cosine(expected_words(model, chain)[rows] * information))
    by_weights = [cosine(one[rows].toarray()) for one in model.result_.drawn_weights()]
    return {CONCEPTS: np.mean(by_words, axis=0), CONCEPT_WEIGHTS: np.mean(by_weights, axis=0)}


def topic_similarities(
    name: str, chains: list[Topics], rows: np.ndarray, information: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the same two readings of a topic model's chains."""
    weights = [cosine(topics.doc_topic[rows]) for topics in chains]
    words = [cosine(topics.doc_topic[rows] @ topics.topic_word * information) for topics in chains]
    return {name: np.mean(words, axis=0), f"{name}, weights": np.mean(weights, axis=0)}


def concepts_of(corpus: Corpus, seed: int, n_sweeps: int, n_chains: int, n_jobs: int | None) -> ConceptModel:
    """Fit concepts to the text alone; docs/lab/results.md says how the settings were chosen."""
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
    """Return the similarity of the rows by every method that depends on a seed, with as many chains as ours."""
    counts = corpus.counts
    information = word_information(counts)
    weighted = tf_idf(counts)
    found = {}
    for size in LSA_SIZES:
        found[f"LSA {size}"] = cosine(TruncatedSVD(size, random_state=seed).fit_transform(weighted)[rows])
    seeds = range(seed * n_chains, (seed + 1) * n_chains)
    for size in LDA_SIZES:
        chains = [fit_topics("LDA", counts, iterations, s, k=size) for s in seeds]
        found |= topic_similarities(f"LDA {size}", chains, rows, information)
        if n_chains > 1:
            single = topic_similarities(f"LDA {size}", chains[:1], rows, information)
            found |= {f"{name}, one chain": similarity for name, similarity in single.items()}
    chains = [fit_topics("HDP", counts, iterations, s) for s in seeds]
    found |= topic_similarities("HDP", chains, rows, information)
    model = concepts_of(corpus, seed, n_sweeps, n_chains, n_jobs)
    return found | concept_similarities(model, rows, information)


def experiment(
    lab: Lab, seeds: int = 3, sweeps: int = 200, iterations: int = 300, chains: int = 6, halves: bool = False
) -> pd.DataFrame:
    """Write lee_seeds.csv (as it grows), lee.csv (a row per method) and lee.png.

    With `halves` match halves of the items that nobody judged instead, as settings were chosen.
    """
    if halves:
        return match_halves(lab, sweeps, iterations, chains)
    corpus, judged, human = load_items(lab.data)
    lab.say(f"{corpus.n_documents} news items, {corpus.n_words} words; {len(judged)} items judged by people")
    plain = agreement(cosine(tf_idf(corpus.counts).toarray()[judged]), human)
    each = lab.growing("lee_seeds.csv", sweeps=sweeps, iterations=iterations, chains=chains)
    if not each.has(method="TF-IDF"):
        each.add([{"method": "TF-IDF", "seed": 0, "pearson": plain}])
    for seed in range(seeds):
        if each.has(method=CONCEPTS, seed=seed):
            continue
        found = similarities(corpus, judged, seed, sweeps, iterations, chains, lab.jobs)
        values = {name: agreement(similarity, human) for name, similarity in found.items()}
        each.add([{"method": name, "seed": seed, "pearson": value} for name, value in values.items()])
        lab.say(f"seed {seed}: " + ", ".join(f"{name} {value:.3f}" for name, value in values.items()))
    table = means(each.table[each.table["seed"] < seeds], ["method"], "pearson", "n_seeds")
    table = table.sort_values("pearson", ascending=False, kind="stable").reset_index(drop=True)
    lab.table("lee.csv", table)
    title = "Pearson correlation with people's judgements"
    lab.figure("lee.png", bars(table, "method", "pearson", title, (CONCEPTS, CONCEPT_WEIGHTS)))
    others = table.set_index("method")["pearson"].drop([CONCEPTS, CONCEPT_WEIGHTS])
    ours = table.set_index("method")["pearson"][CONCEPTS]
    lab.say(
        f"Concepts reach {ours:.3f}; the best of the others is {others.idxmax()} with {others.max():.3f}. "
        f"Concepts are above {'; '.join(others.index[others < ours]) or 'none'}."
    )
    return table


def match_halves(lab: Lab, n_sweeps: int, iterations: int, n_chains: int) -> pd.DataFrame:
    """Write halves.csv, by which settings are chosen without people's judgements: are halves of an item similar?"""
    corpus, halves = load_halves(lab.data)
    lab.say(f"{corpus.n_documents} halves of items, {corpus.n_words} words; {halves.shape[1]} pairs of halves")
    rows = halves.ravel()
    found = {"TF-IDF": cosine(tf_idf(corpus.counts).toarray()[rows])}
    found |= similarities(corpus, rows, 0, n_sweeps, iterations, n_chains, lab.jobs)
    accuracy = pd.Series({name: half_accuracy(similarity) for name, similarity in found.items()})
    accuracy = accuracy.sort_values(ascending=False, kind="stable")
    table = accuracy.rename_axis("method").reset_index(name="accuracy")
    lab.table("halves.csv", table, show=True)
    return table
