"""Serve time, effects, themes, maps and chains to the explorer and the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.linalg import eigh

from superwords.analysis.dates import PERIODS, as_dates
from superwords.analysis.maps import concept_quality, document_map
from superwords.analysis.themes import ConceptTree, likeness, theme_table
from superwords.errors import InputError
from superwords.plots.model_plots import chain_traces
from superwords.plots.style import figure_bytes
from superwords.tabular import records
from superwords.web.bounded import BoundedModel
from superwords.web.catalog import CONCEPT_COLUMN, Catalog, Pages, texts
from superwords.web.cloud_pictures import drawing
from superwords.web.json_tables import Column, Table, bounded, numbers_of

PANELS = 12
MOST_DRAWN = 15
LONGEST_FORMULA = 300
_KEPT = 8
_VALUES = ["prevalence", "prevalence_low", "prevalence_high", "strength", "strength_low", "strength_high"]

Given = Mapping[str, str]


class RelationPages(Pages):
    """Relate concepts to time, to columns and to one another."""

    def __init__(self, catalog: Catalog, worker: BoundedModel | None = None):
        super().__init__(catalog)
        model = catalog.model
        self.over_time, self.trends = lru_cache(_KEPT)(model.over_time), lru_cache(_KEPT)(model.trends)
        self.word_changes = lru_cache(_KEPT)(model.words_over_time)

        def computed(method: str) -> Callable[..., Any]:
            # Without a file there is no process to compute in: tests, and models that were never saved.
            own = getattr(model, method)
            given = list(model.choices_)
            return lru_cache(_KEPT)(own if worker is None else partial(worker.call, given, method))

        self.effects, self.predicted = computed("effects"), computed("predicted")

    def _when(self, given: Given) -> tuple[Any, Any]:
        """Return the column, as the metadata have it, and its period."""
        columns = self.corpus.metadata.columns
        name = given.get("column", "")
        column = next((key for key in columns if str(key) == name), name)
        by: Any = given.get("by") or None
        if by is not None and by not in PERIODS:
            try:
                by = float(by)
            except ValueError:
                raise InputError(
                    f"{by[:40]!r} is not a period; give one of {', '.join(PERIODS)}, or a number."
                ) from None
        return column, by

    def time(self, given: Given) -> dict[str, Any]:
        """Return concepts by period: those asked for, else those whose trends are surest."""
        column, by = self._when(given)
        table = self.over_time(column, by)
        periods = table[["period", "middle", "n_rows"]].drop_duplicates()
        trends = self.catalog.reliable_first(self.trends(column, by))
        concepts = numbers_of(given, "concepts")[:PANELS] or _surest(trends)
        trends = trends.set_index("concept", drop=False)
        panels = []
        for j in concepts:
            own = table[table["concept"] == j]
            if own.empty:
                raise InputError(f"There is no concept {j} to draw.")
            trend = records(trends.loc[[j], ["change", "low", "high", "probability_rises"]])[0]
            panels.append(
                {
                    "concept": j,
                    "name": self.catalog.names[j - 1],
                    "leftover": bool(trends.loc[j, "leftover"]),
                    **trend,
                    "values": records(own[_VALUES]),
                }
            )
        is_date = as_dates(self.corpus.metadata[column]) is not None
        return {
            "column": str(column),
            "periods": records(periods),
            "units": list(PERIODS) if is_date else [],
            "panels": panels,
        }

    def trend_table(self, given: Given) -> Table:
        """Return what rises and what falls."""
        rows = self.catalog.reliable_first(self.trends(*self._when(given)))
        columns = [
            CONCEPT_COLUMN,
            Column("change", "Change", "difference", "low", "high"),
            Column("probability_rises", "P(it rises)", "share"),
        ]
        return Table(columns, rows)

    def change_table(self, concept: int, given: Given) -> Table:
        """Return a concept's words early and late."""
        rows = self.word_changes(self._when(given)[0], concept)
        columns = [
            Column("word", "Word", "word", link="word"),
            Column("early", "Earlier half", "share", "early_low", "early_high"),
            Column("late", "Later half", "share", "late_low", "late_high"),
            Column("change", "Change", "difference"),
        ]
        return Table(columns, rows)

    def _effects(self, given: Given) -> pd.DataFrame:
        return self.catalog.reliable_first(self.effects(*_formula(given)))

    def predicted_page(self, given: Given) -> dict[str, Any]:
        """Return predicted values by a column of the formula, for the concepts that differ most along it."""
        formula, of = _formula(given)
        by = given.get("by", "")
        rows = self.catalog.reliable_first(self.predicted(formula, by, of)).assign(value=lambda one: one[by])
        spread = _reliable(rows).groupby("concept", sort=False)["predicted"].agg(np.ptp)
        drawn = spread.sort_values(ascending=False, kind="stable").index[:PANELS]
        values = ["value", "predicted", "low", "high"]
        panels = []
        for j in drawn:
            own = rows[rows["concept"] == j]
            panels.append({"concept": int(j), "name": own["name"].iloc[0], "values": records(own[values])})
        return {"by": by, "panels": panels}

    def effect_page(self, given: Given) -> dict[str, Any]:
        """Return the terms of a formula, and for each the concepts with the clearest effects."""
        rows, formula = self._effects(given), given["formula"]
        terms = rows[["term", "label"]].drop_duplicates()
        return {
            "documents": int(rows["documents"].iloc[0]) if len(rows) else 0,
            "notes": rows.attrs.get("notes", []),
            "terms": records(terms),
            "columns": [
                name
                for name in map(str, self.corpus.metadata)
                if f"`{name}`" in formula or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", formula)
            ],
            "drawn": [records(_clearest(rows[rows["term"] == term])) for term in terms["term"]],
        }

    def effect_table(self, given: Given) -> Table:
        """Return the effects of one term, or of all."""
        rows, term = self._effects(given), given.get("term", "")
        if term:
            rows = rows[rows["term"] == term]
        columns = [
            CONCEPT_COLUMN,
            *([] if term else [Column("label", "Term")]),
            Column("effect", "Effect, other columns held fixed", "difference", "low", "high"),
            Column("unadjusted", "Effect, this column alone", "difference", "unadjusted_low", "unadjusted_high"),
            Column("probability_positive", "P(it is positive)", "share"),
        ]
        rows = rows.sort_values(["leftover", "effect"], ascending=[True, False], kind="stable")
        return Table(columns, rows)

    @cached_property
    def tree(self) -> ConceptTree:
        return self.model.tree()

    @cached_property
    def _themes(self) -> pd.DataFrame:
        return theme_table(self.model.result_, self.tree)

    def tree_page(self) -> dict[str, Any]:
        """Return the tree of the concepts: its leaves, and which two nodes meet at which height."""
        tree, names = self.tree, self.catalog.names
        given = self.model.result_.themes
        leaves = [
            {"concept": j, "name": names[j - 1], "proposed": tree.theme_names[int(theme) - 1], "theme": given.get(j)}
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

    def theme_list(self) -> Table:
        """Return themes that people made, else those that the tree proposes."""
        rows, names = self._themes, self.catalog.names
        columns = [
            Column("theme", "Theme"),
            Column("prevalence", "Prevalence", "share", "prevalence_low", "prevalence_high"),
            Column("names", "Concepts", "concepts", link="concepts", sortable=False),
        ]
        named = texts([names[j - 1] for j in concepts] for concepts in rows["concepts"])
        rows = rows.assign(names=named).sort_values("prevalence", ascending=False, kind="stable")
        proposed = bool(rows["proposed"].all()) if len(rows) else True
        return Table(columns, rows, "prevalence", notes={"proposed": proposed})


def _formula(given: Given) -> tuple[str, str]:
    return bounded(given.get("formula", "").strip(), "formula", LONGEST_FORMULA), given.get("of", "prevalence")


def _surest(trends: pd.DataFrame) -> list[int]:
    """Return the concepts whose trends are surest, what rises first; those that can be relied on, if there are any."""
    trends = _reliable(trends)
    sure = (trends["probability_rises"] - 0.5).abs().sort_values(ascending=False, kind="stable")
    return [int(j) for j in trends.loc[sorted(sure.index[:PANELS]), "concept"]]


def _reliable(rows: pd.DataFrame) -> pd.DataFrame:
    return rows if rows["leftover"].all() else rows[~rows["leftover"]]


def _clearest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the largest effects for their intervals, of concepts that can be relied on."""
    rows = _reliable(rows)
    width = np.maximum((rows["high"] - rows["low"]).to_numpy(float), 1e-9)
    clear = pd.Series(rows["effect"].abs().to_numpy(float) / width, rows.index)
    first = clear.sort_values(ascending=False, kind="stable").index[:MOST_DRAWN]
    return rows.loc[first].sort_values("effect", ascending=False, kind="stable")


NEAREST = 5
_MOST_DOCUMENTS = 1500  # on the map: more would only cover each other


def similarity(catalog: Catalog) -> np.ndarray:
    """Return how alike two of the concepts shown are."""
    if catalog.model.n_concepts_ == 0:
        return np.zeros((0, 0))
    use = catalog.model.result_.summary.words
    shape = (catalog.model.n_concepts_, catalog.corpus.n_words)
    words = sparse.csr_array((use.used.astype(float), (use.concept, use.word)), shape=shape)
    shown = np.array(catalog.model.result_.shown, int) - 1
    return likeness(words[shown], sparse.csr_array(catalog.model.result_.weights[:, shown]))


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
    span = np.maximum(np.ptp(plane, axis=0), 1e-12)
    scaled = (plane - plane.min(axis=0)) / span
    ranked = plane.argsort(axis=0, kind="stable").argsort(axis=0) / (n - 1)
    return (scaled + ranked) / 2


class Landscape(Pages):
    """Place concepts and documents on maps: what is alike is close."""

    def __init__(self, catalog: Catalog):
        super().__init__(catalog)
        self.alike = similarity(catalog)
        self.places = positions(self.alike)

    def points(self) -> list[dict[str, Any]]:
        known, names = self.catalog.concept_rows, self.catalog.names
        shares = known["prevalence"].fillna(0.0)  # a concept without a word has no partner in any draw
        return [
            {"concept": int(j), "name": names[j - 1], "prevalence": float(share), "x": float(x), "y": float(y)}
            for j, share, (x, y) in zip(known["concept"], shares, self.places)
        ]

    @cached_property
    def document_map(self) -> dict[str, Any]:
        """Return the map of documents, with regions by their main concepts."""
        return document_map(self.model.result_, _MOST_DOCUMENTS)

    def quality(self) -> Table:
        """Return coherence and exclusivity of the concepts."""
        rows = concept_quality(self.model.result_)
        rows = rows.sort_values(["leftover", "prevalence"], ascending=[True, False], kind="stable")
        columns = [
            CONCEPT_COLUMN,
            Column("coherence", "Coherence", "decimal"),
            Column("exclusivity", "Exclusivity", "share"),
            Column("prevalence", "Prevalence", "share"),
        ]
        return Table(columns, rows)

    def nearest(self) -> Table:
        """Return each concept with those most like it: what the map shows, as a table."""
        names, shown = self.catalog.names, np.array(self.model.result_.shown, int)
        alike = self.alike.copy()
        np.fill_diagonal(alike, -1.0)
        order = np.argsort(-alike, axis=1, kind="stable")[:, : min(NEAREST, len(alike) - 1)]
        likeness = [float(alike[j, near[0]]) if len(near) else np.nan for j, near in enumerate(order)]
        nearest = [[names[j - 1] for j in shown[near]] for near in order]
        rows = pd.DataFrame(
            {
                "concept": shown,
                "likeness": likeness,
                "nearest": pd.Series(nearest, dtype=object),
                "nearest_ids": pd.Series([shown[near].tolist() for near in order], dtype=object),
            }
        )
        columns = [
            CONCEPT_COLUMN,
            Column("nearest", "Most alike", "concepts", link="nearest_ids", sortable=False),
            Column("likeness", "Likeness to the first", "share"),
        ]
        return Table(columns, self.catalog.reliable_first(rows))


class ChainPages(Pages):
    """Compute tables and a picture of a model's chains."""

    @cached_property
    def traces(self) -> bytes:
        """Return the traces as SVG."""
        with drawing:
            return figure_bytes(chain_traces(self.model), "svg")

    def moves(self) -> Table:
        """Return what every move of a sweep tried, what was accepted, and the time it took, over all chains."""
        columns = [
            Column("move", "Move"),
            Column("proposal", "Proposal"),
            Column("tried", "Tried", "number"),
            Column("accepted", "Accepted", "number"),
            Column("acceptance", "Accepted, of those tried", "share"),
            Column("seconds", "Seconds", "decimal"),
            Column("time_share", "Of the time", "share"),
        ]
        return Table(columns, self.model.moves())

    def others(self) -> Table:
        """Return concepts that at least two chains find and the list lacks."""
        found = self.model.other_concepts()
        chains = zip(found["found_by"], found["stability_by_chain"])
        rows = pd.DataFrame(
            {
                "words": texts([", ".join(words) for words in found["top_words"]]),
                "chains": texts([f"{n} of {len(each)}" for n, each in chains]),
            }
        )
        return Table([Column("words", "Words"), Column("chains", "Chains that find it")], rows)

    def agreement(self) -> Table:
        """Return concepts by the share of each chain's draws in which they are found, the least agreed first."""
        known = self.catalog.concept_rows
        shares = np.array(known["stability_by_chain"].tolist(), float)
        n_chains = shares.shape[1] if shares.ndim == 2 else 0
        by_chain = {f"chain {c + 1}": shares[:, c] for c in range(n_chains)}
        rows = self.catalog.reliable_first(known[["concept", "stability"]].assign(**by_chain))
        columns = [
            CONCEPT_COLUMN,
            *(Column(name, f"Found by {name}", "share") for name in by_chain),
            Column("stability", "Stability", "share"),
        ]
        return Table(columns, rows.sort_values("stability", kind="stable"), "stability", False)
