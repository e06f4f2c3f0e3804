"""Turn a formula and the documents' columns into the matrix of a regression."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.analysis.dates import TimeScale, as_years, time_scale
from superwords.analysis.groups import OTHER
from superwords.errors import InputError, import_extra, whole_number
from superwords.text.corpus import named_column

MIN_GROUP = 5
CURVES = ("poly", "bs", "cs")
# The functions a formula may call. formulaic evaluates a formula as Python, so every other name is refused.
FUNCTIONS = ("C", "log", "log10", "log2", "sqrt", "exp", *CURVES, "center", "scale")
_ARGUMENTS = ("degree", "df", "raw", "True", "False")
_PARTS = re.compile(r"`([^`]*)`|([^\W\d]\w*)|(\d+(?:\.\d*)?)|(\*\*|[-+*:^(),=])|(\s+)|(.)", re.UNICODE)
_LONGEST, _MOST_COLUMNS, _HIGHEST_POWER, _MOST_KNOTS = 500, 60, 5, 12
_GROUP = re.compile(r"(?:C\()?`?(.+?)`?\)?\[(?:T\.)?(.+)\]")
_EXAMPLE = "columns joined by +, such as 'party + date'"


class Design(NamedTuple):
    """The documents with a value in every column, and the matrix of the formula."""

    rows: np.ndarray  # places of the documents in the metadata
    matrix: np.ndarray  # (cases, 1 + p), the intercept first
    columns: list[str]  # (p)
    terms: list[str]  # (p) the formula's term of each column
    labels: list[str]  # (p) each column in plain words
    notes: list[str]  # pooled and excluded groups, units of dates
    table: pd.DataFrame  # (cases) the prepared columns
    scales: dict[str, TimeScale]  # of the columns of dates
    spec: Any  # formulaic's, to build the matrix of other values

    def at(self, **values: Any) -> np.ndarray:
        """Return the mean row of the matrix with some columns set, the others observed."""
        table = self.table.copy(deep=False)
        for name, value in values.items():
            groups = _levels(table, name)
            table[name] = value if groups is None else pd.Categorical([value] * len(table), categories=groups)
        built = self.spec.get_model_matrix(table, context={"sqrt": np.sqrt})
        return np.asarray(built[["Intercept", *self.columns]], float).mean(axis=0)


def make_design(
    metadata: pd.DataFrame,
    formula: str,
    reference: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    min_group: int = MIN_GROUP,
) -> Design:
    """Return the matrix of a formula's right-hand side (the options of `effects`)."""
    formulaic = import_extra("formulaic", "A formula", "effects")
    used, tree = _parsed(formula, metadata)
    chosen = np.ones(len(metadata), bool)
    for name, given in (groups or {}).items():
        asked = [given] if isinstance(given, str) or not isinstance(given, Sequence) else given
        texts = named_column(metadata, str(name)).map(lambda one: None if pd.isna(one) else str(one))
        _check_groups(str(name), asked, sorted(texts.dropna().unique()))
        chosen &= texts.isin([str(value) for value in asked]).to_numpy()
    # The columns inside C(...) are groups, whatever they hold.
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "C"]
    factors = {_name(part) for call in calls for part in call.args}
    table, scales, notes = _prepared(metadata.reset_index(drop=True)[chosen], used, factors, min_group)
    for name, first in (reference or {}).items():
        levels = _levels(table, str(name))
        if levels is None:
            raise InputError(f"reference={reference!r}: {str(name)!r} is not a column of groups in the formula.")
        _check_groups(str(name), [first], levels)
        order = [str(first), *(one for one in levels if one != str(first))]
        table[str(name)] = table[str(name)].cat.reorder_categories(order)
    n = _n_columns(tree, table)
    if n > _MOST_COLUMNS:
        raise InputError(
            f"The formula {formula!r} has up to {n:,} coefficients; give one with at most {_MOST_COLUMNS}."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            built = formulaic.model_matrix(formula, table, context={"sqrt": np.sqrt})
    except Exception as error:
        reason = str(error).splitlines()[0].rstrip(".")
        grouped = [name for name in table if _levels(table, name) is not None]
        if grouped and any(part in reason for part in ("TypeError", "could not convert", "ategorical")):
            reason = f"{grouped[0]!r} is a column of groups, and log, poly and the like need numbers"
        raise InputError(f"The formula {formula!r} cannot be used: {reason}.") from None
    if isinstance(built, formulaic.ModelMatrices):
        raise InputError(f"The formula {formula!r} has several sides; give the columns only, as 'a + b'.")
    if "Intercept" not in built:
        raise InputError(f"The formula {formula!r} leaves out the intercept; it is needed.")
    columns = [str(name) for name in built.columns if name != "Intercept"]
    term_of = {str(built.columns[k]): str(term) for term, own in built.model_spec.term_indices.items() for k in own}
    terms, labels = [term_of[name] for name in columns], [_label(name, table, scales) for name in columns]
    matrix = np.asarray(built[["Intercept", *columns]], float)
    _check_matrix(matrix, columns, formula)
    return Design(table.index.to_numpy(), matrix, columns, terms, labels, notes, table, scales, built.model_spec)


def _check_groups(name: str, asked: Sequence[Any], known: Sequence[str]) -> None:
    if missing := [str(value) for value in asked if str(value) not in known]:
        raise InputError(f"There is no group {missing[0]!r} in the column {name!r}; it has {_first(known, 12)}.")


def _first(names: Sequence[str], most: int, shown: Callable[[str], str] = repr) -> str:
    return ", ".join(map(shown, names[:most])) + (", …" if len(names) > most else "")


def _check_matrix(matrix: np.ndarray, columns: list[str], formula: str) -> None:
    if not len(matrix):
        raise InputError(f"No document has a value in every column of {formula!r}.")
    infinite = [name for k, name in enumerate(columns, start=1) if not np.isfinite(matrix[:, k]).all()]
    if infinite:
        raise InputError(
            f"{infinite[0]} has no finite value for some documents, as the log of 0 has none; "
            "leave it out, or give a column without such values."
        )
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise InputError(
            f"The columns of {formula!r} are collinear: among the documents with a value in all of them, one "
            "follows from the others, or has a single value; leave one out."
        )


def _levels(table: pd.DataFrame, name: Any) -> list[Any] | None:
    """Return the groups of a column, None if it is no column of groups."""
    own = table.get(name)
    grouped = own is not None and isinstance(own.dtype, pd.CategoricalDtype)
    return own.cat.categories.tolist() if grouped else None


def _label(column: str, table: pd.DataFrame, scales: dict[str, TimeScale]) -> str:
    """Return `party[T.R]` as "party R compared with D", and a date with its unit."""
    parts = []
    for part in column.split(":"):
        found, name = _GROUP.fullmatch(part), part.strip("`")
        levels = _levels(table, found[1]) if found else None
        if found and levels is not None:
            parts.append(f"{found[1]} {found[2]}" + (f" compared with {levels[0]}" if "[T." in part else ""))
        else:
            parts.append(f"{name} (per {scales[name].unit})" if name in scales else part)
    return " × ".join(parts)


def _parsed(formula: str, metadata: pd.DataFrame) -> tuple[list[Any], ast.expr]:
    """Return the columns that a formula names, and it as a Python expression; raise on anything that is not allowed."""
    if not isinstance(formula, str):
        raise InputError(f"formula={formula!r} is not text; give columns, such as 'party + date'.")
    if not formula.strip():
        raise InputError("The formula is empty; give columns, such as 'party + date'.")
    if len(formula) > _LONGEST:
        raise InputError(f"The formula has {len(formula):,} characters; give at most {_LONGEST}.")
    known = set(map(str, metadata.columns))
    used, python = dict[Any, None](), ""
    for part in _PARTS.finditer(formula):
        quoted, name, _, _, _, other = part.groups()
        if other:
            raise InputError(f"The formula {formula!r} has {other!r} in it; give {_EXAMPLE}.")
        if quoted or name in known or (name and name not in (*FUNCTIONS, *_ARGUMENTS)):
            used[named_column(metadata, quoted or name).name] = None
        python += repr(quoted) if quoted else {":": "@", "^": "**"}.get(part[0], part[0])
    if not used:
        raise InputError(f"The formula {formula!r} names no column; give at least one.")
    try:
        return list(used), ast.parse(python.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        reason = "it is not columns joined by +, * or :, such as 'party + date'"
        raise InputError(f"The formula {formula!r} cannot be used: {reason}.") from None


def _name(node: ast.AST) -> str:
    return str(getattr(node, "id", getattr(node, "value", "")))


def _n_columns(node: ast.AST, table: pd.DataFrame, power: int = 1) -> int:
    """Return an upper bound of the columns of a part's matrix; raise if its powers, degrees or knots are too many."""

    def whole(one: ast.AST) -> int:
        value = getattr(one, "value", None)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power *= whole(node.right)
        if not 1 <= power <= _HIGHEST_POWER:
            raise InputError(f"{ast.unparse(node)} has a power that is not a whole number from 1 to {_HIGHEST_POWER}.")
        return (1 + _n_columns(node.left, table, power)) ** whole(node.right) - 1
    below = partial(_n_columns, table=table, power=power)
    if isinstance(node, ast.Call):
        inner = list(map(below, (*node.args, *node.keywords)))
        if _name(node.func) not in CURVES:
            return inner[0] if _name(node.func) == "C" and inner else 1
        sizes = [whole(one) for one in (*node.args[1:], *(one.value for one in node.keywords if one.arg != "raw"))]
        if not all(1 <= size <= _MOST_KNOTS for size in sizes):
            part = ast.unparse(node)
            raise InputError(f"{part} has a degree or df that is not a whole number from 1 to {_MOST_KNOTS}.")
        return sum(sizes) or _MOST_KNOTS
    inner = list(map(below, (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))))
    if isinstance(node, ast.BinOp):
        left, right = inner
        return {ast.Mult: left * right + left + right, ast.MatMult: left * right}.get(type(node.op), left + right)
    levels = _levels(table, _name(node))
    return len(levels) if levels is not None else max(inner, default=1)


def _prepared(
    metadata: pd.DataFrame, used: Sequence[Any], factors: set[str], min_group: int
) -> tuple[pd.DataFrame, dict[str, TimeScale], list[str]]:
    """Return the complete cases: dates centred and scaled, text as groups."""
    whole_number("min_group", min_group)
    raw, times = {}, set()
    for name in used:
        values, is_group = metadata[name], str(name) in factors
        numbers = None if is_group else as_years(values, name)
        if numbers is not None:
            times.add(str(name))
        elif not is_group:
            found = pd.to_numeric(values, errors="coerce")
            if values.dtype.kind in "iufb" or found.notna().sum() == values.notna().sum() > 0:
                numbers = found.astype(float)
        texts = values.map(lambda one: None if pd.isna(one) or not str(one).strip() else str(one))
        raw[str(name)] = texts.astype(object) if numbers is None else numbers
    table = pd.DataFrame(raw, index=metadata.index).dropna()
    scales, notes = dict[str, TimeScale](), list[str]()
    for name in map(str, list(table)):
        if table[name].dtype == object:
            table, note = _pooled(table, name, min_group)
            notes += [note] if note else []
        elif name in times and len(table):
            scales[name] = scale = time_scale(table[name], metadata[name].dtype.kind not in "iuf")
            table[name] = (table[name] - scale.centre) / scale.years
            notes.append(f"{name} counts in {scale.unit}s from {scale.text(scale.centre)}.")
    return table, scales, notes


def _pooled(table: pd.DataFrame, name: str, min_group: int) -> tuple[pd.DataFrame, str]:
    """Pool small groups of a column; drop their documents if the pool is small."""
    sizes = table[name].value_counts()
    small, levels = (sorted(sizes.index[one]) for one in (sizes < min_group, sizes >= min_group))
    few = _first(small, 8, lambda one: f"{one} ({sizes[one]})")
    note, is_small = "", table[name].isin(small)
    if len(small) == 1 or 0 < is_small.sum() < min_group:
        note = f"{name}: {few} left out, fewer than {min_group} documents."
        table = table[~is_small]
    elif small:
        other = OTHER if OTHER not in sizes.index or OTHER in small else f"{OTHER} (pooled)"
        note = f"{name}: {few} pooled as {other!r}, each fewer than {min_group} documents."
        table = table.assign(**{name: table[name].where(~is_small, other)})
        levels.append(other)
    if len(levels) < 2 and len(sizes) > 1:
        raise InputError(
            f"The column {name!r} has {len(sizes):,} different values among {int(sizes.sum()):,} documents; "
            f"effects need numbers, dates or at least two groups of {min_group} documents (min_group)."
        )
    return table.assign(**{name: pd.Categorical(table[name], categories=levels)}), note
