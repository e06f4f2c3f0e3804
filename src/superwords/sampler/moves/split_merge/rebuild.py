"""A state rebuilt after a split or merge was accepted."""

from __future__ import annotations

import numpy as np

from superwords.sampler.jit import lean, part
from superwords.sampler.model import Model
from superwords.sampler.moves.split_merge.group import Group
from superwords.sampler.moves.split_merge.unused_words import Made
from superwords.sampler.moves.tokens import draw_weights
from superwords.sampler.state import State, Tokens


def rebuild(
    old: State,
    old_tokens: Tokens,
    group: Group,
    made: Made,
    numbers: tuple[int, int],
    model: Model,
    stream: np.ndarray,
) -> tuple[State, Tokens]:
    """The state with the group as it was made, concepts under these numbers, and π drawn for its documents."""
    mine = np.isin(old.concept, numbers)
    n_pairs = int((~mine).sum() + made.holders.sum())
    n_entries = int(len(old.word) - np.diff(old.pair_ptr)[mine].sum() + made.m.sum())
    state = State(
        np.zeros_like(old.doc_ptr),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs),
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_entries, np.int32),
        old.theta,
    )
    tokens = Tokens(np.zeros(n_entries, np.int32), np.zeros(n_pairs, np.int64), np.zeros(n_pairs, np.int64))
    first, last = (made.sides[0], made.unused[0]), (made.sides[-1], made.unused[-1])
    if len(made.sides) == 1:
        nobody = np.zeros(len(group.doc), bool)
        last = (made.sides[0]._replace(held=nobody), made.unused[0])
    _copy_pairs(old, old_tokens, state, tokens, group.doc, *first, *last, *numbers)
    _draw_weights(state, tokens, group.doc, model.prior.alpha_pi, stream)
    return state, tokens


@lean
def _copy_pairs(old, old_tokens, state, tokens, docs, side_a, unused_a, side_b, unused_b, a, b):
    """Copy every pair but the group's, which come from what was made of it."""
    n, at, to = 0, 0, 0
    for d in range(len(old.doc_ptr) - 1):
        for p in range(old.doc_ptr[d], old.doc_ptr[d + 1]):
            if old.concept[p] == a or old.concept[p] == b:
                continue
            state.concept[at], state.weight[at] = old.concept[p], old.weight[p]
            tokens.pair[at], tokens.null[at] = old_tokens.pair[p], old_tokens.null[p]
            for e in range(old.pair_ptr[p], old.pair_ptr[p + 1]):
                state.word[to], tokens.entry[to] = old.word[e], old_tokens.entry[e]
                to += 1
            at += 1
            state.pair_ptr[at] = to
        if n < len(docs) and docs[n] == d:
            if side_a.held[n]:
                to = _copy_side(n, at, to, state, tokens, side_a, unused_a)
                state.concept[at] = a
                at += 1
                state.pair_ptr[at] = to
            if side_b.held[n]:
                to = _copy_side(n, at, to, state, tokens, side_b, unused_b)
                state.concept[at] = b
                at += 1
                state.pair_ptr[at] = to
            n += 1
        state.doc_ptr[d + 1] = at


@part
def _copy_side(n, at, to, state, tokens, side, unused):
    """A document's words used and unused, in ascending order."""
    tokens.pair[at], tokens.null[at] = side.per_doc[n], side.null[n]
    e, last = side.ptr[n], side.ptr[n + 1]
    for k in range(unused.ptr[n], unused.ptr[n + 1] + 1):
        while e < last and (k == unused.ptr[n + 1] or side.word[e] < unused.word[k]):
            state.word[to], tokens.entry[to] = side.word[e], side.tokens[e]
            to += 1
            e += 1
        if k < unused.ptr[n + 1]:
            state.word[to], tokens.entry[to] = unused.word[k], 0
            to += 1
    return to


@lean
def _draw_weights(state, tokens, docs, alpha_pi, stream):
    for d in docs:
        draw_weights(state, tokens, alpha_pi, d, stream, False)
