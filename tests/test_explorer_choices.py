"""Deciding about concepts in the explorer: kept in the file, seen everywhere, taken back, refused where it must be."""

from __future__ import annotations

import os
from collections.abc import Iterator

import httpx
import pytest

from explorer_for_tests import client_of, rows
from models_for_tests import fit, passage_model, planted_corpus, planted_model
from superwords import load
from superwords.analysis.curation import add_choices, history
from superwords.storage.model_file import Choice
from superwords.web.explorer import Explorer


@pytest.fixture
def path(tmp_path):
    return planted_model().save(tmp_path / "model.sw")


@pytest.fixture
def client(path) -> Iterator[httpx.Client]:
    """A client of a model that came from a file."""
    with client_of(Explorer(load(path), path)) as client:
        yield client


def decide(client: httpx.Client, **what) -> dict:
    answer = client.post("/api/choices", json=what)
    assert answer.status_code == 200, answer.text
    return answer.json()


def shown(client: httpx.Client) -> dict[int, dict]:
    return {row["concept"]: row for row in rows(client, "concepts")}


def test_a_name_is_kept_in_the_file_and_seen_everywhere(client, path) -> None:
    odd = '"><img src=x onerror=alert(1)> 健康'
    automatic = shown(client)[2]["name"]
    decide(client, do="rename", concepts=[2], name=f"  {odd}\n")
    assert client.get("/api/concept.json?concept=2").json()["name"] == odd
    assert shown(client)[2]["name"] == odd
    for table in ("group-differences", "trends", "effects", "agreement", "nearest"):
        assert odd in {row["name"] for row in rows(client, table, rows=200)}, table
    assert odd in {leaf["name"] for leaf in client.get("/api/tree.json").json()["leaves"]}
    assert load(path).names_ == {2: odd}
    decide(client, do="rename", concepts=[2], name=automatic)
    assert shown(client)[2]["name"] == automatic
    assert load(path).names_ == {}


def test_the_verdict_names_concepts_as_they_are_called_now(tmp_path) -> None:
    # From different starts the chains differ, so that the verdict names the concept in which they differ most.
    model = fit(planted_corpus(), n_sweeps=16, n_burn_in=4, thin=1, init=["rows", "random:6"])
    path = model.save(tmp_path / "model.sw")
    with client_of(Explorer(load(path), path)) as client:
        said = client.get("/api/model.json").json()["verdict"]
        (quoted,) = (j for j, row in shown(client).items() if f"“{row['name']}”" in said)
        facts = decide(client, do="rename", concepts=[quoted], name="Its new name")
    assert facts["verdict"] == str(load(path).verdict())
    assert "“Its new name”" in facts["verdict"]


def test_merged_concepts_are_one_in_every_table_and_come_apart_again(client, path) -> None:
    before = shown(client)
    facts = decide(client, do="merge", concepts=[2, 3])
    assert facts["decided"]["merged"][0]["members"] == [{"concept": 3, "name": before[3]["name"]}]
    again = load(path)
    assert 3 not in shown(client)
    assert shown(client)[2]["prevalence"] == pytest.approx(again.concepts().set_index("concept").loc[2, "prevalence"])
    assert shown(client)[2]["prevalence"] >= max(before[2]["prevalence"], before[3]["prevalence"])
    for name in ("group-differences", "trends", "nearest", "agreement"):
        assert {row["concept"] for row in rows(client, name, rows=200)} == set(shown(client)), name
    for row in range(1, 41):
        held = {one["concept"] for one in rows(client, "row-concepts", row=row)}
        imputed = client.get("/api/row.json", params={"row": row}).json()["imputed"]
        assert 3 not in held | {one["concept"] for one in imputed}
    for hit in client.get("/api/search.json?query=word7").json()["hits"]:
        assert 3 not in hit["concepts"]
    answer = client.get("/api/concept.json?concept=3")
    assert (answer.status_code, "is merged into concept 2" in answer.text) == (400, True)
    decide(client, do="restore", concepts=[2])
    assert shown(client) == before
    assert load(path).result_.shown == list(sorted(before))


