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
from superwords.text.corpus import fitted_groups, n_sources
from superwords.web import concepts, html, relations
from superwords.web.catalog import Catalog
from superwords.web.clouds import cloud_svg
from superwords.web.html import Html
from superwords.web.tables import Column, Table

WORDS = 12
CLOUD_WORDS = 25
PASSAGES = 3
READ_FIRST = 10  # documents
DIFFERENCES = 20
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
    from superwords import __version__

    report = Report(model)
    columns = report.chosen_columns(groups)
    body = report.part(
        "page",
        title=title,
        facts=report.facts(corpus),
        date=f"{date.today():%d %B %Y}",
        version=__version__,
        verdict=model.verdict(),
        concepts=report.concepts(),
        groups=html.join(map(report.groups, columns)),
        time=report.time(over_time),
        effects=report.effects(effects),
        themes=report.themes(),
        reading=report.reading(),
        each=html.join(report.concept(concept, columns) for concept in model.result_.shown),
        sampling=report.sampling(),
    )
    return html.whole_page(title, body, "report.js")


class Report:
    """Make the sections of the report, from the tables that the explorer shows and the texts in report.html.

    A section without content is empty.
    """

    def __init__(self, model: ConceptModel) -> None:
        self.model, self.corpus, self.catalog = model, model.corpus_, Catalog(model)
        self.rows, self.texts = self.catalog.rows, html.read_parts(html.HERE / "report.html")

    def part(self, name: str, /, **values: Any) -> Html:
        return html.fill(self.texts[name], rows=self.rows, Rows=self.rows.capitalize(), **values)

    def link(self, concept: int, name: str, words: str = "") -> Html:
        """Return the name of a concept, with how reliable it is."""
        mark = self.catalog.marks[concept]
        anchor = f'<a href="#concept-{concept}">{concept}. {escape(name)}</a>'
        return Html(f"{anchor}{' *' if mark['leftover'] else ''} {words}<small>{escape(mark['text'])}</small>")

    def table(self, table: Table, *keys: str, most: int | None = None) -> Html:
        return html.table_html(table, self.link, *keys, most=most)

    def facts(self, name: str | None) -> Html:
        """Return what was read: corpus, first and last date, numbers of documents and words."""
        corpus, dates = self.corpus, list[tuple[str, str | None]]()
        for column in self.catalog.time_columns[:1]:
            values = corpus.metadata[column].dropna()
            if len(values):
                dates = [(f"From {column}", str(values.min())), (f"To {column}", str(values.max()))]
        empty, rows = corpus.notes.get("empty_documents") or [], self.rows.capitalize()
        return html.facts_list(
            ("Corpus", name),
            *dates,
            (rows, f"{corpus.n_documents:,}"),
            ("Documents", None if corpus.parent is None else f"{n_sources(corpus):,}"),
            ("Different words", f"{corpus.n_words:,}"),
            ("Words in all", f"{corpus.n_tokens:,}"),
            ("Concepts", f"{len(self.model.result_.shown):,}"),
            (f"{rows} without any of these words", f"{len(empty):,}" if empty else None),
        )

    def concepts(self) -> Html:
        """Return the table of all concepts, which a script can sort and filter."""
        rows = concepts.concepts(self.catalog).rows
        again = "found again" if self.catalog.n_pilots else "stability"
        # Of passages, also the number of their documents.
        whole = [] if self.corpus.parent is None else ["documents"]
        columns = ("concept", "prevalence", "strength", *whole, "mean words", "coherence", again)
        table = self.catalog.table(rows, *columns)
        words = dict(zip(rows["concept"], rows["top_words"]))

        def link(concept: int, name: str) -> str:
            return self.link(concept, name, f'<span class="words">{escape(", ".join(words[concept]))}</span>')

        drawn = html.table_html(table, link, attributes=' id="concept-table" class="cards"', with_values=True)
        drawn = Html(drawn.replace('scope="col">Prevalence', 'scope="col" aria-sort="descending">Prevalence'))
        legend = Html(f"<p>* {self.part('leftover')}</p>" if rows["leftover"].any() else "")
        explained = html.join(map(self.part, [again, *whole]), " ")
        return self.part("concepts", explained=explained, legend=legend, table=drawn)

    def chosen_columns(self, asked: str | Sequence[str] | None) -> list[str]:
        """Return the given columns; by default those of the fit, or the first that divides the documents."""
        known = list(self.catalog.group_columns)
        if not asked:
            fitted = [str(name) for name in fitted_groups(self.corpus) if str(name) in known]
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
        missing = self.corpus.n_documents - int(sizes.sum())
        labels, differences = sorted(self.catalog.group_columns[column]), Html("")
        if len(labels) == 2:
            compared = concepts.group_differences(self.catalog, column, *labels)
            shown = self.table(compared, "name", "one", "other", "difference", most=DIFFERENCES)
            differences = self.part("differences", first=labels[0], second=labels[1], table=shown)
        return self.part(
            "groups",
            column=column,
            counts=", ".join(f"{label} {size:,}" for label, size in sizes.items()),
            without=f" {missing:,} {self.rows} without a {column} are left out." if missing else "",
            differences=differences,
            picture=_picture(model_plots.group_prevalence, self.model, key),
            numbers=self._prevalences(table, "group"),
        )

    def _prevalences(self, table: pd.DataFrame, by: str) -> Html:
        """Return the prevalence of every concept in every group or period: the numbers of a figure."""
        known = table.set_index(["concept", by])[["prevalence", "prevalence_low", "prevalence_high"]]
        columns, rows = list(dict.fromkeys(table[by])), ""
        for j in self.model.result_.shown:
            shares = (html.cell_html(html.figure("share", *known.loc[(j, one)])) for one in columns)
            rows += html.row_html(self.link(j, self.catalog.names[j - 1]), *shares)
        return self.part("numbers", table=html.html_table(("Concept", *map(str, columns)), rows))

    def time(self, column: Any = None) -> str:
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
        return self.part(
            "time",
            column=column,
            first=trends.rows["first"].iloc[0],
            last=trends.rows["last"].iloc[0],
            table=self.table(trends),
            picture=_picture(model_plots.small_multiples, self.model, column),
            numbers=self._prevalences(self.catalog.called("over_time", column, None), "period"),
        )

    def themes(self) -> str:
        if len(self.model.result_.shown) < 2:
            return ""
        table = relations.themes(self.catalog)
        origin = self.part("proposed themes" if table.notes["proposed"] else "made themes")
        picture = _picture(model_plots.concept_tree, self.model)
        return self.part("themes", origin=origin, table=self.table(table), picture=picture)

    def effects(self, formula: str | None) -> str:
        if formula is None:
            return ""
        table = relations.effect_table(self.catalog, formula)
        drawn = self.catalog.called("effects", formula, "prevalence")
        return self.part(
            "effects",
            formula=formula,
            outcome=outcome(self.rows),
            picture=_picture(model_plots.effect_intervals, self.model, drawn),
            numbers=self.part("numbers", table=self.table(table, "name", "label", "effect", "unadjusted")),
        )

    def reading(self) -> str:
        if not self.model.result_.shown or n_sources(self.corpus) <= READ_FIRST:
            return ""
        columns = [
            Column("document", "Document", note="title"),
            Column("concept_names", "Adds most of", "concepts", link="concepts"),
            Column("covered", "Covered so far", "share"),
        ]
        return self.part("reading", n=READ_FIRST, table=self.table(Table(columns, self.model.diverse(READ_FIRST))))

    def concept(self, concept: int, columns: Iterable[str]) -> Html:
        """Return one concept with how many documents use it, its cloud, words, groups and passages."""
        catalog, corpus = self.catalog, self.corpus
        known, mark = concepts.concept(catalog, concept), catalog.marks[concept]

        def whole(name: str) -> str:
            return html.figure("number", None if known[name] is None else round(known[name]))

        usage = f"Used by {whole('rows')} of {corpus.n_documents:,} {self.rows}"
        if corpus.parent is not None:
            usage += f", in {whole('documents')} of {n_sources(corpus):,} documents"
        usage += f"; {mark['text']}."
        if known["much_like"] is not None:
            usage += f" Much like {known['much_like']}."
        if mark["leftover"]:
            usage += f" {self.part('leftover')}"
        label = f"Word cloud of concept {concept}; the table beside it has the words"
        words = concepts.concept_words(catalog, concept)
        groups = (concepts.concept_groups(catalog, concept, column) for column in columns)
        return self.part(
            "concept",
            concept=concept,
            name=known["name"],
            usage=usage,
            cloud=Html(cloud_svg(model_plots.concept_weights(self.model, concept), label, CLOUD_WORDS)),
            words=self.table(words, "word", "probability", "share_used", most=WORDS),
            groups=html.join(self.table(one, "group", "prevalence", "top_words") for one in groups),
            passages=self._passages(concept),
        )

    def _passages(self, concept: int) -> Html:
        if self.corpus.texts is None:
            return Html("")
        rows, quotes = self.catalog.holders(concept).head(PASSAGES), ""
        for row in concepts.with_passages(self.catalog, concept, rows).to_dict("records"):
            labels = [row[one.key] for one in self.catalog.label_columns if row[one.key] is not None]
            source = f"{row['label']} ({', '.join(labels)})" if labels else row["label"]
            weight = html.figure("share", row["weight"])
            quotes += self.part("quote", passage=row["passage"], source=source, weight=weight)
        return Html(f"<h4>Passages</h4>{quotes}" if quotes else "")

    def sampling(self) -> Html:
        others, table = concepts.others(self.catalog), concepts.convergence(self.catalog)
        return self.part(
            "sampling",
            table=self.table(table, "quantity", "rhat", "ess", "mcse"),
            picture=_picture(model_plots.chain_traces, self.model),
            others=Html("") if others.rows.empty else self.part("others", table=self.table(others)),
            settings=_settings(self.model),
        )


