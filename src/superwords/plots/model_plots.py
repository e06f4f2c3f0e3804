"""Draw a fitted model: clouds of its concepts, how they relate to groups, time, columns, documents and one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from matplotlib.transforms import Bbox
from scipy import sparse
from scipy.cluster import hierarchy

from superwords.analysis import themes
from superwords.analysis.dates import as_years
from superwords.analysis.design import CURVES
from superwords.analysis.groups import by_group, group_values
from superwords.analysis.over_time import time_curves
from superwords.analysis.tables import concept_index, concept_names, leftovers
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.settings import make_starts, make_theta
from superwords.plots import style
from superwords.plots.charts import histogram, prevalence_by_group, traces
from superwords.plots.clouds import cloud, cloud_pair
from superwords.posterior.draws import TRACED
from superwords.posterior.traces import mixing
from superwords.sampler.init.starts import initial_state
from superwords.sampler.state import n_concepts as count_concepts
from superwords.text.corpus import named_column, row_name

MOST_WORDS = 40  # in a cloud; further words would all have the smallest legible size
MOST_CONCEPTS = 12
_MOST_EFFECTS, _MOST_TERMS = 10, 6
_PANEL, _ROWS = 38.0, 180.0  # mm: the height of a panel with its title, and of all rows of dots
_LABELLED = 16  # regions
_HALO: list[Any] = [patheffects.withStroke(linewidth=1.8, foreground="white")]


def concept_weights(model: ConceptModel, concept: int) -> dict[str, float]:
    """Return the most telling words that are used for a concept, with their scores."""
    table = model.words_of(concept)
    return _heaviest(table["word"], table["score"])


def _heaviest(words: pd.Series, weights: pd.Series) -> dict[str, float]:
    """Return the first words with a positive weight."""
    top = weights[weights > 0].sort_values(ascending=False, kind="stable").index[:MOST_WORDS]
    return dict(zip(words[top], weights[top].astype(float)))


def concept_cloud(model: ConceptModel, concept: int) -> Figure:
    """Draw the cloud of a concept (1, 2, …)."""
    return cloud(concept_weights(model, concept), concept_label(model, concept))


def concept_label(model: ConceptModel, concept: int) -> str:
    """Return a concept's number and name."""
    return f"{concept}. {concept_names(model.result_)[concept_index(model.result_, concept)]}"


def group_clouds(model: ConceptModel, column: str, concept: int, first: Any = None, second: Any = None) -> Figure:
    """Draw a concept's words in two groups of documents, by default the largest two."""
    if first is None and second is None:
        first, second = largest_groups(model, column)
    words, clouds, labels = model.group_words(column, concept), [], [str(first), str(second)]
    known = {str(value) for value in group_values(model.corpus_.metadata[column]).dropna()}
    for label in labels:
        if label not in known:
            raise InputError(f"There is no group {label!r} in the column {column!r}.")
        own = words[words["group"].astype(str) == label]
        clouds.append(_heaviest(own["word"], own["share"]))
    name = concept_label(model, concept)
    return cloud_pair(clouds[0], clouds[1], [f"{name}: {label}" for label in labels])


def largest_groups(model: ConceptModel, column: str) -> tuple[Any, Any]:
    """Return the two groups of a column with the most documents."""
    sizes = group_values(named_column(model.corpus_.metadata, column)).value_counts()
    if len(sizes) < 2:
        raise InputError(f"The column {column!r} has fewer than two groups, so none can be compared.")
    return sizes.index[0], sizes.index[1]


