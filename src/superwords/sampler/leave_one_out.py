"""Counts of the concepts over all documents but the loaded one.

A document is removed from the counts when it is loaded and added again when it is done; the others do not change in
between. A new document that is folded in is never added.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Prior
from superwords.sampler.state import Sizes, longer

ELSEWHERE = 0.05  # P(on) of a word not near a new concept's seed, as a share of λ_i
# Words of a concept are binned by probability: a level is a factor of four of m_ji + b₂λ_i, from 4^−7 to 4^8
_LEVELS, _LOWEST = 16, -14
_BY_SLOT = (
    *("holders", "odds", "inverse", "mass"),
    *("by_level", "level_ptr", "level", "bound", "support", "support_size", "listed"),
)


class LeaveOneOutCounts(NamedTuple):
    """m_ji and m_j over the other documents, and quantities derived from them.

    A slot is the index of a concept in these arrays; `grow_counts` adds slots for births.
    """

    m: np.ndarray  # (V, slots), integers stored as floats
    holders: np.ndarray  # (slots) m_j
    odds: np.ndarray  # (slots) m_j / (D − 1 − m_j + b₁); 0 where no other document holds it
    inverse: np.ndarray  # (slots) 1 / (m_j + b₂); P(f_ji = 1) = (m_ji + b₂λ_i) inverse_j
    mass: np.ndarray  # (slots) Σ_i θ_i m_ji
    by_level: np.ndarray  # (slots, V) all words, by level
    level_ptr: np.ndarray  # (slots, levels + 1) offsets into by_level
    level: np.ndarray  # (slots, V) of a word
    bound: np.ndarray  # (slots, levels) upper bound of m_ji + b₂λ_i of the level's words
    support: np.ndarray  # (slots, V) a superset of the words with m_ji > 0, each listed once
    support_size: np.ndarray  # (slots)
    listed: np.ndarray  # (slots, V)
    free: np.ndarray  # (slots) a stack of the slots not in use
    n_free: np.ndarray  # () size of the stack
    n_in_use: np.ndarray  # () all slots from here on are free
    theta: np.ndarray  # (V)
    extra: np.ndarray  # (V) b₂λ_i
    n_others: float  # number of other documents
    b1: float
    b2: float
    alpha_pi: float
    lam_max: float
    extra_mass: float  # Σ_i θ_i b₂λ_i
    log_narrow: float  # Σ_i log (1 − ELSEWHERE λ_i)/(1 − λ_i)
    fixed: np.ndarray  # (K, V) of Model


def leave_one_out_counts(
    sizes: Sizes, n_others: int, theta: np.ndarray, prior: Prior, n_spare: int = 0, fixed: np.ndarray | None = None
) -> LeaveOneOutCounts:
    """Return the counts for one document beside `n_others` others."""
    n_concepts, n_words = sizes.m.shape
    n_slots = n_concepts + n_spare
    holders = longer(sizes.holders.astype(np.int64), n_slots)
    m = longer(sizes.m.astype(float), n_slots)
    extra = prior.b2 * prior.lam
    concepts = LeaveOneOutCounts(
        np.ascontiguousarray(m.T),
        holders,
        holders / np.maximum(n_others - holders + prior.b1, 1e-300),  # 0 only until the document is taken out
        1.0 / (holders + prior.b2),
        m @ theta,
        np.zeros((n_slots, n_words), np.int32),
        np.zeros((n_slots, _LEVELS + 1), np.int32),
        np.zeros((n_slots, n_words), np.uint8),
        np.zeros((n_slots, _LEVELS)),
        np.zeros((n_slots, n_words), np.int32),
        np.zeros(n_slots, np.int64),
        (m > 0.0).astype(np.uint8),
        longer(np.arange(n_slots - 1, n_concepts - 1, -1), n_slots),
        np.array(n_spare),
        np.array(n_concepts),
        np.asarray(theta, float),
        extra,
        float(n_others),
        float(prior.b1),
        float(prior.b2),
        float(prior.alpha_pi),
        float(prior.lam.max()),
        float(theta @ extra),
        float((np.log1p(-ELSEWHERE * prior.lam) - np.log1p(-prior.lam)).sum()),
        np.zeros((0, 0), np.int8) if fixed is None else fixed,
    )
    list_words(concepts, 0)
    return concepts


@ref_kernel
def list_words(concepts, first):
    """List the words of concepts `first` and later: the support, and all by level."""
    n_words = len(concepts.theta)
    for j in range(first, len(concepts.holders)):
        ptr = concepts.level_ptr[j]
        for i in range(n_words):
            value = concepts.m[i, j] + concepts.extra[i]
            # 4^level ≤ 4^7 · value < 4^(level + 1)
            level = min(max((math.frexp(value)[1] - 1 - _LOWEST) // 2, 0), _LEVELS - 1)
            concepts.level[j, i] = level
            ptr[level + 1] += 1
            concepts.bound[j, level] = max(concepts.bound[j, level], value)
            if concepts.listed[j, i]:
                concepts.support[j, concepts.support_size[j]] = i
                concepts.support_size[j] += 1
        for level in range(_LEVELS):
            ptr[level + 1] += ptr[level]
        for i in range(n_words - 1, -1, -1):
            level = concepts.level[j, i]
            ptr[level + 1] -= 1
            concepts.by_level[j, ptr[level + 1]] = i
        for level in range(_LEVELS):
            ptr[level] = ptr[level + 1]
        ptr[_LEVELS] = n_words


def grow_counts(concepts: LeaveOneOutCounts, n: int) -> LeaveOneOutCounts:
    """Return a copy with room for n concepts."""
    before, n_free = len(concepts.holders), concepts.n_free
    free = longer(concepts.free, n)
    free[n - before : n - before + n_free] = concepts.free[:n_free]
    free[: n - before] = np.arange(n - 1, before - 1, -1)
    concepts.n_free[...] += n - before
    wider: dict[str, Any] = {name: longer(getattr(concepts, name), n) for name in _BY_SLOT}
    wider["inverse"][before:] = 1.0 / concepts.b2
    concepts = concepts._replace(m=np.ascontiguousarray(longer(concepts.m.T, n).T), free=free, **wider)
    list_words(concepts, before)
    return concepts


@helper
def is_fixed(concepts, j):
    """Return whether some words of concept j are conditioned on."""
    return j < len(concepts.fixed)


@helper
def breaks_condition(concepts, j, words):
    """Return whether a word set has a banned word of concept j or lacks a pinned one."""
    missing = 0
    for i in range(len(concepts.theta)):
        missing += concepts.fixed[j, i] > 0
    for w in words:
        if concepts.fixed[j, w] < 0:
            return True
        missing -= concepts.fixed[j, w] > 0
    return missing > 0


@helper
def expected_mass(concepts, j):
    """Return the expected T_j of a document, given the others."""
    return (concepts.mass[j] + concepts.extra_mass) * concepts.inverse[j]


@helper
def count_pair(concepts, j, words, step):
    """Add (step = 1) or remove (step = −1) a document's word set for concept j."""
    concepts.holders[j] += step
    holders = concepts.holders[j]
    concepts.odds[j] = holders / (concepts.n_others - holders + concepts.b1)
    concepts.inverse[j] = 1.0 / (holders + concepts.b2)
    for w in words:
        concepts.m[w, j] += step
        concepts.mass[j] += step * concepts.theta[w]
        if step > 0:
            level, value = concepts.level[j, w], concepts.m[w, j] + concepts.extra[w]
            if value > concepts.bound[j, level]:
                concepts.bound[j, level] = value
            if concepts.listed[j, w] == 0:
                concepts.listed[j, w] = 1
                concepts.support[j, concepts.support_size[j]] = w
                concepts.support_size[j] += 1
