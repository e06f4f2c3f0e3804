"""Which documents hold which concepts, document by document: flips, exchanges, births and deaths.

X and σ² are instantiated for the step (Gaussian terms), ω and γ stay integrated out (docs/algebra.md section 4).
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.instance import Instance, draw_instance, grow_instance
from superwords.sampler.jit import lean
from superwords.sampler.model import Model
from superwords.sampler.moves.apart import sweep_apart
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info, add_info, make_info
from superwords.sampler.moves.document import change_document, take_pairs
from superwords.sampler.new_state import append_document, finish_state, grow_for, new_state, put_rows
from superwords.sampler.open_document import KINDS, PAIRS, Document, clear, lay_out, new_document
from superwords.sampler.published import carry_tokens
from superwords.sampler.random import MEMBERSHIP, open_stream
from superwords.sampler.state import AFTER_CONCEPTS, State, relabel, sizes_of
from superwords.sampler.threads import beside
from superwords.sampler.workspace import FREE, Concepts, count_pair, grow_concepts, make_concepts

# Places in the work list of a pass that can stop for room: the document, and whether it is at hand already
DOCUMENT, AT_HAND = range(2)
_SPARE = 16


def move_concepts(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """c (with f and π of what changes); z no longer belongs to it and is left out, or carried on as published.

    With many documents most of them change apart from each other (apart.py), and some, in every sweep others, in turn.
    """
    model, before, info = now.model, now.state, NOTHING_TRIED
    steps, state, every, gamma = model.steps, before, np.arange(len(model.data.length)), None
    if steps.flips or steps.births or steps.swaps or steps.divisions:
        is_turn = (every + sweep) % steps.turns == 0 if steps.turns else np.zeros(len(every), bool)
        if is_turn.any():
            state, _, _, info = sweep_membership(state, every[is_turn], model, stream, sweep, now.n_threads)
        if not is_turn.all():
            state, more, gamma = sweep_apart(state, every[~is_turn], model, stream, sweep, now.n_threads)
            info = add_info(info, more)
    else:
        state = State(*(array.copy() for array in before))
    tokens = carry_tokens(before, now.tokens, state) if steps.published_order else None
    used = relabel(state, stream, sweep, AFTER_CONCEPTS)
    return now._replace(state=state, tokens=tokens, gamma=None if gamma is None else gamma[used]), info


def sweep_membership(
    state: State, rows: np.ndarray, model: Model, stream: np.ndarray, sweep: int, n_threads: int = 1
) -> tuple[State, Concepts, Instance, Info]:
    """Documents `rows` in turn. Returns the new state, the counts and semantic instance behind it, and a report."""
    data, n_words, sizes = model.data, len(state.theta), sizes_of(state)
    n_spare = max(_SPARE, math.ceil(model.steps.births))
    n_slots = len(sizes.holders) + n_spare
    itself = 0 if model.steps.published_join else 1
    with beside(
        lambda: draw_instance(sizes, data, model.prior, stream.copy(), sweep, n_spare=n_spare), n_threads
    ) as drawn:
        concepts = make_concepts(sizes, len(data.length) - 1, state.theta, model.prior, n_spare, itself)
    instance = drawn()
    longest = int(np.diff(data.doc_ptr).max())
    doc = new_document(n_words, longest, n_slots)
    new = new_state(state, len(rows))
    work = np.zeros(2, np.int64)
    while not _sweep_documents(work, rows, state, model, instance, concepts, doc, new, stream, sweep):
        if work[AT_HAND]:
            new = grow_for(new, int(work[DOCUMENT]), doc)
        else:
            n_slots *= 2
            concepts = grow_concepts(concepts, n_slots)
            instance = grow_instance(instance, n_slots)
            doc = grow_document(doc, n_words, longest, n_slots)
    changed = finish_state(new, state.theta)
    info = make_info(KINDS, doc.tried, doc.accepted)
    return put_rows(state, changed, rows), concepts, instance, info


def grow_document(doc: Document, n_words: int, longest: int, n_slots: int) -> Document:
    """A larger one, when no document is at hand."""
    return new_document(n_words, longest, n_slots)._replace(tried=doc.tried, accepted=doc.accepted)


@lean
def _sweep_documents(work, rows, state, model, instance, concepts, doc, new, stream, sweep):
    """Documents rows[work[DOCUMENT]] and on; False where room runs out, with `work` saying where to go on."""
    while work[DOCUMENT] < len(rows):
        d = rows[work[DOCUMENT]]
        if work[AT_HAND] == 0:
            if concepts.number[FREE] < math.ceil(model.steps.births):
                return False
            open_stream(stream, MEMBERSHIP, sweep, d)
            for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
                words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
                count_pair(concepts, np.int64(state.concept[p]), words, -1)
            lay_out(doc, concepts, model.data, d, model.steps.attempts, model.steps.overlap)
            take_pairs(doc, state, concepts, d)
            change_document(False, doc, concepts, model, instance, stream)
            work[AT_HAND] = 1
        if not append_document(new, doc, work[DOCUMENT]):
            return False
        for k in range(doc.number[PAIRS]):
            count_pair(concepts, doc.concept[k], doc.arena[doc.start[k] : doc.start[k] + doc.size[k]], 1)
        clear(doc)
        work[AT_HAND] = 0
        work[DOCUMENT] += 1
    return True
