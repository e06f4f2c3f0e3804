"""Documents that hold a concept (or either of two), and a division of them.

Only words with tokens are included; for words on without a token see unused_words.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.state import State, Tokens

FIRST_ONLY, SECOND_ONLY, BOTH = 1, 2, 3  # a document's, or a word's, side; 0: not divided yet


class Group(NamedTuple):
    """Words used and tokens of the documents that hold a concept, or either of two."""

    doc: np.ndarray  # (n)
    ptr: np.ndarray  # (n+1) into word, tokens
    word: np.ndarray  # (E) place in `support` of a word that is used
    tokens: np.ndarray  # (E) n_dji > 0
    others: np.ndarray  # (n) number of other concepts of the document
    length: np.ndarray  # (n) N_d
    support: np.ndarray  # (s) words used anywhere in the group
    theta: np.ndarray  # (s)
    lam: np.ndarray  # (s)


class Sides(NamedTuple):
    """A division of a group."""

    doc: np.ndarray  # (n) uint8
    word: np.ndarray  # (E) uint8
    tokens: np.ndarray  # (E) of the first concept
    m: np.ndarray  # (2, s) documents that use the word
    holders: np.ndarray  # (2)


class Side(NamedTuple):
    """One concept of a division, or the undivided concept: its documents and words."""

    held: np.ndarray  # (n) bool
    ptr: np.ndarray  # (n+1) into word, tokens
    word: np.ndarray  # (E') words used, ascending in a document
    tokens: np.ndarray  # (E') > 0
    per_doc: np.ndarray  # (n) n_dj


def gather(state: State, tokens: Tokens, model: Model, first: int, second: int) -> tuple[Group, Sides]:
    """Return the group of two concepts and its present division."""
    mine = np.flatnonzero((state.concept == first) | (state.concept == second))
    n_entries = int((state.pair_ptr[mine + 1] - state.pair_ptr[mine]).sum())
    doc_of = np.searchsorted(state.doc_ptr, mine, side="right") - 1
    docs = np.unique(doc_of)
    ptr, others = np.zeros(len(docs) + 1, np.int64), np.zeros(len(docs), np.int64)
    word, n_tokens = np.zeros(n_entries, np.int32), np.zeros(n_entries, np.int64)
    support, theta, lam = (
        np.zeros(0, np.int64),
        np.zeros(0),
        np.zeros(0),
    )  # filled below, when the words are known
    group = Group(docs, ptr, word, n_tokens, others, model.data.length[docs], support, theta, lam)
    side, count = np.zeros(n_entries, np.uint8), np.zeros(n_entries, np.int64)
    which = np.zeros(len(docs), np.uint8)
    _collect(state, tokens, group, first, second, side, count, which)
    n_entries = group.ptr[-1]
    support, place = np.unique(group.word[:n_entries], return_inverse=True)
    group = group._replace(
        word=place.astype(np.int32),
        tokens=group.tokens[:n_entries],
        support=support,
        theta=state.theta[support],
        lam=model.prior.lam[support],
    )
    sides = Sides(which, side[:n_entries], count[:n_entries], np.zeros((2, len(support))), np.zeros(2))
    count_sides(group, sides)
    return group, sides


def undivided(group: Group) -> Sides:
    """Return a division of nothing."""
    return Sides(
        np.zeros(len(group.doc), np.uint8),
        np.zeros(len(group.word), np.uint8),
        np.zeros(len(group.word), np.int64),
        np.zeros((2, len(group.support))),
        np.zeros(2),
    )


def whole(group: Group) -> Sides:
    """Return the division with everything in the first concept."""
    sides = undivided(group)._replace(tokens=group.tokens)
    sides.doc[:], sides.word[:] = FIRST_ONLY, FIRST_ONLY
    count_sides(group, sides)
    return sides


def take_side(group: Group, sides: Sides, s: int) -> Side:
    """Return the first (s = 0) or the second concept of a division."""
    mine = (sides.word & (1 << s)) > 0
    tokens = (group.tokens - sides.tokens if s else sides.tokens)[mine]
    ptr = np.concatenate([[0], np.cumsum(mine)])[group.ptr]
    total = np.concatenate([[0], np.cumsum(tokens)])[ptr]
    return Side((sides.doc & (1 << s)) > 0, ptr, group.support[group.word[mine]], tokens, np.diff(total))


def limit(side: Side, docs: np.ndarray) -> Side:
    """Return the same in these documents (a mask) only."""
    ptr, mine = entries_of(side.ptr, docs)
    return side._replace(held=side.held & docs, ptr=ptr, word=side.word[mine], tokens=side.tokens[mine])


def entries_of(ptr: np.ndarray, docs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of these documents (a mask) and where they begin."""
    size = np.diff(ptr)
    return np.concatenate([[0], np.cumsum(size * docs)]), np.repeat(docs, size)


@ref_kernel
def _collect(state, tokens, group, first, second, side, count, which):
    """Merge the two sorted lists of words used of every document of the group."""
    at = 0
    for n in range(len(group.doc)):
        d = group.doc[n]
        a, b = -1, -1
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            if state.concept[p] == first:
                a = p
            elif state.concept[p] == second:
                b = p
        group.others[n] = state.doc_ptr[d + 1] - state.doc_ptr[d] - (a >= 0) - (b >= 0)
        which[n] = (a >= 0) + 2 * (b >= 0)
        ea, last_a = (state.pair_ptr[a], state.pair_ptr[a + 1]) if a >= 0 else (0, 0)
        eb, last_b = (state.pair_ptr[b], state.pair_ptr[b + 1]) if b >= 0 else (0, 0)
        while ea < last_a or eb < last_b:
            word = len(state.theta)
            if ea < last_a:
                word = state.word[ea]
            if eb < last_b:
                word = min(word, state.word[eb])
            group.word[at] = word
            side[at], count[at], group.tokens[at] = 0, 0, 0
            if ea < last_a and state.word[ea] == word:
                if tokens.entry[ea] > 0:
                    side[at] += FIRST_ONLY
                    count[at] = tokens.entry[ea]
                    group.tokens[at] += tokens.entry[ea]
                ea += 1
            if eb < last_b and state.word[eb] == word:
                if tokens.entry[eb] > 0:
                    side[at] += SECOND_ONLY
                    group.tokens[at] += tokens.entry[eb]
                eb += 1
            at += side[at] > 0
        group.ptr[n + 1] = at


@ref_kernel
def count_sides(group, sides):
    """Rebuild the counts of a division."""
    for s in range(2):
        sides.holders[s] = 0.0
        for i in range(sides.m.shape[1]):
            sides.m[s, i] = 0.0
    for n in range(len(group.doc)):
        enter(group, sides, n, 1.0)


@helper
def enter(group, sides, n, step):
    """Add (step = 1) or remove (−1) a divided document from the counts."""
    for s in range(2):
        if sides.doc[n] & (1 << s):
            sides.holders[s] += step
            for e in range(group.ptr[n], group.ptr[n + 1]):
                if sides.word[e] & (1 << s):
                    sides.m[s, group.word[e]] += step
