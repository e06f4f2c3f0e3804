"""Atomic writes of tables as CSV, Parquet, Excel, LaTeX (booktabs) and Word."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.files import atomic_path, write_atomic
from superwords.tabular import csv_text, short

SUFFIXES = {"csv": ".csv", "parquet": ".parquet", "xlsx": ".xlsx", "latex": ".tex", "docx": ".docx"}
# One file holds several tables: a workbook has sheets, a document has captions.
TOGETHER = ("xlsx", "docx")
PRINTED = ("latex", "docx")  # for readers: few columns, rounded
_LONG = 40  # lines from which a LaTeX table may break across pages
_WIDE = 24  # mean characters from which the cells of a column are wrapped
_CHARACTER, _BETWEEN, _LEAST_WRAPPED = 0.0135, 0.035, 0.2  # shares of the text width, in small letters
_CELL = 32_000  # characters that a cell of Excel can hold
_LATEX = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "…": r"\ldots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML


class Titled(NamedTuple):
    """Hold a table with its caption and note."""

    table: pd.DataFrame
    caption: str = ""
    note: str = ""


def write_tables(tables: Mapping[str, Titled], path: Path, format: str) -> list[Path]:
    """Write tables to one file, or one file each in the folder `path`; return them.

    `tables` maps the name of a file, sheet or label to its table. LaTeX and Word write the cells unchanged.
    """
    if format == "xlsx":
        return [_write_excel(tables, path)]
    if format == "docx":
        return [_write_word(tables.values(), path)]
    alone = len(tables) == 1 and path.suffix == SUFFIXES[format]
    if not alone:
        path.mkdir(parents=True, exist_ok=True)
    out = []
    for name, titled in tables.items():
        target = path if alone else path / f"{name}{SUFFIXES[format]}"
        if format == "parquet":
            _write_parquet(titled.table, target)
        else:
            text = csv_text(titled.table) if format == "csv" else latex(titled, f"tab:{name}")
            write_atomic(target, text.encode("utf-8"))
        out.append(target)
    return out


def _write_parquet(table: pd.DataFrame, target: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise _missing("Parquet", "pyarrow", "parquet") from None
    out = table.set_axis(table.columns.map(str), axis=1)
    # Parquet has columns of one kind: mixed ones become text.
    for name in [name for name in out.columns if out[name].dtype.kind == "O"]:
        kinds = {type(value) for value in out[name] if value is not None and value == value}
        if len(kinds) > 1:
            out[name] = [None if value is None or value != value else str(value) for value in out[name]]
    with atomic_path(target) as temporary:
        out.to_parquet(temporary, index=False)


def _write_excel(tables: Mapping[str, Titled], target: Path) -> Path:
    try:
        from openpyxl import Workbook
    except ImportError:
        raise _missing("Excel", "openpyxl", "paper") from None
    book = Workbook(write_only=True)
    for name, titled in tables.items():
        sheet = book.create_sheet(name[:31])
        sheet.append([_excel_cell(column) for column in titled.table.columns])
        for row in titled.table.itertuples(index=False, name=None):
            sheet.append([_excel_cell(value) for value in row])
    with atomic_path(target) as temporary:
        book.save(temporary)
    return target


def _excel_cell(value: Any) -> Any:
    """Return a value as a cell; a text that starts like a formula stays a text."""
    if isinstance(value, list | tuple):
        value = ", ".join(map(short, value))
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, str):
        text = _UNPRINTABLE.sub("", value)[:_CELL]
        return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
    if value is None or value != value:
        return None
    if isinstance(value, pd.Timestamp):
        return value.tz_localize(None).to_pydatetime() if value.tz is None else value.isoformat()
    return value if isinstance(value, bool | int | float) else str(value)


def latex(titled: Titled, label: str) -> str:
    """Return a booktabs table; one longer than a page breaks across pages (`longtable`)."""
    table = titled.table
    letters = table.map(lambda value: len(_text(value))).to_numpy(dtype=int).reshape(table.shape)
    total, longest = letters.sum(axis=0), letters.max(axis=0, initial=0)
    wide = total > _WIDE * len(table)
    # A heading wider than its column's cells is broken into lines.
    heads = [
        [name] if wraps else textwrap.wrap(name, max([1, most, *map(len, name.split())])) or [name]
        for name, most, wraps in zip(map(str, table.columns), longest, wide)
    ]
    # Wrapped columns share the text width that the other columns leave.
    narrow = np.array([max([most, *map(len, head)]) for most, head in zip(longest, heads)], int)[~wide]
    room = max(_LEAST_WRAPPED, 1 - _CHARACTER * narrow.sum() - _BETWEEN * len(wide))
    root = np.sqrt(np.where(wide, total, 0))
    share = room * root / max(root.sum(), 1.0)
    n_lines = np.ceil(letters[:, wide] * _CHARACTER / share[wide]).max(axis=1, initial=1).sum()
    sides = ["r" if _is_numeric(table.iloc[:, at]) else "l" for at in range(len(wide))]
    columns = "".join(
        f">{{\\raggedright\\arraybackslash}}p{{{width:.2f}\\textwidth}}" if wraps else side
        for width, wraps, side in zip(share, wide, sides)
    )
    joined = [r"\\".join(map(latex_text, head)) for head in heads]
    titles = [
        rf"\shortstack[{side}]{{{text}}}" if len(head) > 1 else text
        for head, text, side in zip(heads, joined, sides)
    ]
    rows = [[latex_text(value) for value in row] for row in table.itertuples(index=False, name=None)]
    head, *body = [" & ".join(cells) + r" \\" for cells in (titles, *rows)]
    caption = f"\\caption{{{latex_text(titled.caption)}}}\\label{{{label}}}"
    note = latex_text(titled.note)
    if n_lines > _LONG:
        lines = [r"{\small", f"\\begin{{longtable}}{{{columns}}}", rf"{caption}\\", r"\toprule", head]
        lines += [r"\midrule", r"\endhead", *body, r"\bottomrule", r"\end{longtable}", note, "}"]
    else:
        lines = [r"\begin{table}[t]", r"\centering\small", caption, f"\\begin{{tabular}}{{{columns}}}"]
        lines += [r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        lines += [f"\\par\\smallskip\\footnotesize {note}" if note else "", r"\end{table}"]
    packages = "% \\usepackage{booktabs,array" + (",longtable}" if n_lines > _LONG else "}")
    return "\n".join(line for line in [packages, *lines] if line) + "\n"


def latex_text(value: Any) -> str:
    """Return a value with LaTeX's own characters escaped."""
    plain = _UNPRINTABLE.sub("", " ".join(_text(value).split()))
    return "".join(_LATEX.get(mark, mark) for mark in plain)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(short, value))
    return "" if value is None or (isinstance(value, float) and value != value) else short(value)