def before_after(model: ConceptModel, concept: int, start: sparse.csr_array | None = None) -> Figure:
    """Draw a concept beside the most similar one in the initial state of its chain.

    The chain is that of the most probable draw. Sizes are relative to the panel's highest score, since a start has no
    draws to average over. `start` is `start_scores(model)`, to compute it once for many concepts.
    """
    after, before = concept_weights(model, concept), dict[str, float]()
    score = start_scores(model) if start is None else start
    if score.shape[0]:
        own_words = model.result_.concept_word[concept_index(model.result_, concept)]
        length = np.sqrt(np.asarray(score.multiply(score).sum(axis=1)).ravel())
        nearest = int(np.argmax((score @ own_words) / np.where(length > 0, length, 1.0)))
        row = pd.Series(score[[nearest]].toarray().ravel())
        before = _heaviest(pd.Series(model.corpus_.vocabulary, dtype=object), row)
    start_name = shown_start(model)[1]
    known = {"kmeans": "k-means start", "topics": "start from topics"}
    began = known.get(start_name.partition(":")[0], f"{start_name!r} start")
    left, right = ({word: one / max(own.values()) for word, one in own.items()} for own in (before, after))
    return cloud_pair(
        left, right, [f"{concept_label(model, concept)}: {when}" for when in (began, "most probable draw")]
    )


def shown_start(model: ConceptModel) -> tuple[int, str]:
    """Return the chain the concepts are shown of, and the name of its start."""
    aligned = model.result_.summary.alignment
    chain = int(aligned.chain[aligned.closest])
    return chain, make_starts(model.get_params())[chain]


def start_scores(model: ConceptModel) -> sparse.csr_array:
    """Return the scores (J, V) of the start, taking words on and present as used."""
    data, prior = model.chains_[0].model.data, model.chains_[0].model.prior
    counts = sparse.csr_array(model.corpus_.counts[model.order_])
    chain, name = shown_start(model)
    state = initial_state(name, data, prior, make_theta(model.theta, counts), model.seed_, chain)
    n_pairs = len(state.concept)
    document = np.repeat(np.arange(len(model.order_)), np.diff(state.doc_ptr))
    on = sparse.csr_array((np.ones(len(state.word)), state.word, state.pair_ptr), (n_pairs, model.corpus_.n_words))
    used = on.multiply(sparse.csr_array(counts[document]) > 0)
    of_concept = (np.ones(n_pairs), (state.concept, np.arange(n_pairs)))
    gather = sparse.csr_array(of_concept, (count_concepts(state), n_pairs))
    users, holders = sparse.csr_array(gather @ used), np.asarray(gather.sum(axis=1)).ravel()
    everywhere = np.maximum(np.asarray(users.sum(axis=0)).ravel(), 1.0)
    score = users.multiply(users).multiply(1.0 / np.maximum(holders, 1)[:, None]).multiply(1.0 / everywhere)
    return sparse.csr_array(score)


def concepts_per_word(model: ConceptModel) -> Figure:
    """Draw in how many concepts of the most probable draw a word is on."""
    return histogram((model.concept_word_ > 0).sum(axis=0), "concepts that hold a word", "words")


def words_per_concept(model: ConceptModel) -> Figure:
    """Draw how many words the concepts use, in the mean over the draws."""
    return histogram(model.concepts(0)["n_words"].to_numpy().round(), "words that a concept uses", "concepts")


def chain_traces(model: ConceptModel) -> Figure:
    """Draw the traces, a line per chain, with R-hat if there are several chains."""
    held = f"how many concepts {row_name(model.corpus_)} hold"
    labels = dict(zip(TRACED, ("log joint density", "number of concepts", held, "how many words are on")))
    values = {labels[name]: one for name, one in model.result_.trace_values.items()}
    found = {label: mixing(one) for label, one in values.items()}
    return traces(values, {label: one.rhat for label, one in found.items() if one and np.isfinite(one.rhat)})


class Labels:
    """Labels of concepts in figures: number, name, and a mark if not reliable."""

    def __init__(self, model: ConceptModel) -> None:
        self.doubtful = set((np.flatnonzero(leftovers(model.result_)) + 1).tolist())
        self.names = dict(enumerate(concept_names(model.result_), 1))

    def __call__(self, concept: Any) -> str:
        return f"{concept}. {self.names[concept]}{style.MARK if concept in self.doubtful else ''}"

    def marked(self, concepts: Sequence[Any]) -> bool:
        """Return whether any of the concepts has a mark."""
        return not self.doubtful.isdisjoint(concepts)

    def first(self, scores: pd.Series, most: int) -> list[int]:
        """Return the concepts with the highest scores, those that are reliable first."""
        order = scores.fillna(-1.0).sort_values(ascending=False, kind="stable").index
        return sorted(order, key=lambda concept: concept in self.doubtful)[:most]


