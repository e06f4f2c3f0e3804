"""Nearest documents, by their words and by the words expected under their concepts."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from superwords.search.terms import bm25

N_NEAREST = 5
_CANDIDATES = 50
_BLOCK = 256
# Documents, as a share or a number: more frequent terms discriminate little and cost most.
_COMMON, _MOST = 0.5, 5_000
NEAR_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
N_ITEMS, N_TERMS = 200, 8
_FEWEST_ITEMS, _FEWEST_TERMS = 10, 4
_DEFAULT_SHARE = 0.5  # where there are too few documents to choose by


def nearest(words: sparse.csr_array, expected: sparse.csr_array, n: int = N_NEAREST) -> sparse.csr_array:
    """Return (D, D): the shares of each document's n nearest others, or of itself where it has none.

    Similarity is the cosine of the terms' weights (`words`, such as BM25's) times the affinity Σ_i √(p(i|d) p(i|d')) of
    the `expected` words (D, V): near documents share rare words and use the same concepts.

    >>> words = sparse.csr_array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> nearest(words, words / 2).toarray().round(2).tolist()
    [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    """
    return nearest_of(np.arange(words.shape[0]), words, words, expected, n)


def nearest_of(
    which: np.ndarray,
    own_words: sparse.csr_array,
    words: sparse.csr_array,
    expected: sparse.csr_array,
    n: int = N_NEAREST,
) -> sparse.csr_array:
    """Return (len(which), D): `nearest` of some documents, with the rows of `own_words` as their terms."""
    n_documents, n_terms = words.shape
    holders = np.bincount(words.indices, minlength=n_terms)
    rare = np.flatnonzero(holders <= max(min(_COMMON * n_documents, _MOST), 10))  # all of a tiny corpus
    others = normalize(words[:, rare]).T.tocsr()
    rows = normalize(own_words[:, rare])
    root = sparse.csr_array(expected.sqrt())
    found, shares = np.zeros((len(which), n), np.int64), np.zeros((len(which), n), np.float32)
    for start in range(0, len(which), _BLOCK):
        cosine = sparse.csr_array(rows[start : start + _BLOCK] @ others)
        for r, own in enumerate(which[start : start + _BLOCK]):
            part = slice(cosine.indptr[r], cosine.indptr[r + 1])
            other, value = cosine.indices[part], cosine.data[part]
            other, value = other[other != own], value[other != own]
            if len(other) > _CANDIDATES:
                best = np.argpartition(-value, _CANDIDATES - 1)[:_CANDIDATES]
                other, value = other[best], value[best]
            value = value * (root[other] @ root[[own]].toarray().ravel())
            best = np.lexsort((other, -value))[:n]
            other, value = other[best], value[best]
            total = value.sum()
            other, value = (other, value / total) if total > 0 else (np.array([own]), np.ones(1))
            found[start + r, : len(other)], shares[start + r, : len(other)] = other, value
    row = np.repeat(np.arange(len(which)), n)
    near = sparse.coo_array((shares.ravel(), (row, found.ravel())), shape=(len(which), n_documents))
    near = sparse.csr_array(near)
    near.eliminate_zeros()
    return near


def known_item_share(
    counts: sparse.csr_array,
    words: sparse.csr_array,
    idf: np.ndarray,
    expected: sparse.csr_array,
    near: sparse.csr_array,
) -> float:
    """Return the weight of similar documents in a score, chosen by known-item search.

    For up to 200 documents, eight terms drawn by tf-idf (at most half of its terms) form a query and are removed from
    the document once. The result is the largest of `NEAR_SHARES` at which the mean reciprocal rank of the documents is
    within one standard error of the best.
    """
    rng = np.random.default_rng(0)
    which = np.flatnonzero(np.diff(counts.indptr) >= _FEWEST_TERMS)
    if len(which) < _FEWEST_ITEMS:
        return _DEFAULT_SHARE
    which = np.sort(rng.choice(which, min(N_ITEMS, len(which)), replace=False))
    query = sparse.vstack([_sample_terms(counts[[d]], idf, rng) for d in which], format="csr")
    rest = sparse.csr_array(counts[which] - query)
    rest.eliminate_zeros()
    reduced = bm25(rest, idf, float(counts.sum() / counts.shape[0]))
    own = np.asarray((query @ words.T).todense())
    at = np.arange(len(which))
    own[at, which] = np.asarray(query.multiply(reduced).sum(axis=1)).ravel()
    from_near = np.asarray((near @ own.T).T)
    reduced_near = nearest_of(which, reduced, words, expected)
    from_near[at, which] = np.asarray(reduced_near.multiply(own).sum(axis=1)).ravel()
    found = []
    for share in NEAR_SHARES:
        score = (1 - share) * own + share * from_near
        found.append(1 / (1 + (score > score[at, which][:, None]).sum(axis=1)))
    mean = np.mean(found, axis=1)
    best = int(np.argmax(mean))
    error = float(np.std(found[best]) / np.sqrt(len(which)))
    return max(share for share, value in zip(NEAR_SHARES, mean) if value >= mean[best] - error)


def _sample_terms(row: sparse.csr_array, idf: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
    weight = row.data * idf[row.indices]
    n_terms = min(N_TERMS, len(weight) // 2)
    chosen = rng.choice(row.indices, n_terms, replace=False, p=weight / weight.sum())
    ones = np.ones(len(chosen))
    return sparse.csr_array((ones, (np.zeros(len(chosen), int), chosen)), shape=row.shape)
