"""Pages of words, and the page "Search"; documents have ids there and link to the row of a passage."""

from __future__ import annotations

from typing import Any

import pandas as pd

from superwords.analysis.tables import objects, sources
from superwords.analysis.words import concepts_of_word, named_words, word_index
from superwords.errors import InputError
from superwords.search import discovery, index
from superwords.tabular import plain, records
from superwords.web.catalog import Catalog
from superwords.web.documents import label_columns, row_column
from superwords.web.tables import CONCEPT, DOCUMENT, TOKENS, WORD, Column, Table, bounded, page

NEIGHBOURS = 50
SHOWN, MOST_SHOWN, AMONG = 10, 50, 100
MOST_MARKS = 200
SURE, MOST_TASTES = 0.8, 6
_BETWEEN = "\t"  # ids in an address


@page("tables/words")
def words(catalog: Catalog) -> Table:
    columns = [
        WORD,
        Column("rows", catalog.rows.capitalize(), "number"),
        TOKENS,
        Column("n_concepts", "Concepts", "number"),
        Column("name", f"Concept that most {catalog.rows} use it for", "concept", link="strongest"),
    ]
    rows = catalog.words.assign(name=catalog.names_of(catalog.words["strongest"]))
    return Table(columns, rows.sort_values("tokens", ascending=False, kind="stable"), "tokens")


@page("word")
def word(catalog: Catalog, word: str) -> dict[str, Any]:
    """Return one word, or several with commas between."""
    words = named_words(catalog.model.result_, word)
    row, *_ = [catalog.words.iloc[word_index(catalog.model.result_, one)] for one in words]
    return {"words": words, **{key: plain(row[key]) for key in ("word", "rows", "tokens", "n_concepts")}}


@page("tables/word-concepts")
def word_concepts(catalog: Catalog, word: str) -> Table:
    """Return concepts that a word is a used word of, those that use it most first and leftovers last."""
    columns = [
        CONCEPT,
        Column("share_of_uses", "Of its uses", "share"),
        Column("share_used", f"Of the concept's {catalog.rows}, use the word for it", "share"),
        Column("probability", "Draws that use it", "share"),
    ]
    return Table(columns, catalog.reliable_first(concepts_of_word(catalog.model.result_, word)))


@page("tables/word-neighbours")
def word_neighbours(catalog: Catalog, word: str) -> Table:
    """Return words that belong with one, or with several named with commas between."""
    words = named_words(catalog.model.result_, word)
    several = len(words) > 1
    columns = [
        WORD,
        *([Column("evidence", "Evidence", "decimal")] if several else []),
        Column("together", "Used for the same concept", "share"),
        Column("mcse", "Monte-Carlo error", "decimal"),
    ]
    rows = catalog.called("similar_words", tuple(words) if several else words[0], NEIGHBOURS)
    return Table(columns, rows, "evidence" if several else "together")


@page("tables/said")
def said(catalog: Catalog, query: str) -> Table:
    """Return the rows whose text has the words."""
    rows = catalog.row_names.iloc[catalog.index.rows(bounded(query, "search"))].reset_index(drop=True)
    snippet = Column("snippet", "Where", "snippet", sortable=False)

    def with_snippets(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(snippet=objects(catalog.index.snippets(query, part["row"])).to_numpy())

    return Table([row_column(catalog), *label_columns(catalog), snippet], rows, complete=with_snippets)


@page("tables/said-by")
def said_by(catalog: Catalog, query: str) -> Table:
    """Return the documents whose speaker, title, id or group has the words."""
    rows = catalog.document_names.iloc[catalog.index.documents(bounded(query, "search"))].reset_index(drop=True)
    return Table([DOCUMENT, *label_columns(catalog)], rows)


@page("search")
def search(catalog: Catalog, query: str = "", n: int = SHOWN) -> dict[str, Any]:
    """Return documents that answer a query."""
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
