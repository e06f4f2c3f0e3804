"""Pinned and banned words: a chain against the enumerated posterior of the conditioned model, and the API."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

import naive
from enumeration import COUNTS, MOST, PRIOR, THETA, TYPES, held_fixed, mean_holders, mean_text, mean_word_sets
from joint import any_affinity
from superwords import ConceptModel, Corpus, load
from superwords.errors import InputError
from superwords.fitting.folding import kept_concepts
from superwords.sampler.chain import Chain
from superwords.sampler.model import Model, Steps, make_data
from superwords.sampler.state import State

PINNED, BANNED = np.array([[1, 0]], np.int8), np.array([[0, -1]], np.int8)
BOTH = PINNED + BANNED


def keeps(kind, fixed):
    """Whether every document that holds a concept of this type has the pinned words on and the banned ones off."""
    return all((i in words) == (fixed[i] > 0) for words in kind if words is not None for i in np.flatnonzero(fixed))


def conditioned_posterior(prior, Y, fixed):
    """Of one concept's type and the multiset of the others: w_t Π w_s^{n_s} / n_s! with text and features."""
    given, weight = held_fixed(prior, THETA), {}
    first = [t for t, kind in enumerate(TYPES) if keeps(kind, fixed[0])]
    for n in range(MOST):
        for t, others in itertools.product(first, itertools.combinations_with_replacement(range(len(TYPES)), n)):
            kinds = [TYPES[s] for s in (t, *others)]
            text = mean_text(kinds, given, prior.alpha_pi)[0]
            if text == 0:
                continue
            held = tuple(sorted(sum(words is not None for words in kind) for kind in kinds))
            p = mean_holders(held, given)[0] * mean_word_sets(kinds, given, prior.lam)[0] * text
            log_p = math.log(p) - sum(gammaln(c + 1) for c in Counter(others).values())
            m = np.array([[sum(i in w for w in k if w is not None) for i in range(2)] for k in kinds])
            m = m[m.sum(axis=1) > 0]
            log_p += naive.log_features(m / np.maximum(m.sum(axis=0), 1), Y, prior)
            weight[t, others] = math.exp(log_p)
    total = sum(weight.values())
    return {key: value / total for key, value in weight.items()}


def key_of(state):
    kinds = {}
    for d, held in enumerate(naive.unpack(state)):
        for j, (_, words) in held.items():
            kinds.setdefault(j, [None, None])[d] = tuple(sorted(words))
    found = {j: TYPES.index(tuple(kind)) for j, kind in kinds.items()}
    return found.pop(0), tuple(sorted(found.values()))


def start():
    """Concept 0 has word 0 on in the second document, concept 1 both words in both."""
    return State(
        np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), np.ones(3), np.array([0, 2, 3, 5]),
        np.array([0, 1, 0, 0, 1], np.int32), THETA,
    )  # fmt: skip


def visits(fixed, size, sampled_as=None, n_batches=50):
    """z-scores by batch means: the 20 most probable states and the number of concepts."""
    prior, Y = PRIOR._replace(b1=2.5, b2=3.0), np.random.default_rng(3).normal(size=(2, 1))
    exact = conditioned_posterior(prior, Y, fixed)
    data, steps = make_data(sparse.csr_array(COUNTS), Y), Steps(births=1.0, split_merges=2)
    sampled = fixed if sampled_as is None else sampled_as
    chain = Chain(Model(prior, data, any_affinity(2), steps, sampled), start(), seed=8)
    top = sorted(exact, key=exact.get)[-20:]
    shares = np.zeros((n_batches, len(top) + 1))
    for _ in chain.advance(200):
        pass
    for batch in range(n_batches):
        keys = [key_of(draw.state) for draw in chain.advance(size)]
        seen = Counter(key for key in keys if len(key[1]) < MOST)
        n, n_concepts = sum(seen.values()), sum(count * (1 + len(key[1])) for key, count in seen.items())
        if sampled_as is None:
            assert set(seen) <= set(exact), "a state that breaks the condition was visited"
        shares[batch] = [*(seen[key] / n for key in top), n_concepts / n]
    mean = sum((1 + len(key[1])) * p for key, p in exact.items())
    truth = np.array([*(exact[key] for key in top), mean])
    error = np.maximum(shares.std(axis=0, ddof=1), 1e-300) / math.sqrt(n_batches)
    return (shares.mean(axis=0) - truth) / error


