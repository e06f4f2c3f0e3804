"""Initial states, in which some concept explains every word of every document.

The default, "rows", agrees best over seeds and over samples of the documents (docs/lab/reliability.md).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from superwords.errors import InputError
from superwords.sampler.init.hdp import TokenTopics, draw_topics
from superwords.sampler.init.rows import assign_tokens, row_vectors, word_shares
from superwords.sampler.model import Data, Prior
from superwords.sampler.random import INITIAL, new_stream
from superwords.sampler.simulate import draw_structure
from superwords.sampler.state import State, n_concepts, sort_pairs

NUMBERED = ("rows", "topics", "kmeans", "random")
STARTS = (*NUMBERED, "single", "prior")
_WORDS_PER_CLUSTER = 20
_ROOT_OF_TOKENS_PER_TOPIC = 10.0  # √N / 10 topics of N tokens: 20 of 40,000, 32 of 100,000
_ROWS, _GROWTH = 0.24, 0.4  # at most 0.24 N^0.4 clusters of rows: 17 of 40,000 (docs/lab/reliability.md)
_STRUCTURE = 1  # a separate stream: the simulator that may have made the documents uses 0


def initial_state(
    init: str, data: Data, prior: Prior, theta: np.ndarray, seed: int, chain: int, shares: np.ndarray | None = None
) -> State:
    """Return the start named by `init`, such as rows, rows:20 or single.

    `init` is rows[:n], topics[:n], kmeans[:n], random[:n], single or prior, with n concepts. `shares` are the word
    shares (K, V) of the clusters of rows, if they are known.
    """
    name, number = parse_start(init)
    rng = np.random.default_rng([seed, chain, INITIAL])
    vocabulary = len(data.known)
    if name == "rows":
        if shares is None:
            shares = row_shares(data, number or usual_number(data, name))
        tokens = assign_tokens(counts_of(data), shares, new_stream(seed, chain))
        return _from_topics(tokens, data, prior, theta, rng)
    if name == "topics":
        n = number or usual_number(data, name)
        topics = draw_topics(counts_of(data), min(n, vocabulary), new_stream(seed, chain))
        return _from_topics(topics, data, prior, theta, rng)
    n = min(vocabulary, number or max(2, round(vocabulary / _WORDS_PER_CLUSTER)))
    if name == "single":
        return _from_partition(np.zeros(vocabulary, int), data, prior, theta, rng, everywhere=True)
    if name == "kmeans":
        return _from_partition(_cluster_words(data, n, rng), data, prior, theta, rng)
    if name == "random":
        return _from_partition(rng.integers(n, size=vocabulary), data, prior, theta, rng)
    return _from_prior(data, prior, theta, seed, chain, rng)


def usual_number(data: Data, start: str) -> int:
    """Return the default number of initial concepts: √N / 10 of N tokens, at least 2."""
    n_tokens = float(data.count.sum())
    number = math.sqrt(n_tokens) / _ROOT_OF_TOKENS_PER_TOPIC
    if start == "rows":
        number = min(number, _ROWS * n_tokens**_GROWTH)
    return max(2, round(number))


def row_shares(
    data: Data,
    n: int,
    source: np.ndarray | None = None,
    word_vectors: np.ndarray | None = None,
    vectors: np.ndarray | None = None,
    picked: np.ndarray | None = None,
    beside_words: bool = False,
) -> np.ndarray:
    """Return the word shares (K, V) of about `n` clusters of rows.

    `source` (D) is the document of each row, each its own by default; only the rows `picked` are clustered. Rows have
    the given `vectors` (D, F), those of their words, or both with equal weights (`beside_words`). Words have
    `word_vectors` (V, F; NaN where unknown), by default the model's features or else the rows that they occur in.
    """
    counts = counts_of(data)
    source = np.arange(counts.shape[0]) if source is None else source
    if picked is not None:
        counts, source = sparse.csr_array(counts[picked]), source[picked]
        vectors = None if vectors is None else vectors[picked]
    if vectors is None or beside_words:
        if word_vectors is None and data.known.any() and data.Y.shape[1]:
            word_vectors = np.where(data.known[:, None], data.Y, np.nan)
        of_words = row_vectors(counts, _profiles(counts) if word_vectors is None else word_vectors)
        vectors = of_words if vectors is None else np.hstack([of_words, normalize(vectors)])
    used = np.diff(counts.indptr) > 0  # empty rows carry no information
    if not used.any():
        return np.full((1, counts.shape[1]), 1 / counts.shape[1])
    return word_shares(sparse.csr_array(counts[used]), normalize(vectors[used]), source[used], n)


def parse_start(init: str) -> tuple[str, int | None]:
    """Return the name of a start and its number of concepts, if one is given."""
    name, _, number = init.partition(":") if isinstance(init, str) else ("", "", "")
    if number and not (number.isdigit() and int(number) > 0 and name in NUMBERED):
        remedy = "give e.g. 'rows', 'rows:30', 'kmeans:60', 'single' or 'prior'"
        raise InputError("is not understood", "init", init, remedy)
    if name not in STARTS:
        remedy = "choose 'rows', 'topics', 'kmeans', 'random', 'single' or 'prior'"
        raise InputError("is not known", "init", init, remedy)
    return name, int(number) if number else None


def _from_topics(topics: TokenTopics, data: Data, prior: Prior, theta: np.ndarray, rng: np.random.Generator) -> State:
    """Return a state with the words and documents of each topic; draw π given it."""
    n_rows, vocabulary = len(data.length), len(data.known)
    used, concept = np.unique(topics.topic, return_inverse=True)
    pair_of_token = topics.row * len(used) + concept
    entry = np.unique(pair_of_token * vocabulary + topics.word)
    pair, first = np.unique(entry // vocabulary, return_index=True)
    row = pair // max(1, len(used))
    doc_ptr = np.searchsorted(row, np.arange(n_rows + 1))
    tokens = np.bincount(np.searchsorted(pair, pair_of_token), minlength=len(pair))
    weight = rng.gamma(prior.alpha_pi + tokens)
    total = rng.gamma(np.maximum(1, np.diff(doc_ptr)) * prior.alpha_pi)
    weight *= (total / np.maximum(np.bincount(row, weight, n_rows), 1e-300))[row]
    return State(
        doc_ptr.astype(np.int64),
        (pair % max(1, len(used))).astype(np.int32),
        np.maximum(weight, 1e-300),
        np.append(first, len(entry)).astype(np.int64),
        (entry % vocabulary).astype(np.int32),
        theta.copy(),
    )


def _cluster_words(data: Data, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Cluster words by spherical k-means on features, or else on their documents."""
    known = data.known & bool(data.Y.shape[1])
    counts = counts_of(data)
    if known.sum() < 2:
        return _kmeans(_profiles(counts), n_clusters, rng)
    cluster = np.zeros(len(known), int)
    cluster[known] = _kmeans(data.Y[known], min(n_clusters, int(known.sum())), rng)
    if not known.all():
        member = sparse.csr_array(
            (np.ones(known.sum()), (np.flatnonzero(known), cluster[known])), shape=(len(known), n_clusters)
        )
        share = normalize(sparse.csr_array(counts @ member), norm="l1")
        cluster[~known] = np.asarray((counts.T[~known] @ share).toarray()).argmax(axis=1)
    return cluster