def group_prevalence(model: ConceptModel, column: str, width: float = style.PAGE) -> Figure:
    """Draw concepts by group with intervals, reliable and most different ones first."""
    table = by_group(model.result_, column, 0, style.MOST_GROUPS)
    table = table[table["concept"].isin(model.result_.shown)]
    n_groups, n_concepts = table["group"].nunique(), table["concept"].nunique()
    if n_groups < 2:
        raise InputError(f"The column {column!r} has fewer than two groups, so none can be compared.")
    # By the variance between groups, each weighted by its documents.
    weight = table["n_rows"] / table.groupby("concept")["n_rows"].transform("sum")
    mean = (table["prevalence"] * weight).groupby(table["concept"]).transform("sum")
    spread = ((table["prevalence"] - mean) ** 2 * weight).groupby(table["concept"]).sum()
    chosen = Labels(model).first(spread, _most_rows(n_groups, width))
    group = [f"{group} (n = {n:,})" for group, n in zip(table["group"], table["n_rows"])]
    table = table.assign(group=group).rename(columns={"prevalence_low": "low", "prevalence_high": "high"})
    some = f" ({len(chosen)} of {n_concepts} concepts, those that differ most)" if len(chosen) < n_concepts else ""
    description = f"share of the group's {row_name(model.corpus_)} that use the concept, with 95% interval"
    return _dots(model, table, chosen, f"{column}: {description}{some}", width)


def _most_rows(n_groups: int, width: float) -> int:
    """Return how many concepts are drawn and fit on a page."""
    return min(MOST_CONCEPTS, int(_ROWS / max(2.1 * n_groups + 1.5, 7 if style.is_page(width) else 13)))


def _dots(model: ConceptModel, table: pd.DataFrame, chosen: list[int], title: str, width: float) -> Figure:
    """Draw the concepts of a table in the order given, by their labels."""
    rows = pd.concat([table[table["concept"] == concept] for concept in chosen])
    return prevalence_by_group(rows.assign(concept=rows["concept"].map(Labels(model))), title, width)


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
    if concepts is None:
        trends = model.trends(column, by)
        size = trends["change"].abs() * (2 * (trends["probability_rises"] - 0.5).abs() >= 0.9)
        concepts = label.first(size.set_axis(trends["concept"]), 9 if style.is_page(width) else 6)
    if not concepts:
        raise InputError("The model has no concepts, so there is nothing to draw.")
    dots, curves = (table.rename(columns={"when": "at"}) for table in time_curves(model.result_, column, by))
    ticks = dots[dots["concept"] == concepts[0]].set_index("at")["period"]
    figure = _curves(label, list(concepts), curves.assign(group=""), ticks, width, dots)
    description = f"{column}; dots: each period, with 95% interval; line: smoothed over all documents, with 95% band"
    style.caption(figure, description, width, label.marked(concepts))
    rows = row_name(model.corpus_)
    side = f"share of a document's {rows} that use the concept, mean over documents"
    style.side_label(figure, "share of documents that use the concept" if rows == "documents" else side)
    return figure


