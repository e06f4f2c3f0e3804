"""From a formula and the documents' columns to the matrix of a regression."""

from __future__ import annotations

import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.concepts.dates import as_years
from superwords.errors import InputError

# What a formula may call. It is evaluated as Python: nothing else gets through.
FUNCTIONS = ("C", "log", "log10", "log2", "sqrt", "exp", "poly", "bs", "cs", "center", "scale")
_PARTS = re.compile(r"`([^`]*)`|([^\W\d]\w*)|(\d+(?:\.\d*)?)|(\*\*|[-+*:^(),=])|(\s+)|(.)", re.UNICODE)
_ARGUMENTS = ("degree", "df", "raw", "True", "False")


class Design(NamedTuple):
    """The cases that have a value in every column: their places, the matrix, and what its columns are of."""

    rows: np.ndarray
    matrix: np.ndarray  # (cases, 1 + p), the intercept first
    columns: list[str]  # (p)
    terms: list[str]  # (p) the formula's term that a column is of

    def only(self, term: str) -> Design:
        """The same cases with the columns of one term."""
        chosen = [k for k, one in enumerate(self.terms) if one == term]
        matrix = self.matrix[:, [0, *(k + 1 for k in chosen)]]
        return Design(self.rows, matrix, [self.columns[k] for k in chosen], [term] * len(chosen))


def make_design(metadata: pd.DataFrame, formula: str) -> Design:
    """The matrix of a formula's right-hand side; what cannot be one is said in one sentence."""
    try:
        import formulaic
    except ImportError:
        raise InputError("Effects need formulaic; install it by pip install 'superwords[effects]'.") from None
    used = _columns_of(formula, metadata)
    if not used:
        raise InputError(f"The formula {formula!r} names no column; give at least one.")
    table = pd.DataFrame({str(name): _prepared(metadata[name], str(name)) for name in used})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = formulaic.model_matrix(formula, table.reset_index(drop=True), context={"sqrt": np.sqrt})
    except Exception as error:
        told = str(error).splitlines()[0].rstrip(".")
        texts = [name for name in table if table[name].dtype == object]
        if texts and ("[TypeError: " in told or "could not convert string" in told):
            told = f"{texts[0]!r} is a column of groups, and log, poly and the like need numbers"
        raise InputError(f"The formula {formula!r} cannot be used: {told}.") from None
    if isinstance(spec, formulaic.ModelMatrices):
        raise InputError(f"The formula {formula!r} has several sides; give the columns only, as 'a + b'.")
    columns = [str(name) for name in spec.columns]
    if "Intercept" not in columns:
        raise InputError(f"The formula {formula!r} leaves out the intercept; it is needed.")
    places = spec.model_spec.term_indices.items()
    named = {columns[k]: str(term) for term, those in places for k in those}
    return _checked(spec, columns, named, formula)


def _checked(spec: Any, columns: list[str], named: dict[str, str], formula: str) -> Design:
    matrix = np.asarray(spec, float)
    if not len(matrix):
        raise InputError(f"No document has a value in every column of {formula!r}.")
    order = [columns.index("Intercept"), *(k for k, name in enumerate(columns) if name != "Intercept")]
    matrix = matrix[:, order]
    others = [columns[k] for k in order[1:]]
    endless = [name for k, name in enumerate(others, start=1) if not np.isfinite(matrix[:, k]).all()]
    if endless:
        raise InputError(
            f"{endless[0]} has no finite value for some documents, as the log of 0 has none; "
            "leave it out, or give a column without such values."
        )
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise InputError(
            f"The columns of {formula!r} cannot be told apart: among the documents with a value in all of them, one "
            "follows from the others, or has a single value; leave one out."
        )
    return Design(np.asarray(spec.index), matrix, others, [named[name] for name in others])


def _columns_of(formula: str, metadata: pd.DataFrame) -> list[Any]:
    """The columns that a formula names, each once; anything it may not hold is refused."""
    if not isinstance(formula, str):
        raise InputError(f"formula={formula!r} is not text; give columns, such as 'party + date'.")
    if not formula.strip():
        raise InputError("The formula is empty; give columns, such as 'party + date'.")
    known = {str(name): name for name in metadata.columns}
    found = []
    for quoted, name, _, _, _, other in _PARTS.findall(formula):
        if other:
            raise InputError(
                f"The formula {formula!r} has {other!r} in it; give columns joined by +, such as 'party + date'."
            )
        wanted = quoted or name
        if quoted or (wanted and wanted in known):
            if wanted not in known:
                raise _unknown(wanted, known)
            found.append(known[wanted])
        elif wanted and wanted not in (*FUNCTIONS, *_ARGUMENTS):
            raise _unknown(wanted, known)
    return list(dict.fromkeys(found))


def _unknown(name: str, known: dict[str, Any]) -> InputError:
    have = f"the columns are {', '.join(map(repr, known))}" if known else "the corpus has no metadata"
    return InputError(f"There is no column {name!r}; {have}.")


def _prepared(values: pd.Series, name: str) -> pd.Series:
    """Numbers as they are, dates in years, all else as groups."""
    if values.dtype.kind in "iuf":
        return values.astype(float)
    years = as_years(values)
    if years is not None:
        return years
    if values.dtype.kind == "b":
        return values.astype(float)
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().sum() == values.notna().sum() > 0:
        return numbers.astype(float)
    texts = values.map(lambda one: one if pd.isna(one) else str(one)).astype(object)
    n_groups = texts.nunique()
    if n_groups > max(2, texts.notna().sum() / _LEAST_PER_GROUP):
        raise InputError(
            f"The column {name!r} has {n_groups:,} different values among {texts.notna().sum():,} documents; "
            "effects need numbers, dates or a few groups."
        )
    return texts


_LEAST_PER_GROUP = 3
