"""Simulation-based calibration (Talts et al. 2018) over 200 simulated data sets; of the statistical leg.

The rank of the truth among draws of the posterior is uniform if the sampler, burn-in included, is right. Chains start
from concepts that hold every word, not from the truth.
"""

import numpy as np
import pytest
from scipy import stats

from chains_for_tests import simulate_words
from joint import any_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.density import log_joint
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.state import State

D, V, N_SETS, N_DRAWS = 5, 5, 200, 19
PRIOR = Prior(1.5, 1.5, 2.0, np.full(V, 0.35), 1.0, 0.7, 3.0, 2.0, 1.0)
SAMPLED = ("concepts", "memberships", "words on", "sum of weights", "log joint", "word 0 on")
READ = ("prevalence", "weight in a document", "difference of groups", "effect of a covariate", "words of the concept")
QUANTITIES = SAMPLED + READ


def start(theta):
    """One concept of all words in every document."""
    return State(
        np.arange(D + 1),
        np.zeros(D, np.int32),
        np.ones(D),
        V * np.arange(D + 1),
        np.tile(np.arange(V, dtype=np.int32), D),
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
        *read(state),
    ]


def read(state):
    """What people read of one concept, whatever its number: the one that has word 0 on in most documents."""
    document = np.repeat(np.arange(D), np.diff(state.doc_ptr))
    pair = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    n = int(state.concept.max(initial=-1)) + 2  # the last one is held by nobody, for a state without concepts
    on = np.bincount(state.concept[pair[state.word == 0]], minlength=n)
    weight = np.bincount(state.concept, state.weight, n)
    concept = int(np.lexsort((weight, on))[-1])  # equal numbers: the one of more weight
    total = np.bincount(document, state.weight, D)
    of_concept = state.concept == concept
    shares = np.bincount(document[of_concept], state.weight[of_concept], D) / np.maximum(total, 1e-300)
    return [
        (shares > 0).mean(),
        shares[0],
        shares[:2].mean() - shares[2:].mean(),
        np.polynomial.polynomial.polyfit(np.arange(D), shares, 1)[1],
        np.isin(pair, np.flatnonzero(of_concept)).sum(),
    ]


@pytest.mark.statistics
@pytest.mark.timeout(3000)  # some 200,000 sweeps
@pytest.mark.parametrize("n_features", [0, 2])
def test_ranks_of_the_truth_are_uniform(n_features):
    ranks = np.zeros((N_SETS, len(QUANTITIES)), int)
    rng = np.random.default_rng(4)
    for s in range(N_SETS):
        theta = np.linspace(0.7, 1.3, V)
        sim = simulate_words(PRIOR, np.full(D, 6), n_features, theta, seed=100 + s)
        data = make_data(sim.counts, sim.features)
        model = Model(PRIOR, data, any_affinity(V), Steps(split_merges=1))
        chain = Chain(model, start(theta), seed=s)
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
    found = {name: np.bincount(ranks[:, k] // 4, minlength=5) for k, name in enumerate(QUANTITIES)}
    for name, seen in found.items():  # the table of docs/statistician.md
        print(f"| {name} | {' | '.join(map(str, seen))} | {stats.chisquare(seen).pvalue:.2f} |")
    for name, seen in found.items():
        p = stats.chisquare(seen).pvalue
        assert p > 1e-4, f"{name}: ranks {seen.tolist()} are not uniform (p = {p:.1e})"
