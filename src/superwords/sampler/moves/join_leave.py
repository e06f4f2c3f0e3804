"""Join and leave concepts that other documents hold (docs/algebra.md section 4).

This is Eq. (cUpdate) of the paper, with delayed acceptance: prior and text first, then the features' ratio.
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.document import (
    JOIN,
    LEAVE,
    add_pair,
    drop_pair,
    make_room,
    set_explained,
    set_rest,
    weight_without,
)
from superwords.sampler.feature_draw import accept_on_features
from superwords.sampler.jit import helper, inline_helper
from superwords.sampler.leave_one_out import breaks_condition, is_fixed
from superwords.sampler.moves.proposals import (
    delayed_accept,
    draw_absent,
    draw_present,
    log_absent,
    log_gain,
    log_gain_over_tilt,
    tilt_of,
    tilt_words,
)
from superwords.sampler.random import below, gamma, uniform


@inline_helper
def flip_concepts(is_data_driven, doc, concepts, regression, stream):
    """Try to join or leave each concept, in random order, each at its own rate."""
    n_tried = 0
    for j in range(doc.n_slots):
        if doc.rate[j] >= 1.0 or (doc.rate[j] > 0.0 and uniform(stream) < doc.rate[j]):
            doc.order[n_tried] = j
            n_tried += 1
    for t in range(n_tried):
        swap = t + below(stream, n_tried - t)
        j = doc.order[swap]
        doc.order[swap] = doc.order[t]
        if doc.place[j] == 0:
            doc.tried[JOIN] += 1
            doc.accepted[JOIN] += _try_join(j, is_data_driven, doc, concepts, regression, stream)
        else:
            doc.tried[LEAVE] += 1
            doc.accepted[LEAVE] += _try_leave(doc.place[j] - 1, is_data_driven, doc, concepts, regression, stream)


@helper
def _try_join(j, is_data_driven, doc, concepts, regression, stream):
    """Try c_j: 0 → 1, π from its prior, f from its prior tilted to the document.

    The screen ignores how the words drawn differ from their expectation under the tilt; the second stage adds it. There
    u is drawn first, so that the absent words are drawn only if the proposal can still be accepted.
    """
    k = doc.n_pairs
    weight = gamma(stream, concepts.alpha_pi)
    tilt = tilt_of(j, weight, doc.total_weight, is_data_driven, doc, concepts)
    # Eq. (cUpdate): prior odds m_j⁻/(D − 1 − m_j⁻ + b₁) times the expected gain of the text
    log_first = math.log(concepts.odds[j]) + tilt_words(j, tilt, doc.explained, doc.factor, doc)
    if k > 0:
        log_first -= doc.length * math.log1p(weight / doc.total_weight)
    log_u = delayed_accept(log_first, is_data_driven, stream)
    if log_u == np.inf:
        return False
    make_room(doc)
    start = doc.used
    mass, end = draw_present(k, j, doc.factor, doc, stream)
    if tilt.absent == 0.0 and log_u >= _log_second(k, weight, mass, end - start, doc):
        return False
    end, absent = draw_absent(j, tilt.absent, 0.0, end, doc, concepts, stream)
    words = doc.arena[start:end]
    if is_fixed(concepts, j) and breaks_condition(concepts, j, words):
        return False
    log_ratio = log_absent(j, tilt.absent, words, doc, concepts)
    if log_u >= log_ratio + _log_second(k, weight, mass + absent, len(words), doc):
        return False
    # Eq. (cUpdate), second stage: P(Y | Φ′)/P(Y | Φ)
    if not accept_on_features(regression, words[:0], j, words, j, doc.mark, stream):
        return False
    add_pair(doc, j, weight, mass + absent, len(words))
    set_explained(doc)
    return True


@helper
def _log_second(k, weight, mass, size, doc):
    """Return the gain of the words drawn for a join over that assumed by the screen."""
    return log_gain_over_tilt(k, weight / mass, doc.explained, doc.factor, doc) if size > 0 else 0.0


@helper
def log_leave(k, doc):
    """Return log P(w^(d)) without the k-th concept less with it; −inf if unexplained.

    Fills doc.rest with what the others explain.
    """
    if leaves_unexplained(k, doc):
        return -np.inf
    set_rest(doc, k, k)
    if doc.n_pairs == 1:
        return 0.0
    log_gained = -doc.length * math.log1p(doc.weight[k] / weight_without(doc, k))
    return -log_gained - log_gain(k, doc.share[k], doc)


@helper
def leaves_unexplained(k, doc):
    """Return whether only the k-th concept explains some word of the document."""
    for a in range(doc.n_words):  # noqa: SIM110 (numba has no generators)
        if doc.on[k, a] > 0 and doc.n_explaining[a] == 1:
            return True
    return False


@helper
def _try_leave(k, is_data_driven, doc, concepts, regression, stream):
    """Try c_j: 1 → 0, the exact reverse of a join."""
    if leaves_unexplained(k, doc):
        return False
    set_rest(doc, k, k)
    j, weight = doc.concept[k], doc.weight[k]
    others = weight_without(doc, k)
    tilt = tilt_of(j, weight, others, is_data_driven, doc, concepts)
    # Eq. (cUpdate) of the join that this would undo; every term enters with the opposite sign
    log_first = math.log(concepts.odds[j]) + tilt_words(j, tilt, doc.rest, doc.factor, doc)
    if doc.n_pairs > 1:
        log_first -= doc.length * math.log1p(weight / others)
    log_u = delayed_accept(-log_first, is_data_driven, stream)
    if log_u == np.inf:
        return False
    words = doc.arena[doc.start[k] : doc.start[k] + doc.size[k]]
    log_ratio = log_absent(j, tilt.absent, words, doc, concepts)
    if len(words) > 0 and doc.n_pairs > 1:
        log_ratio += log_gain_over_tilt(k, doc.share[k], doc.rest, doc.factor, doc)
    if log_u >= -log_ratio:
        return False
    if not accept_on_features(regression, words, j, words[:0], j, doc.mark, stream):
        return False
    drop_pair(doc, k)
    set_explained(doc)
    return True
