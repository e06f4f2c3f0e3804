"""The number of documents a word must be in, chosen from the corpus, and warnings of thin vocabularies."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from superwords.text.corpus import Corpus
from superwords.text.read import corpus_lines, corpus_warnings, read_documents
from superwords.text.sentences import sentence_spans
from superwords.text.vocabulary import KEPT_ROWS, SEVERAL, _steps, supported_words

DATA = Path(__file__).parents[2] / "shared" / "data"


def zipf_texts(n_documents, length, n_words=3000, seed=1):
    """Texts of made-up nouns whose frequency falls as in any language."""
    rng = np.random.default_rng(seed)
    weight = 1 / (np.arange(n_words) + 10)
    draws = rng.choice(n_words, size=(n_documents, length), p=weight / weight.sum())
    return [[[f"w{i}" for i in sentence] for sentence in row.reshape(-1, 5)] for row in draws]


@pytest.mark.parametrize(("n_documents", "length"), [(100, 40), (1000, 40), (4000, 10), (200, 400)])
def test_the_vocabulary_suits_the_tokens_and_rows_keep_several_words(n_documents, length):
    corpus = Corpus.from_tokens(zipf_texts(n_documents, length))
    chosen, wanted = corpus.notes["min_df"], supported_words(n_documents * length)
    assert corpus.n_words >= wanted
    kept = np.mean(np.diff(corpus.counts.indptr) >= SEVERAL)
    lowest = Corpus.from_tokens(zipf_texts(n_documents, length), min_df=2)
    assert kept >= KEPT_ROWS * np.mean(np.diff(lowest.counts.indptr) >= SEVERAL)
    higher = Corpus.from_tokens(zipf_texts(n_documents, length), min_df=2 * chosen)
    assert higher.n_words < wanted or np.mean(np.diff(higher.counts.indptr) >= SEVERAL) < kept
    assert corpus.notes["min_df_chosen"]


def test_short_rows_keep_more_words_than_the_tokens_support():
    corpus = Corpus.from_tokens(zipf_texts(8000, 5, n_words=12_000))
    assert corpus.n_words > 1.05 * supported_words(40_000)
    assert "fewer than 3 different words" in corpus.notes["min_df_chosen"]


def test_few_tokens_take_the_lowest_number_and_one_document_every_word():
    assert Corpus.from_tokens(zipf_texts(30, 10)).notes["min_df"] == 2
    one = Corpus.from_tokens([[["a", "b"], ["a"]]])
    assert one.notes["min_df"] == 1
    assert one.vocabulary == ["a", "b"]


def test_a_few_long_documents_are_counted_by_passages():
    book = [sentence for document in zipf_texts(400, 40) for sentence in document]
    corpus = Corpus.from_tokens([book], unit="passages:5")
    assert corpus.notes["min_df_counts"] == "passages"
    assert corpus.notes["min_df"] > 2
    assert (np.asarray((corpus.counts > 0).sum(axis=0)) >= corpus.notes["min_df"]).all()
    assert supported_words(16_000) <= corpus.n_words < 2 * supported_words(16_000)
    assert any(f"fewer than {corpus.notes['min_df']} passages" in line for line in corpus_lines(corpus))


def test_steps_are_round_numbers_up_to_the_highest():
    assert _steps(9) == [2, 3, 4, 5, 6, 7, 8]
    assert _steps(100) == [2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100]
    assert _steps(2000)[-4:] == [1000, 1200, 1500, 2000][-4:]


def test_what_was_chosen_is_said_and_a_given_number_is_not_explained():
    texts = ["The dog saw a cat.", "One cat slept near a dog.", "The cat ran."]
    said: list[str] = []
    read_documents(texts, n_jobs=1, say=said.append)
    assert sum("Words in fewer than 2 documents are left out (min-df 2):" in line for line in said) == 1
    assert "min_df_chosen" not in read_documents(texts, min_df=2, n_jobs=1).notes
    assert read_documents(texts, min_df="auto", n_jobs=1).notes["min_df"] == 2


def test_a_thin_vocabulary_and_empty_documents_are_warned_of():
    texts = ["The dog saw a cat.", "One cat slept near a dog.", "Thank you so much."] * 10
    lines = corpus_warnings(Corpus.from_texts(texts, min_df=3, words="phrases", n_jobs=1))
    few, empty = lines[:2]
    assert few.startswith("2 different words are too few")
    assert "give a lower min-df than 3" in few
    assert empty.startswith("10 of the 30 documents (33%) have none of these words")
    assert "ask for content words" in empty
    plain = corpus_warnings(Corpus.from_texts(texts, words="plain", n_jobs=1))
    assert not any("content words" in line or "lower min-df" in line for line in plain)
    rich = corpus_warnings(Corpus.from_tokens(zipf_texts(300, 40)))
    assert rich == []


def shared_texts(name):
    file, _, column = name.partition(":")
    path = DATA / f"{file}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(8000), lines, strict=False)]
    if column in ("de", "en"):
        return [row["text"] for row in rows if row["lang"] == column]
    if column == "sentences":
        return [row["text"][a:b] for row in rows for a, b in sentence_spans(row["text"], "en")]
    return [row[column or "text"] for row in rows]


# Rows of fewer than a dozen words, in samples of 100, cannot have 200 words that recur: there a warning says so.
@pytest.mark.parametrize(
    ("name", "n", "n_words", "is_warned"),
    [
        ("cranfield:title", 300, (200, 400), False),
        ("cranfield:title", 1400, (500, 900), False),
        ("cranfield:title", 100, (60, 200), True),
        ("convention2012:sentences", 300, (150, 350), True),
        ("convention2012:sentences", 5000, (900, 1500), True),
        ("convention2012", 100, (900, 1500), False),
        ("debian_packages", 300, (700, 1300), False),
        ("debian_packages", 3000, (1800, 3000), False),
        ("recipes_en_de:de", 100, (500, 900), False),
        ("recipes_en_de:de", 333, (1000, 1800), False),
        ("recipes_en_de:en", 300, (1200, 2100), False),
        ("lee", 100, (800, 1300), False),
        ("lee", 350, (1000, 1800), False),
    ],
)
def test_real_texts_short_and_long_few_and_many(name, n, n_words, is_warned):
    texts = shared_texts(name)
    language = "de" if name.endswith(":de") else "en"
    corpus = read_documents(random.Random(n).sample(texts, n), language=language, n_jobs=1)
    lowest, highest = n_words
    assert lowest <= corpus.n_words <= highest
    told = [line for line in corpus_warnings(corpus) if "too few" in line or "none of these words" in line]
    assert bool(told) == is_warned
    if not is_warned:
        assert len(corpus.notes["empty_documents"]) <= 0.05 * n
