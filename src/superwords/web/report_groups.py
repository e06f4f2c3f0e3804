"""The report's sections on groups: prevalence of concepts, and words, by group."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from html import escape

from superwords.errors import InputError
from superwords.plots.relation_plots import group_prevalence
from superwords.web.catalog import Catalog
from superwords.web.page import concept_link, figure_numbers, share, table_html
from superwords.web.report_relations import picture

_DIFFERENCES = 20


def chosen_columns(catalog: Catalog, asked: str | Sequence[str] | None) -> list[str]:
    """Return the given columns; by default those of the fit, or the first that divides the documents."""
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
    """Return a chart of the groups, and a table of differences for two groups."""
    if catalog.model.n_concepts_ == 0:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = group_prevalence(catalog.model, catalog.column(column))
    label = f"Prevalence of concepts by {column} with intervals; each concept's section below has the numbers"
    return (
        f"<h2>Who speaks of what: {escape(column)}</h2><p>{escape(_sizes(catalog, column))}</p>"
        f"{_differences(catalog, column)}{picture(figure, label)}{_prevalences(catalog, column)}"
    )


def _prevalences(catalog: Catalog, column: str) -> str:
    """Return the prevalence of every concept in every group: the numbers of the figure."""
    table = catalog.by_group(catalog.column(column))
    wide = table.set_index(["concept", "group"])[["prevalence", "prevalence_low", "prevalence_high"]]
    groups = list(dict.fromkeys(table["group"]))
    rows = (
        [concept_link({"concept": j, "name": catalog.names[j - 1]})]
        + [share(*wide.loc[(j, group)]) if (j, group) in wide.index else "–" for group in groups]
        for j in catalog.model.result_.shown
    )
    return figure_numbers(("Concept", *map(str, groups)), rows)


def _sizes(catalog: Catalog, column: str) -> str:
    """Return the sizes of the groups, and how many documents or passages have none."""
    sizes = catalog.by_group(catalog.column(column)).drop_duplicates("group").set_index("group")["n_rows"]
    counts = ", ".join(f"{label} {size:,}" for label, size in sizes.items())
    missing = catalog.corpus.n_documents - int(sizes.sum())
    without = f" {missing:,} {catalog.rows} without a {column} are left out." if missing else ""
    return f"{catalog.rows.capitalize()} by {column}: {counts}.{without}"


def _differences(catalog: Catalog, column: str) -> str:
    labels = sorted(catalog.group_columns[column])
    if len(labels) != 2:
        return ""
    first, second = labels
    table = catalog.group_differences(column, first, second)
    return (
        f"<p>The largest differences: the share of each group's {catalog.rows} that use a concept, and "
        f"{escape(first)} − {escape(second)} in percentage points with a 95% interval.</p>"
        + table_html(table, "name", "one", "other", "difference", most=_DIFFERENCES)
    )


def concept_groups(catalog: Catalog, concept: int, column: str) -> str:
    """Return one concept's prevalence and words in each group."""
    return table_html(catalog.concept_groups(concept, column), "group", "prevalence", "top_words")
