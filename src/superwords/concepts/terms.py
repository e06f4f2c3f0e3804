"""The terms of a search: every word of the texts, read by SQLite's FTS5, and their BM25 weights."""

from __future__ import annotations

import sqlite3
import string
from array import array
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.corpus.corpus import Corpus
from superwords.errors import InputError

K1, B = 1.2, 0.75  # as in FTS5's own bm25()
STEMMED, AS_WRITTEN = "porter unicode61", "unicode61"


class Terms(NamedTuple):
    """Terms (English ones by their stem) and how often each row of a corpus has them."""

    columns: dict[str, int]
    counts: sparse.csr_array  # (rows, terms)
    tokenizer: str


def read_terms(corpus: Corpus) -> Terms:
    """The terms of a corpus: those of its texts, or those of its vocabulary where no texts were kept.

    Parameters
    ----------
    corpus
        Its rows are documents or passages.

    Returns
    -------
    Terms
        With one row of counts per row of the corpus.

    Examples
    --------
    >>> from superwords import Corpus
    >>> terms = read_terms(Corpus.from_counts([[2, 0], [1, 3]], ["heart attack", "hearts"]))
    >>> terms.columns
    {'attack': 0, 'heart': 1}
    >>> terms.counts.toarray().astype(int).tolist()
    [[2, 2], [1, 4]]
    """
    recipe = corpus.notes.get("recipe") or {}
    is_english = recipe.get("language", "en") == "en"
    tokenizer = STEMMED if is_english else AS_WRITTEN
    if corpus.texts is not None:
        columns, counts = _tally(corpus.texts, tokenizer)
        return Terms(columns, counts, tokenizer)
    columns, of_word = _tally(corpus.vocabulary, tokenizer)
    return Terms(columns, sparse.csr_array(corpus.counts @ of_word), tokenizer)


def query_terms(query: str, tokenizer: str) -> list[tuple[str, str]]:
    """The words of a query as written, in their order, each with its term; a word may have several.

    >>> query_terms("Heart attacks", STEMMED)
    [('Heart', 'heart'), ('attacks', 'attack')]
    """
    words = query.split()
    return [
        (words[n].strip(string.punctuation), term)
        for term, n in sorted(_instances(words, tokenizer), key=_place)
    ]


def _place(instance: tuple[str, int]) -> int:
    return instance[1]


def information(counts: sparse.csr_array) -> np.ndarray:
    """How much a term tells: log(1 + (D − n + ½)/(n + ½)), n the rows that have it."""
    n_rows = counts.shape[0]
    holders = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log1p((n_rows - holders + 0.5) / (holders + 0.5))


def bm25(
    counts: sparse.csr_array, told: np.ndarray, mean_length: float | None = None, k1: float = K1, b: float = B
) -> sparse.csr_array:
    """(rows, terms) What each term of a row adds to the score of a query that has it.

    Parameters
    ----------
    counts
        Terms of the rows.
    told
        The terms' `information`.
    mean_length
        Terms of an average row; by default that of `counts`.
    k1, b
        How soon a term's count saturates, and how much long rows are discounted.
    """
    length = np.asarray(counts.sum(axis=1)).ravel()
    mean = float(length.mean()) if mean_length is None else mean_length
    entries = counts.tocoo()
    saturation = k1 * (1 - b + b * length / max(mean, 1e-12))
    value = told[entries.col] * entries.data * (k1 + 1) / (entries.data + saturation[entries.row])
    return sparse.csr_array((value, (entries.row, entries.col)), shape=counts.shape)


def _tally(texts: Iterable[str], tokenizer: str) -> tuple[dict[str, int], sparse.csr_array]:
    columns: dict[str, int] = {}
    rows, terms = array("q"), array("q")
    n_texts = 0

    def numbered() -> Iterable[str]:
        nonlocal n_texts
        for text in texts:
            n_texts += 1
            yield text

    for term, row in _instances(numbered(), tokenizer):
        terms.append(columns.setdefault(term, len(columns)))
        rows.append(row)
    shape = n_texts, len(columns)
    place = np.frombuffer(rows, np.int64), np.frombuffer(terms, np.int64)
    counts = sparse.csr_array(sparse.coo_array((np.ones(len(rows)), place), shape=shape))
    counts.sum_duplicates()
    return columns, counts


def _instances(texts: Iterable[str], tokenizer: str) -> Iterable[tuple[str, int]]:
    """Every term and the number of its text, terms in alphabetical order."""
    database = sqlite3.connect(":memory:")
    try:
        # Without content: the index alone is wanted.
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
