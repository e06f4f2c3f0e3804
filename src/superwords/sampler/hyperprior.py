"""Priors of the concentrations b₁ and b₂ and of the mass α_ω, where they are sampled (docs/algebra.md section 7)."""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.model import Prior, Steps

MASS_SHAPE, MASS_RATE = 1.0, 1.0  # α_ω ~ Gamma(1, 1)
LOG_SPREAD = 3.0  # log b₁ ~ N(log D, 3²), log b₂ ~ N(log 10, 3²)
B2_CENTRE = 10.0


def expected_concepts(b1: float, n_documents: int) -> float:
    """Return the expected number of concepts at α_ω = 1: Σ_d b₁/(b₁ + d − 1)."""
    return float((b1 / (b1 + np.arange(n_documents))).sum())


def log_hyperprior(prior: Prior, n_documents: int, steps: Steps) -> float:
    """Return the log prior of the sampled ones among α_ω, log b₁ and log b₂."""
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
