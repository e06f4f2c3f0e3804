"""The whole posterior of a tiny problem (D = 2, V = 2), enumerated, against the chain's visits.

A concept is one of 24 types (which documents hold it, with which words). The posterior of a multiset of types is
Π w_t^{n_t} / n_t! times the text and the features, with z summed and π integrated out; θ and the concentrations, where
they are sampled, by quadrature. The chain is compared on the states of at most three concepts, which the enumeration
covers.
"""

import itertools
import math
from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.special import betaln, gammaln

import naive
from joint import any_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.initial import initial_state
from superwords.sampler.model import Model, Prior, Steps, make_data

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
    return Given(
        *(Values(np.ones(1), np.array([value])) for value in (prior.alpha_omega, prior.b1, prior.b2, theta))
    )


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
            total += math.exp(log_p) * math.prod(
                theta[i] / sum(theta[w] for w in sets[k]) for i, k in zip(tokens, z)
            )
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


def key_of(state):
    kinds = {}
    for d, held in enumerate(naive.unpack(state)):
        for j, (_, words) in held.items():
            kinds.setdefault(j, [None, None])[d] = tuple(sorted(words))
    return tuple(sorted(TYPES.index(tuple(kind)) for kind in kinds.values()))


CASES = [(1.0, 1.0, 0), (1.0, 1.0, 2), (2.5, 3.0, 1)]
LONG = [pytest.param(*case, 300, marks=pytest.mark.statistics) for case in CASES]


@pytest.mark.parametrize(
    "turns",
    [pytest.param(1, id="in turn"), pytest.param(2, id="one of two apart", marks=pytest.mark.statistics)],
)
@pytest.mark.parametrize(("b1", "b2", "n_features", "size"), [(2.5, 3.0, 1, 100), *LONG])
def test_the_chain_visits_states_as_often_as_the_posterior_says(b1, b2, n_features, size, turns):
    prior = PRIOR._replace(b1=b1, b2=b2)
    z = visits(prior, held_fixed(prior, THETA), n_features, Steps(turns=turns), size)[:-3]
    assert np.abs(z).max() < 4.5, z.round(1)


@pytest.mark.statistics
def test_so_does_a_chain_that_samples_theta_and_the_concentrations():
    steps = Steps(sample_theta=True, sample_alpha_omega=True, sample_b1=True, sample_b2=True)
    z = visits(PRIOR, sampled(), 1, steps, 200)
    assert np.abs(z).max() < 4.5, z.round(1)


def visits(prior, given, n_features, steps, size):
    """z-scores by batch means: the 25 most probable states, the number of concepts, log b₁, log b₂ and θ₀/(θ₀ + θ₁)."""
    Y = np.random.default_rng(3).normal(size=(2, n_features))
    exact, means = posterior(prior, given, Y)
    data = make_data(sparse.csr_array(COUNTS), Y)
    model = Model(prior, data, any_affinity(2), steps._replace(births=1.0, split_merges=2))
    chain = Chain(model, initial_state("single", data, prior, THETA, 1, 0), seed=8)
    n_batches = 50
    top = sorted(exact, key=exact.get)[-25:]
    shares = np.zeros((n_batches, len(top) + 4))
    for _ in chain.advance(200):
        pass
    for batch in range(n_batches):
        seen, sums = Counter(), np.zeros(3)
        for draw in chain.advance(size):
            key, now = key_of(draw.state), chain.model.prior
            if len(key) <= MOST:
                seen[key] += 1
                sums += math.log(now.b1), math.log(now.b2), draw.state.theta[0] / draw.state.theta.sum()
        n = sum(seen.values())
        assert set(seen) <= set(exact), "a state of likelihood zero was visited"
        n_concepts = sum(len(key) * count for key, count in seen.items())
        shares[batch] = [*(seen[key] / n for key in top), n_concepts / n, *(sums / n)]
    truth = np.array([*(exact[key] for key in top), sum(len(key) * p for key, p in exact.items()), *means])
    assert truth[: len(top)].sum() > 0.5
    error = np.maximum(shares.std(axis=0, ddof=1), 1e-300) / math.sqrt(n_batches)
    return (shares.mean(axis=0) - truth) / error
