"""Tables of a fitted model for its pages, each computed once on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.curation import Curation, decisions, history
from superwords.analysis.dates import time_columns
from superwords.analysis.documents import document_labels, row_labels, telling_passage
from superwords.analysis.groups import group_values
from superwords.analysis.prevalence import draw_weights, drawn_weights
from superwords.analysis.ranking import TYPICAL, automatic_names
from superwords.analysis.tables import concept_index, marked, of_shown, source_shares, sources
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.traces import GOOD_ESS, GOOD_RHAT
from superwords.tabular import plain
from superwords.text.corpus import Corpus, row_name
from superwords.web.json_tables import Column, Table

MOST_GROUPS = 12
MOST_CHOSEN_GROUPS = 200  # of a column that was asked for
MOST_HISTORY = 200
SHOWN_GROUP_COLUMNS = 2
MARKER_WORDS = 10
KEPT_TABLES = 64
CONCEPT_COLUMN = Column("name", "Concept", "concept", link="concept", mark="leftover")
DOCUMENT_COLUMN = Column("label", "Document", "document", link="number", note="document")


class Use(NamedTuple):
    """How rows or documents use concepts, over the draws that find each; without words a row uses none."""

    weight: sparse.csr_array  # (D, J) mean share of the tokens
    held: sparse.csr_array  # (D, J) share of the draws in which it is used
    typical: sparse.csr_array  # (D, J) whether that is at least half: what is listed and counted


class Catalog:
    """Compute the tables of one model; concepts have ids (1, 2, …), documents rows (0, 1, …)."""

    def __init__(self, model: ConceptModel):
        if not model.result_.has_concepts:
            raise InputError("The model has no draws yet, so there is nothing to show; sample longer.")
        self.model = model
        self.corpus = model.corpus_
        self.rows = row_name(model.corpus_)
        self.words_of = lru_cache(KEPT_TABLES)(model.words_of)
        self.group_words = lru_cache(KEPT_TABLES)(model.group_words)
        self.by_group = lru_cache(KEPT_TABLES)(lambda column: model.by_group(column, 0))
        self.compared = lru_cache(KEPT_TABLES)(model.compare_groups)

    def facts(self) -> dict[str, Any]:
        """Return what the page must know before it shows anything."""
        corpus = self.corpus
        return {
            "rows": corpus.n_documents,
            "documents": corpus.n_documents if corpus.parent is None else len(np.unique(corpus.parent)),
            "words": corpus.n_words,
            "tokens": corpus.n_tokens,
            "concepts": len(self.model.result_.shown),
            "passages": corpus.parent is not None,
            "texts": corpus.texts is not None,
            "groups": [{"column": name, "labels": labels} for name, labels in self.group_columns.items()],
            "times": self.time_columns,
            "columns": [str(name) for name in corpus.metadata.columns],
            "verdict": self.verdict,
            "limits": {"rhat": GOOD_RHAT, "ess": GOOD_ESS},
            "marks": self.marks,
            "decided": self.decided(),
        }

    @cached_property
    def verdict(self) -> str:
        return str(self.model.verdict())

    @cached_property
    def time_columns(self) -> list[str]:
        return [str(name) for name in time_columns(self.corpus.metadata)]

    def decided(self) -> dict[str, Any]:
        """Return what people decided: concepts merged or hidden, themes, and every decision."""
        model = self.model
        decided = decisions(model.choices_)
        return {
            "hidden": [self._as_sampled(j) for j in sorted(decided.hidden)],
            "merged": [
                {"concept": j, "name": self.names[j - 1], "members": [self._as_sampled(one) for one in sorted(those)]}
                for j, those in sorted(_members(decided).items())
            ],
            "themes": sorted(set(model.result_.themes.values())),
            "proposed": len(decided.proposed),
            "history": history(model.choices_)[:MOST_HISTORY],
        }

    def _as_sampled(self, concept: int) -> dict[str, Any]:
        """Return a concept that is away by its own words."""
        return {"concept": concept, "name": self.model.names_.get(concept, self._sampled_names[concept - 1])}

    @cached_property
    def _sampled_names(self) -> list[str]:
        return automatic_names(self.model.sampled_)

    @cached_property
    def group_columns(self) -> dict[str, list[str]]:
        """Return columns that divide the documents into groups, with the groups' names; the fit's first.

        Other columns count if they have a few groups only.
        """
        found: dict[str, list[str]] = {}
        chosen = [name for name in self.corpus.notes.get("groups", []) if name in self.corpus.metadata]
        for column in dict.fromkeys([*chosen, *self.corpus.metadata.columns]):
            values = group_values(self.corpus.metadata[column]).dropna()
            try:
                sizes = values.astype(str).value_counts()
                n_groups = values.nunique()
            except TypeError:  # lists and the like are not hashable
                continue
            most = MOST_CHOSEN_GROUPS if column in chosen else MOST_GROUPS
            if 2 <= n_groups <= most and n_groups == len(sizes) and n_groups < len(values):
                found[str(column)] = [str(label) for label in sizes.index]
        return found

    def column(self, name: str) -> Any:
        """Return the metadata's own key of a column that the page names by its text."""
        if name not in self.group_columns:
            raise InputError("There is no such column of groups.")
        return next(key for key in self.corpus.metadata.columns if str(key) == name)

    @property
    def names(self) -> list[str]:
        return [self.model.names_.get(j, name) for j, name in enumerate(self._automatic_names, 1)]

    @cached_property
    def _automatic_names(self) -> list[str]:
        return automatic_names(self.model.result_)

    @cached_property
    def every_concept(self) -> pd.DataFrame:
        """Return the table of concepts, with how reliable each is as every page and the report print it."""
        rows = self.model.concepts()
        n_chains = rows["stability_by_chain"].map(len)
        if self.n_pilots:
            again = [f"found again in {n:.0f} of {self.n_pilots}" for n in rows["found_again"]]
        else:
            again = [f"found by {n} of {of} chains" for n, of in zip(rows["found_by"], n_chains)]
        settled = ("settled" if one else "not settled" for one in rows["settled"])
        return rows.assign(n_chains=n_chains, mark=texts(map(", ".join, zip(again, settled))))

    @cached_property
    def concept_rows(self) -> pd.DataFrame:
        return of_shown(self.model.result_, self.every_concept)

    @cached_property
    def marks(self) -> dict[int, dict[str, Any]]:
        """Return by concept how reliable it is."""
        known = self.every_concept[["concept", "mark", "leftover"]].itertuples(index=False)
        return {int(j): {"text": mark, "leftover": bool(leftover)} for j, mark, leftover in known}

    def reliable_first(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows of concepts with their names and marks, in the same order but leftovers last."""
        names = self.names
        named = rows.assign(name=texts(names[j - 1] for j in rows["concept"]).to_numpy())
        return marked(self.model.result_, named).sort_values("leftover", kind="stable")

    @property
    def n_pilots(self) -> int:
        """Return the number of fits to samples in which concepts were looked for again."""
        pilots = self.model.result_.pilots
        return 0 if pilots is None else pilots.n_pilots

    def concepts(self) -> Table:
        columns = [
            CONCEPT_COLUMN,
            Column("top_words", "Most telling words", "words", sortable=False),
            Column("prevalence", "Prevalence", "share", "prevalence_low", "prevalence_high"),
            Column("strength", "Strength", "share", "strength_low", "strength_high"),
            Column("n_words", "Words", "number"),
            Column("coherence", "Coherence", "decimal"),
            Column("found_by", "Found by", "chains", link="n_chains"),
            Column("found_again", "Found again", "of", link="n_pilots")
            if self.n_pilots
            else Column("stability", "Stability", "share"),
        ]
        themes = self.model.result_.themes
        if self.concept_rows["much_like"].notna().any():
            columns.append(Column("much_like", "Much like", "twin"))
        if themes:
            columns.insert(2, Column("theme", "Theme"))
        names = self.names
        rows = self.concept_rows.assign(
            name=texts(names[j - 1] for j in self.concept_rows["concept"]),
            theme=texts(themes.get(j) for j in self.concept_rows["concept"]),
            n_pilots=self.n_pilots,
            much_like=pd.to_numeric(self.concept_rows["much_like"]),
        )
        rows = rows.sort_values("prevalence", ascending=False, kind="stable", na_position="last")
        return Table(columns, rows.sort_values("leftover", kind="stable"))

    def concept(self, concept: int) -> dict[str, Any]:
        """Return the head of a concept's page."""
        j = concept_index(self.model.result_, concept)
        row = self.every_concept.set_index("concept", drop=False).loc[j + 1]
        known = {str(key): plain(value) for key, value in row.items()}
        names, result = self.names, self.model.result_
        like = known["much_like"]
        return {
            **known,
            "name": names[concept - 1],
            "automatic_name": self._automatic_names[j],
            "theme": result.themes.get(concept),
            "much_like_name": None if like is None else names[like - 1],
            "members": [self._as_sampled(one) for one in _members(decisions(self.model.choices_)).get(concept, [])],
            "others": [[j, names[j - 1]] for j in result.shown if j != concept],
        }

    def concept_words(self, concept: int) -> Table:
        columns = [
            Column("word", "Word", "word", link="word"),
            Column("probability", "Draws that use it", "share"),
            Column("share_used", f"{self.rows.capitalize()} that use it", "share", "used_low", "used_high"),
            Column("share_on", f"{self.rows.capitalize()} that have it on", "share", "on_low", "on_high"),
        ]
        return Table(columns, self.words_of(concept))

    def scores(self, concept: int) -> dict[str, float]:
        """Return the words that are used for a concept, with their scores: what its cloud is drawn of."""
        words = self.words_of(concept)
        used = words[words["score"] > 0]
        return dict(zip(used["word"], used["score"].astype(float)))

    @cached_property
    def use(self) -> Use:
        """Return how the corpus's rows use concepts."""
        return self._use(None)

    @cached_property
    def document_use(self) -> Use:
        """Return how whole documents use concepts; each passage counts by its tokens."""
        return self._use(source_shares(self.corpus))

    def _use(self, fold: sparse.csr_array | None) -> Use:
        n_rows = self.corpus.n_documents if fold is None else fold.shape[0]
        weight = sparse.csr_array((n_rows, self.model.n_concepts_))
        held = weight.copy()
        for one, share in zip(drawn_weights(self.model.result_), draw_weights(self.model.result_)):
            of_draw = sparse.csr_array(one @ sparse.diags_array(share))
            of_draw.eliminate_zeros()
            if fold is not None:
                of_draw = sparse.csr_array(fold @ of_draw)
            weight = weight + of_draw
            held = held + sparse.csr_array((of_draw > 0) @ sparse.diags_array(share))
        typical = sparse.csr_array(held >= TYPICAL)
        for matrix in (weight, held, typical):
            matrix.sort_indices()
        return Use(weight, held, typical)

    @cached_property
    def _use_by_concept(self) -> tuple[sparse.csc_array, sparse.csc_array]:
        return sparse.csc_array(self.use.weight), sparse.csc_array(self.use.held)

    @cached_property
    def n_tokens(self) -> np.ndarray:
        return np.asarray(self.corpus.counts.sum(axis=1)).ravel().astype(int)

    def holders(self, concept: int) -> pd.DataFrame:
        """Return rows with a concept in at least half of the draws, by w · log(1 + w N_d)."""
        j = concept_index(self.model.result_, concept)
        weight, held = (matrix[:, [j]].toarray().ravel() for matrix in self._use_by_concept)
        row = np.flatnonzero(held >= TYPICAL)
        evidence = weight[row] * np.log1p(weight[row] * self.n_tokens[row])
        row = row[np.lexsort((row, -evidence))]
        known = self.row_names.iloc[row].reset_index(drop=True)
        return known.assign(weight=weight[row], probability=np.minimum(held[row], 1.0), tokens=self.n_tokens[row])

    @cached_property
    def row_names(self) -> pd.DataFrame:
        """Return number, label, id and shown groups of the corpus's rows."""
        return self._names_of("row", row_labels(self.corpus), self.corpus.ids, self.corpus.metadata)

    @cached_property
    def document_names(self) -> pd.DataFrame:
        """Return number, label, id and shown groups of the whole documents."""
        return self._names_of("number", document_labels(self.corpus), *sources(self.corpus))

    def _names_of(self, number: str, labels: list[str], ids: Sequence[str], metadata: pd.DataFrame) -> pd.DataFrame:
        groups = {name: group_texts(metadata[key]) for name, key in self.shown_groups.items()}
        return pd.DataFrame({number: np.arange(len(ids)), "label": texts(labels), "document": texts(ids), **groups})

    @cached_property
    def shown_groups(self) -> dict[str, Any]:
        """Return the first columns of groups, as tables of documents show them."""
        return {f"label {name}": self.column(name) for name in list(self.group_columns)[:SHOWN_GROUP_COLUMNS]}

    def row_column(self) -> Column:
        if self.corpus.parent is None:
            return replace(DOCUMENT_COLUMN, link="row")
        return Column("label", "Passage", "passage-link", link="row", note="document")

    def label_columns(self) -> list[Column]:
        return [Column(name, str(key)) for name, key in self.shown_groups.items()]

    def concept_documents(self, concept: int) -> Table:
        columns = [
            self.row_column(),
            *self.label_columns(),
            Column("weight", "Weight", "share"),
            Column("probability", "P(uses it)", "share"),
            Column("tokens", "Tokens", "number"),
        ]
        if self.corpus.texts is None:
            return Table(columns, self.holders(concept))
        columns.append(Column("passage", "Telling passage", "passage", sortable=False))

        def with_passages(rows: pd.DataFrame) -> pd.DataFrame:
            return rows.assign(passage=texts(self.passage(int(d), concept) for d in rows["row"]))

        return Table(columns, self.holders(concept), complete=with_passages)

    def passage(self, row: int, concept: int) -> str:
        """Return the stretch of a document that shows a concept best."""
        if self.corpus.texts is None:
            return ""
        words = self.words_of(concept).head(MARKER_WORDS)
        marks = {str(w): float(s) for w, s in zip(words["word"], words["score"]) if s > 0}
        return telling_passage(self.corpus.texts[row], marks)

    def concept_groups(self, concept: int, column: str) -> Table:
        """Return a concept's prevalence and words in each group of a column."""
        concept_index(self.model.result_, concept)
        key = self.column(column)
        rows = self.by_group(key)
        rows = rows[rows["concept"] == concept].reset_index(drop=True)
        words = self.group_words(key, concept)
        top = [words[words["group"] == group]["word"].head(10).tolist() for group in rows["group"]]
        columns = [
            Column("group", column),
            Column("n_rows", self.rows.capitalize(), "number"),
            Column("prevalence", "Prevalence", "share", "prevalence_low", "prevalence_high"),
            Column("strength", "Strength", "share", "strength_low", "strength_high"),
            Column("top_words", "Words", "words", sortable=False),
        ]
        return Table(columns, rows.assign(group=rows["group"].map(str).astype(object), top_words=texts(top)))

    def group_differences(self, column: str, first: str, second: str) -> Table:
        """Return prevalence in one group less that in another, the largest differences first."""
        key, labels = self.column(column), self.group_columns[column]
        if first not in labels or second not in labels or first == second:
            raise InputError("Two different groups of the column are needed.")
        rows = self.compared(key, first, second)
        rows = rows.set_axis(["concept", "name", "one", "other", *rows.columns[4:]], axis=1)
        columns = [
            CONCEPT_COLUMN,
            Column("one", f"In {first}", "share", beside="other"),
            Column("other", f"In {second}", "share", beside="one"),
            Column("difference", "Difference", "difference", "low", "high"),
            Column("probability_greater", f"P(more in {first})", "share"),
        ]
        return Table(columns, self.reliable_first(rows))

    def group_shares(self, concept: int, column: str, label: str) -> dict[str, float]:
        """Return the words one group uses for a concept, with the share of its documents that do."""
        words = self.group_words(self.column(column), concept)
        if label not in self.group_columns[column]:
            raise InputError("There is no such group.")
        own = words[words["group"].map(str) == label]
        return dict(zip(own["word"], own["share"].astype(float)))

    def convergence(self) -> Table:
        """Return R-hat, effective sample size and Monte-Carlo error of what was traced."""
        rows = self.model.convergence()
        columns = [
            Column("quantity", "Quantity"),
            Column("rhat", "R-hat", "decimal"),
            Column("ess", "Effective sample size", "number"),
            Column("ess_tail", "In the tails", "number"),
            Column("mcse", "Monte-Carlo error", "decimal"),
        ]
        return Table(columns, rows.assign(quantity=texts(name[0].upper() + name[1:] for name in rows["label"])))


class Pages:
    """Serve a part of one model; a copy with another catalog keeps what was computed."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @property
    def model(self) -> ConceptModel:
        return self.catalog.model

    @property
    def corpus(self) -> Corpus:
        return self.catalog.corpus


def _members(decided: Curation) -> dict[int, list[int]]:
    """Return the concepts that are merged into each one that is shown."""
    members: dict[int, list[int]] = {}
    for one, into in decided.merged.items():
        members.setdefault(into, []).append(one)
    return {into: those for into, those in members.items() if into not in decided.away}


def group_texts(values: pd.Series) -> pd.Series:
    """Return groups as they are shown."""
    return texts(None if pd.isna(value) else str(value) for value in values)


def texts(values: Any) -> pd.Series:
    return pd.Series(list(values), dtype=object)
