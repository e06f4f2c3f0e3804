"""One self-contained page about a model: what was read, how it was sampled, and every concept."""

from __future__ import annotations

import warnings
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.corpus.corpus import n_sources, row_name
from superwords.errors import InputError
from superwords.files import write_whole
from superwords.fitting.estimator import ConceptModel
from superwords.plots.model_plots import chain_traces, group_prevalence
from superwords.web.catalog import Catalog
from superwords.web.cloud_pictures import cloud_svg
from superwords.web.page import whole_page
from superwords.web.report_relations import effects_part, picture, themes_part, time_part

WORDS = 12
CLOUD_WORDS = 25
PASSAGES = 3
_LEFTOVER = "Only a handful of {} hold it: perhaps a leftover."
COHERENCE_TOLD = (
    "Coherence is how much its ten first words occur in the same {} (NPMI: 1 always, 0 as by chance)."
)
STABILITY_TOLD = (
    "Stability is how surely another chain finds it: the share of the other chains' draws that do."
)
# In the words of `superwords fit --help`.
PRIORS = {
    "alpha_omega": "How readily new concepts are born (α_ω)",
    "b1": "Concentration of concepts in documents (b₁)",
    "b2": "Concentration of words in concepts (b₂)",
    "lam": "Prior share of words in a concept (λ)",
    "theta": "Importance of words (θ)",
    "alpha_pi": "Evenness of a document's weights (α_π)",
    "K": "Precision of concepts' features (K)",
    "alpha_sigma": "Shape of the features' noise (α_σ)",
    "beta_sigma": "Scale of the features' noise (β_σ)",
}


def write_report(
    model: ConceptModel,
    path: str | Path,
    column: str | None = None,
    title: str = "Concepts",
    over_time: str | None = None,
    effects: str | None = None,
) -> Path:
    """Write the report to one HTML file, whole or not at all."""
    out = Path(path)
    page = report_page(model, column, title, over_time, effects)
    try:
        write_whole(out, page.encode("utf-8"))
    except OSError as error:
        raise InputError(
            f"The report {str(out)!r} could not be written: {error.strerror or error}."
        ) from None
    return out


def report_page(
    model: ConceptModel,
    column: str | None = None,
    title: str = "Concepts",
    over_time: str | None = None,
    effects: str | None = None,
) -> str:
    """The page; `column` divides the documents into groups, the first fitting one if it is None.

    `over_time` is a column of dates, years or numbers (the first of dates or years if None), `effects` a formula.
    """
    catalog = Catalog(model)
    known = list(catalog.group_columns)
    if column is not None and column not in known:
        have = f"give one of {', '.join(map(repr, known))}" if known else "no column does"
        raise InputError(f"The column {column!r} does not divide the documents into a few groups; {have}.")
    column = column or (known[0] if known else None)
    body = [
        f"<h1>{escape(title)}</h1>",
        _corpus_facts(catalog),
        _convergence(catalog),
        _settings(model),
        _group_chart(catalog, column),
        _concept_table(catalog),
        time_part(model, over_time),
        effects_part(model, effects),
        themes_part(model),
        "<h2>Every concept</h2>",
        *(_concept(catalog, concept, column) for concept in model.result_.shown),
    ]
    text = "\n".join(part for part in body if part)
    skip = '<a class="skip" href="#concepts">Skip to the concepts</a>'
    return whole_page(title, f"{skip}\n<main>\n{text}\n</main>", "report.js")


def _facts(rows: list[tuple[str, str]]) -> str:
    inside = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in rows)
    return f'<dl class="facts">{inside}</dl>'


def _corpus_facts(catalog: Catalog) -> str:
    from superwords import __version__

    corpus, model = catalog.corpus, catalog.model
    rows = [
        (catalog.rows.capitalize(), f"{corpus.n_documents:,}"),
        *([] if corpus.parent is None else [("Documents", f"{n_sources(corpus):,}")]),
        ("Words", f"{corpus.n_words:,}"),
        ("Tokens", f"{corpus.n_tokens:,}"),
        ("Concepts", f"{len(model.result_.shown):,}"),
    ]
    empty = corpus.notes.get("empty_documents") or []
    if empty:
        rows.append((f"{catalog.rows.capitalize()} without a word", f"{len(empty):,}"))
    if "min_df" in corpus.notes:
        least = f"{corpus.notes['min_df']} {corpus.notes.get('min_df_counts', 'documents')}"
        why = corpus.notes.get("min_df_chosen")
        rows.append(("A word is in at least", f"{least} ({why})" if why else least))
    return f'{_facts(rows)}<p class="quiet">Made by superwords {escape(__version__)}.</p>'