LONG = [pytest.param(fixed, 400, marks=pytest.mark.statistics) for fixed in (PINNED, BANNED)]


@pytest.mark.parametrize(("fixed", "size"), [(BOTH, 100), *LONG])
def test_a_conditioned_chain_visits_states_as_often_as_the_posterior_says(fixed, size):
    z = visits(fixed, size)
    assert np.abs(z).max() < 4.5, z.round(1)


def test_the_comparison_notices_a_condition_that_is_not_kept():
    assert np.abs(visits(BOTH, 60, sampled_as=np.zeros((1, 2), np.int8))).max() > 8


SUBJECTS = [["apple", "pear", "plum", "peach", "cherry"], ["engine", "wheel", "brake", "tyre", "clutch"]]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(3)
    counts = np.zeros((40, 11), int)
    for d in range(40):
        first = 5 * (d % 2)
        counts[d, first : first + 5] = rng.multinomial(20, np.full(5, 0.2))
        counts[d, 10] = d % 4 == 1  # oil, in half of the documents about cars
    corpus = Corpus.from_counts(counts, [*SUBJECTS[0], *SUBJECTS[1], "oil"])
    return ConceptModel(n_chains=2, n_sweeps=30, init="kmeans:2", random_state=1, progress=False).fit(
        corpus, features=None
    )


def concept_of(model, word):
    return next(j for j in model.concepts()["concept"] if word in model.top_words(j, 5))


def words_on(model, k):
    """The word sets of the k-th concept in the last states of the chains."""
    return [words for c in model.chains_ for held in naive.unpack(c.state) for j, (_, words) in held.items() if j == k]


def test_pinned_words_are_on_and_banned_ones_off_in_every_document(model, tmp_path):
    fruit, cars = concept_of(model, "apple"), concept_of(model, "wheel")
    at = {word: i for i, word in enumerate(model.corpus_.vocabulary)}
    table = model.condition(pin={fruit: ["oil"]}, ban={cars: ["brake", "oil"], fruit: "plum"}, n_sweeps=10)
    assert table["pinned"].tolist() == [["oil"], []]
    assert table["banned"].tolist() == [["plum"], ["brake", "oil"]]
    assert "apple" in model.top_words(int(table["now"][0]), 6)
    for sets, pinned, banned in ((words_on(model, 0), ["oil"], ["plum"]), (words_on(model, 1), [], ["brake", "oil"])):
        assert sets
        assert all(at[word] in words for words in sets for word in pinned)
        assert not any(at[word] in words for words in sets for word in banned)
    kept, numbers = kept_concepts(model), table["now"].astype(int) - 1
    on = (kept.m + kept.extra[:, None]) * kept.inverse  # P(f = 1) of a new document
    pinned, banned = on[at["oil"], numbers[0]], on[[at["plum"], at["brake"]], numbers]
    np.testing.assert_allclose([pinned, *banned], [1, 0, 0], atol=1e-8)
    again = load(model.save(tmp_path / "model.sw"))
    np.testing.assert_array_equal(again.chains_[0].model.fixed, model.chains_[0].model.fixed)
    for one, other in zip(again.advance(3).chains_[0].state, model.advance(3).chains_[0].state, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(model.condition(n_sweeps=4)) == 0
    assert len(model.chains_[0].model.fixed) == 0


def test_conditions_that_cannot_be_kept_are_refused(model):
    with pytest.raises(InputError, match="'zebra' is not in the vocabulary"):
        model.condition(pin={1: ["zebra"]})
    with pytest.raises(InputError, match="both pinned"):
        model.condition(pin={1: ["apple"]}, ban={1: ["apple"]})
    with pytest.raises(InputError, match="no concept 99"):
        model.condition(ban={99: ["apple"]})
    with pytest.raises(InputError, match="pin: 5 is not a list of words; give those of concept 1"):
        model.condition(pin={1: 5})
    with pytest.raises(InputError, match="is not a mapping"):
        model.condition(pin=["apple"])
