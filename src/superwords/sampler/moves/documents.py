"""Update which documents hold which concepts, document by document.

X and σ² are drawn for the step; ω and γ stay integrated out (docs/algebra.md section 4).
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.document import (
    KINDS,
    add_pair,
    append_document,
    clear,
    load_document,
    new_document,
    set_explained,
    set_on,
    words_of,
)
from superwords.sampler.feature_draw import RegressionDraw, draw_regression, grow_regression
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.leave_one_out import LeaveOneOutCounts, count_pair, grow_counts, leave_one_out_counts
from superwords.sampler.model import Model
from superwords.sampler.moves.birth_death import birth_or_death
from superwords.sampler.moves.contract import ChainState, Info, make_info
from superwords.sampler.moves.divide_unite import divide_and_unite
from superwords.sampler.moves.exchange import flip_concepts, swap_concepts
from superwords.sampler.random import MEMBERSHIP, open_stream, uniform
from superwords.sampler.state import AFTER_CONCEPTS, State, finish_state, grow_state, new_state, relabel, sizes_of

_SPARE = 16
_SHORT = 100  # tokens


def move_concepts(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Update c, with f and π of the concepts that change; discards z."""
    info: Info = {}
    model, before, steps = now.model, now.state, now.model.steps
    if steps.flips or steps.births or steps.swaps or steps.divisions:
        state, _, _, info = sweep_membership(before, model, stream, sweep)
    else:
        state = State(*(array.copy() for array in before))
    relabel(state, stream, sweep, AFTER_CONCEPTS, len(model.fixed))
    return now._replace(state=state, tokens=None), info


def sweep_membership(
    state: State, model: Model, stream: np.ndarray, sweep: int
) -> tuple[State, LeaveOneOutCounts, RegressionDraw, Info]:
    """Update the documents in turn; return state, counts, regression and info."""
    data, n_words, sizes = model.data, len(state.theta), sizes_of(state)
    n_spare = max(_SPARE, math.ceil(model.steps.births))
    n_slots, longest = len(sizes.holders) + n_spare, int(np.diff(data.doc_ptr).max())
    regression = draw_regression(sizes, data, model.prior, stream, sweep, n_spare=n_spare)
    concepts = leave_one_out_counts(sizes, len(data.length) - 1, state.theta, model.prior, n_spare, model.fixed)
    doc = new_document(n_words, longest, n_slots, model.steps.data_driven)
    room = len(state.concept) + n_slots + _SPARE, len(state.word) + n_slots * n_words + _SPARE * n_words
    new, d = new_state(len(data.length), *room, state.theta), 0
    while (d := _sweep_documents(d, state, model, regression, concepts, doc, new, stream, sweep)) < len(data.length):
        if concepts.n_free < model.steps.births:
            n_slots *= 2
            concepts, regression = grow_counts(concepts, n_slots), grow_regression(regression, n_slots)
            larger = new_document(n_words, longest, n_slots, model.steps.data_driven)
            doc = larger._replace(tried=doc.tried, accepted=doc.accepted)
        else:
            new = grow_state(new)
    info = make_info(KINDS, doc.tried, doc.accepted)
    return finish_state(new), concepts, regression, info


@ref_kernel
def _sweep_documents(first, state, model, regression, concepts, doc, new, stream, sweep):
    """Update the documents from `first` on; return the first that may need more room than there is, or D."""
    steps, n_slots = model.steps, len(concepts.holders)
    for d in range(first, len(model.data.length)):
        n_pairs = new.doc_ptr[d] + n_slots
        n_entries = new.pair_ptr[new.doc_ptr[d]] + n_slots * len(concepts.theta)
        if n_pairs > len(new.concept) or n_entries > len(new.word) or concepts.n_free < steps.births:
            return d
        open_stream(stream, MEMBERSHIP, sweep, d)
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
            count_pair(concepts, np.int64(state.concept[p]), words, -1)
        load_document(doc, concepts, model.data, d, steps.attempts, steps.overlap)
        take_pairs(doc, state, concepts, d)
        if steps.flips:
            flip_concepts(doc, concepts, regression, stream)
        if steps.swaps > 0:
            swap_concepts(times(steps.swaps, doc, stream), doc, concepts, regression, stream)
        if steps.divisions > 0:
            divide_and_unite(times(steps.divisions, doc, stream), doc, concepts, regression, stream)
        births = steps.births
        while births >= 1.0 or (births > 0.0 and uniform(stream) < births):
            birth_or_death(doc, concepts, model, regression, stream)
            births -= 1.0
        append_document(new, doc, d)
        for k in range(doc.n_pairs):
            count_pair(concepts, doc.concept[k], words_of(doc, k), 1)
        clear(doc)
    return len(model.data.length)


@helper
def take_pairs(doc, state, concepts, d):
    """Add the concepts that a loaded document holds in the state."""
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
        set_on(doc, doc.n_pairs, words)
        mass = 0.0
        for e in range(len(words)):
            doc.words[doc.n_pairs, e] = words[e]
            mass += concepts.theta[words[e]]
        add_pair(doc, np.int64(state.concept[p]), state.weight[p], mass, len(words))
    set_explained(doc)


@helper
def times(n, doc, stream):
    """Return how many of n tries to make: fewer in long documents, where few succeed."""
    if doc.length <= _SHORT:
        return n
    tried = 0
    for _ in range(n):
        tried += uniform(stream) * doc.length < _SHORT
    return tried
