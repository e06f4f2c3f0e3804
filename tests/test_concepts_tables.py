"""The tables say what the draws say, at the borders too."""

import copy

import arviz_base
import numpy as np
import pandas as pd
import pytest

from models_for_tests import (
    EDGES,
    ODD_WORDS,
    PLANTED,
    edge_model,
    passage_model,
    planted_model,
    summary_of,
    with_parts,
)
from superwords import load
from superwords.concepts import examples, summary
from superwords.concepts.alignment import usage_of
from superwords.concepts.examples import concepts_of_word, telling_passage
from superwords.concepts.intervals import TAILS, widened
from superwords.concepts.ranking import names, ranked_rows
from superwords.concepts.summary import WordUse
from superwords.concepts.tables import drawn_weights, one_document, source_shares
from superwords.errors import InputError


def word_use(rows):
    """Rows of (concept, word, used, documents)."""
    columns = np.array(rows, float).T
    shares = [columns[2].astype(np.float32)] * 8
    return WordUse(columns[0].astype(int), columns[1].astype(int), *shares[:7], columns[3])


def test_a_word_used_everywhere_tells_less_than_one_of_the_concepts_own():
    words = word_use([(0, 0, 0.9, 9), (0, 1, 0.5, 5), (1, 0, 0.9, 18), (1, 2, 0.2, 4), (2, 0, 0.8, 40)])
    assert words.word[ranked_rows(words, 0, 3)].tolist() == [1, 0]


def test_unused_words_come_last_by_the_share_that_has_them_on():
    words = word_use([(0, 0, 0.0, 0), (0, 1, 0.0, 0), (0, 2, 0.1, 1)])._replace(on=np.array([0.2, 0.4, 0.1]))
    assert words.word[ranked_rows(words, 0, 3)].tolist() == [2, 1, 0]


def test_names_are_short_unique_and_do_not_repeat_themselves():
    words = word_use(
        [(0, 0, 0.9, 9), (0, 1, 0.8, 8), (0, 2, 0.7, 7), (0, 3, 0.01, 1), (1, 4, 0.5, 5), (2, 4, 0.5, 5)]
    )
    vocabulary = ["health care", "care", "costs", "rare", "tax"]
    assert names(words, 4, vocabulary) == ["health care, costs", "tax", "tax (2)", "(no words)"]


def test_concepts_are_those_of_the_fitted_attributes():
    model = planted_model()
    table = model.concepts()
    held = (model.doc_concept_ > 0).sum(axis=0)
    assert table["concept"].tolist() == list(range(1, model.n_concepts_ + 1))
    assert table["documents"].tolist() == held.tolist() == sorted(held, reverse=True)
    np.testing.assert_allclose(table["prevalence"], held / 40)
    np.testing.assert_allclose(table["strength"], model.doc_concept_.sum(axis=0) / held)
    assert table["n_words"].tolist() == (model.concept_word_ > 0).sum(axis=1).tolist()
    assert table["name"].is_unique
    assert (table["leftover"] == (table["documents"] <= 4)).all()
    assert table["source_documents"].tolist() == table["documents"].tolist()


def test_source_documents_hold_a_concept_in_any_passage():
    model = passage_model()
    held = model.doc_concept_.reshape(10, 4, -1) > 0
    table = model.concepts()
    assert table["source_documents"].tolist() == held.any(axis=1).sum(axis=0).tolist()
    assert table["documents"].tolist() == held.sum(axis=(0, 1)).tolist()


def test_prevalence_and_stability_are_over_all_draws():
    model = planted_model()
    table, aligned = model.concepts(), model.result_.summary.alignment
    for j in range(model.n_concepts_):
        there = aligned.similarity[:, j] > 0
        low, high = np.quantile(aligned.holders[there, j] / 40, TAILS)
        assert (table["prevalence_low"][j], table["prevalence_high"][j]) == pytest.approx((low, high))
        assert table["stability"][j] == pytest.approx(there.mean())
        halves = [there[:20].mean(), there[20:].mean()]
        assert table["stability_by_chain"][j] == pytest.approx(halves)
        assert table["jaccard"][j] == pytest.approx(aligned.jaccard[there, j].mean())


