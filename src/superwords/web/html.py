"""A self-contained page: it loads nothing and runs only its own scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from superwords.tabular import points
from superwords.web.tables import Column, Table

STATIC = Path(__file__).parent / "static"
Row = dict[Any, Any]


def whole_page(title: str, body: str, script: str | None = None) -> str:
    """Return the page with the house's style; `script` names a file of static/ to put into it.

    The policy names style and script by their hashes, so that a browser uses these and no other.
    """
    style = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("base.css", "report.css"))
    code = (STATIC / script).read_text(encoding="utf-8") if script else ""
    style_hash, code_hash = (
        base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in (style, code)
    )
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{style_hash}'"
    if code:
        policy += f"; script-src 'sha256-{code_hash}'"
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


def row_html(*cells: tuple[str, bool]) -> str:
    """Return a row; each cell is HTML already, with whether it is a number, the first is the row's head."""
    (head, _), *others = cells
    inside = "".join(
        f'<td class="number">{text}</td>' if is_number else f"<td>{text}</td>" for text, is_number in others
    )
    return f'<tr><th scope="row">{head}</th>{inside}</tr>'


def table_html(table: Table, link: Callable[[Row], str], *keys: str, most: int | None = None) -> str:
    """Return the first rows and the columns of these keys, as the explorer describes them.

    `link` makes the HTML of a concept's name.
    """
    columns = [next(one for one in table.columns if one.key == key) for key in keys]
    rows = "".join(
        row_html(*((cell_html(column, row, link), column.is_numeric) for column in columns))
        for row in table.rows.head(most or len(table.rows)).to_dict("records")
    )
    return html_table([one.label for one in columns], rows)


def cell_html(column: Column, row: Row, link: Callable[[Row], str]) -> str:
    """Return one cell by the kind of its column."""
    value = row[column.key]
    interval = [row[name] for name in (column.low, column.high) if name is not None]
    match column.kind:
        case "concept":
            return link({"concept": row[str(column.link)], "name": value})
        case "concepts":
            pairs = zip(row[str(column.link)], value)
            return "; ".join(link({"concept": j, "name": name}) for j, name in pairs)
        case "words":
            return escape(", ".join(value or []))
        case "share":
            return share(value, *interval)
        case "difference":
            return difference(value, *interval)
        case "number":
            return number(value)
        case "decimal":
            return "–" if pd.isna(value) else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3f}"
        case "of":
            return f"{number(value)} of {row[str(column.link)]}"
    return escape(str(value))


def number(value: float | None) -> str:
    """Return a count, or a mean of counts, with one decimal, as in the explorer."""
    if value is None or pd.isna(value):
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def share(value: Any, low: Any = None, high: Any = None) -> str:
    """Return a share in percent, with its interval where there is one."""
    if pd.isna(value):
        return "–"
    return _percent(value) if pd.isna(low) else _with_interval(*map(_percent, (value, low, high)))


def difference(value: Any, *interval: Any) -> str:
    """Return a difference of shares in percentage points, with its interval where there is one."""
    if pd.isna(value):
        return "–"
    told = (points(one, 0 if abs(one) >= 0.0995 or abs(one) < 0.0005 else 1) for one in (value, *interval))
    return _with_interval(*told) if interval else next(told)


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
