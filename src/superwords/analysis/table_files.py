"""Tables as printed in a paper, and atomic writes of tables as CSV, Parquet, Excel, LaTeX (booktabs) and Word."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.analysis.effects import outcome
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
_MOST_BESIDE = 4  # maximum number of groups printed side by side
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML


class Titled(NamedTuple):
    """Hold a table with its caption and note."""

    table: pd.DataFrame
    caption: str = ""
    note: str = ""


# The headings of printed columns.
_HEADINGS = {
    "concept": "No.",
    "name": "Concept",
    "concept_name": "Concept",
    "top_words": "Words",
    "prevalence": "Prevalence (%)",
    "strength": "Strength (%)",
    "found_again": "Found again",
    "found_by": "Chains",
    "word": "Word",
    "share_used": "Used by (%)",
    "document": "Document",
    "weight": "Weight (%)",
    "group": "Group",
    "n_rows": "n",
    "first": "From",
    "last": "To",
    "change": "Change",
    "probability_rises": "P(rises)",
    "period": "Period",
    "label": "Term",
    "effect": "Effect",
    "probability_positive": "P(positive)",
    "passage": "Passage",
}
_SHARES = ("prevalence", "strength", "share_used", "weight")
_POINTS = ("effect", "change")
_BOUNDS = {"prevalence": ("prevalence_low", "prevalence_high"), "share_used": ("used_low", "used_high")}
_BOUNDS |= dict.fromkeys(("weight", *_POINTS), ("low", "high"))
_PREVALENCE = "Prevalence: share of the {rows} that use the concept."
_STRENGTH = "Strength: its mean weight in those."
# The columns of a printed table, those that it lacks left out; its caption and its note.
_PRINTED = {
    "concepts": (
        "concept name top_words prevalence strength found_again found_by",
        "Concepts",
        f"{_PREVALENCE} {_STRENGTH} Chains: how many of the {{chains}} chains find it.{{again}}",
    ),
    "words": (
        "concept name word share_used",
        "Words of the concepts",
        "Used by: of the {rows} that use the concept, the share that use the word for it.",
    ),
    "documents": (
        "document concept concept_name weight",
        "Concepts of the documents",
        "Weight: share of the document's words.",
    ),
    "groups": (
        "concept name group n_rows prevalence strength",
        "Prevalence of the concepts by {groups}",
        f"{_PREVALENCE} {_STRENGTH}",
    ),
    "trends": (
        "concept name first last change probability_rises",
        "Change in prevalence over time ({time})",
        "Change: of a line through the prevalences, from the first period to the last, in percentage points.",
    ),
    "periods": ("concept name period n_rows prevalence", "Prevalence by period of {time}", _PREVALENCE),
    "effects": (
        "concept name label effect probability_positive",
        "Effects on prevalence",
        "Effect: change of {outcome}, in percentage points, the other terms held fixed. {notes}",
    ),
    "quotes": (
        "concept name document passage",
        "Passages that show the concepts",
        "The documents with the most evidence for each concept.",
    ),
}


def printed(name: str, table: pd.DataFrame, **facts: Any) -> Titled:
    """Return one of the model's tables for print.

    `facts` are the values in captions and notes: `rows`, `chains`, `pilots`, `groups`, `time` and `notes`; and whether
    the user has `named` any concept.
    """
    columns, caption, note = _PRINTED.get(name, ("", "", ""))
    kept = [one for one in columns.split() if one in table]
    if not kept:
        return Titled(table.map(short), name.replace("_", " ").capitalize())
    facts = {"again": "", "outcome": outcome(facts.get("rows", "documents")), **facts}
    if "found_again" in kept and table["found_again"].isna().all():
        kept.remove("found_again")
    elif "found_again" in kept:
        facts["again"] = f" Found again: by how many of the {facts['pilots']} fits to samples of the documents."
    if "top_words" in kept and not facts.get("named"):
        kept.remove("name")  # the automatic names only repeat the first words
    if name == "groups" and table.groupby("concept", sort=False).size().max() <= _MOST_BESIDE:
        out = _groups_beside(table)
        note = f"{_PREVALENCE[:-1]}, in %, with 95% intervals."
    else:
        out = {}
        for column in kept:
            out[_HEADINGS[column]] = [_cell(column, value) for value in table[column]]
            low, high = _BOUNDS.get(column, ("", ""))
            if low in table and high in table:
                out["95% interval"] = [_interval(column, a, b) for a, b in zip(table[low], table[high])]
    return Titled(pd.DataFrame(out), f"{caption.format(**facts)}.", note.format(**facts).strip())


def _groups_beside(table: pd.DataFrame) -> dict[str, list[str]]:
    """Return a row per concept, with the prevalences of the groups side by side."""
    several = table["column"].nunique() > 1
    out = {
        "No.": [str(one) for one in table["concept"].unique()],
        "Concept": table.drop_duplicates("concept")["name"].tolist(),
    }
    for (column, group), own in table.groupby(["column", "group"], sort=False):
        heading = f"{column} {group}" if several else str(group)
        bounds = zip(own["prevalence"], own["prevalence_low"], own["prevalence_high"])
        out[f"{heading} (n = {own['n_rows'].iloc[0]:,})"] = [
            f"{_cell('prevalence', share)} ({_interval('prevalence', low, high)})" for share, low, high in bounds
        ]
    return out


def listed(names: Sequence[Any]) -> str:
    """Return names as a sentence lists them: "party, state and year"."""
    *first, last = [str(name) for name in names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _cell(column: str, value: Any) -> str:
    if isinstance(value, float) and value != value:
        return "–"
    if column in _SHARES:
        return f"{100 * value:.1f}"
    if column in _POINTS:
        return _signed(value)
    if column == "found_again":
        return f"{value:.0f}"
    if column.startswith("probability"):
        return "<0.01" if value < 0.005 else ">0.99" if value > 0.995 else f"{value:.2f}"
    return _text(value) if isinstance(value, list | tuple) else str(value)


def _interval(column: str, low: float, high: float) -> str:
    if low != low or high != high:
        return "–"
    if column in _POINTS:
        return f"{_signed(low)} to {_signed(high)}"
    return f"{100 * low:.1f}–{100 * high:.1f}"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")


def write_tables(tables: Mapping[str, Titled], path: Path, format: str) -> list[Path]:
    """Write tables to one file, or one file each in the folder `path`; return them.

    `tables` maps the name of a file, sheet or label to its table. LaTeX and Word write the cells unchanged.
    """
    if format in TOGETHER:
        (_write_excel if format == "xlsx" else _write_word)(tables, path)
        return [path]
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


def _needed(module: str, files: str, extra: str, package: str = "") -> Any:
    try:
        return import_module(module)
    except ImportError:
        reason = f"{files} files need {package or module}; install it by pip install 'superwords[{extra}]'."
        raise InputError(reason) from None


def _write_parquet(table: pd.DataFrame, target: Path) -> None:
    _needed("pyarrow", "Parquet", "parquet")
    out = table.set_axis(table.columns.map(str), axis=1)
    # Parquet has columns of one kind: mixed ones become text.
    for name in [name for name in out.columns if out[name].dtype.kind == "O"]:
        known = [value for value in out[name] if value is not None and value == value]
        if len({type(value) for value in known}) > 1:
            out[name] = [None if value is None or value != value else str(value) for value in out[name]]
    with atomic_path(target) as temporary:
        out.to_parquet(temporary, index=False)


def _write_excel(tables: Mapping[str, Titled], target: Path) -> None:
    book = _needed("openpyxl", "Excel", "paper").Workbook(write_only=True)
    for name, titled in tables.items():
        sheet = book.create_sheet(name[:31])
        for row in [tuple(titled.table.columns), *titled.table.itertuples(index=False, name=None)]:
            sheet.append([_excel_cell(value) for value in row])
    with atomic_path(target) as temporary:
        book.save(temporary)


def _excel_cell(value: Any) -> Any:
    """Return a value as a cell; a text that starts like a formula stays a text."""
    if isinstance(value, list | tuple):
        value = _text(value)
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
        rf"\shortstack[{side}]{{{text}}}" if len(head) > 1 else text for head, text, side in zip(heads, joined, sides)
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


def _write_word(tables: Mapping[str, Titled], target: Path) -> None:
    document = _needed("docx", "Word", "paper", "python-docx").Document()
    for titled in tables.values():
        add_word_table(document, titled)
    with atomic_path(target) as temporary:
        document.save(str(temporary))


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
