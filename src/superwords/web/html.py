"""A self-contained page from templates: it loads nothing and runs only its own scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from superwords.tabular import points
from superwords.web.tables import Column, Table

HERE = Path(__file__).parent


class Html(str):
    """Text that is HTML already: `fill` escapes any other."""


def fill(template: str, /, **values: Any) -> Html:
    """Return a template with values in the places of its $names."""
    safe = {name: value if isinstance(value, Html) else escape(str(value)) for name, value in values.items()}
    return Html(Template(template).substitute(safe))


def join(parts: Iterable[str], between: str = "") -> Html:
    return Html(between.join(parts))


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def read_parts(file: Path) -> dict[str, str]:
    """Return the templates in a file, each below a comment with its name."""
    parts = re.split(r"<!-- (.+) -->", file.read_text(encoding="utf-8"))
    return {part: " ".join(text.split()) for part, text in zip(parts[1::2], parts[2::2])}


def whole_page(title: str, body: str, script: str | None = None) -> str:
    """Return the page with the house's style; `script` names a file of static/ to put into it.

    The policy names style and script by their hashes, so that a browser uses these and no other.
    """
    style, code = _read("static/base.css") + _read("static/report.css"), _read(f"static/{script}") if script else ""
    style_hash, code_hash = (
        base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in (style, code)
    )
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{style_hash}'"
    if code:
        policy += f"; script-src 'sha256-{code_hash}'"
        body += f"\n<script>{code}</script>"
    return fill(_read("page.html"), policy=policy, title=title, style=Html(style), body=Html(body))


def facts_list(*rows: tuple[str, str | None]) -> Html:
    """Return facts that are known."""
    known = ((term, text) for term, text in rows if text is not None)
    inside = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in known)
    return Html(f'<dl class="facts">{inside}</dl>')


def html_table(heads: Iterable[str], rows: str, attributes: str = "") -> Html:
    """Return a table with these heads above rows that are HTML already."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return Html(f"<table{attributes}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")


def row_html(head: str, *cells: str) -> str:
    """Return a row of cells that are HTML already: its head, and those of `cell_html`."""
    return f'<tr><th scope="row">{head}</th>{"".join(cells)}</tr>'


def cell_html(text: str, attributes: str = ' class="number"') -> str:
    return f"<td{attributes}>{text}</td>"


def table_html(
    table: Table,
    link: Callable[[int, str], str],
    *keys: str,
    most: int | None = None,
    attributes: str = "",
    with_values: bool = False,
) -> Html:
    """Return the first rows and the columns of these keys (or all), as the explorer describes them.

    `link` makes the HTML of a concept's name; `with_values` adds what a script sorts by.
    """
    columns = [one for key in keys for one in table.columns if one.key == key] or table.columns

    def cell(column: Column, row: dict[Any, Any]) -> str:
        attributes = ' class="number"' if column.is_numeric else ""
        if with_values:
            attributes += f' data-label="{column.label}" data-value="{np.nan_to_num(float(row[column.key])):.6g}"'
        return cell_html(content(column, row, link), attributes)

    rows = (
        row_html(content(columns[0], row, link), *(cell(one, row) for one in columns[1:]))
        for row in table.rows.head(most or len(table.rows)).to_dict("records")
    )
    return html_table([one.label for one in columns], "".join(rows), attributes)


def content(column: Column, row: dict[Any, Any], link: Callable[[int, str], str]) -> str:
    """Return what a cell shows, by the kind of its column."""
    value = row[column.key]
    linked: Any = row.get(column.link)
    if column.kind in _FIGURES:
        return figure(column.kind, value, *(row[name] for name in (column.low, column.high) if name))
    match column.kind:
        case "concept":
            return link(linked, value)
        case "concepts":
            return "; ".join(map(link, linked, value))
        case "words":
            return escape(", ".join(value or []))
        case "of":
            return f"{figure('number', value)} of {linked}"
    note = row.get(column.note)
    return escape(str(value)) + (f"<br>{escape(str(note))}" if note not in (None, value) else "")


def figure(kind: str, value: Any, *interval: Any) -> Html:
    """Return a number, decimal, share (in percent) or difference (in points) as in the explorer, with its interval."""
    if pd.isna(value):
        return Html("–")
    text, *bounds = (_FIGURES[kind](one) for one in (value, *interval) if not pd.isna(one))
    return Html(f'{text} <span class="interval">({" to ".join(bounds)})</span>' if bounds else text)


def _percent(value: float) -> str:
    """Return a percentage with about two significant digits."""
    size = 100 * value
    if 99 < size < 100:
        return f"{min(99.9, size):.1f}%"
    if 0 < size < 0.005:
        return "<0.01%"
    return f"{size:.{0 if size >= 9.95 or size == 0 else 1 if size >= 0.95 else 2}f}%"


_FIGURES: dict[str, Callable[[float], str]] = {
    "number": lambda value: f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}",
    "decimal": lambda value: f"{value:.0f}" if abs(value) >= 100 else f"{value:.3f}",
    "share": _percent,
    "difference": lambda value: points(value, 0 if abs(value) >= 0.0995 or abs(value) < 0.0005 else 1),
}
