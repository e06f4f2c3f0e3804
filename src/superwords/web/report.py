"""The report: one self-contained page with a model's concepts, groups, time, themes and sampling."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.effects import outcome
from superwords.errors import InputError
from superwords.files import write_named
from superwords.fitting.estimator import ConceptModel
from superwords.plots import model_plots
from superwords.plots.style import figure_bytes
from superwords.text.corpus import n_sources
from superwords.web import concepts, html, relations
from superwords.web.catalog import Catalog
from superwords.web.clouds import cloud_svg
from superwords.web.tables import Column, Table

WORDS = 12
CLOUD_WORDS = 25
PASSAGES = 3
READ_FIRST = 10  # documents
DIFFERENCES = 20
_LEFTOVER = "Do not rely on it: a handful of {}, a single word, or seldom found again in fits to samples."
_AGAIN = "Found again counts the fits to samples of the documents that find it too."
_STABILITY = "Stability is how surely another chain finds it: the share of the other chains' draws that do."
# In the words of `superwords fit --help`.
PRIORS = {
    "alpha_omega": "How readily new concepts appear (α_ω)",
    "b1": "Concentration of concepts in documents (b₁)",
    "b2": "Concentration of words in concepts (b₂)",
    "lam": "Prior share of words in a concept (λ)",
    "theta": "Importance of words (θ)",
    "alpha_pi": "Evenness of a document's weights (α_π)",
    "K": "Precision of concepts' features (K)",
    "alpha_sigma": "Shape of the features' noise (α_σ)",
    "beta_sigma": "Scale of the features' noise (β_σ)",
}


def write_report(model: ConceptModel, path: str | Path, *given: Any, **settings: Any) -> Path:
    """Write `report_page` to one HTML file, whole or not at all."""
    return write_named(path, report_page(model, *given, **settings), "report")


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
    report = Report(model)
    columns = report.chosen_columns(groups)
    body = [
        f"<h1>{escape(title)}</h1>",
        report.corpus_facts(corpus),
        f'<p class="verdict">{escape(str(model.verdict()))} <a href="#sampling">How it was sampled</a></p>',
        report.concepts(),
        *map(report.groups, columns),
        report.time(over_time),
        report.effects(effects),
        report.themes(),
        report.reading(),
        "<h2>Every concept</h2>",
        *(report.concept(concept, columns) for concept in model.result_.shown),
        report.sampling(),
    ]
    text = "\n".join(filter(None, body))
    skip = '<a class="skip" href="#concepts">Skip to the concepts</a>'
    return html.whole_page(title, f"{skip}\n<main>\n{text}\n</main>", "report.js")


class Report:
    """Make the sections of the report, from the tables that the explorer shows; a section without content is empty."""

    def __init__(self, model: ConceptModel) -> None:
        self.model, self.corpus, self.catalog = model, model.corpus_, Catalog(model)
        self.rows = self.catalog.rows

    def link(self, one: html.Row, words: str = "") -> str:
        """Return the name of a concept, with how reliable it is."""
        mark = self.catalog.marks[one["concept"]]
        anchor = f'<a href="#concept-{one["concept"]}">{one["concept"]}. {escape(one["name"])}</a>'
        return f"{anchor}{' *' if mark['leftover'] else ''} {words}<small>{escape(mark['text'])}</small>"

    def table(self, table: Table, *keys: str, most: int | None = None) -> str:
        """Return some columns of a table of the explorer."""
        return html.table_html(table, self.link, *keys, most=most)

    def corpus_facts(self, name: str | None) -> str:
        """Return what was read: corpus, first and last date, numbers of documents and words."""
        from superwords import __version__

        corpus = self.corpus
        rows = [] if name is None else [("Corpus", name)]
        for column in self.catalog.time_columns[:1]:
            values = corpus.metadata[column].dropna()
            if len(values):
                rows += [(f"From {column}", str(values.min())), (f"To {column}", str(values.max()))]
        rows += [
            (self.rows.capitalize(), f"{corpus.n_documents:,}"),
            *([] if corpus.parent is None else [("Documents", f"{n_sources(corpus):,}")]),
            ("Different words", f"{corpus.n_words:,}"),
            ("Words in all", f"{corpus.n_tokens:,}"),
            ("Concepts", f"{len(self.model.result_.shown):,}"),
        ]
        empty = corpus.notes.get("empty_documents") or []
        if empty:
            rows.append((f"{self.rows.capitalize()} without any of these words", f"{len(empty):,}"))
        made = f"Made on {date.today():%d %B %Y} by superwords {__version__}."
        return f'{_facts_list(rows)}<p class="quiet">{escape(made)}</p>'

    def concepts(self) -> str:
        """Return the table of all concepts, which a script can sort and filter."""
        table, explained = concepts.concepts(self.catalog), _AGAIN if self.catalog.n_pilots else _STABILITY
        own = {"documents": Column("documents", "Documents", "number")} if self.corpus.parent is not None else {}
        columns = {one.key: one for one in table.columns} | own
        if own:
            explained += " Documents counts those that use it in at least one passage."
        keys = ["prevalence", "strength", "documents", "n_words", "coherence", "found_again", "stability"]
        shown = [columns[key] for key in keys if key in columns]
        rows = ""
        for row in table.rows.to_dict("records"):
            words = f'<span class="words">{escape(", ".join(row["top_words"]))}</span>'
            cells = "".join(
                f'<td class="number" data-label="{one.label}" data-value="{np.nan_to_num(float(row[one.key])):.6g}">'
                f"{html.cell_html(one, row, self.link)}</td>"
                for one in shown
            )
            rows += f'<tr><th scope="row">{self.link(row, words)}</th>{cells}</tr>'
        legend = f"<p>* {_LEFTOVER.format(self.rows)}</p>" if table.rows["leftover"].any() else ""
        heads = ["Concept", *(one.label for one in shown)]
        whole = html.html_table(heads, rows, ' id="concept-table" class="cards"')
        return (
            '<h2 id="concepts">Concepts</h2>'
            "<p>A concept is a set of words that are used together; each has its most characteristic words, the most "
            "prevalent first. A concept's number is a label, the same in every table, not a rank. "
            f"Prevalence is the share of all {self.rows} that use it, strength its mean weight in those that do; both "
            "are means over the draws that find it, with 95% intervals in brackets. Words is how many words a draw "
            f"uses for it, on average. Coherence is how often its ten first words occur in the same {self.rows} (1: "
            f"always, 0: as often as by chance). {explained} A concept is settled if the chains agree on its "
            "prevalence and strength: those of each chain lie in the 95% intervals of the others.</p>"
            f'{legend}<div class="filter" hidden><label for="filter">Filter concepts</label>'
            '<input id="filter" type="search" autocomplete="off"><span id="status" role="status"></span></div>'
            + whole.replace('scope="col">Prevalence', 'scope="col" aria-sort="descending">Prevalence')
        )

    def chosen_columns(self, asked: str | Sequence[str] | None) -> list[str]:
        """Return the given columns; by default those of the fit, or the first that divides the documents."""
        known = list(self.catalog.group_columns)
        if not asked:
            fitted = [str(name) for name in self.corpus.notes.get("groups") or [] if str(name) in known]
            return fitted or known[:1]
        columns = [asked] if isinstance(asked, str) else list(dict.fromkeys(asked))
        for column in columns:
            if column not in known:
                have = f"give one of {', '.join(map(repr, known))}" if known else "no column does"
                raise InputError(f"The column {column!r} does not divide the documents into a few groups; {have}.")
        return columns

    def groups(self, column: str) -> str:
        """Return the sizes of the groups, a chart of them, and a table of differences if there are two."""
        if self.model.n_concepts_ == 0:
            return ""
        key = self.catalog.column(column)
        table = self.catalog.called("by_group", key, 0)
        sizes = table.drop_duplicates("group").set_index("group")["n_rows"]
        counts = ", ".join(f"{label} {size:,}" for label, size in sizes.items())
        missing = self.corpus.n_documents - int(sizes.sum())
        without = f" {missing:,} {self.rows} without a {column} are left out." if missing else ""
        labels, differences = sorted(self.catalog.group_columns[column]), ""
        if len(labels) == 2:
            first, second = labels
            differences = (
                f"<p>The largest differences: the share of each group's {self.rows} that use a concept, and "
                f"{escape(first)} − {escape(second)} in percentage points with a 95% interval.</p>"
            ) + self.table(
                concepts.group_differences(self.catalog, column, first, second),
                *("name", "one", "other", "difference"),
                most=DIFFERENCES,
            )
        label = f"Prevalence of concepts by {column} with intervals; the table below has the numbers"
        return (
            f"<h2>Who speaks of what: {escape(column)}</h2>"
            f"<p>{escape(f'{self.rows.capitalize()} by {column}: {counts}.{without}')}</p>{differences}"
            + _picture(lambda: model_plots.group_prevalence(self.model, key), label)
            + self._prevalences(table, "group")
        )

    def _prevalences(self, table: pd.DataFrame, by: str) -> str:
        """Return the prevalence of every concept in every group or period: the numbers of a figure."""
        known = table.set_index(["concept", by])[["prevalence", "prevalence_low", "prevalence_high"]]
        columns, rows = list(dict.fromkeys(table[by])), ""
        for j in self.model.result_.shown:
            shares = ((html.share(*known.loc[(j, one)]), True) for one in columns)
            rows += html.row_html((self.link({"concept": j, "name": self.catalog.names[j - 1]}), False), *shares)
        return html.figure_numbers(html.html_table(("Concept", *map(str, columns)), rows))

    def time(self, column: Any = None) -> str:
        """Return rising and falling concepts."""
        known = self.catalog.time_columns
        if column is None and not known:
            return ""
        column = known[0] if column is None else column
        try:
            trends = relations.trends(self.catalog, column)
        except InputError:
            if column in known:  # all documents are of one period
                return ""
            raise
        if trends.rows.empty:
            return ""
        first, last = trends.rows["first"].iloc[0], trends.rows["last"].iloc[0]
        label = f"Share of {self.rows} that use a concept by {column}, with intervals; × is a period without any"
        return (
            f'<h2 id="time">Over time: {escape(str(column))}</h2>'
            f"<p>From {escape(first)} to {escape(last)}. Change is how far a straight line through the shares of "
            f"{self.rows} that use a concept rises or falls from the first period to the last, in percentage points "
            "with a 95% interval.</p>"
            + self.table(trends, "name", "change", "probability_rises")
            + _picture(lambda: model_plots.small_multiples(self.model, column), label)
            + self._prevalences(self.catalog.called("over_time", column, None), "period")
        )

    def themes(self) -> str:
        """Return themes that people made, or those of the tree, and the tree."""
        if len(self.model.result_.shown) < 2:
            return ""
        table = relations.themes(self.catalog)
        origin = (
            "These themes are proposed, by a tree of the words and documents that concepts share, cut where the "
            "draws agree most."
            if table.notes["proposed"]
            else "These themes were made by people."
        )
        label = "Tree of the concepts by shared words and documents; the table has the themes"
        return (
            f'<h2 id="themes">Themes</h2><p>{origin} Prevalence is the share of {self.rows} that use any concept of '
            "the theme, mean over the draws that find all of them, with a 95% interval.</p>"
            + self.table(table, "theme", "prevalence", "names")
            + _picture(lambda: model_plots.concept_tree(self.model), label)
        )

    def effects(self, formula: str | None) -> str:
        """Return effects of columns, where a formula was given."""
        if formula is None:
            return ""
        table = relations.effect_table(self.catalog, formula)
        drawn = self.catalog.called("effects", formula, "prevalence")
        label = f"Effects of {formula} on the prevalence of concepts"
        return (
            f'<h2 id="effects">Effects: {escape(formula)}</h2><p>What each column adds to '
            f"{outcome(self.rows)}, in percentage points with 95% intervals: the other columns held fixed (filled), "
            "and the column alone (hollow). The concepts with the surest effects are shown.</p>"
            + _picture(lambda: model_plots.effect_intervals(self.model, drawn), label)
            + html.figure_numbers(self.table(table, "name", "label", "effect", "unadjusted"))
        )

    def reading(self) -> str:
        """Return ten documents by `diverse`, if there are more and they use concepts."""
        if not self.model.result_.shown or n_sources(self.corpus) <= READ_FIRST:
            return ""
        rows = ""
        for one in self.model.diverse(READ_FIRST).to_dict("records"):
            document, title = str(one["document"]), str(one["title"])
            label = escape(title) if title == document else f"{escape(document)}<br>{escape(title)}"
            pairs = zip(one["concepts"], one["concept_names"])
            links = "; ".join(self.link({"concept": j, "name": name}) for j, name in pairs)
            rows += html.row_html((label, False), (links, False), (f"{one['covered']:.0%}", True))
        return (
            f'<h2 id="reading">What to read first</h2><p>{READ_FIRST} documents that together cover as much as '
            "possible: each is the one that adds most to those above it. Covered is the share of the collection’s "
            "concepts that a reader has met by then, each concept counting by its share of the text.</p>"
            + html.html_table(("Document", "Adds most of", "Covered so far"), rows)
        )

    def concept(self, concept: int, columns: Iterable[str]) -> str:
        """Return one concept with how many documents use it, its cloud, words, groups and passages."""
        catalog, corpus = self.catalog, self.corpus
        known, mark = concepts.concept(catalog, concept), catalog.marks[concept]

        def whole(name: str) -> str:
            return html.number(None if known[name] is None else round(known[name]))

        usage = f"Used by {whole('rows')} of {corpus.n_documents:,} {self.rows}"
        if corpus.parent is not None:
            usage += f", in {whole('documents')} of {n_sources(corpus):,} documents"
        usage += f"; {mark['text']}."
        if known["much_like"] is not None:
            usage += f" Much like {known['much_like']}."
        if mark["leftover"]:
            usage += f" {_LEFTOVER.format(self.rows)}"
        words = self.table(concepts.concept_words(catalog, concept), "word", "probability", "share_used", most=WORDS)
        tables = (concepts.concept_groups(catalog, concept, column) for column in columns)
        by_group = "".join(self.table(one, "group", "prevalence", "top_words") for one in tables)
        label = f"Word cloud of concept {concept}; the table beside it has the words"
        return (
            f'<section class="concept" id="concept-{concept}" aria-labelledby="name-{concept}">'
            f'<h3 id="name-{concept}">{concept}. {escape(known["name"])}</h3><p>{usage}</p>'
            f'<div class="beside">{cloud_svg(concepts.scores(catalog, concept), label, CLOUD_WORDS)}{words}</div>'
            f"{by_group}{self._passages(concept)}</section>"
        )

    def _passages(self, concept: int) -> str:
        """Return a few passages with what each is called, and its groups if there are any."""
        if self.corpus.texts is None:
            return ""
        quotes = ""
        for row in self.catalog.holders(concept).head(PASSAGES).to_dict("records"):
            labels = [row[key] for key in [one.key for one in self.catalog.label_columns] if row[key] is not None]
            source = f"{row['label']} ({', '.join(labels)})" if labels else str(row["label"])
            quotes += (
                f"<blockquote><p>{escape(concepts.passage(self.catalog, self.corpus.texts[row['row']], concept))}</p>"
                f'<p class="quiet">{escape(source)}, weight {html.share(row["weight"])}</p></blockquote>'
            )
        return f"<h4>Passages</h4>{quotes}" if quotes else ""

    def sampling(self) -> str:
        """Return how far the chains agree, what other chains find, and the settings."""
        others = concepts.others(self.catalog)
        found = (
            '<h3 id="others">Concepts of other chains</h3><p>These are found by too few chains to be '
            f"listed.</p>{self.table(others, 'words', 'chains')}"
        )
        return (
            '<h2 id="sampling">How it was sampled</h2><h3>Do the chains agree?</h3>'
            "<p>Several chains were run from different starts. R-hat compares them: it is 1 if they agree. The "
            "effective sample size is the number of independent draws that would be as precise, and the Monte-Carlo "
            "error is the standard error of the mean over the draws.</p>"
            + self.table(concepts.convergence(self.catalog), "quantity", "rhat", "ess", "mcse")
            + _picture(
                lambda: model_plots.chain_traces(self.model), "Each traced quantity by draw, a line for each chain"
            )
            + ("" if others.rows.empty else found)
            + f"<h3>Settings</h3>{_facts_list(_settings(self.model))}"
        )


def _picture(draw: Callable[[], Any], label: str) -> str:
    """Return a figure inside the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = base64.b64encode(figure_bytes(draw(), "png", dpi=110)).decode("ascii")
    return f'<p><img class="chart" alt="{escape(label)}" src="data:image/png;base64,{data}"></p>'


