"""Documents that hold a concept (or either of two), and a division of them.

Only words with tokens are included; for words on without a token see unused_words.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.new_state import gathered
from superwords.sampler.state import State, Tokens

FIRST_ONLY, SECOND_ONLY, BOTH = 1, 2, 3  # a document's, or a word's, side; 0: not divided yet
_SHIFT = 1 << 32


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
    docs, row = np.unique(np.searchsorted(state.doc_ptr, mine, side="right") - 1, return_inverse=True)
    is_first = state.concept[mine] == first
    ptr, entries = gathered(state.pair_ptr, mine)
    # One sparse matrix (documents, words) of the tokens of both concepts: the first one's in the upper half of a number
    shift = np.where(np.repeat(is_first, np.diff(ptr)), _SHIFT, 1)
    used = sparse.csr_array(
        (
            tokens.entry[entries] * shift,
            state.word[entries],
            ptr[np.searchsorted(row, np.arange(len(docs) + 1))],
        ),
        shape=(len(docs), len(state.theta)),
    )
    used.sum_duplicates()
    used.eliminate_zeros()
    of_first, of_second = np.divmod(used.data, _SHIFT)
    support, place = np.unique(used.indices.astype(np.int32), return_inverse=True)
    group = Group(
        docs,
        used.indptr.astype(np.int64),
        place.astype(np.int32),
        of_first + of_second,
        np.diff(state.doc_ptr)[docs] - np.bincount(row),
        model.data.length[docs],
        support,
        state.theta[support],
        model.prior.lam[support],
    )
    held = np.bincount(row, np.where(is_first, FIRST_ONLY, SECOND_ONLY)).astype(np.uint8)
    side = FIRST_ONLY * (of_first > 0) + SECOND_ONLY * (of_second > 0)
    sides = Sides(held, side.astype(np.uint8), of_first, np.zeros((2, len(support))), np.zeros(2))
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
def count_sides(group, sides):
    """Rebuild the counts of a division."""
    for s in range(2):
        sides.holders[s] = 0.0
        for i in range(len(group.support)):
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