def with_few_draws(model, monkeypatch):
    """The same model, with memberships kept of every tenth draw."""
    monkeypatch.setattr(summary, "_MOST_PAIRS", 1)
    monkeypatch.setattr(summary, "_FEWEST_DRAWS", 4)
    return with_parts(model, summary=summary_of(model))


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("made", [planted_model, passage_model])
def test_means_are_over_the_draws_of_intervals_and_groups(monkeypatch, made, spaced):
    model = with_few_draws(made(), monkeypatch) if spaced else made()
    table, draws = model.concepts(), model.result_.summary.memberships.draw
    matched = model.result_.summary.alignment.matched[draws]
    drawn = np.array([w.toarray() for w in drawn_weights(model.result_)])
    for j in range(model.n_concepts_):
        own = drawn[matched[:, j], :, j]
        assert len(own)
        assert table["documents_mean"][j] == pytest.approx((own > 0).sum(axis=1).mean())
        assert table["prevalence_mean"][j] == pytest.approx((own > 0).mean())
        assert table["strength_mean"][j] == pytest.approx(np.mean([one[one > 0].mean() for one in own]))
        if model.corpus_.parent is not None:
            in_sources = (own.reshape(len(own), 10, 4) > 0).any(axis=2).sum(axis=1)
            assert table["source_documents_mean"][j] == pytest.approx(in_sources.mean())
    for name in ("prevalence", "strength"):
        assert (table[f"{name}_low"] <= table[f"{name}_mean"] + 1e-9).all()
        assert (table[f"{name}_mean"] <= table[f"{name}_high"] + 1e-9).all()
    groups = model.by_group("party").groupby("concept")["prevalence"]
    assert (groups.min().to_numpy() <= table["prevalence_mean"] + 1e-9).all()
    assert (table["prevalence_mean"] <= groups.max().to_numpy() + 1e-9).all()


def test_a_concept_that_no_spaced_draw_finds_has_means_of_the_others(monkeypatch):
    model = with_few_draws(planted_model(), monkeypatch)
    aligned = model.result_.summary.alignment
    similarity = aligned.similarity.copy()
    similarity[model.result_.summary.memberships.draw, 2] = 0.0
    changed = model.result_.summary._replace(alignment=aligned._replace(similarity=similarity))
    model = with_parts(model, summary=changed)
    wanted = aligned.holders[similarity[:, 2] > 0, 2].mean()
    assert model.concepts()["documents_mean"][2] == pytest.approx(wanted)


def test_an_interval_is_widened_to_its_mean():
    table = pd.DataFrame({"x": [0.99, 0.5, np.nan], "low": [1.0, 0.4, np.nan], "high": [1.0, 0.6, np.nan]})
    wide = widened(table, "x", "low", "high")
    np.testing.assert_array_equal(wide["low"], [0.99, 0.4, np.nan])
    np.testing.assert_array_equal(wide["high"], [1.0, 0.6, np.nan])


def test_top_words_of_a_stable_concept_are_planted_together():
    model = planted_model()
    table = model.concepts()
    steady = table[(table["stability"] > 0.9) & ~table["leftover"]]
    assert len(steady)
    vocabulary = model.corpus_.vocabulary
    for concept in steady["concept"]:
        top = [vocabulary.index(word) for word in model.top_words(int(concept), 3)]
        assert PLANTED.truth[:, top].all(axis=1).any()


def test_words_of_a_concept():
    model = planted_model()
    table = model.words_of(1)
    assert table["word"].tolist()[:10] == model.top_words(1) == model.concepts()["top_words"][0]
    assert table["score"].is_monotonic_decreasing
    assert (table["share_used"] <= table["share_on"] + 1e-6).all()
    assert (table["used_low"] <= table["used_high"]).all()
    assert table["probability"].between(0, 1).all()


@pytest.mark.parametrize("concept", [0, 99, "1", True, None])
def test_an_unknown_concept_is_refused(concept):
    with pytest.raises(InputError, match="There is no concept"):
        planted_model().top_words(concept)


def test_every_word_with_its_concepts():
    model = planted_model()
    table = model.words()
    assert table["word"].tolist()[: len(ODD_WORDS)] == ODD_WORDS
    assert table["documents"].tolist() == (PLANTED.counts.toarray() > 0).sum(axis=0).tolist()
    assert table["tokens"].sum() == PLANTED.counts.sum()
    held = model.concept_word_[:, 7]
    assert sorted(table["concepts"][7]) == (np.flatnonzero(held) + 1).tolist()
    assert table["shares"][7] == sorted(held[held > 0], reverse=True)
    assert table["n_concepts"][7] == len(table["concepts"][7])


