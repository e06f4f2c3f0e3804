"""How far a search may trust similar documents, told by the corpus alone: documents must still be found."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from superwords.concepts.neighbours import nearest_of
from superwords.concepts.terms import bm25

NEAR_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
N_ITEMS, N_TERMS = 200, 8
_FEWEST_ITEMS, _FEWEST_TERMS = 10, 4
_UNTOLD = 0.5  # the share where too few documents can tell


def known_item_share(
    counts: sparse.csr_array,
    words: sparse.csr_array,
    told: np.ndarray,
    expected: sparse.csr_array,
    near: sparse.csr_array,
) -> float:
    """How much similar documents may add to a score: the most that does not cost documents their own queries.

    Of up to 200 documents, eight telling terms each (at most half of its terms) are made a query and taken out of the
    document once. The share is the largest of `NEAR_SHARES` at which the mean reciprocal rank of the documents is
    within one standard error of the best.
    """
    rng = np.random.default_rng(0)
    which = np.flatnonzero(np.diff(counts.indptr) >= _FEWEST_TERMS)
    if len(which) < _FEWEST_ITEMS:
        return _UNTOLD
    which = np.sort(rng.choice(which, min(N_ITEMS, len(which)), replace=False))
    query = sparse.vstack([_telling_terms(counts[[d]], told, rng) for d in which], format="csr")
    rest = sparse.csr_array(counts[which] - query)
    rest.eliminate_zeros()
    reduced = bm25(rest, told, float(counts.sum() / counts.shape[0]))
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


def _telling_terms(row: sparse.csr_array, told: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
    weight = row.data * told[row.indices]
    n_terms = min(N_TERMS, len(weight) // 2)
    chosen = rng.choice(row.indices, n_terms, replace=False, p=weight / weight.sum())
    ones = np.ones(len(chosen))
    return sparse.csr_array((ones, (np.zeros(len(chosen), int), chosen)), shape=row.shape)
