"""Birth and death of concepts that one document alone holds (docs/algebra.md section 4).

A newborn's words are proposed around a seed word that the document's other concepts explain poorly, from the words'
affinity, or from the prior; its features x are integrated out of the ratio and drawn when it is accepted.
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.jit import inlined, lean
from superwords.sampler.moves.text_ratios import log_text_gain, log_text_loss, set_rest
from superwords.sampler.random import below, gamma, normal, skip, uniform
from superwords.sampler.workspace import (
    BIRTH,
    DEATH,
    ELSEWHERE,
    FIRST,
    FREE,
    LAM_MAX,
    LAST,
    LOG_NARROW,
    PAIRS,
    USED,
    WEIGHT,
    count_pair,
    drop_pair,
    place_pair,
    release_slot,
    take_slot,
)

_FROM_PRIOR = 0.1  # share of births proposed from the prior
_SEED_FLOOR = 0.05  # weight of a seed word that is explained well


@lean
def birth_or_death(d, doc, concepts, model, theta, instance, stream):
    unique = 0
    for k in range(doc.number[PAIRS]):
        unique += concepts.holders[doc.concept[k]] == 1
    mu = model.prior.alpha_omega * model.prior.b1 / (len(model.data.length) - 1 + model.prior.b1)
    if uniform(stream) < birth_probability(unique, mu, model.steps):
        doc.tried[BIRTH] += 1
        _birth(unique, mu, d, doc, concepts, model, theta, instance, stream)
    else:
        doc.tried[DEATH] += 1
        _death(unique, mu, d, doc, concepts, model, theta, instance, stream)


@lean
def birth_probability(unique, mu, steps):
    """η(n): how often a document with n unique concepts proposes a birth."""
    if unique == 0:
        return 1.0
    if steps.published_eta:
        term, cdf = math.exp(-mu), 0.0
        for n in range(unique + 1):
            cdf += term
            term *= mu / (n + 1)
        return max(0.0, 1.0 - cdf)
    return 0.5


@lean
def _log_birth_odds(unique, mu, steps):
    """log [ μ/(n+1) · (1 − η(n+1)) / η(n) ], Eq. (birthconcept) corrected."""
    log_odds = math.log(mu / (unique + 1))
    log_odds += math.log(1.0 - birth_probability(unique + 1, mu, steps))
    log_odds -= math.log(max(birth_probability(unique, mu, steps), 1e-300))
    if steps.published_birth:
        log_odds -= math.log(unique + 1)
    return log_odds


@inlined
def _birth(unique, mu, d, doc, concepts, model, theta, instance, stream):
    prior, data = model.prior, model.data
    weight = gamma(stream, prior.alpha_pi)
    for a in range(doc.number[LAST] - doc.number[FIRST]):
        doc.rest[a] = doc.explained[a]
    _weigh_seeds(doc, data, d, doc.total[WEIGHT], theta)
    used = doc.number[USED]
    words = doc.arena[used : used + _draw_words(doc, concepts, model, stream)]
    mass = 0.0
    for w in words:
        mass += theta[w]
    log_ratio = _log_birth_odds(unique, mu, model.steps)
    log_ratio += log_text_gain(doc, data, d, words, weight, mass)
    log_ratio -= _log_proposal_over_prior(words, doc, concepts, model)
    if math.log(uniform(stream)) >= log_ratio:
        return
    slot = concepts.free[concepts.number[FREE] - 1]
    if len(instance.precision) > 0:
        instance.x[slot, :] = 0.0
        log_fit, B = _log_fit_newborn(instance, data, prior, concepts.total, words, slot, 0)
        if math.log(uniform(stream)) >= log_fit:
            return
        _draw_features(instance, data, concepts.total, words, slot, B, stream)
    doc.accepted[BIRTH] += 1
    take_slot(concepts)
    place_pair(doc, slot, weight, mass, len(words))
    count_pair(concepts, theta, slot, words, 1)


@inlined
def _death(unique, mu, d, doc, concepts, model, theta, instance, stream):
    prior, data = model.prior, model.data
    chosen = below(stream, unique)
    k = -1
    while chosen >= 0:
        k += 1
        chosen -= concepts.holders[doc.concept[k]] == 1
    log_text = log_text_loss(doc, data, d, k)
    if log_text == -np.inf:
        return
    j = doc.concept[k]
    words = doc.arena[doc.start[k] : doc.start[k] + doc.size[k]]
    weight_rest = set_rest(doc, k)
    _weigh_seeds(doc, data, d, weight_rest, theta)
    log_ratio = log_text - _log_birth_odds(unique - 1, mu, model.steps)
    log_ratio += _log_proposal_over_prior(words, doc, concepts, model)
    if math.log(uniform(stream)) >= log_ratio:
        return
    if len(instance.precision) > 0:
        log_fit, _ = _log_fit_newborn(instance, data, prior, concepts.total, words, j, 1)
        if math.log(uniform(stream)) >= -log_fit:
            return
        for w in words:
            for f in range(len(instance.precision)):
                instance.pull[w, f] -= instance.x[j, f]
            if concepts.total[w] == 1:
                instance.pull[w, :] = 0.0
    doc.accepted[DEATH] += 1
    count_pair(concepts, theta, j, words, -1)
    drop_pair(doc, k)
    release_slot(concepts, j)


@lean
def _weigh_seeds(doc, data, d, weight_rest, theta):
    """w_s ∝ #_s (0.05 + max(0, e_s − p_s)/e_s): words that the other concepts explain too little."""
    first, last = doc.number[FIRST], doc.number[LAST]
    total = 0.0
    for a in range(last - first):
        count = data.count[first + a]
        share = count / data.length[d]
        covered = theta[data.word[first + a]] * doc.rest[a] / weight_rest if weight_rest > 0.0 else 0.0
        doc.seed[a] = count * (_SEED_FLOOR + max(0.0, share - covered) / share)
        total += doc.seed[a]
    for a in range(last - first):
        doc.seed[a] /= total