def test_documents_with_intervals():
    model = planted_model()
    table = model.documents()
    dense = np.zeros((40, model.n_concepts_))
    rows = [int(name.split()[1]) for name in table["document"]]
    dense[rows, table["concept"] - 1] = table["weight"]
    np.testing.assert_allclose(dense, model.doc_concept_)
    assert table["metadata_weight"].tolist() == [np.linspace(0, 1, 40)[d] for d in rows]
    assert table["name"].tolist() == [f"speaker {d}" for d in rows]
    drawn = np.array([w.toarray() for w in drawn_weights(model.result_)])
    matched = model.result_.summary.alignment.matched
    for row in table.sample(30, random_state=0).itertuples():
        d, j = int(row.document.split()[1]), row.concept - 1
        values = drawn[matched[:, j], d, j]
        assert (row.low, row.high) == pytest.approx(tuple(np.quantile(values, TAILS)))
        assert row.weight_mean == pytest.approx(values.mean())
        assert row.probability == pytest.approx((values > 0).mean())


@pytest.mark.parametrize("passages", [True, False])
def test_one_document_with_the_concepts_of_every_draw(passages):
    model = passage_model()
    known = model.documents(passages=passages)
    name = "source 1#3" if passages else "source 1"
    table = one_document(model.result_, 6 if passages else 1, passages).set_index("concept")
    assert set(table["document"]) == {name}
    ours = known[known["document"] == name].set_index("concept")
    pd.testing.assert_frame_equal(table.loc[ours.index], ours)
    assert (table.drop(ours.index)["weight"] == 0).all()
    assert (table.drop(ours.index)["probability"] > 0).all()
    rows = [6] if passages else range(4, 8)
    held = np.array([w.toarray()[rows].sum(axis=0) > 0 for w in drawn_weights(model.result_)]).any(axis=0)
    assert set(table.index) == {*(np.flatnonzero(held) + 1), *ours.index}


def test_passages_add_up_to_their_documents():
    model = passage_model()
    table = model.documents()
    assert table["document"].drop_duplicates().tolist() == [f"source {d}" for d in range(10)]
    sums = table.groupby("document")["weight"].sum()
    np.testing.assert_allclose(sums, 1)
    tokens = np.asarray(PLANTED.counts.sum(axis=1)).ravel()
    wanted = sum(tokens[p] * model.doc_concept_[p] for p in range(4)) / tokens[:4].sum()
    first = table[table["document"] == "source 0"]
    np.testing.assert_allclose(first["weight"], wanted[first["concept"] - 1])
    assert len(model.documents(passages=True)) == (model.doc_concept_ > 0).sum()
    np.testing.assert_allclose(source_shares(model.corpus_).sum(axis=1), 1)


def test_representative_documents_show_the_concept():
    model = planted_model()
    table = model.representative_documents(2, n=3)
    assert len(table) == 3
    held = model.doc_concept_[:, 1]
    best = [int(name.split()[1]) for name in table["document"]]
    assert held[best].mean() > np.median(held[held > 0])
    top = model.top_words(2, 5)
    assert all(any(word in passage for word in top) for passage in table["passage"])
    assert (table["tokens"] == 60).all()


def test_the_passage_is_the_telling_stretch():
    text = "nothing here " * 60 + "the tax cut and the <b>budget</b> plan " + "nothing there " * 60
    passage = telling_passage(text, {"tax": 1.0, "<b>budget</b>": 2.0, "nothing": 0.1})
    assert "tax cut and the <b>budget</b>" in passage
    assert passage.startswith("… ")
    assert passage.endswith(" …")
    assert len(passage) < 300
    assert telling_passage("short  text", {}) == "short text"
    assert len(telling_passage("x" * 1000, {"y": 1.0})) < 300


def test_similar_words_with_their_error():
    model = planted_model()
    table = model.similar_words("word20", n=8)
    assert len(table) == 8
    assert table["probability"].is_monotonic_decreasing
    i = model.corpus_.vocabulary.index("word20")
    for word, probability in zip(table["word"], table["probability"]):
        assert probability == pytest.approx(model.co_membership_[i, model.corpus_.vocabulary.index(word)])
    unsure = model.similar_words("word20", n=40).query("0 < probability < 1")
    assert (unsure["mcse"] > 0).all()
    assert "word20" not in table["word"].tolist()


def naive_together(model, i):
    """For every word, Σ_j share_ji share_jl of each draw, in the mean."""
    found = []
    for draw in model.draws_:
        used = usage_of(draw).used.toarray()
        share = used / np.maximum(used.sum(axis=0), 1)
        found.append(share.T @ share[:, i])
    return np.mean(found, axis=0)


