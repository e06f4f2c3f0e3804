"""Which documents hold which concepts: join and leave of shared concepts, then births and deaths of unique ones.

Eq. (cUpdate) of the paper. X and σ² are instantiated for the step (Gaussian terms), ω and γ stay integrated out, and a
flip is accepted in two stages: prior and text first, then the semantic ratio (MODEL.md sections 2, 4 and 5).
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.jit import kernel
from superwords.sampler.moves.birth import birth_or_death
from superwords.sampler.moves.desk import (
    ACTIVE,
    FIRST,
    FREE,
    LAM_MAX,
    LAST,
    PAIRS,
    PRIOR_MASS,
    THETA_MEAN,
    USED,
    WEIGHT,
    clear,
    count_pair,
    drop_pair,
    finish,
    grow_desk,
    grow_tally,
    new_desk,
    new_pile,
    new_tally,
    place_pair,
    put_on_pile,
    unpack,
)
from superwords.sampler.moves.text import log_text_gain, log_text_loss, set_rest
from superwords.sampler.random import MEMBERSHIP, below, gamma, open_stream, skip, uniform
from superwords.sampler.semantics import Instance

_MOST_TILT = 20.0  # of a word's log odds, so that no proposal is one that cannot be undone
_ATTEMPTS = 30.0  # concepts tried per document at the least, where there are more
_OVERLAP = 20.0  # how much more often a concept is tried whose words the document uses


@kernel
def sweep_membership(state, sizes, model, instance, stream, sweep):
    """One pass over all documents. Returns the new state, the tally behind it and the semantic instance."""
    data = model.data
    n_documents, n_words = len(data.doc_ptr) - 1, len(state.theta)
    longest, most = 0, 0
    for d in range(n_documents):
        longest = max(longest, data.doc_ptr[d + 1] - data.doc_ptr[d])
        most = max(most, state.pair_ptr[state.doc_ptr[d + 1]] - state.pair_ptr[state.doc_ptr[d]])
    n_slots = len(sizes.holders) + 16
    tally = new_tally(sizes, state.theta, model.prior.lam, n_slots)
    instance = _grow_instance(instance, n_slots)
    desk = grow_desk(new_desk(n_words, longest, n_slots), n_slots, most + 8 * n_words + 64)
    pile = new_pile(state)
    order = np.zeros(n_slots, np.int32)
    for d in range(n_documents):
        open_stream(stream, MEMBERSHIP, sweep, d)
        unpack(desk, state, data, d)
        if model.steps.flips:
            n_tried = _choose_concepts(order, desk, tally, model, stream)
            for t in range(n_tried):
                if desk.number[USED] + n_words > len(desk.arena):
                    desk = grow_desk(desk, len(desk.place), 2 * len(desk.arena) + n_words)
                j = order[t]
                k = desk.place[j] - 1
                if k < 0:
                    _try_join(j, d, desk, tally, model, state.theta, instance, stream)
                else:
                    _try_leave(k, d, desk, tally, model, state.theta, instance, stream)
        for _ in range(model.steps.births):
            if tally.number[FREE] == 0 or desk.number[PAIRS] == len(desk.concept):
                n_slots = 2 * len(tally.holders)
                tally = grow_tally(tally, n_slots)
                instance = _grow_instance(instance, n_slots)
                desk = grow_desk(desk, n_slots, len(desk.arena))
                order = np.zeros(n_slots, np.int32)
            if desk.number[USED] + n_words > len(desk.arena):
                desk = grow_desk(desk, len(desk.place), 2 * len(desk.arena) + n_words)
            birth_or_death(d, desk, tally, model, state.theta, instance, stream)
        pile = put_on_pile(pile, desk, d)
        clear(desk, data)
    return finish(pile, state.theta), tally, instance


@kernel
def _grow_instance(instance, n):
    x = np.zeros((n, instance.x.shape[1]))
    x[: len(instance.x)] = instance.x
    return Instance(x, instance.precision, instance.pull)


@kernel
def _choose_concepts(order, desk, tally, model, stream):
    """The shared concepts to flip in this document, in random order.

    Each is tried with a probability that its own flip does not change, so that the choice needs no correction: it
    looks at the other documents that hold the concept only.
    """
    n_tried = 0
    base = _ATTEMPTS / max(1, tally.number[ACTIVE])
    for at in range(tally.number[ACTIVE]):
        j = tally.active[at]
        k = desk.place[j] - 1
        others = tally.holders[j] - (1 if k >= 0 else 0)
        if others == 0:
            continue
        if base >= 1.0 or uniform(stream) < base + _OVERLAP * _overlap(j, k, others, desk, tally, model.data):
            order[n_tried] = j
            n_tried += 1
    for t in range(n_tried - 1, 0, -1):
        swap = below(stream, t + 1)
        order[t], order[swap] = order[swap], order[t]
    return n_tried


@kernel
def _overlap(j, k, others, desk, tally, data):
    """The share of the document's tokens that concept j holds, on average over the other documents."""
    shared, length = 0, 0
    first = desk.number[FIRST]
    for b in range(first, desk.number[LAST]):
        shared += data.count[b] * tally.m[j, data.word[b]]
        length += data.count[b]
    if k >= 0:
        for e in range(desk.start[k], desk.start[k] + desk.size[k]):
            a = desk.spot[desk.arena[e]] - 1
            if a >= 0:
                shared -= data.count[first + a]
    return shared / (others * max(1, length))


