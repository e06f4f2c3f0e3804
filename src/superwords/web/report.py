"""The report: one self-contained page with a model's concepts, groups and sampling."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from superwords.errors import InputError
from superwords.files import write_atomic
from superwords.fitting.estimator import ConceptModel
from superwords.text.corpus import n_sources
from superwords.web.catalog import Catalog
from superwords.web.cloud_pictures import cloud_svg
from superwords.web.page import share, table_html, whole_page
from superwords.web.report_groups import chosen_columns, concept_groups, groups_part
from superwords.web.report_relations import effects_part, reading_part, themes_part, time_part
from superwords.web.report_sampling import facts_list, sampling_part

WORDS = 12
CLOUD_WORDS = 25
PASSAGES = 3
_LEFTOVER = "Do not rely on it: a handful of {}, a single word, or seldom found again in fits to samples."
COHERENCE_TEXT = (
    "Coherence is how often its ten first words occur in the same {} (1: always, 0: as often as by chance)."
)
AGAIN_TEXT = "Found again counts the fits to samples of the documents that find it too."
STABILITY_TEXT = (
    "Stability is how surely another chain finds it: the share of the other chains' draws that do."
)


def write_report(
    model: ConceptModel,
    path: str | Path,
    groups: str | Sequence[str] | None = None,
    title: str = "Concepts",
    over_time: str | None = None,
    effects: str | None = None,
    corpus: str | None = None,
) -> Path:
    """Write the report to one HTML file, whole or not at all."""
    out = Path(path)
    page = report_page(model, groups, title, over_time, effects, corpus)
    try:
        write_atomic(out, page.encode("utf-8"))
    except OSError as error:
        raise InputError(
            f"The report {str(out)!r} could not be written: {error.strerror or error}."
        ) from None
    return out


def report_page(
    model: ConceptModel,
    groups: str | Sequence[str] | None = None,
    title: str = "Concepts",
    over_time: str | None = None,
    effects: str | None = None,
    corpus: str | None = None,
) -> str:
    """Return the page; `groups` are columns that divide the documents, those of the fit (or else the first) if None.

    `over_time` is a column of dates, years or numbers (the first of dates or years if None), `effects` a formula,
    `corpus` the name of what was read.
    """
    catalog = Catalog(model)
    columns = chosen_columns(catalog, groups)
    body = [
        f"<h1>{escape(title)}</h1>",
        _corpus_facts(catalog, corpus),
        f'<p class="verdict">{escape(str(model.verdict()))} <a href="#sampling">How it was sampled</a></p>',
        _concept_table(catalog),
        *(groups_part(catalog, column) for column in columns),
        time_part(model, over_time),
        effects_part(model, effects),
        themes_part(model),
        reading_part(model),
        "<h2>Every concept</h2>",
        *(_concept(catalog, concept, columns) for concept in model.result_.shown),
        sampling_part(catalog),
    ]
    text = "\n".join(part for part in body if part)
    skip = '<a class="skip" href="#concepts">Skip to the concepts</a>'
    return whole_page(title, f"{skip}\n<main>\n{text}\n</main>", "report.js")


def _corpus_facts(catalog: Catalog, name: str | None) -> str:
    from superwords import __version__

    corpus, model = catalog.corpus, catalog.model
    rows = [
        *([] if name is None else [("Corpus", name)]),
        *_period(catalog),
        (catalog.rows.capitalize(), f"{corpus.n_documents:,}"),
        *([] if corpus.parent is None else [("Documents", f"{n_sources(corpus):,}")]),
        ("Different words", f"{corpus.n_words:,}"),
        ("Words in all", f"{corpus.n_tokens:,}"),
        ("Concepts", f"{len(model.result_.shown):,}"),
    ]
    empty = corpus.notes.get("empty_documents") or []
    if empty:
        rows.append((f"{catalog.rows.capitalize()} without any of these words", f"{len(empty):,}"))
    made = f"Made on {date.today():%d %B %Y} by superwords {__version__}."
    return f'{facts_list(rows)}<p class="quiet">{escape(made)}</p>'


def _period(catalog: Catalog) -> list[tuple[str, str]]:
    """Return the first and last date of the documents, if a column has dates or years."""
    for name in catalog.time_columns[:1]:
        values = catalog.corpus.metadata[name].dropna()
        if len(values):
            return [(f"From {name}", str(values.min())), (f"To {name}", str(values.max()))]
    return []


def _concept_table(catalog: Catalog) -> str:
    is_cut = catalog.corpus.parent is not None
    again, reliability = ("Found again", AGAIN_TEXT) if catalog.n_pilots else ("Stability", STABILITY_TEXT)
    heads = ["Concept", "Prevalence", "Strength", "Words", "Coherence", again]
    note = ""
    if is_cut:
        heads.insert(3, "Documents")
        note = " Documents counts those that use it in at least one passage."
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    head = head.replace('scope="col">Prevalence', 'scope="col" aria-sort="descending">Prevalence')
    known = catalog.concepts().rows
    rows = "".join(_concept_row(row, heads) for row in known.to_dict("records"))
    legend = f"<p>* {_LEFTOVER.format(catalog.rows)}</p>" if known["leftover"].any() else ""
    return (
        '<h2 id="concepts">Concepts</h2>'
        "<p>A concept is a set of words that are used together; each has its most characteristic words, the most "
        "prevalent first. A concept's number is a label, the same in every table, not a rank. "
        f"Prevalence is the share of all {catalog.rows} that use it, strength its mean weight in those that do; both "
        "are means over the draws that find it, with 95% intervals in brackets. Words is how many words a draw uses "
        f"for it, on average. {COHERENCE_TEXT.format(catalog.rows)} {reliability}{note}</p>{legend}"
        '<div class="filter" hidden><label for="filter">Filter concepts</label>'
        '<input id="filter" type="search" autocomplete="off"><span id="status" role="status"></span></div>'
        f'<table id="concept-table" class="cards"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    )


def _concept_row(row: dict[Any, Any], heads: list[str]) -> str:
    cells = {
        "Prevalence": _interval_cell(row, "prevalence"),
        "Strength": _interval_cell(row, "strength"),
        "Documents": (row["documents"], _whole(row["documents"])),
        "Words": (row["n_words"], _whole(row["n_words"])),
        "Coherence": (row["coherence"], "–" if pd.isna(row["coherence"]) else f"{row['coherence']:.2f}"),
        "Stability": (row["stability"], share(row["stability"])),
        "Found again": (row["found_again"], f"{row['found_again']:.0f} of {row['n_pilots']}"),
    }
    numbers = "".join(
        f'<td class="number" data-label="{head}" data-value="{0 if pd.isna(value) else float(value):.6g}">{text}</td>'
        for head, (value, text) in cells.items()
        if head in heads
    )
    link = f'<a href="#concept-{row["concept"]}">{row["concept"]}. {escape(row["name"])}</a>'
    mark = " *" if row["leftover"] else ""
    words = escape(", ".join(row["top_words"]))
    return f'<tr><th scope="row">{link}{mark} <span class="words">{words}</span></th>{numbers}</tr>'


def _interval_cell(row: dict[Any, Any], name: str) -> tuple[float, str]:
    return row[name], share(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _whole(mean: float | None) -> str:
    return "–" if mean is None or pd.isna(mean) else f"{mean:,.0f}"


def _concept(catalog: Catalog, concept: int, columns: list[str]) -> str:
    known = catalog.concept(concept)
    name = f"{concept}. {known['name']}"
    by_group = "".join(concept_groups(catalog, concept, column) for column in columns)
    words = table_html(catalog.concept_words(concept), "word", "probability", "share_used", most=WORDS)
    label = f"Word cloud of concept {concept}; the table beside it has the words"
    return (
        f'<section class="concept" id="concept-{concept}" aria-labelledby="name-{concept}">'
        f'<h3 id="name-{concept}">{escape(name)}</h3><p>{_usage(catalog, known)}</p>'
        f'<div class="beside">{cloud_svg(catalog.scores(concept), label, CLOUD_WORDS)}{words}</div>'
        f"{by_group}{_passages(catalog, concept)}</section>"
    )


def _usage(catalog: Catalog, known: dict[str, Any]) -> str:
    """Return how many documents use a concept, and how reliable it is."""
    corpus = catalog.corpus
    line = f"Used by {_whole(known['rows'])} of {corpus.n_documents:,} {catalog.rows}"
    if corpus.parent is not None:
        line += f", in {_whole(known['documents'])} of {n_sources(corpus):,} documents"
    line += f"; found by {known['found_by']} of {len(known['stability_by_chain'])} chains."
    if known["much_like"] is not None:
        line += f" Much like {known['much_like']}."
    return f"{line} {_LEFTOVER.format(catalog.rows)}" if known["leftover"] else line


def _passages(catalog: Catalog, concept: int) -> str:
    if catalog.corpus.texts is None:
        return ""
    quotes = "".join(
        f"<blockquote><p>{escape(catalog.passage(row['row'], concept))}</p>"
        f'<p class="quiet">{escape(_source(row))}, weight {share(row["weight"])}</p></blockquote>'
        for row in catalog.holders(concept).head(PASSAGES).to_dict("records")
    )
    return f"<h4>Passages</h4>{quotes}" if quotes else ""


def _source(row: dict[Any, Any]) -> str:
    """Return what a document or passage is called, with its groups if there are any."""
    labels = [row[key] for key in row if str(key).startswith("label ") and row[key] is not None]
    return f"{row['label']} ({', '.join(labels)})" if labels else str(row["label"])
