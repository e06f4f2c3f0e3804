"""What the pages of one fitted model share, each computed once on first use."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis import documents, tables, themes
from superwords.analysis.dates import time_columns
from superwords.analysis.groups import group_values
from superwords.analysis.tables import automatic_names, objects
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.alignment import TYPICAL
from superwords.search.terms import TextIndex
from superwords.text.corpus import fitted_groups, row_name
from superwords.web.bounded import BoundedModel
from superwords.web.tables import COLUMNS, Column, Table

MOST_GROUPS = 12
MOST_CHOSEN_GROUPS = 200  # of a column that was asked for
SHOWN_GROUP_COLUMNS = 2
KEPT_TABLES = 64
FORMULAS = frozenset({"effects", "predicted"})


class Use(NamedTuple):
    """How rows or documents use concepts, over the draws that find each; without words a row uses none."""

    weight: sparse.csr_array  # (D, J) mean share of the tokens
    held: sparse.csr_array  # (D, J) share of the draws in which it is used
    typical: sparse.csr_array  # (D, J) whether that is at least half: what is listed and counted


class Catalog:
    """Hold the tables of one model; concepts have ids (1, 2, …), documents and rows are counted from 0.

    `called(method, ...)` returns what a method of the model returns. `named`, `use` and `listed` are functions of
    whether whole documents are meant rather than rows of the corpus. `worker` computes what follows from formulas;
    without it (the model was never saved) the model itself does.
    """

    def __init__(
        self,
        model: ConceptModel,
        worker: BoundedModel | None = None,
        decides: bool = False,
        index: TextIndex | None = None,
    ) -> None:
        if not model.result_.has_concepts:
            raise InputError("The model has no draws yet, so there is nothing to show; sample longer.")
        self.model, self.corpus, self.worker, self.decides = model, model.corpus_, worker, decides
        self.index, self.rows = index or TextIndex(model.corpus_), row_name(model.corpus_)
        self.n_pilots = model.result_.n_pilots  # fits in which concepts were looked for again
        self.passages = tables.of_sources(model.result_.corpus)  # (documents, rows)
        self.n_tokens = np.asarray(self.corpus.counts.sum(axis=1)).ravel().astype(int)
        self.called = lru_cache(KEPT_TABLES)(self._call)
        self.named, self.use, self.listed = cache(self._named), cache(self._use), cache(self._listed)

    def _call(self, method: str, *given: Any) -> Any:
        if method in FORMULAS and self.worker is not None:
            return self.worker.call(list(self.model.choices_), method, *given)
        return getattr(self.model, method)(*given)

    def renamed(self, model: ConceptModel) -> Catalog:
        """Return a copy for a model with other names and themes, which shares what was computed."""
        other = copy.copy(self)
        other.model = model
        return other

    @property
    def names(self) -> list[str]:
        return [self.model.names_.get(j, name) for j, name in enumerate(self.automatic_names, 1)]

    @cached_property
    def automatic_names(self) -> list[str]:
        return automatic_names(self.model.result_)

    def names_of(self, concepts: Iterable[int | None]) -> np.ndarray:
        """Return a column of concepts' names; None for no concept."""
        names = self.names
        return objects(None if j is None else names[j - 1] for j in concepts).to_numpy()

    @cached_property
    def concept_rows(self) -> pd.DataFrame:
        """Return the table of concepts, with how reliable each is as every page and the report print it."""
        rows = self.model.concepts()
        n_chains = rows["stability_by_chain"].map(len)
        if self.n_pilots:
            again = [f"found again in {n:.0f} of {self.n_pilots}" for n in rows["found_again"]]
        else:
            again = [f"found by {n} of {of} chains" for n, of in zip(rows["found_by"], n_chains)]
        settled = ("settled" if one else "not settled" for one in rows["settled"])
        return rows.assign(n_chains=n_chains, mark=objects(map(", ".join, zip(again, settled))))

    @cached_property
    def marks(self) -> dict[int, dict[str, Any]]:
        """Return by concept how reliable it is."""
        known = self.concept_rows[["concept", "mark", "leftover"]].itertuples(index=False)
        return {int(j): {"text": mark, "leftover": bool(leftover)} for j, mark, leftover in known}

    def reliable_first(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows of concepts with their names and marks, in the same order but leftovers last."""
        named = rows.assign(name=self.names_of(rows["concept"]))
        return tables.marked(self.model.result_, named).sort_values("leftover", kind="stable")

    def table(self, rows: pd.DataFrame, *columns: str | Column, **settings: Any) -> Table:
        """Return a table of columns of `COLUMNS` by their names there, or of others."""
        known = {"rows": self.rows, "Rows": self.rows.capitalize()}
        described = [
            replace(COLUMNS[one], label=COLUMNS[one].label.format(**known)) if isinstance(one, str) else one
            for one in columns
        ]
        return Table(described, rows, **settings)

    @cached_property
    def alike(self) -> np.ndarray:
        """Return (J, J) how alike two of the concepts shown are."""
        result = self.model.result_
        shown = np.array(result.shown, int) - 1
        words = tables.by_word(result, result.summary.words.used)
        return themes.likeness(words[shown], sparse.csr_array(result.weights[:, shown]))

    @cached_property
    def words(self) -> pd.DataFrame:
        """Return the table of words, with the concept that most rows use each for."""
        table = self.model.words()
        return table.assign(strongest=objects(held[0] if held else None for held in table["concepts"]))

    @cached_property
    def time_columns(self) -> list[str]:
        return [str(name) for name in time_columns(self.corpus.metadata)]

    @cached_property
    def group_columns(self) -> dict[str, list[str]]:
        """Return columns that divide the documents into groups, with the groups' names; the fit's first.

        Other columns count if they have a few groups only.
        """
        found: dict[str, list[str]] = {}
        chosen = fitted_groups(self.corpus)
        for column in dict.fromkeys([*chosen, *self.corpus.metadata.columns]):
            values = group_values(self.corpus.metadata[column]).dropna()
            try:
                sizes, n_groups = values.astype(str).value_counts(), values.nunique()
            except TypeError:  # lists and the like are not hashable
                continue
            most = MOST_CHOSEN_GROUPS if column in chosen else MOST_GROUPS
            if 2 <= n_groups <= most and n_groups == len(sizes) and n_groups < len(values):
                found[str(column)] = [str(label) for label in sizes.index]
        return found

    def column(self, name: str) -> Any:
        """Return the metadata's own key of a column of groups that the page names by its text."""
        if name not in self.group_columns:
            raise InputError("There is no such column of groups.")
        return next(key for key in self.corpus.metadata.columns if str(key) == name)

    @cached_property
    def label_columns(self) -> list[Column]:
        """Return the first columns of groups, as tables of documents show them."""
        return [Column(f"label {name}", name) for name in list(self.group_columns)[:SHOWN_GROUP_COLUMNS]]

    @property
    def row_columns(self) -> list[Column | str]:
        """Return the columns that name a row of the corpus, link to it and show its groups."""
        return ["row" if self.corpus.parent is None else "passage", *self.label_columns]

    def _named(self, whole: bool) -> pd.DataFrame:
        """Return number, label, id and shown groups."""
        corpus = self.corpus
        labels = documents.document_labels(corpus) if whole else documents.row_labels(corpus)
        ids, metadata = tables.sources(corpus) if whole else (corpus.ids, corpus.metadata)
        groups = {
            one.key: objects(None if pd.isna(value) else str(value) for value in metadata[self.column(one.label)])
            for one in self.label_columns
        }
        number = "number" if whole else "row"
        return pd.DataFrame({number: np.arange(len(ids)), "label": objects(labels), "document": objects(ids), **groups})

    def _use(self, whole: bool) -> Use:
        """Return how concepts are used; in a whole document each passage counts by its tokens."""
        fold = tables.source_shares(self.corpus) if whole else None
        n_rows = self.corpus.n_documents if fold is None else fold.shape[0]
        weight = sparse.csr_array((n_rows, self.model.n_concepts_))
        held = weight.copy()
        for one, share in zip(self.model.result_.drawn_weights(), self.model.result_.summary.alignment.weights):
            of_draw = sparse.csr_array(one @ sparse.diags_array(share))
            of_draw.eliminate_zeros()
            of_draw = of_draw if fold is None else sparse.csr_array(fold @ of_draw)
            weight = weight + of_draw
            held = held + sparse.csr_array((of_draw > 0) @ sparse.diags_array(share))
        use = Use(weight, held, sparse.csr_array(held >= TYPICAL))
        for matrix in use:
            matrix.sort_indices()
        return use

    def holders(self, concept: int) -> pd.DataFrame:
        """Return rows with a concept in at least half of the draws, by w · log(1 + w N_d)."""
        j, use = tables.concept_index(self.model.result_, concept), self.use(False)
        weight, held = (matrix[:, [j]].toarray().ravel() for matrix in (use.weight, use.held))
        row = np.flatnonzero(held >= TYPICAL)
        evidence = weight[row] * np.log1p(weight[row] * self.n_tokens[row])
        row = row[np.lexsort((row, -evidence))]
        known = self.named(False).iloc[row].reset_index(drop=True)
        return known.assign(weight=weight[row], probability=np.minimum(held[row], 1.0), tokens=self.n_tokens[row])

    def _listed(self, whole: bool) -> pd.DataFrame:
        """Return names with the numbers of tokens, concepts and passages, and the strongest concept."""
        weights, typical = self.use(whole).weight, self.use(whole).typical
        strongest = objects(
            int(weights.indices[a + np.argmax(weights.data[a:b])]) + 1 if b > a else None
            for a, b in pairwise(weights.indptr)
        )
        tokens = (self.passages @ self.n_tokens).astype(int) if whole else self.n_tokens
        known = self.named(whole).assign(tokens=tokens, n_concepts=np.diff(typical.indptr), strongest=strongest)
        return known.assign(passages=np.diff(self.passages.indptr)) if whole else known
