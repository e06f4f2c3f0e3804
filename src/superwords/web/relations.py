"""Pages that relate concepts to time, to columns of the metadata, and to one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh

from superwords.analysis import themes as analysis
from superwords.analysis.dates import PERIODS, as_dates
from superwords.analysis.tables import objects
from superwords.errors import InputError
from superwords.tabular import records
from superwords.web.catalog import Catalog
from superwords.web.tables import Table, bounded, page

PANELS = 12
MOST_DRAWN = 15
NEAREST = 5
LONGEST_FORMULA = 300
MOST_DOCUMENTS = 1500  # on the map: more would only cover each other
_VALUES = ["prevalence", "prevalence_low", "prevalence_high", "strength", "strength_low", "strength_high"]


def _when(catalog: Catalog, column: str, by: str = "") -> tuple[Any, Any]:
    """Return the column, as the metadata have it, and its period."""
    key = next((key for key in catalog.corpus.metadata.columns if str(key) == column), column)
    if by == "" or by in PERIODS:
        return key, by or None
    try:
        return key, float(by)
    except ValueError:
        raise InputError(f"{by[:40]!r} is not a period; give one of {', '.join(PERIODS)}, or a number.") from None


@page("time")
def time(catalog: Catalog, column: str = "", by: str = "", concepts: Sequence[int] = ()) -> dict[str, Any]:
    """Return concepts by period: those asked for, else those whose trends are surest, what rises first."""
    key, period = _when(catalog, column, by)
    table = catalog.called("over_time", key, period)
    trends = catalog.reliable_first(catalog.called("trends", key, period))
    sure = (_reliable(trends)["probability_rises"] - 0.5).abs().sort_values(ascending=False, kind="stable")
    surest = [int(j) for j in trends.loc[sorted(sure.index[:PANELS]), "concept"]]
    trends = trends.set_index("concept", drop=False)
    panels = []
    for j in concepts[:PANELS] or surest:
        own = table[table["concept"] == j]
        if own.empty:
            raise InputError(f"There is no concept {j} to draw.")
        trend = records(trends.loc[[j], ["concept", "name", "leftover", "change", "low", "high", "probability_rises"]])
        panels.append({**trend[0], "values": records(own[_VALUES])})
    return {
        "column": str(key),
        "periods": records(table[["period", "middle", "n_rows"]].drop_duplicates()),
        "units": [] if as_dates(catalog.corpus.metadata[key]) is None else list(PERIODS),
        "panels": panels,
    }


@page("tables/trends")
def trends(catalog: Catalog, column: str = "", by: str = "") -> Table:
    rows = catalog.reliable_first(catalog.called("trends", *_when(catalog, column, by)))
    return catalog.table(rows, "concept", "trend", "P(rises)")


@page("tables/word-changes")
def word_changes(catalog: Catalog, concept: int, column: str = "", by: str = "") -> Table:
    rows = catalog.called("words_over_time", _when(catalog, column, by)[0], concept)
    return catalog.table(rows, "word", "early", "late", "change of word")


def _formula(formula: str) -> str:
    return bounded(formula.strip(), "formula", LONGEST_FORMULA)


@page("predicted")
def predicted(catalog: Catalog, formula: str = "", of: str = "prevalence", by: str = "") -> dict[str, Any]:
    """Return predicted values by a column of the formula, for the concepts that differ most along it."""
    rows = catalog.reliable_first(catalog.called("predicted", _formula(formula), by, of))
    rows = rows.assign(value=lambda one: one[by])
    spread = _reliable(rows).groupby("concept", sort=False)["predicted"].agg(np.ptp)
    panels = []
    for j in spread.sort_values(ascending=False, kind="stable").index[:PANELS]:
        own = rows[rows["concept"] == j]
        values = records(own[["value", "predicted", "low", "high"]])
        panels.append({"concept": int(j), "name": own["name"].iloc[0], "values": values})
    return {"by": by, "panels": panels}


def _effects(catalog: Catalog, formula: str, of: str) -> pd.DataFrame:
    return catalog.reliable_first(catalog.called("effects", _formula(formula), of))


@page("effects")
def effects(catalog: Catalog, formula: str = "", of: str = "prevalence") -> dict[str, Any]:
    """Return the terms of a formula, and for each the reliable concepts with the clearest effects."""
    rows = _effects(catalog, formula, of)
    names, drawn = map(str, catalog.corpus.metadata), list[Any]()
    for term in rows["term"].unique():
        own = _reliable(rows[rows["term"] == term])
        own = own.assign(clear=own["effect"].abs() / (own["high"] - own["low"]).clip(lower=1e-9))
        own = own.sort_values("clear", ascending=False, kind="stable").head(MOST_DRAWN).drop(columns="clear")
        drawn.append(records(own.sort_values("effect", ascending=False, kind="stable")))
    return {
        "documents": int(rows["documents"].iloc[0]) if len(rows) else 0,
        "notes": rows.attrs.get("notes", []),
        "terms": records(rows[["term", "label"]].drop_duplicates()),
        "columns": [one for one in names if re.search(rf"`{re.escape(one)}`|(?<!\w){re.escape(one)}(?!\w)", formula)],
        "drawn": drawn,
    }


@page("tables/effects")
def effect_table(catalog: Catalog, formula: str = "", of: str = "prevalence", term: str = "") -> Table:
    rows = _effects(catalog, formula, of)
    rows = rows[rows["term"] == term] if term else rows
    rows = rows.sort_values(["leftover", "effect"], ascending=[True, False], kind="stable")
    return catalog.table(rows, "concept", *([] if term else ["term"]), "effect", "alone", "P(positive)")


def _reliable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of concepts that can be relied on, if there are any."""
    return rows if rows["leftover"].all() else rows[~rows["leftover"]]


