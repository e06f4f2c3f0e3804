"""Log of the target density, term by term (docs/algebra.md sections 1 and 7)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln, gammaln

from superwords.sampler.feature_likelihood import log_features
from superwords.sampler.jit import kernel
from superwords.sampler.model import Model, Prior, Steps
from superwords.sampler.state import Sizes, State, Tokens, sizes_of

MASS_SHAPE, MASS_RATE = 1.0, 1.0  # α_ω ~ Gamma(1, 1)
LOG_SPREAD = 3.0  # log b₁ ~ N(log D, 3²), log b₂ ~ N(log 10, 3²)
B2_CENTRE = 10.0


def log_concepts(holders: np.ndarray, n_documents: int, prior: Prior) -> float:
    """Return the log density of c under BP(b₁, ·), with ω integrated out."""
    return float(
        # Eq. (nbpPair), the upper process: e^{−α_ω Σ b₁/(b₁+d−1)} Π_j α_ω b₁ B(m_j, D−m_j+b₁)
        len(holders) * math.log(prior.alpha_omega * prior.b1)
        - prior.alpha_omega * expected_concepts(prior.b1, n_documents)
        + betaln(holders, n_documents - holders + prior.b1).sum()
    )


def log_word_sets(sizes: Sizes, prior: Prior) -> float:
    """Return the log density of f under BP(b₂, Q), with γ integrated out."""
    on, off = prior.b2 * prior.lam, prior.b2 * (1 - prior.lam)
    level, n_words = np.unique(off, return_counts=True)
    holders = sizes.holders[:, None]
    # Eq. (nbpPair), the lower process, γ_ji integrated out: every word as if m_ji = 0, then a correction where m_ji > 0
    empty = n_words * (gammaln(level + holders) - gammaln(level))
    whole = len(on) * (gammaln(prior.b2 + sizes.holders) - gammaln(prior.b2))
    j, i = np.nonzero(sizes.m)
    m, of = sizes.m[j, i], sizes.holders[j]
    filled = gammaln(on[i] + m) - gammaln(on[i]) + gammaln(off[i] + of - m) - gammaln(off[i] + of)
    return float(empty.sum() - whole.sum() + filled.sum())


def log_gamma_prior(x: np.ndarray, shape: float) -> float:
    """Return log Π Gamma(x; shape, 1), the prior of π and, where it is sampled, of θ."""
    return float(((shape - 1) * np.log(x) - x - gammaln(shape)).sum())


@kernel
def log_text(state, data):
    """Return log P(w | c, π, f), with z summed out."""
    explained = np.zeros(len(state.theta))
    log_p = 0.0
    for d in range(len(data.doc_ptr) - 1):
        if data.length[d] == 0:
            continue
        first, last = state.doc_ptr[d], state.doc_ptr[d + 1]
        total = 0.0
        for p in range(first, last):
            total += state.weight[p]
            mass = 0.0
            for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                mass += state.theta[state.word[e]]
            for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                explained[state.word[e]] += state.weight[p] / mass
        for a in range(data.doc_ptr[d], data.doc_ptr[d + 1]):
            i = data.word[a]
            if explained[i] <= 0.0:
                return -np.inf
            # P(w^(d) | c, π, f) = S_d^{−N_d} Π_i (Σ_j θ_i π_j/T_dj)^{#_di}, section 4
            log_p += data.count[a] * math.log(state.theta[i] * explained[i] / total)
        for e in range(state.pair_ptr[first], state.pair_ptr[last]):
            explained[state.word[e]] = 0.0
    return log_p


def expected_concepts(b1: float, n_documents: int) -> float:
    """Return the expected number of concepts at α_ω = 1: Σ_d b₁/(b₁ + d − 1)."""
    return float((b1 / (b1 + np.arange(n_documents))).sum())


def log_hyperprior(prior: Prior, n_documents: int, steps: Steps) -> float:
    """Return the log prior of those of α_ω, log b₁ and log b₂ that are sampled."""
    log_p = 0.0
    if steps.sample_alpha_omega:
        log_p += (MASS_SHAPE - 1) * math.log(prior.alpha_omega) - MASS_RATE * prior.alpha_omega
    if steps.sample_b1:
        log_p += log_normal(math.log(prior.b1), math.log(n_documents))
    if steps.sample_b2:
        log_p += log_normal(math.log(prior.b2), math.log(B2_CENTRE))
    return log_p


def log_normal(x: float, centre: float) -> float:
    """Return log N(x; centre, LOG_SPREAD²), up to a constant."""
    return -0.5 * ((x - centre) / LOG_SPREAD) ** 2


def log_joint(state: State, model: Model) -> float:
    """Return the log of the target density of a state, up to a constant."""
    sizes = sizes_of(state)
    log_p = (
        log_concepts(sizes.holders, len(state.doc_ptr) - 1, model.prior)
        + log_word_sets(sizes, model.prior)
        + log_gamma_prior(state.weight, model.prior.alpha_pi)
        + float(log_text(state, model.data))
        + log_features(sizes, model.data, model.prior)
    )
    if model.steps.sample_theta:
        log_p += log_gamma_prior(state.theta, model.prior.alpha_theta)  # the paper's footnote 4
    return log_p + log_hyperprior(model.prior, len(state.doc_ptr) - 1, model.steps)


def log_score(state: State, tokens: Tokens, model: Model) -> float:
    """Return the log density given z with π integrated out, to rank draws by.

    Densities over π of different dimension cannot be compared; given z, π is Dirichlet-multinomial.
    """
    sizes, data, prior = sizes_of(state), model.data, model.prior
    return float(
        log_concepts(sizes.holders, len(state.doc_ptr) - 1, prior)
        + log_word_sets(sizes, prior)
        + _log_tokens(state, tokens, prior)
        + log_features(sizes, data, prior)
        + log_hyperprior(prior, len(state.doc_ptr) - 1, model.steps)
    )


def _log_tokens(state: State, tokens: Tokens, prior: Prior) -> float:
    """Return log P(z, w | c, f), π integrated out."""
    per_doc = np.diff(state.doc_ptr)
    busy = per_doc > 0
    total = per_doc[busy] * prior.alpha_pi
    tokens_of = np.bincount(np.repeat(np.arange(len(per_doc)), per_doc), tokens.pair, len(per_doc))[busy]
    log_z = (gammaln(total) - gammaln(total + tokens_of)).sum() + (
        gammaln(prior.alpha_pi + tokens.pair) - gammaln(prior.alpha_pi)
    ).sum()
    theta = state.theta[state.word]
    pair_of = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    mass = np.bincount(pair_of, theta, len(state.concept))
    used = tokens.pair > 0
    log_w = (tokens.entry * np.log(theta)).sum() - (tokens.pair[used] * np.log(mass[used])).sum()
    return float(log_z + log_w)