@kernel
def _try_join(j, d, desk, tally, model, theta, instance, stream):
    """c_j^(d): 0 → 1, with π from its prior and f from its prior tilted towards the document's words."""
    prior, data = model.prior, model.data
    others = tally.holders[j]
    weight = gamma(stream, prior.alpha_pi)
    for a in range(desk.number[LAST] - desk.number[FIRST]):
        desk.rest[a] = desk.explained[a]
    used = desk.number[USED]
    size, log_prior_over_proposal = _variant(
        j, weight, desk.total[WEIGHT], others, tally.mass[j], True, d, desk, tally, model, theta, stream
    )
    words = desk.arena[used : used + size]
    mass = 0.0
    for w in words:
        mass += theta[w]
    log_odds = math.log(others / (len(data.length) - 1 - others + prior.b1))
    log_ratio = log_odds + log_prior_over_proposal + log_text_gain(desk, data, d, words, weight, mass)
    if math.log(uniform(stream)) >= log_ratio:
        return
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, data, tally.total, words, j, 1):
            return
        move_pull(instance, tally.total, words, j, 1)
    place_pair(desk, j, weight, mass, size)
    count_pair(tally, theta, j, words, 1)


@kernel
def _try_leave(k, d, desk, tally, model, theta, instance, stream):
    """c_j^(d): 1 → 0, the exact reverse of a join."""
    prior, data = model.prior, model.data
    j, weight = desk.concept[k], desk.weight[k]
    others = tally.holders[j] - 1
    log_text = log_text_loss(desk, data, d, k)
    if log_text == -np.inf:
        return
    weight_rest = set_rest(desk, k)
    words = desk.arena[desk.start[k] : desk.start[k] + desk.size[k]]
    for w in words:
        desk.mark[w] = 1
    _, log_prior_over_proposal = _variant(
        j, weight, weight_rest, others, tally.mass[j] - desk.mass[k], False, d, desk, tally, model, theta, stream
    )
    for w in words:
        desk.mark[w] = 0
    log_odds = math.log(others / (len(data.length) - 1 - others + prior.b1))
    if math.log(uniform(stream)) >= log_text - log_odds - log_prior_over_proposal:
        return
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, data, tally.total, words, j, -1):
            return
        move_pull(instance, tally.total, words, j, -1)
    count_pair(tally, theta, j, words, -1)
    drop_pair(desk, k)


