"""Documents that are near each other by their words and by the words expected of them under their concepts."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

N_NEAREST = 5
_CANDIDATES = 50
_BLOCK = 256
_COMMON, _MOST = 0.5, 5_000  # documents, as a share or a number: a term of more tells little and costs most


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
    found = np.zeros((len(which), n), np.int64), np.zeros((len(which), n), np.float32)
    for start in range(0, len(which), _BLOCK):
        cosine = sparse.csr_array(rows[start : start + _BLOCK] @ others)
        for r in range(cosine.shape[0]):
            other, value = _nearest(int(which[start + r]), cosine, r, root, n)
            found[0][start + r, : len(other)], found[1][start + r, : len(other)] = other, value
    row = np.repeat(np.arange(len(which)), n)
    near = sparse.coo_array((found[1].ravel(), (row, found[0].ravel())), shape=(len(which), words.shape[0]))
    near = sparse.csr_array(near)
    near.eliminate_zeros()
    return near


def _telling(words: sparse.csr_array) -> np.ndarray:
    """The terms that few enough documents have; all of a tiny corpus."""
    holders = np.bincount(words.indices, minlength=words.shape[1])
    return np.flatnonzero(holders <= max(min(_COMMON * words.shape[0], _MOST), 10))


def _nearest(
    own: int, cosine: sparse.csr_array, row: int, root: sparse.csr_array, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """A document's nearest others by a row of cosines, and their shares."""
    part = slice(cosine.indptr[row], cosine.indptr[row + 1])
    other, value = cosine.indices[part], cosine.data[part]
    other, value = other[other != own], value[other != own]
    if len(other) > _CANDIDATES:
        best = np.argpartition(-value, _CANDIDATES - 1)[:_CANDIDATES]
        other, value = other[best], value[best]
    value = value * (root[other] @ root[[own]].toarray().ravel())
    best = np.lexsort((other, -value))[:n]
    other, value = other[best], value[best]
    total = value.sum()
    return (other, value / total) if total > 0 else (np.array([own]), np.ones(1))
