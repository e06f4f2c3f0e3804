"""Corpora of texts, tokens and counts: rows, metadata, passages, sentences, the same words in new texts."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from superwords.errors import InputError
from superwords.text import stream
from superwords.text.corpus import Corpus
from superwords.text.read import count_documents
from superwords.text.sources import open_documents

DATA = Path(__file__).parents[2] / "shared/data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"the shared corpora are not at {DATA}")

PETS = [
    "The dog saw a cat. A cat ran.",
    "One cat slept. The garden gate squeaked. A dog barked. Cats and dogs fight.",
    "",
    "The garden gate broke.",
]
GROUPS = pd.DataFrame({"group": ["x", "y", "x", "z"]}, index=[9, 8, 7, 6])


def dense(corpus):
    return pd.DataFrame(corpus.counts.toarray(), columns=corpus.vocabulary)


def test_counts_rows_and_metadata_stay_aligned():
    corpus = Corpus.from_texts(PETS, ids=["p", "q", "r", "s"], metadata=GROUPS, min_df=2)
    assert corpus.vocabulary == ["cat", "dog", "garden gate"]
    assert corpus.counts.toarray().tolist() == [[2, 1, 0], [2, 2, 1], [0, 0, 0], [0, 0, 1]]
    assert corpus.metadata["group"].tolist() == ["x", "y", "x", "z"]
    assert corpus.ids == ["p", "q", "r", "s"]
    assert corpus.texts == PETS
    assert corpus.parent is None
    assert corpus.notes["empty_documents"] == ["r"]
    assert corpus.n_tokens == 9


def test_sentences_hold_what_is_in_each_sentence():
    corpus = Corpus.from_texts(PETS, min_df=2)
    assert corpus.sentence_row.tolist() == [0, 0, 1, 1, 1, 1, 3]
    assert corpus.sentences.toarray().tolist() == [
        *([1, 1, 0], [1, 0, 0]),
        *([1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 0]),
        [0, 0, 1],
    ]
    repeated = Corpus.from_texts(["A dog met a dog.", "A dog sat."], min_df=2)
    assert repeated.sentences.toarray().tolist() == [[1], [1]]
    assert repeated.counts.toarray().tolist() == [[2], [1]]


def test_passages_are_rows_with_a_parent():
    corpus = Corpus.from_texts(PETS, ids=list("pqrs"), metadata=GROUPS, min_df=2, unit="passages:2")
    assert corpus.parent.tolist() == [0, 1, 1, 2, 3]
    assert corpus.ids == ["p#1", "q#1", "q#2", "r#1", "s#1"]
    assert corpus.metadata["group"].tolist() == ["x", "y", "y", "x", "z"]
    assert corpus.sentence_row.tolist() == [0, 0, 1, 1, 2, 2, 4]
    assert corpus.texts[2] == "A dog barked. Cats and dogs fight."
    assert corpus.counts.toarray().tolist() == [[2, 1, 0], [1, 0, 1], [1, 2, 0], [0, 0, 0], [0, 0, 1]]


def test_min_df_counts_source_documents_not_passages():
    texts = ["A dog ran. A dog sat. A dog ate.", "The cat ran. The cat sat.", "The cat slept."]
    assert Corpus.from_texts(texts, min_df=2, unit="passages:1").vocabulary == ["cat", "sat"]


def test_one_document_in_passages():
    corpus = Corpus.from_texts(["A dog ran. A cat sat. A dog ate."], min_df=1, unit="passages:1")
    assert corpus.vocabulary == ["ate", "cat", "dog", "sat"]
    assert corpus.n_documents == 3


@pytest.mark.parametrize("unit", ["document", "passages:1"])
def test_a_recipe_finds_the_same_words_again(unit):
    options = {"min_df": 2, "drop": ["dog"], "unit": unit}
    corpus = Corpus.from_texts(PETS, **options)
    recipe = json.loads(json.dumps(corpus.notes["recipe"]))
    again = Corpus.from_texts(PETS, recipe=recipe, unit=unit)
    assert again.vocabulary == corpus.vocabulary == ["cat", "garden gate"]
    assert (again.counts != corpus.counts).nnz == 0
    assert (again.sentences != corpus.sentences).nnz == 0


def test_new_texts_are_counted_in_a_given_vocabulary():
    corpus = Corpus.from_texts(PETS, min_df=2)
    new = ["Three cats and an old garden gate near a zebra.", "Zebras and gates.", ""]
    for options in ({"recipe": corpus.notes["recipe"]}, {"vocabulary": corpus.vocabulary}):
        counted = Corpus.from_texts(new, **options)
        assert counted.vocabulary == corpus.vocabulary
        assert counted.counts.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]
        assert counted.notes["unknown_words"] == 3
        assert counted.notes["unknown_examples"] == {"zebra": 1, "zebras": 1, "gates": 1}
    wider = Corpus.from_texts(new, vocabulary=["zebra", "cat", "unicorn"], recipe=corpus.notes["recipe"])
    assert wider.vocabulary == ["zebra", "cat", "unicorn"]
    assert wider.counts.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_a_dropped_word_does_not_come_back_in_parts():
    texts = ["The garden gate broke.", "The garden gate fell.", "The garden bloomed.", "A garden grew."]
    corpus = Corpus.from_texts(texts, min_df=2, drop=["garden gate"])
    assert corpus.vocabulary == ["garden"]
    assert corpus.counts.toarray()[:, 0].tolist() == [0, 0, 1, 1]
    again = Corpus.from_texts(texts, recipe=corpus.notes["recipe"])
    assert again.counts.toarray()[:, 0].tolist() == [0, 0, 1, 1]


def test_any_number_of_jobs_gives_the_same_corpus(monkeypatch):
    monkeypatch.setattr(stream, "CHUNK_CHARACTERS", 120)
    texts = [text or "No text here." for text in PETS] * 6
    steps = []
    one = Corpus.from_texts(texts, min_df=2, n_jobs=1, progress=lambda done, total: steps.append((done, total)))
    two = Corpus.from_texts(texts, min_df=2, n_jobs=2)
    assert len(steps) > 4
    assert steps[-1] == (24, 24)
    assert one.vocabulary == two.vocabulary
    assert (one.counts != two.counts).nnz == 0
    assert (one.sentences != two.sentences).nnz == 0
    assert one.notes == two.notes


def test_texts_of_a_file_are_kept_only_on_request(tmp_path):
    path = tmp_path / "pets.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "n": n}) for n, text in enumerate(PETS)), encoding="utf-8")
    documents = open_documents(path)
    assert count_documents(documents, min_df=2).texts is None
    kept = count_documents(documents, min_df=2, keep_texts=True)
    assert kept.texts == PETS
    assert kept.metadata["n"].tolist() == [0, 1, 2, 3]
    assert Corpus.from_texts(PETS, min_df=2, keep_texts=False).texts is None
    assert Corpus.from_texts((text for text in PETS), min_df=2).texts == PETS


def test_tokens_are_words_as_they_stand():
    corpus = Corpus.from_tokens([["The", "cat"], [["cat", "The"], ["The"]], []], min_df=2, metadata={"g": [1, 2, 3]})
    assert corpus.vocabulary == ["The", "cat"]
    assert corpus.counts.toarray().tolist() == [[1, 1], [2, 1], [0, 0]]
    assert corpus.sentence_row.tolist() == [0, 1, 1]
    assert corpus.metadata["g"].tolist() == [1, 2, 3]
    fixed = Corpus.from_tokens([["cat", "emu"]], vocabulary=["dog", "cat"])
    assert fixed.counts.toarray().tolist() == [[0, 1]]
    assert fixed.notes["unknown_words"] == 1


def test_documents_of_every_kind_become_a_corpus():
    assert count_documents(open_documents(PETS), min_df=2).vocabulary == ["cat", "dog", "garden gate"]
    assert count_documents(open_documents([["a", "b"], ["b"]]), min_df=2).vocabulary == ["b"]
    counts = open_documents(sparse.csr_array(np.array([[1, 0], [0, 2]])), vocabulary=["a", "b"])
    assert count_documents(counts).n_tokens == 3


def test_wrong_texts_are_told_in_one_sentence():
    with pytest.raises(InputError, match="one string"):
        Corpus.from_texts("one text")
    with pytest.raises(InputError, match="no documents"):
        Corpus.from_texts([])
    with pytest.raises(InputError, match="Document 1 is of type float"):
        Corpus.from_texts(["a", 1.5])
    with pytest.raises(InputError, match=r"Document 0 is of type list, not text; use Corpus\.from_tokens"):
        Corpus.from_texts([["a"]])
    with pytest.raises(InputError, match="2 ids for 4 documents"):
        Corpus.from_texts(PETS, ids=["a", "b"])
    with pytest.raises(InputError, match="'a' is given twice, to documents 0 and 2"):
        Corpus.from_texts(PETS, ids=["a", "b", "a", "c"])
    with pytest.raises(InputError, match="1 rows for 4 documents"):
        Corpus.from_texts(PETS, metadata={"g": [1]})
    with pytest.raises(InputError, match="'cat' twice"):
        Corpus.from_texts(PETS, vocabulary=["cat", "cat"])
    with pytest.raises(InputError, match="Document 0 is neither"):
        Corpus.from_tokens(["text"])


def test_counts_are_checked():
    corpus = Corpus.from_counts([[1, 0], [0, 2]], ["a", "b"])
    assert corpus.n_tokens == 3
    for wrong, message in (
        ([[0.5]], "not a whole number"),
        ([[-1]], "negative"),
        ([[np.nan]], "not a finite number"),
        ([1, 2], "two-dimensional"),
    ):
        with pytest.raises(InputError, match=message):
            Corpus.from_counts(wrong)
    with pytest.raises(InputError, match="'a' twice"):
        Corpus.from_counts([[1, 0]], ["a", "a"])


@pytest.fixture(scope="module")
def congress():
    documents = open_documents(DATA / "congress_health_2017.jsonl.gz")
    return count_documents(documents, min_df=10, words="phrases", drop_procedural=True, n_jobs=1)


@needs_data
def test_congress_vocabulary_comes_near_the_papers(congress):
    assert congress.n_documents == 100
    assert congress.metadata["party"].value_counts().to_dict() == {"D": 62, "R": 36, "I": 2}
    assert 600 <= congress.n_words <= 1200
    words = set(congress.vocabulary)
    assert {
        *("affordable care act", "healthcare", "preexisting conditions", "medicaid", "planned parenthood"),
        *("opioid crisis", "nursing homes", "congressional budget office", "health insurance", "premiums"),
    } <= words
    pieces = {"affordable care", "home residents", "nonpartisan congressional budget office"}
    assert not words & (pieces | {"health insurance plan", "republican healthcare bill"})
    assert {"mr president", "senator", "amendment", "time", "unanimous consent", "quorum"} <= set(
        congress.notes["procedural"]
    )
    assert not words & set(congress.notes["procedural"])
    assert all(len(word) > 1 and word[0].isalpha() for word in words)
    assert not {"is", "said", "going", "make", "cover", "talk", "crafted", "premium", "january"} & words
    assert ((congress.counts > 0).sum(axis=0) >= 10).all()


@needs_data
def test_congress_reads_at_ten_thousand_words_a_second():
    documents = open_documents(DATA / "congress_health_2017.jsonl.gz")
    some = list(documents.texts)[60:80]
    timings = []
    for _ in range(2):
        started = process_time()
        corpus = Corpus.from_texts(some, n_jobs=1)
        timings.append(process_time() - started)
    assert corpus.notes["words_read"] / min(timings) > 10_000


@needs_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("convention2012", {"president obama", "mitt romney", "middle class", "health care"}),
        ("lee", {"new south wales", "united states", "foreign minister"}),
        ("recipes_en_de", {"olive oil", "Zwiebel", "onion", "butter", "Mehl", "flour"}),
    ],
)
def test_other_corpora_with_nothing_set(name, expected):
    documents = open_documents(DATA / f"{name}.jsonl.gz")
    languages = documents.metadata["lang"].tolist() if "lang" in documents.metadata else "en"
    corpus = count_documents(documents, language=languages)
    assert expected <= set(corpus.vocabulary)
    assert corpus.n_words > 100
    assert corpus.notes["empty_documents"] == []


def test_ready_tokens_keep_an_apostrophe_and_s():
    corpus = Corpus.from_tokens([["women's", "women", "'s"], ["women's", "'s"]], min_df=1)
    assert corpus.vocabulary == ["'s", "women", "women's"]
    assert corpus.counts.toarray().tolist() == [[1, 1, 1], [1, 0, 1]]
