"""Birth and death of concepts that only one document holds (docs/algebra.md 4).

The words of a new concept are proposed from the prior, or from those near a seed word that the document's other
concepts explain poorly. Its features x are integrated out of the ratio and drawn when it is accepted.
"""

from __future__ import annotations

import math

from superwords.sampler.document import (
    BIRTH,
    DEATH,
    NONE,
    add_pair,
    drop_pair,
    leaves_unexplained,
    set_explained,
    set_on,
    set_rest,
    weight_without,
    words_of,
)
from superwords.sampler.feature_draw import change_counts, draw_newborn, log_fit_newborn
from superwords.sampler.jit import helper, inline_helper
from superwords.sampler.leave_one_out import ELSEWHERE, is_fixed
from superwords.sampler.moves.proposals import log_gain
from superwords.sampler.random import accepts, below, gamma, skip, uniform

_FROM_PRIOR = 0.1  # share of births proposed from the prior
_SEED_FLOOR = 0.05  # weight of a seed word that is explained well


@inline_helper
def birth_or_death(doc, concepts, model, regression, stream):
    """Try a birth or death of a concept of this document only; needs a free slot."""
    unique = 0
    for k in range(doc.n_pairs):
        unique += concepts.odds[doc.concept[k]] == 0.0
    mu = model.prior.alpha_omega * model.prior.b1 / (len(model.data.length) - 1 + model.prior.b1)
    if uniform(stream) < birth_probability(unique):
        doc.tried[BIRTH] += 1
        doc.accepted[BIRTH] += _birth(unique, mu, doc, concepts, model, regression, stream)
    else:
        doc.tried[DEATH] += 1
        doc.accepted[DEATH] += _death(unique, mu, doc, concepts, model, regression, stream)


@helper
def birth_probability(unique):
    """Return η(n), how often a document with n unique concepts proposes a birth."""
    return 1.0 if unique == 0 else 0.5


@helper
def _log_birth_odds(unique, mu):
    """Return log [ μ/(n+1) · (1 − η(n+1)) / η(n) ], Eq. (birthconcept) corrected."""
    # Eq. (birthconcept), with μ/(n+1) once: the published ratio divides by J₊ + 1 twice
    log_odds = math.log(mu / (unique + 1))
    log_odds += math.log(1.0 - birth_probability(unique + 1))
    return log_odds - math.log(birth_probability(unique))


@helper
def _birth(unique, mu, doc, concepts, model, regression, stream):
    """Try a birth; q(f) ≥ w₀ P(f), so drawing u first rejects most before f is drawn."""
    k = doc.n_pairs
    weight = gamma(stream, concepts.alpha_pi)
    set_rest(doc, NONE, NONE)
    _weigh_seeds(doc, doc.total_weight)
    words = doc.words[k][0 : _draw_words(doc, concepts, model, stream)]
    set_on(doc, k, words)
    mass = 0.0
    for w in words:
        mass += concepts.theta[w]
    log_ratio = _log_birth_odds(unique, mu)
    if k > 0:
        log_ratio -= doc.length * math.log1p(weight / doc.total_weight)
    if len(words) > 0:
        log_ratio += log_gain(k, weight / mass, doc)
    log_u = math.log(uniform(stream))
    if log_u >= log_ratio - math.log(_from_prior(doc, model)):
        return False
    if log_u >= log_ratio - _log_proposal_over_prior(words, doc, concepts, model):
        return False
    slot = concepts.free[concepts.n_free - 1]
    if len(regression.precision) > 0:
        log_fit, B = log_fit_newborn(regression, model.prior.K, words, slot, 0)
        if not accepts(log_fit, stream):
            return False
        draw_newborn(regression, words, slot, B, stream)
    concepts.n_free -= 1
    concepts.n_in_use = max(concepts.n_in_use, slot + 1)
    concepts.mass[slot] = 0.0
    for s in range(concepts.support_size[slot]):
        concepts.listed[slot, concepts.support[slot, s]] = 0
    concepts.support_size[slot] = 0
    for a in range(doc.n_words):
        doc.p[a, slot] = model.prior.lam[doc.word[a]]
    add_pair(doc, slot, weight, mass, len(words))
    set_explained(doc)
    return True


