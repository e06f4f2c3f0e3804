"""The report's parts on time, themes and effects."""

from __future__ import annotations

import base64
import warnings
from html import escape
from typing import Any

import pandas as pd

from superwords.concepts.dates import time_columns
from superwords.corpus.corpus import row_name
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.plots.figures import figure_bytes
from superwords.plots.relation_plots import concept_tree, effect_intervals, small_multiples
from superwords.tabular import points
from superwords.web.page import html_table

_RISING = 8
_SURE = 0.9


def picture(figure: Any, label: str) -> str:
    """A figure inside the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = base64.b64encode(figure_bytes(figure, "png", dpi=110)).decode("ascii")
    return f'<p><img class="chart" alt="{escape(label)}" src="data:image/png;base64,{data}"></p>'


def time_part(model: ConceptModel, column: Any = None) -> str:
    """What rises and falls, as a table and as small pictures; nothing where no column is one of time."""
    known = time_columns(model.corpus_.metadata)
    if column is None and not known:
        return ""
    column = known[0] if column is None else column
    try:
        told = model.trends(column)
    except InputError:
        if column in known:  # all documents of one period: nothing to tell
            return ""
        raise
    if told.empty:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = small_multiples(model, column)
    first, last = told["first"].iloc[0], told["last"].iloc[0]
    sure = told[(told["probability_rises"] - 0.5).abs() >= _SURE - 0.5]
    rising = sure[sure["change"] > 0].head(_RISING)
    falling = sure[sure["change"] < 0].iloc[::-1].head(_RISING)
    rows = row_name(model.corpus_)
    return (
        f'<h2 id="time">Over time: {escape(str(column))}</h2>'
        f"<p>From {escape(first)} to {escape(last)}. Change is how far a straight line through the shares of "
        f"{rows} that hold a concept rises or falls from the first period to the last, in percentage points with a 95% "
        "interval.</p>"
        f"{_changes('What rises', rising)}{_changes('What falls', falling)}"
        + picture(
            figure,
            f"Share of {rows} that hold a concept by {column}, with intervals; × is a period without any",
        )
    )


def _changes(title: str, table: pd.DataFrame) -> str:
    if table.empty:
        return f"<p>{title}: no concept of which that is at least {_SURE:.0%} sure.</p>"
    rows = "".join(
        f'<tr><th scope="row">{concept_link(one)}</th>'
        f'<td class="number">{points(one["change"])} ({points(one["low"])} to {points(one["high"])})</td>'
        f'<td class="number">{max(one["probability_rises"], 1 - one["probability_rises"]):.0%}</td></tr>'
        for one in table.to_dict("records")
    )
    return html_table((title, "Change", "How sure"), rows)


def concept_link(one: dict[Any, Any]) -> str:
    return f'<a href="#concept-{one["concept"]}">{one["concept"]}. {escape(one["name"])}</a>'


def themes_part(model: ConceptModel) -> str:
    """Themes that people made, or those of the tree, and the tree."""
    if len(model.result_.shown) < 2:
        return ""
    table = model.themes()
    told = (
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
        f'<h2 id="themes">Themes</h2><p>{told} Held by: the share of {row_name(model.corpus_)} that hold any '
        "concept of the theme, mean over the draws that find all of them, with a 95% interval.</p>"
        + html_table(("Theme", "Held by", "Concepts"), rows)
        + picture(
            concept_tree(model),
            "Tree of the concepts by shared words and documents; the table has the themes",
        )
    )


def _members(theme: dict[Any, Any]) -> str:
    known = zip(theme["concepts"], theme["names"])
    return "; ".join(concept_link({"concept": j, "name": name}) for j, name in known)


def effects_part(model: ConceptModel, formula: str | None) -> str:
    """Effects of columns, where a formula was given."""
    if formula is None:
        return ""
    table = model.effects(formula)
    return (
        f'<h2 id="effects">Effects: {escape(formula)}</h2><p>What each column adds to the share of '
        f"{row_name(model.corpus_)} that hold a concept, in percentage points with 95% intervals: the other columns "
        "held fixed (filled), and the column alone (hollow). Documents are the cases. The concepts with the surest "
        "effects are shown.</p>"
        + picture(effect_intervals(model, table), f"Effects of {formula} on the prevalence of concepts")
    )
