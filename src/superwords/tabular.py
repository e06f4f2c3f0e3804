"""Tables for other programs, and figures for people: the one way in which the project writes CSV, JSON and points."""

from __future__ import annotations

import csv
import math
from html import escape
from typing import Any

import numpy as np
import pandas as pd

BETWEEN = " | "  # the parts of a list in one cell
# A spreadsheet takes a text that starts like this for a formula, the wide forms in some countries.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_text(table: pd.DataFrame, index: bool = False) -> str:
    """A table as CSV that a spreadsheet shows and does not run.

    A text that starts like a formula gets an apostrophe before it; numbers stay as they are. Lists in a cell are
    written with a bar between their parts.

    Parameters
    ----------
    table : DataFrame
    index : bool
        Whether the rows' names are a column.

    Returns
    -------
    str

    Examples
    --------
    >>> print(csv_text(pd.DataFrame({"word": ["tax", "=1+1"], "share": [0.5, -1.0]})), end="")
    word,share
    tax,0.5
    '=1+1,-1.0
    """
    whole = table.reset_index() if index else table
    columns = [whole.iloc[:, at] for at in range(whole.shape[1])]
    cells = {
        at: one if one.dtype.kind in "biufmM" else one.astype(object).map(_cell)
        for at, one in enumerate(columns)
    }
    out = pd.DataFrame(cells, index=whole.index)
    out.columns = pd.Index([_cell(name) for name in whole.columns], dtype=object)
    # A lone carriage return ends a line for many readers, yet pandas does not quote a text for it.
    texts = [out.columns, *(one for one in cells.values() if one.dtype.kind == "O")]
    returns = any(isinstance(value, str) and "\r" in value for values in texts for value in values)
    if returns:
        return out.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return out.to_csv(index=False, lineterminator="\n")


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON knows them; what is missing or not finite is null.

    Examples
    --------
    >>> records(pd.DataFrame({"word": ["tax"], "share": [float("nan")]}))
    [{'word': 'tax', 'share': None}]
    """
    columns = {str(name): [plain(value) for value in table[name].tolist()] for name in table.columns}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def plain(value: Any) -> Any:
    """A value as JSON knows it: what is missing or not finite becomes null."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if pd.isna(value):
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def short(value: Any) -> str:
    """A part of a list in one cell."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        value = BETWEEN.join(map(short, value))
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def lines_as_html(text: str) -> str:
    """A few lines of text for a notebook, the first one bold."""
    first, *others = (escape(line) for line in text.splitlines())
    return f"<div><b>{first}</b>" + "".join(f"<br>{line}" for line in others) + "</div>"


def points(difference: float) -> str:
    """A difference of two shares in percentage points."""
    if not np.isfinite(difference):
        return "–"
    whole_points = round(100 * difference)
    return f"{whole_points:+d}".replace("-", "−") if whole_points else "0"
