"""Documents as the explorer shows them: their concepts, their words, and their text in parts."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.ranking import TYPICAL
from superwords.errors import InputError
from superwords.tabular import plain
from superwords.web.catalog import Catalog
from superwords.web.json_tables import Column, Table
from superwords.web.places import WordPlaces, text_parts

USUAL = 0.25  # share of a concept's documents from which a word is usual in it
MOST_MISSING = 12


class DocumentPages:
    """Documents (rows of the corpus) and the words of the most probable draw in them."""

    def __init__(self, catalog: Catalog):
        self.catalog = catalog
        self.model = catalog.model
        self.corpus = catalog.corpus
        self.places = WordPlaces(self.corpus)

    @cached_property
    def _position(self) -> np.ndarray:
        """Where the chains have a document."""
        position = np.empty(len(self.model.order_), int)
        position[self.model.order_] = np.arange(len(self.model.order_))
        return position

    @cached_property
    def _column(self) -> np.ndarray:
        """The concept (0, 1, …) of the fitted attributes that a concept of the most probable draw is."""
        order = self.model.result_.concept_order
        column = np.empty(len(order), int)
        column[order] = np.arange(len(order))
        return column

    @cached_property
    def _documents(self) -> pd.DataFrame:
        weights, held = (sparse.csr_array(matrix) for matrix in self.catalog.held)
        row = np.repeat(np.arange(self.corpus.n_documents), np.diff(held.indptr))
        n_held = np.bincount(row[held.data >= TYPICAL], minlength=self.corpus.n_documents)
        rows = np.arange(self.corpus.n_documents)
        strongest = [
            int(weights.indices[a + np.argmax(weights.data[a:b])]) + 1 if b > a else None
            for a, b in pairwise(weights.indptr)
        ]
        return pd.DataFrame(
            {
                "row": rows,
                "document": pd.Series(self.corpus.ids, dtype=object),
                **self.catalog.labels_of(rows),
                "tokens": self.catalog.n_tokens,
                "n_concepts": n_held,
                "strongest": pd.Series(strongest, dtype=object),
            }
        )

    def documents(self) -> Table:
        columns = [
            self.catalog.row_column(),
            *self.catalog.label_columns(),
            Column("tokens", "Tokens", "number"),
            Column("n_concepts", "Concepts", "number"),
            Column("name", "Strongest concept", "concept", link="strongest"),
        ]
        names = self.catalog.names
        held = [None if j is None else names[j - 1] for j in self._documents["strongest"]]
        return Table(columns, self._documents.assign(name=pd.Series(held, dtype=object)))

    def document(self, row: int) -> dict[str, Any]:
        """What the head of a document's page says."""
        self._check(row)
        labels = self.corpus.metadata.iloc[row]
        known = {
            str(key): plain(value) for key, value in labels.items() if not isinstance(value, list | dict)
        }
        return {
            "document": self.corpus.ids[row],
            "labels": [[key, str(value)] for key, value in known.items() if value is not None],
            "tokens": int(self.catalog.n_tokens[row]),
            "parts": len(self._parts(row)),
            "imputed": self._imputed(row),
        }

    def _check(self, row: int) -> None:
        if not 0 <= row < self.corpus.n_documents:
            raise InputError(f"There is no such document; there are {self.corpus.n_documents}.")

    def _pairs(self, row: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Each concept (0, 1, …) a document holds: the words that are on, and the tokens imputed to each."""
        state, tokens = self.model.best_draw_.state, self.model.best_draw_.tokens
        at = self._position[row]
        found = []
        for p in range(state.doc_ptr[at], state.doc_ptr[at + 1]):
            part = slice(state.pair_ptr[p], state.pair_ptr[p + 1])
            found.append((int(self._column[state.concept[p]]), state.word[part], tokens.entry[part]))
        return found

    def concepts(self, row: int) -> Table:
        """The concepts a document holds, and which of their words it uses, could have used, and lacks."""
        self._check(row)
        vocabulary, names = self.corpus.vocabulary, self.catalog.names
        share = self.model.concept_word_
        weight = self.catalog.held[0][[row]].toarray().ravel()
        rows: list[dict[str, Any]] = []
        for j, words, tokens in self._pairs(row):
            usual = np.flatnonzero(share[j] >= USUAL)
            missing = np.setdiff1d(usual, words)
            missing = missing[np.argsort(-share[j][missing], kind="stable")][:MOST_MISSING]
            used = np.flatnonzero(tokens > 0)
            used = used[np.argsort(-tokens[used], kind="stable")]
            rows.append(
                {
                    "concept": j + 1,
                    "name": names[j],
                    "weight": float(weight[j]),
                    "tokens": int(tokens.sum()),
                    "used": [vocabulary[i] for i in words[used]],
                    "unused": [vocabulary[i] for i in words[tokens == 0]],
                    "missing": [vocabulary[i] for i in missing],
                }
            )
        rows.sort(key=lambda one: (-one["weight"], one["concept"]))
        columns = [
            Column("name", "Concept", "concept", link="concept"),
            Column("weight", "Weight", "share"),
            Column("tokens", "Tokens", "number"),
            Column("used", "Words used here", "words", sortable=False),
            Column("unused", "On here, but not used", "words", sortable=False),
            Column("missing", "Usual words that are off here", "words", sortable=False),
        ]
        fields = [name for column in columns for name in column.fields()]
        return Table(columns, pd.DataFrame(rows, columns=list(dict.fromkeys(fields))), "weight")

    def _imputed(self, row: int) -> list[dict[str, Any]]:
        """The concepts of a document by the tokens imputed to them: what its colours stand for."""
        names = self.catalog.names
        total = Counter({j: int(tokens.sum()) for j, _, tokens in self._pairs(row)})
        return [{"concept": j + 1, "name": names[j], "tokens": n} for j, n in total.most_common() if n > 0]

    def _parts(self, row: int) -> list[tuple[int, int]]:
        if self.corpus.texts is None:
            return []
        return text_parts(self.corpus.texts[row], self.places.language)

    def text(self, row: int, part: int) -> dict[str, Any]:
        """A part of a document's text, in stretches: plain, or a word with the concepts it is imputed to.

        A word's tokens in a document are exchangeable, so each of its places shows all of its concepts, that
        with the most tokens first.
        """
        self._check(row)
        parts = self._parts(row)
        if not 1 <= part <= len(parts) or self.corpus.texts is None:
            raise InputError(f"There is no such part of the text; there are {len(parts)}.")
        start, end = parts[part - 1]
        text = self.corpus.texts[row][start:end]
        of_word: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for j, words, tokens in self._pairs(row):
            for i, n in zip(words[tokens > 0], tokens[tokens > 0]):
                of_word[self.corpus.vocabulary[i]].append((-int(n), j + 1))
        stretches: list[dict[str, Any]] = []
        done = 0
        for begin, stop, word in self.places.find(text, list(of_word)):
            if begin > done:
                stretches.append({"text": text[done:begin]})
            imputed = [[concept, -n] for n, concept in sorted(of_word[word])]
            stretches.append({"text": text[begin:stop], "word": word, "concepts": imputed})
            done = stop
        stretches.append({"text": text[done:]})
        return {"part": part, "parts": len(parts), "stretches": stretches}
