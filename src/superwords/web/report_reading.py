"""The report's part for readers: the documents that together cover what a collection speaks of."""

from __future__ import annotations

from html import escape
from typing import Any

from superwords.corpus.corpus import n_sources
from superwords.fitting.estimator import ConceptModel
from superwords.web.page import html_table
from superwords.web.report_relations import concept_link

DOCUMENTS = 10


def reading_part(model: ConceptModel) -> str:
    """Ten documents by `diverse`; nothing where there are no more than that, or no concepts."""
    if not model.result_.shown or n_sources(model.corpus_) <= DOCUMENTS:
        return ""
    rows = "".join(_row(one) for one in model.diverse(DOCUMENTS).to_dict("records"))
    return (
        f'<h2 id="reading">What to read first</h2><p>{DOCUMENTS} documents that together speak of as much as '
        "possible: each is the one that adds most to those above it. Covered is the share of the collection’s concepts "
        "that a reader has met by then, each concept counting by its share of the text.</p>"
        + html_table(("Document", "Adds most of", "Covered so far"), rows)
    )


def _row(one: dict[Any, Any]) -> str:
    known = zip(one["concepts"], one["concept_names"])
    links = "; ".join(concept_link({"concept": j, "name": name}) for j, name in known)
    document, title = str(one["document"]), str(one["title"])
    label = escape(title) if title == document else f"{escape(document)}<br>{escape(title)}"
    return (
        f'<tr><th scope="row">{label}</th><td>{links}</td><td class="number">{one["covered"]:.0%}</td></tr>'
    )
