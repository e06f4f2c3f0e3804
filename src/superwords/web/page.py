"""A self-contained page: it loads nothing and runs only its own scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from html import escape
from importlib import resources
from typing import Any

import pandas as pd

from superwords.tabular import points
from superwords.web.json_tables import Column, Table

Row = dict[Any, Any]


def whole_page(title: str, body: str, script: str | None = None) -> str:
    """Return the page with the house's style; `script` names a file of static/ to put into it."""
    style = _static("base.css") + _static("report.css")
    policy = f"default-src 'none'; img-src data:; style-src {_digest(style)}"
    if script is not None:
        code = _static(script)
        policy += f"; script-src {_digest(code)}"
        body += f"\n<script>{code}</script>"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def html_table(heads: Iterable[str], rows: str, attributes: str = "") -> str:
    """Return a table with these heads above rows that are HTML already."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return f"<table{attributes}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def table_html(table: Table, link: Callable[[Row], str], *keys: str, most: int | None = None) -> str:
    """Return the first rows and the columns of these keys, as the explorer describes them.

    `link` makes the HTML of a concept's name.
    """
    columns = [next(one for one in table.columns if one.key == key) for key in keys]
    rows = "".join(
        row_html([(cell_html(column, row, link), column.is_numeric) for column in columns])
        for row in table.rows.head(most or len(table.rows)).to_dict("records")
    )
    return html_table([one.label for one in columns], rows)


def row_html(cells: Iterable[tuple[str, bool]]) -> str:
    """Return a row; each cell is HTML already, with whether it is a number, the first is the row's head."""
    (head, _), *others = cells
    inside = "".join(
        f'<td class="number">{text}</td>' if is_number else f"<td>{text}</td>" for text, is_number in others
    )
    return f'<tr><th scope="row">{head}</th>{inside}</tr>'


def cell_html(column: Column, row: Row, link: Callable[[Row], str]) -> str:
    """Return one cell by the kind of its column."""
    value = row[column.key]
    interval = [row[name] for name in (column.low, column.high) if name is not None]
    kinds: dict[str, Callable[[], str]] = {
        "concept": lambda: link({"concept": row[str(column.link)], "name": value}),
        "concepts": lambda: "; ".join(
            link({"concept": j, "name": name}) for j, name in zip(row[str(column.link)], value)
        ),
        "words": lambda: escape(", ".join(value or [])),
        "share": lambda: share(value, *interval),
        "difference": lambda: _difference(value, interval),
        "number": lambda: number(value),
        "decimal": lambda: decimal(value),
        "of": lambda: f"{number(value)} of {row[str(column.link)]}",
    }
    return kinds.get(column.kind, lambda: escape(str(value)))()


def number(value: float | None) -> str:
    """Return a count, or a mean of counts, with one decimal, as in the explorer."""
    if value is None or pd.isna(value):
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def decimal(value: float | None) -> str:
    """Return a number with three decimals, as in the explorer."""
    if value is None or pd.isna(value):
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3f}"


def share(value: Any, low: Any = None, high: Any = None) -> str:
    """Return a share in percent, with its interval where there is one."""
    if value is None or pd.isna(value):
        return "–"
    if low is None or pd.isna(low):
        return _percent(value)
    return _with_interval(_percent(value), _percent(low), _percent(high))


def _difference(value: Any, interval: list[Any]) -> str:
    if pd.isna(value):
        return "–"
    value, *ends = (points(one, 0 if abs(one) >= 0.0995 or abs(one) < 0.0005 else 1) for one in (value, *interval))
    return _with_interval(value, *ends) if ends else value


def _with_interval(value: str, low: str, high: str) -> str:
    return f'{value} <span class="interval">({low} to {high})</span>'


def _percent(value: float) -> str:
    """Return a percentage with about two significant digits, as in the explorer."""
    size = 100 * value
    if 99 < size < 100:
        return f"{min(99.9, size):.1f}%"
    if 0 < size < 0.005:
        return "<0.01%"
    return f"{size:.{0 if size >= 9.95 or size == 0 else 1 if size >= 0.95 else 2}f}%"


def figure_numbers(table: str) -> str:
    """Return the numbers of the figure above as a table that opens on a click."""
    return f"<details><summary>The numbers of this figure</summary>{table}</details>"


def _static(name: str) -> str:
    return resources.files("superwords.web").joinpath("static", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the hash by which a browser runs this text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
