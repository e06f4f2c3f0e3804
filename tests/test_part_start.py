"""The start of large corpora: a chain arrives on a part of the rows, and the others join its concepts."""

from __future__ import annotations

import numpy as np
import pytest

from chains_for_tests import N_BLOCKS, N_WORDS, Saying, blocks, prior_of, same
from superwords import ConceptModel
from superwords.errors import InputError
from superwords.fitting import settings, starting
from superwords.sampler.chain import Chain
from superwords.sampler.density import log_text
from superwords.sampler.init import grow as part_start
from superwords.sampler.init.grow import join_rows, pick_rows
from superwords.sampler.init.starts import counts_of, initial_state
from superwords.sampler.model import Affinity, Model, Steps, make_data
from superwords.sampler.moves import contract
from superwords.sampler.random import new_stream
from superwords.sampler.state import check_state, sizes_of


def part_chain(counts):
    data = make_data(counts, None)
    near = np.arange(N_WORDS, dtype=np.int32)[:, None]
    rho = np.full((N_WORDS, 1), 0.5)
    model = Model(prior_of(), data, Affinity(near, rho, rho), Steps())
    chain = Chain(model, initial_state("topics:4", data, prior_of(), np.ones(N_WORDS), 1, 0), 1, 0)
    chain.step()
    return chain


def test_rows_that_join_hold_the_concepts_of_their_words():
    counts = blocks()
    rows = pick_rows(81, 40, seed=1, chain=0)
    chain = part_chain(counts[rows])
    rest = np.setdiff1d(np.arange(81), rows)
    joined = join_rows(chain, counts[rest], new_stream(1, 0))
    check_state(joined, len(rest), N_WORDS)
    assert np.isfinite(log_text(joined, make_data(counts[rest], None)))
    m = sizes_of(chain.state).m
    owner = m[:, ::5].argmax(axis=0)  # the concept of each block of five words
    heaviest = [
        joined.concept[a:b][joined.weight[a:b].argmax()] if b > a else -1
        for a, b in zip(joined.doc_ptr, joined.doc_ptr[1:])
    ]
    expected = [owner[d % N_BLOCKS] if d < 80 else -1 for d in rest]
    assert np.mean(np.array(heaviest) == expected) > 0.9


def test_rows_that_join_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(contract, "_LEAST", 5)
    counts = blocks()
    chain = part_chain(counts[:30])
    one, two, three = (join_rows(chain, counts[30:], new_stream(1, 0), n) for n in (1, 2, 3))
    assert same(one, two)
    assert same(one, three)


def test_the_rows_of_the_part_start_as_they_are_there():
    counts = blocks()
    data = make_data(counts, None)
    rows = pick_rows(81, 30, seed=4, chain=1)
    part = part_chain(counts[rows]).model
    whole = part_start.arrive("topics:4", part, rows, data, np.ones(N_WORDS), 4, 1)
    check_state(whole, 81, N_WORDS)
    assert np.isfinite(log_text(whole, data))
    chain = Chain(part, initial_state("topics:4", part.data, part.prior, np.ones(N_WORDS), 4, 1), 4, 1)
    chain.sweep = part_start._BEFORE_ALL
    for _ in range(part_start.SWEEPS):
        chain.step()
    for n, d in enumerate(rows):
        ours, theirs = _row(whole, d), _row(chain.state, n)
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs))


def _row(state, d):
    a, b = state.doc_ptr[d], state.doc_ptr[d + 1]
    return state.concept[a:b], state.weight[a:b], state.word[state.pair_ptr[a] : state.pair_ptr[b]]


def test_every_chain_and_seed_picks_its_own_rows():
    picked = [tuple(pick_rows(100, 20, *name)) for name in ((1, 0), (1, 1), (2, 0))]
    assert len(set(picked)) == 3
    assert picked[0] == tuple(pick_rows(100, 20, 1, 0))
    assert len(set(picked[0])) == 20
    assert list(picked[0]) == sorted(picked[0])


def fitted(counts, said, **options):
    model = ConceptModel(n_chains=2, n_sweeps=2, random_state=3, progress=Saying(said), **options)
    return model.fit(counts, features=None)


def test_many_rows_arrive_on_a_part_of_them_and_it_is_said(monkeypatch):
    counts, said = blocks()[:80], []
    monkeypatch.setattr(settings, "LARGE", 60)
    monkeypatch.setattr(settings, "ROWS", 25)
    large = fitted(counts, said)
    assert any("25 of the 80 rows" in line for line in said)
    asked = fitted(counts, [], start_rows=25)
    assert same(large.chains_[1].state, asked.chains_[1].state)
    plain: list[str] = []
    fitted(counts, plain, start_rows=None)
    fitted(counts, plain, init="single")
    assert not any("rows" in line for line in plain)


def test_chains_start_the_same_at_any_number_of_jobs():
    counts = blocks()[:80]
    one, two = (fitted(counts, [], start_rows=30, n_jobs=n) for n in (1, 2))
    assert all(same(a.state, b.state) for a, b in zip(one.chains_, two.chains_))


def test_the_part_has_the_rules_of_its_own_size():
    counts = blocks()[:80]
    model = fitted(counts, [], start_rows=30).chains_[0].model
    given = ConceptModel().get_params()
    part = starting.part_of(model, np.arange(20), given)
    assert part.prior.b1 == pytest.approx(0.3 * 20)
    assert model.prior.b1 == pytest.approx(0.3 * 80)
    assert (counts_of(part.data) != counts_of(model.data)[:20]).nnz == 0


@pytest.mark.parametrize("rows", [0, -5, 2.5, "some", True])
def test_numbers_of_rows_that_are_none_are_refused(rows):
    with pytest.raises(InputError, match="start_rows"):
        ConceptModel(start_rows=rows).fit(blocks()[:80], features=None)
