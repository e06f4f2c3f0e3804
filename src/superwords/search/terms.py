"""Terms of texts and queries, as SQLite's FTS5 reads them, and their BM25 weights."""

from __future__ import annotations

import re
import sqlite3
import string
from array import array
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.errors import InputError
from superwords.text.corpus import Corpus

K1, B = 1.2, 0.75  # as in FTS5's own bm25()
STEMMED, AS_WRITTEN = "porter unicode61", "unicode61"
LONGEST_QUERY = 20_000  # characters
_LONGEST = 5  # words of an entry of the vocabulary


class Terms(NamedTuple):
    """Terms (English ones by their stem) and how often each row of a corpus has them."""

    columns: dict[str, int]
    counts: sparse.csr_array  # (rows, terms)
    tokenizer: str


def read_terms(corpus: Corpus) -> Terms:
    """Return the terms of a corpus's texts, or of its vocabulary where no texts were kept.

    >>> from superwords import Corpus
    >>> terms = read_terms(Corpus.from_counts([[2, 0], [1, 3]], ["heart attack", "hearts"]))
    >>> terms.columns
    {'attack': 0, 'heart': 1}
    >>> terms.counts.toarray().astype(int).tolist()
    [[2, 2], [1, 4]]
    """
    language = (corpus.notes.get("recipe") or {}).get("language", "en")
    tokenizer = STEMMED if language == "en" else AS_WRITTEN
    if corpus.texts is not None:
        columns, counts = _tally(corpus.texts, tokenizer)
        return Terms(columns, counts, tokenizer)
    columns, of_word = _tally(corpus.vocabulary, tokenizer)
    return Terms(columns, sparse.csr_array(corpus.counts @ of_word), tokenizer)


def query_terms(query: str, tokenizer: str) -> list[tuple[str, str]]:
    """Return the words of a query in order, each with its term; a word may have several.

    >>> query_terms("Heart attacks", STEMMED)
    [('Heart', 'heart'), ('attacks', 'attack')]
    """
    words = query.split()
    return [
        (words[n].strip(string.punctuation), term)
        for term, n in sorted(_instances(words, tokenizer), key=itemgetter(1))
    ]


def inverse_document_frequency(counts: sparse.csr_array) -> np.ndarray:
    """Return each term's idf, log(1 + (D − n + ½)/(n + ½)), n the rows that contain it."""
    n_rows = counts.shape[0]
    holders = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log1p((n_rows - holders + 0.5) / (holders + 0.5))


def bm25(
    counts: sparse.csr_array, idf: np.ndarray, mean_length: float | None = None, k1: float = K1, b: float = B
) -> sparse.csr_array:
    """Return (rows, terms): what each term of a row adds to the score of a query that contains it.

    `mean_length` is that of `counts` by default; `k1` sets how soon counts saturate, `b` the discount of long rows.
    """
    length = np.asarray(counts.sum(axis=1)).ravel()
    mean = float(length.mean()) if mean_length is None else mean_length
    entries = counts.tocoo()
    saturation = k1 * (1 - b + b * length / max(mean, 1e-12))
    value = idf[entries.col] * entries.data * (k1 + 1) / (entries.data + saturation[entries.row])
    return sparse.csr_array((value, (entries.row, entries.col)), shape=counts.shape)


def _tally(texts: Sequence[str], tokenizer: str) -> tuple[dict[str, int], sparse.csr_array]:
    columns: dict[str, int] = {}
    rows, terms = array("q"), array("q")
    for term, row in _instances(texts, tokenizer):
        terms.append(columns.setdefault(term, len(columns)))
        rows.append(row)
    shape = len(texts), len(columns)
    place = np.frombuffer(rows, np.int64), np.frombuffer(terms, np.int64)
    counts = sparse.csr_array(sparse.coo_array((np.ones(len(rows)), place), shape=shape))
    counts.sum_duplicates()
    return columns, counts


def _instances(texts: Iterable[str], tokenizer: str) -> Iterable[tuple[str, int]]:
    """Yield every term with the number of its text, in alphabetical order of terms."""
    database = sqlite3.connect(":memory:")
    try:
        # Without content: only the index is needed.
        database.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{tokenizer}')")
        database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(texts))
        database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, 'instance')")
        yield from database.execute("SELECT term, doc FROM terms")
    except sqlite3.OperationalError as error:
        raise InputError(
            f"Search needs SQLite with its full-text search FTS5, which this Python lacks ({error})."
        ) from None
    finally:
        database.close()


def find_words(corpus: Corpus, query: str) -> np.ndarray:
    """Return how often a query has each word of the vocabulary (V).

    The query is read with the corpus's own recipe. Words that this leaves out (a query is seldom a sentence) are looked
    up as written, the longest entries first.

    >>> from superwords import Corpus
    >>> corpus = Corpus.from_counts([[1, 1, 2]], ["attack", "heart", "heart attack"])
    >>> find_words(corpus, "Heart attack, or heart?").tolist()
    [0.0, 1.0, 1.0]
    """
    if len(query) > LONGEST_QUERY:
        raise InputError(
            f"The query has {len(query):,} characters; give at most {LONGEST_QUERY:,}, or a document to start from."
        )
    recipe = corpus.notes.get("recipe")
    found = np.zeros(corpus.n_words)
    if (
        recipe
        and recipe.get("words", "tokens") != "tokens"
        and recipe.get("language") is not None
        and not recipe.get("tokenizer")
    ):
        read = Corpus.from_texts(
            [query],
            language=recipe["language"],
            vocabulary=corpus.vocabulary,
            recipe=recipe,
            keep_texts=False,
            n_jobs=1,
        )
        found = read.counts.toarray().ravel().astype(float)
    number = {word.lower(): i for i, word in enumerate(corpus.vocabulary)}
    plain = re.findall(r"\w[\w'’-]*", query.lower())
    at = 0
    by_spelling = np.zeros(corpus.n_words)
    while at < len(plain):
        for length in range(min(_LONGEST, len(plain) - at), 0, -1):
            word = number.get(" ".join(plain[at : at + length]))
            if word is not None:
                by_spelling[word] += 1
                at += length - 1
                break
        at += 1
    return np.maximum(found, by_spelling)
