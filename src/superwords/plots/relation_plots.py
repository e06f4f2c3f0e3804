"""Draw how concepts relate to groups, to time, to columns and to one another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from scipy.cluster import hierarchy

from superwords.analysis.dates import as_years
from superwords.analysis.design import CURVES
from superwords.analysis.groups import by_group
from superwords.analysis.over_time import time_curves
from superwords.analysis.tables import concept_index, concept_table
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.plots import style
from superwords.plots.charts import prevalence_by_group
from superwords.text.corpus import row_name

MOST_CONCEPTS = 12
_MOST_EFFECTS, _MOST_TERMS = 10, 6
_PANEL, _ROWS = 38.0, 180.0  # mm: the height of a panel with its title, and of all rows of dots


class Labels:
    """Labels of concepts in figures: number, name, and a mark if not reliable."""

    def __init__(self, model: ConceptModel) -> None:
        table = concept_table(model.result_, 0)
        self.doubtful = set(table.loc[table["leftover"].astype(bool), "concept"])
        self.names = dict(zip(table["concept"], table["name"]))

    def __call__(self, concept: Any) -> str:
        mark = style.MARK if concept in self.doubtful else ""
        return f"{concept}. {self.names[concept]}{mark}"

    def marked(self, concepts: Sequence[Any]) -> bool:
        """Return whether any of the concepts has a mark."""
        return any(concept in self.doubtful for concept in concepts)

    def first(self, scores: pd.Series, most: int) -> list[int]:
        """Return the concepts with the highest scores, those that are reliable first."""
        order = scores.fillna(-1.0).sort_values(ascending=False, kind="stable").index
        return sorted(order, key=lambda concept: concept in self.doubtful)[:most]


def group_prevalence(model: ConceptModel, column: str, most: int = MOST_CONCEPTS, width: float = style.PAGE) -> Figure:
    """Draw concepts by group with intervals, reliable and most different ones first."""
    table = by_group(model.result_, column, 0, style.MOST_GROUPS)
    table = table[table["concept"].isin(model.result_.shown)]
    if table["group"].nunique() < 2:
        raise InputError(f"The column {column!r} has fewer than two groups, so none can be compared.")
    label, n_concepts = Labels(model), table["concept"].nunique()
    most = min(most, _most_rows(table["group"].nunique(), width))
    chosen = label.first(table.groupby("concept")[["prevalence", "n_rows"]].apply(_spread), most)
    rows = pd.concat([table[table["concept"] == concept] for concept in chosen])
    drawn = pd.DataFrame(
        {
            "concept": rows["concept"].map(label),
            "group": [f"{group} (n = {n:,})" for group, n in zip(rows["group"], rows["n_rows"])],
            "prevalence": rows["prevalence"],
            "low": rows["prevalence_low"],
            "high": rows["prevalence_high"],
        }
    )
    description = f"share of the group's {row_name(model.corpus_)} that use the concept, with 95% interval"
    some = f" ({len(chosen)} of {n_concepts} concepts, those that differ most)" if len(chosen) < n_concepts else ""
    return prevalence_by_group(drawn, f"{column}: {description}{some}", width)


def _most_rows(n_groups: int, width: float) -> int:
    """Return how many concepts fit on a page."""
    return int(_ROWS / max(2.1 * n_groups + 1.5, 7 if width > 120 else 13))


def _spread(own: pd.DataFrame) -> float:
    """Return the standard deviation between groups, each weighted by its documents."""
    mean = np.average(own["prevalence"], weights=own["n_rows"])
    return float(np.sqrt(np.average((own["prevalence"] - mean) ** 2, weights=own["n_rows"])))


def _panels(n_panels: int, across: int, width: float, head: float, row: float) -> tuple[Figure, list[Axes], float]:
    """Return a figure, its panels on one scale, and the width of a panel in mm."""
    down = -(-n_panels // across)
    figure = style.print_figure(width, head + row * down)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    for axes in grid[n_panels:]:
        axes.set_visible(False)
    for axes in grid[max(0, n_panels - across) : n_panels]:  # the last of each column
        axes.tick_params(labelbottom=True)
    return figure, grid[:n_panels].tolist(), (width - 12) / across


def small_multiples(
    model: ConceptModel, column: str, by: Any = None, concepts: Sequence[int] | None = None, width: float = style.PAGE
) -> Figure:
    """Draw prevalence over time by concept: a smooth curve, and each period's share.

    There is a panel for each concept, on one scale. The default `concepts` are those with the surest trends, reliable
    ones first.
    """
    for concept in concepts or []:
        concept_index(model.result_, concept)
    label = Labels(model)
    chosen = list(concepts) if concepts is not None else _surest(model, column, by, label, 9 if width > 120 else 6)
    if not chosen:
        raise InputError("The model has no concepts, so there is nothing to draw.")
    dots, curves = time_curves(model.result_, column, by)
    figure, panels, room = _panels(len(chosen), min(len(chosen), 3 if width > 120 else 2), width, 12, _PANEL)
    for axes, concept in zip(panels, chosen):
        own = dots[dots["concept"] == concept]
        _band(axes, curves[curves["concept"] == concept], "when", style.PALETTE[0], "-")
        axes.vlines(own["when"], own["low"], own["high"], color=style.FAINT, linewidth=0.7)
        axes.plot(own["when"], own["predicted"], "o", color=style.INK, markersize=1.8)
        _title(axes, label(concept), room)
        _shares(axes)
    periods = dots[dots["concept"] == chosen[0]]
    _ticks(panels, periods["when"].to_numpy(), periods["period"].tolist(), room)
    both = pd.concat([dots, curves])
    both = both[both["concept"].isin(chosen)]
    _limits(panels, both["predicted"], both["high"])
    description = f"{column}; dots: each period, with 95% interval; line: smoothed over all documents, with 95% band"
    style.caption(figure, description, width, label.marked(chosen))
    rows = row_name(model.corpus_)
    side = f"share of a document's {rows} that use the concept, mean over documents"
    style.side_label(figure, "share of documents that use the concept" if rows == "documents" else side)
    return figure


def _surest(model: ConceptModel, column: str, by: Any, label: Labels, most: int) -> list[int]:
    trends = model.trends(column, by)
    size = trends["change"].abs() * (2 * (trends["probability_rises"] - 0.5).abs() >= 0.9)
    return label.first(size.set_axis(trends["concept"]), most)


def _band(axes: Axes, own: pd.DataFrame, x: str, color: str, dash: Any, name: str | None = None) -> Any:
    axes.fill_between(own[x], own["low"], own["high"], color=color, alpha=0.18, linewidth=0)
    return axes.plot(own[x], own["predicted"], color=color, linestyle=dash, linewidth=1.2, label=name)[0]


def _title(axes: Axes, text: str, room: float) -> None:
    axes.set_title(text, fontsize=style.TEXT, color=style.INK, loc="left")
    style.write_texts([axes._left_title], style.characters(room * 0.9))  # type: ignore[attr-defined]


def _shares(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.grid(axis="y", color=style.GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    style.bare(axes, style.SMALL)


def _limits(panels: list[Axes], middle: pd.Series, high: pd.Series) -> None:
    """Set one scale that shows every estimate and all but the widest intervals."""
    top = max(1.08 * np.nanmax(middle), float(np.nanquantile(high, 0.95)), 0.02)
    panels[0].set_ylim(0, min(top, 1.02))


def _ticks(panels: list[Axes], places: np.ndarray, labels: Sequence[str], room: float) -> None:
    """Label as many periods as fit, including the first and the last."""
    longest = max(map(len, labels))
    n = int(np.clip((room - 8) / (longest * 0.21 * style.SMALL + 5), 2, 5))
    at = np.unique(np.linspace(0, len(places) - 1, min(n, len(places))).round().astype(int))
    for axes in panels:
        axes.set_xticks(places[at], [labels[k] for k in at], fontsize=style.SMALL)
        ticks = axes.get_xticklabels()
        if len(ticks) > 1:
            ticks[0].set_horizontalalignment("left")
            ticks[-1].set_horizontalalignment("right")


def effect_intervals(
    model: ConceptModel, table: pd.DataFrame, of: str = "prevalence", width: float = style.PAGE
) -> Figure:
    """Draw effects by term with intervals: adjusted (filled) and alone (hollow).

    `table` is that of `model.effects`. The concepts and terms with the clearest effects are drawn, reliable concepts
    first. For splines and polynomials, whose coefficients have no meaning alone, use `predicted_values`.
    """
    drawn = table[~table["term"].str.contains(rf"\b(?:{'|'.join(CURVES)})\(", regex=True)]
    if drawn.empty:
        raise InputError("There is no effect to draw; of splines and polynomials, draw predicted values.")
    label = Labels(model)
    clear = drawn["effect"].abs() / (drawn["high"] - drawn["low"])
    terms = clear.groupby(drawn["label"], sort=False).max()
    most = _MOST_EFFECTS if width > 120 and len(terms) <= 3 else 7 if width > 120 else 5
    chosen = label.first(clear.groupby(drawn["concept"]).max(), most)
    kept = set(terms.sort_values(ascending=False, kind="stable").index[: _MOST_TERMS if width > 120 else 3])
    shown = [term for term in terms.index if term in kept]
    across = min(len(shown), 3 if width > 120 else 1)
    room = style.characters(0.27 * width if across > 1 else 0.42 * width)
    lines = max(len(textwrap.wrap(label(j), room)) for j in chosen)
    row = 8 + len(chosen) * max(4.5, 2.7 * lines + 1)
    figure, grid, _ = _panels(len(shown), across, width, 20, row)
    for axes, term in zip(grid, shown):
        _effects(axes, drawn[drawn["label"] == term].set_index("concept").loc[chosen])
        _title(axes, term, (width * (0.7 if across > 1 else 0.55)) / across)
    for axes in grid[::across]:
        style.row_labels(axes, range(len(chosen)), [label(j) for j in chosen], room)
    grid[0].set_ylim(len(chosen) - 0.5, -0.5)
    some = f"; {len(shown)} of {len(terms)} terms" if len(shown) < len(terms) else ""
    style.caption(figure, f"effect on {of} in percentage points, with 95% interval{some}", width, label.marked(chosen))
    style.legend(figure, width, *grid[0].get_legend_handles_labels())
    return figure


def _effects(axes: Axes, own: pd.DataFrame) -> None:
    place, alone = np.arange(len(own)), own["unadjusted"].notna().any()
    same = np.allclose(own["effect"], own["unadjusted"], equal_nan=True)
    for name, shift, filled in (("", -0.15, True), ("unadjusted_", 0.15, False)):
        if not filled and (same or not alone):
            continue
        middle = own["effect" if filled else "unadjusted"]
        color, face = (style.PALETTE[0], style.PALETTE[0]) if filled else (style.PALETTE[1], "white")
        at = place + (0 if same else shift)
        axes.hlines(at, 100 * own[f"{name}low"], 100 * own[f"{name}high"], color=color, linewidth=1.0)
        series = "adjusted for the other columns" if filled else "this column alone"
        axes.plot(100 * middle, at, "os"[not filled], color=color, markerfacecolor=face, markersize=3, label=series)
    axes.axvline(0, color=style.INK, linewidth=0.6, zorder=0)
    axes.grid(axis="x", color=style.GRID, linewidth=0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    style.bare(axes, style.TEXT)


def predicted_values(
    model: ConceptModel, table: pd.DataFrame, of: str = "prevalence", width: float = style.PAGE
) -> Figure:
    """Draw predicted values with intervals: dots by group, curves over numbers.

    `table` is that of `model.predicted`. The concepts that vary most are drawn, reliable ones first.
    """
    by, label = list(table.attrs["by"]), Labels(model)
    x = next((name for name in by if _is_numeric(table[name])), None)
    groups = [name for name in by if name != x]
    table = table.assign(group=table[groups].astype(str).agg(", ".join, axis=1) if groups else "")
    varied = table.groupby("concept")["predicted"].std()
    description = f"predicted {of} of the concept, with 95% interval"
    if x is None:
        chosen = label.first(varied, min(MOST_CONCEPTS, _most_rows(table["group"].nunique(), width)))
        rows = pd.concat([table[table["concept"] == j] for j in chosen])
        rows = rows.assign(concept=rows["concept"].map(label)).rename(columns={"predicted": "prevalence"})
        return prevalence_by_group(rows, f"{', '.join(by)}: {description}", width)
    chosen = label.first(varied, 9 if width > 120 else 6)
    styles = style.group_styles(table["group"])
    head = 15.5 if len(styles) > 1 else 12
    figure, panels, room = _panels(len(chosen), min(len(chosen), 3 if width > 120 else 2), width, head, _PANEL)
    years = as_years(table[x])
    table = table.assign(at=table[x].astype(float) if years is None else years)
    for axes, concept in zip(panels, chosen):
        own = table[table["concept"] == concept]
        handles = [
            _band(axes, own[own["group"] == group], "at", color, dash, group)
            for group, (color, _, dash) in styles.items()
        ]
        _title(axes, label(concept), room)
        _shares(axes)
    points = table[["at", x]].drop_duplicates()
    words = [one if isinstance(one, str) else f"{one:g}" for one in points[x]]
    _ticks(panels, points["at"].to_numpy(), words, room)
    own = table[table["concept"].isin(chosen)]
    _limits(panels, own["predicted"], own["high"])
    if len(styles) > 1:
        style.legend(figure, width, handles, list(styles))
    style.caption(figure, x, width, label.marked(chosen))
    style.side_label(figure, description)
    return figure


def _is_numeric(values: pd.Series) -> bool:
    return values.dtype.kind in "iuf" or as_years(values) is not None


def concept_tree(model: ConceptModel, width: float = style.PAGE) -> Figure:
    """Draw the tree of concepts, coloured by theme, with a dashed line at the cut."""
    tree, label = model.tree(), Labels(model)
    n_leaves = len(tree.concepts)
    if n_leaves < 2:
        raise InputError("The model has fewer than two concepts, so there is no tree to draw.")
    size, room = (style.TEXT, 80) if width > 120 else (style.SMALL, style.characters(0.6 * width, style.SMALL))
    lines = max(len(textwrap.wrap(label(j), room)) for j in tree.concepts)
    figure = style.print_figure(width, 14 + (2.4 * lines + 1.2) * n_leaves)
    axes = figure.subplots()
    n_themes = len(tree.theme_names)
    heights = tree.linkage[:, 2]
    cut = (heights[-n_themes] + heights[1 - n_themes]) / 2 if 1 < n_themes < n_leaves else np.inf
    drawn = hierarchy.dendrogram(
        tree.linkage, orientation="left", ax=axes, no_labels=True, color_threshold=0, above_threshold_color=style.INK
    )
    for branches in axes.collections:
        branches.set_linewidth(0.7)
    axes.yaxis.tick_right()
    leaves = drawn["leaves"]
    style.bare(axes, size)
    style.row_labels(axes, 5 + 10 * np.arange(n_leaves), [label(tree.concepts[k]) for k in leaves], room, size)
    order = list(dict.fromkeys(int(tree.theme[leaf]) for leaf in leaves))
    for tick, leaf in zip(axes.get_yticklabels(), leaves):  # neighbouring themes differ in colour
        tick.set_color(style.PALETTE[order.index(int(tree.theme[leaf])) % 3])
    if np.isfinite(cut):
        axes.axvline(cut, color=style.PALETTE[1], linestyle="--", linewidth=0.8)
    axes.spines[["top", "left", "right"]].set_visible(False)
    style.caption(
        figure,
        "distance by words and documents (Ward); the tree is cut at the dashed line; where the colour changes, another "
        "theme begins",
        width,
        label.marked(tree.concepts),
    )
    return figure
