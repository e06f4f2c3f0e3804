"""Time, effects and themes as the explorer shows them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from superwords.concepts.dates import PERIODS, as_dates
from superwords.concepts.themes import ConceptTree, theme_table
from superwords.errors import InputError
from superwords.tabular import records
from superwords.web.catalog import Catalog, texts
from superwords.web.json_tables import Column, Table, numbers_of

PANELS = 12
MOST_DRAWN = 15
LONGEST_FORMULA = 300
_KEPT = 8
_VALUES = ["prevalence", "prevalence_low", "prevalence_high", "strength", "strength_low", "strength_high"]

Given = Mapping[str, str]


def one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Remembers the last answers, and makes nobody compute what another is computing."""
    known, turn = lru_cache(_KEPT)(function), threading.Lock()

    def answer(*key: Any) -> Any:
        with turn:
            return known(*key)

    return answer


class RelationPages:
    """How concepts relate to time, to columns and to one another."""

    def __init__(self, catalog: Catalog):
        self.catalog = catalog
        self.model = catalog.model
        model = catalog.model
        self.over_time = one_at_a_time(model.over_time)
        self.trends = one_at_a_time(model.trends)
        self.word_changes = one_at_a_time(model.words_over_time)
        self.effects = one_at_a_time(model.effects)

    def _named(self, rows: pd.DataFrame) -> pd.DataFrame:
        names = self.catalog.names
        return rows.assign(name=texts(names[j - 1] for j in rows["concept"]).to_numpy())

    def _when(self, given: Given) -> tuple[Any, Any]:
        """The column, as the metadata have it, and its period."""
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
        """Concepts by period: those asked for, else those whose trends are surest."""
        column, by = self._when(given)
        table = self.over_time(column, by)
        periods = table[["period", "middle", "n_rows"]].drop_duplicates()
        told = self._told_trends(column, by)
        wanted = numbers_of(given, "concepts")[:PANELS] or _surest(told)
        told = told.set_index("concept", drop=False)
        panels = []
        for j in wanted:
            own = table[table["concept"] == j]
            if own.empty:
                raise InputError(f"There is no concept {j} to draw.")
            trend = records(told.loc[[j], ["change", "low", "high", "probability_rises"]])[0]
            panels.append(
                {"concept": j, "name": self.catalog.names[j - 1], **trend, "values": records(own[_VALUES])}
            )
        is_date = as_dates(self.catalog.corpus.metadata[column]) is not None
        return {
            "column": str(column),
            "periods": records(periods),
            "units": list(PERIODS) if is_date else [],
            "panels": panels,
        }

    def _told_trends(self, column: Any, by: Any) -> pd.DataFrame:
        return self._named(self.trends(column, by))

    def trend_table(self, given: Given) -> Table:
        """What rises and what falls."""
        rows = self._told_trends(*self._when(given))
        columns = [
            Column("name", "Concept", "concept", link="concept"),
            Column("change", "Change", "difference", "low", "high"),
            Column("probability_rises", "P(it rises)", "share"),
        ]
        return Table(columns, rows, "probability_rises")

    def change_table(self, concept: int, given: Given) -> Table:
        """A concept's words early and late."""
        rows = self.word_changes(self._when(given)[0], concept)
        columns = [
            Column("word", "Word", "word", link="word"),
            Column("early", "Earlier half", "share", "early_low", "early_high"),
            Column("late", "Later half", "share", "late_low", "late_high"),
            Column("change", "Change", "difference"),
        ]
        return Table(columns, rows)

    def _effects(self, given: Given) -> pd.DataFrame:
        formula, of = given.get("formula", "").strip(), given.get("of", "prevalence")
        if len(formula) > LONGEST_FORMULA:
            raise InputError(f"The formula has {len(formula)} characters; give at most {LONGEST_FORMULA}.")
        return self._named(self.effects(formula, of))

    def effect_page(self, given: Given) -> dict[str, Any]:
        """The terms of a formula, and for each the concepts with the clearest effects."""
        rows = self._effects(given)
        terms = rows["term"].drop_duplicates().tolist()
        return {
            "documents": int(rows["documents"].iloc[0]) if len(rows) else 0,
            "terms": [{"term": term, "label": self._plainly(term)} for term in terms],
            "drawn": [records(_clearest(rows[rows["term"] == term])) for term in terms],
        }

    def effect_table(self, given: Given) -> Table:
        """The effects of one term, or of all."""
        rows, term = self._effects(given), given.get("term", "")
        if term:
            rows = rows[rows["term"] == term]
        label = {one: self._plainly(one) for one in rows["term"].unique()}
        columns = [
            Column("name", "Concept", "concept", link="concept"),
            *([] if term else [Column("label", "Term")]),
            Column("effect", "Effect, other columns held fixed", "difference", "low", "high"),
            Column(
                "unadjusted", "Effect, this column alone", "difference", "unadjusted_low", "unadjusted_high"
            ),
            Column("probability_positive", "P(it is positive)", "share"),
        ]
        rows = rows.assign(label=texts(label[one] for one in rows["term"]).to_numpy())
        return Table(columns, rows.sort_values("effect", ascending=False, kind="stable"), "effect")

    def _plainly(self, term: str) -> str:
        """`party[T.R]` as "party R, against D"."""
        metadata = self.catalog.corpus.metadata

        def told(found: re.Match[str]) -> str:
            column = next((key for key in metadata.columns if str(key) == found[1].strip("`")), None)
            if column is None:
                return f"{found[1]} {found[2]}"
            first = min((str(one) for one in metadata[column].dropna().unique()), default="")
            return f"{found[1]} {found[2]}, against {first}"

        return re.sub(r"(\w+|`[^`]*`)\[T\.(.*?)\]", told, term)

    @cached_property
    def tree(self) -> ConceptTree:
        return self.model.tree()

    @cached_property
    def _themes(self) -> pd.DataFrame:
        return theme_table(self.model.result_, self.tree)

    def tree_page(self) -> dict[str, Any]:
        """The tree of the concepts: its leaves, and which two nodes meet at which height."""
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
        """Themes that people made, else those that the tree proposes."""
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


def _surest(told: pd.DataFrame) -> list[int]:
    """The concepts whose trends are surest, what rises first."""
    sure = (told["probability_rises"] - 0.5).abs().sort_values(ascending=False, kind="stable")
    return [int(j) for j in told.loc[sorted(sure.index[:PANELS]), "concept"]]


def _clearest(rows: pd.DataFrame) -> pd.DataFrame:
    width = np.maximum((rows["high"] - rows["low"]).to_numpy(float), 1e-9)
    clear = pd.Series(rows["effect"].abs().to_numpy(float) / width, rows.index)
    first = clear.sort_values(ascending=False, kind="stable").index[:MOST_DRAWN]
    return rows.loc[first].sort_values("effect", ascending=False, kind="stable")