def test_a_hidden_concept_is_nowhere_until_it_is_shown_again(client, path) -> None:
    before = shown(client)
    facts = decide(client, do="hide", concepts=[1])
    assert facts["decided"]["hidden"] == [{"concept": 1, "name": before[1]["name"]}]
    assert facts["concepts"] == len(before) - 1
    assert 1 not in shown(client)
    assert 1 not in {one["concept"] for one in client.get("/api/map.json").json()["points"]}
    assert 1 not in load(path).concepts()["concept"].tolist()
    for row in range(1, 41):
        assert 1 not in {one["concept"] for one in rows(client, "row-concepts", row=row)}
    assert decide(client, do="restore", concepts=[1])["decided"]["hidden"] == []
    assert shown(client) == before


def test_themes_are_gathered_one_by_one_or_all_at_once(client, path) -> None:
    tree = client.get("/api/tree.json").json()
    assert client.get("/api/tables/themes.json").json()["proposed"] is True
    decide(client, do="gather", concepts=[1, 2], name="Money")
    assert shown(client)[1]["theme"] == "Money"
    themes = client.get("/api/tables/themes.json").json()
    assert themes["proposed"] is False
    assert [(row["theme"], row["concepts"]) for row in themes["rows"]] == [("Money", [1, 2])]
    decide(client, do="undo")
    numbers = [leaf["concept"] for leaf in tree["leaves"]]
    halves = [{"name": "one", "concepts": numbers[:1]}, {"name": "other", "concepts": numbers[1:]}]
    facts = decide(client, do="themes", themes=halves)
    assert facts["decided"]["themes"] == ["one", "other"]
    assert len(facts["decided"]["history"]) == 1
    assert set(load(path).result_.themes.values()) == {"one", "other"}
    assert decide(client, do="undo")["decided"]["themes"] == []


def test_every_decision_can_be_undone_in_turn(client, path) -> None:
    before = shown(client)
    decide(client, do="hide", concepts=[1])
    decide(client, do="merge", concepts=[2, 3])
    facts = decide(client, do="rename", concepts=[2], name="Both")
    assert [one["said"] for one in facts["decided"]["history"]] == [
        "Concept 2 is called “Both”.",
        "Concept 3 is merged into concept 2.",
        "Concept 1 is hidden.",
    ]
    assert [one.kind for one in load(path).choices_] == ["hide", "merge", "name"]
    for _ in range(3):
        facts = decide(client, do="undo")
    assert facts["decided"]["history"] == load(path).choices_ == []
    assert shown(client) == before
    answer = client.post("/api/choices", json={"do": "undo"})
    assert (answer.status_code, "nothing to undo" in answer.text) == (400, True)


def test_what_is_taken_back_is_said_in_words() -> None:
    made = [Choice("hide", 1, "", "b"), Choice("theme", 2, "", "c"), Choice("theme", 3, "", "c")]
    told = [one["said"] for one in history([*made, Choice("merge", 4, "", "d"), Choice("name", 5, "", "e")])]
    assert told == [
        "Concept 5 is called by the automatic name again.",
        "Concept 4 is shown apart again.",
        "Concepts 2 and 3 are in no theme.",
        "Concept 1 is shown again.",
    ]


def test_nothing_is_put_into_another_model(client, path) -> None:
    add_choices(path, [Choice("name", 1, "by another program")])
    for what in ({"do": "rename", "concepts": [1], "name": "taxes"}, {"do": "undo"}, {"do": "hide", "concepts": [1]}):
        answer = client.post("/api/choices", json=what)
        assert answer.status_code in (400, 409)
    assert load(path).names_ == {1: "by another program"}
    path.unlink()
    answer = client.post("/api/choices", json={"do": "hide", "concepts": [1]})
    assert (answer.status_code, "changed" in answer.text) == (409, True)
    assert str(path.parent) not in answer.text


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may write any file")
def test_a_file_that_cannot_be_written_is_one_sentence(client, path) -> None:
    path.chmod(0o444)
    answer = client.post("/api/choices", json={"do": "hide", "concepts": [1]})
    assert (answer.status_code, "cannot be written" in answer.text) == (503, True)
    assert 1 in shown(client)


def test_a_failed_write_is_one_sentence_and_changes_nothing(client, monkeypatch) -> None:
    from superwords.errors import InputError

    def fail(*_):
        raise InputError("The choice cannot be kept in '/secret/place': disk full.")

    monkeypatch.setattr("superwords.analysis.curation.add_choices", fail)
    answer = client.post("/api/choices", json={"do": "hide", "concepts": [1]})
    assert (answer.status_code, "cannot be written" in answer.text) == (503, True)
    assert "/secret" not in answer.text
    assert 1 in shown(client)


