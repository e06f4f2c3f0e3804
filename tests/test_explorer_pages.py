"""The explorer's pages of documents, passages, time, effects, themes, words in texts and moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import httpx
import numpy as np
import pandas as pd
import pytest

from explorer_for_tests import client_of, rows
from models_for_tests import fit, passage_model, planted_corpus, planted_model
from superwords import Corpus, load
from superwords.analysis.documents import document_labels, label_columns, one_document, row_labels
from superwords.search.terms import TextIndex, match_words
from superwords.web import concepts, documents
from superwords.web.catalog import Catalog
from superwords.web.explorer import Explorer


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with client_of(Explorer(planted_model())) as client:
        yield client


@pytest.fixture(scope="module")
def cut() -> Iterator[httpx.Client]:
    """A client of a model of passages."""
    with client_of(Explorer(passage_model())) as client:
        yield client


def part(client: httpx.Client, name: str, **given) -> dict:
    answer = client.get(f"/api/{name}.json", params=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refusal(client: httpx.Client, name: str, **given) -> str:
    answer = client.get(f"/api/{name}.json", params=given)
    assert answer.status_code == 400
    assert answer.text.count("\n") == 1
    return answer.text


def test_passages_are_called_by_their_document_and_place(cut) -> None:
    facts = part(cut, "model")
    assert (facts["rows"], facts["documents"], facts["passages"]) == (40, 10, True)
    second = rows(cut, "rows")[1]
    assert second["label"] == "speaker 0, passage 2 of 4"
    assert second["document"] == "source 0#2"


def test_whole_documents_are_listed_with_their_passages_and_concepts(cut) -> None:
    whole = rows(cut, "documents")
    assert [row["label"] for row in whole] == [f"speaker {4 * d}" for d in range(10)]
    assert {row["passages"] for row in whole} == {4}
    tokens = passage_model().corpus_.counts.sum(axis=1).reshape(10, 4).sum(axis=1)
    assert [row["tokens"] for row in whole] == tokens.tolist()
    known = part(cut, "document", document=3)
    assert (known["label"], known["passages"], known["documents"]) == ("speaker 8", 4, 10)
    passages = rows(cut, "document-passages", document=3)
    assert [row["row"] for row in passages] == [8, 9, 10, 11]
    assert [row["place"] for row in passages] == [1, 2, 3, 4]
    assert passages[0]["begin"].split()[0] == passage_model().corpus_.texts[8].split()[0]
    held = rows(cut, "document-concepts", document=3)
    assert len(held) == whole[2]["n_concepts"]
    table = one_document(passage_model().result_, 2).set_index("concept")
    assert held
    for row in held:
        assert row["weight"] == pytest.approx(table.loc[row["concept"], "weight"])
        assert row["low"] == pytest.approx(table.loc[row["concept"], "low"])


def test_a_passage_knows_those_before_and_after_it(cut) -> None:
    first, second, last = (part(cut, "row", row=n) for n in (1, 2, 4))
    assert (first["before"], first["after"], first["whole"]) == (None, 1, 0)
    assert (second["before"], second["after"]) == (0, 2)
    assert (last["before"], last["after"], last["whole_label"]) == (2, None, "speaker 0")


def test_a_list_counts_the_concepts_that_the_page_of_each_row_shows() -> None:
    """They are those used in at least half of the draws; the most probable draw may have others."""
    model = fit(planted_corpus(), n_sweeps=24, n_chains=2)
    catalog = Catalog(model)
    counted = documents.rows(catalog).rows["n_concepts"]
    assert (counted != [documents.imputed(catalog, d)["concept"].nunique() for d in range(40)]).any()
    for d in range(40):
        shown = documents.row_concepts(catalog, d).rows
        assert len(shown) == counted[d]
        assert (shown["probability"] >= 0.5).all()
        assert set(shown["concept"]) == {
            j for j in model.result_.shown if d in set(concepts.concept_documents(catalog, j).rows["row"])
        }


def test_a_document_knows_those_before_and_after_it(client) -> None:
    assert part(client, "row", row=1)["before"] is None
    assert part(client, "row", row=40)["after"] is None
    assert part(client, "row", row=2)["after"] == 2


def test_passages_in_any_order_stand_in_their_documents_order() -> None:
    corpus = replace(
        Corpus.from_counts(np.ones((4, 1), int), metadata={"title": ["On a", "On b", "On a", "On b"]}),
        parent=np.array([0, 1, 0, 1]),
        ids=["a#1", "b#1", "a#2", "b#2"],
    )
    assert row_labels(corpus)[2] == "On a, passage 2 of 2"
    assert document_labels(corpus) == ["On a", "On b"]


def test_labels_come_from_speaker_and_title_or_from_what_looks_like_one() -> None:
    table = pd.DataFrame({"party": ["A", "B"], "Title": ["On tax", "On war"], "speaker": ["Ann", None]})
    assert label_columns(table) == ["speaker", "Title"]
    assert label_columns(table[["party"]]) == []
    odd = pd.DataFrame({"code": ["x1", "x2"], "about": ["a first thing", "a second thing"]})
    assert label_columns(odd) == ["about"]
    long = pd.DataFrame({"title": ["x" * 500, "y" * 500], "year": [1, 2]})
    assert label_columns(long) == []


def test_the_list_of_concepts_says_what_it_is_sorted_by(client) -> None:
    table = client.get("/api/tables/concepts.json").json()
    order = [(row["leftover"], -row["prevalence"]) for row in table["rows"]]
    assert order == sorted(order)  # what can be relied on first
    for name in ("coherence", "stability", "found_by"):
        by = [row[name] for row in rows(client, "concepts", sort=name)]
        assert by == sorted(by, reverse=True)
    assert {row["n_chains"] for row in table["rows"]} == {2}


def test_near_duplicates_are_pointed_out() -> None:
    catalog = Catalog(planted_model())
    assert "much_like" not in {column.key for column in concepts.concepts(catalog).columns}
    catalog.concept_rows = catalog.concept_rows.assign(
        much_like=pd.Series([2, *[None] * (len(catalog.concept_rows) - 1)], dtype=object)
    )
    assert concepts.concepts(catalog).page({"sort": "much_like"})["rows"][0]["much_like"] == 2


def test_differences_and_pairs_of_groups_have_scales_of_their_own(client) -> None:
    given = {"column": "party", "first": "A", "second": "B"}
    table = client.get("/api/tables/group-differences.json", params=given).json()
    scale = {column["key"]: column["scale"] for column in table["columns"]}
    ends = [abs(row[name]) for row in table["rows"] for name in ("difference", "low", "high")]
    assert scale["difference"] == pytest.approx(max(ends))
    assert scale["one"] == scale["other"]


def test_columns_asked_for_at_the_fit_come_first_with_all_their_groups() -> None:
    corpus = planted_corpus()
    corpus.metadata["state"] = [f"state {d % 20}" for d in range(40)]
    model = fit(replace(corpus, notes={**corpus.notes, "groups": ["state", "party"]}), n_sweeps=24)
    columns = Catalog(model).group_columns
    assert list(columns)[:2] == ["state", "party"]
    assert len(columns["state"]) == 20
    assert "state" not in Catalog(fit(corpus, n_sweeps=24)).group_columns


def test_time_has_the_models_numbers_and_the_surest_trends(client) -> None:
    model = planted_model()
    told = part(client, "time", column="year")
    assert [one["period"] for one in told["periods"]] == ["2010", "2011", "2012"]
    table = model.over_time("year")
    for panel in told["panels"]:
        own = table[table["concept"] == panel["concept"]]
        assert [v["prevalence"] for v in panel["values"]] == pytest.approx(own["prevalence"].tolist())
    trends = model.trends("year")
    assert [row["concept"] for row in rows(client, "trends", column="year")] == trends["concept"].tolist()
    one = part(client, "time", column="year", concepts="2", by="2")
    assert [panel["concept"] for panel in one["panels"]] == [2]
    assert [period["period"] for period in one["periods"]] == ["2010 to 2012", "2012 to 2014"]
    words = rows(client, "word-changes", column="year", concept=1, rows=200)
    assert [row["word"] for row in words] == model.words_over_time("year", 1)["word"].tolist()


def test_periods_without_documents_are_there() -> None:
    corpus = planted_corpus()
    corpus.metadata["date"] = [f"2017-{1 + 3 * (d % 2):02}-10" for d in range(40)]
    with client_of(Explorer(fit(corpus, n_sweeps=24))) as client:
        assert part(client, "model")["times"] == ["year", "date"]
        told = part(client, "time", column="date", by="month")
        assert [one["n_rows"] for one in told["periods"]] == [20, 0, 0, 20]
        assert told["panels"][0]["values"][1]["prevalence"] is None
        assert "month" in told["units"]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("time", {"column": "nosuch"}, "There is no column 'nosuch'"),
        ("time", {"column": "party"}, "is not a date"),
        ("time", {"column": "year", "by": "fortnight"}, "is not a period"),
        ("time", {"column": "year", "concepts": "999"}, "no concept 999"),
        ("effects", {"formula": "party + nosuch"}, "There is no column 'nosuch'"),
        ("effects", {"formula": ""}, "The formula is empty"),
        ("effects", {"formula": "__import__('os')"}, "There is no column '__import__'"),
        ("effects", {"formula": "party; year"}, "has ';' in it"),
        ("effects", {"formula": "x" * 400}, "at most 300"),
        ("effects", {"formula": "party", "of": "colour"}, "not known"),
        ("tables/said", {"query": "* ("}, "The search is empty"),
        ("document", {"document": "1"}, "not cut into passages"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(client, name, given, said) -> None:
    assert said in refusal(client, name, **given)


def test_effects_are_the_models_own_with_readable_terms(client) -> None:
    told = part(client, "effects", formula="party + year")
    assert [one["label"] for one in told["terms"]] == ["party B compared with A", "year (per year)"]
    assert told["documents"] == 40
    table = planted_model().effects("party + year").set_index(["concept", "term"])
    for row in rows(client, "effects", formula="party + year", term="party[T.B]"):
        known = table.loc[(row["concept"], "party[T.B]")]
        assert [row[name] for name in ("effect", "low", "unadjusted")] == pytest.approx(
            [known["effect"], known["low"], known["unadjusted"]]
        )


def test_the_tree_has_every_concept_once(client) -> None:
    tree = part(client, "tree")
    n = len(tree["leaves"])
    assert sorted(leaf["concept"] for leaf in tree["leaves"]) == planted_model().result_.shown
    assert sorted(tree["order"]) == list(range(n))
    below = sorted(node for a, b, _ in tree["meetings"] for node in (a, b))
    assert below == list(range(2 * n - 2))


def said_corpus() -> Corpus:
    texts = [
        "We thank Senator Kennedy for the health care bill.",
        "The taxes on health were raised, and care was not.",
        "Nothing was said of anybody, but of taxing.",
    ]
    metadata = {"speaker": ["Ron Wyden", "Edward Kennedy", "Orrin Hatch"], "party": ["D", "D", "R"]}
    return Corpus.from_texts(texts, metadata=metadata, words="plain", min_df=1, n_jobs=1)


def test_a_name_finds_what_was_said_by_and_of_a_person() -> None:
    index = TextIndex(said_corpus())
    assert index.rows("kennedy").tolist() == [0]
    assert index.documents("Kennedy").tolist() == [1]
    assert sorted(index.rows("taxes").tolist()) == [1, 2]
    assert sorted(index.rows("health care").tolist()) == [0, 1]
    assert index.rows('"health care"').tolist() == [0]
    assert index.rows("“health care”").tolist() == [0]
    assert index.rows("kenn*").tolist() == [0]
    assert index.rows("nosuchword").tolist() == []
    (snippet,) = index.snippets("kennedy", [0])
    assert "Senator \x02Kennedy\x03 for" in snippet


@pytest.mark.parametrize(
    "query", ['a "b', "said:x OR y", "NEAR(a b)", "a^b -c", "{text}: x", "a\x00b", "'; DROP TABLE"]
)
def test_no_query_is_more_than_words(query) -> None:
    assert isinstance(TextIndex(said_corpus()).rows(query).tolist(), list)
    assert match_words(query).count('"') % 2 == 0


def test_places_with_words_link_to_their_rows(client) -> None:
    found = rows(client, "said", query="word7", rows=200)
    texts = planted_model().corpus_.texts
    assert sorted(row["row"] for row in found) == [d for d, text in enumerate(texts) if "word7" in text.split()]
    assert all("\x02word7\x03" in row["snippet"] for row in found)
    assert [row["label"] for row in rows(client, "said-by", query="speaker 7")] == ["speaker 7"]


def test_each_document_of_a_concept_has_its_passage_on_every_page_and_in_any_order(client) -> None:
    texts = planted_model().corpus_.texts
    for given in ({"page": 2}, {"sort": "tokens"}, {"sort": "label", "order": "ascending"}):
        found = rows(client, "concept-documents", concept=1, rows=3, **given)
        assert found
        assert all(row["passage"].strip("… ")[:20] in " ".join(texts[row["row"]].split()) for row in found)


def test_moves_are_counted_and_timed_also_in_the_file(tmp_path) -> None:
    model = planted_model()
    again = load(model.save(tmp_path / "model.sw"))
    table = again.moves()
    pd.testing.assert_frame_equal(table, model.moves())
    assert {"word moves", "split and merge"} <= set(table["move"])
    splits = table.set_index("proposal").loc["split"]
    assert splits["tried"] == sum(chain.tried["split"] for chain in model.chains_) > 0
    assert splits["acceptance"] == splits["accepted"] / splits["tried"]
    assert table["time_share"].sum() == pytest.approx(1.0)
    assert table["seconds"].sum() == pytest.approx(sum(sum(one.seconds.values()) for one in model.chains_))
    moves = again.trace_["moves"]
    assert int(moves["tried"].sel(chain=0, proposal="join")) == model.chains_[0].tried["join"]
    assert float(moves["seconds"].sel(chain=1, move="words")) == model.chains_[1].seconds["words"]
    assert set(again.trace_["posterior"].data_vars) == set(model.trace_["posterior"].data_vars)


def test_groups_time_and_effects_open_with_concepts_that_can_be_relied_on(client) -> None:
    facts = client.get("/api/model.json").json()
    known = {row["concept"]: row["leftover"] for row in rows(client, "concepts")}
    column = facts["groups"][0]
    first, second = column["labels"][:2]
    asked = [("group-differences", {"column": column["column"], "first": first, "second": second})]
    asked += [("trends", {"column": name}) for name in facts["times"][:1]]
    asked += [("effects", {"formula": column["column"]})]
    for name, given in asked:
        marks = [row["leftover"] for row in rows(client, name, **given)]
        assert marks == sorted(marks)
        table = client.get(f"/api/tables/{name}.json", params=given).json()
        assert table["columns"][0]["mark"] == "leftover"
        assert all(known[row["concept"]] == row["leftover"] for row in table["rows"])
