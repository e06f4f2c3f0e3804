"""Concepts of different draws, and of different chains, set beside those of the most probable draw.

A draw's concepts have no names of their own. Each is described by the documents in which its words are on
and those in which they are used; two concepts of different draws are partners if the cosine of these
descriptions is at least 0.5 and the pairing of all concepts is the best possible one (the Hungarian
method).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from superwords.concepts.sets import on_in_concepts, used_in_concepts
from superwords.draws import Kept

LEAST_SIMILARITY = 0.5


class Usage(NamedTuple):
    """What the documents of one draw do with its concepts."""

    holders: np.ndarray  # (J) m_j
    on: sparse.csr_array  # (J, V) m_ji: documents with the word on
    used: sparse.csr_array  # (J, V) documents with the word on and tokens of it imputed to the concept


class Partners(NamedTuple):
    """For each reference concept its partner in another draw; -1 (and measures of 0) where it has none."""

    of: np.ndarray  # (J) the draw's own concept
    similarity: np.ndarray  # (J) cosine
    jaccard: np.ndarray  # (J) weighted Jaccard, Σ min / Σ max over the words


def usage_of(draw: Kept) -> Usage:
    state = draw.state
    on, used = on_in_concepts(state), used_in_concepts(state, draw.tokens)
    used.eliminate_zeros()
    return Usage(np.bincount(state.concept, minlength=on.shape[0]), on, used)


def reordered(usage: Usage, order: np.ndarray) -> Usage:
    return Usage(usage.holders[order], usage.on[order], usage.used[order])


def find_partners(reference: Usage, other: Usage) -> Partners:
    n_concepts = len(reference.holders)
    of = np.full(n_concepts, -1)
    similarity = np.zeros(n_concepts)
    jaccard = np.zeros(n_concepts)
    if n_concepts == 0 or len(other.holders) == 0:
        return Partners(of, similarity, jaccard)
    cosine = (_unit_rows(reference.on + reference.used) @ _unit_rows(other.on + other.used).T).toarray()
    # Rounding must not keep a concept from being its own partner at a similarity of exactly the threshold.
    alike = np.where(cosine >= LEAST_SIMILARITY - 1e-12, cosine, 0.0)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    paired = alike[rows, columns] > 0
    rows, columns = rows[paired], columns[paired]
    of[rows] = columns
    similarity[rows] = np.minimum(alike[rows, columns], 1.0)
    jaccard[rows] = _weighted_jaccard(_shares(reference)[rows], _shares(other)[columns])
    return Partners(of, similarity, jaccard)


def _unit_rows(counts: sparse.csr_array) -> sparse.csr_array:
    values = sparse.csr_array(counts, dtype=float)
    length = np.sqrt(np.asarray(values.multiply(values).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / np.where(length > 0, length, 1.0)) @ values)


def _shares(usage: Usage) -> sparse.csr_array:
    return sparse.csr_array(
        sparse.diags_array(1 / np.maximum(usage.holders, 1)) @ (usage.on + usage.used).astype(float)
    )


def _weighted_jaccard(a: sparse.csr_array, b: sparse.csr_array) -> np.ndarray:
    least = np.asarray(a.minimum(b).sum(axis=1)).ravel()
    most = np.asarray(a.maximum(b).sum(axis=1)).ravel()
    return least / np.where(most > 0, most, 1.0)
