"""One number, one sense: the tables of one fitted model are checked against each other."""

import numpy as np
import pytest

from models_for_tests import PLANTED, fit, passage_model, planted_corpus, planted_model
from superwords.analysis.documents import one_document

MADE = pytest.mark.parametrize("made", [planted_model, passage_model])


def every_document(model, passages=True):
    """All documents (rows, where `passages`) and the concepts they hold in any draw that counts."""
    n = model.corpus_.n_documents if passages else len(set(model.documents()["document"]))
    return [one_document(model.result_, d, passages) for d in range(n)]


@MADE
def test_rows_of_a_concept_are_the_sum_over_its_documents(made):
    table, rows = made().concepts().set_index("concept"), every_document(made())
    held, weight = np.zeros(len(table)), np.zeros(len(table))
    for one in rows:
        np.add.at(held, one["concept"].to_numpy() - 1, one["probability"])
        np.add.at(weight, one["concept"].to_numpy() - 1, one["weight"])
    np.testing.assert_allclose(held, table["rows"], rtol=1e-6)
    np.testing.assert_allclose(table["prevalence"] * made().corpus_.n_documents, table["rows"])
    # Strength is a share of tokens, the weight the mean of π given them: near each other in rows of 60 tokens.
    steady = table["rows"] > 5
    np.testing.assert_allclose((weight / held)[steady], table["strength"][steady], rtol=0.1)


@MADE
def test_groups_add_up_to_the_whole(made):
    model = made()
    table, groups = model.concepts().set_index("concept"), model.by_group("party")
    assert groups.groupby("group")["n_rows"].first().sum() == model.corpus_.n_documents
    np.testing.assert_allclose(groups.groupby("concept")["rows"].sum(), table["rows"], rtol=1e-6)
    np.testing.assert_allclose(groups["rows"] / groups["n_rows"], groups["prevalence"])
    compared = model.compare_groups("party").set_index("concept")
    by = groups.set_index(["concept", "group"])["prevalence"]
    for j in table.index:
        assert compared.loc[j, "prevalence_A"] == pytest.approx(by[j, "A"])
        assert compared.loc[j, "difference"] == pytest.approx(by[j, "A"] - by[j, "B"])


@MADE
def test_words_of_concepts_and_concepts_of_words_are_the_same(made):
    model = made()
    by_concept = {(j, word) for j in model.concepts()["concept"] for word in model.words_of(int(j))["word"]}
    words = model.words()
    by_word = {(j, word) for word, held in zip(words["word"], words["concepts"]) for j in held}
    assert by_concept == by_word
    for row in model.concepts().itertuples():
        assert row.top_words == model.words_of(row.concept)["word"].tolist()[:10] == model.top_words(row.concept)
        assert row.shares == model.words_of(row.concept)["share_used"].tolist()[:10]


@MADE
def test_words_of_groups_add_up_to_the_words_of_the_concept(made):
    model = made()
    concept = 2
    groups = model.by_group("party").query("concept == @concept").set_index("group")["rows"]
    shares = model.group_words("party", concept).set_index(["group", "word"])["share"]
    drawn = drawn_users(model, concept)
    # Groups have users over holders, both in the mean over the draws; the concept has the mean of the draws' shares.
    for row in model.words_of(concept).itertuples():
        used = sum(shares.get((group, row.word), 0.0) * rows for group, rows in groups.items())
        users, holders, weight = drawn[row.word]
        assert used == pytest.approx(weight @ users, rel=1e-5)
        assert row.share_used == pytest.approx(weight @ (users / holders), rel=1e-5)
        assert groups.sum() == pytest.approx(weight @ holders)


def drawn_users(model, concept):
    """By word: its users for the concept, rows that use the concept, and weights, over the draws that find it."""
    summary, vocabulary = model.result_.summary, model.corpus_.vocabulary
    weight, rows = model.result_.summary.alignment.weights[:, concept - 1], summary.alignment.rows[:, concept - 1]
    shape, found = (model.result_.n_concepts, len(vocabulary)), weight > 0
    users = [summary.word_counts.used_in(t, shape).toarray()[concept - 1] for t in np.flatnonzero(found)]
    return {word: (one, rows[found], weight[found]) for word, one in zip(vocabulary, np.array(users).T)}


@MADE
def test_what_is_found_is_said_in_one_way(made):
    model = made()
    table, aligned = model.concepts(), model.result_.summary.alignment
    by_chain = np.array(table["stability_by_chain"].tolist())
    np.testing.assert_allclose(by_chain.mean(axis=1), model.result_.summary.alignment.found)
    assert table["found_by"].tolist() == (by_chain >= 0.5).sum(axis=1).tolist()
    n_all = int((table["found_by"] == len(model.kept_)).sum())
    assert f"{n_all} of {len(table)} concepts were found by both chains" in str(model.verdict())
    assert (model.verdict().n_found_again, model.verdict().n_listed) == (n_all, len(table))
    assert model.verdict().n_reliable == ((table["found_by"] == len(model.kept_)) & table["settled"]).sum()
    assert aligned.weight.sum() == pytest.approx(1)


@MADE
def test_representative_documents_have_the_weights_of_the_table(made):
    model = made()
    shown = model.representative_documents(1, 3)
    rows = {name: d for d, name in enumerate(model.corpus_.ids)}
    for one in shown.itertuples():
        own = one_document(model.result_, rows[one.document], True).set_index("concept")
        assert own.loc[1, "weight"] == pytest.approx(one.weight)


def test_documents_of_passages_count_a_document_once():
    model = passage_model()
    whole = every_document(model, passages=False)
    table = model.concepts().set_index("concept")
    held = np.zeros(len(table))
    for one in whole:
        np.add.at(held, one["concept"].to_numpy() - 1, one["probability"])
    np.testing.assert_allclose(held, table["documents"], rtol=1e-6)
    assert (table["documents"] <= table["rows"] + 1e-9).all()


def test_the_concepts_of_other_chains_stand_in_a_table_and_in_the_verdict(tmp_path):
    from superwords import load

    model = fit(planted_corpus(), features=PLANTED.features, n_chains=3, n_sweeps=30, n_burn_in=10)
    table = model.other_concepts()
    assert list(table.columns) == ["top_words", "rows", "found_by", "stability_by_chain"]
    assert (table["found_by"] == 1).all()
    assert model.verdict().n_others == len(table)
    again = load(model.save(tmp_path / "m.sw"))
    assert again.other_concepts().to_dict() == table.to_dict()
