"""Serve documents and passages to the explorer: concepts, words, and the text in parts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.curation import decisions
from superwords.analysis.documents import one_document, passage_places, rows_of_documents
from superwords.analysis.tables import sources
from superwords.errors import InputError
from superwords.tabular import plain, records
from superwords.text.checks import read_recipe
from superwords.text.corpus import Corpus
from superwords.text.sentences import sentence_spans
from superwords.text.stream import TokenStream, read_chunk
from superwords.text.vocabulary import apply_words
from superwords.web.catalog import CONCEPT_COLUMN, DOCUMENT_COLUMN, Catalog, Pages, Use, texts
from superwords.web.json_tables import Column, Table

USUAL = 0.25  # share of a concept's documents from which a word is usual in it
MOST_MISSING = 12
LONGEST_LABEL = 300


class DocumentPages(Pages):
    """Present rows of the corpus with the words of the consensus draw, and whole documents."""

    def __init__(self, catalog: Catalog):
        super().__init__(catalog)
        self.places = WordPlaces(self.corpus)

    @cached_property
    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the chains have each row, and as which concept (0, 1, …; -1: hidden) one of the draw counts."""
        position = np.empty(len(self.model.order_), int)
        position[self.model.order_] = np.arange(len(self.model.order_))
        own = self.model.sampled_.consensus_column
        shown = decisions(self.model.choices_).columns(self.model.n_concepts_)
        return position, np.where(own >= 0, np.append(shown, -1)[own], -1)

    @cached_property
    def _parents(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None:
        """Return each passage's document, its place in it, and the rows of each document; None without passages."""
        if self.corpus.parent is None:
            return None
        document, place, _ = passage_places(self.corpus.parent)
        order = np.argsort(document, kind="stable")
        return document, place, np.split(order, np.cumsum(np.bincount(document))[:-1])

    @cached_property
    def _rows(self) -> pd.DataFrame:
        return self._with_concepts(self.catalog.row_names, self.catalog.n_tokens, self.catalog.use)

    @cached_property
    def _documents(self) -> pd.DataFrame:
        """Return whole documents; each passage counts by its tokens."""
        passages = rows_of_documents(self.model.result_)
        tokens = (passages @ self.catalog.n_tokens).astype(int)
        rows = self._with_concepts(self.catalog.document_names, tokens, self.catalog.document_use)
        return rows.assign(passages=np.diff(passages.indptr))

    @staticmethod
    def _with_concepts(rows: pd.DataFrame, tokens: np.ndarray, use: Use) -> pd.DataFrame:
        """Return rows with how many concepts each uses in at least half of the draws, and its strongest one."""
        weights = use.weight
        strongest = [
            int(weights.indices[a + np.argmax(weights.data[a:b])]) + 1 if b > a else None
            for a, b in pairwise(weights.indptr)
        ]
        n_concepts = np.diff(use.typical.indptr)
        return rows.assign(tokens=tokens, n_concepts=n_concepts, strongest=texts(strongest))

    def rows(self) -> Table:
        """Return rows of the corpus."""
        return self._listed(self._rows, self.catalog.row_column(), [])

    def documents(self) -> Table:
        """Return whole documents."""
        if self._parents is None:
            return self.rows()
        return self._listed(self._documents, DOCUMENT_COLUMN, [Column("passages", "Passages", "number")])

    def _listed(self, rows: pd.DataFrame, first: Column, more: list[Column]) -> Table:
        columns = [
            first,
            *self.catalog.label_columns(),
            *more,
            Column("tokens", "Tokens", "number"),
            Column("n_concepts", "Concepts", "number"),
            Column("name", "Strongest concept", "concept", link="strongest"),
        ]
        names = self.catalog.names
        held = [None if j is None else names[j - 1] for j in rows["strongest"]]
        return Table(columns, rows.assign(name=texts(held).to_numpy()))

    def document(self, document: int) -> dict[str, Any]:
        """Return the head of a whole document's page."""
        self._passages_of(document)
        metadata = sources(self.corpus)[1]
        known = self._documents[["label", "document", "tokens", "passages"]].iloc[[document]]
        return {**records(known)[0], "labels": _metadata_pairs(metadata.iloc[document]), "documents": len(metadata)}

    def document_passages(self, document: int) -> Table:
        """Return the passages of a whole document, in their order."""
        table = self._listed(
            self._rows.iloc[self._passages_of(document)], Column("place", "Passage", "passage-link", link="row"), []
        )
        groups = self.catalog.shown_groups
        columns = [column for column in table.columns if column.key not in groups]
        rows = table.rows.assign(place=np.arange(1, len(table.rows) + 1))
        if self.corpus.texts is not None:
            texts = self.corpus.texts
            rows["begin"] = [_begin(texts[d]) for d in rows["row"]]
            columns.insert(1, Column("begin", "Begins", "passage", sortable=False))
        return Table(columns, rows, "place", False)

    def whole_concepts(self, document: int) -> Table:
        """Return the concepts of a whole document, over the draws."""
        self._passages_of(document)
        rows = one_document(self.model.result_, document)
        typical = self.catalog.document_use.typical[[document]].indices + 1
        rows = rows[rows["concept"].isin(typical)].sort_values("weight", ascending=False, kind="stable")
        columns = [
            CONCEPT_COLUMN,
            Column("weight", "Weight", "share", "low", "high"),
            Column("probability", "Probability that it uses it", "share"),
            Column("found_by", "Found by", "chains", link="n_chains"),
        ]
        known = rows[["concept", "weight", "low", "high", "probability"]].reset_index(drop=True)
        chains = self.catalog.every_concept.set_index("concept")[["found_by", "n_chains"]]
        return Table(columns, self.catalog.reliable_first(known.join(chains, on="concept")))

    def _passages_of(self, document: int) -> np.ndarray:
        if self._parents is None:
            raise InputError("The documents of this model are not cut into passages.")
        passages = self._parents[2]
        if not 0 <= document < len(passages):
            raise InputError(f"There is no such document; there are {len(passages)}.")
        return passages[document]

    def row(self, row: int) -> dict[str, Any]:
        """Return the head of a row's page, with the concepts of its imputed tokens: the legend of its colours."""
        self._check(row)
        names = self.catalog.names
        total = Counter({j: int(tokens.sum()) for j, (_, tokens) in self._imputed(row).items()})
        return {
            "label": self.catalog.row_names["label"].iloc[row],
            "document": self.corpus.ids[row],
            "labels": _metadata_pairs(self.corpus.metadata.iloc[row]),
            "tokens": int(self.catalog.n_tokens[row]),
            "parts": len(self._parts(row)),
            "imputed": [{"concept": j + 1, "name": names[j], "tokens": n} for j, n in total.most_common() if n > 0],
            **self._around(row),
        }

    def _around(self, row: int) -> dict[str, Any]:
        """Return the rows before and after: of a passage, those of its document."""
        if self._parents is None:
            before = row - 1 if row else None
            return {"before": before, "after": row + 1 if row + 1 < self.corpus.n_documents else None}
        document, places, passages = self._parents
        number, place = int(document[row]), int(places[row]) - 1
        own = passages[number]
        return {
            "before": int(own[place - 1]) if place else None,
            "after": int(own[place + 1]) if place + 1 < len(own) else None,
            "whole": number,
            "whole_label": self.catalog.document_names["label"].iloc[number],
        }

    def _check(self, row: int) -> None:
        if not 0 <= row < self.corpus.n_documents:
            what = "document" if self.corpus.parent is None else "passage"
            raise InputError(f"There is no such {what}; there are {self.corpus.n_documents}.")

    def _imputed(self, row: int) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return by concept (0, 1, …) the words that are on in a row, each once, and the tokens imputed to each."""
        draw = self.model.sampled_.consensus_draw
        state, tokens = draw.state, draw.tokens
        position, column = self._drawn
        at = position[row]
        found: dict[int, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
        for p in range(state.doc_ptr[at], state.doc_ptr[at + 1]):
            part = slice(state.pair_ptr[p], state.pair_ptr[p + 1])
            found[int(column[state.concept[p]])].append((state.word[part], tokens.entry[part]))
        found.pop(-1, None)
        joined = {}
        for j, members in found.items():  # several where concepts are merged
            words, place = np.unique(np.concatenate([one for one, _ in members]), return_inverse=True)
            counts = np.bincount(place, np.concatenate([one for _, one in members]), len(words))
            joined[j] = words, counts.astype(int)
        return joined

    def concepts(self, row: int) -> Table:
        """Return the concepts a row uses in at least half of the draws, and its variant of each in the consensus draw.

        The variant: which of its words the row uses, could have used, and lacks.
        """
        self._check(row)
        vocabulary, share, use = self.corpus.vocabulary, self.model.result_.concept_word, self.catalog.use
        weight, held = (matrix[[row]].toarray().ravel() for matrix in (use.weight, use.held))
        imputed, none = self._imputed(row), np.zeros(0, int)
        rows: list[dict[str, Any]] = []
        for j in use.typical[[row]].indices:
            words, tokens = imputed.get(int(j), (none, none))
            usual = np.setdiff1d(np.flatnonzero(share[j] >= USUAL), words)
            missing = usual[np.argsort(-share[j][usual], kind="stable")][:MOST_MISSING]
            used = np.flatnonzero(tokens > 0)
            used = used[np.argsort(-tokens[used], kind="stable")]
            rows.append(
                {
                    "concept": int(j) + 1,
                    "weight": float(weight[j]),
                    "probability": min(float(held[j]), 1.0),
                    "tokens": int(tokens.sum()),
                    "used": [vocabulary[i] for i in words[used]],
                    "unused": [vocabulary[i] for i in words[tokens == 0]],
                    "missing": [vocabulary[i] for i in missing],
                }
            )
        rows.sort(key=lambda one: (-one["weight"], one["concept"]))
        columns = [
            CONCEPT_COLUMN,
            Column("weight", "Weight", "share"),
            Column("probability", "P(uses it)", "share"),
            Column("tokens", "Tokens", "number"),
            Column("used", "Words used here", "words", sortable=False),
            Column("unused", "On here, but not used", "words", sortable=False),
            Column("missing", "Usual words that are off here", "words", sortable=False),
        ]
        fields = ["concept", *(column.key for column in columns[1:])]
        return Table(columns, self.catalog.reliable_first(pd.DataFrame(rows, columns=pd.Index(fields))))

    def _parts(self, row: int) -> list[tuple[int, int]]:
        if self.corpus.texts is None:
            return []
        return text_parts(self.corpus.texts[row], self.places.language)

    def text(self, row: int, part: int = 1) -> dict[str, Any]:
        """Return a part of a row's text, in stretches: plain, or a word with the concepts it is imputed to.

        A word's tokens in a row are exchangeable, so each of its places shows all of its concepts, that with the most
        tokens first.
        """
        self._check(row)
        parts = self._parts(row)
        if not 1 <= part <= len(parts) or self.corpus.texts is None:
            raise InputError(f"There is no such part of the text; there are {len(parts)}.")
        start, end = parts[part - 1]
        text = self.corpus.texts[row][start:end]
        of_word: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for j, (words, tokens) in self._imputed(row).items():
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


def _metadata_pairs(labels: pd.Series) -> list[list[str]]:
    """Return metadata as pairs of texts."""
    known = {str(key): plain(value) for key, value in labels.items() if not isinstance(value, list | dict)}
    return [[key, str(value)[:LONGEST_LABEL]] for key, value in known.items() if value is not None]


def _begin(text: str, length: int = 160) -> str:
    short = " ".join(text[: 2 * length].split())
    return short if len(short) <= length else f"{short[: short.rfind(' ', 0, length)]} …"


PART_CHARACTERS = 5000
_PLAIN_END = re.compile(r"(?<=[.!?])\s+|\n+")
_INFLECTED = "(?:'s|s|es|n|en|e)?"

Place = tuple[int, int, str]


def text_parts(text: str, language: str | None) -> list[tuple[int, int]]:
    """Return a long text in parts of a few thousand characters that end where a sentence does."""
    if language is None:
        ends = [found.end() for found in _PLAIN_END.finditer(text)]
    else:
        ends = [end for _, end in sentence_spans(text, language)]
    parts, start = [], 0
    for end in [*ends, len(text)]:
        while end - start > PART_CHARACTERS * 2:  # no sentence ends in there
            parts.append((start, start + PART_CHARACTERS))
            start += PART_CHARACTERS
        if end - start >= PART_CHARACTERS or (end == len(text) and end > start):
            parts.append((start, end))
            start = end
    return parts


class WordPlaces:
    """Finds words as the corpus was cut into them, if it is known how; else by their spelling."""

    def __init__(self, corpus: Corpus):
        self.recipe = corpus.notes.get("recipe")
        self.language: str | None = None
        if self.recipe is not None and not self.recipe.get("tokenizer"):
            self.method, self.language, self.units = read_recipe(self.recipe)

    def find(self, text: str, words: Sequence[str]) -> list[Place]:
        """Return the places of these words, from the left, none inside another."""
        if self.language is None:
            return spelled_places(text, words)
        try:
            stream = read_chunk(([text], [self.language]), self.method)
        except InputError:  # the tagger of the corpus is not installed here
            return spelled_places(text, words)
        sought = set(words)
        cut = apply_words(stream, list(self.units), self.method.max_length)
        labels = list(self.units.values())
        spans = token_spans(text, stream)
        places = []
        for first, length, unit in zip(cut.start.tolist(), cut.length.tolist(), cut.unit.tolist()):
            begin, end = spans[first][0], spans[first + length - 1][1]
            label = labels[unit]
            if label in sought and begin >= 0 and end > begin:
                places.append((begin, end, str(label)))
        return _apart(places)


def token_spans(text: str, stream: TokenStream) -> list[tuple[int, int]]:
    """Return the span of each candidate token, searched from the left; (-1, -1) if not found."""
    spans = []
    cursor, last = 0, -1
    bare = [re.escape(surface.removesuffix("'s")) for surface, _, _ in stream.types]
    forms = [re.compile(rf"(?<!\w){form}", re.IGNORECASE) for form in bare]
    for kind, sentence in zip(stream.token_type.tolist(), stream.token_sentence.tolist()):
        if sentence != last:
            cursor, last = int(stream.sentence_span[sentence, 0]), sentence
        found = forms[kind].search(text, cursor, int(stream.sentence_span[sentence, 1]))
        spans.append(found.span() if found else (-1, -1))
        cursor = found.end() if found else cursor
    return spans


def spelled_places(text: str, words: Sequence[str]) -> list[Place]:
    """Return words by their spelling in any case, the longest first, with an ending that only inflects them."""
    if not words:
        return []
    by_spelling = {word.lower(): word for word in words}
    longest_first = sorted(by_spelling, key=lambda one: (-len(one), one))
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))}){_INFLECTED}(?!\w)", re.IGNORECASE)
    places = []
    for found in pattern.finditer(text):
        word = by_spelling.get(found.group(1).lower())
        if word is not None:
            places.append((found.start(), found.end(), word))
    return places


def _apart(places: list[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in sorted(places):
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept
