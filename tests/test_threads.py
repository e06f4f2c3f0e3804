"""Several threads within a chain change nothing but the time."""

from __future__ import annotations

import numpy as np

from chains_for_tests import assert_same_chain, blocks, some_chain
from superwords import ConceptModel
from superwords.sampler.chain import Chain
from superwords.sampler.moves import contract
from superwords.sampler.moves.contract import map_blocks


def test_blocks_cover_all_in_order(monkeypatch):
    monkeypatch.setattr(contract, "_LEAST", 3)
    assert map_blocks(lambda first, last: (first, last), 5, 2) == [(0, 5)]
    made = map_blocks(lambda first, last: list(range(first, last)), 50, 3)
    assert len(made) == 12
    assert [k for block in made for k in block] == list(range(50))


def test_a_chain_has_the_same_bits_at_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(contract, "_LEAST", 2)
    chains = [some_chain(births=1.0) for _ in range(3)]
    for n_threads, chain in enumerate(chains, start=1):
        chain.n_threads = n_threads
        for _ in range(4):
            chain.step()
    assert_same_chain(chains[0], chains[1])
    assert_same_chain(chains[0], chains[2])


def test_every_token_stays_explained_and_every_statistic_is_a_rebuild():
    chain = some_chain(births=1.0)
    held = len(chain.state.concept)
    for _ in range(10):
        chain.step()
        assert np.isfinite(chain.log_joint())
    assert len(chain.state.concept) != held
    assert chain.accepted["join"] > 0
    assert chain.accepted["word move"] > 0


def test_a_lone_chain_gets_the_jobs_that_are_left(monkeypatch):
    monkeypatch.setattr(contract, "_LEAST", 2)
    used = []
    step = Chain.step
    monkeypatch.setattr(Chain, "step", lambda self: (used.append(self.n_threads), step(self)))

    def fitted(n_chains, n_jobs):
        given = {"n_chains": n_chains, "n_sweeps": 3, "random_state": 2, "progress": False, "n_jobs": n_jobs}
        return ConceptModel(**given).fit(blocks()[:80], features=None)

    one, three = fitted(1, 1), fitted(1, 3)
    assert set(used) == {1, 3}
    assert_same_chain(one.chains_[0], three.chains_[0])
    used.clear()
    fitted(2, 3)
    assert set(used) == {1}
