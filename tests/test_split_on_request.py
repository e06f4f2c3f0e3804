"""One concept split on request: a start for further sampling, which keeps only what the data are for."""

import numpy as np
import pytest

from superwords import ConceptModel, Corpus, fit
from superwords.errors import InputError
from superwords.sampler.chain import Chain
from superwords.sampler.init.starts import initial_state
from superwords.sampler.moves.split_merge.attempt import split_concept
from superwords.sampler.state import check_state, n_concepts, sizes_of

SUBJECTS = [["apple", "pear", "plum", "peach", "cherry"], ["engine", "wheel", "brake", "tyre", "clutch"]]


def corpus(n_documents=60):
    rng = np.random.default_rng(3)
    vocabulary = [word for subject in SUBJECTS for word in subject]
    counts = np.zeros((n_documents, len(vocabulary)), int)
    for d in range(n_documents):
        first = 5 * (d % 2)
        counts[d, first : first + 5] = rng.multinomial(25, np.full(5, 0.2))
    return Corpus.from_counts(counts, vocabulary, ids=[f"d{d}" for d in range(n_documents)])


@pytest.fixture(scope="module")
def one_concept():
    """A chain whose one concept holds both subjects, after a sweep without splits."""
    model = ConceptModel(n_chains=1, n_sweeps=2, random_state=1, progress=False, init="single")
    model.fit(corpus(), features=None)
    whole = model.chains_[0].model
    state = initial_state("single", whole.data, whole.prior, model.chains_[0].state.theta, 1, 0)
    still = whole._replace(steps=whole.steps._replace(split_merges=0))
    chain = Chain(still, state, 1)
    chain.step()
    chain.model = whole
    return chain


def test_the_parts_are_the_two_subjects(one_concept):
    chain = one_concept
    before = sizes_of(chain.state)
    j = int(np.argmax(before.holders))
    found = split_concept(chain.state, chain.tokens, chain.model, j, chain.stream, chain.sweep, 30)
    assert found is not None
    state, tokens, log_ratio = found
    assert n_concepts(state) == n_concepts(chain.state) + 1
    check_state(state, 60, 10)
    after = sizes_of(state)
    parts = after.m[[j, -1]].astype(float)
    first = parts[:, :5].sum(axis=1) / parts.sum(axis=1)
    assert max(first) > 0.9
    assert min(first) < 0.1
    assert log_ratio > 0
    assert tokens.pair.sum() == chain.tokens.pair.sum() == 60 * 25
    others = [k for k in range(len(before.holders)) if k != j]
    np.testing.assert_array_equal(after.m[others], before.m[others])


def test_the_same_stream_gives_the_same_split(one_concept):
    chain = one_concept
    j = int(np.argmax(sizes_of(chain.state).holders))
    asked = (chain.state, chain.tokens, chain.model, j, chain.stream, chain.sweep, 10)
    first, second = split_concept(*asked), split_concept(*asked)
    for one, other in zip(first[0], second[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert first[2] == second[2]


def test_what_the_data_are_against_does_not_stay():
    model = fit(corpus(), n_chains=2, n_sweeps=40, random_state=1, progress=False, features=None)
    model.rename({1: "Mine"})
    n_before, sweeps = len(model.concepts()), model.chains_[0].sweep
    told = model.split(1, n_sweeps=30)
    assert told["chain"].tolist() == [0, 1]
    assert model.chains_[0].sweep == sweeps + 30
    assert model.schedule_.n_burn_in == sweeps + 15
    assert not told["stays"].any()
    assert len(model.concepts()) == n_before
    assert "Mine" in model.concepts()["name"].tolist()


def test_wrong_requests_are_refused():
    model = fit(corpus(), n_chains=1, n_sweeps=10, random_state=1, progress=False, features=None)
    with pytest.raises(InputError, match="no concept 99"):
        model.split(99)
    with pytest.raises(InputError, match="n_sweeps"):
        model.split(1, n_sweeps=0)
    if len(model.concepts()) > 1:
        model.merge([1, 2])
        with pytest.raises(InputError, match="merged from several"):
            model.split(1, n_sweeps=4)
