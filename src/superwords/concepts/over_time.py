"""Concepts over time: prevalence and strength by period, what rises and falls, and words early and late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from superwords.concepts.dates import Periods, make_periods
from superwords.concepts.groups import (
    groups_of,
    metadata_column,
    prevalence_draws,
    prevalence_interval,
    words_of_groups,
)
from superwords.concepts.intervals import interval, weighted_mean
from superwords.concepts.tables import concept_index, concept_names
from superwords.errors import InputError
from superwords.tabular import records

if TYPE_CHECKING:
    from superwords.concepts.groups import Groups
    from superwords.concepts.result import Result

HALVES = ("early", "late")


def over_time(result: Result, column: str, by: Any = None) -> pd.DataFrame:
    """Every concept in every period.

    Parameters
    ----------
    result
        What a fit found.
    column
        A column of dates, years or numbers. Documents without a value are left out.
    by
        "day", "week", "month", "quarter", "year" or "decade" of dates, a width of numbers; chosen if None.

    Returns
    -------
    pandas.DataFrame
        As of `by_group`, with the periods in the place of groups: `prevalence` and `strength` with 95% intervals. A
        period without documents is there with an `n_rows` of 0 and nothing else.

    Examples
    --------
    >>> from superwords import ConceptModel, Corpus
    >>> counts = [[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 2, 4]]
    >>> corpus = Corpus.from_counts(counts, metadata={"year": [2001, 2001, 2003, 2003]})
    >>> model = ConceptModel(n_chains=1, n_sweeps=40, random_state=0).fit(corpus)
    >>> table = over_time(model.result_, "year")
    >>> table[table["concept"] == 1][["period", "n_rows"]].values.tolist()
    [['2001', 2], ['2002', 0], ['2003', 2]]
    """
    periods = make_periods(metadata_column(result, column), column, by)
    filled, groups = _groups(result, periods)
    low, high = prevalence_interval(groups)
    held = np.where(groups.holders > 0, groups.weight, 0.0)
    weak, strong = interval(groups.strength, held)
    holders, strength = weighted_mean(groups.holders, groups.weight), weighted_mean(groups.strength, held)
    n_rows = [len(rows) for rows in groups.rows]
    names, place = concept_names(result), {int(p): g for g, p in enumerate(filled)}
    rows = []
    for j in result.shown:
        for p, label in enumerate(periods.labels):
            known: list[float] = [0, *[np.nan] * 7]
            if p in place:
                g, k = place[p], j - 1
                share = holders[g, k] / n_rows[g]
                known = [n_rows[g], holders[g, k], share, low[g, k], high[g, k]]
                known += [strength[g, k], weak[g, k], strong[g, k]]
            rows.append([j, names[j - 1], label, periods.middle[p], *known])
    columns = ["concept", "name", "period", "middle", "n_rows", "rows", "prevalence"]
    columns += ["prevalence_low", "prevalence_high", "strength", "strength_low", "strength_high"]
    return pd.DataFrame(rows, columns=pd.Index(columns)).astype({"n_rows": int})


def trends(result: Result, column: str, by: Any = None) -> pd.DataFrame:
    """What rises and what falls: the line through the prevalences of a concept's periods, each by its documents.

    Parameters
    ----------
    result, column, by
        As of `over_time`.

    Returns
    -------
    pandas.DataFrame
        A row per concept: `change` of the prevalence along the line from the first period to the last, with `low` and
        `high` (95%), and `probability_rises`. What rises most surely comes first, what falls most surely last.
    """
    periods = make_periods(metadata_column(result, column), column, by)
    filled, groups = _groups(result, periods)
    if len(filled) < 2:
        raise InputError(f"All documents are of one period of {column!r}; give shorter periods.")
    weight = np.array([len(rows) for rows in groups.rows], float)
    when = periods.middle[filled]
    centred = when - np.average(when, weights=weight)
    pull = weight * centred / (weight * centred**2).sum()
    prevalence, of_draw = prevalence_draws(groups)
    change = np.einsum("g,tgj->tj", pull, prevalence) * (when[-1] - when[0])
    low, high = interval(change, of_draw[:, 0])
    names, shown = concept_names(result), np.array(result.shown, int) - 1
    rises = weighted_mean((change > 0).astype(float), of_draw[:, 0])
    table = pd.DataFrame(
        {
            "concept": shown + 1,
            "name": pd.Series([names[j] for j in shown], dtype=object),
            "first": periods.labels[int(filled[0])],
            "last": periods.labels[int(filled[-1])],
            "change": weighted_mean(change, of_draw[:, 0])[shown],
            "low": low[shown],
            "high": high[shown],
            "probability_rises": rises[shown],
        }
    )
    order = ["probability_rises", "change"]
    return table.sort_values(order, ascending=False, kind="stable").reset_index(drop=True)


def words_over_time(result: Result, column: str, concept: int) -> pd.DataFrame:
    """A concept's words in the earlier and the later half of the documents, and which of them come and go.

    Parameters
    ----------
    result, column
        As of `over_time`.
    concept
        Its number.

    Returns
    -------
    pandas.DataFrame
        A row per word: the share of the documents holding the concept that use the word for it, `early` and `late`,
        each with its interval, and `change`, the difference. The words with the largest changes come first.
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
    order = np.argsort(-table["change"].abs().to_numpy(), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def time_page(result: Result, column: str, by: Any = None) -> dict[str, Any]:
    """All of it for a page, as plain JSON: the periods, the concepts' trends, and each one's values by period."""
    table = over_time(result, column, by)
    periods = table[["period", "middle", "n_rows"]].drop_duplicates()
    values = {
        str(j): records(rows.drop(columns=["concept", "name", "period", "middle", "n_rows"]))
        for j, rows in table.groupby("concept")
    }
    enough = (periods["n_rows"] > 0).sum() > 1
    told = records(trends(result, column, by)) if enough else []
    return {"column": column, "periods": records(periods), "trends": told, "values": values}


def _groups(result: Result, periods: Periods) -> tuple[np.ndarray, Groups]:
    """The periods that have documents, as groups."""
    filled = np.unique(periods.of_row[periods.of_row >= 0])
    rows = [np.flatnonzero(periods.of_row == p) for p in filled]
    return filled, groups_of(result, [periods.labels[p] for p in filled], rows)
