"""Serve time, effects and themes to the explorer."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.dates import PERIODS, as_dates
from superwords.analysis.themes import ConceptTree, theme_table
from superwords.errors import InputError
from superwords.tabular import records
from superwords.web.bounded import BoundedModel
from superwords.web.catalog import CONCEPT_COLUMN, Catalog, texts
from superwords.web.json_tables import Column, Table, numbers_of

PANELS = 12
MOST_DRAWN = 15
LONGEST_FORMULA = 300
_KEPT = 8
_VALUES = ["prevalence", "prevalence_low", "prevalence_high", "strength", "strength_low", "strength_high"]

Given = Mapping[str, str]


def one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the last answers, and compute what several ask for once."""
    known, turn = lru_cache(_KEPT)(function), threading.Lock()

    def answer(*key: Any) -> Any:
        with turn:
            return known(*key)

    return answer


class RelationPages:
    """Relate concepts to time, to columns and to one another."""

    def __init__(self, catalog: Catalog, bounded: BoundedModel | None = None):
        self.catalog = catalog
        self.model = catalog.model
        model = catalog.model
        self.over_time = one_at_a_time(model.over_time)
        self.trends = one_at_a_time(model.trends)
        self.word_changes = one_at_a_time(model.words_over_time)
        choices = list(model.choices_)

        def computed(method: str) -> Callable[..., Any]:
            # Without a file there is no process to compute in: tests, and models that were never saved.
            own = getattr(model, method)
            return one_at_a_time(own if bounded is None else partial(bounded.call, choices, method))

        self.effects, self.predicted = computed("effects"), computed("predicted")

    def _when(self, given: Given) -> tuple[Any, Any]:
        """Return the column, as the metadata have it, and its period."""
        columns = self.catalog.corpus.metadata.columns
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
        trends = self._cached_trends(column, by)
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
        is_date = as_dates(self.catalog.corpus.metadata[column]) is not None
        return {
            "column": str(column),
            "periods": records(periods),
            "units": list(PERIODS) if is_date else [],
            "panels": panels,
        }

    def _cached_trends(self, column: Any, by: Any) -> pd.DataFrame:
        return self.catalog.reliable_first(self.trends(column, by))

    def trend_table(self, given: Given) -> Table:
        """Return what rises and what falls."""
        rows = self._cached_trends(*self._when(given))
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
        rows = self._effects(given)
        terms = rows[["term", "label"]].drop_duplicates()
        return {
            "documents": int(rows["documents"].iloc[0]) if len(rows) else 0,
            "notes": rows.attrs.get("notes", []),
            "terms": records(terms),
            "columns": [name for name in self.catalog.corpus.metadata if _is_in(str(name), given["formula"])],
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
            Column(
                "unadjusted", "Effect, this column alone", "difference", "unadjusted_low", "unadjusted_high"
            ),
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
            {
                "concept": j,
                "name": names[j - 1],
                "proposed": tree.theme_names[int(theme) - 1],
                "theme": given.get(j),
            }
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
    formula = given.get("formula", "").strip()
    if len(formula) > LONGEST_FORMULA:
        raise InputError(f"The formula has {len(formula)} characters; give at most {LONGEST_FORMULA}.")
    return formula, given.get("of", "prevalence")


def _is_in(name: str, formula: str) -> bool:
    """Return whether a column is one of a formula's."""
    return f"`{name}`" in formula or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", formula) is not None


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
