"""Chains count by how well they predict held-out tokens: a poor mode counts for nothing, equal chains share."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from models_for_tests import PLANTED, chain_of, fit, kept, planted_corpus, planted_model
from superwords.concepts.stacking import best_mixture, chain_weights, stacked, without
from superwords.draws import ChainDraws, Draws
from superwords.sampler.state import count_memberships, n_concepts, sizes_of


def counts_of(model):
    return sparse.csr_array(model.corpus_.counts[model.order_])


def prior_of(model):
    return model.chains_[0].model.prior


def one_concept(model):
    """Everything in one concept that every document holds: a mode that says nothing of documents."""
    counts = counts_of(model)
    rows = [
        {0: dict(zip(counts.indices[a:b].tolist(), counts.data[a:b].tolist()))}
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:])
    ]
    return kept(rows, counts.shape[1])


def test_weights_maximise_the_mean_log_score():
    rng = np.random.default_rng(1)
    density = rng.gamma(1.0, size=(3, 500))
    times = rng.integers(0, 3, 500)
    found = best_mixture(density, times)
    best = (times * np.log(found @ density)).mean()
    assert found.sum() == pytest.approx(1)
    for other in rng.dirichlet(np.ones(3), 2000):
        assert (times * np.log(other @ density)).mean() <= best + 1e-5


def test_chains_that_say_the_same_share():
    assert stacked(np.full((4, 9), 0.1), np.arange(9)).tolist() == pytest.approx([0.25] * 4)
    model = planted_model()
    twice = Draws([model.kept_[0], model.kept_[0]])
    assert chain_weights(twice, counts_of(model), prior_of(model)).tolist() == pytest.approx([0.5, 0.5])


def test_chains_that_predict_about_as_well_share():
    """Noise alone would give all to one of them in most runs, were rows not resampled."""
    rng = np.random.default_rng(2)
    log_density = rng.normal(size=600) + 0.02 * rng.normal(size=(2, 600)) * np.ones((2, 1))
    weights = stacked(np.exp(log_density), np.arange(600) // 10)
    assert weights.min() > 0.2


def test_a_poor_mode_counts_for_next_to_nothing():
    model = planted_model()
    poor = chain_of(one_concept(model), 3)
    weights = chain_weights(Draws([*model.kept_, poor]), counts_of(model), prior_of(model))
    assert weights[2] < 0.02
    assert weights[:2].sum() > 0.98


def test_the_reference_is_never_of_a_poor_mode():
    model = fit(planted_corpus(), features=PLANTED.features, n_chains=1)
    poor = one_concept(model)._replace(score=1e9)
    model.kept_.append(chain_of(poor, len(model.kept_[0])))
    model._forget()
    assert model.result_.chain_weights[1] < 0.02
    assert model.best_draw_.score < poor.score
    assert model.n_concepts_ > 1


def test_a_chain_without_draws_has_no_weight():
    model = planted_model()
    some = Draws([model.kept_[0], ChainDraws()])
    assert chain_weights(some, counts_of(model), prior_of(model)).tolist() == [1, 0]


def test_rows_that_are_held_out_are_not_counted():
    state = planted_model().best_draw_.state
    rows = np.array([3, 17, 30])
    left = [d for d in range(40) if d not in rows]
    pairs = np.concatenate([np.arange(state.doc_ptr[d], state.doc_ptr[d + 1]) for d in left])
    lengths = np.diff(state.pair_ptr)[pairs]
    rest = state._replace(
        doc_ptr=np.concatenate([[0], np.cumsum(np.diff(state.doc_ptr)[left])]),
        concept=state.concept[pairs],
        weight=state.weight[pairs],
        pair_ptr=np.concatenate([[0], np.cumsum(lengths)]),
        word=np.concatenate([state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]] for p in pairs]),
    )
    wanted = count_memberships(rest, n_concepts(state), len(state.theta))
    found = without(sizes_of(state), state, rows)
    held = wanted.holders > 0
    assert (found.m == wanted.m[held]).all()
    assert (found.holders == wanted.holders[held]).all()
    assert (found.total == wanted.total).all()


def test_weights_do_not_depend_on_the_order_of_the_documents():
    """The chain's own order of rows is one of content, so shuffled input gives the same weights."""
    corpus = planted_corpus()
    order = np.random.default_rng(3).permutation(40)
    shuffled = replace(
        corpus,
        counts=sparse.csr_array(corpus.counts[order]),
        ids=[corpus.ids[d] for d in order],
        metadata=corpus.metadata.iloc[order].reset_index(drop=True),
        texts=[corpus.texts[d] for d in order],
    )
    weights = [
        fit(one, features=PLANTED.features, n_sweeps=12, n_burn_in=4).result_.chain_weights
        for one in (corpus, shuffled)
    ]
    np.testing.assert_array_equal(*weights)
