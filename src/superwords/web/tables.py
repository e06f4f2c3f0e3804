"""Tables that a page requests in parts: searched, sorted and paged, or whole as CSV; and the addresses of all pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, TypeVar

import pandas as pd

from superwords.errors import InputError
from superwords.tabular import csv_text, records

PAGE_ROWS = 25
MOST_ROWS = 200
LONGEST_SEARCH = 200
LONGEST_QUERY = 500
Function = TypeVar("Function", bound=Callable[..., Any])
# Functions of a catalog by their names in addresses; those that begin with "tables/" return a `Table`.
PAGES: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True)
class Column:
    """Describe a column of a page; `kind` is one of text, number, decimal, share, difference, words, passage,
    snippet, chains, of, or links to a concept, concepts, a twin, a document, a passage-link or a word.

    The ids of what is linked to are in the column `link`. `low` and `high` name the columns of its interval, `note` one
    that is shown below it in small print, and `beside` another column of shares whose bars have the same scale. `mark`
    names a column that is true of rows whose concept cannot be relied on.
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

    def scale(self, rows: pd.DataFrame) -> float | None:
        """Return the value of the longest bar: 1, or less if all shares are small; the largest difference."""
        if self.kind not in ("difference", "share"):
            return None
        names = (self.key, self.low, self.high) if self.kind == "difference" else (self.key, self.high, self.beside)
        largest = rows[[name for name in names if name]].abs().max().max()
        if self.kind == "share":
            return float(largest) if 0 < largest <= 0.5 else 1.0
        return 1.0 if pd.isna(largest) else float(largest) or 1.0


