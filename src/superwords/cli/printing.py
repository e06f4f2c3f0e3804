"""How results and messages are printed: tables that use the width there is, lines, JSON and CSV."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from superwords.errors import ReadingWarning
from superwords.progress import messages
from superwords.tabular import csv_text, number, points, records

if TYPE_CHECKING:
    import pandas as pd

# Results go to standard output; messages go to standard error, out of the way of scripts.
results = Console(highlight=False)

_WIDEST = 160  # wider lines are hard to follow
_UNSEEN = 110  # where nobody sees a width, as in a file
_GAP = 2
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WRAPPED = 30  # characters of a column of words; with fewer, optional columns are left out


def say(text: str = "", quiet: bool = False, console: Console = messages) -> None:
    """Print a message on standard error, without markup, with line breaks between words on a terminal only."""
    if not quiet:
        console.print(text, markup=False, soft_wrap=not console.is_terminal)


def print_line(*lines: str) -> None:
    """Print lines of results."""
    for line in lines or ("",):
        say(line, console=results)


@contextmanager
def busy(what: str, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal that something takes its time."""
    if quiet or not messages.is_terminal:
        yield
        return
    with messages.status(what):
        yield


@contextmanager
def warnings_as_notices(quiet: bool) -> Iterator[None]:
    """Print warnings about the documents as notices, each once."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, category: Any, *rest: Any, **named: Any) -> None:
            if issubclass(category, ReadingWarning):
                say(f"Warning: {message}", quiet)
            else:
                shown(message, category, *rest, **named)

        warnings.simplefilter("always", ReadingWarning)
        warnings.showwarning = show
        yield


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def printed(form: str | None, table: pd.DataFrame, data: Callable[[], Any] | None = None) -> bool:
    """Print a table as "--json" (or `data` in its place) or "--csv", and return whether one of them was asked for."""
    if form == "--json":
        print_json(records(table) if data is None else data())
    elif form == "--csv":
        print(csv_text(table), end="")
    return form is not None


def print_steps(steps: Mapping[str, str]) -> None:
    """Print commands that may come next, and what each does."""
    width = max(map(len, steps))
    print_line("", "Next:", *(f"  {command:<{width}}  {what}" for command, what in steps.items()))


# The text of a cell; what is not known is a dash.


figure = partial(number, form=".2f")


def percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else number(share, ".0%")


def interval(low: float, high: float) -> str:
    return f"{percent(low)}–{percent(high)}" if isfinite(low) and isfinite(high) else "–"


def points_between(low: float, high: float, decimals: int = 0) -> str:
    return f"{points(low, decimals)} to {points(high, decimals)}"


def numbered(concepts: Sequence[int], names: Sequence[str]) -> str:
    """Return concepts, each with its number and name."""
    return "; ".join(f"{j} {name}" for j, name in zip(concepts, names))


def called(document: str, labels: Mapping[str, str]) -> str:
    """Return a document's or passage's id, with its label where it has another."""
    label = labels.get(document, document)
    return document if label == document else f"{document} ({label})"


class Column(NamedTuple):
    """A column of a printed table: whether it is aligned right, and the text of its cell from a record."""

    is_right: bool
    cell: Callable[[Any], Any]


def left(*fields: str, text: Callable[..., Any] = str, is_right: bool = False) -> Column:
    """Return a column whose cells are the text of these fields."""
    return Column(is_right, lambda one: text(*(one[field] for field in fields)))


right = partial(left, is_right=True)
share, between = partial(right, text=percent), partial(right, text=interval)


def listing(field: str, most: int | None = None) -> Column:
    """Return a column of words with commas between."""
    return left(field, text=lambda words: ", ".join(words[:most]))


def print_table(
    rows: pd.DataFrame | list[Any], columns: Mapping[str, Column], title: str = "", optional: Sequence[str] = ()
) -> list[str]:
    """Print a table for people, in the width there is: the widest columns are wrapped, and nothing is cut off.

    Columns in `optional` are left out, the first of them first, where the others have too little room; their names
    are returned.
    """
    lines = rows if isinstance(rows, list) else rows.to_dict("records")
    is_known = results.is_terminal or "COLUMNS" in os.environ
    room = min(Console().width, _WIDEST) if is_known else _UNSEEN  # `results` keeps the COLUMNS of its import
    cells = {name: [_safe(column.cell(one)) for one in lines] for name, column in columns.items()}
    # The width at which no cell is broken; a head is broken between words.
    natural = {
        name: max(map(cell_len, [*name.split(), *(one.plain for one in cells[name])]), default=0) for name in columns
    }
    left_out: list[str] = []
    for name in optional:
        if sum(min(width, _WRAPPED) + _GAP for width in natural.values()) <= room:
            break
        del natural[name]
        left_out.append(name)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    table.title, table.title_justify = Text(title) if title else None, "left"
    for name, width in natural.items():
        justify: Any = "right" if columns[name].is_right else "left"
        table.add_column(Text(name), justify=justify, max_width=width, overflow="fold")
    for row in zip(*(cells[name] for name in natural)):
        table.add_row(*row)
    out = results if results.is_terminal else Console(highlight=False, width=room)
    out.print(table, width=room)
    return left_out


def _safe(value: Any) -> Text:
    """Return a cell in which a word such as [red] is no markup, and an escape is no order to the terminal."""
    text = value if isinstance(value, Text) else Text(str(value))
    text.plain = _CONTROL.sub("�", text.plain)
    return text


def print_texts(rows: Sequence[Mapping[str, Any]], title: str = "", optional: Sequence[str] = ()) -> list[str]:
    """Print records of texts; the first column names the others. Return the optional columns that were left out."""
    columns = {name: left(name, is_right=k > 0) for k, name in enumerate(rows[0])}
    return print_table(list(rows), columns, title, optional)
