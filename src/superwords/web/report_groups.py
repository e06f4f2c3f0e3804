"""The report's parts on groups: who speaks of which concept, and with which words."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from superwords.errors import InputError
from superwords.plots.model_plots import group_prevalence
from superwords.tabular import points
from superwords.web.catalog import Catalog
from superwords.web.page import html_table
from superwords.web.report_relations import concept_link, picture

_DIFFERENCES = 20


def chosen_columns(catalog: Catalog, asked: str | Sequence[str] | None) -> list[str]:
    """The columns that are asked for; if none is, those of the fit, or else the first that divides the documents."""
    known = list(catalog.group_columns)
    if asked:
        columns = [asked] if isinstance(asked, str) else list(dict.fromkeys(asked))
        for column in columns:
            if column not in known:
                have = f"give one of {', '.join(map(repr, known))}" if known else "no column does"
                raise InputError(
                    f"The column {column!r} does not divide the documents into a few groups; {have}."
                )
        return columns
    fitted = [str(name) for name in catalog.corpus.notes.get("groups") or [] if str(name) in known]
    return fitted or known[:1]


def groups_part(catalog: Catalog, column: str) -> str:
    """The groups beside each other: a chart, and of two groups a table of differences."""
    if catalog.model.n_concepts_ == 0:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = group_prevalence(catalog.model, catalog.column(column))
    label = f"Prevalence of concepts by {column} with intervals; each concept's section below has the numbers"
    return (
        f"<h2>Who speaks of what: {escape(column)}</h2><p>{escape(_sizes(catalog, column))}</p>"
        f"{_differences(catalog, column)}{picture(figure, label)}"
    )


def _sizes(catalog: Catalog, column: str) -> str:
    """How many documents or passages each group has; those without a group are left out, and counted."""
    sizes = catalog.by_group(catalog.column(column)).drop_duplicates("group").set_index("group")["n_rows"]
    told = ", ".join(f"{label} {size:,}" for label, size in sizes.items())
    missing = catalog.corpus.n_documents - int(sizes.sum())
    without = f" {missing:,} {catalog.rows} without a {column} are left out." if missing else ""
    return f"{catalog.rows.capitalize()} by {column}: {told}.{without}"


def _differences(catalog: Catalog, column: str) -> str:
    labels = sorted(catalog.group_columns[column])
    if len(labels) != 2:
        return ""
    first, second = labels
    table = catalog.group_differences(column, first, second).rows.head(_DIFFERENCES)
    rows = "".join(
        f'<tr><th scope="row">{concept_link(one)}</th><td class="number">{share(one["one"])}</td>'
        f'<td class="number">{share(one["other"])}</td><td class="number">{points(one["difference"])} '
        f'<span class="interval">({points(one["low"])} to {points(one["high"])})</span></td></tr>'
        for one in table.to_dict("records")
    )
    return (
        f"<p>The largest differences: the share of each group's {catalog.rows} that hold a concept, and "
        f"{escape(first)} − {escape(second)} in percentage points with a 95% interval.</p>"
        + html_table(("Concept", first, second, "Difference"), rows)
    )


def concept_groups(catalog: Catalog, concept: int, column: str) -> str:
    """One concept's prevalence and words in each group."""
    rows = "".join(
        f'<tr><th scope="row">{escape(row["group"])}</th>'
        f'<td class="number">{share(row["prevalence"], row["prevalence_low"], row["prevalence_high"])}</td>'
        f"<td>{escape(', '.join(row['top_words'] or []))}</td></tr>"
        for row in catalog.concept_groups(concept, column).rows.to_dict("records")
    )
    return html_table((column, "Prevalence", "Words"), rows)


def share(value: Any, low: Any = None, high: Any = None) -> str:
    """A share in percent, with its interval where there is one."""
    if value is None or pd.isna(value):
        return "–"
    if low is None or pd.isna(low):
        return _percent(value)
    return f'{_percent(value)} <span class="interval">({_percent(low)} to {_percent(high)})</span>'


def _percent(value: float) -> str:
    """With about two digits that say something, as in the explorer."""
    size = 100 * value
    if 99 < size < 100:
        return f"{min(99.9, size):.1f}%"
    if 0 < size < 0.005:
        return "<0.01%"
    return f"{size:.{0 if size >= 9.95 or size == 0 else 1 if size >= 0.95 else 2}f}%"