def _curves(
    label: Labels,
    concepts: list[int],
    curves: pd.DataFrame,
    ticks: pd.Series,
    width: float,
    dots: pd.DataFrame | None = None,
) -> Figure:
    """Draw `predicted` over `at` with bands, a panel for each concept on one scale, a line for each group."""
    styles, across = style.group_styles(curves["group"]), min(len(concepts), 3 if style.is_page(width) else 2)
    figure, panels = _panels(len(concepts), across, width, 15.5 if len(styles) > 1 else 12, _PANEL)
    room = (width - 12) / across
    for axes, concept in zip(panels, concepts):
        lines = []
        for group, (color, _, dash) in styles.items():
            own = curves[(curves["concept"] == concept) & (curves["group"] == group)]
            axes.fill_between(own["at"], own["low"], own["high"], color=color, alpha=0.18, linewidth=0)
            lines += axes.plot(own["at"], own["predicted"], color=color, linestyle=dash, linewidth=1.2)
        if dots is not None:
            own = dots[dots["concept"] == concept]
            axes.vlines(own["at"], own["low"], own["high"], color=style.FAINT, linewidth=0.7)
            axes.plot(own["at"], own["predicted"], "o", color=style.INK, markersize=1.8)
        style.panel_title(axes, label(concept), room)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
        style.bare(axes, style.SMALL, "y")
    # One scale that shows every estimate and all but the widest intervals.
    drawn = pd.concat([curves, dots])
    drawn = drawn[drawn["concept"].isin(concepts)]
    top = max(1.08 * np.nanmax(drawn["predicted"]), float(np.nanquantile(drawn["high"], 0.95)), 0.02)
    panels[0].set_ylim(0, min(top, 1.02))
    # As many labels as fit, including the first and the last.
    words = [one if isinstance(one, str) else f"{one:g}" for one in ticks]
    n = int(np.clip((room - 8) / (max(map(len, words)) * 0.21 * style.SMALL + 5), 2, 5))
    at = np.unique(np.linspace(0, len(words) - 1, min(n, len(words))).round().astype(int))
    for axes in panels:
        axes.set_xticks(ticks.index[at], [words[k] for k in at], fontsize=style.SMALL)
        labels = axes.get_xticklabels()  # none above another panel
        if len(labels) > 1:
            labels[0].set_horizontalalignment("left")
            labels[-1].set_horizontalalignment("right")
    if len(styles) > 1:
        style.legend(figure, width, lines, list(styles))
    return figure


