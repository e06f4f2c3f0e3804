"""Output of tables as CSV, JSON and text, and formatting of numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # not needed for --help and messages
    import pandas as pd

BETWEEN = " | "  # the parts of a list in one cell
# Spreadsheets treat texts that start like this as formulas, in some locales the wide forms too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV; a text that a spreadsheet would run as a formula gets an apostrophe before it."""
    import pandas as pd

    columns = [table.iloc[:, at] for at in range(table.shape[1])]
    cells = {
        at: one if one.dtype.kind in "biufmM" else one.astype(object).map(spreadsheet_cell)
        for at, one in enumerate(columns)
    }
    out = pd.DataFrame(cells, index=table.index)
    out.columns = pd.Index([spreadsheet_cell(name) for name in table.columns], dtype=object)
    # Many readers end a line at a lone carriage return, but pandas does not quote it.
    texts = [out.columns, *(one for one in cells.values() if one.dtype.kind == "O")]
    has_return = any(isinstance(value, str) and "\r" in value for values in texts for value in values)
    return out.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if has_return else 0)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON; missing and infinite values are null."""
    columns = {str(name): [plain(value) for value in table[name].tolist()] for name in table.columns}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def plain(value: Any) -> Any:
    """Return a value for JSON: missing and infinite values become null, arrays lists."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    import pandas as pd

    if pd.isna(value):
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def short(value: Any) -> str:
    """Return a part of a list in one cell."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def spreadsheet_cell(value: Any) -> Any:
    """Return a value as a spreadsheet shows it: lists joined, and an apostrophe before what it would run."""
    if isinstance(value, list | tuple):
        value = BETWEEN.join(map(short, value))
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def listed(names: Sequence[Any]) -> str:
    """Return names as a sentence lists them: "party, state and year"."""
    *first, last = [str(name) for name in names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def shortened(text: str, most: int) -> str:
    """Return a text in one line of about `most` characters, cut between words where it has spaces."""
    plain = " ".join(text.split())
    end = plain.rfind(" ", 0, most - 1)
    return plain if len(plain) <= most else plain[: end if end > 0 else most] + " …"


def lines_as_html(text: str) -> str:
    """Return a few lines of text for a notebook, the first one bold."""
    first, *others = (escape(line) for line in text.splitlines())
    return f"<div><b>{first}</b>" + "".join(f"<br>{line}" for line in others) + "</div>"


def number(value: float | None, form: str = ",.0f") -> str:
    """Return a number as text, a dash if it is not known."""
    return "–" if value is None or not math.isfinite(value) else format(value, form).replace("-", "−")


def points(difference: float, decimals: int = 0) -> str:
    """Return a difference of two shares in percentage points: '+10', '−0.4', '0'."""
    if not math.isfinite(difference):
        return "–"
    rounded = round(100 * difference, decimals)
    return f"{rounded:+.{decimals}f}".replace("-", "−") if rounded else "0"


def point_decimals(*values: Any) -> int:
    """Return the decimals at which the largest of the differences has two digits."""
    import numpy as np

    known = np.abs(np.concatenate([np.ravel(np.asarray(one, float)) for one in values]))
    known = known[np.isfinite(known) & (known > 0)]
    return int(np.clip(1 - np.floor(np.log10(100 * known.max())), 0, 3)) if len(known) else 0
