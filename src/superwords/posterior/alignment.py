"""Match the concepts of different draws, and of different chains, with those of a reference draw.

A draw's concepts have no names of their own. Each is described by what distinguishes it from the others of its draw:
the scores of its words (`superwords.analysis.ranking`), made to sum to 1. Two concepts of different draws are partners
if at least half of their descriptions is the same (Σ_i min(p_i, p'_i) ≥ 0.5) and the pairing of all concepts is the
best possible one (the Hungarian method).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.posterior.draws import Kept
from superwords.posterior.word_sets import on_in_concepts, used_in_concepts
from superwords.sampler.records import n_concepts

LEAST_OVERLAP = 0.5
HANDFUL = 8  # rows: a concept of no more is a leftover


class Usage(NamedTuple):
    """What the documents that use a draw's concepts do with them; a document uses a concept if n_dj > 0."""

    holders: np.ndarray  # (J) documents that use the concept
    on: sparse.csr_array  # (J, V) of these, documents with the word on
    used: sparse.csr_array  # (J, V) of these, documents with tokens of the word imputed to the concept


class Partners(NamedTuple):
    """For each reference concept its partner in another draw; -1 (and an overlap of 0) where it has none."""

    of: np.ndarray  # (J) the draw's own concept
    overlap: np.ndarray  # (J) the share of the descriptions that is the same


def handful(n_rows: int) -> float:
    """Return the largest number of rows of a leftover in a corpus of `n_rows`."""
    return min(HANDFUL, n_rows / 10)


def usage_of(draw: Kept) -> Usage:
    """Count the documents that use each concept, and their words; pairs without a token (u_dj = 0) do not count."""
    state, in_use = draw.state, draw.tokens.pair > 0
    on, used = on_in_concepts(state, in_use), used_in_concepts(state, draw.tokens, in_use)
    used.eliminate_zeros()
    return Usage(np.bincount(state.concept[in_use], minlength=n_concepts(state)), on, used)


def find_partners(reference: sparse.csc_array, other: sparse.csc_array) -> Partners:
    """Return the partners of the concepts described by `reference` among those described by `other`."""
    # Slow to import, and tables of a cached summary do without it.
    from scipy.optimize import linear_sum_assignment

    of, overlap = np.full(reference.shape[0], -1), np.zeros(reference.shape[0])
    shared = overlaps(reference, other)
    # Rounding must not keep a concept from being a partner at an overlap of exactly the threshold.
    alike = np.where(shared >= LEAST_OVERLAP - 1e-12, shared, 0.0)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    paired = alike[rows, columns] > 0
    rows, columns = rows[paired], columns[paired]
    of[rows] = columns
    overlap[rows] = np.minimum(alike[rows, columns], 1.0)
    return Partners(of, overlap)


def united_places(of: np.ndarray, n_concepts: int) -> tuple[np.ndarray, sparse.csr_array]:
    """Return the place of each further concept in a list: its partner's (`of`), or a new one at the end.

    The second value is the matrix (list, concepts) that sums the concepts' rows by their places.
    """
    place = np.full(n_concepts, -1)
    place[of[of >= 0]] = np.flatnonzero(of >= 0)
    new = place < 0
    place[new] = len(of) + np.arange(new.sum())
    shape = len(of) + int(new.sum()), n_concepts
    return place, sparse.csr_array((np.ones(n_concepts), (place, np.arange(n_concepts))), shape=shape)


def longer(matrix: sparse.csr_array, n_rows: int) -> sparse.csr_array:
    """Return the matrix with empty rows added up to `n_rows`."""
    more = sparse.csr_array((n_rows - matrix.shape[0], matrix.shape[1]))
    return sparse.csr_array(sparse.vstack([matrix, more], format="csr"))


def described(used: sparse.csr_array, holders: np.ndarray) -> sparse.csc_array:
    """Return (J, V) the words' scores in one draw, each concept's summing to 1 (to 0 where it uses no word)."""
    counts = sparse.csr_array(used, dtype=float)
    everywhere = np.asarray(counts.sum(axis=0)).ravel()
    score = counts.multiply(counts).multiply(1 / np.maximum(everywhere, 1e-300))
    score = sparse.diags_array(1 / np.maximum(holders, 1)) @ score
    return normalised(sparse.csr_array(score))


def normalised(score: sparse.csr_array) -> sparse.csc_array:
    """Return rows that sum to 1, or to 0 where there is nothing in them."""
    total = np.asarray(score.sum(axis=1)).ravel()
    return sparse.csc_array(sparse.diags_array(1 / np.where(total > 0, total, 1.0)) @ score)


def overlaps(a: sparse.csc_array, b: sparse.csc_array) -> np.ndarray:
    """Return (J, J') Σ_i min(a_ji, b_j'i) for every two rows."""
    n_beside = np.diff(b.indptr)[np.repeat(np.arange(a.shape[1]), np.diff(a.indptr))]
    # Pair every entry of a with every entry of b of the same word.
    left = np.repeat(np.arange(len(a.data)), n_beside)
    first = np.repeat(b.indptr[:-1], np.diff(a.indptr))
    right = np.repeat(first - np.cumsum(n_beside) + n_beside, n_beside) + np.arange(len(left))
    cell = a.indices[left].astype(np.int64) * b.shape[0] + b.indices[right]
    total = np.bincount(cell, np.minimum(a.data[left], b.data[right]), a.shape[0] * b.shape[0])
    return total.reshape(a.shape[0], b.shape[0])
