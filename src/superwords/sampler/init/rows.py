"""Deterministic start: clusters of rows that are found in most subsamples.

Rows of many random 80% samples of the documents are clustered by spherical k-means. The clusters of all samples, each
described by its distinctive words, are clustered in turn, and those found in most samples give the word shares φ by
which tokens are assigned to concepts (docs/model.md, docs/lab/reliability.md).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.preprocessing import normalize

from superwords.sampler.init.hdp import TokenTopics, tokens_of
from superwords.sampler.jit import kernel
from superwords.sampler.random import INITIAL, open_stream, uniform

SHARE = 0.8  # of the documents in a sample
FEWEST_DOCUMENTS = 20  # with fewer, rows are sampled instead of documents
_SAMPLES, _RESTARTS, _ITERATIONS = 30, 3, 30
_MOST_CLUSTERS = 3_000  # over all samples, since their distances are kept in memory
_FEWEST_SAMPLES = 5
_SUPPORT = 0.6  # share of the samples that a cluster must be found in
_MOST_CUTS = 3  # times the requested number of clusters
_MIXED = 0.05  # share of the corpus frequencies in φ, so that every word has a cluster
_PASSES, _ALPHA = 20, 0.1
_SEED = 20120614


def row_vectors(counts: sparse.csr_array, word_vectors: np.ndarray) -> np.ndarray:
    """Return (D, F) r_d = Σ_i #_di idf_i y_i of length 1, of each row's word vectors.

    Words without a vector (NaN) take that of their rows. Rows without any known word are zero.
    """
    idf = np.log((1 + counts.shape[0]) / (1 + np.bincount(counts.indices, minlength=counts.shape[1]))) + 1
    weights = counts.data * idf[counts.indices]
    weighted = sparse.csr_array((weights, counts.indices, counts.indptr), counts.shape)
    known = ~np.isnan(word_vectors).any(axis=1)
    vectors = np.where(known[:, None], word_vectors, 0.0)
    rows = normalize(weighted @ vectors)
    if not known.all():
        size = np.linalg.norm(vectors[known], axis=1).mean() if known.any() else 1.0
        vectors[~known] = size * normalize(weighted.T @ rows)[~known]
        rows = normalize(weighted @ vectors)
    return rows


def sample_rows(source: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of a random 80% of the documents; of few documents, 80% of the rows."""
    first, document = np.unique(source, return_index=True, return_inverse=True)[1:]
    if len(first) < FEWEST_DOCUMENTS:
        return np.sort(rng.choice(len(source), math.ceil(SHARE * len(source)), replace=False))
    drawn = np.argsort(first)[rng.choice(len(first), round(SHARE * len(first)), replace=False)]
    return np.flatnonzero(np.isin(document, drawn))


