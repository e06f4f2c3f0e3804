"""Charts of plain numbers: histograms, prevalence by group, traces of chains, concepts by words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from superwords.errors import InputError
from superwords.plots.figures import INK, PALETTE, bare, new_figure, write_texts

MARKERS = ("o", "s", "^", "D", "v", "P")
MOST_BARS = 60
PREVALENCE_COLUMNS = ("concept", "group", "prevalence", "low", "high")


def histogram(values: Any, xlabel: str, ylabel: str = "count", title: str | None = None) -> Figure:
    """A histogram of whole numbers, one bar each while there are few, with the median marked.

    Parameters
    ----------
    values : array
        The numbers.
    xlabel, ylabel, title : str
        What stands at the axes and, if given, above.

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
    figure = new_figure(5.0, 3.2)
    axes = figure.subplots()
    axes.hist(numbers, bins=edges.tolist(), color=PALETTE[0], edgecolor="white", linewidth=0.5)
    median = float(np.median(numbers))
    axes.axvline(median, color=PALETTE[1], linestyle="--", linewidth=1.5, label=f"median {median:g}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(xlabel, color=INK)
    axes.set_ylabel(ylabel, color=INK)
    axes.legend(frameon=False, fontsize=9)
    if title is not None:
        axes.set_title(title, fontsize=11, color=INK)
        write_texts([axes.title])
    bare(axes)
    figure.set_layout_engine("tight")
    return figure


def prevalence_by_group(table: pd.DataFrame, title: str | None = None) -> Figure:
    """A dot and an interval for each concept and group.

    Parameters
    ----------
    table : DataFrame
        The columns concept, group, prevalence, low and high, one row per concept and group; concepts are drawn
        from the top in the order they first appear.
    title : str, optional
        What stands above.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> columns = {"prevalence_low": "low", "prevalence_high": "high"}
    >>> figure = plots.prevalence_by_group(model.by_group("place").rename(columns=columns))
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['harbour', 'kitchen']
    """
    missing = [name for name in PREVALENCE_COLUMNS if name not in table.columns]
    if missing:
        raise InputError(
            f"The prevalence table lacks the column {missing[0]!r}; give {', '.join(PREVALENCE_COLUMNS)}."
        )
    if table.empty:
        raise InputError("The prevalence table has no rows; give one per concept and group.")
    concepts = [str(name) for name in dict.fromkeys(table["concept"])]
    groups = [str(name) for name in dict.fromkeys(table["group"])]
    rows = {name: row for row, name in enumerate(concepts)}
    figure = new_figure(6.5, 1.3 + len(concepts) * max(0.3, 0.16 * len(groups)))
    axes = figure.subplots()
    for index, group in enumerate(groups):
        own = table[table["group"].astype(str) == group]
        offset = 0.6 * ((index + 0.5) / len(groups) - 0.5)
        heights = [rows[str(name)] + offset for name in own["concept"]]
        color = PALETTE[index % len(PALETTE)]
        axes.hlines(heights, own["low"], own["high"], color=color, linewidth=1.6)
        axes.plot(
            own["prevalence"],
            heights,
            MARKERS[index % len(MARKERS)],
            color=color,
            markersize=5,
            label=group,
        )
    axes.set_yticks(range(len(concepts)), concepts)
    axes.set_ylim(len(concepts) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.grid(axis="x", color="#E5E5E5")
    axes.set_axisbelow(True)
    axes.set_xlabel("share of the group's documents that hold the concept", color=INK)
    bare(axes)
    # Above the plot, where no interval can run under it.
    legend = axes.legend(
        frameon=False, fontsize=9, ncols=min(4, len(groups)), loc="lower left", bbox_to_anchor=(0, 1)
    )
    texts = [*axes.get_yticklabels(), *legend.get_texts()]
    if title is not None:
        texts.append(figure.suptitle(title, fontsize=11, color=INK))
    write_texts(texts)
    figure.set_layout_engine("tight")
    return figure


def traces(trace: Mapping[str, Any], rhat: Mapping[str, float] | None = None) -> Figure:
    """A row for each quantity: its value at each draw, a line per chain; R-hat stands in the row's title.

    Parameters
    ----------
    trace : mapping of str to array
        The quantities by name, each of shape (chain, draw).
    rhat : mapping of str to float, optional
        R-hat of some or all of them.

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
    figure = new_figure(7.0, 0.4 + 1.7 * len(trace))
    all_axes = figure.subplots(len(trace), 1, squeeze=False)[:, 0]
    for axes, (name, values) in zip(all_axes, trace.items()):
        lines = np.asarray(values, dtype=float)
        if lines.ndim != 2:
            raise InputError(f"The trace {name!r} has {lines.ndim} dimension(s); give (chain, draw).")
        for chain, line in enumerate(lines):
            axes.plot(line, color=PALETTE[chain % len(PALETTE)], linewidth=0.9, label=f"chain {chain + 1}")
        known = rhat is not None and name in rhat
        heading = f"{name} (R-hat {rhat[name]:.3f})" if known and rhat is not None else name
        axes.set_title(heading, fontsize=10, color=INK, loc="left", parse_math=False)
        axes.margins(x=0.01)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        bare(axes)
    all_axes[-1].set_xlabel("draw", color=INK)
    all_axes[0].legend(frameon=False, fontsize=8, ncols=4, loc="lower right", bbox_to_anchor=(1, 1))
    figure.set_layout_engine("tight")
    return figure


def concept_panels(matrices: Sequence[Any], titles: Sequence[str] | None = None) -> Figure:
    """The paper's synthetic figure: a panel per matrix of average f, white is 1 and black is 0.

    Parameters
    ----------
    matrices : sequence of arrays
        Each of shape (concepts, words).
    titles : sequence of str, optional
        What stands above each panel.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> len(plots.concept_panels([model.concept_word_, model.concept_word_ > 0.5]).axes)
    2
    """
    if len(matrices) == 0:
        raise InputError("There is no matrix to draw; give at least one of shape (concepts, words).")
    if titles is not None and len(titles) != len(matrices):
        raise InputError(f"There are {len(titles)} titles for {len(matrices)} matrices; give one per matrix.")
    panels = [np.asarray(matrix, dtype=float) for matrix in matrices]
    for index, panel in enumerate(panels):
        if panel.ndim != 2:
            raise InputError(f"Matrix {index} has {panel.ndim} dimension(s); give (concepts, words).")
    figure = new_figure(3.0 * len(panels) + 0.4, 2.6)
    for index, (axes, panel) in enumerate(zip(figure.subplots(1, len(panels), squeeze=False)[0], panels)):
        n_concepts, n_words = panel.shape
        axes.imshow(
            panel,
            cmap="gray",
            vmin=0,
            vmax=1,
            aspect="auto",
            interpolation="nearest",
            extent=(0.5, n_words + 0.5, n_concepts + 0.5, 0.5),
        )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
        axes.tick_params(colors=INK, labelsize=8)
        axes.set_xlabel("word", color=INK, fontsize=9)
        if index == 0:
            axes.set_ylabel("concept", color=INK, fontsize=9)
        if titles is not None:
            axes.set_title(titles[index], fontsize=10, color=INK)
            write_texts([axes.title])
    figure.set_layout_engine("tight")
    return figure
