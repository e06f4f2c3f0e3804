"""Turn a formula and the documents' columns into the matrix of a regression."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.analysis.dates import TimeScale, as_time, time_scale
from superwords.analysis.groups import OTHER, named_column
from superwords.errors import InputError

MIN_GROUP = 5

CURVES = ("poly", "bs", "cs")
# The functions a formula may call. formulaic evaluates a formula as Python, so every other name is refused.
FUNCTIONS = ("C", "log", "log10", "log2", "sqrt", "exp", *CURVES, "center", "scale")
_ARGUMENTS = ("degree", "df", "raw", "True", "False")
_PARTS = re.compile(r"`([^`]*)`|([^\W\d]\w*)|(\d+(?:\.\d*)?)|(\*\*|[-+*:^(),=])|(\s+)|(.)", re.UNICODE)
_LONGEST, _MOST_COLUMNS, _HIGHEST_POWER, _MOST_KNOTS = 500, 60, 5, 12
_GROUP = re.compile(r"(?:C\()?`?(.+?)`?\)?\[(?:T\.)?(.+)\]")


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

    def only(self, term: str) -> Design:
        """Return the design with the columns of one term."""
        chosen = [k for k, one in enumerate(self.terms) if one == term]
        columns, labels = ([names[k] for k in chosen] for names in (self.columns, self.labels))
        matrix = self.matrix[:, [0, *(k + 1 for k in chosen)]]
        return self._replace(matrix=matrix, columns=columns, labels=labels, terms=[term] * len(chosen))

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
    try:
        import formulaic
    except ImportError:
        raise InputError("Effects need formulaic; install it by pip install 'superwords[effects]'.") from None
    used = _columns_of(formula, metadata)
    if not used:
        raise InputError(f"The formula {formula!r} names no column; give at least one.")
    tree = _parsed(formula)
    kept = metadata.reset_index(drop=True)[_chosen(metadata, groups)]
    # The columns inside C(...) are groups, whatever they hold.
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "C"]
    factors = {_name(part) for call in calls for part in call.args}
    table, scales, notes = _prepared(kept, used, factors, min_group)
    for name, first in (reference or {}).items():
        levels = _levels(table, str(name))
        if levels is None:
            raise InputError(f"reference={reference!r}: {str(name)!r} is not a column of groups in the formula.")
        if str(first) not in levels:
            raise _no_group(str(name), first, levels)
        order = [str(first), *(one for one in levels if one != str(first))]
        table[str(name)] = table[str(name)].cat.reorder_categories(order)
    n_columns = _n_columns(tree, table)
    if n_columns > _MOST_COLUMNS:
        raise InputError(
            f"The formula {formula!r} has up to {n_columns:,} coefficients; give one with at most {_MOST_COLUMNS}."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            built = formulaic.model_matrix(formula, table, context={"sqrt": np.sqrt})
    except Exception as error:
        reason = str(error).splitlines()[0].rstrip(".")
        texts = [name for name in table if _levels(table, name) is not None]
        if texts and any(part in reason for part in ("TypeError", "could not convert", "ategorical")):
            reason = f"{texts[0]!r} is a column of groups, and log, poly and the like need numbers"
        raise InputError(f"The formula {formula!r} cannot be used: {reason}.") from None
    if isinstance(built, formulaic.ModelMatrices):
        raise InputError(f"The formula {formula!r} has several sides; give the columns only, as 'a + b'.")
    columns = [str(name) for name in built.columns]
    if "Intercept" not in columns:
        raise InputError(f"The formula {formula!r} leaves out the intercept; it is needed.")
    term_of = {columns[k]: str(term) for term, those in built.model_spec.term_indices.items() for k in those}
    others = [name for name in columns if name != "Intercept"]
    matrix = np.asarray(built[["Intercept", *others]], float)
    _check_matrix(matrix, others, formula)
    labels, terms = [_label(name, table, scales) for name in others], [term_of[name] for name in others]
    return Design(table.index.to_numpy(), matrix, others, terms, labels, notes, table, scales, built.model_spec)


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


# Check the formula before the matrix is built.


def _columns_of(formula: str, metadata: pd.DataFrame) -> list[Any]:
    """Return the columns that a formula names; raise on anything not allowed."""
    if not isinstance(formula, str):
        raise InputError(f"formula={formula!r} is not text; give columns, such as 'party + date'.")
    if not formula.strip():
        raise InputError("The formula is empty; give columns, such as 'party + date'.")
    if len(formula) > _LONGEST:
        raise InputError(f"The formula has {len(formula):,} characters; give at most {_LONGEST}.")
    known = set(map(str, metadata.columns))
    found = dict[Any, None]()
    for quoted, name, _, _, _, other in _PARTS.findall(formula):
        if other:
            raise InputError(
                f"The formula {formula!r} has {other!r} in it; give columns joined by +, such as 'party + date'."
            )
        if quoted or name in known or (name and name not in (*FUNCTIONS, *_ARGUMENTS)):
            found[named_column(metadata, quoted or name).name] = None
    return list(found)


def _parsed(formula: str) -> ast.expr:
    """Return the formula as a Python expression: `:` becomes `@`, quotes a constant."""
    quoted = _PARTS.sub(lambda part: repr(part[1]) if part[1] else part[0], formula)
    outside = re.split(r"('[^']*'|\"[^\"]*\")", quoted)
    outside[::2] = [part.replace(":", "@").replace("^", "**") for part in outside[::2]]
    try:
        tree = ast.parse("".join(outside).strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        reason = "it is not columns joined by +, * or :, such as 'party + date'"
        raise InputError(f"The formula {formula!r} cannot be used: {reason}.") from None
    _check_powers(tree)
    return tree


def _check_powers(node: ast.AST, power: int = 1) -> None:
    """Raise if powers, degrees or numbers of knots are unreasonably large."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power *= _whole(node.right)
        if not 1 <= power <= _HIGHEST_POWER:
            raise InputError(f"{ast.unparse(node)} has a power that is not a whole number from 1 to {_HIGHEST_POWER}.")
        return _check_powers(node.left, power)
    if _called(node) in CURVES and not all(1 <= size <= _MOST_KNOTS for size in _sizes(node)):
        raise InputError(f"{ast.unparse(node)} has a degree or df that is not a whole number from 1 to {_MOST_KNOTS}.")
    for one in ast.iter_child_nodes(node):
        _check_powers(one, power)


