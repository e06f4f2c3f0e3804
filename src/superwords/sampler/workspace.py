"""One document at hand, beside the concepts of all the others, while its concepts and word sets change.

A document is taken out of the counts when it is laid out and entered again when it is done. In between the others stand
still, so what they say of its words is computed once. A document of the chain (`moves/concepts.py`) and a new one that
is folded in (`foldin.py`) are changed by the same moves; the latter is never entered.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from superwords.sampler.jit import lean, part
from superwords.sampler.model import Prior
from superwords.sampler.state import Sizes

# Places in Document.number: concepts held, arena used; the document's first place in the data, different words,
# tokens (null ones included), null tokens; slots of concepts that may be in use
PAIRS, USED, FIRST, WORDS, LENGTH, NULL, SLOTS = range(7)
# Places in Document.total: Σ π, and Σ π over empty concepts
WEIGHT, EMPTY = range(2)
FREE, IN_USE = range(2)  # places in Concepts.number
# Kinds of proposals
KINDS = ("join", "leave", "birth", "death", "swap", "divide", "unite")
JOIN, LEAVE, BIRTH, DEATH, SWAP, DIVIDE, UNITE = range(len(KINDS))

_FEW_DIGITS = 1e-6
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


class Document(NamedTuple):
    """The document at hand: index a counts its different words, k the concepts it holds."""

    spot: np.ndarray  # (V) a + 1 of a word that occurs in the document, else 0
    mark: np.ndarray  # (V) scratch
    word: np.ndarray  # (a)
    times: np.ndarray  # (a) #_di
    theta: np.ndarray  # (a)
    p: np.ndarray  # (a, slots) P(f_ji = 1 | the other documents)
    factor: np.ndarray  # (a) by which a proposal tilts the odds of its words
    factor_back: np.ndarray  # (a) and its way back
    rate: np.ndarray  # (slots) how often joining or leaving the concept is tried
    appeal: np.ndarray  # (slots) how often it is tried where another concept explains a word
    pick: np.ndarray  # (a, slots) cumulative p · appeal, of the words that are marked in `picked`
    picked: np.ndarray  # (a)
    order: np.ndarray  # (slots) concepts to try
    place: np.ndarray  # (slots) k + 1 of a concept that is held, else 0
    concept: np.ndarray  # (k) its slot
    weight: np.ndarray  # (k) π
    mass: np.ndarray  # (k) T = Σ θ over the words on
    share: np.ndarray  # (k) π / T, 0 where no word is on
    tokens: np.ndarray  # (k) n_j, where z is imputed
    start: np.ndarray  # (k) into arena
    size: np.ndarray  # (k)
    on: np.ndarray  # (k, a) f of the document's own words; 2 where tokens are imputed
    arena: np.ndarray  # word sets, one after the other; those no longer held stay until room is made
    explained: np.ndarray  # (a) Σ_{j: c f = 1} π_j / T_j
    rest: np.ndarray  # (a) the same without the concepts under consideration
    cover: np.ndarray  # (a) how many concepts have the word on
    fate: np.ndarray  # (a) where a division puts a word: 1 the old concept, 2 the new one, 3 both
    seed: np.ndarray  # (a) scratch of births
    number: np.ndarray  # [PAIRS, USED, FIRST, WORDS, LENGTH, NULL, SLOTS]
    total: np.ndarray  # [WEIGHT, EMPTY]
    tried: np.ndarray  # (KINDS) proposals, over all documents
    accepted: np.ndarray  # (KINDS)


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


def new_document(n_words: int, longest: int, n_slots: int) -> Document:
    """Room for documents of up to `longest` different words and `n_slots` concepts."""
    longest = max(1, longest)
    return Document(
        spot=np.zeros(n_words, np.int32),
        mark=np.zeros(n_words, np.uint8),
        word=np.zeros(longest, np.int32),
        times=np.zeros(longest, np.int64),
        theta=np.zeros(longest),
        p=np.zeros((longest, n_slots)),
        factor=np.zeros(longest),
        factor_back=np.zeros(longest),
        rate=np.zeros(n_slots),
        appeal=np.zeros(n_slots),
        pick=np.zeros((longest, n_slots)),
        picked=np.zeros(longest, np.uint8),
        order=np.zeros(n_slots, np.int64),
        place=np.zeros(n_slots, np.int64),
        concept=np.zeros(n_slots, np.int64),
        weight=np.zeros(n_slots),
        mass=np.zeros(n_slots),
        share=np.zeros(n_slots),
        tokens=np.zeros(n_slots, np.int64),
        start=np.zeros(n_slots, np.int64),
        size=np.zeros(n_slots, np.int64),
        on=np.zeros((n_slots + 1, longest), np.uint8),
        arena=np.empty((n_slots + 3) * n_words, np.int32),
        explained=np.zeros(longest),
        rest=np.zeros(longest),
        cover=np.zeros(longest, np.int64),
        fate=np.zeros(longest, np.int64),
        seed=np.zeros(longest),
        number=np.zeros(7, np.int64),
        total=np.zeros(2),
        tried=np.zeros(len(KINDS), np.int64),
        accepted=np.zeros(len(KINDS), np.int64),
    )


@part
def lay_out(doc, concepts, data, d, attempts, overlap):
    """Lay document d out, with no concept as yet; the concepts count the others only.

    How often a concept is tried depends on the other documents alone, so that a choice by it needs no correction.
    """
    first, n_words, n_slots = data.doc_ptr[d], data.doc_ptr[d + 1] - data.doc_ptr[d], concepts.number[IN_USE]
    doc.number[PAIRS], doc.number[USED], doc.number[FIRST], doc.number[WORDS] = 0, 0, first, n_words
    doc.number[LENGTH], doc.number[NULL], doc.number[SLOTS] = data.length[d], data.null[d], n_slots
    shared = 0
    for j in range(n_slots):
        doc.rate[j] = 0.0
        shared += concepts.odds[j] > 0.0
    n_tokens = 0
    for a in range(n_words):
        w, times = data.word[first + a], data.count[first + a]
        doc.spot[w], doc.word[a], doc.times[a] = a + 1, w, times
        doc.theta[a], doc.picked[a] = concepts.theta[w], 0
        n_tokens += times
        extra = concepts.extra[w]
        for j in range(n_slots):
            p = min((concepts.m[w, j] + extra) * concepts.inverse[j], 1.0)
            doc.p[a, j] = p
            doc.rate[j] += times * p
    base, per_token = attempts / max(1, shared), overlap / max(1, n_tokens)
    for j in range(n_slots):
        fit = doc.rate[j] / expected_mass(concepts, j)
        doc.appeal[j] = fit * fit * concepts.odds[j]
        doc.rate[j] = base + per_token * doc.rate[j] if concepts.odds[j] > 0.0 else 0.0


@part
def expected_mass(concepts, j):
    """T_j of a document as the others have it."""
    return (concepts.mass[j] + concepts.extra_mass) * concepts.inverse[j]


@part
def clear(doc):
    for a in range(doc.number[WORDS]):
        doc.spot[doc.word[a]] = 0
    for k in range(doc.number[PAIRS]):
        doc.place[doc.concept[k]] = 0


@part
def set_on(doc, k, words):
    """Fill the k-th row of `on` from a word set that was not drawn word by word."""
    for a in range(doc.number[WORDS]):
        doc.on[k, a] = 0
    for w in words:
        if doc.spot[w] > 0:
            doc.on[k, doc.spot[w] - 1] = 1


@part
def add_pair(doc, j, weight, mass, size):
    """The document takes concept j, whose word set stands at the arena's end and in the row of `on` after the last.

    What is explained is not brought up to date.
    """
    k = doc.number[PAIRS]
    doc.concept[k], doc.place[j] = j, k + 1
    doc.start[k], doc.size[k] = doc.number[USED], size
    doc.number[PAIRS] += 1
    doc.number[USED] += size
    set_weight(doc, k, weight, mass)


@part
def set_weight(doc, k, weight, mass):
    doc.weight[k], doc.mass[k] = weight, mass
    doc.share[k] = weight / mass if doc.size[k] > 0 else 0.0


@part
def drop_pair(doc, k):
    """The document gives up its k-th concept; the last one takes its place. What is explained is as it was."""
    last = doc.number[PAIRS] - 1
    doc.place[doc.concept[k]] = 0
    if k != last:
        doc.concept[k], doc.start[k], doc.size[k] = doc.concept[last], doc.start[last], doc.size[last]
        doc.weight[k], doc.mass[k], doc.share[k] = doc.weight[last], doc.mass[last], doc.share[last]
        doc.tokens[k] = doc.tokens[last]
        doc.place[doc.concept[k]] = k + 1
        for a in range(doc.number[WORDS]):
            doc.on[k, a] = doc.on[last, a]
    doc.number[PAIRS] = last


@part
def set_explained(doc):
    """Add up anew what all concepts explain."""
    n_words = doc.number[WORDS]
    doc.total[WEIGHT], doc.total[EMPTY] = 0.0, 0.0
    for a in range(n_words):
        doc.explained[a] = 0.0
        doc.cover[a] = 0
    for k in range(doc.number[PAIRS]):
        doc.total[WEIGHT] += doc.weight[k]
        if doc.size[k] == 0:
            doc.total[EMPTY] += doc.weight[k]
        share = doc.share[k]
        for a in range(n_words):
            if doc.on[k, a] > 0:
                doc.explained[a] += share
                doc.cover[a] += 1


@part
def set_rest(doc, k, also):
    """Fill doc.rest with what is explained without concepts k and `also` (k again: without k only).

    0 where nothing is left; added up anew where the difference would lose digits.
    """
    for a in range(doc.number[WORDS]):
        own, n = 0.0, doc.cover[a]
        if doc.on[k, a] > 0:
            own, n = doc.share[k], n - 1
        if also != k and doc.on[also, a] > 0:
            own, n = own + doc.share[also], n - 1
        rest = doc.explained[a] - own
        if n == 0:
            rest = 0.0
        elif rest <= _FEW_DIGITS * own:
            rest = 0.0
            for other in range(doc.number[PAIRS]):
                if other != k and other != also and doc.on[other, a] > 0:
                    rest += doc.share[other]
        doc.rest[a] = rest


@part
def weights_without(doc, k, also):
    """Σ π of the concepts other than k and `also`, and that of the empty ones among them."""
    weight, empty = 0.0, 0.0
    for other in range(doc.number[PAIRS]):
        if other != k and other != also:
            weight += doc.weight[other]
            if doc.size[other] == 0:
                empty += doc.weight[other]
    return weight, empty


@part
def make_room(doc):
    """See to it that the arena holds three more word sets: it has room for those of all concepts and three."""
    if doc.number[USED] + 3 * len(doc.spot) > len(doc.arena):
        close_gaps(doc)


@part
def close_gaps(doc):
    end, floor = 0, 0
    while True:
        first = -1  # the set that stands first among those not yet moved
        for k in range(doc.number[PAIRS]):
            if doc.size[k] > 0 and doc.start[k] >= floor and (first < 0 or doc.start[k] < doc.start[first]):
                first = k
        if first < 0:
            break
        start, size = doc.start[first], doc.size[first]
        for s in range(size):
            doc.arena[end + s] = doc.arena[start + s]
        doc.start[first], end, floor = end, end + size, start + size
    doc.number[USED] = end


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
