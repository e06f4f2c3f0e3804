"""Concepts over time: prevalence and strength by period, trends, and words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline

from superwords.analysis.dates import Periods, make_periods
from superwords.analysis.effects import FIGURES, Outcomes, fit_prevalence, outcomes_of
from superwords.analysis.groups import figures_by_group, metadata_column, words_of_groups
from superwords.analysis.prevalence import groups_of
from superwords.analysis.tables import concept_index, named, objects
from superwords.errors import InputError
from superwords.posterior.result import Result
from superwords.tabular import records

_CURVE_POINTS, _LEAST_DATES, _LEAST_DOCUMENTS = 40, 12, 30


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
    periods = make_periods(metadata_column(result.corpus.metadata, column), column, by)
    filled = np.unique(periods.of_row[periods.of_row >= 0])
    table = figures_by_group(result, groups_of(result, {p: np.flatnonzero(periods.of_row == p) for p in filled}))
    every = pd.MultiIndex.from_product([result.shown, range(len(periods.labels))], names=["concept", "group"])
    table = table.set_index(["concept", "group"]).reindex(every).reset_index()
    table["name"] = named(result, table["concept"])["name"]
    place = table.pop("group").to_numpy()
    table.insert(2, "period", objects(periods.labels[p] for p in place))
    table.insert(3, "middle", periods.middle[place])
    return table.assign(n_rows=table["n_rows"].fillna(0).astype(int))


def trends(result: Result, column: str, by: Any = None) -> pd.DataFrame:
    """Estimate each concept's linear trend of prevalence on the documents' dates.

    The trend is the regression of `effects` on this column alone; periods only label the first and the last.

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
    of_row = periods.of_row[periods.of_row >= 0]
    ends = {"first": [periods.labels[of_row.min()]], "last": [periods.labels[of_row.max()]]}
    fitted = fit_prevalence(outcomes, rows, matrix, np.array([[0.0, 1.0]]))
    table = fitted.table(result, ends, ["change", "low", "high", "probability_rises"])
    return table.sort_values(["probability_rises", "change"], ascending=False, kind="stable", ignore_index=True)


def time_curves(result: Result, column: str, by: Any = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate each concept's prevalence by period, and a curve over time, by regression.

    The curve is a natural cubic spline with up to two inner knots, a line where there are fewer than twelve dates.
    """
    outcomes, periods, rows, when = _dated(result, column, by)
    knots = [when.min(), when.max()]
    if len(np.unique(when)) >= _LEAST_DATES and len(when) >= _LEAST_DOCUMENTS:
        knots += np.quantile(when, [1 / 3, 2 / 3]).tolist()
    knots = np.unique(knots).tolist()
    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    grid = np.linspace(knots[0], knots[-1], _CURVE_POINTS)
    filled, of_case = np.unique(periods.of_row[rows], return_inverse=True)
    one_each = np.eye(len(filled))

    def predicted(matrix: np.ndarray, contrasts: np.ndarray, places: np.ndarray) -> pd.DataFrame:
        table = fit_prevalence(outcomes, rows, matrix, contrasts).table(result, {"when": places}, FIGURES)
        return table.assign(**table[FIGURES].clip(0, 1))

    dots = predicted(one_each[of_case], one_each, periods.middle[filled])
    dots["period"] = [periods.labels[p] for p in filled] * len(result.shown)
    return dots, predicted(spline(when), spline(grid), grid)


def _dated(result: Result, column: str, by: Any) -> tuple[Outcomes, Periods, np.ndarray, np.ndarray]:
    """Return outcomes and periods, and the rows and dates of documents with a date."""
    outcomes = outcomes_of(result)
    periods = make_periods(metadata_column(outcomes.metadata, column), column, by)
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
    concept : int (1, 2, …)

    Returns
    -------
    DataFrame
        The largest changes first: `early` and `late` are shares of the documents that use the concept, with intervals.

    Examples
    --------
    >>> "change" in model.words_over_time("year", 1)
    True
    """
    j = concept_index(result, concept)
    when = make_periods(metadata_column(result.corpus.metadata, column), column).when
    is_late = when > np.nanmedian(when)
    rows = {"early": np.flatnonzero(~is_late & ~np.isnan(when)), "late": np.flatnonzero(is_late)}
    if not len(rows["late"]):
        raise InputError(f"More than half of the documents have the last value of {column!r}: there is no later half.")
    words = words_of_groups(result, groups_of(result, rows), [j])
    early, late = (
        words[words["group"] == half]
        .set_index("word")[["share", "low", "high"]]
        .rename(columns={"share": half, "low": f"{half}_low", "high": f"{half}_high"})
        for half in rows
    )
    table = early.join(late, how="outer").rename_axis("word").reset_index().fillna({"early": 0.0, "late": 0.0})
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