@page("tree")
def tree(catalog: Catalog) -> dict[str, Any]:
    """Return the tree of the concepts: its leaves, and which two nodes meet at which height."""
    tree, names, themes = catalog.called("tree"), catalog.names, catalog.model.result_.themes
    leaves = [
        {"concept": j, "name": names[j - 1], "proposed": tree.theme_names[int(theme) - 1], "theme": themes.get(j)}
        for j, theme in zip(tree.concepts, tree.theme)
    ]
    place = {j: k for k, j in enumerate(tree.concepts)}
    return {
        "leaves": leaves,
        "order": [place[j] for j in tree.order],
        "meetings": [[int(a), int(b), float(height)] for a, b, height, _ in tree.linkage],
        "themes": tree.theme_names,
        "agreement": tree.stability.get(len(tree.theme_names)),
    }


@page("tables/themes")
def themes(catalog: Catalog) -> Table:
    """Return themes that people made, else those that the tree proposes."""
    rows = analysis.theme_table(catalog.model.result_, catalog.called("tree"))
    rows = rows.sort_values("prevalence", ascending=False, kind="stable")
    notes = {"proposed": bool(rows["proposed"].all())}
    return catalog.table(rows, "theme", "prevalence", "concepts of theme", sort="prevalence", notes=notes)


def positions(alike: np.ndarray) -> np.ndarray:
    """Return (J, 2) in [0, 1]: classical multidimensional scaling, each axis then spread evenly by half.

    Most concepts have little in common, so that plain scaling heaps them up in the middle.
    """
    n = len(alike)
    if n < 3:
        return np.column_stack([np.linspace(0.25, 0.75, n), np.full(n, 0.5)])
    squared = (1 - alike) ** 2
    np.fill_diagonal(squared, 0.0)
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    values, vectors = eigh(-centred / 2, subset_by_index=[n - 2, n - 1])
    plane = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0))
    # An eigenvector's sign is arbitrary; this one makes the same map on every machine.
    plane *= np.where(plane[np.abs(plane).argmax(axis=0), [0, 1]] < 0, -1, 1)
    scaled = (plane - plane.min(axis=0)) / np.maximum(np.ptp(plane, axis=0), 1e-12)
    ranked = plane.argsort(axis=0, kind="stable").argsort(axis=0) / (n - 1)
    return (scaled + ranked) / 2


@page("map")
def concept_map(catalog: Catalog) -> dict[str, Any]:
    """Return the places of the concepts: what is alike is close."""
    known = catalog.concept_rows[["concept", "name", "prevalence"]].copy()
    known["name"] = catalog.names_of(known["concept"])
    known["prevalence"] = known["prevalence"].fillna(0.0)  # a concept without a word has no partner in any draw
    known[["x", "y"]] = positions(catalog.alike)
    return {"points": records(known)}


@page("document-map")
def document_map(catalog: Catalog) -> dict[str, Any]:
    return analysis.document_map(catalog.model.result_, MOST_DOCUMENTS)


@page("tables/quality")
def quality(catalog: Catalog) -> Table:
    rows = analysis.concept_quality(catalog.model.result_)
    rows = rows.sort_values(["leftover", "prevalence"], ascending=[True, False], kind="stable")
    return catalog.table(rows, "concept", "coherence", "exclusivity", "mean prevalence")


@page("quality")
def quality_points(catalog: Catalog) -> list[dict[str, Any]]:
    return records(quality(catalog).rows)


@page("tables/nearest")
def nearest(catalog: Catalog) -> Table:
    """Return each concept with those most like it: what the map shows, as a table."""
    shown, alike = np.array(catalog.model.result_.shown, int), catalog.alike.copy()
    np.fill_diagonal(alike, -1.0)
    order = np.argsort(-alike, axis=1, kind="stable")[:, : min(NEAREST, len(alike) - 1)]
    near = shown[order].tolist()
    rows = pd.DataFrame(
        {
            "concept": shown,
            "likeness": alike.max(axis=1) if order.size else np.nan,
            "nearest": objects(catalog.names_of(some).tolist() for some in near),
            "nearest_ids": objects(near),
        }
    )
    return catalog.table(catalog.reliable_first(rows), "concept", "nearest", "likeness")
