"""Predict held-out words of new documents (docs/lab/compare.md).

The fold-in's chain draws c, f and π given the observed words. Given z, a held-out word i has probability
Σ_j E[π_j/S] E[θ_i f_ji/T_j], which is averaged over the sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.fold_in import HeldOut, Sums, sample_documents
from superwords.sampler.leave_one_out import LeaveOneOutCounts
from superwords.sampler.model import make_data
from superwords.sampler.random import new_stream

SWEEPS, BURN_IN = 30, 10
_SPLIT_SEED = 20120322  # one split for all models and all seeds
_LEAST_TOKENS = 2


class Halves(NamedTuple):
    """Documents with observed tokens, and held-out tokens to predict."""

    first: sparse.csr_array  # (W, V) counts a model may see
    row: np.ndarray  # (N) document of each token to predict, ascending
    word: np.ndarray  # (N) its word


def make_halves(counts: sparse.csr_array) -> Halves:
    """Split the tokens of each document with at least two into random halves."""
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
    row, word = _listed(seen)
    first = sparse.csr_array((np.ones(len(word), np.int32), (row, word)), shape=(len(seen), counts.shape[1]))
    first.sum_duplicates()
    return Halves(first, *_listed(hidden))


def _listed(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the document and the word of every token."""
    row = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return row, np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)


def predict(concepts: LeaveOneOutCounts, halves: Halves, seed: int, n_sweeps: int = SWEEPS) -> np.ndarray:
    """Return (N) the probability of each token to predict."""
    if not len(halves.row) or not len(concepts.holders):
        return np.zeros(len(halves.row))
    first, n_words = halves.first, halves.first.shape[1]
    data = make_data(first, None)
    cells, place = np.unique(halves.row * n_words + halves.word, return_inverse=True)
    row, word = np.divmod(cells, n_words)
    size = np.diff(data.doc_ptr)
    shown = np.repeat(np.arange(len(size)), size) * n_words + data.word
    at = np.searchsorted(shown, cells)
    held_out = HeldOut(
        ptr=np.searchsorted(row, np.arange(len(size) + 1)).astype(np.int64),
        word=word.astype(np.int64),
        own=np.where(np.append(shown, -1)[at] == cells, at - data.doc_ptr[row], -1),
        on=np.zeros(int(np.bincount(row).max()), np.uint8),
        shown=np.zeros(int(size.max()), np.uint8),
    )
    burn_in = min(BURN_IN, n_sweeps // 3)
    sums = Sums(predicted=np.zeros(len(word)))
    sample_documents(data, concepts, new_stream(seed, 0), n_sweeps, burn_in, sums, held_out)
    return sums.predicted[place] / (n_sweeps - burn_in)