def _panels(n_panels: int, across: int, width: float, head: float, row: float) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels on one scale."""
    down = -(-n_panels // across)
    figure = style.print_figure(width, head + row * down)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    for axes in grid[n_panels:]:
        axes.set_visible(False)
    for axes in grid[max(0, n_panels - across) : n_panels]:  # the last of each column
        axes.tick_params(labelbottom=True)
    return figure, grid[:n_panels].tolist()


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
    label, is_page = Labels(model), style.is_page(width)
    clear = drawn["effect"].abs() / (drawn["high"] - drawn["low"])
    terms = clear.groupby(drawn["label"], sort=False).max()
    most = _MOST_EFFECTS if is_page and len(terms) <= 3 else 7 if is_page else 5
    chosen = label.first(clear.groupby(drawn["concept"]).max(), most)
    kept = set(terms.sort_values(ascending=False, kind="stable").index[: _MOST_TERMS if is_page else 3])
    shown, names = [term for term in terms.index if term in kept], [label(j) for j in chosen]
    across = min(len(shown), 3 if is_page else 1)
    room = style.characters(0.27 * width if across > 1 else 0.42 * width)
    row = 8 + len(chosen) * max(4.5, 2.7 * style.n_lines(names, room) + 1)
    figure, grid = _panels(len(shown), across, width, 20, row)
    for axes, term in zip(grid, shown):
        own = drawn[drawn["label"] == term].set_index("concept").loc[chosen]
        is_same = np.allclose(own["effect"], own["unadjusted"], equal_nan=True)
        series = [("effect", "", "o", -0.15, style.PALETTE[0], style.PALETTE[0], "adjusted for the other columns")]
        if not is_same and own["unadjusted"].notna().any():
            series += [("unadjusted", "unadjusted_", "s", 0.15, style.PALETTE[1], "white", "this column alone")]
        for middle, ends, marker, shift, color, face, name in series:
            at = np.arange(len(own)) + (0 if is_same else shift)
            axes.hlines(at, 100 * own[f"{ends}low"], 100 * own[f"{ends}high"], color=color, linewidth=1.0)
            axes.plot(100 * own[middle], at, marker, color=color, markerfacecolor=face, markersize=3, label=name)
        axes.axvline(0, color=style.INK, linewidth=0.6, zorder=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        style.bare(axes, style.TEXT, "x")
        style.panel_title(axes, term, (width * (0.7 if across > 1 else 0.55)) / across)
    for axes in grid[::across]:
        style.row_labels(axes, range(len(chosen)), names, room)
    grid[0].set_ylim(len(chosen) - 0.5, -0.5)
    some = f"; {len(shown)} of {len(terms)} terms" if len(shown) < len(terms) else ""
    style.caption(figure, f"effect on {of} in percentage points, with 95% interval{some}", width, label.marked(chosen))
    style.legend(figure, width, *grid[0].get_legend_handles_labels())
    return figure


def predicted_values(
    model: ConceptModel, table: pd.DataFrame, of: str = "prevalence", width: float = style.PAGE
) -> Figure:
    """Draw predicted values with intervals: dots by group, curves over numbers.

    `table` is that of `model.predicted`. The concepts that vary most are drawn, reliable ones first.
    """
    by, label = list(table.attrs["by"]), Labels(model)
    numeric = (name for name in by if table[name].dtype.kind in "iuf" or as_years(table[name]) is not None)
    x = next(numeric, None)
    groups = [name for name in by if name != x]
    table = table.assign(group=table[groups].astype(str).agg(", ".join, axis=1) if groups else "")
    varied = table.groupby("concept")["predicted"].std()
    description = f"predicted {of} of the concept, with 95% interval"
    if x is None:
        chosen = label.first(varied, _most_rows(table["group"].nunique(), width))
        renamed = table.rename(columns={"predicted": "prevalence"})
        return _dots(model, renamed, chosen, f"{', '.join(by)}: {description}", width)
    chosen = label.first(varied, 9 if style.is_page(width) else 6)
    years = as_years(table[x])
    table = table.assign(at=table[x].astype(float) if years is None else years)
    ticks = table[["at", x]].drop_duplicates().set_index("at")[x]
    figure = _curves(label, chosen, table, ticks, width)
    style.caption(figure, x, width, label.marked(chosen))
    style.side_label(figure, description)
    return figure


def concept_tree(model: ConceptModel, width: float = style.PAGE) -> Figure:
    """Draw the tree of concepts, coloured by theme, with a dashed line at the cut."""
    tree, label = model.tree(), Labels(model)
    n_leaves, n_themes = len(tree.concepts), len(tree.theme_names)
    if n_leaves < 2:
        raise InputError("The model has fewer than two concepts, so there is no tree to draw.")
    size, room = (style.TEXT, 80) if style.is_page(width) else (style.SMALL, style.characters(0.6 * width, style.SMALL))
    lines = style.n_lines([label(j) for j in tree.concepts], room)
    figure, axes = style.print_panel(width, 14 + (2.4 * lines + 1.2) * n_leaves)
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
    if 1 < n_themes < n_leaves:
        cut = tree.linkage[-n_themes : 2 - n_themes or None, 2].mean()
        axes.axvline(cut, color=style.PALETTE[1], linestyle="--", linewidth=0.8)
    axes.spines[["top", "left", "right"]].set_visible(False)
    description = "distance by words and documents (Ward); the tree is cut at the dashed line"
    theme = "where the colour changes, another theme begins"
    style.caption(figure, f"{description}; {theme}", width, label.marked(tree.concepts))
    return figure


def document_map(model: ConceptModel, width: float = style.PAGE) -> Figure:
    """Draw documents as points by similarity of concepts, main concepts as regions.

    The seven largest regions of reliable concepts have a colour and a marker; the others are grey and numbered.
    """
    data, label = themes.document_map(model.result_), Labels(model)
    if not data["regions"]:
        raise InputError("No document uses a concept, so there is no map to draw.")
    points = pd.DataFrame(data["points"])
    regions = sorted(data["regions"], key=lambda one: one["leftover"])
    coloured = [one["concept"] for one in regions[: style.MOST_GROUPS - 1]]
    colors, is_page = dict(zip(coloured, style.PALETTE)), style.is_page(width)
    named = regions[: _LABELLED if is_page else style.MOST_GROUPS - 1]
    figure, axes = style.print_panel(width, 0.72 * width if is_page else 1.55 * width)
    given: dict[str, Any] = {"markersize": float(np.clip(50 / np.sqrt(len(points)), 1.8, 3.6)), "markeredgewidth": 0}
    rest = points[~points["concept"].isin(coloured)]
    axes.plot(rest["x"], rest["y"], ".", color="#A8A8A8", zorder=1, **given)
    handles = []
    for (concept, color), marker in zip(colors.items(), style.MARKERS):
        own = points[points["concept"] == concept]
        handles += axes.plot(own["x"], own["y"], marker, color=color, zorder=2, **given)
    axes.set(xticks=[], yticks=[], xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.spines[:].set_color(style.GRID)
    if is_page:  # names at the sides, without overlap, with lines to the regions
        ordered = sorted(named, key=lambda one: one["x"])
        half = (len(ordered) + 1) // 2
        for ha, edge, beyond, own in (("right", -0.03, -0.015, ordered[:half]), ("left", 1.03, 0.015, ordered[half:])):
            for slot, one in enumerate(sorted(own, key=lambda one: one["y"])):
                y, color = (slot + 0.5) / len(own), colors.get(one["concept"], "#555555")
                axes.plot([edge, one["x"]], [y, one["y"]], color=color, linewidth=0.5, zorder=3)
                text = axes.text(edge + beyond, y, label(one["concept"]), color=color, fontsize=style.TEXT)
                text.set(ha=ha, va="center")
                style.write_texts([text], style.characters(0.23 * width))
    else:
        style.legend(figure, width, handles, [label(j) for j in coloured])
    for one in named:
        color = colors.get(one["concept"], "#555555" if is_page else style.INK)
        text = axes.text(one["x"], one["y"], str(one["concept"]), color=color, zorder=4, path_effects=_HALO)
        text.set(fontsize=style.TEXT, ha="center", va="center", weight="bold")
    description = "each point is a document, near those that use the same concepts; its main concept decides its colour"
    style.caption(figure, description, width, label.marked([one["concept"] for one in named]))
    return figure


def quality_map(model: ConceptModel, width: float = style.PAGE) -> Figure:
    """Draw concepts by coherence and exclusivity, sized by prevalence.

    Hollow points are concepts that are not reliable.
    """
    table, label = themes.concept_quality(model.result_).dropna(subset=["coherence", "exclusivity"]), Labels(model)
    if table.empty:
        raise InputError("The model has no concepts, so there is nothing to draw.")
    is_page = style.is_page(width)
    figure, axes = style.print_panel(width, 0.7 * width if is_page else 1.1 * width)
    blue = style.PALETTE[0]
    looks: dict[bool, dict[str, Any]] = {False: {"marker": "o", "facecolors": blue, "edgecolors": blue, "alpha": 0.6}}
    looks[True] = {"marker": "s", "facecolors": "none", "edgecolors": style.FAINT, "alpha": 1.0}
    for doubtful, own in table.groupby("leftover"):
        size = 8 + 160 * own["prevalence"]
        axes.scatter(own["coherence"], own["exclusivity"], s=size, linewidths=0.8, **looks[bool(doubtful)])
    axes.margins(0.12)
    axes.xaxis.set_major_locator(MaxNLocator(7 if is_page else 4))
    style.axis_labels(axes, "coherence (mean NPMI of the top words)", "exclusivity (mean share of the top words' uses)")
    style.bare(axes, style.TEXT)
    area = f"area: share of {row_name(model.corpus_)} that use the concept"
    style.caption(figure, area, width, label.marked(table["concept"].tolist()))
    # Points are named where there is space, by reliability and prevalence; others have their number.
    figure.canvas.draw()
    frame, room = axes.get_window_extent(), 0.24 * width if is_page else 0.3 * width
    places = axes.transData.transform(table[["coherence", "exclusivity"]].to_numpy(float))
    taken = [Bbox.from_extents(x, y, x, y).padded(0.012 * frame.width) for x, y in places]
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
    return figure


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