# The columns of all tables by the names that pages use; {rows} in a label is "documents" or "passages".
COLUMNS = {
    "concept": Column("name", "Concept", "concept", link="concept", mark="leftover"),
    "strongest concept": Column("name", "Strongest concept", "concept", link="strongest"),
    "most used for": Column("name", "Concept that most {rows} use it for", "concept", link="strongest"),
    "top words": Column("top_words", "Most telling words", "words", sortable=False),
    "theme": Column("theme", "Theme"),
    "concepts of theme": Column("names", "Concepts", "concepts", link="concepts", sortable=False),
    "prevalence": Column("prevalence", "Prevalence", "share", "prevalence_low", "prevalence_high"),
    "mean prevalence": Column("prevalence", "Prevalence", "share"),
    "strength": Column("strength", "Strength", "share", "strength_low", "strength_high"),
    "documents": Column("documents", "Documents", "number"),
    "mean words": Column("n_words", "Words", "number"),
    "coherence": Column("coherence", "Coherence", "decimal"),
    "exclusivity": Column("exclusivity", "Exclusivity", "share"),
    "found by": Column("found_by", "Found by", "chains", link="n_chains"),
    "found again": Column("found_again", "Found again", "of", link="n_pilots"),
    "stability": Column("stability", "Stability", "share"),
    "much like": Column("much_like", "Much like", "twin"),
    "nearest": Column("nearest", "Most alike", "concepts", link="nearest_ids", sortable=False),
    "likeness": Column("likeness", "Likeness to the first", "share"),
    "document": Column("label", "Document", "document", link="number", note="document"),
    "row": Column("label", "Document", "document", link="row", note="document"),
    "passage": Column("label", "Passage", "passage-link", link="row", note="document"),
    "place": Column("place", "Passage", "passage-link", link="row"),
    "begin": Column("begin", "Begins", "passage", sortable=False),
    "telling passage": Column("passage", "Telling passage", "passage", sortable=False),
    "snippet": Column("snippet", "Where", "snippet", sortable=False),
    "passages": Column("passages", "Passages", "number"),
    "tokens": Column("tokens", "Tokens", "number"),
    "number of concepts": Column("n_concepts", "Concepts", "number"),
    "weight": Column("weight", "Weight", "share"),
    "weight with interval": Column("weight", "Weight", "share", "low", "high"),
    "P(uses)": Column("probability", "P(uses it)", "share"),
    "probability of use": Column("probability", "Probability that it uses it", "share"),
    "used here": Column("used", "Words used here", "words", sortable=False),
    "unused here": Column("unused", "On here, but not used", "words", sortable=False),
    "missing here": Column("missing", "Usual words that are off here", "words", sortable=False),
    "word": Column("word", "Word", "word", link="word"),
    "rows": Column("rows", "{Rows}", "number"),
    "draws": Column("probability", "Draws that use it", "share"),
    "share used": Column("share_used", "{Rows} that use it", "share", "used_low", "used_high"),
    "share on": Column("share_on", "{Rows} that have it on", "share", "on_low", "on_high"),
    "share of uses": Column("share_of_uses", "Of its uses", "share"),
    "share of rows": Column("share_used", "Of the concept's {rows}, use the word for it", "share"),
    "evidence": Column("evidence", "Evidence", "decimal"),
    "together": Column("together", "Used for the same concept", "share"),
    "mcse": Column("mcse", "Monte-Carlo error", "decimal"),
    "size of group": Column("n_rows", "{Rows}", "number"),
    "words of group": Column("top_words", "Words", "words", sortable=False),
    "group difference": Column("difference", "Difference", "difference", "low", "high"),
    "trend": Column("change", "Change", "difference", "low", "high"),
    "P(rises)": Column("probability_rises", "P(it rises)", "share"),
    "early": Column("early", "Earlier half", "share", "early_low", "early_high"),
    "late": Column("late", "Later half", "share", "late_low", "late_high"),
    "change of word": Column("change", "Change", "difference"),
    "term": Column("label", "Term"),
    "effect": Column("effect", "Effect, other columns held fixed", "difference", "low", "high"),
    "alone": Column("unadjusted", "Effect, this column alone", "difference", "unadjusted_low", "unadjusted_high"),
    "P(positive)": Column("probability_positive", "P(it is positive)", "share"),
    "quantity": Column("quantity", "Quantity"),
    "rhat": Column("rhat", "R-hat", "decimal"),
    "ess": Column("ess", "Effective sample size", "number"),
    "ess in tails": Column("ess_tail", "In the tails", "number"),
    "move": Column("move", "Move"),
    "proposal": Column("proposal", "Proposal"),
    "tried": Column("tried", "Tried", "number"),
    "accepted": Column("accepted", "Accepted", "number"),
    "acceptance": Column("acceptance", "Accepted, of those tried", "share"),
    "seconds": Column("seconds", "Seconds", "decimal"),
    "share of time": Column("time_share", "Of the time", "share"),
    "words of other": Column("words", "Words"),
    "chains of other": Column("chains", "Chains that find it"),
}


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

    def fields(self, rows: pd.DataFrame) -> list[str]:
        """Return the columns that a page needs."""
        known = [name for one in self.columns for name in (one.key, one.low, one.high, one.link, one.note, one.mark)]
        return [name for name in dict.fromkeys(known) if name and name in rows]

    def selected(self, given: Mapping[str, str]) -> pd.DataFrame:
        """Return the rows that contain every word of the `search` that an address gives, by its `sort` and `order`."""
        rows, sort = self.rows, given.get("sort")
        words = bounded(given.get("search", ""), "search", LONGEST_SEARCH).casefold().split()
        if words:
            names = [name for column in self.columns for name in (column.key, column.note) if name in rows]
            searched = zip(*(rows[name].map(_searched) for name in names if _is_text(rows[name])))
            texts = ["\n".join(row).casefold() for row in searched]
            rows = rows[[all(word in text for word in words) for text in texts]]
        if not sort:
            return rows
        if sort not in {column.key for column in self.columns if column.sortable}:
            raise InputError("The table cannot be sorted by that column.")

        def folded(values: pd.Series) -> pd.Series:
            """Return sort keys: missing texts last, the others whatever their case."""
            return values.map(lambda one: (one is None, _searched(one).casefold())) if _is_text(values) else values

        is_ascending = given.get("order", "descending") != "descending"
        return rows.sort_values(sort, ascending=is_ascending, kind="stable", na_position="last", key=folded)

    def page(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return one page of rows as plain values, and what is needed to page through."""
        found, size = self.selected(given), min(whole_number(given, "rows", PAGE_ROWS), MOST_ROWS)
        n_pages = max(1, -(-len(found) // size))
        page = min(whole_number(given, "page", 1), n_pages)
        part = found.iloc[(page - 1) * size : page * size]
        if self.complete is not None:
            part = self.complete(part)
        return {
            "columns": [{**vars(column), "scale": column.scale(self.rows)} for column in self.columns],
            "rows": records(part[self.fields(part)]),
            "total": len(found),
            "page": page,
            "pages": n_pages,
            "sort": given.get("sort") or self.sort,
            "descending": given.get("order", "descending") == "descending" if given.get("sort") else self.descending,
            **self.notes,
        }

    def csv(self, given: Mapping[str, str]) -> str:
        """Return all pages of what is asked for."""
        rows = self.selected(given)
        return csv_text(rows[self.fields(rows)])


def _is_text(values: pd.Series) -> bool:
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)


def _searched(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def page(name: str) -> Callable[[Function], Function]:
    """Register a function of a catalog as a page of this name; an address gives its other parameters."""

    def register(function: Function) -> Function:
        PAGES[name] = function
        return function

    return register


def call(function: Callable[..., Any], catalog: Any, given: Mapping[str, str]) -> Any:
    """Call a page's function with what an address gives for its parameters.

    Addresses count everything from 1; rows and documents are counted from 0 here. Numbers are recognised by their
    annotations, which are texts.
    """
    values: dict[str, Any] = {}
    for name, parameter in [*signature(function).parameters.items()][1:]:
        default = None if parameter.default is Parameter.empty else parameter.default
        if parameter.annotation == "int":
            values[name] = whole_number(given, name, default) - (name in ("row", "document"))
        elif parameter.annotation == "Sequence[int]":
            parts = [one for one in given.get(name, "").split(",") if one]
            values[name] = [whole_number({name: one}, name) for one in parts[:MOST_ROWS]]
        elif name in given:
            values[name] = given[name]
        elif parameter.default is Parameter.empty:
            raise InputError(f"The address needs a value for {name!r}.")
    return function(catalog, **values)


def whole_number(given: Mapping[str, str], name: str, otherwise: int | None = None) -> int:
    """Return a positive number in an address."""
    text = given.get(name)
    if text is None and otherwise is not None:
        return otherwise
    if text is None or not (text.isascii() and text.isdecimal() and 1 <= len(text) <= 9 and int(text) >= 1):
        raise InputError(f"The address needs a whole number of at least 1 for {name!r}.")
    return int(text)


def bounded(text: str, what: str, most: int = LONGEST_QUERY) -> str:
    """Return a text of an address unless it is too long."""
    if len(text) > most:
        raise InputError(f"The {what} has {len(text)} characters; give at most {most}.")
    return text
