"""Concepts over time: prevalence and strength by period, trends, and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import BSpline
from scipy.linalg import null_space

from superwords.analysis.dates import Periods, make_periods
from superwords.analysis.effects import Cases, Outcomes, fit_prevalence, outcomes_of
from superwords.analysis.groups import figures_by_group, group_values, metadata_column, named_column, words_of_groups
from superwords.analysis.prevalence import groups_of
from superwords.analysis.tables import concept_index, concept_names, objects
from superwords.errors import InputError
from superwords.posterior.result import Result
from superwords.tabular import records

HALVES = ("early", "late")
_CURVE_POINTS, _LEAST_DATES, _LEAST_DOCUMENTS = 40, 6, 30


def over_time(result: Result, column: str, by: Any = None) -> pd.DataFrame:
    """Return prevalence and strength of every concept by period, with intervals.

    Parameters
    ----------
    column : str
        A column of dates, years or numbers.
    by : str or number, optional
        "day", "week", "month", "quarter", "year" or "decade" of dates, a width of numbers; chosen if None.

    Returns
    -------
    DataFrame
        The columns of `by_group`. For a period without documents `n_rows` is 0 and the other values are missing.

    Examples
    --------
    >>> model.over_time("year")["period"].unique().tolist()
    ['2001', '2002', '2003', '2004']
    """
    periods = make_periods(metadata_column(result, column), column, by)
    filled = np.unique(periods.of_row[periods.of_row >= 0])
    rows = [np.flatnonzero(periods.of_row == p) for p in filled]
    table = figures_by_group(result, groups_of(result, [periods.labels[p] for p in filled], rows))
    table["group"] = np.tile(filled, result.n_concepts)
    every = pd.MultiIndex.from_product([result.shown, range(len(periods.labels))], names=["concept", "group"])
    names = concept_names(result)
    table = table.set_index(["concept", "group"]).reindex(every).reset_index()
    table["name"] = objects(names[j - 1] for j in table["concept"])
    place = table.pop("group").to_numpy()
    table.insert(2, "period", objects(periods.labels[p] for p in place))
    table.insert(3, "middle", periods.middle[place])
    return table.assign(n_rows=table["n_rows"].fillna(0).astype(int))


def trends(result: Result, column: str, by: Any = None) -> pd.DataFrame:
    """Estimate each concept's linear trend of prevalence on the documents' dates.

    The trend is the regression of `effects` on this column alone. It does not depend on the periods, which only label
    the first and the last.

    Parameters
    ----------
    column, by
        As of `over_time`.

    Returns
    -------
    DataFrame
        The surest increases first; `change` is that of the line from the first document to the last.

    Examples
    --------
    >>> len(model.trends("year")) == model.n_concepts_
    True
    """
    outcomes, periods, rows, when = _dated(result, column, by)
    matrix = np.column_stack([np.ones(len(when)), (when - when.mean()) / np.ptp(when)])
    pooled = fit_prevalence(outcomes, Cases(rows, matrix, np.array([[0.0, 1.0]])))
    names, of_row = concept_names(result), periods.of_row[periods.of_row >= 0]
    ends = periods.labels[int(of_row.min())], periods.labels[int(of_row.max())]
    head = pd.DataFrame({"concept": np.array(result.shown, int)})
    head = head.assign(name=objects(names[j - 1] for j in result.shown), first=ends[0], last=ends[1])
    order = ["probability_rises", "change"]
    columns = pd.Index(["change", "low", "high", "probability_rises"])
    summaries = pd.DataFrame([pooled.summary(j - 1, 0) for j in result.shown], columns=columns, dtype=float)
    return head.join(summaries).sort_values(order, ascending=False, kind="stable", ignore_index=True)


def time_curves(result: Result, column: str, by: Any = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate each concept's prevalence by period, and a smooth curve over time.

    Returns
    -------
    two pandas.DataFrame
        A row per concept and period, and per concept and point of the curve: `when` (in years, or in the column's
        unit), `predicted`, `low` and `high`; the first has `period` too. The curve is a natural cubic spline with up to
        two inner knots, and a line where there are fewer than six different dates. Both are regressions of `effects`,
        with documents as cases.
    """
    outcomes, periods, rows, when = _dated(result, column, by)

    def predicted(matrix: np.ndarray, contrasts: np.ndarray, places: np.ndarray) -> pd.DataFrame:
        pooled = fit_prevalence(outcomes, Cases(rows, matrix, contrasts))
        values = [
            [j, at, *np.clip(pooled.summary(j - 1, k)[:3], 0, 1)] for j in result.shown for k, at in enumerate(places)
        ]
        return pd.DataFrame(values, columns=pd.Index(["concept", "when", "predicted", "low", "high"]))

    filled, of_case = np.unique(periods.of_row[rows], return_inverse=True)
    one_each = np.eye(len(filled))
    dots = predicted(one_each[of_case], one_each, periods.middle[filled])
    dots["period"] = [periods.labels[p] for p in filled] * len(result.shown)
    basis, grid = _curve_basis(when), np.linspace(when.min(), when.max(), _CURVE_POINTS)
    return dots, predicted(basis(when), basis(grid), grid)


