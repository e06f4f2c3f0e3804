"""One document on the desk: its concepts and word sets unpacked, while the c step changes them.

The desk holds what belongs to the document, the tally what the whole corpus shares. Both are rebuilt from the state at
the start of every c step, and packed into a new state at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import inlined, lean
from superwords.sampler.state import Sizes, State

# Places in Desk.number
PAIRS, USED, FIRST, LAST = 0, 1, 2, 3
# Places in Desk.total
WEIGHT, EMPTY = 0, 1
# Places in Tally.number
ACTIVE, FREE = 0, 1
# Places in Tally.mean
THETA_MEAN, PRIOR_MASS, LAM_MAX, LOG_NARROW = 0, 1, 2, 3
ELSEWHERE = 0.05  # a word not near a newborn's seed is on with this share of λ_i


class Desk(NamedTuple):
    """The pairs of one document (index k), and how its words are explained (index a, into the document's words)."""

    spot: np.ndarray  # (V) a + 1 of a word that occurs in the document, else 0
    mark: np.ndarray  # (V) scratch: 1 for the words of the word set under consideration
    explained: np.ndarray  # (a) Σ_{j: c f = 1} π_j / T_j
    rest: np.ndarray  # (a) the same without the concept under consideration
    cover: np.ndarray  # (a) how many concepts explain the word
    seed: np.ndarray  # (a) scratch of births
    place: np.ndarray  # (J slots) k + 1 of a concept that is on, else 0
    concept: np.ndarray  # (k)
    weight: np.ndarray  # (k) π
    mass: np.ndarray  # (k) T = Σ θ over the words on
    start: np.ndarray  # (k) into arena
    size: np.ndarray  # (k)
    arena: np.ndarray  # word sets, one after the other; those of concepts left behind stay until the end
    number: np.ndarray  # [pairs, arena used, first and last of the document's words]
    total: np.ndarray  # [Σ π, Σ π over empty concepts]


class Tally(NamedTuple):
    """m_ji, m_j, n_i and lists of what is in use; grows when concepts are born."""

    m: np.ndarray  # (slots, V)
    holders: np.ndarray  # (slots) m_j
    total: np.ndarray  # (V) n_i
    mass: np.ndarray  # (slots) Σ_i θ_i m_ji
    support: np.ndarray  # (slots, V) a superset of the words with m_ji > 0, each listed once
    support_size: np.ndarray
    listed: np.ndarray  # (slots, V)
    active: np.ndarray  # (slots) the slots in use, in no order
    free: np.ndarray  # (slots) a stack of free ones
    number: np.ndarray  # [active, free]
    mean: np.ndarray  # [mean θ, Σ θ λ, max λ, Σ log (1 − ELSEWHERE λ)/(1 − λ)]


def new_tally(sizes: Sizes, theta: np.ndarray, lam: np.ndarray, n_spare: int) -> Tally:
    """The tally of a state's sizes, with room for `n_spare` further concepts."""
    n_rows, n_words = sizes.m.shape
    n_slots = n_rows + n_spare
    m = np.zeros((n_slots, n_words), np.int32)
    m[:n_rows] = sizes.m
    holders = np.zeros(n_slots, np.int64)
    holders[:n_rows] = sizes.holders
    free = np.zeros(n_slots, np.int32)
    free[:n_spare] = np.arange(n_rows, n_slots)
    support = np.zeros((n_slots, n_words), np.int32)
    support_size = np.zeros(n_slots, np.int64)
    listed = np.zeros((n_slots, n_words), np.uint8)
    list_support(m, support, support_size, listed)
    narrow = (np.log1p(-ELSEWHERE * lam) - np.log1p(-lam)).sum()
    return Tally(
        m,
        holders,
        sizes.total.copy(),
        m @ theta,
        support,
        support_size,
        listed,
        np.arange(n_slots, dtype=np.int32),
        free,
        np.array([n_rows, n_spare]),
        np.array([theta.mean(), theta @ lam, lam.max(), narrow]),
    )


@lean
def list_support(m, support, support_size, listed):
    for j in range(m.shape[0]):
        for i in range(m.shape[1]):
            if m[j, i] > 0:
                listed[j, i] = 1
                support[j, support_size[j]] = i
                support_size[j] += 1


def longer(array: np.ndarray, n: int) -> np.ndarray:
    """The array with zeros added, so that its first axis has length n."""
    out = np.zeros((n, *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out


def grow_tally(tally: Tally, n: int) -> Tally:
    """Room for n concepts."""
    before, n_free = len(tally.holders), tally.number[FREE]
    free = longer(tally.free, n)
    free[n_free : n_free + n - before] = np.arange(before, n)
    tally.number[FREE] += n - before
    return tally._replace(
        m=longer(tally.m, n),
        holders=longer(tally.holders, n),
        mass=longer(tally.mass, n),
        support=longer(tally.support, n),
        support_size=longer(tally.support_size, n),
        listed=longer(tally.listed, n),
        active=longer(tally.active, n),
        free=free,
    )


def new_desk(n_words: int, longest: int, n_slots: int, n_arena: int) -> Desk:
    """Room for documents of up to `longest` different words, `n_slots` concepts and `n_arena` entries."""
    return Desk(
        np.zeros(n_words, np.int32),
        np.zeros(n_words, np.uint8),
        np.zeros(longest),
        np.zeros(longest),
        np.zeros(longest, np.int64),
        np.zeros(longest),
        np.zeros(n_slots, np.int32),
        np.zeros(n_slots, np.int32),
        np.zeros(n_slots),
        np.zeros(n_slots),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(n_arena, np.int32),
        np.zeros(4, np.int64),
        np.zeros(2),
    )


def grow_desk(desk: Desk, n_slots: int, n_arena: int) -> Desk:
    slots = ("place", "concept", "weight", "mass", "start", "size")
    wider = {name: longer(getattr(desk, name), n_slots) for name in slots}
    return desk._replace(arena=longer(desk.arena, n_arena), **wider)


@inlined
def unpack(desk, state, data, d):
    """Lay document d on the desk (which has room for it)."""
    number, total = desk.number, desk.total
    number[FIRST], number[LAST] = data.doc_ptr[d], data.doc_ptr[d + 1]
    for a in range(number[LAST] - number[FIRST]):
        desk.spot[data.word[number[FIRST] + a]] = a + 1
        desk.explained[a] = 0.0
        desk.cover[a] = 0
    number[PAIRS], number[USED] = 0, 0
    total[WEIGHT], total[EMPTY] = 0.0, 0.0
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        first, last = state.pair_ptr[p], state.pair_ptr[p + 1]
        used = number[USED]
        mass = 0.0
        for e in range(first, last):
            desk.arena[used + e - first] = state.word[e]
            mass += state.theta[state.word[e]]
        place_pair(desk, state.concept[p], state.weight[p], mass, last - first)


@lean
def place_pair(desk, j, weight, mass, size):
    """The document takes concept j; its word set stands at the arena's end."""
    k, start = desk.number[PAIRS], desk.number[USED]
    desk.concept[k], desk.weight[k], desk.mass[k] = j, weight, mass
    desk.start[k], desk.size[k] = start, size
    desk.place[j] = k + 1
    desk.number[PAIRS] += 1
    desk.number[USED] += size
    desk.total[WEIGHT] += weight
    if size == 0:
        desk.total[EMPTY] += weight
    for e in range(start, start + size):
        a = desk.spot[desk.arena[e]] - 1
        if a >= 0:
            desk.explained[a] += weight / mass
            desk.cover[a] += 1


@lean
def drop_pair(desk, k):
    """The document gives up its k-th concept; desk.rest holds what the others explain."""
    start, size = desk.start[k], desk.size[k]
    for e in range(start, start + size):
        a = desk.spot[desk.arena[e]] - 1
        if a >= 0:
            desk.explained[a] = desk.rest[a]
            desk.cover[a] -= 1
    desk.place[desk.concept[k]] = 0
    last = desk.number[PAIRS] - 1
    if k != last:
        desk.concept[k], desk.weight[k], desk.mass[k] = desk.concept[last], desk.weight[last], desk.mass[last]
        desk.start[k], desk.size[k] = desk.start[last], desk.size[last]
        desk.place[desk.concept[k]] = k + 1
    desk.number[PAIRS] = last
    desk.total[WEIGHT], desk.total[EMPTY] = 0.0, 0.0
    for other in range(last):
        desk.total[WEIGHT] += desk.weight[other]
        if desk.size[other] == 0:
            desk.total[EMPTY] += desk.weight[other]


@inlined
def clear(desk, data):
    for b in range(desk.number[FIRST], desk.number[LAST]):
        desk.spot[data.word[b]] = 0
    for k in range(desk.number[PAIRS]):
        desk.place[desk.concept[k]] = 0


@lean
def count_pair(tally, theta, j, words, step):
    """Enter (step = 1) or strike (step = −1) a document's word set for concept j in the tally."""
    tally.holders[j] += step
    for w in words:
        tally.m[j, w] += step
        tally.total[w] += step
        tally.mass[j] += step * theta[w]
        if step > 0 and tally.listed[j, w] == 0:
            tally.listed[j, w] = 1
            tally.support[j, tally.support_size[j]] = w
            tally.support_size[j] += 1


@inlined
def take_slot(tally):
    tally.number[FREE] -= 1
    j = tally.free[tally.number[FREE]]
    tally.active[tally.number[ACTIVE]] = j
    tally.number[ACTIVE] += 1
    tally.mass[j] = 0.0
    for s in range(tally.support_size[j]):
        tally.listed[j, tally.support[j, s]] = 0
    tally.support_size[j] = 0
    return j


@inlined
def release_slot(tally, j):
    for at in range(tally.number[ACTIVE]):
        if tally.active[at] == j:
            tally.number[ACTIVE] -= 1
            tally.active[at] = tally.active[tally.number[ACTIVE]]
            break
    tally.free[tally.number[FREE]] = j
    tally.number[FREE] += 1


class Pile(NamedTuple):
    """The new state under construction."""

    doc_ptr: np.ndarray
    concept: np.ndarray
    weight: np.ndarray
    pair_ptr: np.ndarray
    word: np.ndarray


def new_pile(state: State) -> Pile:
    n_pairs, n_entries = len(state.concept) + 64, len(state.word) + 1024
    return Pile(
        np.zeros_like(state.doc_ptr),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs),
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_entries, np.int32),
    )


def grow_pile(pile: Pile, d: int, n_pairs: int, n_entries: int) -> Pile:
    """Room for document d, which has at most so many pairs and entries; doubled where it was short."""
    pairs = pile.doc_ptr[d]
    if pairs + n_pairs > len(pile.concept):
        n = 2 * len(pile.concept) + n_pairs
        pile = pile._replace(
            concept=longer(pile.concept, n),
            weight=longer(pile.weight, n),
            pair_ptr=longer(pile.pair_ptr, n + 1),
        )
    if pile.pair_ptr[pairs] + n_entries > len(pile.word):
        pile = pile._replace(word=longer(pile.word, 2 * len(pile.word) + n_entries))
    return pile


@inlined
def put_on_pile(pile, desk, d):
    """Append the document on the desk, its word sets in ascending order; False where there is no room."""
    pairs = pile.doc_ptr[d]
    at = pile.pair_ptr[pairs]
    need = at
    for k in range(desk.number[PAIRS]):
        need += desk.size[k]
    if pairs + desk.number[PAIRS] > len(pile.concept) or need > len(pile.word):
        return False
    for k in range(desk.number[PAIRS]):
        pile.concept[pairs], pile.weight[pairs] = desk.concept[k], desk.weight[k]
        start = at
        for e in range(desk.start[k], desk.start[k] + desk.size[k]):
            w, hole = desk.arena[e], at
            while hole > start and pile.word[hole - 1] > w:
                pile.word[hole] = pile.word[hole - 1]
                hole -= 1
            pile.word[hole] = w
            at += 1
        pairs += 1
        pile.pair_ptr[pairs] = at
    pile.doc_ptr[d + 1] = pairs
    return True


def finish(pile: Pile, theta: np.ndarray) -> State:
    pairs = pile.doc_ptr[-1]
    return State(
        pile.doc_ptr,
        pile.concept[:pairs].copy(),
        pile.weight[:pairs].copy(),
        pile.pair_ptr[: pairs + 1].copy(),
        pile.word[: pile.pair_ptr[pairs]].copy(),
        theta,
    )
