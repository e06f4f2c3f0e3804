"""One function from documents of any kind to a corpus, and what it says on the way."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from superwords.errors import InputError
from superwords.text.corpus import Corpus
from superwords.text.read import read_documents

TEXTS = ["The dog saw a cat.", "One cat slept near a dog.", "The cat ran."]
FRAME = pd.DataFrame({"name": ["a", "b", "c"], "speech": TEXTS, "party": ["x", "y", "x"]})


def sources(folder):
    FRAME.to_csv(folder / "d.csv", index=False)
    FRAME.to_csv(folder / "d.tsv.gz", index=False, sep="\t")
    FRAME.to_json(folder / "d.jsonl", orient="records", lines=True)
    (folder / "d.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    (folder / "texts").mkdir()
    for n, text in enumerate(TEXTS):
        (folder / "texts" / f"{n}.txt").write_text(text, encoding="utf-8")
    columns = {"text": "speech", "id": "name", "groups": "party"}
    return [
        (TEXTS, {}),
        (tuple(TEXTS), {}),
        (iter(TEXTS), {}),
        (FRAME["speech"], {}),
        (FRAME, columns),
        (folder / "d.csv", columns),
        (str(folder / "d.tsv.gz"), columns),
        (folder / "d.jsonl", columns),
        (folder / "d.txt", {}),
        (folder / "texts", {}),
    ]


@pytest.mark.parametrize("n", range(10))
def test_documents_of_every_kind_give_the_same_corpus(tmp_path, n):
    source, columns = sources(tmp_path)[n]
    said: list[str] = []
    corpus = read_documents(source, **columns, min_df=2, n_jobs=1, say=said.append)
    assert corpus.vocabulary == ["cat", "dog"]
    assert corpus.counts.toarray().tolist() == [[1, 1], [1, 1], [1, 0]]
    assert corpus.texts == TEXTS
    assert said[0] == "3 documents, 2 different words, 5 in all."
    if columns:
        assert corpus.ids == ["a", "b", "c"]
        assert corpus.notes["groups"] == ["party"]


def test_standard_input_counts_tokens_and_a_corpus(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(TEXTS).encode())))
    assert read_documents("-", min_df=2, n_jobs=1).vocabulary == ["cat", "dog"]
    counts = sparse.csr_array(np.array([[1, 0], [0, 2]]))
    assert read_documents(counts, vocabulary=["a", "b"]).n_tokens == 3
    tokens = read_documents([["a", "b"], ["b"]], min_df=2)
    assert tokens.vocabulary == ["b"]
    assert read_documents(tokens) is tokens
    with pytest.raises(InputError, match="no column 'party'"):
        read_documents(tokens, groups="party")
    with pytest.raises(InputError, match="cannot be read from int"):
        read_documents(5)


def test_long_documents_are_read_in_passages_unless_told_otherwise():
    long = [" ".join(TEXTS * 10)] * 2
    assert read_documents(long, min_df=2, n_jobs=1).unit == "passages:5"
    assert read_documents(long, min_df=2, n_jobs=1, unit="document").parent is None
    assert read_documents(TEXTS, min_df=2, n_jobs=1).parent is None


def test_languages_come_from_a_list_or_a_column():
    frame = pd.DataFrame({"text": ["Chop onions.", "Onions fry.", "Zwiebeln hacken."], "lang": ["en", "en", "de"]})
    for language in ("column:lang", ["en", "en", "de"]):
        corpus = read_documents(frame, language=language, min_df=1, n_jobs=1)
        assert {"onions", "Zwiebel"} <= set(corpus.vocabulary)
    with pytest.raises(InputError, match="no column 'tongue'"):
        read_documents(frame, language="column:tongue")


def test_the_example_in_the_docstring_runs():
    assert isinstance(read_documents(["Cats chase mice.", "A cat saw a mouse."], min_df=2), Corpus)


NULLABLE = {
    "party": pd.array(["left", "right", None] * 8, dtype="string"),
    "year": pd.array([2001, None, 2003] * 8, dtype="Int64"),
    "is_new": pd.array([True, None, False] * 8, dtype="boolean"),
    "shape": [np.arange(3)] * 24,
    7: ["a", "b"] * 12,
}


def nullable_table(**columns):
    texts = ["The dog saw a cat in the garden.", "One cat slept near a dog.", "A garden has trees."] * 8
    return pd.DataFrame({"text": texts, **NULLABLE, **columns})


def test_tables_with_nullable_columns_and_arrays_are_read():
    said = []
    corpus = read_documents(nullable_table(), groups=["party", "7"], min_df=2, n_jobs=1, say=said.append)
    assert corpus.notes["groups"] == ["party", 7]
    assert corpus.metadata["party"].isna().sum() == 8
    assert read_documents(nullable_table(), groups=7, min_df=2, n_jobs=1).notes["groups"] == [7]
    dates = pd.array(["01.02.2001", None] * 12, dtype="string")
    dated = read_documents(nullable_table(date=dates), date_format="%d.%m.%Y", min_df=2, n_jobs=1)
    assert dated.metadata["date"].notna().sum() == 12
    texts = nullable_table()["text"].astype("string")
    texts[0] = pd.NA
    assert read_documents(texts, min_df=2, n_jobs=1).notes["empty_documents"] == ["0"]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"id": [*map(str, range(23)), np.nan]}, {}, "row 23, has no 'id'; give every document an id"),
        ({"id": pd.array([*map(str, range(23)), None], "string")}, {}, "row 23, has no 'id'"),
        ({"7": 1}, {}, "The table has two columns named '7'; give each column its own name"),
        (
            {"code": pd.array(["en", None, "none"] * 8, "string")},
            {"language": "column:code"},
            "8 documents have no language in the column 'code'",
        ),
        ({}, {"language": None}, "language=None is not a language; give a code"),
        ({}, {"unit": 5}, "unit=5 is not known"),
        ({}, {"words": 5}, "words=5 is not known"),
        ({}, {"drop": 5}, "drop=5 is not a list of words"),
    ],
)
def test_tables_and_options_that_cannot_be_read_are_refused(columns, options, message):
    with pytest.raises(InputError, match=message):
        read_documents(nullable_table(**columns), n_jobs=1, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ids": 5}, "ids=5 is not a list"),
        ({"ids": "ab"}, "ids='ab' is not a list"),
        ({"vocabulary": "dog"}, "The vocabulary is one string"),
        ({"vocabulary": []}, "The vocabulary is empty"),
        ({"metadata": 5}, "The metadata are not a table"),
        ({"metadata": {"a": [1], "b": [1, 2]}}, "The metadata are not a table"),
        ({"recipe": 3}, "The recipe has format None"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Corpus.from_texts(["A dog.", "A cat."], min_df=1, n_jobs=1, **options)


def test_tokens_that_are_no_list_are_refused():
    with pytest.raises(InputError, match="Document 1 is neither a list of tokens nor"):
        Corpus.from_tokens([["a"], None])
