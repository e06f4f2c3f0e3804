"""Prevalence counts use: a document has a concept if one of its tokens is imputed to it."""

import sys
from importlib import metadata
from types import SimpleNamespace

import arviz_stats
import numpy as np
import pandas as pd
import pytest
import xarray

import superwords
from models_for_tests import planted_model
from superwords import ConceptModel, Corpus
from superwords.errors import InputError
from superwords.posterior.trace_tree import for_arviz, log_text

WORDS = [f"word{i}" for i in range(16)]


@pytest.fixture(scope="module")
def short():
    """300 texts of five tokens: words 12 to 15 (one concept) occur in the second year only."""
    rng = np.random.default_rng(0)
    counts, year = np.zeros((300, 16), int), np.repeat([2013, 2014], 150)
    for d in range(300):
        concept = rng.integers(3) if year[d] == 2013 or d % 3 else 3
        np.add.at(counts[d], 4 * concept + rng.integers(4, size=5), 1)
    corpus = Corpus.from_counts(counts, WORDS, {"year": year})
    return ConceptModel(n_chains=2, n_sweeps=60, random_state=1, progress=False).fit(corpus)


def rare_concept(model):
    return next(j for j in range(1, model.n_concepts_ + 1) if set(model.top_words(j, 4)) & set(WORDS[12:]))


def test_a_concept_whose_words_are_absent_from_a_year_has_no_prevalence_there(short):
    j = rare_concept(short)
    table, over = short.by_group("year"), short.over_time("year")
    groups = table[table["concept"] == j].set_index("group")["prevalence"]
    assert groups[2013] < 0.01
    assert groups[2014] == pytest.approx(1 / 3, abs=0.05)
    years = over[over["concept"] == j].set_index("period")["prevalence"]
    assert years["2013"] == groups[2013]


def test_expected_and_listed_rows_agree(short):
    listed = short.documents().groupby("concept").size()
    expected = short.concepts().set_index("concept").query("not leftover")["rows"]
    np.testing.assert_allclose(listed.reindex(expected.index).fillna(0), expected, rtol=0.1)


def test_a_row_without_a_word_of_a_concept_does_not_use_it(short):
    j = rare_concept(short)
    uses = short.doc_concept_[:, j - 1] > 0.1
    has = (short.corpus_.counts.toarray()[:, 12:] > 0).any(axis=1)
    assert (uses & ~has).sum() <= 0.02 * has.sum()


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_arviz_summarises_the_traces_and_compares_by_leave_one_out():
    model = planted_model()
    trace = model.trace_
    table = arviz_stats.summary(trace, var_names=["log_joint", "prevalence", "strength"])
    assert len(table) == 1 + 2 * model.n_concepts_
    concepts = trace["posterior"]["prevalence"].coords["concept"].values.tolist()
    assert concepts == model.concepts()["concept"].tolist()
    assert trace["sample_stats"]["lp"].shape == trace["posterior"]["log_joint"].shape
    accepted = trace["sample_stats"]["acceptance_rate"].values
    assert accepted.shape == trace["posterior"]["log_joint"].shape
    assert ((accepted > 0) & (accepted < 1)).all()
    assert trace["log_likelihood"]["documents"].shape[-1] == 40
    assert trace["observed_data"]["n_tokens"].values.tolist() == [60] * 40
    assert np.isfinite(arviz_stats.loo(trace, var_name="documents").elpd)


@pytest.mark.parametrize(("version", "is_converted"), [("0.23.4", True), ("1.3.0", False), (None, False)])
def test_the_trace_is_of_the_class_that_the_installed_arviz_reads(monkeypatch, version, is_converted):
    def find(name):
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    tree, converted = xarray.DataTree(), object()
    monkeypatch.setattr(metadata, "version", find)
    old = SimpleNamespace(InferenceData=SimpleNamespace(from_datatree=lambda given: converted))
    monkeypatch.setitem(sys.modules, "arviz", old)
    assert for_arviz(tree) is (converted if is_converted else tree)


def test_sampled_concentrations_are_in_the_trace():
    sampled = {"b1": "sample", "alpha_omega": "sample"}
    settings = {"n_chains": 2, "n_sweeps": 12, "n_burn_in": 4, "random_state": 1, "n_pilots": 0, **sampled}
    model = superwords.ConceptModel(**settings).fit(planted_model().corpus_, features=None)
    posterior = model.trace_["posterior"]
    for name in sampled:
        assert posterior[name].shape == (2, 8)
        assert posterior[name].values[0, -1] == getattr(model.chains_[0].model.prior, name)
    assert "b2" not in posterior


def test_the_likelihood_of_documents_is_that_of_the_text_by_hand(short):
    state = short.draws_.chains[0][0].state
    found = np.empty(300)
    found[short.order_] = log_text(state, short.corpus_.counts[short.order_])
    for row, document in list(enumerate(short.order_))[::50]:
        counts = short.corpus_.counts[[document]].toarray().ravel()
        held = range(*state.doc_ptr[row : row + 2])
        density = np.zeros(len(counts))
        for p in held:
            words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
            if len(words):
                density[words] += state.theta[words] * state.weight[p] / state.theta[words].sum()
        density /= sum(state.weight[p] for p in held)
        there = counts > 0
        assert found[document] == pytest.approx(counts[there] @ np.log(density[there]))


def test_simulated_documents_have_the_truth_beside_them():
    made = superwords.simulate(40, 12, length=20, b1=5, seed=3)
    assert made.counts.shape == (40, 12)
    assert (made.counts.sum(axis=1) + made.null).tolist() == [20] * 40
    held = made.weights().sum(axis=1)
    assert set(np.round(held, 9)) <= {0.0, 1.0}
    again = superwords.simulate(40, 12, length=20, b1=5, seed=3)
    assert (again.counts != made.counts).nnz == 0


def test_features_in_a_table_are_aligned_by_its_words():
    corpus = Corpus.from_counts([[1, 2, 0], [2, 0, 1], [0, 1, 1]], ["a", "b", "c"])
    table = pd.DataFrame({"x": [2.0, 1.0, 9.0], "y": [20.0, 10.0, 90.0]}, index=["b", "a", "z"])
    model = ConceptModel(n_chains=1, n_sweeps=2, random_state=1, standardize_features=False, progress=False)
    data = model.fit(corpus, features=table).chains_[0].model.data
    assert data.known.tolist() == [True, True, False]
    assert data.Y[:2].tolist() == [[1, 10], [2, 20]]
    with pytest.raises(InputError, match="No row of the features is named by a word"):
        model.fit(corpus, features=table.set_axis(["p", "q", "r"]))
    with pytest.raises(InputError, match="several rows for the word 'a'"):
        model.fit(corpus, features=table.set_axis(["a", "a", "b"]))


def test_a_word_with_one_feature_missing_warns():
    corpus = Corpus.from_counts([[1, 2, 0], [2, 0, 1], [0, 1, 1]], ["a", "b", "c"])
    features = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 4.0]])
    with pytest.warns(UserWarning, match="1 words have some features missing"):
        ConceptModel(n_chains=1, n_sweeps=2, random_state=1, progress=False).fit(corpus, features=features)