@kernel
def _variant(j, weight, weight_rest, others, mass_others, draw, d, desk, tally, model, theta, stream):
    """Draw, or score, the word set with which document d joins concept j: log P(f) / q(f).

    P(f_ji = 1) = (m_ji⁻ + b₂λ_i)/(m_j⁻ + b₂), Eq. (fPrior) with d counted. Its odds are tilted by what the word would
    do to the text: up where the document uses it, down where it does not; words no other document has on and this one
    does not use keep their prior. A drawn set stands at the arena's end; a scored one is marked.
    """
    prior, data, steps = model.prior, model.data, model.steps
    lam, b2 = prior.lam, prior.b2
    expected_mass = (mass_others + b2 * tally.mean[PRIOR_MASS]) / (others + b2)
    share = weight / expected_mass
    log_down = 0.0
    if steps.data_driven:
        n_expected = data.length[d] * weight / (weight_rest + weight)
        log_down = max(-_MOST_TILT, -n_expected * math.log1p(tally.mean[THETA_MEAN] / expected_mass))
    down = math.exp(log_down)
    lost = 1.0 if steps.published_join else 0.0
    first = desk.number[FIRST]
    end = desk.number[USED]
    log_ratio, product = 0.0, 1.0
    for a in range(desk.number[LAST] - first):
        w = data.word[first + a]
        log_tilt = 0.0
        if steps.data_driven:
            gain = _MOST_TILT
            if desk.rest[a] > 0.0:
                gain = data.count[first + a] * math.log1p(share / desk.rest[a])
            log_tilt = min(_MOST_TILT, log_down + gain)
        m = tally.m[j, w] - desk.mark[w]
        odds = (m + b2 * lam[w]) / max(others - m + b2 * (1.0 - lam[w]) - lost, 1e-12)
        tilted = odds * math.exp(log_tilt)
        product *= (1.0 + tilted) / (1.0 + odds)
        on = uniform(stream) * (1.0 + tilted) < tilted if draw else desk.mark[w] == 1
        if on:
            log_ratio -= log_tilt
            if draw:
                desk.arena[end] = w
                end += 1
        if product > 1e100 or product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    for s in range(tally.support_size[j]):
        w = tally.support[j, s]
        m = tally.m[j, w] - desk.mark[w]
        if m == 0 or desk.spot[w] > 0:
            continue
        odds = (m + b2 * lam[w]) / max(others - m + b2 * (1.0 - lam[w]) - lost, 1e-12)
        tilted = odds * down
        product *= (1.0 + tilted) / (1.0 + odds)
        on = uniform(stream) * (1.0 + tilted) < tilted if draw else desk.mark[w] == 1
        if on:
            log_ratio -= log_down
            if draw:
                desk.arena[end] = w
                end += 1
        if product > 1e100 or product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    if draw:
        end = _draw_new_words(j, others, end, desk, tally, prior, stream)
    log_ratio += math.log(product)
    return end - desk.number[USED], 0.0 if steps.published_join else log_ratio


@kernel
def _draw_new_words(j, others, end, desk, tally, prior, stream):
    """Words that neither another holder of j has on nor the document uses, from their prior, by skipping."""
    most = prior.b2 * tally.mean[LAM_MAX] / (others + prior.b2)
    w = skip(stream, most)
    while w < len(prior.lam):
        if desk.spot[w] == 0 and tally.m[j, w] == 0:
            if uniform(stream) * tally.mean[LAM_MAX] < prior.lam[w]:
                desk.arena[end] = w
                end += 1
        w += 1 + skip(stream, most)
    return end


@kernel
def log_fit_change(instance, data, total, words, j, step):
    """log P(Y | X, σ², Φ) gained when concept j's count of each of these words changes by `step`."""
    n_features = len(instance.precision)
    change = 0.0
    for w in words:
        if not data.known[w]:
            continue
        before = 1.0 / total[w] if total[w] > 0 else 0.0
        after = 1.0 / (total[w] + step) if total[w] + step > 0 else 0.0
        for k in range(n_features):
            pull = instance.pull[w, k]
            e0 = data.Y[w, k] - pull * before
            e = data.Y[w, k] - (pull + step * instance.x[j, k]) * after
            change += instance.precision[k] * (e0 * e0 - e * e)
    return 0.5 * change


@kernel
def move_pull(instance, total, words, j, step):
    """Carry such a change out (before the tally's n_i change)."""
    for w in words:
        for k in range(len(instance.precision)):
            instance.pull[w, k] += step * instance.x[j, k]
        if total[w] + step == 0:
            instance.pull[w, :] = 0.0
