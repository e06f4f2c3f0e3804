"""Join and leave of concepts that other documents hold: Eq. (cUpdate) of the paper (docs/algebra.md section 4).

A flip is accepted in two stages: prior and text first, then the semantic ratio.
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.instance import change_counts, log_fit_change
from superwords.sampler.jit import inlined, part
from superwords.sampler.moves.word_sets import (
    draw_absent,
    log_absent,
    log_gain,
    present_words,
    tilt_of,
)
from superwords.sampler.random import below, gamma, uniform
from superwords.sampler.workspace import (
    EMPTY,
    JOIN,
    LEAVE,
    LENGTH,
    NULL,
    PAIRS,
    USED,
    WEIGHT,
    WORDS,
    add_pair,
    drop_pair,
    make_room,
    set_explained,
    set_rest,
    weights_without,
)


@part
def flip_concepts(is_data_driven, doc, concepts, instance, stream):
    """Join or leave, in random order, each concept with its own rate."""
    n_tried = 0
    for j in range(len(doc.rate)):
        if doc.rate[j] >= 1.0 or (doc.rate[j] > 0.0 and uniform(stream) < doc.rate[j]):
            doc.order[n_tried] = j
            n_tried += 1
    for t in range(n_tried):
        swap = t + below(stream, n_tried - t)
        j = doc.order[swap]
        doc.order[swap] = doc.order[t]
        make_room(doc)
        if doc.place[j] == 0:
            doc.tried[JOIN] += 1
            doc.accepted[JOIN] += _try_join(j, is_data_driven, doc, concepts, instance, stream)
        else:
            doc.tried[LEAVE] += 1
            doc.accepted[LEAVE] += _try_leave(
                doc.place[j] - 1, is_data_driven, doc, concepts, instance, stream
            )


@inlined
def _try_join(j, is_data_driven, doc, concepts, instance, stream):
    """c_j: 0 → 1, with π from its prior and f from its prior tilted towards the document's words.

    The acceptance number is drawn first: where even the fewest words cannot save the proposal, the others need not
    be drawn.
    """
    k, start, holders = doc.number[PAIRS], doc.number[USED], concepts.holders[j]
    weight = gamma(stream, concepts.alpha_pi)
    log_u = math.log(uniform(stream) * (concepts.n_others - holders + concepts.b1) / holders)
    if k > 0:
        log_u += doc.number[LENGTH] * math.log1p(weight / doc.total[WEIGHT])
    for a in range(doc.number[WORDS]):
        doc.rest[a] = doc.explained[a]
    tilt = tilt_of(j, weight, doc.total[WEIGHT], is_data_driven, doc, concepts)
    log_ratio, mass, end = present_words(k, j, tilt, True, doc, stream)
    may_screen = tilt.back == 0.0 and doc.number[NULL] == 0
    if may_screen and log_u >= log_ratio + (log_gain(k, weight / mass, doc) if mass > 0.0 else 0.0):
        return False
    end, absent = draw_absent(j, tilt.back, 0.0, end, doc, concepts, stream)
    words = doc.arena[start:end]
    log_ratio += log_absent(j, tilt.back, words, doc, concepts) + log_null(
        weight, len(words), doc.total[EMPTY], doc
    )
    if log_u >= log_ratio + (log_gain(k, weight / (mass + absent), doc) if len(words) else 0.0):
        return False
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, words[:0], j, words, j, doc.mark):
            return False
        change_counts(instance, words[:0], j, words, j)
    add_pair(doc, j, weight, mass + absent, len(words))
    set_explained(doc)
    return True


@inlined
def log_null(weight, size, empty, doc):
    """What null tokens gain by a further concept of so many words, beside empty ones of weight `empty`."""
    null = doc.number[NULL]
    if null == 0:
        return 0.0
    if doc.number[PAIRS] == 0:
        return 0.0 if size == 0 else -np.inf
    return null * math.log1p(weight / empty) if size == 0 else 0.0


@part
def log_leave(k, doc):
    """log P(w^(d)) without the k-th concept, less with it; −inf where a token would be left unexplained.

    Fills doc.rest with what the others explain.
    """
    for a in range(doc.number[WORDS]):
        if doc.on[k, a] > 0 and doc.cover[a] == 1:
            return -np.inf
    set_rest(doc, k, k)
    if doc.number[PAIRS] == 1:
        return 0.0
    weight = doc.weight[k]
    others, empty = weights_without(doc, k, k)
    log_gained = -doc.number[LENGTH] * math.log1p(weight / others)
    if doc.number[NULL] > 0 and doc.size[k] == 0:
        if empty == 0.0:
            return -np.inf
        log_gained += doc.number[NULL] * math.log1p(weight / empty)
    return -log_gained - log_gain(k, doc.share[k], doc)


@inlined
def _try_leave(k, is_data_driven, doc, concepts, instance, stream):
    """c_j: 1 → 0, the exact reverse of a join."""
    log_text = log_leave(k, doc)
    if log_text == -np.inf:
        return False
    j, holders = doc.concept[k], concepts.holders[doc.concept[k]]
    words = doc.arena[doc.start[k] : doc.start[k] + doc.size[k]]
    others, _ = weights_without(doc, k, k)
    tilt = tilt_of(j, doc.weight[k], others, is_data_driven, doc, concepts)
    log_ratio, _, _ = present_words(k, j, tilt, False, doc, stream)
    log_ratio += log_absent(j, tilt.back, words, doc, concepts)
    odds = holders / (concepts.n_others - holders + concepts.b1)
    if math.log(uniform(stream) * odds) >= log_text - log_ratio:
        return False
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, words, j, words[:0], j, doc.mark):
            return False
        change_counts(instance, words, j, words[:0], j)
    drop_pair(doc, k)
    set_explained(doc)
    return True
