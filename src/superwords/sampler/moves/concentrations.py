"""The concentrations b₁ and b₂ and the mass α_ω, sampled under weak priors when asked.

At b₁ = b₂ = 1 nothing stops a concept, or a word in it, from being on everywhere (docs/algebra.md section 7); the
concentrations that do scale with the corpus, so they are drawn with everything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betaln, gammaln

from superwords.sampler.model import Prior, Steps
from superwords.sampler.random import CONCENTRATION
from superwords.sampler.state import Sizes

MASS_SHAPE, MASS_RATE = 1.0, 1.0  # α_ω ~ Gamma(1, 1)
LOG_SPREAD = 3.0  # log b₁ ~ N(log D, 3²), log b₂ ~ N(log 10, 3²)
B2_CENTRE = 10.0
_WIDTH = 1.0  # of the slice sampler's first interval, on the log scale
_MOST_STEPS = 30


def draw_concentrations(
    prior: Prior, sizes: Sizes, n_documents: int, steps: Steps, seed: int, chain: int, sweep: int
) -> Prior:
    """One Gibbs step for α_ω and slice steps for log b₁ and log b₂, given m_j and m_ji."""
    counter = np.array([0, 0, sweep, CONCENTRATION], np.uint64)
    rng = np.random.Generator(
        np.random.Philox(key=np.array([seed % 2**64, chain], np.uint64), counter=counter)
    )
    if steps.sample_b1:
        log_b1 = _slice(math.log(prior.b1), lambda x: _log_b1(x, sizes, n_documents, prior), rng)
        prior = prior._replace(b1=math.exp(log_b1))
    if steps.sample_alpha_omega:
        rate = MASS_RATE + expected_rows(prior.b1, n_documents)
        mass = rng.gamma(MASS_SHAPE + len(sizes.holders)) / rate
        prior = prior._replace(alpha_omega=max(mass, 1e-300))
    if steps.sample_b2:
        log_b2 = _slice(math.log(prior.b2), _log_b2(sizes, prior), rng)
        prior = prior._replace(b2=math.exp(log_b2))
    return prior


def expected_rows(b1: float, n_documents: int) -> float:
    """The expected number of concepts for α_ω = 1: Σ_d b₁/(b₁ + d − 1)."""
    return float((b1 / (b1 + np.arange(n_documents))).sum())


def log_hyperprior(prior: Prior, n_documents: int, steps: Steps) -> float:
    """Of the sampled ones, as densities of α_ω, log b₁ and log b₂."""
    log_p = 0.0
    if steps.sample_alpha_omega:
        log_p += (MASS_SHAPE - 1) * math.log(prior.alpha_omega) - MASS_RATE * prior.alpha_omega
    if steps.sample_b1:
        log_p += _log_normal(math.log(prior.b1), math.log(n_documents))
    if steps.sample_b2:
        log_p += _log_normal(math.log(prior.b2), math.log(B2_CENTRE))
    return log_p


def _log_normal(x: float, centre: float) -> float:
    return -0.5 * ((x - centre) / LOG_SPREAD) ** 2


def _log_b1(log_b1: float, sizes: Sizes, n_documents: int, prior: Prior) -> float:
    b1 = math.exp(log_b1)
    return float(
        len(sizes.holders) * log_b1
        - prior.alpha_omega * expected_rows(b1, n_documents)
        + betaln(sizes.holders, n_documents - sizes.holders + b1).sum()
        + _log_normal(log_b1, math.log(n_documents))
    )


def _log_b2(sizes: Sizes, prior: Prior) -> Callable[[float], float]:
    """The log density of log b₂; equal (λ, m_ji, m_j) are gathered once, since there are few different ones."""
    level, which = np.unique(prior.lam, return_inverse=True)
    j, i = np.nonzero(sizes.m)
    n_levels, most = len(level), int(sizes.holders.max(initial=0)) + 1
    key, times = np.unique((which[i] * most + sizes.m[j, i]) * most + sizes.holders[j], return_counts=True)
    lam, m, of = level[key // most // most], (key // most) % most, key % most
    per_level = np.bincount(which, minlength=n_levels)
    holders, times_held = np.unique(sizes.holders, return_counts=True)

    def log_density(log_b2: float) -> float:
        b2 = math.exp(log_b2)
        off = b2 * (1 - level)
        empty = gammaln(off + holders[:, None]) - gammaln(off) - gammaln(b2 + holders[:, None]) + gammaln(b2)
        on, out = b2 * lam, b2 * (1 - lam)
        filled = gammaln(on + m) - gammaln(on) + gammaln(out + of - m) - gammaln(out + of)
        return float(
            times_held @ (empty @ per_level) + times @ filled + _log_normal(log_b2, math.log(B2_CENTRE))
        )

    return log_density


def _slice(x: float, log_density: Callable[[float], float], rng: np.random.Generator) -> float:
    """One step of Neal's (2003) slice sampler with stepping out."""
    height = log_density(x) - rng.exponential()
    low = x - _WIDTH * rng.random()
    high = low + _WIDTH
    left = int(rng.integers(_MOST_STEPS))
    right = _MOST_STEPS - 1 - left
    while left > 0 and log_density(low) > height:
        low -= _WIDTH
        left -= 1
    while right > 0 and log_density(high) > height:
        high += _WIDTH
        right -= 1
    while True:
        new = low + (high - low) * rng.random()
        if log_density(new) > height:
            return new
        if new < x:
            low = new
        else:
            high = new
