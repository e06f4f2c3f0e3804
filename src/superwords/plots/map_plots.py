"""Maps of documents by their concepts, and of concepts by quality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from superwords.analysis.maps import concept_quality
from superwords.analysis.maps import document_map as map_of_documents
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.plots import style
from superwords.plots.relation_plots import Labels
from superwords.text.corpus import row_name

_LABELLED = 16  # regions
_HALO: list[Any] = [patheffects.withStroke(linewidth=1.8, foreground="white")]


def document_map(model: ConceptModel, width: float = style.PAGE) -> Figure:
    """Draw documents as points by similarity of concepts, main concepts as regions.

    The seven largest regions of reliable concepts have a colour and a marker; the others are grey and numbered.
    """
    data, label = map_of_documents(model.result_), Labels(model)
    if not data["regions"]:
        raise InputError("No document uses a concept, so there is no map to draw.")
    points = pd.DataFrame(data["points"])
    regions = sorted(data["regions"], key=lambda one: one["leftover"])
    coloured = [one["concept"] for one in regions[: style.MOST_GROUPS - 1]]
    is_page = width > 120
    figure = style.print_figure(width, 0.72 * width if is_page else 1.55 * width)
    axes = figure.subplots()
    size = float(np.clip(50 / np.sqrt(len(points)), 1.8, 3.6))
    rest = points[~points["concept"].isin(coloured)]
    axes.plot(rest["x"], rest["y"], ".", color="#A8A8A8", markersize=size, markeredgewidth=0, zorder=1)
    handles = []
    for concept, color, marker in zip(coloured, style.PALETTE, style.MARKERS):
        own = points[points["concept"] == concept]
        drawn = axes.plot(own["x"], own["y"], marker, color=color, markersize=size, markeredgewidth=0, zorder=2)
        handles += drawn
    colors = dict(zip(coloured, style.PALETTE))
    axes.set(xticks=[], yticks=[], xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.spines[:].set_color(style.GRID)
    named = regions[:_LABELLED] if is_page else regions[: style.MOST_GROUPS - 1]
    if is_page:
        _side_labels(axes, named, colors, label, 0.23 * width)
    else:
        for one in named:
            _number(axes, one, colors.get(one["concept"], style.INK))
        style.legend(figure, width, handles, [label(j) for j in coloured])
    description = "each point is a document, near those that use the same concepts; its main concept decides its colour"
    style.caption(figure, description, width, label.marked([one["concept"] for one in named]))
    return figure


def _number(axes: Axes, region: dict[str, Any], color: str) -> None:
    text = axes.text(region["x"], region["y"], str(region["concept"]), color=color, zorder=4)
    text.set(fontsize=style.TEXT, ha="center", va="center", weight="bold", path_effects=_HALO)


def _side_labels(axes: Axes, regions: list[dict[str, Any]], colors: dict[int, str], label: Labels, room: float) -> None:
    """Write the regions' names at the sides, without overlap, with lines to them."""
    ordered = sorted(regions, key=lambda one: one["x"])
    half = (len(ordered) + 1) // 2
    for side, own in ((0, ordered[:half]), (1, ordered[half:])):
        own = sorted(own, key=lambda one: one["y"])
        for slot, one in zip((np.arange(len(own)) + 0.5) / max(len(own), 1), own):
            color = colors.get(one["concept"], "#555555")
            edge = -0.03 if side == 0 else 1.03
            axes.plot([edge, one["x"]], [slot, one["y"]], color=color, linewidth=0.5, zorder=3)
            text = axes.text(
                -0.045 if side == 0 else 1.045,
                slot,
                label(one["concept"]),
                color=color,
                fontsize=style.TEXT,
                ha="right" if side == 0 else "left",
                va="center",
            )
            style.write_texts([text], style.characters(room))
            _number(axes, one, color)


def quality_map(model: ConceptModel, width: float = style.PAGE) -> Figure:
    """Draw concepts by coherence and exclusivity, sized by prevalence.

    Hollow points are concepts that are not reliable.
    """
    table, label = concept_quality(model.result_).dropna(subset=["coherence", "exclusivity"]), Labels(model)
    if table.empty:
        raise InputError("The model has no concepts, so there is nothing to draw.")
    is_page = width > 120
    figure = style.print_figure(width, 0.7 * width if is_page else 1.1 * width)
    axes = figure.subplots()
    for doubtful, own in table.groupby("leftover"):
        axes.scatter(
            own["coherence"],
            own["exclusivity"],
            s=8 + 160 * own["prevalence"],
            marker="s" if doubtful else "o",
            facecolors="none" if doubtful else style.PALETTE[0],
            edgecolors=style.FAINT if doubtful else style.PALETTE[0],
            alpha=1.0 if doubtful else 0.6,
            linewidths=0.8,
        )
    axes.margins(0.12)
    axes.xaxis.set_major_locator(MaxNLocator(7 if is_page else 4))
    axes.set_xlabel("coherence (mean NPMI of the top words)", fontsize=style.TEXT, color=style.INK)
    axes.set_ylabel("exclusivity (mean share of the top words' uses)", fontsize=style.TEXT, color=style.INK)
    style.bare(axes, style.TEXT)
    area = f"area: share of {row_name(model.corpus_)} that use the concept"
    style.caption(figure, area, width, label.marked(table["concept"].tolist()))
    _name_points(figure, axes, table, label, 0.24 * width if is_page else 0.3 * width)
    return figure


def _name_points(figure: Figure, axes: Axes, table: pd.DataFrame, label: Labels, room: float) -> None:
    """Name points where there is space, by reliability and prevalence; number others."""
    figure.canvas.draw()
    frame, taken = axes.get_window_extent(), []
    dot = 0.012 * frame.width
    for x, y in axes.transData.transform(table[["coherence", "exclusivity"]].to_numpy(float)):
        taken.append(Bbox.from_extents(x - dot, y - dot, x + dot, y + dot))
    for _, one in table.sort_values(["leftover", "prevalence"], ascending=[True, False]).iterrows():
        given: dict[str, Any] = {"color": "#777777" if one["leftover"] else style.INK, "fontsize": style.SMALL}
        at, number = (one["coherence"], one["exclusivity"]), str(one["concept"])
        for name in (label(one["concept"]), number):
            text = axes.text(*at, name, **given)
            style.write_texts([text], style.characters(room, style.SMALL))
            text.set_path_effects(_HALO)
            if _settled(text, axes, frame, taken):
                break
            text.remove()
        else:  # no space beside the point
            axes.text(*at, number, ha="center", va="center", **given)


def _settled(text: Any, axes: Axes, frame: Any, taken: list[Any]) -> bool:
    """Move a text around its point until it fits without overlap; return whether."""
    point = axes.transData.transform(text.get_position())
    far, edge = 0.016 * frame.width + 1, frame.padded(-0.02 * frame.width)
    for dx, dy, ha, va in (
        *((1, 0, "left", "center"), (-1, 0, "right", "center"), (0, 1, "center", "bottom")),
        *((0, -1, "center", "top"), (1, 1, "left", "bottom"), (-1, -1, "right", "top")),
    ):
        text.set(ha=ha, va=va, position=axes.transData.inverted().transform(point + far * np.array([dx, dy])))
        box = text.get_window_extent().padded(1)
        inside = edge.x0 <= box.x0 and box.x1 <= edge.x1 and edge.y0 <= box.y0 and box.y1 <= edge.y1
        if inside and not any(box.overlaps(other) for other in taken):
            taken.append(box)
            return True
    return False
