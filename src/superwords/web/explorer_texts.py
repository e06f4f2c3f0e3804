"""Full-text search by SQLite's FTS5: passages that contain words, and documents by name."""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.documents import document_labels
from superwords.analysis.tables import sources
from superwords.errors import InputError
from superwords.search.terms import AS_WRITTEN, STEMMED
from superwords.text.corpus import Corpus
from superwords.web.catalog import Catalog, group_texts, texts
from superwords.web.json_tables import LONGEST_QUERY, Column, Table

BEGIN, END = "\x02", "\x03"  # around a word that was found, in a snippet
_SNIPPET_WORDS = 40
_PART = re.compile(r'"([^"]*)"|(\S+)')


class TextIndex:
    """Index the texts and labels of a corpus on first use, independent of concepts."""

    def __init__(self, corpus: Corpus):
        self.corpus = corpus
        recipe = corpus.notes.get("recipe") or {}
        self.tokenizer = STEMMED if recipe.get("language", "en") == "en" else AS_WRITTEN
        self._turn = threading.Lock()

    @cached_property
    def _database(self) -> sqlite3.Connection:
        database = sqlite3.connect(":memory:", check_same_thread=False)
        ids, metadata = sources(self.corpus)
        groups = [name for name in self.corpus.notes.get("groups", []) if name in metadata]
        columns = [document_labels(self.corpus), *(map(str, metadata[name]) for name in groups)]
        labels = (" · ".join(parts) for parts in zip(ids, *columns))
        _fill(database, "said", self.corpus.texts or [], self.tokenizer, "content=''")
        _fill(database, "labels", labels, AS_WRITTEN, "content=''")
        weakref.finalize(self, database.close)
        return database

    def make(self) -> None:
        """Read the texts now."""
        with self._turn:
            _ = self._database

    def rows(self, query: str) -> np.ndarray:
        """Return the rows of the corpus that have all the words, the best first."""
        return self._found("said", query)

    def documents(self, query: str) -> np.ndarray:
        """Return the documents whose label has all the words."""
        return self._found("labels", query)

    def _found(self, name: str, query: str) -> np.ndarray:
        with self._turn:
            found = self._database.execute(
                f"SELECT rowid FROM {name} WHERE {name} MATCH ? ORDER BY rank, rowid", [match_words(query)]
            )
            return np.array([row for (row,) in found], int)

    def snippets(self, query: str, rows: Iterable[int]) -> list[str]:
        """Return the stretch of each of a few rows that has most of the words, these in marks."""
        texts = self.corpus.texts
        chosen = list(rows)
        if texts is None or not chosen:
            return ["" for _ in chosen]
        with closing(sqlite3.connect(":memory:")) as database:
            _fill(database, "said", [texts[d] for d in chosen], self.tokenizer)
            found = database.execute(
                f"SELECT rowid, snippet(said, 0, ?, ?, ' … ', {_SNIPPET_WORDS}) FROM said WHERE said MATCH ?",
                [BEGIN, END, match_words(query)],
            )
            known = dict(found.fetchall())
        return [" ".join(known.get(k, "").split()) for k in range(len(chosen))]


def _fill(
    database: sqlite3.Connection, name: str, given: Iterable[str], tokenizer: str, *options: str
) -> None:
    settings = ", ".join(["text", *options, f"tokenize='{tokenizer}'"])
    database.execute(f"CREATE VIRTUAL TABLE {name} USING fts5({settings})")
    database.executemany(f"INSERT INTO {name}(rowid, text) VALUES (?, ?)", enumerate(given))
    database.commit()


def match_words(query: str) -> str:
    """Return a query of FTS5: all words, phrases in quotation marks as they are, `health*` for any ending.

    >>> match_words('Kennedy "health care" tax*')
    '"Kennedy" "health care" "tax" *'
    """
    if len(query) > LONGEST_QUERY:
        raise InputError(f"The search has {len(query)} characters; give at most {LONGEST_QUERY}.")
    parts = []
    for phrase, word in _PART.findall(query.replace("“", '"').replace("”", '"').replace("\x00", " ")):
        text = (phrase or word).replace('"', " ").strip()
        if any(one.isalnum() for one in text):
            parts.append(f'"{text.rstrip("*")}"' + (" *" if word.endswith("*") else ""))
    if not parts:
        raise InputError("The search is empty; give a few words to look for.")
    return " ".join(parts)


class TextPages:
    """Compute the tables of a search for words."""

    def __init__(self, catalog: Catalog, index: TextIndex):
        self.catalog = catalog
        self.index = index

    def said(self, query: str) -> Table:
        """Return the rows whose text has the words."""
        found = self.index.rows(query)
        rows = pd.DataFrame({"row": found, **self.catalog.labels_of(found)})
        columns: list[Any] = [self.catalog.row_column(), *self.catalog.label_columns()]
        columns.append(Column("snippet", "Where", "snippet", sortable=False))

        def with_snippets(part: pd.DataFrame) -> pd.DataFrame:
            return part.assign(snippet=texts(self.index.snippets(query, part["row"])).to_numpy())

        return Table(columns, rows, complete=with_snippets)

    def said_by(self, query: str) -> Table:
        """Return the documents whose speaker, title, id or group has the words."""
        found = self.index.documents(query)
        ids, metadata = sources(self.catalog.corpus)
        labels = document_labels(self.catalog.corpus)
        groups = self.catalog.shown_groups
        rows = pd.DataFrame(
            {
                "number": found,
                "label": texts(labels[d] for d in found),
                "document": texts(ids[d] for d in found),
                **{name: group_texts(metadata[key].iloc[found]) for name, key in groups.items()},
            }
        )
        first = Column("label", "Document", "document", link="number", note="document")
        return Table([first, *self.catalog.label_columns()], rows)
