"""Serve words to the explorer: the vocabulary, a word's concepts, and similar words."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import pandas as pd

from superwords.analysis.words import concepts_of_word, named_words, word_index
from superwords.tabular import plain
from superwords.web.catalog import KEPT_TABLES, Catalog, texts
from superwords.web.json_tables import Column, Table

NEIGHBOURS = 50


class WordPages:
    """Compute tables of a model's words."""

    def __init__(self, catalog: Catalog):
        self.catalog = catalog
        self.model = catalog.model
        self._neighbours = lru_cache(KEPT_TABLES)(lambda word: catalog.model.similar_words(word, NEIGHBOURS))

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
        return {
            "words": words,
            **{key: plain(rows[0][key]) for key in ("word", "rows", "tokens", "n_concepts")},
        }

    def concepts(self, word: str) -> Table:
        """Return concepts that a word is a used word of, those that use it most first and leftovers last."""
        names = self.catalog.names
        table = concepts_of_word(self.model.result_, word)
        columns = [
            Column("name", "Concept", "concept", link="concept"),
            Column("share_of_uses", "Of its uses", "share"),
            Column("share_used", f"Of the concept's {self.catalog.rows}, use the word for it", "share"),
            Column("probability", "Draws that use it", "share"),
        ]
        return Table(columns, table.assign(name=texts(names[j - 1] for j in table["concept"])))

    def neighbours(self, word: str) -> Table:
        columns = [
            Column("word", "Word", "word", link="word"),
            Column("together", "Used for the same concept", "share"),
            Column("mcse", "Monte-Carlo error", "decimal"),
        ]
        return Table(columns, self._neighbours(word), "together")

    def beside(self, word: str) -> Table:
        """Return words that belong with several, named with commas between."""
        columns = [
            Column("word", "Word", "word", link="word"),
            Column("evidence", "Evidence", "decimal"),
            Column("together", "Used for the same concept", "share"),
            Column("mcse", "Monte-Carlo error", "decimal"),
        ]
        words = named_words(self.model.result_, word)
        return Table(columns, self.model.similar_words(words, NEIGHBOURS), "evidence")
