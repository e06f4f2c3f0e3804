"""Effects of covariates on prevalence or strength, and predicted values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from superwords.analysis.design import MIN_GROUP, Design, make_design
from superwords.analysis.groups import named_column
from superwords.analysis.regression import (
    LEAST_PER_COLUMN,
    Cases,
    Outcomes,
    Pooled,
    RobustFit,
    fit,
    outcomes_of,
)
from superwords.analysis.tables import concept_names
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.posterior.result import Result

OUTCOMES = ("prevalence", "strength")
_GRID, _FEW = 40, 12  # points of a curve; a column with few distinct numbers is predicted at each
_MOST_POINTS, _MOST_ROWS = 800, 2_000_000
_LEAST_CLUSTERS = 5


def outcome(rows: str) -> str:
    """Return what effects on prevalence are effects on, where a corpus has these rows."""
    if rows == "documents":
        return "the share of documents that use the concept"
    return f"the share of a document's {rows} that use the concept, each document counting the same"


def effects(
    result: Result,
    formula: str,
    of: str = "prevalence",
    *,
    reference: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    min_group: int = MIN_GROUP,
    cluster: str | None = None,
    outcomes: Outcomes | None = None,
) -> pd.DataFrame:
    """Estimate effects of columns on prevalence or strength (docs/effects.md).

    Parameters
    ----------
    formula : str
        Columns joined by +, such as "party + chamber + date".
    of : str
        "prevalence" or "strength".
    reference : dict
        For a column, the group that the others are compared with, such as {"party": "D"}.
    groups : dict
        For a column, the groups whose documents are used, such as {"party": ["D", "R"]}.
    min_group : int
        Groups of fewer documents are pooled as "other".
    cluster : str
        A column of authors or other sources whose documents are not independent of one another.
    X : Corpus or list of str
        As a method: new documents, which are folded in; those of the fit if None. As a function, give `outcomes`.
    metadata : DataFrame
        The columns of the new documents, a row each; those of `X` if it is a Corpus.

    Returns
    -------
    DataFrame
        A row per concept and term: `effect` with `low` and `high` (95%) and `probability_positive`, all other terms
        held fixed, and the effect of the term's column alone (`unadjusted`, …; missing for an interaction). `label`
        describes the term and its unit; `attrs["notes"]` lists the units of dates and the groups that were pooled or
        left out.

    Examples
    --------
    >>> model.effects("place + year")["concept"].nunique() == model.n_concepts_
    True
    """
    outcomes = outcomes_of(result) if outcomes is None else outcomes
    given = {"reference": reference, "groups": groups, "min_group": min_group}
    design, codes = _design(outcomes, formula, of, cluster, **given)

    def fitted(one: Design) -> Pooled:
        contrasts = np.eye(one.matrix.shape[1])[1:]
        return fit(outcomes, Cases(one.rows, one.matrix, contrasts, codes), of)

    # An interaction has no meaning without its columns.
    terms = [term for term in dict.fromkeys(design.terms) if ":" not in term]
    adjusted = fitted(design)
    alone = {term: adjusted if set(design.terms) == {term} else fitted(design.only(term)) for term in terms}
    names, rows = concept_names(result), []
    for j in result.shown:
        for k, (column, term) in enumerate(zip(design.columns, design.terms)):
            place = k - design.terms.index(term)
            whole = adjusted.summary(j - 1, k)
            single = alone[term].summary(j - 1, place) if term in alone else [float("nan")] * 3
            head = [j, names[j - 1], column, design.labels[k]]
            rows.append([*head, *whole, *single[:3], len(design.matrix)])
    columns = ["concept", "name", "term", "label", "effect", "low", "high", "probability_positive"]
    columns += ["unadjusted", "unadjusted_low", "unadjusted_high", "documents"]
    table = pd.DataFrame(rows, columns=pd.Index(columns))
    table.attrs["notes"] = design.notes
    return table


def predicted(
    result: Result,
    formula: str,
    by: str | Sequence[str],
    of: str = "prevalence",
    *,
    reference: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    min_group: int = MIN_GROUP,
    cluster: str | None = None,
    outcomes: Outcomes | None = None,
) -> pd.DataFrame:
    """Predict prevalence or strength by group or over time, with intervals.

    Parameters
    ----------
    formula, of, reference, groups, min_group, cluster, X, metadata
        As of `effects`.
    by : str or list of str
        Columns of the formula: "party", "date", or ["date", "party"].

    Returns
    -------
    DataFrame
        A row per concept and value of `by` (every group, and a grid over numbers and dates), averaged over the
        observed values of the other columns.

    Examples
    --------
    >>> model.predicted("place + year", by="place")["place"].unique().tolist()
    ['harbour', 'kitchen']
    """
    outcomes = outcomes_of(result) if outcomes is None else outcomes
    given = {"reference": reference, "groups": groups, "min_group": min_group}
    design, codes = _design(outcomes, formula, of, cluster, **given)
    names = [by] if isinstance(by, str) else list(by)
    if not names or any(name not in design.table for name in names):
        known = ", ".join(repr(name) for name in design.table)
        raise InputError(f"by={by!r} is not a column of the formula; give one of {known}, or several.")
    points = list(product(*(_values(design, name) for name in names)))
    if len(points) > _MOST_POINTS:
        raise InputError(f"by={by!r} has {len(points):,} combinations; give fewer columns or groups.")
    step = max(1, len(points) * len(design.table) // _MOST_ROWS)
    thinned = design._replace(table=design.table.iloc[::step])
    contrasts = np.array([thinned.at(**dict(zip(names, point))) for point in points])
    pooled = fit(outcomes, Cases(design.rows, design.matrix, contrasts, codes), of)
    labels = concept_names(result)
    shown = [[_shown(design, name, value) for name, value in zip(names, point)] for point in points]
    rows = []
    for j in result.shown:
        for k, values in enumerate(shown):
            # Prevalences and weights are shares, but a linear prediction may leave [0, 1].
            interval = np.clip(pooled.summary(j - 1, k)[:3], 0, 1).tolist()
            rows.append([j, labels[j - 1], *values, *interval, len(design.matrix)])
    columns = ["concept", "name", *names, "predicted", "low", "high", "documents"]
    table = pd.DataFrame(rows, columns=pd.Index(columns))
    table.attrs.update(notes=design.notes, by=names)
    return table


def _values(design: Design, name: str) -> list[Any]:
    own = design.table[name]
    if isinstance(own.dtype, pd.CategoricalDtype):
        return own.cat.categories.tolist()
    values = np.unique(own.to_numpy())
    return (values if len(values) <= _FEW else np.linspace(values[0], values[-1], _GRID)).tolist()


def _shown(design: Design, name: str, value: Any) -> Any:
    """Return a value in the format of the user's column."""
    scale = design.scales.get(name)
    if scale is None:
        return value
    years = scale.centre + value * scale.years
    return scale.text(years) if scale.is_date else years


