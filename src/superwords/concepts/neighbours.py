"""Documents that are near each other by their words and by the words expected of them under their concepts."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

N_NEAREST = 5
_CANDIDATES = 50
_BLOCK = 256
_COMMON = 0.5  # share of the documents: a term of more says little of nearness and costs most of the time


def nearest(words: sparse.csr_array, expected: sparse.csr_array, n: int = N_NEAREST) -> sparse.csr_array:
    """(D, D): each document's n nearest others, their shares summing to 1; itself where it has none.

    Nearness is the cosine of the terms' weights times the affinity Σ_i √(p(i|d) p(i|d')) of the expected words: two
    documents are near that share rare words and speak of the same concepts.

    Parameters
    ----------
    words
        (D, terms) weights of the terms, such as BM25's.
    expected
        (D, V) probabilities of words under the documents' concepts.
    n
        How many neighbours.

    Examples
    --------
    >>> words = sparse.csr_array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> nearest(words, words / 2).toarray().round(2).tolist()
    [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    """
    return nearest_of(np.arange(words.shape[0]), words, words, expected, n)


def nearest_of(
    which: np.ndarray,
    own: sparse.csr_array,
    words: sparse.csr_array,
    expected: sparse.csr_array,
    n: int = N_NEAREST,
) -> sparse.csr_array:
    """(len(which), D): `nearest` of some documents, whose terms are weighted by the rows of `own`."""
    telling = _telling(words)
    others = normalize(words[:, telling]).T.tocsr()
    rows = normalize(own[:, telling])
    root = sparse.csr_array(expected.sqrt())
    blocks = [
        _nearest_block(which[a : a + _BLOCK], rows[a : a + _BLOCK] @ others, root, n)
        for a in range(0, len(which), _BLOCK)
    ]
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def _telling(words: sparse.csr_array) -> np.ndarray:
    """The terms that few enough documents have; all of a tiny corpus."""
    holders = np.bincount(words.indices, minlength=words.shape[1])
    return np.flatnonzero(holders <= max(_COMMON * words.shape[0], 10))


def _nearest_block(
    which: np.ndarray, cosine: sparse.csr_array, root: sparse.csr_array, n: int
) -> sparse.csr_array:
    near = cosine.toarray()
    at = np.arange(len(which))
    near[at, which] = 0.0
    n_candidates = min(_CANDIDATES, near.shape[1])
    candidates = np.argpartition(-near, n_candidates - 1, axis=1)[:, :n_candidates]
    value = np.take_along_axis(near, candidates, axis=1)
    left = root[np.repeat(which, n_candidates)]
    affinity = np.asarray(left.multiply(root[candidates.ravel()]).sum(axis=1)).reshape(value.shape)
    value = value * affinity
    best = np.argsort(-value, axis=1, kind="stable")[:, :n]
    candidates, value = np.take_along_axis(candidates, best, 1), np.take_along_axis(value, best, 1)
    total = value.sum(axis=1)
    alone = total <= 0
    candidates[alone, 0], value[alone, 0] = which[alone], 1.0
    share = value / np.where(alone, 1.0, total)[:, None]
    row = np.repeat(at, candidates.shape[1])
    found = sparse.csr_array(
        sparse.coo_array((share.ravel(), (row, candidates.ravel())), shape=(len(which), near.shape[1]))
    )
    found.eliminate_zeros()
    return found
