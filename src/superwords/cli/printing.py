"""How results are printed: tables that use the width there is, figures, JSON and CSV."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

# Results go to standard output; messages go to standard error, out of the way of scripts.
results = Console(highlight=False)

Column = str | tuple[str, str | Callable[[Any], Any]]

_WIDEST = 160  # wider lines are hard to follow
_UNSEEN = 110  # where nobody sees a width, as in a file
_GAP = 2
_NAME_WIDTH = 26
_TOO_NARROW = 12
_LEAST_WORDS = 30  # below it, columns that may be left out make room


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def print_csv(table: pd.DataFrame) -> None:
    from superwords.tabular import csv_text

    print(csv_text(table), end="")


def print_line(text: str = "") -> None:
    """Print a line of results."""
    print_on(results, text)


def print_steps(steps: Mapping[str, str]) -> None:
    """Print commands that may come next, and what each does."""
    print_line()
    print_line("Next:")
    width = max(map(len, steps))
    for command, what in steps.items():
        print_line(f"  {command:<{width}}  {what}")


def print_on(console: Console, text: str) -> None:
    """Print text with line breaks between words on a terminal, and none in a file."""
    console.print(text, markup=False, soft_wrap=not console.is_terminal)


def percent(share: float) -> str:
    return "–" if not isfinite(share) else "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def interval(low: float, high: float, as_text: Any = percent) -> str:
    return f"{as_text(low)}–{as_text(high)}" if isfinite(low) and isfinite(high) else "–"


def points_between(low: float, high: float, decimals: int = 0) -> str:
    from superwords.tabular import points

    return f"{points(low, decimals)} to {points(high, decimals)}"


def whole(mean: float) -> str:
    """Return a mean number of rows, as people count them."""
    return f"{mean:,.0f}" if isfinite(mean) else "–"


def figure(value: float) -> str:
    """Return a coherence as text."""
    return f"{value:.2f}".replace("-", "−") if isfinite(value) else "–"


def called(document: str, labels: Mapping[str, str]) -> str:
    """Return a document's or passage's id, with its label where it has another."""
    label = labels.get(document, document)
    return document if label == document else f"{document} ({label})"


def share(field: str) -> Column:
    """Return a column of shares."""
    return "right", lambda one: percent(one[field])


def between(low: str, high: str, as_text: Callable[[float, float], str] = interval) -> Column:
    """Return a column of intervals."""
    return "right", lambda one: as_text(one[low], one[high])


def print_table(
    records: pd.DataFrame | list[Any], columns: Mapping[str, Column], title: str = "", optional: Sequence[str] = ()
) -> list[str]:
    """Print a table for people, in the width there is; nothing in it is cut off.

    A column is "left", "right", "name" (may wrap) or "words" (takes what the others leave), and the field of the same
    name; or one of these with another field, or a function of a record. Columns in `optional` are left out, the first
    of them first, where the words would have too little room; their names are returned.
    """
    lines = records if isinstance(records, list) else records.to_dict("records")
    given = {name: (one, name) if isinstance(one, str) else one for name, one in columns.items()}
    shown = {name: kind for name, (kind, _) in given.items()}
    cells = {
        name: [_text(cell(one) if callable(cell) else one[cell]) for one in lines] for name, (_, cell) in given.items()
    }
    room, left_out = _room(), []
    for name in optional:
        if _needed(shown, cells) <= room:
            break
        del shown[name]
        left_out.append(name)
    widths = _widths(shown, cells, room)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    table.title, table.title_justify = Text(title) if title else None, "left"
    for name, kind in shown.items():
        justify: Any = "right" if kind == "right" else "left"
        table.add_column(Text(name), justify=justify, width=widths[name], overflow="fold")
    for row in zip(*(cells[name] for name in shown)):
        table.add_row(*row)
    out = results if results.is_terminal else Console(highlight=False, width=room)
    out.print(table)
    return left_out


def _text(value: Any) -> Text:
    """Return a cell as text: a word such as [red] must not be taken for markup."""
    return value if isinstance(value, Text) else Text(str(value))


def _room() -> int:
    is_known = results.is_terminal or "COLUMNS" in os.environ
    return min(results.width, _WIDEST) if is_known else _UNSEEN


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _natural(name: str, cells: Sequence[Text]) -> int:
    """Return the width at which no cell is broken; a head is broken between words."""
    return max([_longest_word(name), *(cell_len(cell.plain) for cell in cells)])


def _unbroken(name: str, cells: Sequence[Text]) -> int:
    """Return the width at which no word is broken."""
    return max([_longest_word(name), *(_longest_word(cell.plain) for cell in cells)])


def _fixed(kind: str, name: str, cells: Sequence[Text]) -> int:
    natural = _natural(name, cells)
    if kind == "name":
        return min(natural, max(_NAME_WIDTH, _unbroken(name, cells)))
    return natural


def _needed(columns: Mapping[str, str], cells: Mapping[str, Sequence[Text]]) -> int:
    gaps = _GAP * len(columns)
    widths = [
        min(_natural(name, cells[name]), max(_LEAST_WORDS, _unbroken(name, cells[name])))
        if kind == "words"
        else _fixed(kind, name, cells[name])
        for name, kind in columns.items()
    ]
    return sum(widths) + gaps


def _widths(columns: Mapping[str, str], cells: Mapping[str, Sequence[Text]], room: int) -> dict[str, int]:
    """Return what each column gets: the fixed ones what they need, those of words a fair part of the rest."""
    left = room - _GAP * len(columns)
    fixed = {name: _fixed(kind, name, cells[name]) for name, kind in columns.items() if kind != "words"}
    words = {name: _natural(name, cells[name]) for name, kind in columns.items() if kind == "words"}
    least = sum(min(width, _TOO_NARROW) for width in words.values())
    if sum(fixed.values()) + least > left:
        # Lines are broken in every wide column, and still nothing is lost.
        return _shared(fixed | words, left)
    return fixed | _shared(words, left - sum(fixed.values()))


def _shared(needed: Mapping[str, int], room: int) -> dict[str, int]:
    """Return each width, or an equal part for those that need more."""
    given: dict[str, int] = {}
    for n, name in enumerate(sorted(needed, key=lambda one: needed[one])):
        given[name] = max(min(needed[name], (room - sum(given.values())) // (len(needed) - n)), 1)
    return given
