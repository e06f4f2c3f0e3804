"""Simulation-based calibration (Talts et al. 2018) over 200 simulated data sets; of the statistical leg.

The rank of the truth among draws of the posterior is uniform if the sampler, burn-in included, is right. Chains start
from concepts that hold every word, not from the truth.
"""

import numpy as np
import pytest
from scipy import stats

from joint import any_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.density import log_joint
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.simulate import simulate
from superwords.sampler.state import State

D, V, N_SETS, N_DRAWS = 5, 5, 200, 19
PRIOR = Prior(1.5, 1.5, 2.0, np.full(V, 0.35), 1.0, 0.7, 3.0, 2.0, 1.0)
QUANTITIES = ("concepts", "memberships", "words on", "sum of weights", "log joint", "word 0 on")


def start(data, theta):
    """One concept of all words in every document, and an empty one where there are null tokens."""
    concept, sizes, per_doc = [], [], []
    for d in range(D):
        held = [(0, V)] if data.null[d] < data.length[d] or data.length[d] == 0 else []
        held += [(1, 0)] if data.null[d] else []
        concept += [j for j, _ in held]
        sizes += [n for _, n in held]
        per_doc.append(len(held))
    return State(
        np.concatenate([[0], np.cumsum(per_doc)]),
        np.array(concept, np.int32),
        np.ones(len(concept)),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([np.arange(n) for n in sizes]).astype(np.int32),
        theta,
    )


def quantities(state, model):
    on = int((state.word == 0).sum())
    return [
        len(np.unique(state.concept)),
        len(state.concept),
        len(state.word),
        state.weight.sum(),
        log_joint(state, model),
        on,
    ]


@pytest.mark.statistics
@pytest.mark.parametrize("n_features", [0, 2])
def test_ranks_of_the_truth_are_uniform(n_features):
    ranks = np.zeros((N_SETS, len(QUANTITIES)), int)
    rng = np.random.default_rng(4)
    for s in range(N_SETS):
        theta = np.linspace(0.7, 1.3, V)
        sim = simulate(PRIOR, np.full(D, 6), n_features, theta, seed=100 + s)
        data = make_data(sim.counts, sim.features, sim.null)
        model = Model(PRIOR, data, any_affinity(V), Steps(split_merges=1))
        chain = Chain(model, start(data, theta), seed=s)
        for _ in chain.advance(300):
            pass
        drawn = []
        for _ in range(N_DRAWS):
            for _ in chain.advance(30):
                pass
            drawn.append(quantities(chain.state, model))
        truth = np.array(quantities(sim.state, model))
        below, ties = (np.array(drawn) < truth).sum(axis=0), (np.array(drawn) == truth).sum(axis=0)
        ranks[s] = below + rng.integers(0, ties + 1)
    for k, name in enumerate(QUANTITIES):
        seen = np.bincount(ranks[:, k] // 4, minlength=5)
        p = stats.chisquare(seen).pvalue
        assert p > 1e-4, f"{name}: ranks {seen.tolist()} are not uniform (p = {p:.1e})"