def _curve_basis(when: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the basis of a natural cubic spline, which is linear at both ends."""
    n_dates, ends = len(np.unique(when)), [when.min(), when.max()]
    if n_dates < _LEAST_DATES or len(when) < _LEAST_DOCUMENTS:
        return lambda at: np.column_stack([np.ones(len(at)), (at - ends[0]) / (ends[1] - ends[0])])
    inner = np.quantile(when, [1 / 3, 2 / 3]) if n_dates >= 2 * _LEAST_DATES else np.zeros(0)
    inner = np.unique(inner[(inner > ends[0]) & (inner < ends[1])])
    knots = np.concatenate([np.repeat(ends[0], 4), inner, np.repeat(ends[1], 4)])
    spline = BSpline(knots, np.eye(len(knots) - 4), 3)
    straight = null_space(spline(ends, nu=2) * (ends[1] - ends[0]) ** 2)
    return lambda at: spline(at) @ straight


def _dated(result: Result, column: str, by: Any) -> tuple[Outcomes, Periods, np.ndarray, np.ndarray]:
    """Return outcomes and periods, and the rows and dates of documents with a date."""
    outcomes = outcomes_of(result)
    periods = make_periods(group_values(named_column(outcomes.metadata, column)), column, by)
    rows = np.flatnonzero(~np.isnan(periods.when))
    when = periods.when[rows]
    if not np.ptp(when) > 0:
        raise InputError(f"All documents are of one period of {column!r}, so nothing can rise or fall.")
    return outcomes, periods, rows, when


def words_over_time(result: Result, column: str, concept: int) -> pd.DataFrame:
    """Return a concept's words in the earlier and later half of the dated documents.

    Parameters
    ----------
    column : str
        As of `over_time`.
    concept : int
        Its number: 1, 2, …

    Returns
    -------
    DataFrame
        The words whose use changed most first: `early` and `late` are the shares of the documents using the concept
        that use the word for it, with 95% intervals.

    Examples
    --------
    >>> "change" in model.words_over_time("year", 1)
    True
    """
    j = concept_index(result, concept)
    when = make_periods(metadata_column(result, column), column).when
    is_late = when > np.nanmedian(when)
    rows = [np.flatnonzero(~is_late & ~np.isnan(when)), np.flatnonzero(is_late)]
    if not len(rows[1]):
        raise InputError(
            f"More than half of the documents have the last value of {column!r}, so there is no later half."
        )
    words = words_of_groups(result, groups_of(result, list(HALVES), rows), j)
    halves = []
    for half in HALVES:
        own = words[words["group"] == half].set_index("word")[["share", "low", "high"]]
        halves.append(own.set_axis([half, f"{half}_low", f"{half}_high"], axis=1))
    table = halves[0].join(halves[1], how="outer").rename_axis("word").reset_index()
    table[list(HALVES)] = table[list(HALVES)].fillna(0.0)
    table["change"] = table["late"] - table["early"]
    return table.sort_values("change", key=abs, ascending=False, kind="stable", ignore_index=True)


def time_page(result: Result, column: str, by: Any = None) -> dict[str, Any]:
    """Return periods, trends and values by period for a page, as plain JSON."""
    table = over_time(result, column, by)
    periods = table[["period", "middle", "n_rows"]].drop_duplicates()
    values = {
        str(j): records(rows.drop(columns=["concept", "name", "period", "middle", "n_rows"]))
        for j, rows in table.groupby("concept")
    }
    enough = (periods["n_rows"] > 0).sum() > 1
    rising = records(trends(result, column, by)) if enough else []
    return {"column": column, "periods": records(periods), "trends": rising, "values": values}