def test_words_of_equal_probability_are_told_apart_by_their_uses(tmp_path):
    model = planted_model()
    i = model.corpus_.vocabulary.index("word20")
    wanted = dict(zip(model.corpus_.vocabulary, naive_together(model, i)))
    for one in (model, load(model.save(tmp_path / "m.sw"))):
        table = one.similar_words("word20", n=40)
        assert table["together"].tolist() == pytest.approx([wanted[word] for word in table["word"]])
        assert table["together"].between(0, 1).all()
        pairs = list(zip(-table["probability"], -table["together"]))
        assert pairs == sorted(pairs)
    assert table["together"].nunique() > 10


def test_a_file_without_uses_says_nothing_of_them():
    model = planted_model()
    model = with_parts(model, word_sets=model.result_.word_sets._replace(used=None))
    table = model.similar_words("word20")
    assert table["together"].isna().all()
    assert len(table) == 20


def test_the_concepts_of_a_word_have_leftovers_last(monkeypatch):
    model = planted_model()
    known = model.concepts()
    monkeypatch.setattr(examples, "concept_table", lambda *_: known.assign(leftover=False))
    table = concepts_of_word(model.result_, "word20")
    assert table["share_of_uses"].sum() == pytest.approx(1)
    assert table["share_of_uses"].is_monotonic_decreasing
    for row in table.itertuples():
        own = model.words_of(row.concept).set_index("word").loc["word20"]
        assert (row.share_on, row.share_used) == (own["share_on"], own["share_used"])
    first = table["concept"][0]
    monkeypatch.setattr(
        examples, "concept_table", lambda *_: known.assign(leftover=known["concept"] == first)
    )
    assert concepts_of_word(model.result_, "word20")["concept"].tolist() == [*table["concept"][1:], first]


def test_an_unknown_word_names_words_spelled_like_it():
    with pytest.raises(InputError, match="did you mean 'größe'"):
        planted_model().similar_words("Grösse")
    with pytest.raises(InputError, match="no word is spelled like it"):
        planted_model().similar_words("zzzzzzzz")


def with_trace(**values):
    steady = np.full(next(iter(values.values())).shape, 5.0)
    names = ("log_joint", "n_concepts", "n_memberships", "n_words_on")
    trace = {name: values.get(name, steady) for name in names}
    return with_parts(planted_model(), trace=arviz_base.from_dict({"posterior": trace}))


def test_the_verdict_in_one_sentence():
    rng = np.random.default_rng(0)
    good = rng.normal(size=(2, 200))
    assert with_trace(log_joint=good).verdict().startswith("The chains agree (R-hat at most 1.0")
    slow_rows = copy.copy(with_trace(n_memberships=good + np.array([[0.0], [9.0]])))
    assert "differ in how many concepts documents hold" in slow_rows.verdict()
    by_passages = with_parts(slow_rows, corpus=passage_model().corpus_)
    assert "differ in how many concepts passages hold" in by_passages.verdict()
    apart = with_trace(n_concepts=good + np.array([[0.0], [9.0]])).verdict()
    assert apart.startswith("Sample longer, because the chains differ in the number of concepts (R-hat")
    slow = np.tile(np.repeat(rng.normal(size=4), 25), (2, 2))
    assert "are worth only" in with_trace(log_joint=slow).verdict()
    assert with_trace(log_joint=good[:1]).verdict().startswith("Whether chains agree cannot be judged")
    assert "cannot be judged" in with_trace(log_joint=good[:1, :10]).verdict()
    assert with_trace(log_joint=good[:1, :1]).verdict().startswith("Sample longer, because 1 draw per chain")


def test_convergence_as_a_table():
    table = planted_model().convergence()
    assert table["quantity"].tolist()[0] == "log_joint"
    assert set(table.columns) == {"quantity", "rhat", "ess", "mcse"}


@pytest.mark.parametrize("name", EDGES)
def test_every_table_works_at_the_borders(name):
    model = edge_model(name)
    n_concepts = model.n_concepts_
    assert (n_concepts == 0) == (name == "no concept")
    assert len(model.concepts()) == n_concepts
    assert len(model.words()) == model.corpus_.n_words
    assert len(model.documents()) == (model.doc_concept_ > 0).sum()
    assert len(model.by_group("party")) == n_concepts * model.corpus_.metadata["party"].nunique()
    if model.corpus_.metadata["party"].nunique() == 2:
        assert len(model.compare_groups("party")) == n_concepts
    for concept in range(1, n_concepts + 1):
        assert isinstance(model.words_of(concept), pd.DataFrame)
        assert isinstance(model.group_words("party", concept), pd.DataFrame)
        assert len(model.representative_documents(concept)) >= 1
    assert len(model.similar_words(model.corpus_.vocabulary[0])) < model.corpus_.n_words
    assert model.verdict().endswith(".")
    assert len(model.convergence()) == 4