def _kmeans(vectors: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    directions = normalize(vectors)
    n_clusters = min(n_clusters, len(np.unique(directions, axis=0)))
    seed = int(rng.integers(2**31))
    return KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(directions)


def _profiles(counts: sparse.csr_array) -> np.ndarray:
    """Return words by the documents that use them, in at most 50 dimensions."""
    presence = sparse.csr_array(np.log1p(counts.astype(float)).T)
    smallest = min(presence.shape)
    if smallest <= 51:
        return presence.toarray()
    return TruncatedSVD(50, random_state=0).fit_transform(presence)


def counts_of(data: Data) -> sparse.csr_array:
    """Return the counts (D, V) as a matrix."""
    return sparse.csr_array((data.count, data.word, data.doc_ptr), shape=(len(data.length), len(data.known)))


def _from_partition(
    cluster: np.ndarray, data: Data, prior: Prior, theta: np.ndarray, rng: np.random.Generator, everywhere: bool = False
) -> State:
    """Return a state in which each cluster is a concept with all its words on.

    The concept is held by the documents that use one of its words, or with `everywhere` by all.
    """
    counts = counts_of(data)
    used, cluster = np.unique(cluster, return_inverse=True)
    member = sparse.csr_array((np.ones(len(cluster)), (np.arange(len(cluster)), cluster)))
    holds = sparse.csr_array(counts @ member)
    holds.sort_indices()
    if everywhere:
        holds = sparse.csr_array(np.ones((counts.shape[0], len(used))))
    words_of = [np.flatnonzero(cluster == j).astype(np.int32) for j in range(len(used))]
    concept = holds.indices.astype(np.int32)
    sizes = np.array([len(words) for words in words_of])
    return State(
        holds.indptr.astype(np.int64),
        concept,
        np.maximum(rng.gamma(prior.alpha_pi, size=len(concept)), 1e-300),
        np.concatenate([[0], np.cumsum(sizes[concept])]).astype(np.int64),
        np.concatenate([words_of[j] for j in concept] or [np.zeros(0, np.int32)]),
        theta.copy(),
    )


def _from_prior(data: Data, prior: Prior, theta: np.ndarray, seed: int, chain: int, rng: np.random.Generator) -> State:
    """Draw from the prior; add a concept of all words where documents need one."""
    state = draw_structure(prior, data.length, theta.copy(), new_stream(seed, chain), _STRUCTURE)
    counts = counts_of(data)
    on = sparse.csr_array((np.ones(len(state.word)), state.word, state.pair_ptr[state.doc_ptr]), counts.shape)
    n_explained = (counts > 0).multiply(on > 0).sum(axis=1)
    needing = np.flatnonzero(n_explained < np.diff(data.doc_ptr))
    per_doc, n, vocabulary = np.diff(state.doc_ptr), len(needing), len(data.known)
    return sort_pairs(
        np.concatenate([np.repeat(np.arange(len(per_doc)), per_doc), needing]),
        np.concatenate([state.concept, np.full(n, n_concepts(state), np.int32)]),
        np.concatenate([state.weight, np.maximum(rng.gamma(prior.alpha_pi, size=n), 1e-300)]),
        np.concatenate([np.diff(state.pair_ptr), np.full(n, vocabulary)]),
        np.concatenate([state.word, np.tile(np.arange(vocabulary, dtype=np.int32), n)]),
        state,
    )[0]