def _facts_list(rows: list[tuple[str, str]]) -> str:
    inside = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in rows)
    return f'<dl class="facts">{inside}</dl>'


def _settings(model: ConceptModel) -> list[tuple[str, str]]:
    """Return every setting that was used, and for values the program chose, that it did."""
    schedule, corpus = model.schedule_, model.corpus_
    notes, data = corpus.notes, model.chains_[0].model.data
    starts = [model.init] if isinstance(model.init, str) else list(dict.fromkeys(model.init))
    unit = (notes.get("recipe") or {}).get("unit") or ("document" if corpus.parent is None else "passage")
    rows = [("Unit of analysis", str(unit))]
    if "min_df" in notes:
        least, why = (f"{notes['min_df']} {notes.get('min_df_counts', 'documents')}", notes.get("min_df_chosen"))
        rows.append(("Every word is in at least", f"{least} ({why})" if why else least))
    n_features, n_known = data.Y.shape[1], int(data.known.sum())
    features = f"{n_features:,} features of {n_known:,} of the {len(data.known):,} words" if n_features else "none"
    return [
        *rows,
        ("Word features", features),
        ("Chains", str(len(model.chains_))),
        ("Sweeps of each chain", f"{schedule.n_sweeps:,}"),
        ("Burn-in sweeps", f"{schedule.n_burn_in:,}"),
        ("Sweeps per stored draw", str(schedule.thin)),
        ("Start of the chains", ", ".join(map(str, starts))),
        ("Steps of the sampler", str(model.steps)),
        ("Seed", str(model.seed_)),
        *((meaning, _prior_value(model, name)) for name, meaning in PRIORS.items()),
    ]


def _prior_value(model: ConceptModel, name: str) -> str:
    """Return the value that the chains used, and who chose it."""
    given, prior = getattr(model, name), model.chains_[0].model.prior
    if isinstance(given, str) and given == "sample":
        return "sampled"
    if name == "theta":
        return "uniform" if given is None else given if isinstance(given, str) else "given"
    low, high = float(np.min(getattr(prior, name))), float(np.max(getattr(prior, name)))
    value = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    return f"{value} (chosen by the program)" if given is None or isinstance(given, str) else value
