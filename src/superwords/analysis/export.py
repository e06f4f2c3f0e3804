"""Export of a model's tables, written atomically: CSV, Parquet, Excel, LaTeX (booktabs), Word, JSON, NetCDF."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.analysis import groups as groups_of_documents
from superwords.analysis.dates import time_columns
from superwords.analysis.documents import with_metadata
from superwords.analysis.effects import outcome
from superwords.analysis.tables import by_word, of_shown, sources
from superwords.errors import InputError, import_extra
from superwords.files import atomic_path, write_atomic, writing
from superwords.tabular import csv_text, listed, plain, records, short, spreadsheet_cell
from superwords.text.corpus import fitted_groups, row_name

SUFFIXES = {"csv": ".csv", "parquet": ".parquet", "xlsx": ".xlsx", "latex": ".tex", "docx": ".docx"}
# One file holds several tables: a workbook has sheets, a document has captions.
TOGETHER = ("xlsx", "docx")
PRINTED = ("latex", "docx")  # for readers: few columns, rounded
_LIBRARIES = {"parquet": ("pyarrow", "parquet"), "xlsx": ("openpyxl", "paper"), "docx": ("docx", "paper")}
_LIBRARIES |= {"netcdf": ("h5netcdf", "netcdf")}  # the module that writes a format, and its extra
_LONG = 40  # lines from which a LaTeX table may break across pages
_WIDE = 24  # mean characters from which the cells of a column are wrapped
_CHARACTER, _BETWEEN, _LEAST_WRAPPED = 0.0135, 0.035, 0.2  # shares of the text width, in small letters
_CELL = 32_000  # characters that a cell of Excel can hold
_ESCAPED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--"}
_ESCAPED |= {"…": r"\ldots{}", "<": r"\textless{}", ">": r"\textgreater{}"} | {mark: f"\\{mark}" for mark in "&%$#_{}"}
_LATEX = str.maketrans(_ESCAPED)
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML
FORMATS = (*SUFFIXES, "json", "netcdf", "pyldavis")
ALL = "all"
QUOTES = 3  # of each concept
# Maximum groups of a column: to be preferred, compared, printed, printed side by side.
FEW_GROUPS, MOST_COMPARED, MOST_PRINTED, _MOST_BESIDE = 12, 40, 8, 4
_SMOOTHING = 0.01  # of a word in a concept, since pyLDAvis takes logarithms


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")


def _probability(value: float) -> str:
    return "<0.01" if value < 0.005 else ">0.99" if value > 0.995 else f"{value:.2f}"


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(short, value))
    return "" if value is None or (isinstance(value, float) and value != value) else short(value)


# The headings of printed columns, how cells are written, and where the bounds are.
_HEADINGS = {"prevalence": "Prevalence (%)", "strength": "Strength (%)", "share_used": "Used by (%)"}
_HEADINGS |= {"weight": "Weight (%)", "effect": "Effect", "change": "Change", "probability_rises": "P(rises)"}
_HEADINGS |= {"probability_positive": "P(positive)", "concept": "No.", "name": "Concept", "concept_name": "Concept"}
_HEADINGS |= {"top_words": "Words", "word": "Word", "found_again": "Found again", "found_by": "Chains"}
_HEADINGS |= {"document": "Document", "passage": "Passage", "n_rows": "n", "first": "From", "last": "To"}
_HEADINGS |= {"group": "Group", "period": "Period", "label": "Term"}
_FORMATS: dict[str, Callable[[Any], str]] = {"found_again": "{:.0f}".format, "effect": _signed, "change": _signed}
_FORMATS |= dict.fromkeys(("prevalence", "strength", "share_used", "weight"), _percent)
_FORMATS |= dict.fromkeys(("probability_rises", "probability_positive"), _probability)
_BOUNDS = {"prevalence": ("prevalence_low", "prevalence_high"), "share_used": ("used_low", "used_high")}
_BOUNDS |= dict.fromkeys(("weight", "effect", "change"), ("low", "high"))
# The columns of a printed table, those that it lacks left out, and its caption.
_PRINTED = {
    "concepts": ("concept name top_words prevalence strength found_again found_by", "Concepts"),
    "words": ("concept name word share_used", "Words of the concepts"),
    "documents": ("document concept concept_name weight", "Concepts of the documents"),
    "groups": ("concept name group n_rows prevalence strength", "Prevalence of the concepts by {groups}"),
    "trends": ("concept name first last change probability_rises", "Change in prevalence over time ({time})"),
    "periods": ("concept name period n_rows prevalence", "Prevalence by period of {time}"),
    "effects": ("concept name label effect probability_positive", "Effects on prevalence"),
    "quotes": ("concept name document passage", "Passages that show the concepts"),
}
# What the note under a table says of its columns.
_NOTES = {
    "prevalence": "Prevalence: share of the {rows} that use the concept.",
    "strength": "Strength: its mean weight in those.",
    "found_by": "Chains: how many of the {chains} chains find it.",
    "found_again": "Found again: by how many of the {pilots} fits to samples of the documents.",
    "share_used": "Used by: of the {rows} that use the concept, the share that use the word for it.",
    "weight": "Weight: share of the document's words.",
    "change": "Change: of a line through the prevalences, from the first period to the last, in percentage points.",
    "effect": "Effect: change of {outcome}, in percentage points, the other terms held fixed. {notes}",
    "passage": "The documents with the most evidence for each concept.",
}
# What a table needs that a model may lack.
_NEEDS = {
    "groups": "a column of groups; give groups (--groups)",
    "trends": "a column of dates or years; give time (--time)",
    "periods": "a column of dates or years; give time (--time)",
    "effects": 'a formula such as "party + date"; give formula (--formula)',
    "quotes": "the texts, which this model was saved without",
}


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


@dataclass
class Export:
    """The tables of a model by name, each computed when it is asked for; the options are those of `export`."""

    model: Any
    groups: Any = None
    time: str | None = None
    formula: str | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        given = fitted_groups(self.model.corpus_) if self.groups is None else self.groups
        self.groups = [given] if isinstance(given, str) else list(given)
        self.time = self.time or next(iter(time_columns(self.model.corpus_.metadata)), None)

    @property
    def makers(self) -> dict[str, Callable[[], pd.DataFrame]]:
        """The tables available for this model, in the order of writing."""
        model, has_time = self.model, self.time is not None
        has = {"groups": self.groups, "trends": has_time, "periods": has_time, "effects": self.formula}
        has["quotes"] = model.corpus_.texts is not None
        every: dict[str, Callable[[], pd.DataFrame]] = {
            "concepts": model.concepts,
            "words": lambda: self._of_each(model.words_of, "word"),
            "documents": model.documents,
            "documents_wide": self._documents_wide,
            "vocabulary": model.words,
            "groups": lambda: self._by_group(self.groups, model.by_group),
            "trends": lambda: model.trends(self.time),
            "periods": lambda: model.over_time(self.time),
            "effects": lambda: model.effects(self.formula, cluster=self.cluster),
            "quotes": lambda: self._of_each(model.representative_documents, "document", n=QUOTES),
        }
        return {name: make for name, make in every.items() if has.get(name, True)}

    def table(self, name: str) -> pd.DataFrame:
        """Return one table; raise InputError with the missing input if it is unavailable."""
        if name in self.makers:
            return self.makers[name]()
        if name in _NEEDS:
            raise InputError(f"The table {name!r} needs {_NEEDS[name]}.")
        known = dict.fromkeys([*self.makers, *_NEEDS])
        raise InputError(f"There is no table {name!r}; choose one of {', '.join(known)}.")

    def printed(self, name: str, data: pd.DataFrame | None = None) -> Titled:
        """Return one table (`data`, if given) as printed: few columns, rounded, with its caption and note."""
        model, result = self.model, self.model.result_
        table = self.table(name) if data is None or name == "groups" else data
        if name == "groups":  # with small groups pooled
            make = groups_of_documents.by_group
            pooled = self._by_group(self.compared, make, result=result, n_words=0, most=MOST_PRINTED)
            table = of_shown(result, pooled)
        columns, caption = _PRINTED.get(name, ("", ""))
        kept = [one for one in columns.split() if one in table]
        if not kept:
            return Titled(table.map(short), name.replace("_", " ").capitalize())
        if "found_again" in kept and table["found_again"].isna().all():
            kept.remove("found_again")
        if "top_words" in kept and not model.names_:
            kept.remove("name")  # the automatic names only repeat the first words
        note = " ".join(text for column, text in _NOTES.items() if column in kept)
        out = {}
        if name == "groups" and table.groupby("concept", sort=False).size().max() <= _MOST_BESIDE:
            # A row per concept, with the prevalences of the groups side by side.
            note = _NOTES["prevalence"].replace(".", ", in %, with 95% intervals.")
            out["No."] = [str(one) for one in table["concept"].unique()]
            out["Concept"] = table.drop_duplicates("concept")["name"].tolist()
            for (column, group), own in table.groupby(["column", "group"], sort=False):
                heading = f"{column} {group}" if table["column"].nunique() > 1 else str(group)
                cells = zip(_cells("prevalence", own), _intervals("prevalence", own))
                out[f"{heading} (n = {own['n_rows'].iloc[0]:,})"] = [f"{share} ({bounds})" for share, bounds in cells]
        else:
            for column in kept:
                out[_HEADINGS[column]] = _cells(column, table)
                if set(_BOUNDS.get(column, ("",))) <= set(table):
                    out["95% interval"] = _intervals(column, table)
        rows = row_name(model.corpus_)
        facts = {"rows": rows, "outcome": outcome(rows), "chains": len(model.chains_), "time": self.time}
        facts |= {"pilots": result.n_pilots, "groups": listed(self.compared)}
        facts["notes"] = " ".join(table.attrs.get("notes", []))
        return Titled(pd.DataFrame(out), f"{caption.format(**facts)}.", note.format(**facts).strip())

    def _of_each(self, make: Callable[..., pd.DataFrame], first: str, **options: Any) -> pd.DataFrame:
        concepts = self.model.concepts(0)[["concept", "name"]].itertuples(index=False, name=None)
        parts = (make(concept, **options).assign(concept=concept, name=name) for concept, name in concepts)
        return _joined(parts, ["concept", "name", first])

    def _by_group(self, columns: list[Any], make: Callable[..., pd.DataFrame], **options: Any) -> pd.DataFrame:
        parts = (make(column=column, **options).assign(column=column) for column in columns)
        return _joined(parts, ["column", "concept", "name", "group"])

    @property
    def compared(self) -> list[Any]:
        """Columns with few enough groups to compare in print; all columns if none."""
        sizes = {one: self.model.corpus_.metadata[one].nunique() for one in self.groups if one != self.time}
        for most in (FEW_GROUPS, MOST_COMPARED):
            if few := [one for one, size in sizes.items() if 2 <= size <= most]:
                return few
        return self.groups

    def _documents_wide(self) -> pd.DataFrame:
        """Return a row per document with its metadata and its weight in every concept."""
        ids, metadata = sources(self.model.corpus_)
        numbers, held = self.model.result_.shown, self.model.documents()
        weights = held.pivot(index="document", columns="concept", values="weight")
        wide = weights.reindex(index=ids, columns=numbers).fillna(0.0).add_prefix("concept_").reset_index(drop=True)
        return with_metadata(ids, metadata, range(len(ids)), list(wide)).join(wide)


def _cells(column: str, table: pd.DataFrame) -> list[str]:
    """Return the cells of a printed column."""
    write = _FORMATS.get(column, _text)
    return ["–" if isinstance(value, float) and value != value else write(value) for value in table[column]]


def _intervals(column: str, table: pd.DataFrame) -> list[str]:
    """Return the cells of a column of 95% intervals."""
    write, bounds = _FORMATS[column], table[list(_BOUNDS[column])].to_numpy(float)
    between = " to " if write is _signed else "–"
    return ["–" if np.isnan(pair).any() else between.join(map(write, pair)) for pair in bounds]


def _joined(parts: Iterable[pd.DataFrame], first: list[str]) -> pd.DataFrame:
    tables = list(parts)
    if not tables:
        return pd.DataFrame(columns=first)
    table = pd.concat(tables, ignore_index=True)
    return table[[*first, *(name for name in table if name not in first)]]


def export(model: Any, path: str | Path, format: str | None = None, table: str = ALL, **options: Any) -> list[Path]:
    """Write tables for other programs or for a paper, atomically (docs/paper.md).

    Parameters
    ----------
    path : str or Path
        A file, or the folder of all tables.
    format : str, optional
        "csv", "parquet", "xlsx", "latex", "docx", "json", "netcdf" or "pyldavis"; from the suffix if not given.
    table : str
        "concepts", "words", "documents", "documents_wide", "vocabulary", "groups", "trends", "periods", "effects",
        "quotes" or "all".
    **options
        groups (columns), time (a column), formula and cluster (of the effects).

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in model.export(f"{folder}/concepts.tex", table="concepts")]
    ['concepts.tex']
    """
    out = Path(path)
    endings = {suffix: kind for kind, suffix in SUFFIXES.items()} | {".json": "json", ".nc": "netcdf"}
    kind = format or endings.get(out.suffix)
    if kind not in FORMATS:
        wrong = f"The format {format!r} is not known" if format else f"The ending of {out.name!r} names no format"
        raise InputError(f"{wrong}; choose one of {', '.join(FORMATS)}.")
    source = Export(model, **options)
    _library(kind)
    with writing("The tables", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        if kind in SUFFIXES:
            printed, names = kind in PRINTED, list(source.makers) if table == ALL else [table]
            if printed and table == ALL:
                names = [one for one in names if one not in ("documents", "documents_wide", "vocabulary")]
            tables = {name: source.printed(name) if printed else Titled(source.table(name)) for name in names}
            return write_tables(tables, out, kind)
        if kind == "netcdf":
            with atomic_path(out) as temporary:
                model.trace_.to_netcdf(temporary, engine="h5netcdf")
            return [out]
        if kind == "pyldavis":
            content = pyldavis_input(model)
        elif table == ALL:
            content = {"verdict": plain(str(model.verdict())), "convergence": records(model.convergence())}
            content |= {name: records(make()) for name, make in source.makers.items()}
        else:
            content = {table: records(source.table(table))}
        write_atomic(out, json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8"))
    return [out]


def pyldavis_input(model: Any) -> dict[str, Any]:
    """Return the arguments of `pyLDAvis.prepare`, without documents that have no word or no concept."""
    if model.n_concepts_ == 0:
        raise InputError("The model has no concepts, so there is nothing to show in pyLDAvis.")
    corpus, words = model.corpus_, model.result_.summary.words
    used = by_word(model.result_, words.documents).toarray() + _SMOOTHING
    lengths, weights = corpus.counts.sum(axis=1), model.result_.weights
    filled = np.flatnonzero((lengths > 0) & (weights.sum(axis=1) > 0))
    weights = weights[filled].toarray()
    return {
        "topic_term_dists": (used / used.sum(axis=1, keepdims=True)).tolist(),
        "doc_topic_dists": (weights / weights.sum(axis=1, keepdims=True)).tolist(),
        "doc_lengths": lengths[filled].astype(int).tolist(),
        "vocab": list(corpus.vocabulary),
        "term_frequency": corpus.counts.sum(axis=0).astype(int).tolist(),
    }


def _library(format: str) -> Any:
    """Import the library that writes a format, if it needs one."""
    module, extra = _LIBRARIES.get(format, ("superwords", ""))
    return import_extra(module, f"The format {format!r}", extra)


def write_tables(tables: Mapping[str, Titled], path: Path, format: str) -> list[Path]:
    """Write tables, by name, to one file, or one each in the folder `path`; return the files."""
    library, suffix = _library(format), SUFFIXES[format]
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


def _excel_cell(value: Any) -> Any:
    """Return a value as a cell; a text that starts like a formula stays a text."""
    if isinstance(value, pd.Timestamp) and value.tz is None:
        return value.to_pydatetime()
    value = plain(_text(value) if isinstance(value, list | tuple) else value)
    if not isinstance(value, str):
        return value
    return spreadsheet_cell(_UNPRINTABLE.sub("", value)[:_CELL])


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