@lean
def _from_prior(doc, model):
    """The weight of the prior in the proposal: all of it without data-driven births, or without a word to seed one."""
    if not model.steps.data_driven or doc.number[FIRST] == doc.number[LAST]:
        return 1.0
    return _FROM_PRIOR


@inlined
def _draw_words(doc, concepts, model, stream):
    """Draw a newborn's words to the arena's end; returns how many."""
    lam = model.prior.lam
    end = doc.number[USED]
    scale = 1.0
    near = model.affinity.near[0, :0]
    if uniform(stream) >= _from_prior(doc, model):
        u, a = uniform(stream), 0
        while u > doc.seed[a] and a < doc.number[LAST] - doc.number[FIRST] - 1:
            u -= doc.seed[a]
            a += 1
        s = model.data.word[doc.number[FIRST] + a]
        near = model.affinity.near[s]
        scale = ELSEWHERE
        for n in range(len(near)):
            w = near[n]
            doc.mark[w] = 1
            rho = model.affinity.rho_present[s, n] if doc.spot[w] > 0 else model.affinity.rho_absent[s, n]
            if uniform(stream) < rho:
                doc.arena[end] = w
                end += 1
    most = scale * concepts.mean[LAM_MAX]
    w = skip(stream, most)
    while w < len(lam):
        if doc.mark[w] == 0 and uniform(stream) * concepts.mean[LAM_MAX] < lam[w]:
            doc.arena[end] = w
            end += 1
        w += 1 + skip(stream, most)
    for w in near:
        doc.mark[w] = 0
    return end - doc.number[USED]


@lean
def _log_proposal_over_prior(words, doc, concepts, model):
    """log q(f)/P(f), q(f) = w₀ P(f) + (1 − w₀) Σ_s w_s Π_i Bernoulli(f_i; ρ_si)."""
    from_prior = _from_prior(doc, model)
    if from_prior == 1.0:
        return 0.0
    lam, affinity = model.prior.lam, model.affinity
    log_base = concepts.mean[LOG_NARROW]
    for w in words:
        doc.mark[w] = 1
        log_base += math.log(ELSEWHERE) - math.log1p(-ELSEWHERE * lam[w]) + math.log1p(-lam[w])
    first = doc.number[FIRST]
    mixture = 0.0
    for a in range(doc.number[LAST] - first):
        s = model.data.word[first + a]
        product = doc.seed[a]
        for n in range(affinity.near.shape[1]):
            w = affinity.near[s, n]
            rho = affinity.rho_present[s, n] if doc.spot[w] > 0 else affinity.rho_absent[s, n]
            if doc.mark[w] == 1:
                product *= rho / (ELSEWHERE * lam[w])
            else:
                product *= (1.0 - rho) / (1.0 - ELSEWHERE * lam[w])
        mixture += product
    for w in words:
        doc.mark[w] = 0
    log_mixture = math.log1p(-from_prior) + log_base + math.log(mixture)
    high = max(log_mixture, math.log(from_prior))
    return high + math.log(math.exp(log_mixture - high) + math.exp(math.log(from_prior) - high))


@lean
def _log_fit_newborn(instance, data, prior, total, words, j, counted):
    """log P(Y) with the newborn, x integrated out, less without it; and the precision B of x.

    `counted` is 1 when the concepts and the pull count the concept already (a death), 0 when not (a birth).
    """
    n_features = len(instance.precision)
    B = prior.K
    for w in words:
        if data.known[w]:
            b = 1.0 / (total[w] - counted + 1.0)
            B += b * b
    log_fit = -0.5 * n_features * math.log(B / prior.K)
    for f in range(n_features):
        gained, pulled = 0.0, 0.0
        for w in words:
            if data.known[w]:
                n = total[w] - counted
                b = 1.0 / (n + 1.0)
                pull = instance.pull[w, f] - counted * instance.x[j, f] if n > 0 else 0.0
                e0 = data.Y[w, f] - (pull / n if n > 0 else 0.0)
                e = data.Y[w, f] - b * pull
                gained += e0 * e0 - e * e
                pulled += b * e
        log_fit += 0.5 * instance.precision[f] * (gained + pulled * pulled / B)
    return log_fit, B


@inlined
def _draw_features(instance, data, total, words, j, B, stream):
    """x_new,k ~ N(Σ_i b_i e_ik / B, σ_k²/B), and the words' pull with it (before n_i changes)."""
    for f in range(len(instance.precision)):
        pulled = 0.0
        for w in words:
            if data.known[w]:
                b = 1.0 / (total[w] + 1.0)
                pulled += b * (data.Y[w, f] - b * instance.pull[w, f])
        instance.x[j, f] = pulled / B + normal(stream) / math.sqrt(B * instance.precision[f])
        for w in words:
            instance.pull[w, f] += instance.x[j, f]
