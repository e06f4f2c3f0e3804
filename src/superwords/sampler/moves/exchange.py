"""Join, leave or replace concepts that other documents hold (docs/algebra.md section 4).

This is Eq. (cUpdate) of the paper, a Metropolis–Hastings step on (c, f, π) with z summed out. The π of a joined concept
enters S_d^{−N_d}; a replacement leaves S_d unchanged, so short documents can move between alternative explanations.
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.document import (
    JOIN,
    LEAVE,
    NONE,
    SWAP,
    add_pair,
    drop_pair,
    leaves_unexplained,
    set_explained,
    set_rest,
    set_weight,
    set_words,
    weight_without,
    words_of,
)
from superwords.sampler.feature_draw import accept_on_features
from superwords.sampler.jit import helper, inline_helper
from superwords.sampler.leave_one_out import breaks_condition, is_fixed
from superwords.sampler.moves.proposals import (
    delayed_accept,
    draw_absent,
    draw_present,
    log_absent,
    log_gain_over_tilt,
    tilt_of,
    tilt_words,
)
from superwords.sampler.random import below, gamma, uniform


@inline_helper
def flip_concepts(doc, concepts, regression, stream):
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
        k = doc.place[j] - 1
        if k < 0:
            doc.tried[JOIN] += 1
            weight = gamma(stream, concepts.alpha_pi)
            doc.accepted[JOIN] += _exchange(NONE, j, NONE, weight, 0.0, doc, concepts, regression, stream)
        else:
            doc.tried[LEAVE] += 1
            if not leaves_unexplained(k, doc):
                weight = doc.weight[k]
                doc.accepted[LEAVE] += _exchange(k, NONE, NONE, weight, 0.0, doc, concepts, regression, stream)


@inline_helper
def swap_concepts(n, doc, concepts, regression, stream):
    """Try `n` replacements of one concept by another, both explaining a random token."""
    if doc.n_words == 0:
        return
    for _ in range(n):
        doc.tried[SWAP] += 1
        at, k = pick_explained(doc, stream)
        t, chance = pick_replacement(at, doc, stream)
        j = doc.concept[k]
        chance_back = chance_of(at, j, doc)
        # A concept with conditions is never replaced, in either direction, so that it stays fixed
        if doc.place[t] > 0 or chance_back <= 0.0 or chance <= 0.0 or is_fixed(concepts, j) or is_fixed(concepts, t):
            continue
        log_choice = math.log(chance_back / chance)
        weight = doc.weight[k]
        doc.accepted[SWAP] += _exchange(k, t, at, weight, log_choice, doc, concepts, regression, stream)


@helper
def _exchange(k, t, at, weight, log_choice, doc, concepts, regression, stream):
    """Try to give up the k-th concept and to hold concept t with this π (either may be NONE).

    Prior and text come first, then the features' ratio. The screen ignores how the words drawn differ from their
    expectation under the tilt; the second stage adds it. There u is drawn first, so that the absent words are drawn
    only if the proposal can still be accepted. Word `at`, if any, must be on in t.
    """
    new, leaves, joins = doc.n_pairs, k != NONE, t != NONE
    out = doc.concept[k] if leaves else t
    into = t if joins else out
    set_rest(doc, k, k)
    others = weight_without(doc, k)
    tilt = tilt_of(into, weight, others, doc, concepts)
    tilt_back = tilt_of(out, weight, others, doc, concepts)
    log_first = log_choice
    if joins:
        # Eq. (cUpdate): prior odds m_j⁻/(D − 1 − m_j⁻ + b₁) times the expected gain of the text
        log_first += math.log(concepts.odds[t]) + tilt_words(t, tilt, doc.factor, doc)
    if leaves:
        # Eq. (cUpdate) of the join that this would undo: every term enters with the opposite sign
        log_first -= math.log(concepts.odds[out]) + tilt_words(out, tilt_back, doc.factor_back, doc)
    if joins != leaves and others > 0.0:
        log_first += doc.length * math.log1p(weight / others) * (1.0 if leaves else -1.0)
    log_u = delayed_accept(log_first, doc.is_data_driven, stream)
    if log_u == np.inf:
        return False
    size, mass = 0, 0.0
    if joins:
        size, mass = draw_present(new, t, doc.factor, doc, stream)
        for a in range(doc.n_words):
            if doc.on[new, a] == 0 and (doc.rest[a] == 0.0 or a == at):
                return False
        if tilt.absent == 0.0 and log_u >= log_gain_over_tilt(k, new, weight / mass, doc):
            return False  # further words would not help
        size, absent = draw_absent(new, t, tilt.absent, 0.0, size, doc, concepts, stream)
        mass += absent
    words, words_back = doc.words[new][0:size], doc.words[new][0:0]
    if joins:
        if is_fixed(concepts, t) and breaks_condition(concepts, t, words):
            return False
        log_u -= log_absent(t, tilt.absent, words, doc, concepts)
    if leaves:
        words_back = words_of(doc, k)
        log_u += log_absent(out, tilt_back.absent, words_back, doc, concepts)
    if log_u >= log_gain_over_tilt(k, new if joins else NONE, weight / mass, doc):
        return False
    # Eq. (cUpdate), second stage: P(Y | Φ′)/P(Y | Φ)
    if not accept_on_features(regression, words_back, out, words, into, doc.mark, stream):
        return False
    if not leaves:
        add_pair(doc, t, weight, mass, size)
    elif not joins:
        drop_pair(doc, k)
    else:
        doc.place[out], doc.place[t], doc.concept[k] = 0, k + 1, t
        set_words(doc, k, new, size)
        set_weight(doc, k, weight, mass)
        for a in range(doc.n_words):
            doc.on[k, a] = doc.on[new, a]
    set_explained(doc)
    return True


@helper
def pick_explained(doc, stream):
    """Pick a token, and one of the concepts that explain it; return its word's index a, and k."""
    u, a = below(stream, doc.length), 0
    while u >= doc.times[a]:
        u -= doc.times[a]
        a += 1
    n = below(stream, doc.n_explaining[a])
    for k in range(doc.n_pairs):
        if doc.on[k, a] > 0:
            if n == 0:
                return a, k
            n -= 1
    return a, 0


@helper
def pick_replacement(a, doc, stream):
    """Pick a concept that might explain the a-th word; return it and its probability."""
    _weigh_replacements(a, doc)
    low, high = 0, doc.n_slots - 1
    u = uniform(stream) * doc.pick[a, high]
    while low < high:
        middle = (low + high) // 2
        if doc.pick[a, middle] > u:
            high = middle
        else:
            low = middle + 1
    return low, chance_of(a, low, doc)


@helper
def chance_of(a, j, doc):
    """Return the probability that concept j is picked, which depends on the other documents only."""
    if j >= doc.n_slots:
        return 0.0  # held by this document only
    _weigh_replacements(a, doc)
    below_j = doc.pick[a, j - 1] if j > 0 else 0.0
    whole = doc.pick[a, doc.n_slots - 1]
    return (doc.pick[a, j] - below_j) / whole if whole > 0.0 else 0.0


@helper
def _weigh_replacements(a, doc):
    if doc.picked[a] == 0:
        doc.picked[a], total = 1, 0.0
        for j in range(doc.n_slots):
            total += doc.p[a, j] * doc.replacement_weight[j]
            doc.pick[a, j] = total
