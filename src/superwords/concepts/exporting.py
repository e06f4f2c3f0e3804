"""A fitted model's results in other programs' formats: CSV, JSON, ArviZ NetCDF and pyLDAvis's input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.files import write_whole
from superwords.tabular import csv_text, records

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

FORMATS = ("csv", "json", "netcdf", "pyldavis")
_SMOOTHING = 0.01  # of a word in a concept: pyLDAvis takes logarithms


def export(model: ConceptModel, path: str | Path, format: str) -> list[Path]:
    """Write a model's results; the files written.

    "csv": concepts.csv, documents.csv and words.csv in the folder `path`; "json": the same in one file;
    "netcdf": the traces, for ArviZ; "pyldavis": the arguments of `pyLDAvis.prepare`, as one JSON file.
    """
    if format not in FORMATS:
        raise InputError(f"The format {format!r} is not known; choose one of {', '.join(FORMATS)}.")
    out = Path(path)
    folder = out if format == "csv" else out.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if format == "csv":
            return _write_csv(model, out)
        if format == "netcdf":
            model.trace_.to_netcdf(out, engine="h5netcdf")
        else:
            content = _tables_as_json(model) if format == "json" else pyldavis_input(model)
            out.write_text(json.dumps(content, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"The results cannot be written to {str(out)!r}: {error.strerror or error}."
        ) from error
    return [out]


def _tables(model: ConceptModel) -> dict[str, pd.DataFrame]:
    return {"concepts": model.concepts(), "documents": model.documents(), "words": model.words()}


def _write_csv(model: ConceptModel, folder: Path) -> list[Path]:
    written = []
    for name, table in _tables(model).items():
        target = folder / f"{name}.csv"
        write_whole(target, csv_text(table).encode("utf-8"))
        written.append(target)
    return written


def _tables_as_json(model: ConceptModel) -> dict[str, Any]:
    tables = {name: records(table) for name, table in _tables(model).items()}
    return {"verdict": model.verdict(), "convergence": records(model.convergence()), **tables}


def pyldavis_input(model: ConceptModel) -> dict[str, Any]:
    """The arguments of `pyLDAvis.prepare`; every row of the two distributions sums to 1.

    A concept's distribution over words is the number of documents that use a word for it, averaged over the
    aligned draws, plus 0.01 for every word. Documents without a word are left out.
    """
    if model.n_concepts_ == 0:
        raise InputError("The model has no concepts, so there is nothing to show in pyLDAvis.")
    corpus, words = model.corpus_, model.result_.summary.words
    used = np.zeros((model.n_concepts_, corpus.n_words))
    used[words.concept, words.word] = words.documents
    used += _SMOOTHING
    lengths = np.asarray(corpus.counts.sum(axis=1)).ravel()
    filled = np.flatnonzero(lengths > 0)
    weights = model.result_.reference_weights[filled].toarray()
    return {
        "topic_term_dists": (used / used.sum(axis=1, keepdims=True)).tolist(),
        "doc_topic_dists": (weights / weights.sum(axis=1, keepdims=True)).tolist(),
        "doc_lengths": lengths[filled].astype(int).tolist(),
        "vocab": list(corpus.vocabulary),
        "term_frequency": np.asarray(corpus.counts.sum(axis=0)).ravel().astype(int).tolist(),
    }
