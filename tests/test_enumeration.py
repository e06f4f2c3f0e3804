"""The whole posterior of a tiny problem, enumerated, against the chain's visits.

The chain is compared on the states of at most three concepts, which the enumeration covers.
"""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import naive
from enumeration import COUNTS, MOST, PRIOR, THETA, TYPES, held_fixed, posterior, sampled
from joint import any_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.init.starts import initial_state
from superwords.sampler.model import Model, Steps, make_data


def key_of(state):
    kinds = {}
    for d, held in enumerate(naive.unpack(state)):
        for j, (_, words) in held.items():
            kinds.setdefault(j, [None, None])[d] = tuple(sorted(words))
    return tuple(sorted(TYPES.index(tuple(kind)) for kind in kinds.values()))


CASES = [(1.0, 1.0, 0), (1.0, 1.0, 2), (2.5, 3.0, 1)]


@pytest.mark.statistics
@pytest.mark.parametrize(("b1", "b2", "n_features"), CASES)
def test_the_chain_visits_states_as_often_as_the_posterior_says(b1, b2, n_features):
    prior = PRIOR._replace(b1=b1, b2=b2)
    z = visits(prior, held_fixed(prior, THETA), n_features, Steps(), 300)[:-3]
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
