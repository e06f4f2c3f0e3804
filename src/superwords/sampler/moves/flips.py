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
    draw_present,
    first_look,
    log_absent,
    log_gain,
    log_gain_over_tilt,
    tilt_of,
    tilt_words,
)
from superwords.sampler.open_document import (
    EMPTY,
    JOIN,
    LEAVE,
    LENGTH,
    NULL,
    PAIRS,
    SLOTS,
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
from superwords.sampler.random import below, gamma, uniform


@inlined
def flip_concepts(is_data_driven, doc, concepts, instance, stream):
    """Join or leave, in random order, each concept with its own rate."""
    n_tried = 0
    for j in range(doc.number[SLOTS]):
        if doc.rate[j] >= 1.0 or (doc.rate[j] > 0.0 and uniform(stream) < doc.rate[j]):
            doc.order[n_tried] = j
            n_tried += 1
    for t in range(n_tried):
        swap = t + below(stream, n_tried - t)
        j = doc.order[swap]
        doc.order[swap] = doc.order[t]
        if doc.place[j] == 0:
            doc.tried[JOIN] += 1
            doc.accepted[JOIN] += _try_join(j, is_data_driven, doc, concepts, instance, stream)
        else:
            doc.tried[LEAVE] += 1
            doc.accepted[LEAVE] += _try_leave(
                doc.place[j] - 1, is_data_driven, doc, concepts, instance, stream
            )


@part
def _try_join(j, is_data_driven, doc, concepts, instance, stream):
    """c_j: 0 → 1, with π from its prior and f from its prior tilted towards the document's words.

    A first look leaves out how the words drawn depart from what the tilt expects of them; a second one makes up for it.
    There the acceptance number is drawn first: where even the fewest words cannot save the proposal, the others are not
    drawn.
    """
    k = doc.number[PAIRS]
    weight = gamma(stream, concepts.alpha_pi)
    tilt = tilt_of(j, weight, doc.total[WEIGHT], is_data_driven, doc, concepts)
    log_first = math.log(concepts.odds[j]) + tilt_words(j, tilt, doc.explained, doc.factor, doc)
    if k > 0:
        log_first -= doc.number[LENGTH] * math.log1p(weight / doc.total[WEIGHT])
    log_u = math.log(uniform(stream))
    if is_data_driven:
        log_looked = first_look(log_first)
        if log_u >= log_looked:
            return False
        log_first -= log_looked
        log_u = math.log(uniform(stream))
    log_u -= log_first
    make_room(doc)
    start = doc.number[USED]
    mass, end = draw_present(k, j, doc.factor, doc, stream)
    may_screen = tilt.back == 0.0 and doc.number[NULL] == 0
    if may_screen and log_u >= _log_second(k, weight, mass, end - start, doc):
        return False
    end, absent = draw_absent(j, tilt.back, 0.0, end, doc, concepts, stream)
    words = doc.arena[start:end]
    log_ratio = log_absent(j, tilt.back, words, doc, concepts)
    log_ratio += log_null(weight, len(words), doc.total[EMPTY], doc)
    if log_u >= log_ratio + _log_second(k, weight, mass + absent, len(words), doc):
        return False
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, words[:0], j, words, j, doc.mark):
            return False
        change_counts(instance, words[:0], j, words, j)
    add_pair(doc, j, weight, mass + absent, len(words))
    set_explained(doc)
    return True


@part
def _log_second(k, weight, mass, size, doc):
    """What the words drawn for a join gain, over what the first look took for granted."""
    return log_gain_over_tilt(k, weight / mass, doc.explained, doc.factor, doc) if size > 0 else 0.0


@part
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
    if leaves_unexplained(k, doc):
        return -np.inf
    set_rest(doc, k, k)
    if doc.number[PAIRS] == 1:
        return 0.0
    others, empty = weights_without(doc, k, k)
    log_gained = -doc.number[LENGTH] * math.log1p(doc.weight[k] / others)
    return -log_gained - _log_null_without(k, empty, doc) - log_gain(k, doc.share[k], doc)


@part
def leaves_unexplained(k, doc):
    """Whether only the k-th concept explains some word of the document."""
    for a in range(doc.number[WORDS]):  # noqa: SIM110 (numba has no generators)
        if doc.on[k, a] > 0 and doc.cover[a] == 1:
            return True
    return False


@part
def _log_null_without(k, empty, doc):
    """What null tokens lose without the k-th concept, beside empty ones of weight `empty`."""
    if doc.number[NULL] == 0 or doc.number[PAIRS] == 1 or doc.size[k] > 0:
        return 0.0
    return doc.number[NULL] * math.log1p(doc.weight[k] / empty) if empty > 0.0 else np.inf


@part
def _try_leave(k, is_data_driven, doc, concepts, instance, stream):
    """c_j: 1 → 0, the exact reverse of a join."""
    if leaves_unexplained(k, doc):
        return False
    set_rest(doc, k, k)
    j, weight = doc.concept[k], doc.weight[k]
    others, empty = weights_without(doc, k, k)
    tilt = tilt_of(j, weight, others, is_data_driven, doc, concepts)
    log_first = math.log(concepts.odds[j]) + tilt_words(j, tilt, doc.rest, doc.factor, doc)
    if doc.number[PAIRS] > 1:
        log_first -= doc.number[LENGTH] * math.log1p(weight / others)
    log_u = math.log(uniform(stream))
    if is_data_driven:
        log_looked = first_look(log_first)
        if log_u >= -log_looked:
            return False
        log_first -= log_looked
        log_u = math.log(uniform(stream))
    log_u += log_first
    words = doc.arena[doc.start[k] : doc.start[k] + doc.size[k]]
    log_ratio = log_absent(j, tilt.back, words, doc, concepts) + _log_null_without(k, empty, doc)
    if len(words) > 0 and doc.number[PAIRS] > 1:
        log_ratio += log_gain_over_tilt(k, doc.share[k], doc.rest, doc.factor, doc)
    if log_u >= -log_ratio:
        return False
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, words, j, words[:0], j, doc.mark):
            return False
        change_counts(instance, words, j, words[:0], j)
    drop_pair(doc, k)
    set_explained(doc)
    return True