def test_a_model_without_its_file_cannot_be_decided_about() -> None:
    with client_of(Explorer(planted_model())) as client:
        assert client.get("/api/model.json").json()["decides"] is False
        answer = client.post("/api/choices", json={"do": "hide", "concepts": [1]})
        assert (answer.status_code, "read only" in answer.text) == (403, True)


def test_several_readers_decide_nothing(tmp_path) -> None:
    path = planted_model().save(tmp_path / "model.sw")
    with client_of(Explorer(load(path), path, read_only=True)) as client:
        assert client.get("/api/model.json").json()["decides"] is False
        answer = client.post("/api/choices", json={"do": "hide", "concepts": [1]})
        assert (answer.status_code, "read only" in answer.text) == (403, True)
        assert client.get("/api/effects.json", params={"formula": "party"}).status_code == 200
    assert load(path).choices_ == []


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"json": {"do": "hide", "concepts": [1]}, "headers": {"Origin": "http://evil.example"}}, 403),
        ({"json": {"do": "hide", "concepts": [1]}, "headers": {"Sec-Fetch-Site": "cross-site"}}, 403),
        ({"data": {"do": "hide"}}, 415),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400),
        ({"content": b"[" * 8000, "headers": {"Content-Type": "application/json"}}, 400),
        ({"json": ["hide"]}, 400),
        ({"json": {"do": "explode", "concepts": [1]}}, 400),
        ({"json": {"do": "hide"}}, 400),
        ({"json": {"do": "hide", "concepts": []}}, 400),
        ({"json": {"do": "hide", "concepts": [True]}}, 400),
        ({"json": {"do": "hide", "concepts": ["1"]}}, 400),
        ({"json": {"do": "hide", "concepts": [9999]}}, 400),
        ({"json": {"do": "hide", "concepts": [1] * 3000}}, 400),
        ({"json": {"do": "hide", "concepts": list(range(1, planted_model().n_concepts_ + 1))}}, 400),
        ({"json": {"do": "merge", "concepts": [1]}}, 400),
        ({"json": {"do": "restore", "concepts": [1]}}, 400),
        ({"json": {"do": "themes", "themes": []}}, 400),
        ({"json": {"do": "themes", "themes": [{"name": "x"}]}}, 400),
        ({"json": {"do": "gather", "concepts": [1], "name": 5}}, 400),
        ({"json": {"do": "rename", "concepts": [1], "name": "x" * 101}}, 400),
        ({"json": {"do": "rename", "concepts": [1], "name": "\x00"}}, 400),
        ({"json": {"do": "rename", "concepts": [1], "name": "\u200b\u2066\u2069"}}, 400),
        ({"json": {"do": "rename", "concepts": [1], "name": "\u3164"}}, 400),
        ({"json": {"do": "rename", "concepts": [1], "name": "x" * 80_000}}, 413),
    ],
)
def test_decisions_from_elsewhere_or_of_no_sense_are_refused(client, path, sent, status) -> None:
    answer = client.post("/api/choices", **sent)
    assert answer.status_code == status
    assert answer.text.count("\n") == 1
    assert load(path).choices_ == []


def test_passages_of_whole_documents_follow_the_choices(tmp_path) -> None:
    path = passage_model().save(tmp_path / "model.sw")
    with client_of(Explorer(load(path), path)) as client:
        decide(client, do="hide", concepts=[1])
        for document in range(1, 11):
            held = rows(client, "document-concepts", document=document)
            assert 1 not in {one["concept"] for one in held}
        assert all(row["strongest"] != 1 for row in rows(client, "documents"))


def test_pasted_names_are_proposed_and_accepted(client, path) -> None:
    assert "1: " in client.get("/api/names.json").json()["prompt"]
    facts = decide(client, do="propose", text="1: Fruit | What grows.\n2: Fruit | Again.")
    assert shown(client)[1]["name"] == "Fruit (proposed)"
    assert shown(client)[2]["name"].startswith("Fruit (")
    assert facts["decided"]["proposed"] == 2
    assert "proposed" in facts["decided"]["history"][0]["said"]
    decide(client, do="accept", concepts=[1])
    assert shown(client)[1]["name"] == "Fruit"
    decide(client, do="accept")
    assert load(path).descriptions_ == {1: "What grows.", 2: "Again."}
    assert "(proposed)" not in load(path).names_[2]
    assert client.post("/api/choices", json={"do": "propose", "text": "nothing"}).status_code == 400
    assert client.post("/api/choices", json={"do": "propose", "text": 3}).status_code == 400
