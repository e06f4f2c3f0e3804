"""Several threads within a chain change nothing but the time."""

from __future__ import annotations

import numpy as np
import pytest

from superwords import ConceptModel
from superwords.fitting import settings
from superwords.sampler import threads
from superwords.sampler.chain import Chain
from superwords.sampler.model import Affinity, Model, Prior, Steps, make_data
from superwords.sampler.simulate import simulate
from superwords.sampler.threads import in_blocks
from test_starts import blocks


def some_chain(**steps):
    prior = Prior(3.0, 20.0, 5.0, np.full(30, 0.2), 1.0, 0.7, 3.0, 2.0, 1.0)
    made = simulate(prior, np.full(60, 12), 3, np.ones(30), seed=4)
    near, rho = np.arange(30, dtype=np.int32)[:, None], np.full((30, 1), 0.5)
    data = make_data(made.counts, made.features, made.null)
    return Chain(Model(prior, data, Affinity(near, rho, rho), Steps(**steps)), made.state, seed=1)


def assert_same_bits(one, other):
    for a, b in zip((*one.state, *one.tokens), (*other.state, *other.tokens)):
        np.testing.assert_array_equal(a, b)


def test_blocks_cover_all_in_order(monkeypatch):
    monkeypatch.setattr(threads, "_LEAST", 3)
    assert in_blocks(lambda first, last: (first, last), 5, 2) == [(0, 5)]
    made = in_blocks(lambda first, last: list(range(first, last)), 50, 3)
    assert len(made) == 12
    assert [k for block in made for k in block] == list(range(50))


@pytest.mark.parametrize("turns", [1, 3, 0])
def test_a_chain_has_the_same_bits_at_any_number_of_threads(monkeypatch, turns):
    monkeypatch.setattr(threads, "_LEAST", 2)
    chains = [some_chain(turns=turns, births=1.0) for _ in range(3)]
    for n_threads, chain in enumerate(chains, start=1):
        chain.n_threads = n_threads
        for _ in range(4):
            chain.step()
    assert_same_bits(chains[0], chains[1])
    assert_same_bits(chains[0], chains[2])


@pytest.mark.parametrize("turns", [1, 3, 0])
def test_every_token_stays_explained_and_every_statistic_is_a_rebuild(turns):
    chain = some_chain(turns=turns, births=1.0)
    held = len(chain.state.concept)
    for _ in range(10):
        chain.step()
        assert np.isfinite(chain.log_joint())
    assert len(chain.state.concept) != held
    assert chain.accepted["join"] > 0
    assert chain.accepted["word move"] > 0


def test_a_lone_chain_gets_the_jobs_that_are_left(monkeypatch):
    monkeypatch.setattr(threads, "_LEAST", 2)
    monkeypatch.setattr(settings, "MANY_ROWS", 50)
    monkeypatch.setattr(settings, "TURNS", 3)
    used = []
    step = Chain.step
    monkeypatch.setattr(Chain, "step", lambda self: (used.append(self.n_threads), step(self)))

    def fitted(n_chains, n_jobs):
        given = {"n_chains": n_chains, "n_sweeps": 3, "random_state": 2, "progress": False, "n_jobs": n_jobs}
        return ConceptModel(**given).fit(blocks()[:80], features=None)

    one, three = fitted(1, 1), fitted(1, 3)
    assert set(used) == {1, 3}
    assert one.chains_[0].model.steps.turns == 3
    assert_same_bits(one.chains_[0], three.chains_[0])
    used.clear()
    fitted(2, 3)
    assert set(used) == {1}
