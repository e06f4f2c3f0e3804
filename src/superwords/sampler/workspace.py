"""The document at hand: its concepts and word sets unpacked, while the c step changes them.

Document holds what belongs to it, Concepts what the whole corpus shares. Both are rebuilt from the state at
the start of every c step, and packed into a new state at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import inlined, lean
from superwords.sampler.state import Sizes, State

# Places in Document.number
PAIRS, USED, FIRST, LAST = 0, 1, 2, 3
# Places in Document.total
WEIGHT, EMPTY = 0, 1
# Places in Concepts.number
ACTIVE, FREE = 0, 1
# Places in Concepts.mean
THETA_MEAN, PRIOR_MASS, LAM_MAX, LOG_NARROW = 0, 1, 2, 3
# Kinds of proposals
KINDS = ("join", "leave", "birth", "death")
JOIN, LEAVE, BIRTH, DEATH = range(len(KINDS))
ELSEWHERE = 0.05  # a word not near a newborn's seed is on with this share of λ_i


class Document(NamedTuple):
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
    tried: np.ndarray  # (KINDS) proposals, over all documents
    accepted: np.ndarray  # (KINDS)


class Concepts(NamedTuple):
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


def new_concepts(sizes: Sizes, theta: np.ndarray, lam: np.ndarray, n_spare: int) -> Concepts:
    """Those of a state's sizes, with room for `n_spare` further concepts."""
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
    return Concepts(
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


def grow_concepts(concepts: Concepts, n: int) -> Concepts:
    """Room for n concepts."""
    before, n_free = len(concepts.holders), concepts.number[FREE]
    free = longer(concepts.free, n)
    free[n_free : n_free + n - before] = np.arange(before, n)
    concepts.number[FREE] += n - before
    return concepts._replace(
        m=longer(concepts.m, n),
        holders=longer(concepts.holders, n),
        mass=longer(concepts.mass, n),
        support=longer(concepts.support, n),
        support_size=longer(concepts.support_size, n),
        listed=longer(concepts.listed, n),
        active=longer(concepts.active, n),
        free=free,
    )


def new_document(n_words: int, longest: int, n_slots: int, n_arena: int) -> Document:
    """Room for documents of up to `longest` different words, `n_slots` concepts and `n_arena` entries."""
    return Document(
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
        np.zeros(len(KINDS), np.int64),
        np.zeros(len(KINDS), np.int64),
    )


def grow_document(doc: Document, n_slots: int, n_arena: int) -> Document:
    slots = ("place", "concept", "weight", "mass", "start", "size")
    wider = {name: longer(getattr(doc, name), n_slots) for name in slots}
    return doc._replace(arena=longer(doc.arena, n_arena), **wider)


@inlined
def open_document(doc, state, data, d):
    """Unpack document d (the workspace has room for it)."""
    number, total = doc.number, doc.total
    number[FIRST], number[LAST] = data.doc_ptr[d], data.doc_ptr[d + 1]
    for a in range(number[LAST] - number[FIRST]):
        doc.spot[data.word[number[FIRST] + a]] = a + 1
        doc.explained[a] = 0.0
        doc.cover[a] = 0
    number[PAIRS], number[USED] = 0, 0
    total[WEIGHT], total[EMPTY] = 0.0, 0.0
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        first, last = state.pair_ptr[p], state.pair_ptr[p + 1]
        used = number[USED]
        mass = 0.0
        for e in range(first, last):
            doc.arena[used + e - first] = state.word[e]
            mass += state.theta[state.word[e]]
        place_pair(doc, state.concept[p], state.weight[p], mass, last - first)


@lean
def place_pair(doc, j, weight, mass, size):
    """The document takes concept j; its word set stands at the arena's end."""
    k, start = doc.number[PAIRS], doc.number[USED]
    doc.concept[k], doc.weight[k], doc.mass[k] = j, weight, mass
    doc.start[k], doc.size[k] = start, size
    doc.place[j] = k + 1
    doc.number[PAIRS] += 1
    doc.number[USED] += size
    doc.total[WEIGHT] += weight
    if size == 0:
        doc.total[EMPTY] += weight
    for e in range(start, start + size):
        a = doc.spot[doc.arena[e]] - 1
        if a >= 0:
            doc.explained[a] += weight / mass
            doc.cover[a] += 1


@lean
def drop_pair(doc, k):
    """The document gives up its k-th concept; doc.rest holds what the others explain."""
    start, size = doc.start[k], doc.size[k]
    for e in range(start, start + size):
        a = doc.spot[doc.arena[e]] - 1
        if a >= 0:
            doc.explained[a] = doc.rest[a]
            doc.cover[a] -= 1
    doc.place[doc.concept[k]] = 0
    last = doc.number[PAIRS] - 1
    if k != last:
        doc.concept[k], doc.weight[k], doc.mass[k] = doc.concept[last], doc.weight[last], doc.mass[last]
        doc.start[k], doc.size[k] = doc.start[last], doc.size[last]
        doc.place[doc.concept[k]] = k + 1
    doc.number[PAIRS] = last
    doc.total[WEIGHT], doc.total[EMPTY] = 0.0, 0.0
    for other in range(last):
        doc.total[WEIGHT] += doc.weight[other]
        if doc.size[other] == 0:
            doc.total[EMPTY] += doc.weight[other]


@inlined
def close_document(doc, data):
    for b in range(doc.number[FIRST], doc.number[LAST]):
        doc.spot[data.word[b]] = 0
    for k in range(doc.number[PAIRS]):
        doc.place[doc.concept[k]] = 0


@lean
def count_pair(concepts, theta, j, words, step):
    """Enter (step = 1) or strike (step = −1) a document's word set for concept j."""
    concepts.holders[j] += step
    for w in words:
        concepts.m[j, w] += step
        concepts.total[w] += step
        concepts.mass[j] += step * theta[w]
        if step > 0 and concepts.listed[j, w] == 0:
            concepts.listed[j, w] = 1
            concepts.support[j, concepts.support_size[j]] = w
            concepts.support_size[j] += 1


@inlined
def take_slot(concepts):
    concepts.number[FREE] -= 1
    j = concepts.free[concepts.number[FREE]]
    concepts.active[concepts.number[ACTIVE]] = j
    concepts.number[ACTIVE] += 1
    concepts.mass[j] = 0.0
    for s in range(concepts.support_size[j]):
        concepts.listed[j, concepts.support[j, s]] = 0
    concepts.support_size[j] = 0
    return j


@inlined
def release_slot(concepts, j):
    for at in range(concepts.number[ACTIVE]):
        if concepts.active[at] == j:
            concepts.number[ACTIVE] -= 1
            concepts.active[at] = concepts.active[concepts.number[ACTIVE]]
            break
    concepts.free[concepts.number[FREE]] = j
    concepts.number[FREE] += 1


class NewState(NamedTuple):
    """The new state under construction."""

    doc_ptr: np.ndarray
    concept: np.ndarray
    weight: np.ndarray
    pair_ptr: np.ndarray
    word: np.ndarray


def new_state(state: State) -> NewState:
    n_pairs, n_entries = len(state.concept) + 64, len(state.word) + 1024
    return NewState(
        np.zeros_like(state.doc_ptr),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs),
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_entries, np.int32),
    )


