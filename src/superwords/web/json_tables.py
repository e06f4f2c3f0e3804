"""Tables that a page requests in parts: searched, sorted and paged, or whole as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from itertools import chain
from typing import Any

import pandas as pd

from superwords.errors import InputError
from superwords.tabular import csv_text, plain

PAGE_ROWS = 25
MOST_ROWS = 200
LONGEST_SEARCH = 200
LONGEST_QUERY = 500


@dataclass(frozen=True)
class Column:
    """Describe a column of a page; `kind` is one of text, number, decimal, share, difference, words, passage,
    snippet, chains, or links to a concept, concepts, a twin, a document, a passage-link or a word.

    The ids of what is linked to are in the column `link`.

    `low` and `high` name the columns of its interval, `note` one that is shown below it in small print,
    and `beside` another column of shares whose bars have the same scale. `mark` names a column that is true of rows
    whose concept cannot be relied on.
    """

    key: str
    label: str
    kind: str = "text"
    low: str | None = None
    high: str | None = None
    link: str | None = None
    note: str | None = None
    beside: str | None = None
    mark: str | None = None
    sortable: bool = True

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("number", "decimal", "share", "difference", "chains", "of")


@dataclass(frozen=True)
class Query:
    """Hold the part of a table that is requested."""

    search: str = ""
    sort: str | None = None
    descending: bool = False
    page: int = 1
    rows: int = PAGE_ROWS


def _is_text(values: pd.Series) -> bool:
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)


@dataclass(frozen=True)
class Table:
    """Hold columns and rows; `sort` is the current order of the rows.

    `complete` adds columns that are too slow to make of every row to the rows of one page.
    """

    columns: list[Column]
    rows: pd.DataFrame
    sort: str | None = None
    descending: bool = True
    complete: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _texts(self) -> list[str]:
        """Return the text of each row that is searched, in lower case."""
        names = [name for column in self.columns for name in (column.key, column.note) if name in self.rows]
        searched = [self.rows[name] for name in names if _is_text(self.rows[name])]
        return ["\n".join(map(_searched, row)).casefold() for row in zip(*searched)]

    def _fields(self) -> list[str]:
        known = ((one.key, one.low, one.high, one.link, one.note, one.mark) for one in self.columns)
        return [name for name in dict.fromkeys(chain.from_iterable(known)) if name is not None]

    def selected(self, query: Query) -> pd.DataFrame:
        """Return the rows that contain every word of the search, sorted."""
        rows = self.rows
        words = query.search.casefold().split()
        if words:
            rows = rows[[all(word in text for word in words) for text in self._texts]]
        if query.sort is None:
            return rows
        if query.sort not in {column.key for column in self.columns if column.sortable}:
            raise InputError("The table cannot be sorted by that column.")
        return rows.sort_values(
            query.sort,
            ascending=not query.descending,
            kind="stable",
            na_position="last",
            key=lambda values: values.map(_folded) if _is_text(values) else values,
        )

    def page(self, query: Query) -> dict[str, Any]:
        """Return one page of rows as plain values, and what is needed to page through."""
        rows = self.selected(query)
        n_pages = max(1, -(-len(rows) // query.rows))
        page = min(query.page, n_pages)
        part = rows.iloc[(page - 1) * query.rows : page * query.rows]
        if self.complete is not None:
            part = self.complete(part)
        fields = [name for name in self._fields() if name in part]
        shown = {name: [plain(value) for value in part[name].tolist()] for name in fields}
        return {
            "columns": [{**vars(column), "scale": self._scale(column)} for column in self.columns],
            "rows": [dict(zip(shown, row)) for row in zip(*shown.values())],
            "total": len(rows),
            "page": page,
            "pages": n_pages,
            "sort": query.sort or self.sort,
            "descending": query.descending if query.sort else self.descending,
            **self.notes,
        }

    def _scale(self, column: Column) -> float | None:
        """Return the value of the longest bar: 1, or less if all shares are small; the largest difference."""
        if column.kind == "difference":
            ends = [self.rows[name].abs().max() for name in (column.key, column.low, column.high) if name]
            return max((float(value) for value in ends if not pd.isna(value)), default=0.0) or 1.0
        if column.kind != "share":
            return None
        known = [self.rows[name].max() for name in (column.key, column.high, column.beside) if name is not None]
        largest = max((float(value) for value in known if not pd.isna(value)), default=1.0)
        return 1.0 if largest > 0.5 or largest <= 0 else largest

    def csv(self, query: Query) -> str:
        """Return all pages of what is asked for."""
        rows = self.selected(query)
        fields = [name for name in self._fields() if name in rows]
        return csv_text(rows[fields])


def _searched(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _folded(value: Any) -> tuple[bool, str]:
    """Return a sort key: missing texts last, the others whatever their case."""
    return value is None, _searched(value).casefold()


def bounded(text: str, what: str, most: int) -> str:
    """Return a text of an address unless it is too long."""
    if len(text) > most:
        raise InputError(f"The {what} has {len(text)} characters; give at most {most}.")
    return text


def read_query(given: Mapping[str, str]) -> Query:
    """Return the query in an address; one clear sentence where it makes no sense."""
    return Query(
        bounded(given.get("search", ""), "search", LONGEST_SEARCH),
        given.get("sort") or None,
        given.get("order", "descending") == "descending",
        whole_number(given, "page", 1),
        min(whole_number(given, "rows", PAGE_ROWS), MOST_ROWS),
    )


def whole_number(given: Mapping[str, str], name: str, otherwise: int | None = None) -> int:
    """Return a positive number in an address."""
    text = given.get(name)
    if text is None and otherwise is not None:
        return otherwise
    if text is None or not (text.isascii() and text.isdecimal() and 1 <= len(text) <= 9 and int(text) >= 1):
        raise InputError(f"The address needs a whole number of at least 1 for {name!r}.")
    return int(text)


def numbers_of(given: Mapping[str, str], name: str) -> list[int]:
    """Return positive numbers with commas between them in an address; none where nothing is given."""
    parts = [one for one in given.get(name, "").split(",") if one]
    return [whole_number({name: one}, name) for one in parts[:MOST_ROWS]]


def call(function: Callable[..., Any], given: Mapping[str, str]) -> Any:
    """Call a page's function with what an address gives for its parameters.

    Addresses count everything from 1; here rows and documents are counted from 0. `given` is the whole address.
    """
    values: dict[str, Any] = {}
    for name, parameter in signature(function).parameters.items():
        is_optional = parameter.default is not Parameter.empty
        if name == "given":
            values[name] = given
        elif name in ("concept", "part"):
            values[name] = whole_number(given, name, parameter.default if is_optional else None)
        elif name in ("row", "document"):
            values[name] = whole_number(given, name) - 1
        elif name in given:
            values[name] = given[name]
        elif not is_optional:
            raise InputError(f"The address needs a value for {name!r}.")
    return function(**values)
