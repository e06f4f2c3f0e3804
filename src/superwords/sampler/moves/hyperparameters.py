"""Sampling of the concentrations b₁ and b₂ and the mass α_ω under weak priors.

At b₁ = b₂ = 1 nothing stops a concept, or a word in it, from being on everywhere (docs/algebra.md section 7). Suitable
values scale with the corpus, so they can be sampled too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from superwords.sampler.density import B2_CENTRE, MASS_RATE, MASS_SHAPE, expected_concepts, log_concepts, log_normal
from superwords.sampler.model import Prior
from superwords.sampler.moves.contract import ChainState, Info
from superwords.sampler.random import CHAIN, CONCENTRATION, SEED
from superwords.sampler.state import Sizes, sizes_of

_WIDTH = 1.0  # of the slice sampler's first interval, on the log scale
_MOST_STEPS = 30


def move_concentrations(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Draw α_ω by Gibbs and log b₁, log b₂ by slice sampling, where sampled."""
    steps, prior, n_rows = now.model.steps, now.model.prior, len(now.model.data.length)
    if not (steps.sample_alpha_omega or steps.sample_b1 or steps.sample_b2):
        return now, {}
    counter = np.array([0, 0, sweep, CONCENTRATION], np.uint64)
    rng = np.random.Generator(np.random.Philox(key=stream[[SEED, CHAIN]], counter=counter))
    sizes = sizes_of(now.state)

    def log_b1(x: float) -> float:
        of_concepts = log_concepts(sizes.holders, n_rows, prior._replace(b1=math.exp(x)))
        return of_concepts + log_normal(x, math.log(n_rows))

    if steps.sample_b1:
        prior = prior._replace(b1=math.exp(_slice(math.log(prior.b1), log_b1, rng)))
    if steps.sample_alpha_omega:
        rate = MASS_RATE + expected_concepts(prior.b1, n_rows)
        mass = rng.gamma(MASS_SHAPE + len(sizes.holders)) / rate
        prior = prior._replace(alpha_omega=max(mass, 1e-300))
    if steps.sample_b2:
        prior = prior._replace(b2=math.exp(_slice(math.log(prior.b2), _log_b2(sizes, prior), rng)))
    return now._replace(model=now.model._replace(prior=prior)), {}


def _log_b2(sizes: Sizes, prior: Prior) -> Callable[[float], float]:
    """Return the log density of log b₂; equal (λ, m_ji, m_j) are gathered once."""
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
        return float(times_held @ (empty @ per_level) + times @ filled + log_normal(log_b2, math.log(B2_CENTRE)))

    return log_density


def _slice(x: float, log_density: Callable[[float], float], rng: np.random.Generator) -> float:
    """Take one step of Neal's (2003) slice sampler with stepping out."""
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