def _picture(draw: Callable[..., Any], *given: Any) -> str:
    """Return the address of a figure that is inside the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = base64.b64encode(figure_bytes(draw(*given), "png", dpi=110)).decode("ascii")
    return f"data:image/png;base64,{data}"


def _settings(model: ConceptModel) -> Html:
    """Return every setting that was used, and for values the program chose, that it did."""
    schedule, corpus = model.schedule_, model.corpus_
    notes, data = corpus.notes, model.chains_[0].model.data
    starts = [model.init] if isinstance(model.init, str) else list(dict.fromkeys(model.init))
    unit = (notes.get("recipe") or {}).get("unit") or ("document" if corpus.parent is None else "passage")
    least, why = f"{notes.get('min_df')} {notes.get('min_df_counts', 'documents')}", notes.get("min_df_chosen")
    n_features, n_known = data.Y.shape[1], int(data.known.sum())
    features = f"{n_features:,} features of {n_known:,} of the {len(data.known):,} words" if n_features else "none"
    return html.facts_list(
        ("Unit of analysis", str(unit)),
        ("Every word is in at least", (f"{least} ({why})" if why else least) if "min_df" in notes else None),
        ("Word features", features),
        ("Chains", str(len(model.chains_))),
        ("Sweeps of each chain", f"{schedule.n_sweeps:,}"),
        ("Burn-in sweeps", f"{schedule.n_burn_in:,}"),
        ("Sweeps per stored draw", str(schedule.thin)),
        ("Start of the chains", ", ".join(map(str, starts))),
        ("Steps of the sampler", str(model.steps)),
        ("Seed", str(model.seed_)),
        *((meaning, _prior_value(model, name)) for name, meaning in PRIORS.items()),
    )


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