def _is_numeric(values: pd.Series) -> bool:
    return all(re.fullmatch(r"[-−+<>\d., to–%()]*", _text(value)) for value in values)


def _write_word(tables: Iterable[Titled], target: Path) -> Path:
    try:
        from docx import Document
    except ImportError:
        raise _missing("Word", "python-docx", "paper") from None
    document = Document()
    for titled in tables:
        add_word_table(document, titled)
    with atomic_path(target) as temporary:
        document.save(str(temporary))
    return target


def add_word_table(document: Any, titled: Titled) -> None:
    """Append a table with its caption and note to a python-docx document."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    if titled.caption:
        document.add_paragraph(_word_text(titled.caption), style="Caption")
    frame = titled.table
    grid = document.add_table(rows=1, cols=frame.shape[1], style="Light List")
    numeric = [_is_numeric(frame.iloc[:, at]) for at in range(frame.shape[1])]
    rows = [tuple(frame.columns), *frame.itertuples(index=False, name=None)]
    for n, row in enumerate(rows):
        cells = grid.rows[0].cells if n == 0 else grid.add_row().cells
        for cell, value, is_right in zip(cells, row, numeric):
            paragraph = cell.paragraphs[0]
            paragraph.add_run(_word_text(value)).font.size = Pt(9)
            if is_right:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    if titled.note:
        document.add_paragraph().add_run(_word_text(titled.note)).font.size = Pt(8)


def _word_text(value: Any) -> str:
    return _UNPRINTABLE.sub("", _text(value))


def _missing(what: str, package: str, extra: str) -> InputError:
    return InputError(f"{what} files need {package}; install it by pip install 'superwords[{extra}]'.")
