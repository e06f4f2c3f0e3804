"""The concepts of all documents but the one at hand: their counts, and what these say of a word.

A document is taken out of the counts when it is laid out (`open_document.py`) and entered again when it is done. In
between the others stand still. A new document that is folded in (`foldin.py`) is never entered.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from superwords.sampler.jit import lean, part
from superwords.sampler.model import Prior
from superwords.sampler.state import Sizes

FREE, IN_USE = range(2)  # places in Concepts.number
_LEAST_SHARE = 0.01  # γ of a word that counts as the concept's
ELSEWHERE = 0.05  # a word not near a newborn's seed is on with this share of λ_i
# Words of a concept are listed by how probable they are: a level is a factor of four of m_ji + b₂λ_i, from 4^−7 to 4^8
_LEVELS, _LOWEST = 16, -14
_BY_SLOT = (
    *("holders", "odds", "inverse", "mass"),
    *("by_level", "level_ptr", "level", "bound", "support", "support_size", "listed"),
)


class Concepts(NamedTuple):
    """m_ji and m_j over the other documents, and what follows from them and the prior; grows when concepts are born.

    Where ω and γ are drawn (moves/apart.py), γ_ji takes the place of m_ji + b₂λ_i and ω_j/(1 − ω_j) that of the odds.
    """

    m: np.ndarray  # (V, slots), whole numbers as they are counted
    holders: np.ndarray  # (slots) m_j
    odds: np.ndarray  # (slots) m_j / (D − 1 − m_j + b₁); 0 where no other document holds it
    inverse: np.ndarray  # (slots) 1 / (m_j + b₂), by which P(f_ji = 1) = (m_ji + b₂λ_i) inverse_j
    mass: np.ndarray  # (slots) Σ_i θ_i m_ji
    by_level: np.ndarray  # (slots, V) all words, by level
    level_ptr: np.ndarray  # (slots, levels + 1) into it
    level: np.ndarray  # (slots, V) of a word
    bound: np.ndarray  # (slots, levels) the most that m_ji + b₂λ_i can be of its words
    support: np.ndarray  # (slots, V) a superset of the words with m_ji > least, each listed once
    support_size: np.ndarray  # (slots)
    listed: np.ndarray  # (slots, V)
    free: np.ndarray  # (slots) a stack of those not in use
    number: np.ndarray  # [FREE: how many; IN_USE: all slots from here on are free]
    theta: np.ndarray  # (V)
    extra: np.ndarray  # (V) b₂λ_i
    n_others: float  # how many other documents there are
    counts_itself: float  # 1: the document at hand counts in the prior of its words; the published join has 0
    b1: float
    b2: float
    alpha_pi: float
    lam_max: float
    extra_mass: float  # Σ_i θ_i b₂λ_i
    least: float  # words with m_ji above it are the concept's: by the other documents, or γ, alone
    log_narrow: float  # Σ_i log (1 − ELSEWHERE λ_i)/(1 − λ_i)


def make_concepts(
    sizes: Sizes,
    n_others: int,
    theta: np.ndarray,
    prior: Prior,
    n_spare: int = 0,
    counts_itself: int = 1,
    drawn: np.ndarray | None = None,
) -> Concepts:
    """What m_j, m_ji and the prior say to one document more than `n_others`; room for `n_spare` further concepts.

    `drawn` (slots, V) are γ_ji, which take the place of the counts.
    """
    n_rows, n_words = sizes.m.shape
    n_slots = n_rows + n_spare
    holders = longer(sizes.holders.astype(np.int64), n_slots)
    m = longer(sizes.m.astype(float), n_slots) if drawn is None else drawn
    extra = prior.b2 * prior.lam if drawn is None else np.zeros(n_words)
    inverse = _inverse(holders, prior.b2, counts_itself) if drawn is None else np.ones(n_slots)
    least = 0.0 if drawn is None else _LEAST_SHARE
    concepts = Concepts(
        np.ascontiguousarray(m.T),
        holders,
        holders / np.maximum(n_others - holders + prior.b1, 1e-300),  # 0 only until the document is taken out
        inverse,
        m @ theta,
        np.zeros((n_slots, n_words), np.int32),
        np.zeros((n_slots, _LEVELS + 1), np.int32),
        np.zeros((n_slots, n_words), np.uint8),
        np.zeros((n_slots, _LEVELS)),
        np.zeros((n_slots, n_words), np.int32),
        np.zeros(n_slots, np.int64),
        (m > least).astype(np.uint8),
        longer(np.arange(n_slots - 1, n_rows - 1, -1), n_slots),
        np.array([n_spare, n_rows]),
        np.asarray(theta, float),
        extra,
        float(n_others),
        float(counts_itself),
        float(prior.b1),
        float(prior.b2),
        float(prior.alpha_pi),
        float(prior.lam.max()),
        float(theta @ extra),
        least,
        float((np.log1p(-ELSEWHERE * prior.lam) - np.log1p(-prior.lam)).sum()),
    )
    list_words(concepts, 0)
    return concepts


def _inverse(holders: np.ndarray, b2: float, counts_itself: float) -> np.ndarray:
    return 1.0 / np.maximum(holders + b2 - 1.0 + counts_itself, 1e-300)  # 0 only of a free slot, as published


@lean
def list_words(concepts, first):
    """List the words of concepts `first` and on: those that are marked as some document's, and all by level."""
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


def longer(array: np.ndarray, n: int) -> np.ndarray:
    """The array with zeros added, so that its first axis has length n."""
    out = np.zeros((n, *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out


def grow_concepts(concepts: Concepts, n: int) -> Concepts:
    """Room for n concepts."""
    before, n_free = len(concepts.holders), concepts.number[FREE]
    free = longer(concepts.free, n)
    free[n - before : n - before + n_free] = concepts.free[:n_free]
    free[: n - before] = np.arange(n - 1, before - 1, -1)
    concepts.number[FREE] += n - before
    wider: dict[str, Any] = {name: longer(getattr(concepts, name), n) for name in _BY_SLOT}
    wider["inverse"][before:] = _inverse(np.zeros(n - before), concepts.b2, concepts.counts_itself)
    concepts = concepts._replace(m=np.ascontiguousarray(longer(concepts.m.T, n).T), free=free, **wider)
    list_words(concepts, before)
    return concepts


@part
def expected_mass(concepts, j):
    """T_j of a document as the others have it."""
    return (concepts.mass[j] + concepts.extra_mass) * concepts.inverse[j]


@part
def count_pair(concepts, j, words, step):
    """Enter (step = 1) or strike (step = −1) a document's word set for concept j."""
    concepts.holders[j] += step
    holders = concepts.holders[j]
    concepts.odds[j] = holders / (concepts.n_others - holders + concepts.b1)
    concepts.inverse[j] = 1.0 / (holders + concepts.b2 - 1.0 + concepts.counts_itself)
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


@part
def take_slot(concepts):
    concepts.number[FREE] -= 1
    j = concepts.free[concepts.number[FREE]]
    concepts.number[IN_USE] = max(concepts.number[IN_USE], j + 1)
    concepts.mass[j] = 0.0
    for s in range(concepts.support_size[j]):
        concepts.listed[j, concepts.support[j, s]] = 0
    concepts.support_size[j] = 0
    return j


@part
def release_slot(concepts, j):
    concepts.free[concepts.number[FREE]] = j
    concepts.number[FREE] += 1
