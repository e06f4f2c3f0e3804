"""One document's moves, one after the other: flips, swaps, divisions and unions, births and deaths."""

from __future__ import annotations

import numpy as np

from superwords.sampler.jit import inlined, part
from superwords.sampler.moves.births import birth_or_death
from superwords.sampler.moves.divide_unite import divide_and_unite
from superwords.sampler.moves.flips import flip_concepts
from superwords.sampler.moves.swaps import swap_concepts
from superwords.sampler.open_document import LENGTH, PAIRS, USED, add_pair, set_explained, set_on
from superwords.sampler.random import uniform

_FLIPS, _SWAPS, _DIVISIONS, _BIRTHS = range(4)
_SHORT = 100  # tokens


@part
def take_pairs(doc, state, concepts, d):
    """A document that is laid out takes the concepts that it holds in the state."""
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


@inlined
def change_document(is_backwards, doc, concepts, model, instance, stream):
    """All moves. Each is reversible; so are all of them together, in this order or the opposite one by a coin."""
    steps = model.steps
    for turn in range(4):
        kind = 3 - turn if is_backwards else turn
        if kind == _FLIPS and steps.flips:
            flip_concepts(steps.data_driven, doc, concepts, instance, stream)
        elif kind == _SWAPS and steps.swaps > 0:
            n = times(steps.swaps, doc, stream)
            swap_concepts(n, steps.data_driven, doc, concepts, instance, stream)
        elif kind == _DIVISIONS and steps.divisions > 0:
            n = times(steps.divisions, doc, stream)
            divide_and_unite(n, steps.data_driven, doc, concepts, instance, stream)
        elif kind == _BIRTHS:
            births = steps.births
            while births >= 1.0 or (births > 0.0 and uniform(stream) < births):
                birth_or_death(doc, concepts, model, instance, stream)
                births -= 1.0


@part
def times(n, doc, stream):
    """How often of n times: long documents, which hardly ever pass from one concept to another, try it less often."""
    if doc.number[LENGTH] <= _SHORT:
        return n
    tried = 0
    for _ in range(n):
        tried += uniform(stream) * doc.number[LENGTH] < _SHORT
    return tried
