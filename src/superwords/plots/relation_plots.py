"""Pictures of how concepts relate to time, to columns and to one another, each a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from scipy.cluster import hierarchy

from superwords.concepts.tables import concept_index
from superwords.corpus.corpus import row_name
from superwords.errors import InputError
from superwords.plots.figures import FAINT, INK, PALETTE, bare, new_figure, write_texts
from superwords.plots.model_plots import concept_label

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

_PANELS, _ACROSS = 12, 3
_MOST_EFFECTS = 15
_PANEL_LABEL = 36  # characters that a panel has room for


def small_multiples(
    model: ConceptModel, column: str, by: Any = None, concepts: Sequence[int] | None = None
) -> Figure:
    """Prevalence by period with intervals, a panel for each concept: those whose trends are surest, if not given."""
    table = model.over_time(column, by)
    for concept in concepts or []:
        concept_index(model.result_, concept)
    chosen = list(concepts) if concepts is not None else _surest(model, column, by)
    if not chosen:
        raise InputError("The model has no concepts, so there is nothing to draw.")
    n_across = min(_ACROSS, len(chosen))
    n_down = -(-len(chosen) // n_across)
    figure = new_figure(3.1 * n_across + 0.4, 1.9 * n_down + 0.6)
    grid = figure.subplots(n_down, n_across, squeeze=False)
    for axes, concept in zip(grid.ravel(), chosen):
        own = table[table["concept"] == concept]
        _panel(axes, own)
        label = concept_label(model, concept)
        short = label if len(label) <= _PANEL_LABEL else f"{label[: _PANEL_LABEL - 1].rstrip(' ,')}…"
        write_texts([axes.set_title(short, fontsize=8, color=INK, loc="left")])
    for axes in grid.ravel()[len(chosen) :]:
        axes.set_visible(False)
    rows = row_name(model.corpus_)
    figure.supxlabel(column, fontsize=9, color=INK, parse_math=False)
    figure.supylabel(f"share of {rows} that hold the concept", fontsize=9, color=INK)
    figure.set_layout_engine("tight")
    return figure


def _surest(model: ConceptModel, column: str, by: Any) -> list[int]:
    told = model.trends(column, by)
    sure = (told["probability_rises"] - 0.5).abs()
    first = sure.sort_values(ascending=False, kind="stable").index[:_PANELS]
    return told.loc[sorted(first), "concept"].tolist()


def _panel(axes: Any, own: pd.DataFrame) -> None:
    """Lines break where a period has no documents; a period between two such is a dot."""
    place = np.arange(len(own))
    axes.fill_between(
        place, own["prevalence_low"], own["prevalence_high"], color=PALETTE[4], alpha=0.35, linewidth=0
    )
    axes.plot(place, own["prevalence"], color=PALETTE[0], linewidth=1.4, marker="o", markersize=2.5)
    empty = own["n_rows"].to_numpy() == 0
    axes.plot(place[empty], np.zeros(empty.sum()), linestyle="", marker="x", markersize=3, color=FAINT)
    axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=3))
    every = max(1, len(own) // 3)
    axes.set_xticks(place[::every], own["period"].tolist()[::every], fontsize=7)
    bare(axes)
    axes.tick_params(labelsize=7)


def effect_intervals(model: ConceptModel, table: pd.DataFrame, of: str = "prevalence") -> Figure:
    """Effects with intervals, a panel for each term: adjusted for the other columns (filled) and alone (hollow).

    `table` is that of `model.effects`; the concepts with the clearest effects are drawn.
    """
    if table.empty:
        raise InputError("There is no effect to draw.")
    clear = table["effect"].abs() / (table["high"] - table["low"])
    clearest = clear.groupby(table["concept"]).max().sort_values(ascending=False, kind="stable")
    chosen = clearest.index[:_MOST_EFFECTS].tolist()
    terms = table["term"].drop_duplicates().tolist()
    figure = new_figure(2.4 + 2.6 * len(terms), 1.1 + 0.3 * len(chosen))
    all_axes = figure.subplots(1, len(terms), squeeze=False, sharey=True)[0]
    place = np.arange(len(chosen))
    for axes, term in zip(all_axes, terms):
        own = table[table["term"] == term].set_index("concept").loc[chosen]
        for start, shift, filled in (("", -0.14, True), ("unadjusted", 0.14, False)):
            names = ("effect", "low", "high") if filled else ("unadjusted", f"{start}_low", f"{start}_high")
            middle, low, high = (100 * own[name].to_numpy() for name in names)
            colour = PALETTE[0] if filled else PALETTE[1]
            axes.hlines(place + shift, low, high, color=colour, linewidth=1.3)
            face = colour if filled else "white"
            label = "adjusted for the other columns" if filled else "this column alone"
            axes.plot(
                middle, place + shift, "o", color=colour, markerfacecolor=face, markersize=4, label=label
            )
        axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
        axes.set_title(term, fontsize=9, color=INK)
        write_texts([axes.title])
        bare(axes)
    all_axes[0].set_yticks(place, [concept_label(model, int(j)) for j in chosen], fontsize=8)
    write_texts(all_axes[0].get_yticklabels())
    all_axes[0].invert_yaxis()
    figure.supxlabel(f"effect on {of}, percentage points, with 95% interval", fontsize=9, color=INK)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", frameon=False, fontsize=7, ncols=2)
    figure.set_layout_engine("tight", rect=(0, 0, 1, 1 - 0.25 / figure.get_figheight()))
    return figure


def concept_tree(model: ConceptModel) -> Figure:
    """The tree of the concepts, a colour for each theme; the line is where it is cut."""
    tree = model.tree()
    n_leaves = len(tree.concepts)
    if n_leaves < 2:
        raise InputError("The model has fewer than two concepts, so there is no tree to draw.")
    figure = new_figure(7.5, 0.8 + 0.2 * n_leaves)
    axes = figure.subplots()
    n_themes = len(tree.theme_names)
    heights = tree.linkage[:, 2]
    cut = (heights[-n_themes] + heights[1 - n_themes]) / 2 if 1 < n_themes < n_leaves else np.inf
    drawn = hierarchy.dendrogram(
        tree.linkage,
        orientation="left",
        ax=axes,
        no_labels=True,
        color_threshold=0,
        above_threshold_color=INK,
    )
    axes.yaxis.tick_right()
    labels = [concept_label(model, tree.concepts[k]) for k in drawn["leaves"]]
    axes.set_yticks(5 + 10 * np.arange(n_leaves), labels, fontsize=8)
    ticks = axes.get_yticklabels()
    write_texts(ticks)
    for tick, leaf in zip(ticks, drawn["leaves"]):
        tick.set_color(PALETTE[(int(tree.theme[leaf]) - 1) % len(PALETTE)])
    if np.isfinite(cut):
        axes.axvline(cut, color=PALETTE[1], linestyle="--", linewidth=1)
    axes.set_xlabel("1 − likeness of words and documents", color=INK, fontsize=9)
    axes.spines[["top", "left", "right"]].set_visible(False)
    figure.set_layout_engine("tight")
    return figure