def word_shares(counts: sparse.csr_array, vectors: np.ndarray, source: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return φ (K, V), the word shares of about `n_clusters` clusters of rows.

    `vectors` (D, F) have unit length, `source` (D) is the document of each row.
    """
    rng = np.random.default_rng(_SEED)
    vectors = np.asarray(vectors, np.float32)
    n_clusters = max(1, min(n_clusters, len(vectors)))
    shares = None
    if len(vectors) >= 2 * FEWEST_DOCUMENTS and n_clusters > 1:
        shares = _consensus_shares(counts, vectors, source, n_clusters, rng)
    if shares is None or len(shares) < 2:
        restarts = _RESTARTS * _FEWEST_SAMPLES
        shares = _distinctive(counts, spherical_kmeans(vectors, n_clusters, rng, restarts), n_clusters)
    frequency = np.asarray(counts.sum(axis=0), float).ravel() / max(1, counts.sum())
    return (1 - _MIXED) * shares + _MIXED * frequency


def _consensus_shares(
    counts: sparse.csr_array, vectors: np.ndarray, source: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the mean word shares of the clusters that are found in most samples."""
    n_samples = max(_FEWEST_SAMPLES, min(_SAMPLES, _MOST_CLUSTERS // n))
    found, sample = [], []
    for b in range(n_samples):
        rows = sample_rows(source, rng)
        label = spherical_kmeans(vectors[rows], n, rng, _RESTARTS)
        found.append(_distinctive(sparse.csr_array(counts[rows]), label, n))
        sample += [b] * len(found[-1])
    shares = np.vstack(found)
    group, kept = _supported(shares, np.array(sample), n, n_samples)
    means = [shares[group == one].mean(axis=0) for one in kept]
    return np.array(means).reshape(len(means), counts.shape[1])


def _supported(shares: np.ndarray, sample: np.ndarray, n: int, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each cluster's group, and the about `n` groups found in most samples."""
    # Ward's method on Hellinger distances, cut at n groups or further down, until n are found in most samples
    root = np.sqrt(shares)
    distance = np.sqrt(np.maximum(2 - 2 * (root @ root.T), 0))
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), method="ward")
    best = np.zeros(len(sample), int), np.zeros(0, int)
    for cut in range(n, min(_MOST_CUTS * n, len(sample)) + 1):
        group = fcluster(tree, cut, "maxclust")
        pairs = np.unique(group.astype(np.int64) * n_samples + sample)
        support = np.bincount(pairs // n_samples) / n_samples
        kept = np.flatnonzero(support >= _SUPPORT)
        if len(kept) > len(best[1]):
            best = group, kept
        if len(kept) >= n:
            break
    return best


def _distinctive(counts: sparse.csr_array, cluster: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return (K, V) word shares times log lift of each cluster, normalised to sum 1."""
    n_rows = counts.shape[0]
    member = sparse.csr_array((np.ones(n_rows), cluster, np.arange(n_rows + 1)), shape=(n_rows, n_clusters))
    tokens = (member.T @ counts).toarray()
    tokens = tokens[tokens.sum(axis=1) > 0]
    share = tokens / tokens.sum(axis=1, keepdims=True)
    frequency = tokens.sum(axis=0) / tokens.sum()
    lift = np.log(np.divide(share, frequency, out=np.ones_like(share), where=share > 0))
    distinctive = share * np.maximum(lift, 0)
    total = distinctive.sum(axis=1, keepdims=True)
    return np.where(total > 1e-12, distinctive / np.where(total > 1e-12, total, 1.0), share)


def spherical_kmeans(vectors: np.ndarray, n_clusters: int, rng: np.random.Generator, n_restarts: int) -> np.ndarray:
    """Return the cluster of each unit vector: the best of several runs of Lloyd."""
    # Not by scikit-learn, whose sums depend on the number of threads
    best, labels = -np.inf, np.zeros(len(vectors), int)
    for _ in range(n_restarts):
        label, fit = _lloyd(vectors, _far_apart(vectors, n_clusters, rng))
        if fit > best:
            best, labels = fit, label
    return labels


def _far_apart(vectors: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return first centres by greedy k-means++."""
    n_tried = 2 + int(math.log(n_clusters))
    chosen = [int(rng.integers(len(vectors)))]
    nearest = vectors @ vectors[chosen[0]]
    for _ in range(1, n_clusters):
        reach = np.cumsum(np.maximum(1 - nearest, 0), dtype=float)
        tried = np.minimum(np.searchsorted(reach, rng.random(n_tried) * reach[-1]), len(vectors) - 1)
        nearer = np.maximum(nearest[:, None], vectors @ vectors[tried].T)
        best = int(nearer.sum(axis=0).argmax())
        chosen.append(int(tried[best]))
        nearest = nearer[:, best]
    return vectors[chosen]


def _lloyd(vectors: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """Return clusters and the sum of the cosines with their centres."""
    n = len(vectors)
    label, ones = np.full(n, -1), np.ones(n, vectors.dtype)
    for _ in range(_ITERATIONS):
        cosines = vectors @ centres.T
        before, label = label, cosines.argmax(axis=1)
        if np.array_equal(before, label):
            break
        member = sparse.csr_array((ones, label, np.arange(n + 1)), shape=(n, len(centres)))
        centres = member.T @ vectors
        size = np.linalg.norm(centres, axis=1)
        empty = np.flatnonzero(size < 1e-6)
        if len(empty):
            farthest = np.argsort(cosines.max(axis=1), kind="stable")[: len(empty)]
            centres[empty], size[empty] = vectors[farthest], 1.0
        centres /= size[:, None]
    return label, float(cosines.max(axis=1).sum(dtype=float))


def assign_tokens(counts: sparse.csr_array, shares: np.ndarray, stream: np.ndarray) -> TokenTopics:
    """Return a concept for every token: Gibbs passes over each row with φ fixed."""
    tokens, row_ptr = tokens_of(counts)
    _assign(row_ptr, tokens.word, tokens.topic, np.ascontiguousarray(shares.T), stream)
    return tokens


@kernel
def _assign(row_ptr, word, topic, share, stream):
    n_topics = share.shape[1]
    in_row, weight = np.zeros(n_topics), np.empty(n_topics)
    for d in range(len(row_ptr) - 1):
        open_stream(stream, INITIAL, 0, d)
        for turn in range(_PASSES + 1):
            for n in range(row_ptr[d], row_ptr[d + 1]):
                if turn > 0:
                    in_row[topic[n]] -= 1.0
                whole = 0.0
                for t in range(n_topics):
                    whole += (in_row[t] + _ALPHA) * share[word[n], t]
                    weight[t] = whole
                t, at = 0, uniform(stream) * whole
                while t < n_topics - 1 and weight[t] < at:
                    t += 1
                topic[n] = t
                in_row[t] += 1.0
        for n in range(row_ptr[d], row_ptr[d + 1]):
            in_row[topic[n]] = 0.0
