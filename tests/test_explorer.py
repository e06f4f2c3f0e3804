"""The explorer's server: right tables, text that stays text, and a clear answer to whatever is sent to it."""

from __future__ import annotations

import csv
import io
import json
import socket
import time
from collections.abc import Iterator

import httpx
import numpy as np
import pandas as pd
import pytest

from explorer_for_tests import TABLES, client_of, large_model, rows
from models_for_tests import EDGES, ODD_WORDS, edge_model, fit, passage_model, planted_model
from superwords import Corpus
from superwords.analysis.documents import one_document
from superwords.errors import InputError
from superwords.web import concepts, documents, relations
from superwords.web.catalog import Catalog
from superwords.web.clouds import MOST_WORDS, cloud_words
from superwords.web.explorer import Explorer
from superwords.web.tables import PAGES

PARTS = {
    "model": {},
    "concept": {"concept": 1},
    "row": {"row": 1},
    "text": {"row": 1},
    "word": {"word": ODD_WORDS[0]},
    "map": {},
    "tree": {},
    "time": {"column": "year"},
    "effects": {"formula": "party + year"},
    "cloud": {"concept": 1},
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with client_of(Explorer(planted_model())) as client:
        yield client


@pytest.mark.parametrize("name", TABLES)
def test_every_table_answers_in_pages_and_as_csv(client, name) -> None:
    answer = client.get(f"/api/tables/{name}.json", params={**TABLES[name], "rows": 2})
    assert answer.headers["content-type"] == "application/json"
    page = answer.json()
    assert 1 <= len(page["rows"]) <= 2
    assert page["pages"] == -(-page["total"] // 2)
    whole = client.get(f"/api/tables/{name}.csv", params=TABLES[name])
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"
    assert whole.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    assert len(list(csv.reader(io.StringIO(whole.text)))) == page["total"] + 1


@pytest.mark.parametrize("name", PARTS)
def test_every_part_answers_with_strict_headers(client, name) -> None:
    answer = client.get(f"/api/{name}.json", params=PARTS[name])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert answer.headers["cache-control"] == "no-store"


def test_tables_say_what_the_model_says(client) -> None:
    model = planted_model()
    concepts = model.concepts().sort_values("prevalence", ascending=False, kind="stable")
    assert [row["concept"] for row in rows(client, "concepts")] == concepts["concept"].tolist()
    for name in ("prevalence", "coherence", "stability"):
        assert [row[name] for row in rows(client, "concepts")] == concepts[name].tolist()
    words = rows(client, "concept-words", rows=200)
    assert [row["word"] for row in words] == model.words_of(1)["word"].tolist()
    documents = rows(client, "concept-documents", rows=5)
    known = model.representative_documents(1, 5)
    assert [row["document"] for row in documents] == known["document"].tolist()
    assert [row["weight"] for row in documents] == pytest.approx(known["weight"].tolist())
    near = rows(client, "word-neighbours", rows=200)
    names = ["word", "together", "mcse"]
    assert [tuple(row[name] for name in names) for row in near] == list(
        model.similar_words(ODD_WORDS[0], 50)[names].itertuples(index=False, name=None)
    )
    differences = model.compare_groups("party", "A", "B")
    assert [row["difference"] for row in rows(client, "group-differences")] == pytest.approx(
        differences["difference"].tolist()
    )
    table = one_document(model.result_, 0).set_index("concept")["weight"]
    held = rows(client, "row-concepts")
    assert {row["concept"] for row in held} == set(np.flatnonzero(model.doc_concept_[0]) + 1)
    assert [row["weight"] for row in held] == pytest.approx([table[row["concept"]] for row in held])


@pytest.mark.parametrize("made", [planted_model, passage_model])
def test_intervals_are_the_models_own(made) -> None:
    """A 95% interval is shown as it is, also where it leaves out a mean that a few draws pull away."""
    catalog, model = Catalog(made()), made()
    columns = [f"{name}_{end}" for name in ("prevalence", "strength") for end in ("low", "high")]
    pd.testing.assert_frame_equal(concepts.concepts(catalog).rows.sort_index()[columns], model.concepts()[columns])
    groups = concepts.concept_groups(catalog, 2, "year").rows[columns].reset_index(drop=True)
    wanted = model.by_group("year").query("concept == 2")[columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(groups, wanted)


def test_the_map_has_each_concept_in_its_own_place() -> None:
    catalog = Catalog(planted_model())
    points = relations.concept_map(catalog)["points"]
    known = planted_model().concepts()
    assert [one["concept"] for one in points] == known["concept"].tolist()
    assert [one["prevalence"] for one in points] == pytest.approx(known["prevalence"].tolist())


def test_search_sort_and_pages(client) -> None:
    everything = rows(client, "words", rows=200)
    assert [row["tokens"] for row in everything] == sorted((r["tokens"] for r in everything), reverse=True)
    up = rows(client, "words", sort="tokens", order="ascending", rows=200)
    assert [row["tokens"] for row in up] == sorted(row["tokens"] for row in up)
    found = rows(client, "words", search="GRÖSSE", sort="word", rows=200)
    matching = [row for row in everything if "größe" in f"{row['word']} {row['name']}"]
    assert 1 <= len(found) < len(everything)
    assert {row["word"] for row in found} == {row["word"] for row in matching}
    assert rows(client, "words", search="<script> alert")[0]["word"] == ODD_WORDS[0]
    last = client.get("/api/tables/words.json", params={"page": 999_999, "rows": 7}).json()
    assert last["page"] == last["pages"] == 6
    by_name = rows(client, "concepts", sort="name", order="ascending")
    names = [row["name"].casefold() for row in by_name]
    assert names == sorted(names)


def test_the_words_of_a_text_carry_the_tokens_imputed_to_them() -> None:
    catalog = Catalog(planted_model())
    corpus = planted_model().corpus_
    for row in (0, 7):
        text = documents.text(catalog, row)["stretches"]
        assert "".join(one["text"] for one in text) == corpus.texts[row]
        marked = [one for one in text if "word" in one]
        counts = corpus.counts[[row]].toarray().ravel()
        for one in marked:
            tokens = counts[corpus.vocabulary.index(one["word"])]
            assert sum(n for _, n in one["concepts"]) == tokens
        assert {one["word"] for one in marked} == {corpus.vocabulary[i] for i in np.flatnonzero(counts)}


def test_words_are_found_in_a_text_as_the_corpus_was_cut() -> None:

    texts = [
        "The doctors plan to visit the New York hospital. A plan is a plan; New York has doctors.",
        "New York hospitals need a doctor. They plan. The hospital's doctor has plans.",
        "A doctor in New York and a hospital: the plan <b>works</b>.",
    ]
    corpus = Corpus.from_texts(texts, min_df=2)
    model = fit(corpus, n_chains=1, n_sweeps=6, n_burn_in=1)
    catalog = Catalog(model)
    for row in range(len(texts)):
        stretches = documents.text(catalog, row)["stretches"]
        assert "".join(one["text"] for one in stretches) == corpus.texts[row]
        found = [one["word"] for one in stretches if "word" in one]
        counts = corpus.counts[[row]].toarray().ravel()
        assert {word: found.count(word) for word in found} == {
            corpus.vocabulary[i]: counts[i] for i in np.flatnonzero(counts)
        }


def test_a_text_without_any_word_is_shown_as_it_is() -> None:
    texts = ["The doctor has a plan.", "A plan of the doctor.", "Thank you. Thank you so much.", ""]
    catalog = Catalog(fit(Corpus.from_texts(texts), n_chains=1, n_sweeps=6, n_burn_in=1))
    assert documents.text(catalog, 2)["stretches"] == [{"text": texts[2]}]
    assert documents.find_words(catalog.corpus, "Thank you", ["doctor"]) == []
    assert documents.find_words(catalog.corpus, "", ["doctor"]) == []


def test_spelled_words_are_found_in_any_case_and_the_longest_first() -> None:
    places = documents.spelled_places("Ice cream, creams and CREAM; screaming ice.", ["cream", "ice cream", "ice"])
    assert [word for _, _, word in places] == ["ice cream", "cream", "cream", "ice"]


@pytest.mark.parametrize("text", ["", "a", "word " * 5000, "x" * 23_456, ("A sentence. " * 3000).strip()])
def test_parts_of_a_text_cover_it(text) -> None:
    for language in (None, "en"):
        parts = documents.text_parts(text, language)
        assert "".join(text[a:b] for a, b in parts) == text
        assert all(0 < b - a <= 10_100 for a, b in parts)


def test_two_clouds_share_places_and_each_keeps_its_heaviest_words() -> None:
    heavy = {f"heavy{i}": 0.9 - i / 1000 for i in range(200)}
    light = {f"light{i}": 0.1 - i / 10_000 for i in range(200)} | {"heavy0": 0.01}
    drawn = cloud_words([heavy, light], 10)
    first, second = drawn["clouds"]
    assert [one["word"] for one in first] == [one["word"] for one in second]
    assert [one["x"] for one in first] == [one["x"] for one in second]
    assert {one["word"] for one in first} == {f"{kind}{i}" for kind in ("heavy", "light") for i in range(5)}
    sizes = {one["word"]: (one["size"], one["share"]) for one in second}
    assert sizes["heavy0"][1] == 0.01
    assert sizes["heavy1"] == (pytest.approx(min(size for size, _ in sizes.values())), 0.0)


def test_a_cloud_is_sized_by_scores_and_tells_shares_of_documents(client) -> None:
    words = planted_model().words_of(1)
    used = words[words["share_used"] > 0].head(MOST_WORDS).set_index("word")
    (drawn,) = client.get("/api/cloud.json", params={"concept": 1}).json()["clouds"]
    assert [one["word"] for one in drawn] == used.index.tolist()
    assert [one["share"] for one in drawn] == pytest.approx(used["share_used"].tolist())
    sizes = [one["size"] for one in drawn]
    assert sizes == sorted(sizes, reverse=True)


def test_rows_that_are_passages_are_called_so() -> None:
    catalog = Catalog(passage_model())
    labels = [
        column.label
        for page in (concepts.concept_words, concepts.concept_documents)
        for column in page(catalog, 1).columns
    ]
    labels += [column.label for column in concepts.words(catalog).columns]
    assert {"Passages that use it", "Passage", "Passages"} <= set(labels)
    assert not any("ocument" in label for label in labels)
    assert concepts.concept(catalog, 1)["documents"] == passage_model().concepts()["documents"][0]


def test_likeness_and_map_are_of_all_concepts() -> None:
    catalog = Catalog(planted_model())
    alike = catalog.alike
    assert np.allclose(alike, alike.T)
    places = relations.positions(alike)
    assert places.shape == (planted_model().n_concepts_, 2)
    assert places.min() >= 0
    assert places.max() <= 1


def test_scaling_keeps_two_heaps_apart() -> None:
    heaps = np.kron(np.eye(2), np.full((5, 5), 0.9)) + 0.1 * np.eye(10)
    first = relations.positions(heaps)[:, 0]
    assert max(first[:5]) < min(first[5:]) or max(first[5:]) < min(first[:5])


@pytest.mark.parametrize("name", EDGES)
def test_models_at_the_borders_can_be_looked_at(name) -> None:
    explorer = Explorer(edge_model(name))
    explorer.warm_up()
    word = edge_model(name).corpus_.vocabulary[0]
    with client_of(explorer) as client:
        for kind, requests in (("tables/", TABLES), ("", PARTS)):
            for what, given in requests.items():
                asked = {**given, "word": word} if "word" in given else given
                answer = client.get(f"/api/{kind}{what}.json", params=asked)
                assert answer.status_code in (200, 400), (what, answer.text)


ODD_REQUESTS = [
    "/api/tables/concepts.json?page=0",
    "/api/tables/concepts.json?page=-1",
    "/api/tables/concepts.json?page=1e9",
    "/api/tables/concepts.json?page=٣",
    "/api/tables/concepts.json?rows=99999999999999999999",
    "/api/tables/concepts.json?sort=__class__",
    "/api/tables/concepts.json?sort=top_words",
    f"/api/tables/concepts.json?search={'x' * 201}",
    "/api/tables/concept-words.json",
    "/api/tables/concept-words.json?concept=9999",
    "/api/tables/concept-words.json?concept=%00",
    "/api/tables/concept-groups.json?concept=1&column=../../etc/passwd",
    "/api/tables/group-differences.json?column=party&first=A&second=A",
    "/api/tables/group-differences.json?column=party&first=A&second=%3Cb%3E",
    "/api/row.json?row=41",
    "/api/document.json?document=1",
    "/api/text.json?row=1&part=999",
    "/api/word.json?word=nosuchword",
    "/api/cloud.json?concept=1&column=party&first=A&second=C",
]


@pytest.mark.parametrize("address", ODD_REQUESTS)
def test_what_makes_no_sense_gets_one_sentence(client, address) -> None:
    answer = client.get(address)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.endswith(".\n") or answer.text.endswith("?\n")
    assert len(answer.text) < 300
    assert not any(part in answer.text for part in ("Traceback", "/work", "superwords/", ".py"))


@pytest.mark.parametrize(
    "address",
    [
        "/nothing",
        "/static/",
        "/static/..%2f..%2fserver.py",
        "/static/server.py",
        "/api/__init__.json",
        "/api/tables/concepts.exe",
        "/api/tables/nothing.json",
        "/%2e%2e/%2e%2e/etc/passwd",
    ],
)
def test_there_is_no_such_page(client, address) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.text) == (404, "There is no such page.\n")


def test_other_kinds_of_request_and_other_hosts_are_refused(client) -> None:
    assert client.post("/api/model.json").status_code == 405
    assert client.delete("/").status_code == 405
    assert client.get("/api/choices").status_code == 405
    for host in ("evil.example", "127.0.0.1.evil.example", "[", ""):
        answer = client.get("/api/model.json", headers={"Host": host})
        assert answer.status_code == 400
        assert "documents" not in answer.text


def test_words_reach_the_browser_as_json_text_only(client) -> None:
    for name, given in TABLES.items():
        answer = client.get(f"/api/tables/{name}.json", params=given)
        json.loads(answer.text)
        assert answer.headers["content-type"] == "application/json"
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "alert" not in page.text


def test_a_failure_inside_shows_nothing_of_it(monkeypatch) -> None:
    explorer = Explorer(planted_model())

    def fail(catalog):
        raise RuntimeError("/secret/place")

    monkeypatch.setitem(PAGES, "map", fail)
    with client_of(explorer) as client:
        answer = client.get("/api/map.json")
    assert (answer.status_code, answer.text) == (500, "Something went wrong here; please try again.\n")


def test_a_spreadsheet_is_given_no_formula(client) -> None:
    text = client.get("/api/tables/words.csv", params={"search": "=1+1"}).content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert "'=1+1" in [row["word"] for row in rows]  # others have it in their concept's name
    assert not any(cell.startswith("=") for row in rows for cell in row.values())


def test_the_server_outlives_nonsense_on_its_socket() -> None:
    with client_of(Explorer(planted_model())) as client:
        port = client.base_url.port
        for data in (b"\x00\xff" * 4000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000, b"POST / HTTP/9.9\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.settimeout(5)
                try:
                    raw.sendall(data)
                    raw.recv(100)
                except (ConnectionError, TimeoutError):
                    pass
        assert client.get("/api/model.json").json()["documents"] == 40


def test_a_model_without_draws_is_refused() -> None:
    from superwords import ConceptModel

    model = ConceptModel(n_sweeps=4, n_burn_in=3, n_chains=1)
    model.start(np.ones((2, 2), int), None)
    with pytest.raises(InputError, match="no draws yet"):
        Catalog(model)


@pytest.mark.statistics
def test_five_thousand_documents_and_five_hundred_concepts() -> None:
    explorer = Explorer(large_model(5000, 500))
    assert explorer.catalog.model.n_concepts_ == 500
    began = time.perf_counter()
    explorer.warm_up()
    print(f"\nwarm-up {time.perf_counter() - began:.2f} s")
    with client_of(explorer) as client:
        for kind, requests in (("tables/", TABLES), ("", PARTS)):
            for name, given in requests.items():
                if name in ("text", "effects"):  # no texts; of effects, below
                    continue
                asked = {**given, "word": "word7"} if "word" in given else given
                began = time.perf_counter()
                answer = client.get(f"/api/{kind}{name}.json", params=asked)
                print(f"{name:20} {time.perf_counter() - began:.3f} s {len(answer.content):8,} bytes")
                assert answer.status_code == 200
                assert len(answer.content) < 100_000
    page = documents.documents(explorer.catalog).page({"search": "499", "rows": "50"})
    assert page["total"] > 10


def test_effects_on_five_hundred_concepts() -> None:
    """What is sent grows with the concepts; the documents are few, since their number takes the time."""
    with client_of(Explorer(large_model(400, 500))) as client:
        for kind in ("tables/", ""):
            answer = client.get(f"/api/{kind}effects.json", params=TABLES["effects"])
            assert answer.status_code == 200
            assert len(answer.content) < 100_000
