"""Histograms, prevalence by group, and traces of chains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from superwords.errors import InputError
from superwords.plots import style

MOST_BARS = 60
PREVALENCE_COLUMNS = ("concept", "group", "prevalence", "low", "high")


def histogram(values: Any, xlabel: str, ylabel: str = "count", title: str | None = None) -> Figure:
    """Draw a histogram of integers with the median, a bar each if there are few.

    Parameters
    ----------
    values : array of int
    xlabel, ylabel, title : str

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> figure = plots.histogram([1, 2, 2, 3], xlabel="concepts in a document")
    >>> figure.axes[0].get_legend().get_texts()[0].get_text()
    'median 2'
    """
    numbers = np.asarray(values, dtype=float).ravel()
    if len(numbers) == 0 or not np.isfinite(numbers).all():
        raise InputError(f"The histogram of {xlabel} needs at least one number, all of them finite.")
    low, high = np.floor(numbers.min()), np.ceil(numbers.max())
    step = max(1.0, np.ceil((high - low + 1) / MOST_BARS))
    edges = np.arange(low - 0.5, high + step + 0.5, step)
    figure, axes = style.print_panel(85, 58)
    axes.hist(numbers, bins=edges.tolist(), color=style.PALETTE[0], edgecolor="white", linewidth=0.5)
    median = float(np.median(numbers))
    axes.axvline(median, color=style.PALETTE[1], linestyle="--", linewidth=1.5, label=f"median {median:g}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    style.axis_labels(axes, xlabel, ylabel)
    axes.legend(frameon=False, fontsize=style.TEXT)
    if title is not None:
        axes.set_title(title, fontsize=style.TEXT + 1, color=style.INK)
        style.write_texts([axes.title])
    style.bare(axes, style.TEXT)
    return figure


def prevalence_by_group(table: pd.DataFrame, title: str | None = None, width: float = style.PAGE) -> Figure:
    """Draw a dot and an interval for each concept and group, all on one scale.

    Parameters
    ----------
    table : DataFrame
        The columns concept, group (at most eight), prevalence, low and high; concepts are drawn in their order.
    title : str, optional
        Of the horizontal axis.
    width : float
        In mm: 85 for a column of a journal, 170 for a page.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> columns = {"prevalence_low": "low", "prevalence_high": "high"}
    >>> figure = plots.prevalence_by_group(model.by_group("place").rename(columns=columns))
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['harbour', 'kitchen']
    """
    missing = [name for name in PREVALENCE_COLUMNS if name not in table.columns]
    if missing:
        raise InputError(f"The prevalence table lacks the column {missing[0]!r}; give {', '.join(PREVALENCE_COLUMNS)}.")
    if table.empty:
        raise InputError("The prevalence table has no rows; give one per concept and group.")
    row, names = pd.factorize(table["concept"].astype(str))
    styles = style.group_styles(table["group"])
    room = style.characters((0.3 if style.is_page(width) else 0.36) * width)
    height = max(2.1 * len(styles) + 1.5, 3 * style.n_lines(names, room) + 1)
    figure, axes = style.print_panel(width, 22 + len(names) * height)
    for index, (group, (color, marker, _)) in enumerate(styles.items()):
        is_own = table["group"].astype(str) == group
        own, heights = table[is_own], row[is_own] + 0.74 * ((index + 0.5) / len(styles) - 0.5)
        axes.hlines(heights, own["low"], own["high"], color=color, linewidth=1.0)
        axes.plot(own["prevalence"], heights, marker, color=color, markersize=3.2, label=group)
    style.row_labels(axes, range(len(names)), list(names), room)
    axes.set(xlim=(0, None), ylim=(len(names) - 0.5, -0.5))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for line in range(1, len(names)):
        axes.axhline(line - 0.5, color=style.GRID, linewidth=0.5, zorder=0)
    style.bare(axes, style.TEXT, "x")
    style.legend(figure, width, *axes.get_legend_handles_labels())
    marked = any(name.endswith(style.MARK) for name in names)
    style.caption(figure, title or "share of the group's documents that use the concept", width, marked)
    return figure


def traces(trace: Mapping[str, Any], rhat: Mapping[str, float] | None = None) -> Figure:
    """Draw each quantity by draw in a row, a line per chain, with R-hat in the title.

    Parameters
    ----------
    trace : mapping of str to array (chain, draw)
    rhat : mapping of str to float, optional
        R-hat of some or all quantities.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> figure = plots.traces({"concepts": model.trace_["posterior"]["n_concepts"].values})
    >>> len(figure.axes[0].lines)
    2
    """
    if not trace:
        raise InputError("There is no trace to draw; give at least one array of shape (chain, draw).")
    figure, known = style.print_figure(style.PAGE, 8 + 32 * len(trace)), rhat or {}
    all_axes = figure.subplots(len(trace), 1, squeeze=False)[:, 0]
    for axes, (name, values) in zip(all_axes, trace.items()):
        lines = np.asarray(values, dtype=float)
        if lines.ndim != 2:
            raise InputError(f"The trace {name!r} has {lines.ndim} dimension(s); give (chain, draw).")
        for chain, line in enumerate(lines):
            color = style.PALETTE[chain % len(style.PALETTE)]
            axes.plot(line, color=color, linewidth=0.9, label=f"chain {chain + 1}")
        heading = f"{name} (R-hat {known[name]:.3f})" if name in known else name
        axes.set_title(heading, fontsize=style.TEXT + 1, color=style.INK, loc="left", parse_math=False)
        axes.margins(x=0.01)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=bool((lines % 1 == 0).all())))
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)
        style.bare(axes, style.TEXT)
    style.axis_labels(all_axes[-1], "draw")
    style.legend(figure, style.PAGE, *all_axes[0].get_legend_handles_labels())
    return figure