def _whole(node: ast.expr) -> int:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _called(node: ast.AST) -> str:
    """Return the name of the function that a call calls, "" for anything else."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _name(node: ast.expr) -> str:
    return str(node.id if isinstance(node, ast.Name) else getattr(node, "value", ""))


def _n_columns(node: ast.expr, table: pd.DataFrame) -> int:
    """Return an upper bound of the columns of a part's matrix."""
    if isinstance(node, ast.BinOp):
        left = _n_columns(node.left, table)
        if isinstance(node.op, ast.Pow):
            return (1 + left) ** _whole(node.right) - 1
        right = _n_columns(node.right, table)
        both = {ast.Mult: left * right + left + right, ast.MatMult: left * right}
        return both.get(type(node.op), left + right)
    if isinstance(node, ast.UnaryOp):
        return _n_columns(node.operand, table)
    if isinstance(node, ast.Call):
        if _called(node) == "C":
            return _n_columns(node.args[0], table) if node.args else 1
        return (sum(_sizes(node)) or _MOST_KNOTS) if _called(node) in CURVES else 1
    levels = _levels(table, _name(node))
    return 1 if levels is None else len(levels)


def _sizes(node: Any) -> list[int]:
    """Return the degrees and degrees of freedom that a curve is given."""
    named = [one.value for one in node.keywords if one.arg != "raw"]
    return [_whole(one) for one in (*node.args[1:], *named)]


# Columns as a regression takes them.


def _chosen(metadata: pd.DataFrame, groups: Mapping[str, Any] | None) -> np.ndarray:
    """Return which documents have one of the values asked for."""
    chosen = np.ones(len(metadata), bool)
    for name, given in (groups or {}).items():
        values = [given] if isinstance(given, str) or not isinstance(given, Sequence) else given
        texts = named_column(metadata, str(name)).map(lambda one: None if pd.isna(one) else str(one))
        for value in values:
            if not (texts == str(value)).any():
                raise _no_group(str(name), value, sorted(texts.dropna().unique()))
        chosen &= texts.isin([str(value) for value in values]).to_numpy()
    return chosen


def _no_group(name: str, value: Any, known: Sequence[str]) -> InputError:
    return InputError(f"There is no group {str(value)!r} in the column {name!r}; it has {_first(known, 12)}.")


def _first(names: Sequence[str], most: int, shown: Callable[[str], str] = repr) -> str:
    return ", ".join(map(shown, names[:most])) + (", …" if len(names) > most else "")


def _prepared(
    metadata: pd.DataFrame, used: Sequence[Any], factors: set[str], min_group: int
) -> tuple[pd.DataFrame, dict[str, TimeScale], list[str]]:
    """Return the complete cases: dates centred and scaled, text as groups."""
    if isinstance(min_group, bool) or not isinstance(min_group, int) or min_group < 1:
        raise InputError(f"min_group={min_group!r} is not a number of documents; give 1 or more.")
    raw = {str(name): _as_numbers(metadata[name], str(name), str(name) in factors) for name in used}
    table = pd.DataFrame(raw, index=metadata.index).dropna()
    scales: dict[str, TimeScale] = {}
    notes: list[str] = []
    for name in map(str, list(table)):
        if table[name].dtype == object:
            table, note = _pooled(table, name, min_group)
            notes += [note] if note else []
        elif name not in factors and as_time(metadata[name], name) is not None and len(table):
            scales[name] = scale = time_scale(table[name], metadata[name].dtype.kind not in "iuf")
            table[name] = (table[name] - scale.centre) / scale.years
            notes.append(f"{name} counts in {scale.unit}s from {scale.text(scale.centre)}.")
    return table, scales, notes


def _as_numbers(values: pd.Series, name: str, is_factor: bool) -> pd.Series:
    time = None if is_factor else as_time(values, name)
    if time is not None:
        return time
    if not is_factor:
        if values.dtype.kind in "iufb":
            return values.astype(float)
        numbers = pd.to_numeric(values, errors="coerce")
        if numbers.notna().sum() == values.notna().sum() > 0:
            return numbers.astype(float)
    return values.map(lambda one: None if pd.isna(one) or not str(one).strip() else str(one)).astype(object)


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
