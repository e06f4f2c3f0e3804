"""Serve search and discovery to the explorer: hits with reasons, coverage, a reader's taste."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from superwords.analysis.documents import rows_of_documents
from superwords.analysis.tables import sources
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.search.discovery import diverse, recommend, tastes
from superwords.search.index import search, search_page
from superwords.tabular import records
from superwords.web.json_tables import LONGEST_QUERY, whole_number

SHOWN, MOST_SHOWN, AMONG = 10, 50, 100
MOST_MARKS = 200
SURE, MOST_TASTES = 0.8, 6
_BETWEEN = "\t"  # ids in an address


class Finder:
    """Answer the page "Search"; documents have ids and link to the row of a passage."""

    def __init__(self, model: ConceptModel):
        self.model = model

    def search(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return documents that answer a query."""
        return search_page(self.model.result_, _query(given), _shown(given))

    def diverse(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return documents that together cover the collection, or the first hits of a query."""
        result, query = self.model.result_, _query(given).strip()
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
        ends = pd.concat(
            [sure[sure["taste"] > 0].head(MOST_TASTES), sure[sure["taste"] < 0].tail(MOST_TASTES)]
        )
        return {"hits": self._linked(found), "tastes": records(ends)}

    def _linked(self, table: pd.DataFrame) -> list[dict[str, Any]]:
        """Return rows of a table with the first row of each document in the corpus."""
        rows = rows_of_documents(self.model.result_)
        number = {one: d for d, one in enumerate(sources(self.model.corpus_)[0])}
        first = [int(rows.indices[rows.indptr[number[one]]]) for one in table["document"]]
        return records(table.assign(row=first))


def _query(given: Mapping[str, str]) -> str:
    query = given.get("query", "")
    if len(query) > LONGEST_QUERY:
        raise InputError(f"The search has {len(query)} characters; give at most {LONGEST_QUERY}.")
    return query


def _shown(given: Mapping[str, str]) -> int:
    return min(whole_number(given, "n", SHOWN), MOST_SHOWN)


def _marks(given: Mapping[str, str], name: str) -> list[str]:
    marks = [one for one in given.get(name, "").split(_BETWEEN) if one]
    if len(marks) > MOST_MARKS:
        raise InputError(f"At most {MOST_MARKS} documents can be marked.")
    return marks