@helper
def _death(unique, mu, doc, concepts, model, regression, stream):
    """Try a death, the exact reverse of a birth: Eq. (killconcept) corrected."""
    chosen = below(stream, unique)
    k = -1
    while chosen >= 0:
        k += 1
        chosen -= concepts.odds[doc.concept[k]] == 0.0
    if is_fixed(concepts, doc.concept[k]):
        return False
    log_text = log_leave(k, doc)
    if log_text == -math.inf:
        return False
    j = doc.concept[k]
    words = words_of(doc, k)
    _weigh_seeds(doc, weight_without(doc, k))
    # Eq. (killconcept): the inverse of the birth from n − 1 unique concepts
    log_ratio = log_text - _log_birth_odds(unique - 1, mu)
    if not accepts(log_ratio + _log_proposal_over_prior(words, doc, concepts, model), stream):
        return False
    if len(regression.precision) > 0:
        log_fit, _ = log_fit_newborn(regression, model.prior.K, words, j, 1)
        if not accepts(-log_fit, stream):
            return False
        change_counts(regression, words, j, words[:0], j)
    drop_pair(doc, k)
    set_explained(doc)
    concepts.free[concepts.n_free] = j
    concepts.n_free += 1
    return True


@helper
def log_leave(k, doc):
    """Return log P(w^(d)) without the k-th concept less with it; fill doc.rest."""
    if leaves_unexplained(k, doc):
        return -math.inf
    set_rest(doc, k, k)
    if doc.n_pairs == 1:
        return 0.0
    return doc.length * math.log1p(doc.weight[k] / weight_without(doc, k)) - log_gain(k, doc.share[k], doc)


@helper
def _weigh_seeds(doc, others):
    """Weigh seed words: w_s ∝ #_s (0.05 + max(0, e_s − p_s)/e_s)."""
    total = 0.0
    for a in range(doc.n_words):
        share = doc.times[a] / doc.length
        covered = doc.theta[a] * doc.rest[a] / others if others > 0.0 else 0.0
        doc.seed[a] = doc.times[a] * (_SEED_FLOOR + max(0.0, share - covered) / share)
        total += doc.seed[a]
    for a in range(doc.n_words):
        doc.seed[a] /= total


@helper
def _from_prior(doc, model):
    """Return the weight of the prior in the proposal: 1 unless births use a seed."""
    if not model.steps.data_driven or doc.n_words == 0:
        return 1.0
    return _FROM_PRIOR


@helper
def _draw_words(doc, concepts, model, stream):
    """Draw the words of a new concept to the next row; return their number."""
    lam, affinity = model.prior.lam, model.affinity
    size, scale, s, words = 0, 1.0, -1, doc.words[doc.n_pairs]
    if uniform(stream) >= _from_prior(doc, model):
        u, a = uniform(stream), 0
        while u > doc.seed[a] and a < doc.n_words - 1:
            u -= doc.seed[a]
            a += 1
        s, scale = doc.word[a], ELSEWHERE
        for n in range(len(affinity.near[s])):
            w = affinity.near[s, n]
            doc.mark[w] = 1
            rho = affinity.rho_present[s, n] if doc.local_index[w] > 0 else affinity.rho_absent[s, n]
            if uniform(stream) < rho:
                words[size] = w
                size += 1
    lam_max = concepts.lam_max
    most = scale * lam_max
    w = skip(stream, most)
    while w < len(lam):
        if doc.mark[w] == 0 and uniform(stream) * lam_max < lam[w]:
            words[size] = w
            size += 1
        w += 1 + skip(stream, most)
    if s >= 0:
        for n in range(len(affinity.near[s])):
            doc.mark[affinity.near[s, n]] = 0
    return size


@helper
def _log_proposal_over_prior(words, doc, concepts, model):
    """Return log q(f)/P(f), q(f) = w₀ P(f) + (1−w₀) Σ_s w_s Π_i Bernoulli(f_i; ρ_si)."""
    from_prior = _from_prior(doc, model)
    if from_prior == 1.0:
        return 0.0
    lam, affinity = model.prior.lam, model.affinity
    log_base = concepts.log_narrow
    for w in words:
        doc.mark[w] = 1
        log_base += math.log(ELSEWHERE) - math.log1p(-ELSEWHERE * lam[w]) + math.log1p(-lam[w])
    mixture = 0.0
    for a in range(doc.n_words):
        s = doc.word[a]
        product = doc.seed[a]
        for n in range(len(affinity.near[s])):
            w = affinity.near[s, n]
            rho = affinity.rho_present[s, n] if doc.local_index[w] > 0 else affinity.rho_absent[s, n]
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
