"""Full-text search by SQLite's FTS5: the terms of texts and queries with their BM25 weights, and where words occur."""

from __future__ import annotations

import re
import sqlite3
import string
import threading
import weakref
from array import array
from collections.abc import Iterable
from contextlib import closing
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.analysis.documents import document_labels
from superwords.analysis.tables import sources
from superwords.errors import InputError
from superwords.text.corpus import Corpus, fitted_groups

K1, B = 1.2, 0.75  # as in FTS5's own bm25()
STEMMED, AS_WRITTEN = "porter unicode61", "unicode61"
LONGEST_QUERY = 20_000  # characters
BEGIN, END = "\x02", "\x03"  # around a word that was found, in a snippet
_LONGEST = 5  # words of an entry of the vocabulary
_SNIPPET_WORDS = 40
_PART = re.compile(r'"([^"]*)"|(\S+)')


def tokenizer_of(corpus: Corpus) -> str:
    return STEMMED if (corpus.notes.get("recipe") or {}).get("language", "en") == "en" else AS_WRITTEN


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
    tokenizer, texts = tokenizer_of(corpus), corpus.vocabulary if corpus.texts is None else corpus.texts
    columns: dict[str, int] = {}
    rows, terms = array("q"), array("q")
    for term, row in _instances(texts, tokenizer):
        terms.append(columns.setdefault(term, len(columns)))
        rows.append(row)
    counts = sparse.csr_array((np.ones(len(rows)), (rows, terms)), shape=(len(texts), len(columns)))
    return Terms(columns, counts if corpus.texts is not None else sparse.csr_array(corpus.counts @ counts), tokenizer)


def query_terms(query: str, tokenizer: str) -> list[tuple[str, str]]:
    """Return the words of a query in order, each with its term; a word may have several.

    >>> query_terms("Heart attacks", STEMMED)
    [('Heart', 'heart'), ('attacks', 'attack')]
    """
    words = query.split()
    found = sorted(_instances(words, tokenizer), key=itemgetter(1))
    return [(words[n].strip(string.punctuation), term) for term, n in found]


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


def _fill(
    database: sqlite3.Connection, name: str, texts: Iterable[str], tokenizer: str, options: str = ", content=''"
) -> None:
    """Make a table of FTS5 with the index of these texts; without options it keeps the texts too."""
    try:
        database.execute(f"CREATE VIRTUAL TABLE {name} USING fts5(text, tokenize='{tokenizer}'{options})")
    except sqlite3.OperationalError as error:
        raise InputError(
            f"Search needs SQLite with its full-text search FTS5, which this Python lacks ({error})."
        ) from None
    database.executemany(f"INSERT INTO {name}(rowid, text) VALUES (?, ?)", enumerate(texts))
    database.commit()


def _instances(texts: Iterable[str], tokenizer: str) -> Iterable[tuple[str, int]]:
    """Yield every term with the number of its text, in alphabetical order of terms."""
    with closing(sqlite3.connect(":memory:")) as database:
        _fill(database, "texts", texts, tokenizer)
        database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, 'instance')")
        yield from database.execute("SELECT term, doc FROM terms")


class TextIndex:
    """Index the texts and labels of a corpus on first use, independent of concepts."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._turn = threading.Lock()

    @cached_property
    def _database(self) -> sqlite3.Connection:
        database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, database.close)
        ids, metadata = sources(self.corpus)
        groups = (map(str, metadata[name]) for name in fitted_groups(self.corpus))
        columns = [ids, document_labels(self.corpus), *groups]
        _fill(database, "said", self.corpus.texts or [], tokenizer_of(self.corpus))
        _fill(database, "labels", map(" · ".join, zip(*columns)), AS_WRITTEN)
        return database

    def rows(self, query: str) -> np.ndarray:
        """Return the rows of the corpus that have all the words, the best first."""
        return self._found("said", query)

    def documents(self, query: str) -> np.ndarray:
        """Return the documents whose label has all the words."""
        return self._found("labels", query)

    def _found(self, name: str, query: str) -> np.ndarray:
        asked = f"SELECT rowid FROM {name} WHERE {name} MATCH ? ORDER BY rank, rowid"
        with self._turn:
            return np.array([row for (row,) in self._database.execute(asked, [match_words(query)])], int)

    def snippets(self, query: str, rows: Iterable[int]) -> list[str]:
        """Return the stretch of each of a few rows that has most of the words, these in marks."""
        texts, chosen = self.corpus.texts, list(rows)
        if texts is None or not chosen:
            return ["" for _ in chosen]
        asked = f"SELECT rowid, snippet(said, 0, ?, ?, ' … ', {_SNIPPET_WORDS}) FROM said WHERE said MATCH ?"
        with closing(sqlite3.connect(":memory:")) as database:
            _fill(database, "said", [texts[d] for d in chosen], tokenizer_of(self.corpus), options="")
            known = dict(database.execute(asked, [BEGIN, END, match_words(query)]).fetchall())
        return [" ".join(known.get(k, "").split()) for k in range(len(chosen))]


def match_words(query: str) -> str:
    """Return a query of FTS5: all words, quoted phrases as they are, `health*` for any ending.

    >>> match_words('Kennedy "health care" tax*')
    '"Kennedy" "health care" "tax" *'
    """
    parts = []
    for phrase, word in _PART.findall(query.replace("“", '"').replace("”", '"').replace("\x00", " ")):
        text = (phrase or word).replace('"', " ").strip()
        if any(one.isalnum() for one in text):
            parts.append(f'"{text.rstrip("*")}"' + (" *" if word.endswith("*") else ""))
    if not parts:
        raise InputError("The search is empty; give a few words to look for.")
    return " ".join(parts)


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
    recipe, found = corpus.notes.get("recipe") or {}, np.zeros(corpus.n_words)
    is_tagged = recipe.get("words", "tokens") != "tokens" and not recipe.get("tokenizer")
    if is_tagged and recipe.get("language") is not None:
        settings: dict[str, Any] = {"vocabulary": corpus.vocabulary, "recipe": recipe, "keep_texts": False}
        read = Corpus.from_texts([query], language=recipe["language"], n_jobs=1, **settings)
        found = read.counts.toarray().ravel().astype(float)
    number = {word.lower(): i for i, word in enumerate(corpus.vocabulary)}
    plain = re.findall(r"\w[\w'’-]*", query.lower())
    by_spelling, at = np.zeros(corpus.n_words), 0
    while at < len(plain):
        entries = {length: " ".join(plain[at : at + length]) for length in range(min(_LONGEST, len(plain) - at), 0, -1)}
        length = next((length for length, entry in entries.items() if entry in number), 0)
        if length:
            by_spelling[number[entries[length]]] += 1
        at += max(length, 1)
    return np.maximum(found, by_spelling)