def grow_state(new: NewState, d: int, n_pairs: int, n_entries: int) -> NewState:
    """Room for document d, which has at most so many pairs and entries; doubled where it was short."""
    pairs = new.doc_ptr[d]
    if pairs + n_pairs > len(new.concept):
        n = 2 * len(new.concept) + n_pairs
        new = new._replace(
            concept=longer(new.concept, n),
            weight=longer(new.weight, n),
            pair_ptr=longer(new.pair_ptr, n + 1),
        )
    if new.pair_ptr[pairs] + n_entries > len(new.word):
        new = new._replace(word=longer(new.word, 2 * len(new.word) + n_entries))
    return new


@inlined
def append_document(new, doc, d):
    """Append the document at hand, its word sets in ascending order; False where there is no room."""
    pairs = new.doc_ptr[d]
    at = new.pair_ptr[pairs]
    need = at
    for k in range(doc.number[PAIRS]):
        need += doc.size[k]
    if pairs + doc.number[PAIRS] > len(new.concept) or need > len(new.word):
        return False
    for k in range(doc.number[PAIRS]):
        new.concept[pairs], new.weight[pairs] = doc.concept[k], doc.weight[k]
        start = at
        for e in range(doc.start[k], doc.start[k] + doc.size[k]):
            w, hole = doc.arena[e], at
            while hole > start and new.word[hole - 1] > w:
                new.word[hole] = new.word[hole - 1]
                hole -= 1
            new.word[hole] = w
            at += 1
        pairs += 1
        new.pair_ptr[pairs] = at
    new.doc_ptr[d + 1] = pairs
    return True


def finish_state(new: NewState, theta: np.ndarray) -> State:
    pairs = new.doc_ptr[-1]
    return State(
        new.doc_ptr,
        new.concept[:pairs].copy(),
        new.weight[:pairs].copy(),
        new.pair_ptr[: pairs + 1].copy(),
        new.word[: new.pair_ptr[pairs]].copy(),
        theta,
    )
