"""Kernels of the moves against naive twins, and incremental statistics against a rebuild."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

import naive
from joint import any_affinity
from superwords.lab.generators import plant_corpus
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.initial import initial_state
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.moves import births as birth
from superwords.sampler.moves import concepts as membership
from superwords.sampler.moves import text_ratios as text
from superwords.sampler.moves.concepts import sweep_membership
from superwords.sampler.moves.tokens import impute_tokens
from superwords.sampler.moves.words import sweep_words
from superwords.sampler.random import new_stream, open_stream
from superwords.sampler.semantics import draw_instance, start_regression
from superwords.sampler.simulate import simulate
from superwords.sampler.state import Sizes, relabel, sizes_of
from superwords.sampler.workspace import (
    LAST,
    USED,
    grow_state,
    new_concepts,
    new_document,
    new_state,
    open_document,
)

V = 5
THETA = np.linspace(0.6, 1.4, V)
PRIOR = Prior(2.5, 1.5, 2.0, np.linspace(0.25, 0.6, V), 0.9, 0.7, 2.0, 1.5, 1.0)


def laid_out(seed, d=0, length=6, steps=None):
    """A simulated problem with document d at hand."""
    sim = simulate(PRIOR, np.full(4, length), 0, THETA, seed)
    data = make_data(sim.counts, None, sim.null)
    model = Model(PRIOR, data, any_affinity(V), steps or Steps())
    concepts = new_concepts(sizes_of(sim.state), THETA, PRIOR.lam, 4)
    doc = new_document(V, V, len(concepts.holders), 200)
    open_document(doc, sim.state, data, d)
    stream = new_stream(seed, 1)
    open_stream(stream, 1, 1, 1)
    return sim, model, concepts, doc, stream


def seeds_with_pairs(n, least=2):
    """Seeds whose document 0 holds at least so many concepts."""
    found = []
    for seed in itertools.count():
        sim = simulate(PRIOR, np.full(4, 6), 0, THETA, seed)
        if sim.state.doc_ptr[1] >= least:
            found.append(seed)
        if len(found) == n:
            return found


@pytest.mark.parametrize("seed", seeds_with_pairs(8))
def test_text_gain_and_loss_are_ratios_of_the_text_likelihood(seed):
    sim, model, _, doc, _ = laid_out(seed)
    held, counts, null = naive.unpack(sim.state)[0], sim.counts.toarray()[0], sim.null[0]
    now = naive.log_document(held, counts, null, THETA)
    for words in ([], [1], [0, 2, 4], list(range(V))):
        mass = sum(THETA[w] for w in words)
        fast = text.log_text_gain(doc, model.data, 0, np.array(words, np.int32), 0.7, mass)
        slow = naive.log_document({**held, -1: (0.7, set(words))}, counts, null, THETA) - now
        assert fast == pytest.approx(slow, abs=1e-11)
    for k, j in enumerate(held):
        slow = naive.log_document({i: h for i, h in held.items() if i != j}, counts, null, THETA) - now
        assert text.log_text_loss(doc, model.data, 0, k) == pytest.approx(slow, abs=1e-11)


def all_sets():
    return [np.flatnonzero(f).astype(np.int32) for f in itertools.product([0, 1], repeat=V)]


@pytest.mark.parametrize("length", [6, 70])
@pytest.mark.parametrize("seed", seeds_with_pairs(3))
def test_join_proposal_is_a_probability_and_scores_what_it_draws(seed, length):
    """Σ_f q(f) = 1 where log P(f)/q(f) is what the kernel says, and draws have the frequencies q."""
    _, model, concepts, doc, stream = laid_out(seed, length=length)
    data = model.data
    j = (
        int(np.flatnonzero((concepts.holders > 0) & (doc.place == 0))[0])
        if (doc.place[: concepts.number[0]] == 0).any()
        else None
    )
    if j is None:
        pytest.skip("the document holds every concept")
    others = int(concepts.holders[j])
    for a in range(doc.number[LAST] - data.doc_ptr[0]):
        doc.rest[a] = doc.explained[a]
    tilt = membership._tilt(0.8, doc.total[0], others, concepts.mass[j], 0, concepts, model)
    p = (concepts.m[j] + PRIOR.b2 * PRIOR.lam) / (others + PRIOR.b2)
    q = {}
    for words in all_sets():
        f = np.isin(np.arange(V), words)
        doc.mark[:] = f
        concepts.m[j] += f  # a leave scores the document's own set, which the concepts counts
        _, present = membership._present_words(j, others, tilt, False, doc, concepts, model, stream)
        _, absent = membership._absent_words(j, others, tilt, 0, False, doc, concepts, model, stream)
        concepts.m[j] -= f
        q[tuple(words)] = naive.bernoulli(f, p) / math.exp(present + absent)
    doc.mark[:] = 0
    assert sum(q.values()) == pytest.approx(1.0, abs=1e-10)
    n, seen = 20_000, dict.fromkeys(q, 0)
    for _ in range(n):
        end, _ = membership._present_words(j, others, tilt, True, doc, concepts, model, stream)
        end, _ = membership._absent_words(j, others, tilt, end, True, doc, concepts, model, stream)
        seen[tuple(sorted(doc.arena[doc.number[USED] : end].tolist()))] += 1
    z = [(seen[k] - n * q[k]) / math.sqrt(n * q[k] * (1 - q[k]) + 1e-9) for k in q if n * q[k] > 5]
    assert max(map(abs, z)) < 4.5


@pytest.mark.parametrize("seed", seeds_with_pairs(3))
def test_birth_proposal_is_a_probability_and_scores_what_it_draws(seed):
    _, model, concepts, doc, stream = laid_out(seed)
    for a in range(doc.number[LAST] - model.data.doc_ptr[0]):
        doc.rest[a] = doc.explained[a]
    birth._weigh_seeds(doc, model.data, 0, doc.total[0], THETA)
    q = {
        tuple(words): naive.bernoulli(np.isin(np.arange(V), words), PRIOR.lam)
        * math.exp(birth._log_proposal_over_prior(words, doc, concepts, model))
        for words in all_sets()
    }
    assert sum(q.values()) == pytest.approx(1.0, abs=1e-10)
    n, seen = 20_000, dict.fromkeys(q, 0)
    for _ in range(n):
        size = birth._draw_words(doc, concepts, model, stream)
        used = doc.number[USED]
        seen[tuple(sorted(doc.arena[used : used + size].tolist()))] += 1
    z = [(seen[k] - n * q[k]) / math.sqrt(n * q[k] * (1 - q[k])) for k in q if n * q[k] > 5]
    assert max(map(abs, z)) < 4.5


def test_tokens_are_imputed_in_proportion_to_weight_over_mass():
    sim, model, _, _, _ = laid_out(seeds_with_pairs(1, 3)[0])
    state = sim.state
    model = model._replace(steps=Steps(weights=False))
    n, total = 3000, np.zeros(len(state.word))
    for sweep in range(n):
        total += impute_tokens(state, model, new_stream(5, 0), sweep).entry
    counts = sim.counts.toarray()
    for d in range(4):
        for i in np.flatnonzero(counts[d]):
            entries, weights = [], []
            for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
                words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
                for e, w in enumerate(words):
                    if w == i:
                        entries.append(state.pair_ptr[p] + e)
                        weights.append(state.weight[p] / THETA[words].sum())
            share = np.array(weights) / sum(weights)
            expected = n * counts[d, i] * share
            spread = np.sqrt(expected * (1 - share)) + 1e-9
            assert (np.abs(total[entries] - expected) / spread)[spread > 1e-6].max(initial=0) < 4.5


@pytest.fixture(scope="module")
def planted():
    corpus = plant_corpus(60, 80, 8, 4, 60, 6, seed=2)
    features = corpus.features.copy()
    features[:5] = np.nan
    lam = np.full(80, 0.1)
    prior = Prior(2.0, 1.0, 1.0, lam, 1.0, 0.5, 2.0, 1.0, 1.0)
    data = make_data(corpus.counts, features)
    model = Model(prior, data, make_affinity(corpus.counts, features), Steps(births=3, word_moves=1.0))
    return model, initial_state("kmeans:10", data, prior, np.ones(80), 1, 0)


def test_the_counts_of_the_concept_step_equals_a_rebuild(planted):
    """After thousands of joins, leaves, births and deaths: counts exactly, sums to 1e-9."""
    model, state = planted
    stream = new_stream(1, 0)
    changed = 0
    for sweep in range(25):
        sizes = sizes_of(state)
        instance = draw_instance(sizes, model.data, model.prior, stream, sweep)
        new, concepts, instance, _ = sweep_membership(state, sizes, model, instance, stream, sweep)
        used = np.unique(new.concept)
        rebuilt = sizes_of(new)
        assert sorted(concepts.active[: concepts.number[0]].tolist()) == used.tolist()
        np.testing.assert_array_equal(concepts.m[used], rebuilt.m[used])
        np.testing.assert_array_equal(concepts.holders[used], rebuilt.holders[used])
        np.testing.assert_array_equal(concepts.total, rebuilt.total)
        np.testing.assert_allclose(concepts.mass[used], rebuilt.m[used] @ new.theta, rtol=1e-9)
        pull = rebuilt.m[used].T @ instance.x[used]
        assert np.abs(instance.pull - pull).max() <= 1e-9 * np.abs(pull).max()
        changed += abs(len(new.concept) - len(state.concept)) + len(np.setxor1d(new.word, state.word))
        relabel(new, int(new.concept.max()) + 1, stream, sweep, 0)
        tokens = impute_tokens(new, model, stream, sweep)
        sizes = sizes_of(new)
        state, _ = sweep_words(
            new, tokens, sizes, model, start_regression(sizes, model.data, model.prior), stream, sweep
        )
    assert changed > 0


def test_the_statistics_of_the_word_step_equal_a_rebuild(planted):
    model, state = planted
    stream = new_stream(2, 0)
    flips = 0
    for sweep in range(10):
        tokens = impute_tokens(state, model, stream, sweep)
        sizes = sizes_of(state)
        regression = start_regression(sizes, model.data, model.prior)
        new, tokens = sweep_words(state, tokens, sizes, model, regression, stream, sweep)
        rebuilt = sizes_of(new)
        np.testing.assert_array_equal(sizes.m, rebuilt.m)
        np.testing.assert_array_equal(sizes.total, rebuilt.total)
        fresh = start_regression(rebuilt, model.data, model.prior)
        for fast, slow in ((regression.A, fresh.A), (regression.X, fresh.X), (regression.b, fresh.b)):
            assert np.abs(fast - slow).max() <= 1e-9 * np.abs(slow).max()
        pair = np.add.reduceat(np.append(tokens.entry, 0), new.pair_ptr[:-1]) * (np.diff(new.pair_ptr) > 0)
        np.testing.assert_array_equal(pair, tokens.pair)
        for p in range(len(new.concept)):
            assert (np.diff(new.word[new.pair_ptr[p] : new.pair_ptr[p + 1]]) > 0).all()
        flips += abs(len(new.word) - len(state.word))
        state = new
    assert flips > 1000


def test_a_document_of_one_word_many_concepts_outgrows_every_buffer():
    """Births on every document: slots, arena and the new state all have to grow, and nothing is lost."""
    prior = Prior(400.0, 1.0, 1.0, np.full(6, 0.5), 1.0, 0.5, 2.0, 1.0, 1.0)
    counts = sparse.csr_array(np.ones((5, 6), int))
    data = make_data(counts, None)
    model = Model(prior, data, make_affinity(counts, None), Steps(births=60))
    chain = Chain(model, initial_state("single", data, prior, np.ones(6), 0, 0), seed=3)
    for _ in chain.advance(5):
        rebuilt = sizes_of(chain.state)
        assert (rebuilt.holders > 0).all()
    assert len(rebuilt.holders) > 40
    assert isinstance(rebuilt, Sizes)


def test_the_new_state_grows_where_it_is_short_and_nowhere_else():
    new = new_state(simulate(PRIOR, np.full(4, 6), 0, THETA, 1).state)
    pairs, entries = len(new.concept), len(new.word)
    new.doc_ptr[1:] = pairs - 1
    short = grow_state(new, 1, 3, 10)
    assert len(short.concept) >= pairs + 2
    assert len(short.pair_ptr) == len(short.concept) + 1
    assert len(short.word) == entries
    new.pair_ptr[new.doc_ptr[1]] = entries - 5
    assert len(grow_state(new, 1, 1, 10).word) >= entries + 5
    assert len(grow_state(new, 1, 1, 10).concept) == pairs
