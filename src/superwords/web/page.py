"""A self-contained page: it loads nothing and runs only its own scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from importlib import resources
from typing import Any

import pandas as pd

from superwords.tabular import points
from superwords.web.json_tables import Column, Table


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


def html_table(heads: Iterable[str], rows: str) -> str:
    """Return a table with these heads above rows that are HTML already."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def table_html(table: Table, *keys: str, most: int | None = None) -> str:
    """Return the first rows and the columns of these keys, as the explorer describes them."""
    columns = [next(one for one in table.columns if one.key == key) for key in keys]
    rows = "".join(
        f"<tr>{''.join(_cell(column, row, at == 0) for at, column in enumerate(columns))}</tr>"
        for row in table.rows.head(most or len(table.rows)).to_dict("records")
    )
    return html_table([one.label for one in columns], rows)


def _cell(column: Column, row: dict[Any, Any], is_head: bool) -> str:
    value = row[column.key]
    interval = [row[name] for name in (column.low, column.high) if name is not None]
    texts = {
        "concept": lambda: concept_link(row),
        "words": lambda: escape(", ".join(value or [])),
        "share": lambda: share(value, *interval),
        "difference": lambda: with_interval(points(value), *map(points, interval)),
        "number": lambda: decimal(value),
        "decimal": lambda: decimal(value),
    }
    text = texts.get(column.kind, lambda: escape(str(value)))()
    if is_head:
        return f'<th scope="row">{text}</th>'
    return f"<td>{text}</td>" if column.kind == "words" else f'<td class="number">{text}</td>'


def concept_link(one: dict[Any, Any]) -> str:
    return f'<a href="#concept-{one["concept"]}">{one["concept"]}. {escape(one["name"])}</a>'


def decimal(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def share(value: Any, low: Any = None, high: Any = None) -> str:
    """Return a share in percent, with its interval where there is one."""
    if value is None or pd.isna(value):
        return "–"
    if low is None or pd.isna(low):
        return _percent(value)
    return with_interval(_percent(value), _percent(low), _percent(high))


def with_interval(value: str, low: str, high: str) -> str:
    return f'{value} <span class="interval">({low} to {high})</span>'


def _percent(value: float) -> str:
    """Return a percentage with about two significant digits, as in the explorer."""
    size = 100 * value
    if 99 < size < 100:
        return f"{min(99.9, size):.1f}%"
    if 0 < size < 0.005:
        return "<0.01%"
    return f"{size:.{0 if size >= 9.95 or size == 0 else 1 if size >= 0.95 else 2}f}%"


def figure_numbers(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return the numbers of the figure above as a table that opens on a click; cells are HTML already."""
    inside = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' if at else f'<th scope=row>{cell}</th>' for at, cell in enumerate(row))}</tr>"
        for row in rows
    )
    return f"<details><summary>The numbers of this figure</summary>{html_table(heads, inside)}</details>"


def _static(name: str) -> str:
    return resources.files("superwords.web").joinpath("static", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the hash by which a browser runs this text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
