"""Which documents hold which concepts, document by document: flips, exchanges, births and deaths.

X and σ² are instantiated for the step (Gaussian terms), ω and γ stay integrated out (docs/algebra.md section 4).
"""

from __future__ import annotations

import numpy as np

from superwords.sampler.instance import Instance, draw_instance
from superwords.sampler.jit import inlined, lean
from superwords.sampler.model import Model
from superwords.sampler.moves.births import birth_or_death
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info, make_info
from superwords.sampler.moves.exchange import exchange_concepts
from superwords.sampler.moves.flips import flip_concepts
from superwords.sampler.new_state import append_document, finish_state, grow_state, new_state
from superwords.sampler.published import carry_tokens
from superwords.sampler.random import MEMBERSHIP, open_stream
from superwords.sampler.state import AFTER_CONCEPTS, Sizes, State, relabel, sizes_of
from superwords.sampler.workspace import (
    FREE,
    KINDS,
    PAIRS,
    USED,
    Concepts,
    Document,
    add_pair,
    clear,
    count_pair,
    grow_concepts,
    lay_out,
    longer,
    make_concepts,
    new_document,
    set_explained,
    set_on,
)

# Places in the work list of a pass that can stop for room: the document, and whether it is at hand already
DOCUMENT, AT_HAND = range(2)
_SPARE = 16  # slots for concepts to be born, to begin with


def move_concepts(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """c (with f and π of what changes); z no longer belongs to it and is left out, or carried on as published."""
    model, before, info = now.model, now.state, NOTHING_TRIED
    steps = model.steps
    if steps.flips or steps.births or steps.swaps or steps.divisions:
        sizes = sizes_of(before)
        instance = draw_instance(sizes, model.data, model.prior, stream, sweep)
        state, _, _, info = sweep_membership(before, sizes, model, instance, stream, sweep)
    else:
        state = State(*(array.copy() for array in before))
    tokens = carry_tokens(before, now.tokens, state) if model.steps.published_order else None
    relabel(state, stream, sweep, AFTER_CONCEPTS)
    return now._replace(state=state, tokens=tokens), info


def sweep_membership(
    state: State, sizes: Sizes, model: Model, instance: Instance, stream: np.ndarray, sweep: int
) -> tuple[State, Concepts, Instance, Info]:
    """One pass over all documents. Returns the new state, the counts and semantic instance behind it, and a report."""
    data, n_words = model.data, len(state.theta)
    n_slots = len(sizes.holders) + max(_SPARE, model.steps.births)
    concepts = make_concepts(
        sizes, len(data.length) - 1, state.theta, model.prior, n_slots - len(sizes.holders)
    )
    instance = instance._replace(x=longer(instance.x, n_slots))
    longest = int(np.diff(data.doc_ptr).max())
    doc = new_document(n_words, longest, n_slots)
    new = new_state(state)
    work = np.zeros(2, np.int64)
    while not _sweep_documents(work, state, model, instance, concepts, doc, new, stream, sweep):
        if work[AT_HAND]:  # the new state is short
            new = grow_state(
                new, int(work[DOCUMENT]), int(doc.number[PAIRS]), int(doc.size[: doc.number[PAIRS]].sum())
            )
        else:
            n_slots *= 2
            concepts = grow_concepts(concepts, n_slots)
            instance = instance._replace(x=longer(instance.x, n_slots))
            doc = grow_document(doc, n_words, longest, n_slots)
    return finish_state(new, state.theta), concepts, instance, make_info(KINDS, doc.tried, doc.accepted)


def grow_document(doc: Document, n_words: int, longest: int, n_slots: int) -> Document:
    """A larger one, when no document is at hand."""
    return new_document(n_words, longest, n_slots)._replace(tried=doc.tried, accepted=doc.accepted)


@lean
def _sweep_documents(work, state, model, instance, concepts, doc, new, stream, sweep):
    """Documents work[DOCUMENT] and on; False where room runs out, with `work` saying where to go on."""
    steps = model.steps
    while work[DOCUMENT] < len(model.data.length):
        d = work[DOCUMENT]
        if work[AT_HAND] == 0:
            if concepts.number[FREE] < steps.births:
                return False
            open_stream(stream, MEMBERSHIP, sweep, d)
            _take_out(doc, state, concepts, model, d)
            if steps.flips:
                flip_concepts(steps.data_driven, doc, concepts, instance, stream)
            if steps.swaps + steps.divisions > 0:
                exchange_concepts(
                    steps.swaps, steps.divisions, steps.data_driven, doc, concepts, instance, stream
                )
            for _ in range(steps.births):
                birth_or_death(doc, concepts, model, instance, stream)
            work[AT_HAND] = 1
        if not append_document(new, doc, d):
            return False
        for k in range(doc.number[PAIRS]):
            count_pair(concepts, doc.concept[k], doc.arena[doc.start[k] : doc.start[k] + doc.size[k]], 1)
        clear(doc)
        work[AT_HAND] = 0
        work[DOCUMENT] += 1
    return True


@inlined
def _take_out(doc, state, concepts, model, d):
    """Take document d out of the counts, and lay it out with the concepts it holds."""
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        j = np.int64(state.concept[p])
        count_pair(concepts, j, state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]], -1)
    steps = model.steps
    lay_out(doc, concepts, model.data, d, steps.attempts, steps.overlap, 0 if steps.published_join else 1)
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
        set_on(doc, doc.number[PAIRS], words)
        mass, at = 0.0, doc.number[USED]
        for w in words:
            doc.arena[at] = w
            at += 1
            mass += concepts.theta[w]
        add_pair(doc, np.int64(state.concept[p]), state.weight[p], mass, len(words))
    set_explained(doc)
