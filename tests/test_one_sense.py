"""One number, one sense: the tables of one fitted model are checked against each other."""

import numpy as np
import pytest

from models_for_tests import PLANTED, chain_of, fit, kept, passage_model, planted_corpus, planted_model
from superwords.concepts.alignment import described, usage_of
from superwords.concepts.elsewhere import find_others
from superwords.concepts.tables import found_share, one_document
from superwords.draws import Draws

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
    # Strength is the mean over the draws of the mean weight where held; where the number of holders hardly varies, it
    # is near the summed weights over the summed holders.
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
        assert (
            row.top_words == model.words_of(row.concept)["word"].tolist()[:10] == model.top_words(row.concept)
        )
        assert row.shares == model.words_of(row.concept)["share_used"].tolist()[:10]


@MADE
def test_words_of_groups_add_up_to_the_words_of_the_concept(made):
    model = made()
    concept = 2
    groups = model.by_group("party").query("concept == @concept").set_index("group")["rows"]
    shares = model.group_words("party", concept).set_index(["group", "word"])["share"]
    for row in model.words_of(concept).itertuples():
        used = sum(shares.get((group, row.word), 0.0) * rows for group, rows in groups.items())
        assert used == pytest.approx(row.share_used * groups.sum(), rel=0.02)


@MADE
def test_what_is_found_is_said_in_one_way(made):
    model = made()
    table, aligned = model.concepts(), model.result_.summary.alignment
    by_chain = np.array(table["stability_by_chain"].tolist())
    np.testing.assert_allclose(by_chain @ model.result_.chain_weights, found_share(model.result_))
    assert table["found_by"].tolist() == (by_chain >= 0.5).sum(axis=1).tolist()
    n_all = int((table["found_by"] == len(model.kept_)).sum())
    assert f"{n_all} of {len(table)} concepts are found by both chains" in model.verdict()
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


def test_concepts_that_only_other_chains_find_are_told():
    """Three chains: all know words 0-4, two of them also a concept of words 5-9 that the reference lacks."""
    first, second = dict.fromkeys(range(5), 2), dict.fromkeys(range(5, 10), 2)
    poor = kept([{0: first}] * 20 + [{0: {**first, **second}}] * 20, 10)
    rich = kept([{0: first}] * 20 + [{0: first, 1: second}] * 20, 10)
    usage = usage_of(poor)
    reference = described(usage.used, usage.holders)
    chains = [chain_of(poor, 4), chain_of(rich, 4), chain_of(rich, 4)]
    others = find_others(Draws(chains), reference, 0)
    assert others.holders.tolist() == [20]
    assert others.found.tolist() == [[0, 1, 1]]
    assert sorted(others.word.tolist()) == [5, 6, 7, 8, 9]
    alone = find_others(Draws(chains[:2]), reference, 0)
    assert len(alone.holders) == 0
    assert len(find_others(Draws(chains[1:]), described(*_of(rich)), 0).holders) == 0


def _of(draw):
    usage = usage_of(draw)
    return usage.used, usage.holders


def test_the_concepts_of_other_chains_stand_in_a_table_and_in_the_verdict(tmp_path):
    from superwords import load

    model = fit(planted_corpus(), features=PLANTED.features, n_chains=3, n_sweeps=30, n_burn_in=10)
    table = model.other_concepts()
    assert list(table.columns) == ["top_words", "rows", "found_by", "stability_by_chain"]
    assert (table["found_by"] >= 2).all()
    told = "but not listed here" in model.verdict()
    assert told == (len(table) > 0)
    again = load(model.save(tmp_path / "m.sw"))
    assert again.other_concepts().to_dict() == table.to_dict()