def _design(
    outcomes: Outcomes, formula: str, of: str, cluster: str | None, **options: Any
) -> tuple[Design, np.ndarray | None]:
    """Return the design, and the cluster of each of its cases as a number, unique where it is missing."""
    if of not in OUTCOMES:
        raise InputError(f"of={of!r} is not known; give one of {', '.join(map(repr, OUTCOMES))}.")
    design = make_design(outcomes.metadata, formula, **options)
    n_documents, n_columns = design.matrix.shape
    if n_documents < LEAST_PER_COLUMN * n_columns:
        raise InputError(
            f"The formula has {n_columns} coefficients for {n_documents} documents with a value in every column; "
            f"give fewer columns, or columns of fewer groups."
        )
    if cluster is None:
        return design, None
    values = named_column(outcomes.metadata, cluster).iloc[design.rows].reset_index(drop=True)
    codes, labels = pd.factorize(values)
    codes[codes < 0] = len(labels) + np.arange((codes < 0).sum())
    n_clusters, least = len(np.unique(codes)), max(_LEAST_CLUSTERS, n_columns + 1)
    if n_clusters < least:
        raise InputError(
            f"The column {cluster!r} has {n_clusters} values among {len(codes):,} documents; intervals by cluster "
            f"need at least {least}."
        )
    alone = RobustFit(design.matrix, codes).alone
    if alone >= 0:
        raise InputError(
            f"A coefficient of the formula depends on the documents of one value of {cluster!r}, {labels[alone]!r}, "
            "alone, so that its interval is unknown; leave that group out."
        )
    note = f"Intervals allow for the {n_clusters:,} clusters of {cluster}."
    return design._replace(notes=[*design.notes, note]), codes
