"""Pages of documents and passages: lists, concepts, the text in parts, search and recommendations."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.curation import decisions
from superwords.analysis.documents import one_document
from superwords.analysis.tables import source_of_rows, sources
from superwords.errors import InputError
from superwords.search import discovery, index
from superwords.tabular import plain, records, shortened
from superwords.text.checks import read_recipe
from superwords.text.corpus import Corpus
from superwords.text.sentences import sentence_spans
from superwords.text.stream import read_chunk
from superwords.text.vocabulary import apply_words
from superwords.web.catalog import Catalog
from superwords.web.tables import Column, Table, bounded, page

USUAL = 0.25  # share of a concept's documents from which a word is usual in it
MOST_MISSING = 12
LONGEST_LABEL = 300
BEGIN_CHARACTERS = 160
PART_CHARACTERS = 5000
SHOWN, MOST_SHOWN, AMONG = 10, 50, 100  # documents of a search
MOST_MARKS = 200
SURE, MOST_TASTES = 0.8, 6
_BETWEEN = "\t"  # ids in an address
_PLAIN_END = re.compile(r"(?<=[.!?])\s+|\n+")
_INFLECTED = "(?:'s|s|es|n|en|e)?"

Place = tuple[int, int, str]


def _listed(catalog: Catalog, rows: pd.DataFrame, *first: Column | str, **settings: Any) -> Table:
    rows = rows.assign(name=catalog.names_of(rows["strongest"]))
    return catalog.table(rows, *first, "tokens", "number of concepts", "strongest concept", **settings)


@page("tables/rows")
def rows(catalog: Catalog) -> Table:
    return _listed(catalog, catalog.listed(False), *catalog.row_columns)


@page("tables/documents")
def documents(catalog: Catalog) -> Table:
    if catalog.corpus.parent is None:
        return rows(catalog)
    return _listed(catalog, catalog.listed(True), "document", *catalog.label_columns, "passages")


def _passages_of(catalog: Catalog, document: int) -> np.ndarray:
    """Return the rows of a whole document, in their order."""
    if catalog.corpus.parent is None:
        raise InputError("The documents of this model are not cut into passages.")
    passages = catalog.passages
    if not 0 <= document < passages.shape[0]:
        raise InputError(f"There is no such document; there are {passages.shape[0]}.")
    return np.asarray(passages.indices[passages.indptr[document] : passages.indptr[document + 1]])


@page("document")
def document(catalog: Catalog, document: int) -> dict[str, Any]:
    _passages_of(catalog, document)
    metadata = sources(catalog.corpus)[1]
    known = catalog.listed(True)[["label", "document", "tokens", "passages"]].iloc[[document]]
    return {**records(known)[0], "labels": _metadata_pairs(metadata.iloc[document]), "documents": len(metadata)}


@page("tables/document-passages")
def document_passages(catalog: Catalog, document: int) -> Table:
    own, texts = catalog.listed(False).iloc[_passages_of(catalog, document)], catalog.corpus.texts
    own = own.assign(place=np.arange(1, len(own) + 1))
    if texts is not None:
        own["begin"] = [shortened(texts[d][: 2 * BEGIN_CHARACTERS], BEGIN_CHARACTERS) for d in own["row"]]
    columns = ["place"] if texts is None else ["place", "begin"]
    return _listed(catalog, own, *columns, sort="place", descending=False)


@page("tables/document-concepts")
def document_concepts(catalog: Catalog, document: int) -> Table:
    _passages_of(catalog, document)
    own = one_document(catalog.model.result_, document)
    own = own[own["concept"].isin(catalog.use(True).typical[[document]].indices + 1)]
    own = own.sort_values("weight", ascending=False, kind="stable").reset_index(drop=True)
    known = own[["concept", "weight", "low", "high", "probability"]]
    chains = catalog.concept_rows.set_index("concept")[["found_by", "n_chains"]]
    rows = catalog.reliable_first(known.join(chains, on="concept"))
    return catalog.table(rows, "concept", "weight with interval", "probability of use", "found by")


def _check(catalog: Catalog, row: int) -> None:
    if not 0 <= row < catalog.corpus.n_documents:
        what = "document" if catalog.corpus.parent is None else "passage"
        raise InputError(f"There is no such {what}; there are {catalog.corpus.n_documents}.")


@page("row")
def row(catalog: Catalog, row: int) -> dict[str, Any]:
    """Return the head of a row's page, with the concepts of its imputed tokens: the legend of its colours.

    The rows before and after are those of the same document.
    """
    _check(catalog, row)
    corpus, whole = catalog.corpus, {}
    own, at = np.arange(corpus.n_documents), row
    if corpus.parent is not None:
        number = int(source_of_rows(corpus)[row])
        own = _passages_of(catalog, number)
        at = int(np.searchsorted(own, row))
        whole = {"whole": number, "whole_label": catalog.named(True)["label"].iloc[number]}
    total = imputed(catalog, row).groupby("concept", sort=False, as_index=False)["tokens"].sum()
    total = total[total["tokens"] > 0].sort_values("tokens", ascending=False, kind="stable")
    total.insert(1, "name", catalog.names_of(total["concept"]))
    return {
        "label": catalog.named(False)["label"].iloc[row],
        "document": corpus.ids[row],
        "labels": _metadata_pairs(corpus.metadata.iloc[row]),
        "tokens": int(catalog.n_tokens[row]),
        "parts": len(_parts(corpus, row)),
        "imputed": records(total),
        "before": int(own[at - 1]) if at else None,
        "after": int(own[at + 1]) if at + 1 < len(own) else None,
        **whole,
    }


def imputed(catalog: Catalog, row: int) -> pd.DataFrame:
    """Return the words that are on in a row in the consensus draw, with `concept` and the `tokens` imputed to each.

    Merged concepts are one.
    """
    model = catalog.model
    state, tokens = model.sampled_.consensus_draw.state, model.sampled_.consensus_draw.tokens
    # The concept that each one of the draw counts as; 0: hidden.
    shown = np.append(decisions(model.choices_).columns(model.n_concepts_), -1)
    concept = shown[model.sampled_.consensus_column] + 1
    at = int(np.flatnonzero(model.order_ == row)[0])
    pairs = slice(state.doc_ptr[at], state.doc_ptr[at + 1])
    ends = state.pair_ptr[state.doc_ptr[at] : state.doc_ptr[at + 1] + 1]
    entries = slice(ends[0], ends[-1])
    own = pd.DataFrame(
        {
            "concept": np.repeat(concept[state.concept[pairs]], np.diff(ends)),
            "word": state.word[entries],
            "tokens": tokens.entry[entries].astype(int),
        }
    )
    return own[own["concept"] > 0].groupby(["concept", "word"], sort=False).sum().reset_index()


@page("tables/row-concepts")
def row_concepts(catalog: Catalog, row: int) -> Table:
    """Return the concepts a row uses in at least half of the draws, and its variant of each in the consensus draw.

    The variant: which of its words the row uses, could have used, and lacks.
    """
    _check(catalog, row)
    vocabulary, share, use = catalog.corpus.vocabulary, catalog.model.result_.concept_word, catalog.use(False)
    weight, held = (matrix[[row]].toarray().ravel() for matrix in (use.weight, use.held))
    uses, found = imputed(catalog, row), []
    for j in use.typical[[row]].indices:
        own = uses[uses["concept"] == j + 1].sort_values("word")
        used = own[own["tokens"] > 0].sort_values("tokens", ascending=False, kind="stable")
        usual = np.setdiff1d(np.flatnonzero(share[j] >= USUAL), own["word"])
        missing = usual[np.argsort(-share[j][usual], kind="stable")][:MOST_MISSING]
        words = [[vocabulary[i] for i in some] for some in (used["word"], own.loc[own["tokens"] == 0, "word"], missing)]
        found.append([int(j) + 1, float(weight[j]), min(float(held[j]), 1.0), int(own["tokens"].sum()), *words])
    names = ["concept", "weight", "probability", "tokens", "used", "unused", "missing"]
    rows = pd.DataFrame(found, columns=pd.Index(names)).sort_values(["weight", "concept"], ascending=[False, True])
    columns = ("concept", "weight", "P(uses)", "tokens", "used here", "unused here", "missing here")
    return catalog.table(catalog.reliable_first(rows), *columns)


@page("text")
def text(catalog: Catalog, row: int, part: int = 1) -> dict[str, Any]:
    """Return a part of a row's text, in stretches: plain, or a word with the concepts it is imputed to.

    A word's tokens in a row are exchangeable, so each of its places shows all of its concepts, that with the most
    tokens first.
    """
    _check(catalog, row)
    corpus = catalog.corpus
    parts = _parts(corpus, row)
    if not 1 <= part <= len(parts) or corpus.texts is None:
        raise InputError(f"There is no such part of the text; there are {len(parts)}.")
    start, end = parts[part - 1]
    text = corpus.texts[row][start:end]
    uses = imputed(catalog, row)
    uses = uses[uses["tokens"] > 0].sort_values(["tokens", "concept"], ascending=[False, True])
    uses = uses.assign(word=[corpus.vocabulary[i] for i in uses["word"]])
    of_word = {str(one): own[["concept", "tokens"]] for one, own in uses.groupby("word", sort=False)}
    stretches, done = list[dict[str, Any]](), 0
    for begin, stop, word in find_words(corpus, text, of_word):
        if begin > done:
            stretches.append({"text": text[done:begin]})
        stretches.append({"text": text[begin:stop], "word": word, "concepts": of_word[word].to_numpy().tolist()})
        done = stop
    stretches.append({"text": text[done:]})
    return {"part": part, "parts": len(parts), "stretches": stretches}


def _metadata_pairs(labels: pd.Series) -> list[list[str]]:
    known = {str(key): plain(value) for key, value in labels.items() if not isinstance(value, list | dict)}
    return [[key, str(value)[:LONGEST_LABEL]] for key, value in known.items() if value is not None]


def _is_cut_by_recipe(corpus: Corpus) -> bool:
    """Return whether it is known how the texts were cut into words."""
    recipe = corpus.notes.get("recipe")
    return recipe is not None and not recipe.get("tokenizer")


def _parts(corpus: Corpus, row: int) -> list[tuple[int, int]]:
    if corpus.texts is None:
        return []
    return text_parts(corpus.texts[row], corpus.notes["recipe"]["language"] if _is_cut_by_recipe(corpus) else None)


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


def find_words(corpus: Corpus, text: str, words: Collection[str]) -> list[Place]:
    """Return the places of these words, from the left, none inside another.

    They are found as the corpus was cut into words, if it is known how; else by their spelling.
    """
    if not _is_cut_by_recipe(corpus):
        return spelled_places(text, words)
    method, language, spelling = read_recipe(corpus.notes["recipe"])
    try:
        stream = None if language is None else read_chunk(([text], [language]), method)
    except InputError:  # the tagger of the corpus is not installed here
        stream = None
    if stream is None:
        return spelled_places(text, words)
    spans: list[tuple[int, int]] = []  # of each candidate token, searched from the left; (-1, -1) if not found
    cursor, last = 0, -1
    bare = [re.escape(surface.removesuffix("'s")) for surface, _, _ in stream.types]
    forms = [re.compile(rf"(?<!\w){form}", re.IGNORECASE) for form in bare]
    for kind, sentence in zip(stream.token_type.tolist(), stream.token_sentence.tolist()):
        begin, end = stream.sentence_span[sentence].tolist()
        cursor, last = (begin, sentence) if sentence != last else (cursor, last)
        found = forms[kind].search(text, cursor, end)
        spans.append(found.span() if found else (-1, -1))
        cursor = found.end() if found else cursor
    cut, labels = apply_words(stream, list(spelling), method.max_length), list(spelling.values())
    units = zip(cut.start.tolist(), cut.length.tolist(), cut.unit.tolist())
    places = ((spans[first][0], spans[first + length - 1][1], labels[unit]) for first, length, unit in units)
    return sorted((begin, end, str(label)) for begin, end, label in places if label in words and 0 <= begin < end)


def spelled_places(text: str, words: Collection[str]) -> list[Place]:
    """Return words by their spelling in any case, the longest first, with an ending that only inflects them."""
    if not words:
        return []
    by_spelling = {word.lower(): word for word in words}
    longest_first = sorted(by_spelling, key=lambda one: (-len(one), one))
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))}){_INFLECTED}(?!\w)", re.IGNORECASE)
    found = ((one, by_spelling.get(one.group(1).lower())) for one in pattern.finditer(text))
    return [(one.start(), one.end(), word) for one, word in found if word is not None]


@page("tables/said")
def said(catalog: Catalog, query: str) -> Table:
    """Return the rows whose text has the words."""
    rows = catalog.named(False).iloc[catalog.index.rows(bounded(query, "search"))].reset_index(drop=True)
    return catalog.table(
        rows,
        *catalog.row_columns,
        "snippet",
        complete=lambda part: part.assign(snippet=catalog.index.snippets(query, part["row"])),
    )


@page("tables/said-by")
def said_by(catalog: Catalog, query: str) -> Table:
    """Return the documents whose speaker, title, id or group has the words."""
    rows = catalog.named(True).iloc[catalog.index.documents(bounded(query, "search"))].reset_index(drop=True)
    return catalog.table(rows, "document", *catalog.label_columns)


@page("search")
def search(catalog: Catalog, query: str = "", n: int = SHOWN) -> dict[str, Any]:
    return index.search_page(catalog.model.result_, bounded(query, "search"), min(n, MOST_SHOWN))


@page("diverse")
def diverse(catalog: Catalog, query: str = "", n: int = SHOWN) -> dict[str, Any]:
    """Return documents that together cover the collection, or the first hits of a query."""
    result, query = catalog.model.result_, bounded(query, "search").strip()
    among = index.search(result, query, AMONG) if query else None
    if among is not None and among.empty:
        return {"hits": []}
    return {"hits": _linked(catalog, discovery.diverse(result, min(n, MOST_SHOWN), among))}


@page("recommend")
def recommend(catalog: Catalog, liked: str = "", disliked: str = "", n: int = SHOWN) -> dict[str, Any]:
    """Return documents like those marked, and what the marks taught."""
    marks = [[one for one in given.split(_BETWEEN) if one] for given in (liked, disliked)]
    if max(map(len, marks)) > MOST_MARKS:
        raise InputError(f"At most {MOST_MARKS} documents can be marked.")
    found = discovery.recommend(catalog.model.result_, marks[0], marks[1], min(n, MOST_SHOWN))
    taught = discovery.tastes(catalog.model.result_, marks[0], marks[1])
    sure = taught[taught["sure"] >= SURE]
    ends = pd.concat([sure[sure["taste"] > 0].head(MOST_TASTES), sure[sure["taste"] < 0].tail(MOST_TASTES)])
    return {"hits": _linked(catalog, found), "tastes": records(ends)}


def _linked(catalog: Catalog, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows of a table with the first row of each document in the corpus."""
    number = {one: d for d, one in enumerate(sources(catalog.corpus)[0])}
    passages = catalog.passages
    return records(table.assign(row=[int(passages.indices[passages.indptr[number[one]]]) for one in table["document"]]))
