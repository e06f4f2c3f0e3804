"""Search: what is found, why, and what the corpus itself says about how far to trust similar documents."""

import doctest
import json
import sqlite3
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from cli_for_tests import THEMES, loaded, model_file, run
from models_for_tests import EDGES, edge_model, fit, passage_model, planted_model
from superwords import Corpus
from superwords.analysis import documents as means
from superwords.analysis import naming
from superwords.analysis.documents import _densest, telling_passage
from superwords.errors import InputError
from superwords.posterior import resampling
from superwords.search import index as searching
from superwords.search import terms

FRUIT, CARS = (THEMES[name] for name in ("orchard", "garage"))


@cache
def themed():
    """12 documents on one of two themes; "limousine" is in one text on cars and in no vocabulary."""
    rng = np.random.default_rng(1)
    texts = []
    for d in range(12):
        words = rng.choice([FRUIT, CARS][d % 2], (5, 4))
        texts.append(" ".join(f"The {' and the '.join(some)}." for some in words))
    texts[1] += " A limousine."
    return fit(Corpus.from_texts(texts, words="plain", min_df=2, n_jobs=1), b1=1.0, b2=1.0)


@pytest.mark.parametrize("module", [terms, searching, naming, resampling])
def test_examples_in_docstrings_run(module):
    """Those that need a fitted model run in test_docstrings, as examples of the model's methods."""
    found = [one for one in doctest.DocTestFinder().find(module) if ">>> " in one.docstring]
    tests = [one for one in found if "model." not in one.docstring]
    assert tests
    for one in tests:
        assert doctest.DocTestRunner().run(one).failed == 0


def test_bm25_is_that_of_fts5():
    texts = ["the cat sat on the mat", "a dog and another dog", "cats and dogs", "one two three", "four five six"]
    texts += [f"filler number {n}" for n in range(10)]
    read = terms.read_terms(replace(Corpus.from_counts(np.ones((15, 1), int)), texts=texts))
    holders = np.bincount(read.counts.indices)
    idf = np.log((15 - holders + 0.5) / (holders + 0.5))  # FTS5's own inverse document frequency
    ours = terms.bm25(read.counts, idf)[:, [read.columns["cat"], read.columns["dog"]]].sum(axis=1)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
    database.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", enumerate(texts))
    theirs = dict(database.execute("SELECT rowid, -bm25(t) FROM t WHERE t MATCH 'cat OR dog'"))
    database.close()
    assert set(theirs) == {0, 1, 2}
    for row, value in theirs.items():
        assert ours[row] == pytest.approx(value)


def test_documents_that_have_the_word_come_first_and_say_so():
    hits = themed().search("tyre", n=5)
    assert list(hits.columns) == searching.COLUMNS
    assert hits["score"].is_monotonic_decreasing
    assert all(int(document) % 2 == 1 for document in hits["document"])
    assert hits["words"].iloc[0] == ["tyre"]
    assert "tyre" in hits["passage"].iloc[0]


def test_documents_that_speak_of_it_in_other_words_are_found_too():
    hits = themed().search("limousine", n=12)
    assert hits["document"].iloc[0] == "1"
    others = hits[hits["document"] != "1"]
    assert len(others) > 0
    assert all(words == [] for words in others["words"])
    assert all(int(document) % 2 == 1 for document in others["document"])
    assert others["near"].iloc[0] == ["1"]


def test_hits_are_linked_by_the_concept_of_the_query():
    model = themed()
    hits = model.search("apple pear cherry", n=5)
    for concepts, names in zip(hits["concepts"], hits["concept_names"]):
        assert len(names) == len(concepts) > 0
        assert set(model.top_words(concepts[0], 6)) <= set(FRUIT)


def test_a_name_given_by_a_person_is_shown():
    model = themed()
    first = model.search("apple")["concepts"].iloc[0][0]
    model.names_[first] = "the orchard"
    try:
        assert model.search("apple")["concept_names"].iloc[0][0] == "the orchard"
    finally:
        del model.names_[first]


@pytest.mark.parametrize(
    ("query", "said"), [("", "is empty"), ("   \n", "is empty"), (None, "not text"), (["apple"], "query=.*not text")]
)
def test_an_empty_query_is_refused_in_one_sentence(query, said):
    with pytest.raises(InputError, match=said):
        themed().search(query)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_a_number_of_documents_that_is_none_is_refused(n):
    with pytest.raises(InputError, match="is not a whole number"):
        themed().search("apple", n=n)


def test_a_query_of_unknown_words_finds_nothing():
    hits = themed().search("xylophone")
    assert len(hits) == 0
    assert list(hits.columns) == searching.COLUMNS
    assert searching.search_page(themed().result_, "xylophone")["unknown"] == ["xylophone"]


@pytest.mark.parametrize("query", ['"', "AND", "apple*", "NEAR(a b)", "x' OR 1=1 --", "🙂", "...", "a:b"])
def test_no_query_is_taken_for_a_command(query):
    themed().search(query)


def test_a_page_is_plain_json():
    page = searching.search_page(themed().result_, "apple xylophone", 3)
    assert json.loads(json.dumps(page)) == page
    assert [set(one) for one in page["hits"]] == [{*searching.COLUMNS, "row"}] * 3
    assert page["concepts"][0]["share"] > 0.5


def test_passages_are_gathered_by_document():
    hits = passage_model().search("word7 word8", n=10)
    assert len(hits) == hits["document"].nunique()
    assert all(document.startswith("source ") and "#" not in document for document in hits["document"])


def test_a_word_of_most_documents_but_few_passages_is_named_and_shown():
    """Every document speaks of honey once, in its last passage; that passage answers, not the first with "bees"."""
    filler = "The wheel and the brake. " * 4
    texts = [f"Bees and the wheel. {filler}Honey of the bees. {filler}" for _ in range(6)]
    corpus = Corpus.from_texts(texts, words="plain", min_df=2, unit="passages:1", n_jobs=1)
    hits = fit(corpus).search("honey bees", n=3)
    assert hits["words"].tolist() == [["honey", "bees"]] * 3
    assert all("Honey" in passage for passage in hits["passage"])


def test_stop_words_are_no_reason_for_a_hit():
    texts = ["The harbour has a crane.", "Ships left early.", "Boats sail far.", "Crews mend nets."] * 5
    model = fit(Corpus.from_texts(texts, min_df=1, n_jobs=1))
    assert model.search("has a crane").iloc[0]["words"] == ["crane"]
    assert model.search("has a").iloc[0]["words"] == ["has", "a"]  # nothing else is asked


def test_counts_without_texts_are_searched_by_their_vocabulary():
    model = planted_model()
    result = replace(model.result_, corpus=replace(model.corpus_, texts=None))
    result.best_draw = model.best_draw_
    hits = searching.search(result, "word9", n=3)
    assert hits["words"].iloc[0] == ["word9"]
    assert set(hits["passage"]) == {""}


@pytest.mark.parametrize("name", EDGES)
def test_models_at_the_border_can_be_searched(name):
    model = edge_model(name)
    assert len(model.search(f"anything {model.corpus_.vocabulary[0]}")) <= model.corpus_.n_documents


def test_expected_words_are_probabilities_that_favour_what_a_document_uses():
    result = themed().result_
    expected = means.expected_words(result)
    total = np.asarray(expected.sum(axis=1)).ravel()
    assert np.all(total < 1 + 1e-6)
    assert np.median(total) > 0.9
    fruit = [result.corpus.vocabulary.index(word) for word in FRUIT]
    share = np.asarray(expected[:, fruit].sum(axis=1)).ravel()
    assert share[::2].min() > 0.9 > 0.1 > share[1::2].max()


def test_a_document_without_neighbours_is_its_own():
    words = sparse.csr_array(np.eye(3))
    np.testing.assert_array_equal(searching.nearest(words, words).toarray(), np.eye(3))


def test_similar_documents_are_trusted_where_they_tell_what_a_document_says():
    """Where neighbours share topics they are used; where each document has words of its own they are not."""
    rng = np.random.default_rng(0)

    def share(counts):
        counts = sparse.csr_array(counts.astype(float))
        idf = terms.inverse_document_frequency(counts)
        words = terms.bm25(counts, idf)
        expected = sparse.csr_array(np.ones((counts.shape[0], 1)))
        near = searching.nearest(words, expected)
        return searching.known_item_share(counts, words, idf, expected, near)

    theme = np.repeat(np.arange(20), 6)
    topical = np.stack([rng.poisson(np.where(np.arange(400) // 20 == t, 1.5, 0.01)) for t in theme])
    own = np.kron(np.eye(120, dtype=int), np.full((1, 12), 3))
    noise = rng.poisson(0.3, (120, 200))
    assert share(topical) > share(np.hstack([own, noise]))


def test_the_command_finds_and_explains(capsys, tmp_path):
    model = model_file(tmp_path)
    shown = run(capsys, "search", model, "apple", "pear", "-n", 3)
    assert shown.code == 0
    assert "because of" in shown.out
    assert "speaker" in shown.out
    page = run(capsys, "search", model, "apple pear", "-n", 3, "--json").json
    assert [hit["document"] for hit in page["hits"]] == loaded(model).search("apple pear", 3)["document"].tolist()
    nothing = run(capsys, "search", model, "xylophone")
    assert nothing.code == 0
    assert "In no document: xylophone." in nothing.out
    for empty in ([], [""], ["  "]):
        refused = run(capsys, "search", model, *empty)
        assert refused.code == 1
        assert "The query is empty" in refused.err


def test_the_quoted_stretch_holds_the_query_in_the_form_the_text_has():
    filler = "Nothing to see in this long opening of a speech. " * 20
    texts = [filler + "They raised a tax on every farm." + filler, *["A plain text about farms." for _ in range(9)]]
    model = fit(Corpus.from_texts(texts, words="plain", min_df=1, n_jobs=1), b1=1.0, b2=1.0)
    first = searching.search(model.result_, "taxes", n=1).iloc[0]
    assert first["document"] == "0"
    assert "a tax on every farm" in first["passage"]


def test_a_passage_of_a_text_full_of_marks_takes_linear_time():
    """Quadratic in the marks, `search(n=1460)` cost 60 times `search(n=100)`."""
    seconds = []
    for n in (4_000, 40_000):
        start = time.process_time()
        telling_passage("tax and bill " * n, {"tax": 1.0, "bill": 1.0})
        seconds.append(time.process_time() - start)
    assert seconds[1] < 60 * seconds[0]  # quadratic: 100
    assert seconds[1] < 10


def test_the_densest_stretch_is_that_of_all_stretches():
    rng = np.random.default_rng(0)
    for _ in range(300):
        marks = {"a": 1.0, "bb": 2.5, "ccc": 0.5, "d" * int(rng.integers(1, 60)): 1.5}
        begin = {word: np.sort(rng.integers(0, 300, 6)) for word in marks}
        hits = sorted((int(at), int(at) + len(word), word) for word, own in begin.items() for at in own)
        weights = [
            sum(marks[w] for w in {w for s, e, w in hits[k:] if e <= start + 40})
            for k, (start, _, _) in enumerate(hits)
        ]
        assert _densest(begin, marks, 40) == hits[int(np.argmax(weights))][0]
