"""The posterior of a tiny problem (D = 2, V = 2) by enumeration, for comparison with a chain's visits.

A concept is one of 24 types (which documents hold it, with which words). The posterior of a multiset of types is
Π w_t^{n_t} / n_t! times the text and the features, with z summed and π integrated out; θ and the concentrations, where
they are sampled, by quadrature.
"""

import itertools
import math
from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

import naive
from superwords.sampler.model import Prior

COUNTS = np.array([[2, 0], [1, 1]])
PRIOR = Prior(0.8, 1.0, 1.0, np.array([0.3, 0.5]), 1.2, 0.7, 2.0, 1.0, 1.0)
THETA = np.array([0.8, 1.2])
MOST = 3
SUBSETS = [(), (0,), (1,), (0, 1)]
TYPES = [
    *((words, None) for words in SUBSETS),
    *((None, words) for words in SUBSETS),
    *itertools.product(SUBSETS, SUBSETS),
]


class Values(NamedTuple):
    """Values of what may be sampled, each with its weight under the prior; a single one where it is held fixed."""

    weight: np.ndarray
    value: np.ndarray


class Given(NamedTuple):
    alpha_omega: Values
    b1: Values
    b2: Values
    theta: Values  # (n, 2)


def held_fixed(prior, theta):
    return Given(*(Values(np.ones(1), np.array([value])) for value in (prior.alpha_omega, prior.b1, prior.b2, theta)))


def sampled():
    """By quadrature: α_ω ~ Gamma(1, 1), log b₁ ~ N(log D, 3²), log b₂ ~ N(log 10, 3²), θ₀/(θ₀ + θ₁) uniform."""
    mass, mass_weight = np.polynomial.laguerre.laggauss(30)
    share, share_weight = np.polynomial.legendre.leggauss(30)
    share = (share + 1) / 2
    steps = np.linspace(-18, 18, 73)
    spread = np.exp(-0.5 * (steps / 3) ** 2)
    return Given(
        Values(mass_weight, mass),
        Values(spread, 2 * np.exp(steps)),
        Values(spread, 10 * np.exp(steps)),
        Values(share_weight, np.stack([share, 1 - share], axis=1)),
    )


def mean_holders(held, given):
    """c, ω integrated out, and the same times log b₁; `held` are the numbers of documents that hold each concept."""
    b1, alpha_omega = given.b1.value, given.alpha_omega.value[:, None]
    log_p = -alpha_omega * (1 + b1 / (b1 + 1))
    for m in held:
        log_p = log_p + np.log(alpha_omega * b1) + betaln(m, 2 - m + b1)
    p = given.alpha_omega.weight @ np.exp(log_p) * given.b1.weight
    return p.sum(), p @ np.log(b1)


def mean_word_sets(kinds, given, lam):
    """f, γ integrated out, and the same times log b₂."""
    b2, log_p = given.b2.value, 0.0
    for kind in kinds:
        held = [words for words in kind if words is not None]
        for i in range(2):
            on, off = b2 * lam[i], b2 * (1 - lam[i])
            m = sum(i in words for words in held)
            log_p = log_p + betaln(m + on, len(held) - m + off) - betaln(on, off)
    p = given.b2.weight * np.exp(log_p)
    return p.sum(), p @ np.log(b2)


@cache
def p_document(sets, counts, alpha, theta):
    """Σ_z P(w, z), π integrated out."""
    tokens = [i for i in range(2) for _ in range(counts[i])]
    total = 0.0
    for z in itertools.product(range(len(sets)), repeat=len(tokens)):
        if all(i in sets[k] for i, k in zip(tokens, z)):
            n = np.bincount(z, minlength=len(sets))
            log_p = gammaln(len(sets) * alpha) - gammaln(len(sets) * alpha + len(tokens))
            log_p += (gammaln(alpha + n) - gammaln(alpha)).sum()
            total += math.exp(log_p) * math.prod(theta[i] / sum(theta[w] for w in sets[k]) for i, k in zip(tokens, z))
    return total


def mean_text(kinds, given, alpha):
    """The text of both documents, and the same times θ₀/(θ₀ + θ₁)."""
    p = given.theta.weight.copy()
    for d in range(2):
        sets = tuple(sorted(kind[d] for kind in kinds if kind[d] is not None))
        p *= [p_document(sets, tuple(COUNTS[d]), alpha, tuple(theta)) for theta in given.theta.value]
    return p.sum(), p @ (given.theta.value[:, 0] / given.theta.value.sum(axis=1))


def posterior(prior, given, Y):
    """Of all multisets of at most MOST types with positive likelihood: probabilities; and means of what is sampled."""
    weight, sums = {}, np.zeros(3)
    holders = cache(lambda held: mean_holders(held, given))
    for n in range(1, MOST + 1):
        for chosen in itertools.combinations_with_replacement(range(len(TYPES)), n):
            kinds = [TYPES[t] for t in chosen]
            text = mean_text(kinds, given, prior.alpha_pi)
            if text[0] == 0:
                continue
            held = holders(tuple(sorted(sum(words is not None for words in kind) for kind in kinds)))
            parts = np.array([held, mean_word_sets(kinds, given, prior.lam), text])
            log_p = np.log(parts[:, 0]).sum() - sum(gammaln(c + 1) for c in Counter(chosen).values())
            if Y.shape[1]:
                m = np.array([[sum(i in w for w in k if w is not None) for i in range(2)] for k in kinds])
                m = m[m.sum(axis=1) > 0]
                log_p += naive.log_features(m / np.maximum(m.sum(axis=0), 1), Y, prior)
            weight[chosen] = math.exp(log_p)
            sums += weight[chosen] * parts[:, 1] / parts[:, 0]
    total = sum(weight.values())
    return {key: value / total for key, value in weight.items()}, sums / total
