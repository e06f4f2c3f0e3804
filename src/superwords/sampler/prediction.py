"""What our concepts predict of the words of a new document that were not shown (docs/lab/compare.md).

The fold-in's chain draws c, f and π given the words that were shown. Given z, a word i that was not shown has
probability Σ_j E[π_j/S] E[θ_i f_ji/T_j], and that is averaged over the sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.fold_in import Asked, predict_words
from superwords.sampler.leave_one_out import LeaveOneOutCounts
from superwords.sampler.model import Data, make_data

SWEEPS, BURN_IN = 30, 10
_SPLIT_SEED = 20120322  # one split for all models and all seeds
_LEAST_TOKENS = 2


class Halves(NamedTuple):
    """Documents of which some tokens are shown, and the tokens to predict."""

    first: sparse.csr_array  # (W, V) counts a model may see
    row: np.ndarray  # (N) document of each token to predict, ascending
    word: np.ndarray  # (N) its word


def make_halves(counts: sparse.csr_array) -> Halves:
    """Split the tokens of documents with at least two at random into two halves."""
    rng = np.random.default_rng(_SPLIT_SEED)
    seen: list[np.ndarray] = []
    hidden: list[np.ndarray] = []
    for d in range(counts.shape[0]):
        part = slice(counts.indptr[d], counts.indptr[d + 1])
        tokens = rng.permutation(np.repeat(counts.indices[part], counts.data[part]))
        if len(tokens) >= _LEAST_TOKENS:
            middle = (len(tokens) + 1) // 2
            seen.append(tokens[:middle])
            hidden.append(np.sort(tokens[middle:]))
    first = sparse.csr_array(
        (np.ones(_total(seen), np.int32), (_rows(seen), _joined(seen))), shape=(len(seen), counts.shape[1])
    )
    first.sum_duplicates()
    return Halves(first, _rows(hidden), _joined(hidden))


def _total(parts: list[np.ndarray]) -> int:
    return sum(map(len, parts))


def _rows(parts: list[np.ndarray]) -> np.ndarray:
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)


def predict(concepts: LeaveOneOutCounts, halves: Halves, seed: int, n_sweeps: int = SWEEPS) -> np.ndarray:
    """Return (N) the probability of each token to predict."""
    if not len(halves.row) or not len(concepts.holders):
        return np.zeros(len(halves.row))
    first, n_words = halves.first, halves.first.shape[1]
    data = make_data(first, None)
    cells, place = np.unique(halves.row * n_words + halves.word, return_inverse=True)
    row, word = np.divmod(cells, n_words)
    longest = int(np.diff(data.doc_ptr).max())
    asked = Asked(
        ptr=np.searchsorted(row, np.arange(first.shape[0] + 1)).astype(np.int64),
        word=word.astype(np.int64),
        own=np.array(_places(data, row, word), np.int64),
        on=np.zeros(int(np.bincount(row).max()), np.uint8),
        shown=np.zeros(longest, np.uint8),
    )
    burn_in = min(BURN_IN, n_sweeps // 3)
    return predict_words(concepts, data, asked, seed, n_sweeps, burn_in)[place] / (n_sweeps - burn_in)


def _places(data: Data, row: np.ndarray, word: np.ndarray) -> Sequence[int]:
    found = []
    for d, i in zip(row, word):
        at = np.flatnonzero(data.word[data.doc_ptr[d] : data.doc_ptr[d + 1]] == i)
        found.append(int(at[0]) if len(at) else -1)
    return found
