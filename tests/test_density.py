"""The log joint density, term by term, against the formulas written out."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

import naive
from chains_for_tests import simulate_words
from joint import any_affinity
from superwords.sampler.density import log_joint, log_score
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.moves.assignments import impute_tokens
from superwords.sampler.random import new_stream

V = 6


def simulated(seed, b1=1.0, b2=1.0, lam=None, n_features=3):
    lam = np.full(V, 0.4) if lam is None else lam
    prior = Prior(2.0, b1, b2, lam, 0.8, 0.7, 2.0, 1.5, 1.0)
    theta = np.linspace(0.5, 2.0, V)
    sim = simulate_words(prior, np.array([5, 0, 9, 3, 7]), n_features, theta, seed)
    return prior, sim


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("b1", "b2"), [(1.0, 1.0), (3.5, 20.0)])
def test_log_joint_is_the_target_density(seed, b1, b2):
    prior, sim = simulated(seed, b1, b2, np.linspace(0.2, 0.7, V))
    features = sim.features.copy()
    features[1] = np.nan
    data = make_data(sim.counts, features)
    model = Model(prior, data, any_affinity(V), Steps())
    slow = naive.log_joint(sim.state, sim.counts.toarray(), data.Y, data.known, prior)
    assert log_joint(sim.state, model) == pytest.approx(slow, rel=1e-11)


def test_theta_is_part_of_the_density_when_sampled():
    prior, sim = simulated(1)
    data = make_data(sim.counts, None)
    fixed = log_joint(sim.state, Model(prior, data, any_affinity(V), Steps()))
    sampled = log_joint(sim.state, Model(prior, data, any_affinity(V), Steps(sample_theta=True)))
    assert sampled - fixed == pytest.approx(-sim.state.theta.sum(), rel=1e-12)  # Gamma(1, 1)


def test_an_unexplained_word_has_no_probability():
    prior, sim = simulated(3)
    counts = sim.counts.toarray()
    counts[1] = 9  # a document simulated with no token: it may hold anything
    data = make_data(sparse.csr_array(counts), None)
    off = naive.log_text(naive.unpack(sim.state), counts, sim.state.theta)
    ours = log_joint(sim.state, Model(prior, data, any_affinity(V), Steps()))
    assert (ours == -math.inf) == (off == -math.inf)
    assert ours == -math.inf


@pytest.mark.parametrize("seed", [0, 2])
def test_score_integrates_the_weights_out(seed):
    """P(z, w | c, f): Dirichlet-multinomial per document times θ_w / T per token."""
    prior, sim = simulated(seed, n_features=0)
    counts = sim.counts.toarray()
    data = make_data(sim.counts, None)
    model = Model(prior, data, any_affinity(V), Steps(weights=False))
    state = sim.state
    tokens = impute_tokens(state, model, new_stream(1, 0), 0)
    documents = naive.unpack(state)
    slow = naive.log_concepts(documents, V, prior) + naive.log_word_sets(documents, V, prior)
    for d in range(len(documents)):
        pairs = range(state.doc_ptr[d], state.doc_ptr[d + 1])
        n = [int(tokens.pair[p]) for p in pairs]
        if not n:
            continue
        slow += gammaln(len(n) * prior.alpha_pi) - gammaln(len(n) * prior.alpha_pi + sum(n))
        slow += sum(gammaln(prior.alpha_pi + k) - gammaln(prior.alpha_pi) for k in n)
        for p in pairs:
            words = range(state.pair_ptr[p], state.pair_ptr[p + 1])
            mass = sum(state.theta[state.word[e]] for e in words)
            slow += sum(tokens.entry[e] * math.log(state.theta[state.word[e]] / mass) for e in words)
    assert log_score(state, tokens, model) == pytest.approx(slow, rel=1e-11)
    assert tokens.pair.sum() == counts.sum()
