"""Tables as files, written atomically: CSV, Parquet, Excel, LaTeX (booktabs) and Word."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.files import atomic_path, write_atomic
from superwords.tabular import csv_text, plain, short

SUFFIXES = {"csv": ".csv", "parquet": ".parquet", "xlsx": ".xlsx", "latex": ".tex", "docx": ".docx"}
# One file holds several tables: a workbook has sheets, a document has captions.
TOGETHER = ("xlsx", "docx")
PRINTED = ("latex", "docx")  # for readers: few columns, rounded
_NEEDS = {  # module, name of the format, package and extra
    "parquet": ("pyarrow", "Parquet", "pyarrow", "parquet"),
    "xlsx": ("openpyxl", "Excel", "openpyxl", "paper"),
    "docx": ("docx", "Word", "python-docx", "paper"),
}
_LONG = 40  # lines from which a LaTeX table may break across pages
_WIDE = 24  # mean characters from which the cells of a column are wrapped
_CHARACTER, _BETWEEN, _LEAST_WRAPPED = 0.0135, 0.035, 0.2  # shares of the text width, in small letters
_CELL = 32_000  # characters that a cell of Excel can hold
_ESCAPED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--"}
_ESCAPED |= {"…": r"\ldots{}", "<": r"\textless{}", ">": r"\textgreater{}"} | {mark: f"\\{mark}" for mark in "&%$#_{}"}
_LATEX = str.maketrans(_ESCAPED)
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML


class Titled(NamedTuple):
    """Hold a table with its caption and note."""

    table: pd.DataFrame
    caption: str = ""
    note: str = ""

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the headings and the rows."""
        return [tuple(self.table.columns), *self.table.itertuples(index=False, name=None)]

    def numeric(self) -> list[bool]:
        """Return which columns hold numbers."""
        columns = (self.table.iloc[:, at] for at in range(self.table.shape[1]))
        return [all(re.fullmatch(r"[-−+<>\d., to–%()]*", _text(value)) for value in one) for one in columns]


def write_tables(tables: Mapping[str, Titled], path: Path, format: str) -> list[Path]:
    """Write tables, by name, to one file, or one each in the folder `path`; return the files."""
    module, files, package, extra = _NEEDS.get(format, ("superwords", "", "", ""))
    try:
        library = import_module(module)
    except ImportError:
        reason = f"{files} files need {package}; install it by pip install 'superwords[{extra}]'."
        raise InputError(reason) from None
    suffix = SUFFIXES[format]
    if format in TOGETHER:
        book = library.Workbook(write_only=True) if format == "xlsx" else library.Document()
        for name, titled in tables.items():
            if format == "docx":
                add_word_table(book, titled)
                continue
            sheet = book.create_sheet(name[:31])
            for row in titled.rows():
                sheet.append([_excel_cell(value) for value in row])
        target = path if path.suffix == suffix else path.with_name(f"{path.name}{suffix}")
        with atomic_path(target) as temporary:
            book.save(str(temporary))
        return [target]
    alone = len(tables) == 1 and path.suffix == suffix
    targets = {name: path if alone else path / f"{name}{suffix}" for name in tables}
    if not alone:
        path.mkdir(parents=True, exist_ok=True)
    for name, titled in tables.items():
        if format == "parquet":
            out = titled.table.rename(columns=str)
            # Parquet has columns of one kind: mixed ones become text.
            for column in [one for one in out if len(set(map(type, out[one].dropna()))) > 1]:
                out[column] = out[column].map(str, na_action="ignore")
            with atomic_path(targets[name]) as temporary:
                out.to_parquet(temporary, index=False)
        else:
            text = csv_text(titled.table) if format == "csv" else latex(titled, f"tab:{name}")
            write_atomic(targets[name], text.encode("utf-8"))
    return list(targets.values())


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(short, value))
    return "" if value is None or (isinstance(value, float) and value != value) else short(value)


def _excel_cell(value: Any) -> Any:
    """Return a value as a cell; a text that starts like a formula stays a text."""
    if isinstance(value, pd.Timestamp) and value.tz is None:
        return value.to_pydatetime()
    value = plain(_text(value) if isinstance(value, list | tuple) else value)
    if not isinstance(value, str):
        return value
    text = _UNPRINTABLE.sub("", value)[:_CELL]
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def latex_text(value: Any) -> str:
    """Return a value with LaTeX's own characters escaped."""
    return _UNPRINTABLE.sub("", " ".join(_text(value).split())).translate(_LATEX)


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
    sides = ["r" if is_numeric else "l" for is_numeric in titled.numeric()]
    columns = "".join(
        f">{{\\raggedright\\arraybackslash}}p{{{width:.2f}\\textwidth}}" if wraps else side
        for width, wraps, side in zip(share, wide, sides)
    )
    joined = [r"\\".join(map(latex_text, head)) for head in heads]
    titles = [
        rf"\shortstack[{side}]{{{text}}}" if len(head) > 1 else text for head, text, side in zip(heads, joined, sides)
    ]
    rows = [titles, *(map(latex_text, row) for row in titled.rows()[1:])]
    head, *body = [" & ".join(cells) + r" \\" for cells in rows]
    caption, note = f"\\caption{{{latex_text(titled.caption)}}}\\label{{{label}}}", latex_text(titled.note)
    if n_lines > _LONG:
        lines = [r"{\small", f"\\begin{{longtable}}{{{columns}}}", rf"{caption}\\", r"\toprule", head]
        lines += [r"\midrule", r"\endhead", *body, r"\bottomrule", r"\end{longtable}", note, "}"]
    else:
        lines = [r"\begin{table}[t]", r"\centering\small", caption, f"\\begin{{tabular}}{{{columns}}}"]
        lines += [r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        lines += [f"\\par\\smallskip\\footnotesize {note}" if note else "", r"\end{table}"]
    packages = "% \\usepackage{booktabs,array" + (",longtable}" if n_lines > _LONG else "}")
    return "\n".join(line for line in [packages, *lines] if line) + "\n"


def add_word_table(document: Any, titled: Titled) -> None:
    """Append a table with its caption and note to a python-docx document."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    rows, numeric = titled.rows(), titled.numeric()
    if titled.caption:
        document.add_paragraph(_UNPRINTABLE.sub("", titled.caption), style="Caption")
    grid = document.add_table(rows=len(rows), cols=len(numeric), style="Light List")
    for cells, row in zip(grid.rows, rows):
        for cell, value, is_numeric in zip(cells.cells, row, numeric):
            (paragraph,) = cell.paragraphs
            paragraph.add_run(_UNPRINTABLE.sub("", _text(value))).font.size = Pt(9)
            if is_numeric:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    if titled.note:
        document.add_paragraph().add_run(_UNPRINTABLE.sub("", titled.note)).font.size = Pt(8)
