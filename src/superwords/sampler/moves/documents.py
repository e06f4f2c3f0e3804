"""Update which documents hold which concepts, document by document.

Flips, replacements, births and deaths. X and σ² are instantiated for the step (Gaussian terms), ω and γ stay integrated
out (docs/algebra.md section 4).
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
)
from superwords.sampler.feature_draw import RegressionDraw, draw_regression, grow_regression
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.leave_one_out import LeaveOneOutCounts, count_pair, grow_counts, leave_one_out_counts
from superwords.sampler.model import Model
from superwords.sampler.moves.birth_death import birth_or_death
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info, make_info
from superwords.sampler.moves.divide_unite import divide_and_unite
from superwords.sampler.moves.join_leave import flip_concepts
from superwords.sampler.moves.replace import swap_concepts
from superwords.sampler.random import MEMBERSHIP, open_stream, uniform
from superwords.sampler.state import AFTER_CONCEPTS, State, Work, finish_state, grow_state, new_state, relabel, sizes_of

_SPARE = 16
_SHORT = 100  # tokens


def move_concepts(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Update c, with f and π of the concepts that change; discards z."""
    model, before, info = now.model, now.state, NOTHING_TRIED
    steps = model.steps
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
    n_slots = len(sizes.holders) + n_spare
    regression = draw_regression(sizes, data, model.prior, stream, sweep, n_spare=n_spare)
    concepts = leave_one_out_counts(sizes, len(data.length) - 1, state.theta, model.prior, n_spare, model.fixed)
    longest = int(np.diff(data.doc_ptr).max())
    doc = new_document(n_words, longest, n_slots)
    new = new_state(state, len(data.length))
    work = Work(np.array(0), np.array(0))
    while not _sweep_documents(work, state, model, regression, concepts, doc, new, stream, sweep):
        if work.is_loaded:
            new = grow_state(new, int(work.document), doc)
        else:
            n_slots *= 2
            concepts = grow_counts(concepts, n_slots)
            regression = grow_regression(regression, n_slots)
            counts = {"tried": doc.tried, "accepted": doc.accepted}
            doc = new_document(n_words, longest, n_slots)._replace(**counts)
    info = make_info(KINDS, doc.tried, doc.accepted)
    return finish_state(new), concepts, regression, info


@ref_kernel
def _sweep_documents(work, state, model, regression, concepts, doc, new, stream, sweep):
    """Update from work.document on; return False if space runs out."""
    while work.document < len(model.data.length):
        d = work.document
        if work.is_loaded == 0:
            if concepts.n_free < math.ceil(model.steps.births):
                return False
            open_stream(stream, MEMBERSHIP, sweep, d)
            for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
                words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
                count_pair(concepts, np.int64(state.concept[p]), words, -1)
            load_document(doc, concepts, model.data, d, model.steps.attempts, model.steps.overlap)
            take_pairs(doc, state, concepts, d)
            steps = model.steps
            if steps.flips:
                flip_concepts(steps.data_driven, doc, concepts, regression, stream)
            if steps.swaps > 0:
                n = times(steps.swaps, doc, stream)
                swap_concepts(n, steps.data_driven, doc, concepts, regression, stream)
            if steps.divisions > 0:
                n = times(steps.divisions, doc, stream)
                divide_and_unite(n, steps.data_driven, doc, concepts, regression, stream)
            births = steps.births
            while births >= 1.0 or (births > 0.0 and uniform(stream) < births):
                birth_or_death(doc, concepts, model, regression, stream)
                births -= 1.0
            work.is_loaded = 1
        if not append_document(new, doc, d):
            return False
        for k in range(doc.n_pairs):
            count_pair(concepts, doc.concept[k], doc.arena[doc.start[k] : doc.start[k] + doc.size[k]], 1)
        clear(doc)
        work.is_loaded = 0
        work.document += 1
    return True


@helper
def take_pairs(doc, state, concepts, d):
    """Add the concepts that a loaded document holds in the state."""
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
        set_on(doc, doc.n_pairs, words)
        mass, at = 0.0, doc.used
        for w in words:
            doc.arena[at] = w
            at += 1
            mass += concepts.theta[w]
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