def _convergence(catalog: Catalog) -> str:
    table = catalog.convergence().rows
    rows = "".join(
        f'<tr><th scope="row">{escape(row["quantity"])}</th>'
        + "".join(f'<td class="number">{_decimal(row[name])}</td>' for name in ("rhat", "ess", "mcse"))
        + "</tr>"
        for row in table.to_dict("records")
    )
    return (
        "<h2>Convergence</h2>"
        f'<p class="verdict">{escape(catalog.model.verdict())}</p>'
        "<p>R-hat compares the chains (1 is best); the effective sample size says how many independent draws "
        "they are worth; the Monte-Carlo error is that of the mean.</p>"
        '<div class="scroll"><table><thead><tr><th scope="col">Quantity</th><th scope="col">R-hat</th>'
        '<th scope="col">Effective sample size</th><th scope="col">Monte-Carlo error</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        + picture(chain_traces(catalog.model), "Each traced quantity by draw, a line for each chain")
    )


def _decimal(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _settings(model: ConceptModel) -> str:
    schedule = model.schedule_
    starts = [model.init] if isinstance(model.init, str) else list(dict.fromkeys(model.init))
    rows = [
        ("What a row is", _unit(model)),
        ("What is known of the words", _features(model)),
        ("Chains run side by side", str(len(model.chains_))),
        ("Sweeps of each chain", f"{schedule.n_sweeps:,}"),
        ("Sweeps before the first kept draw", f"{schedule.n_burn_in:,}"),
        ("Keep one draw in", str(schedule.thin)),
        ("Where to start", ", ".join(map(str, starts))),
        ("Steps of the sampler", str(model.steps)),
        ("Seed", str(model.seed_)),
        *((meaning, _prior_value(model, name)) for name, meaning in PRIORS.items()),
    ]
    return f"<h2>Settings</h2>{_facts(rows)}"


def _unit(model: ConceptModel) -> str:
    corpus = model.corpus_
    unit = (corpus.notes.get("recipe") or {}).get("unit")
    return str(unit) if unit else row_name(corpus).removesuffix("s")


def _features(model: ConceptModel) -> str:
    data = model.chains_[0].model.data
    n_features = data.Y.shape[1]
    if n_features == 0:
        return "nothing (no features)"
    return f"{n_features:,} features of {int(data.known.sum()):,} of the {len(data.known):,} words"


def _prior_value(model: ConceptModel, name: str) -> str:
    """The value that the chains used, and who chose it."""
    given, prior = getattr(model, name), model.chains_[0].model.prior
    if isinstance(given, str) and given == "sample":
        return "sampled"
    if name == "theta":
        return "uniform" if given is None else given if isinstance(given, str) else "given"
    low, high = float(np.min(getattr(prior, name))), float(np.max(getattr(prior, name)))
    value = _decimal(low) if low == high else f"{_decimal(low)} to {_decimal(high)}"
    return f"{value} (chosen by the program)" if given is None or isinstance(given, str) else value


def _group_chart(catalog: Catalog, column: str | None) -> str:
    if column is None or catalog.model.n_concepts_ == 0:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = group_prevalence(catalog.model, catalog.column(column))
    label = f"Prevalence of concepts by {column} with intervals; each concept's section below has the numbers"
    return f"<h2>Groups: {escape(column)}</h2>{picture(figure, label)}"


def _share(value: Any, low: Any = None, high: Any = None) -> str:
    if value is None or pd.isna(value):
        return "–"
    if low is None or pd.isna(low):
        return f"{100 * value:.3g}%"
    return f"{100 * value:.3g}% ({100 * low:.3g}% to {100 * high:.3g}%)"


def _concept_table(catalog: Catalog) -> str:
    is_cut = catalog.corpus.parent is not None
    heads = ["Concept", "Prevalence", "Strength", "Words", "Coherence", "Stability", "Most telling words"]
    told = ""
    if is_cut:
        heads.insert(3, "Documents")
        told = " Documents hold it in any passage."
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    known = catalog.concepts().rows.sort_values("concept")
    rows = "".join(_concept_row(row, is_cut) for row in known.to_dict("records"))
    legend = f"<p>* {_LEFTOVER.format(catalog.rows)}</p>" if known["leftover"].any() else ""
    return (
        '<h2 id="concepts">Concepts</h2>'
        f"<p>Prevalence is the share of {catalog.rows} that hold a concept, strength its mean weight where it is "
        "held; both are means over the draws that find it, with 95% intervals in brackets. "
        f"Words counts those that a draw uses for it, in the mean. {COHERENCE_TOLD.format(catalog.rows)} "
        f"{STABILITY_TOLD}{told}</p>{legend}"
        '<div class="filter" hidden><label for="filter">Filter concepts</label>'
        '<input id="filter" type="search" autocomplete="off"><span id="told" role="status"></span></div>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of concepts">'
        f'<table id="concept-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _concept_row(row: dict[Any, Any], is_cut: bool) -> str:
    cells = [
        _interval_cell(row, "prevalence"),
        _interval_cell(row, "strength"),
        (row["documents"], _whole(row["documents"])),
        (row["n_words"], _whole(row["n_words"])),
        (row["coherence"], "–" if pd.isna(row["coherence"]) else f"{row['coherence']:.2f}"),
        (row["stability"], _share(row["stability"])),
    ]
    if not is_cut:
        del cells[2]
    numbers = "".join(
        f'<td class="number" data-value="{0 if pd.isna(value) else float(value):.6g}">{text}</td>'
        for value, text in cells
    )
    link = f'<a href="#concept-{row["concept"]}">{row["concept"]}. {escape(row["name"])}</a>'
    mark = " *" if row["leftover"] else ""
    words = escape(", ".join(row["top_words"]))
    return f'<tr><th scope="row">{link}{mark}</th>{numbers}<td>{words}</td></tr>'


def _interval_cell(row: dict[Any, Any], name: str) -> tuple[float, str]:
    return row[name], _share(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _whole(mean: float | None) -> str:
    return "–" if mean is None or pd.isna(mean) else f"{mean:,.0f}"


def _concept(catalog: Catalog, concept: int, column: str | None) -> str:
    known = catalog.concept(concept)
    name = f"{concept}. {known['name']}"
    label = f"Word cloud of concept {concept}; the table beside it has the words"
    return (
        f'<section class="concept" id="concept-{concept}" aria-labelledby="name-{concept}">'
        f'<h3 id="name-{concept}">{escape(name)}</h3><p>{_held(catalog, known)}</p>'
        f'<div class="beside">{cloud_svg(catalog.scores(concept), label, CLOUD_WORDS)}{_words(catalog, concept)}</div>'
        f"{_groups(catalog, concept, column)}{_passages(catalog, concept)}</section>"
    )


def _held(catalog: Catalog, known: dict[str, Any]) -> str:
    """Where a concept is held, and how far it can be relied on."""
    corpus = catalog.corpus
    said = f"Held by {_whole(known['rows'])} of {corpus.n_documents:,} {catalog.rows}"
    if corpus.parent is not None:
        said += f", in {_whole(known['documents'])} of {n_sources(corpus):,} documents"
    said += f"; found by {known['found_by']} of {len(known['stability_by_chain'])} chains."
    if known["much_like"] is not None:
        said += f" Much like {known['much_like']}."
    return f"{said} {_LEFTOVER.format(catalog.rows)}" if known["leftover"] else said


def _words(catalog: Catalog, concept: int) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(str(row.word))}</th><td class="number">{_share(row.probability)}</td>'
        f'<td class="number">{_share(row.share_used, row.used_low, row.used_high)}</td></tr>'
        for row in catalog.words_of(concept).head(WORDS).itertuples()
    )
    return (
        '<table><thead><tr><th scope="col">Word</th><th scope="col">P(in concept)</th>'
        f'<th scope="col">{catalog.rows.capitalize()} that use it</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _groups(catalog: Catalog, concept: int, column: str | None) -> str:
    if column is None:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(row["group"])}</th>'
        f'<td class="number">{_share(row["prevalence"], row["prevalence_low"], row["prevalence_high"])}</td>'
        f"<td>{escape(', '.join(row['top_words'] or []))}</td></tr>"
        for row in catalog.concept_groups(concept, column).rows.to_dict("records")
    )
    return (
        f'<table><thead><tr><th scope="col">{escape(column)}</th><th scope="col">Prevalence</th>'
        f'<th scope="col">Words</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _passages(catalog: Catalog, concept: int) -> str:
    if catalog.corpus.texts is None:
        return ""
    quotes = "".join(
        f"<blockquote><p>{escape(catalog.passage(row['row'], concept))}</p>"
        f'<p class="quiet">{escape(_source(row))}, weight {_share(row["weight"])}</p></blockquote>'
        for row in catalog.holders(concept).head(PASSAGES).to_dict("records")
    )
    return f"<h4>Passages</h4>{quotes}" if quotes else ""


def _source(row: dict[Any, Any]) -> str:
    """A document's id, with its title and groups if there are any."""
    labels = [row[key] for key in row if str(key).startswith("label ") and row[key] is not None]
    return f"{row['document']} ({', '.join(labels)})" if labels else str(row["document"])
