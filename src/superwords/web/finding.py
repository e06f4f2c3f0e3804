"""Serve words, full text and search to the explorer."""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.documents import document_labels, rows_of_documents
from superwords.analysis.tables import sources
from superwords.analysis.words import concepts_of_word, named_words, word_index
from superwords.errors import InputError
from superwords.search.discovery import diverse, recommend, tastes
from superwords.search.index import search, search_page
from superwords.search.terms import AS_WRITTEN, STEMMED
from superwords.tabular import plain, records
from superwords.text.corpus import Corpus
from superwords.web.catalog import CONCEPT_COLUMN, DOCUMENT_COLUMN, KEPT_TABLES, Catalog, Pages, texts
from superwords.web.json_tables import LONGEST_QUERY, Column, Table, bounded, whole_number

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


def _fill(database: sqlite3.Connection, name: str, given: Iterable[str], tokenizer: str, *options: str) -> None:
    settings = ", ".join(["text", *options, f"tokenize='{tokenizer}'"])
    database.execute(f"CREATE VIRTUAL TABLE {name} USING fts5({settings})")
    database.executemany(f"INSERT INTO {name}(rowid, text) VALUES (?, ?)", enumerate(given))
    database.commit()


def match_words(query: str) -> str:
    """Return a query of FTS5: all words, phrases in quotation marks as they are, `health*` for any ending.

    >>> match_words('Kennedy "health care" tax*')
    '"Kennedy" "health care" "tax" *'
    """
    parts = []
    query = bounded(query, "search", LONGEST_QUERY)
    for phrase, word in _PART.findall(query.replace("“", '"').replace("”", '"').replace("\x00", " ")):
        text = (phrase or word).replace('"', " ").strip()
        if any(one.isalnum() for one in text):
            parts.append(f'"{text.rstrip("*")}"' + (" *" if word.endswith("*") else ""))
    if not parts:
        raise InputError("The search is empty; give a few words to look for.")
    return " ".join(parts)


NEIGHBOURS = 50


class WordPages(Pages):
    """Compute tables of a model's words."""

    def __init__(self, catalog: Catalog):
        super().__init__(catalog)
        similar = catalog.model.similar_words
        self._neighbours = lru_cache(KEPT_TABLES)(
            lambda words: similar(words[0] if len(words) == 1 else list(words), NEIGHBOURS)
        )

    @cached_property
    def _words(self) -> pd.DataFrame:
        table = self.model.words()
        strongest = [held[0] if held else None for held in table["concepts"]]
        return table.assign(strongest=pd.Series(strongest, dtype=object))

    def words(self) -> Table:
        columns = [
            Column("word", "Word", "word", link="word"),
            Column("rows", self.catalog.rows.capitalize(), "number"),
            Column("tokens", "Tokens", "number"),
            Column("n_concepts", "Concepts", "number"),
            Column("name", f"Concept that most {self.catalog.rows} use it for", "concept", link="strongest"),
        ]
        names = self.catalog.names
        rows = self._words.assign(
            name=texts(None if j is None else names[j - 1] for j in self._words["strongest"])
        ).sort_values("tokens", ascending=False, kind="stable")
        return Table(columns, rows, "tokens")

    def word(self, word: str) -> dict[str, Any]:
        """Return one word, or several with commas between."""
        words = named_words(self.model.result_, word)
        rows = [self._words.iloc[word_index(self.model.result_, one)] for one in words]
        return {"words": words, **{key: plain(rows[0][key]) for key in ("word", "rows", "tokens", "n_concepts")}}

    def concepts(self, word: str) -> Table:
        """Return concepts that a word is a used word of, those that use it most first and leftovers last."""
        columns = [
            CONCEPT_COLUMN,
            Column("share_of_uses", "Of its uses", "share"),
            Column("share_used", f"Of the concept's {self.catalog.rows}, use the word for it", "share"),
            Column("probability", "Draws that use it", "share"),
        ]
        return Table(columns, self.catalog.reliable_first(concepts_of_word(self.model.result_, word)))

    def neighbours(self, word: str) -> Table:
        """Return words that belong with one, or with several named with commas between."""
        words = named_words(self.model.result_, word)
        several = [Column("evidence", "Evidence", "decimal")] if len(words) > 1 else []
        columns = [
            Column("word", "Word", "word", link="word"),
            *several,
            Column("together", "Used for the same concept", "share"),
            Column("mcse", "Monte-Carlo error", "decimal"),
        ]
        return Table(columns, self._neighbours(tuple(words)), "evidence" if several else "together")


