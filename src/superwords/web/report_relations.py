"""The report's sections on time, themes, effects, and what to read first."""

from __future__ import annotations

import base64
import warnings
from html import escape
from typing import Any

import pandas as pd

from superwords.analysis.dates import time_columns
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.plots.relation_plots import concept_tree, effect_intervals, small_multiples
from superwords.plots.style import figure_bytes
from superwords.tabular import points
from superwords.text.corpus import n_sources, row_name
from superwords.web.page import concept_link, figure_numbers, html_table

_RISING = 8
_SURE = 0.9
_READ_FIRST = 10  # documents


def picture(figure: Any, label: str) -> str:
    """Return a figure inside the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = base64.b64encode(figure_bytes(figure, "png", dpi=110)).decode("ascii")
    return f'<p><img class="chart" alt="{escape(label)}" src="data:image/png;base64,{data}"></p>'


def time_part(model: ConceptModel, column: Any = None) -> str:
    """Return rising and falling concepts, or nothing without a time column."""
    known = time_columns(model.corpus_.metadata)
    if column is None and not known:
        return ""
    column = known[0] if column is None else column
    try:
        trends = model.trends(column)
    except InputError:
        if column in known:  # all documents are of one period
            return ""
        raise
    if trends.empty:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = small_multiples(model, column)
    first, last = trends["first"].iloc[0], trends["last"].iloc[0]
    sure = trends[(trends["probability_rises"] - 0.5).abs() >= _SURE - 0.5]
    rising = sure[sure["change"] > 0].head(_RISING)
    falling = sure[sure["change"] < 0].iloc[::-1].head(_RISING)
    rows = row_name(model.corpus_)
    return (
        f'<h2 id="time">Over time: {escape(str(column))}</h2>'
        f"<p>From {escape(first)} to {escape(last)}. Change is how far a straight line through the shares of "
        f"{rows} that use a concept rises or falls from the first period to the last, in percentage points with a 95% "
        "interval.</p>"
        f"{_changes('What rises', rising)}{_changes('What falls', falling)}"
        + picture(
            figure,
            f"Share of {rows} that use a concept by {column}, with intervals; × is a period without any",
        )
        + _by_period(model, column)
    )


def _by_period(model: ConceptModel, column: Any) -> str:
    """Return the prevalence of every concept in every period: the numbers of the figure."""
    table = model.over_time(column)
    periods = list(dict.fromkeys(table["period"]))
    known = table.set_index(["concept", "period"])["prevalence"]
    names = dict(zip(table["concept"], table["name"]))
    rows = (
        [concept_link({"concept": j, "name": names[j]})]
        + ["–" if pd.isna(known.loc[(j, one)]) else f"{known.loc[(j, one)]:.1%}" for one in periods]
        for j in names
    )
    return figure_numbers(("Concept", *map(str, periods)), rows)


def _changes(title: str, table: pd.DataFrame) -> str:
    if table.empty:
        return f"<p>{title}: no concept with a probability of at least {_SURE:.0%}.</p>"
    rows = "".join(
        f'<tr><th scope="row">{concept_link(one)}</th>'
        f'<td class="number">{points(one["change"])} ({points(one["low"])} to {points(one["high"])})</td>'
        f'<td class="number">{max(one["probability_rises"], 1 - one["probability_rises"]):.0%}</td></tr>'
        for one in table.to_dict("records")
    )
    return html_table((title, "Change", "Probability"), rows)


def themes_part(model: ConceptModel) -> str:
    """Return themes that people made, or those of the tree, and the tree."""
    if len(model.result_.shown) < 2:
        return ""
    table = model.themes()
    origin = (
        "These themes are proposed, by a tree of the words and documents that concepts share, cut where the "
        "draws agree most."
        if table["proposed"].all()
        else "These themes were made by people."
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(one["theme"])}</th>'
        f'<td class="number">{one["prevalence"]:.0%} ({one["prevalence_low"]:.0%} to {one["prevalence_high"]:.0%})</td>'
        f"<td>{_members(one)}</td></tr>"
        for one in table.to_dict("records")
    )
    return (
        f'<h2 id="themes">Themes</h2><p>{origin} Used by: the share of {row_name(model.corpus_)} that use any '
        "concept of the theme, mean over the draws that find all of them, with a 95% interval.</p>"
        + html_table(("Theme", "Used by", "Concepts"), rows)
        + picture(
            concept_tree(model),
            "Tree of the concepts by shared words and documents; the table has the themes",
        )
    )


def _members(theme: dict[Any, Any]) -> str:
    known = zip(theme["concepts"], theme["names"])
    return "; ".join(concept_link({"concept": j, "name": name}) for j, name in known)


def effects_part(model: ConceptModel, formula: str | None) -> str:
    """Return effects of columns, where a formula was given."""
    if formula is None:
        return ""
    table = model.effects(formula)
    return (
        f'<h2 id="effects">Effects: {escape(formula)}</h2><p>What each column adds to the share of '
        f"{row_name(model.corpus_)} that use a concept, in percentage points with 95% intervals: the other columns "
        "held fixed (filled), and the column alone (hollow). Documents are the cases. The concepts with the surest "
        "effects are shown.</p>"
        + picture(effect_intervals(model, table), f"Effects of {formula} on the prevalence of concepts")
        + figure_numbers(
            ("Concept", "Term", "Effect", "The column alone"),
            (
                [
                    concept_link(one),
                    escape(one["label"]),
                    _points_of(one, "effect", "low", "high"),
                    _points_of(one, "unadjusted", "unadjusted_low", "unadjusted_high"),
                ]
                for one in table.to_dict("records")
            ),
        )
    )


def _points_of(row: dict[Any, Any], *keys: str) -> str:
    value, low, high = (row[key] for key in keys)
    return "–" if pd.isna(value) else f"{points(value)} ({points(low)} to {points(high)})"


def reading_part(model: ConceptModel) -> str:
    """Return ten documents by `diverse`, or nothing for fewer documents or no concepts."""
    if not model.result_.shown or n_sources(model.corpus_) <= _READ_FIRST:
        return ""
    rows = "".join(_reading_row(one) for one in model.diverse(_READ_FIRST).to_dict("records"))
    return (
        f'<h2 id="reading">What to read first</h2><p>{_READ_FIRST} documents that together cover as much as '
        "possible: each is the one that adds most to those above it. Covered is the share of the collection’s concepts "
        "that a reader has met by then, each concept counting by its share of the text.</p>"
        + html_table(("Document", "Adds most of", "Covered so far"), rows)
    )


def _reading_row(one: dict[Any, Any]) -> str:
    known = zip(one["concepts"], one["concept_names"])
    links = "; ".join(concept_link({"concept": j, "name": name}) for j, name in known)
    document, title = str(one["document"]), str(one["title"])
    label = escape(title) if title == document else f"{escape(document)}<br>{escape(title)}"
    return (
        f'<tr><th scope="row">{label}</th><td>{links}</td><td class="number">{one["covered"]:.0%}</td></tr>'
    )
