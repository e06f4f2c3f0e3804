"""Export of a model's tables: CSV, Parquet, Excel, LaTeX, Word, JSON, NetCDF."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.dates import time_columns
from superwords.analysis.groups import by_group
from superwords.analysis.table_files import PRINTED, SUFFIXES, TOGETHER, Titled, listed, printed, write_tables
from superwords.analysis.tables import objects, of_shown, sources
from superwords.errors import InputError
from superwords.files import atomic_path, write_atomic
from superwords.tabular import plain, records
from superwords.text.corpus import row_name

FORMATS = (*SUFFIXES, "json", "netcdf", "pyldavis")
ALL = "all"
QUOTES = 3  # of each concept
# Maximum groups of a column: to be preferred, compared, printed.
FEW_GROUPS, MOST_COMPARED, MOST_PRINTED = 12, 40, 8
_SMOOTHING = 0.01  # of a word in a concept, since pyLDAvis takes logarithms


class Export:
    """The tables of a model by name; each is computed when it is asked for.

    Parameters
    ----------
    model : ConceptModel
    groups : str or list of str, optional
        Columns that divide the documents; those of the fit if not given.
    time : str, optional
        A column of dates or years; the first one if not given.
    formula : str, optional
        Of `effects`, such as "party + date"; there is no such table if not given.
    cluster : str, optional
        The column of authors in `effects`.
    """

    def __init__(
        self,
        model: Any,
        groups: str | Sequence[str] | None = None,
        time: str | None = None,
        formula: str | None = None,
        cluster: str | None = None,
    ):
        corpus = model.corpus_
        given = [groups] if isinstance(groups, str) else groups
        self.model = model
        self.groups = list(given if given is not None else corpus.notes.get("groups") or [])
        self.time = time or next(iter(time_columns(corpus.metadata)), None)
        self.formula, self.cluster = formula, cluster

    @property
    def makers(self) -> dict[str, Callable[[], pd.DataFrame]]:
        """The tables available for this model, in the order of writing."""
        model = self.model
        out: dict[str, Callable[[], pd.DataFrame]] = {
            "concepts": model.concepts,
            "words": lambda: self._of_each(model.words_of, "word"),
            "documents": model.documents,
            "documents_wide": self._documents_wide,
            "vocabulary": model.words,
        }
        if self.groups:
            out["groups"] = lambda: self._of_columns(model.by_group, self.groups)
        if self.time is not None:
            out["trends"] = lambda: model.trends(self.time)
            out["periods"] = lambda: model.over_time(self.time)
        if self.formula:
            out["effects"] = lambda: model.effects(self.formula, cluster=self.cluster)
        if model.corpus_.texts is not None:
            quotes = partial(model.representative_documents, n=QUOTES)
            out["quotes"] = lambda: self._of_each(quotes, "document")
        return out

    def table(self, name: str) -> pd.DataFrame:
        """Return one table; raise InputError with the missing input if it is unavailable."""
        if name in self.makers:
            return self.makers[name]()
        needs = {
            "groups": "a column of groups; give groups (--groups)",
            "trends": "a column of dates or years; give time (--time)",
            "periods": "a column of dates or years; give time (--time)",
            "effects": 'a formula such as "party + date"; give formula (--formula)',
            "quotes": "the texts, which this model was saved without",
        }
        if name in needs:
            raise InputError(f"The table {name!r} needs {needs[name]}.")
        known = dict.fromkeys([*self.makers, *needs])
        raise InputError(f"There is no table {name!r}; choose one of {', '.join(known)}.")

    def printed(self, name: str, data: pd.DataFrame | None = None) -> Titled:
        """Return one table (`data`, if given) as printed, with its caption and note."""
        model = self.model
        if name == "groups":  # with small groups pooled
            self.table(name)
            make = partial(by_group, model.result_, n_words=0, most=MOST_PRINTED)
            table = of_shown(model.result_, self._of_columns(make, self.compared))
        else:
            table = self.table(name) if data is None else data
        return printed(
            name,
            table,
            rows=row_name(model.corpus_),
            chains=len(model.chains_),
            pilots=model.verdict().n_pilots,
            groups=listed(self.compared),
            time=self.time,
            notes=" ".join(table.attrs.get("notes", [])),
            named=bool(model.names_),
        )

    def _of_each(self, make: Callable[[int], pd.DataFrame], first: str) -> pd.DataFrame:
        """Return one table of the rows that each concept has."""
        concepts = self.model.concepts(0)[["concept", "name"]].itertuples(index=False, name=None)
        parts = [make(concept).assign(concept=concept, name=name) for concept, name in concepts]
        return _joined(parts, ["concept", "name", first])

    def _of_columns(self, make: Callable[[Any], pd.DataFrame], columns: list[Any]) -> pd.DataFrame:
        parts = [make(column).assign(column=column) for column in columns]
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
        held = held[held["concept"].isin(numbers)]
        weights = np.zeros((len(ids), len(numbers)))
        row, column = ({one: n for n, one in enumerate(those)} for those in (ids, numbers))
        weights[held["document"].map(row), held["concept"].map(column)] = held["weight"]
        wide = pd.DataFrame(weights, columns=[f"concept_{concept}" for concept in numbers])
        clash = {name: f"metadata_{name}" for name in metadata if name in wide or name == "document"}
        labels = metadata.rename(columns=clash).reset_index(drop=True)
        return pd.concat([pd.DataFrame({"document": objects(ids)}), labels, wide], axis=1)


def _joined(parts: list[pd.DataFrame], first: list[str]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame(columns=first)
    table = pd.concat(parts, ignore_index=True)
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
        ending = f"The ending of {out.name!r} names no format"
        wrong = f"The format {format!r} is not known" if format else ending
        raise InputError(f"{wrong}; choose one of {', '.join(FORMATS)}.")
    source = Export(model, **options)
    if kind == "netcdf" and find_spec("h5netcdf") is None:
        raise InputError("The format 'netcdf' needs h5netcdf; install the extra superwords[netcdf].")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if kind in SUFFIXES:
            return _write(source, out, kind, table)
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
    except OSError as error:
        raise InputError(f"The tables cannot be written to {str(out)!r}: {error.strerror or error}.") from error
    return [out]


def _write(source: Export, path: Path, kind: str, table: str) -> list[Path]:
    names = list(source.makers) if table == ALL else [table]
    if kind in PRINTED:
        if table == ALL:
            names = [one for one in names if one not in ("documents", "documents_wide", "vocabulary")]
        tables = {name: source.printed(name) for name in names}
    else:
        tables = {name: Titled(source.table(name)) for name in names}
    if path.suffix != SUFFIXES[kind]:
        if kind in TOGETHER:
            path = path.with_name(f"{path.name}{SUFFIXES[kind]}")
        elif table != ALL:
            path = path / f"{table}{SUFFIXES[kind]}"
            path.parent.mkdir(parents=True, exist_ok=True)
    return write_tables(tables, path, kind)


def pyldavis_input(model: Any) -> dict[str, Any]:
    """Return the arguments of `pyLDAvis.prepare`; all distributions sum to 1.

    A concept's distribution over words is the number of documents that use a word for it, averaged over the
    aligned draws, plus 0.01 for every word. Documents without a word, or without a concept, are left out.
    """
    if model.n_concepts_ == 0:
        raise InputError("The model has no concepts, so there is nothing to show in pyLDAvis.")
    corpus, words = model.corpus_, model.result_.summary.words
    used = np.full((model.n_concepts_, corpus.n_words), _SMOOTHING)
    used[words.concept, words.word] += words.documents
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