SHOWN, MOST_SHOWN, AMONG = 10, 50, 100
MOST_MARKS = 200
SURE, MOST_TASTES = 0.8, 6
_BETWEEN = "\t"  # ids in an address


class SearchPages(Pages):
    """Answer the page "Search"; documents have ids and link to the row of a passage."""

    def __init__(self, catalog: Catalog, index: TextIndex):
        super().__init__(catalog)
        self.index = index

    def said(self, query: str) -> Table:
        """Return the rows whose text has the words."""
        rows = self.catalog.row_names.iloc[self.index.rows(query)].reset_index(drop=True)
        columns: list[Any] = [self.catalog.row_column(), *self.catalog.label_columns()]
        columns.append(Column("snippet", "Where", "snippet", sortable=False))

        def with_snippets(part: pd.DataFrame) -> pd.DataFrame:
            return part.assign(snippet=texts(self.index.snippets(query, part["row"])).to_numpy())

        return Table(columns, rows, complete=with_snippets)

    def said_by(self, query: str) -> Table:
        """Return the documents whose speaker, title, id or group has the words."""
        rows = self.catalog.document_names.iloc[self.index.documents(query)].reset_index(drop=True)
        return Table([DOCUMENT_COLUMN, *self.catalog.label_columns()], rows)

    def search(self, given: Mapping[str, str], query: str = "") -> dict[str, Any]:
        """Return documents that answer a query."""
        return search_page(self.model.result_, bounded(query, "search", LONGEST_QUERY), _shown(given))

    def diverse(self, given: Mapping[str, str], query: str = "") -> dict[str, Any]:
        """Return documents that together cover the collection, or the first hits of a query."""
        result, query = self.model.result_, bounded(query, "search", LONGEST_QUERY).strip()
        among = search(result, query, AMONG) if query else None
        if among is not None and among.empty:
            return {"hits": []}
        return {"hits": self._linked(diverse(result, _shown(given), among))}

    def recommend(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return documents like those marked, and what the marks taught."""
        liked, disliked = _marks(given, "liked"), _marks(given, "disliked")
        found = recommend(self.model.result_, liked, disliked, _shown(given))
        taught = tastes(self.model.result_, liked, disliked)
        sure = taught[taught["sure"] >= SURE]
        ends = pd.concat([sure[sure["taste"] > 0].head(MOST_TASTES), sure[sure["taste"] < 0].tail(MOST_TASTES)])
        return {"hits": self._linked(found), "tastes": records(ends)}

    def _linked(self, table: pd.DataFrame) -> list[dict[str, Any]]:
        """Return rows of a table with the first row of each document in the corpus."""
        rows = rows_of_documents(self.model.result_)
        number = {one: d for d, one in enumerate(sources(self.corpus)[0])}
        first = [int(rows.indices[rows.indptr[number[one]]]) for one in table["document"]]
        return records(table.assign(row=first))


def _shown(given: Mapping[str, str]) -> int:
    return min(whole_number(given, "n", SHOWN), MOST_SHOWN)


def _marks(given: Mapping[str, str], name: str) -> list[str]:
    marks = [one for one in given.get(name, "").split(_BETWEEN) if one]
    if len(marks) > MOST_MARKS:
        raise InputError(f"At most {MOST_MARKS} documents can be marked.")
    return marks
