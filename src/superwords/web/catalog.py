"""What the pages of one fitted model share, each computed once on first use."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis import documents, tables, themes
from superwords.analysis.curation import decisions
from superwords.analysis.dates import time_columns
from superwords.analysis.groups import group_values
from superwords.analysis.prevalence import draw_weights, drawn_weights
from superwords.analysis.ranking import TYPICAL, automatic_names
from superwords.analysis.tables import objects
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.search.terms import TextIndex
from superwords.text.corpus import row_name
from superwords.web.bounded import BoundedModel

MOST_GROUPS = 12
MOST_CHOSEN_GROUPS = 200  # of a column that was asked for
SHOWN_GROUP_COLUMNS = 2
KEPT_TABLES = 64
FORMULAS = frozenset({"effects", "predicted"})
_MOST_DOCUMENTS = 1500  # on the map: more would only cover each other
_WITH_NAMES = ("verdict", "themes", "document_map")  # what is computed anew for other names


class Use(NamedTuple):
    """How rows or documents use concepts, over the draws that find each; without words a row uses none."""

    weight: sparse.csr_array  # (D, J) mean share of the tokens
    held: sparse.csr_array  # (D, J) share of the draws in which it is used
    typical: sparse.csr_array  # (D, J) whether that is at least half: what is listed and counted


class Catalog:
    """Hold the tables of one model; concepts have ids (1, 2, …), documents and rows are counted from 0.

    `worker` computes what follows from formulas; without it (the model was never saved) the model itself does.
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
        self.called = lru_cache(KEPT_TABLES)(self._call)

    def _call(self, method: str, *given: Any) -> Any:
        """Return what a method of the model returns; `called` keeps the latest results."""
        if method in FORMULAS and self.worker is not None:
            return self.worker.call(list(self.model.choices_), method, *given)
        return getattr(self.model, method)(*given)

    def renamed(self, model: ConceptModel) -> Catalog:
        """Return a copy for a model with other names and themes, which shares what was computed."""
        other = copy.copy(self)
        other.__dict__.update(model=model)
        for name in _WITH_NAMES:
            other.__dict__.pop(name, None)
        return other

    @property
    def names(self) -> list[str]:
        return [self.model.names_.get(j, name) for j, name in enumerate(self.automatic_names, 1)]

    @cached_property
    def automatic_names(self) -> list[str]:
        return automatic_names(self.model.result_)

    def as_sampled(self, concept: int) -> dict[str, Any]:
        """Return a concept that is merged or hidden, by its own words."""
        return {"concept": concept, "name": self.model.names_.get(concept, self._sampled_names[concept - 1])}

    @cached_property
    def _sampled_names(self) -> list[str]:
        return automatic_names(self.model.sampled_)

    def merged(self) -> dict[int, list[int]]:
        """Return the concepts that are merged into each one that is shown."""
        decided, members = decisions(self.model.choices_), dict[int, list[int]]()
        for one, into in decided.merged.items():
            members.setdefault(into, []).append(one)
        return {into: those for into, those in members.items() if into not in decided.away}

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
        named = rows.assign(name=self.names_of(rows["concept"]).to_numpy())
        return tables.marked(self.model.result_, named).sort_values("leftover", kind="stable")

    def names_of(self, concepts: Sequence[int | None] | pd.Series) -> pd.Series:
        """Return a column of concepts' names; None for no concept."""
        names = self.names
        return objects(None if j is None else names[j - 1] for j in concepts)

    @property
    def n_pilots(self) -> int:
        """Return the number of fits to samples in which concepts were looked for again."""
        pilots = self.model.result_.pilots
        return 0 if pilots is None else pilots.n_pilots

    @cached_property
    def verdict(self) -> str:
        return str(self.model.verdict())

    @cached_property
    def tree(self) -> themes.ConceptTree:
        return self.model.tree()

    @cached_property
    def themes(self) -> pd.DataFrame:
        return themes.theme_table(self.model.result_, self.tree)

    @cached_property
    def alike(self) -> np.ndarray:
        """Return (J, J) how alike two of the concepts shown are."""
        result = self.model.result_
        shown = np.array(result.shown, int) - 1
        words = tables.by_word(result, result.summary.words.used)
        return themes.likeness(words[shown], sparse.csr_array(result.weights[:, shown]))

    @cached_property
    def document_map(self) -> dict[str, Any]:
        """Return the map of documents, with regions by their main concepts."""
        return themes.document_map(self.model.result_, _MOST_DOCUMENTS)

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
        chosen = [name for name in self.corpus.notes.get("groups", []) if name in self.corpus.metadata]
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
    def shown_groups(self) -> dict[str, Any]:
        """Return the first columns of groups, as tables of documents show them."""
        return {f"label {name}": self.column(name) for name in list(self.group_columns)[:SHOWN_GROUP_COLUMNS]}

    @cached_property
    def row_names(self) -> pd.DataFrame:
        """Return number, label, id and shown groups of the corpus's rows."""
        return self._names_of("row", documents.row_labels(self.corpus), self.corpus.ids, self.corpus.metadata)

    @cached_property
    def document_names(self) -> pd.DataFrame:
        """Return number, label, id and shown groups of the whole documents."""
        return self._names_of("number", documents.document_labels(self.corpus), *tables.sources(self.corpus))

    def _names_of(self, number: str, labels: list[str], ids: Sequence[str], metadata: pd.DataFrame) -> pd.DataFrame:
        groups = {
            name: objects(None if pd.isna(value) else str(value) for value in metadata[key])
            for name, key in self.shown_groups.items()
        }
        return pd.DataFrame({number: np.arange(len(ids)), "label": objects(labels), "document": objects(ids), **groups})

    @cached_property
    def passages(self) -> sparse.csr_array:
        """Return (documents, rows) 1 where a row is a passage of the document."""
        return documents.rows_of_documents(self.model.result_)

    @cached_property
    def n_tokens(self) -> np.ndarray:
        return np.asarray(self.corpus.counts.sum(axis=1)).ravel().astype(int)

    @cached_property
    def use(self) -> Use:
        """Return how the corpus's rows use concepts."""
        return self._use(None)

    @cached_property
    def document_use(self) -> Use:
        """Return how whole documents use concepts; each passage counts by its tokens."""
        return self._use(tables.source_shares(self.corpus))

    def _use(self, fold: sparse.csr_array | None) -> Use:
        n_rows = self.corpus.n_documents if fold is None else fold.shape[0]
        weight = sparse.csr_array((n_rows, self.model.n_concepts_))
        held = weight.copy()
        for one, share in zip(drawn_weights(self.model.result_), draw_weights(self.model.result_)):
            of_draw = sparse.csr_array(one @ sparse.diags_array(share))
            of_draw.eliminate_zeros()
            of_draw = of_draw if fold is None else sparse.csr_array(fold @ of_draw)
            weight = weight + of_draw
            held = held + sparse.csr_array((of_draw > 0) @ sparse.diags_array(share))
        typical = sparse.csr_array(held >= TYPICAL)
        for matrix in (weight, held, typical):
            matrix.sort_indices()
        return Use(weight, held, typical)

    @cached_property
    def _use_by_concept(self) -> tuple[sparse.csc_array, sparse.csc_array]:
        return sparse.csc_array(self.use.weight), sparse.csc_array(self.use.held)

    def holders(self, concept: int) -> pd.DataFrame:
        """Return rows with a concept in at least half of the draws, by w · log(1 + w N_d)."""
        j = tables.concept_index(self.model.result_, concept)
        weight, held = (matrix[:, [j]].toarray().ravel() for matrix in self._use_by_concept)
        row = np.flatnonzero(held >= TYPICAL)
        evidence = weight[row] * np.log1p(weight[row] * self.n_tokens[row])
        row = row[np.lexsort((row, -evidence))]
        known = self.row_names.iloc[row].reset_index(drop=True)
        return known.assign(weight=weight[row], probability=np.minimum(held[row], 1.0), tokens=self.n_tokens[row])

    @cached_property
    def listed_rows(self) -> pd.DataFrame:
        """Return the corpus's rows with the number of concepts of each and its strongest one."""
        return _with_concepts(self.row_names, self.n_tokens, self.use)

    @cached_property
    def listed_documents(self) -> pd.DataFrame:
        """Return the same of whole documents, with the number of their passages."""
        tokens = (self.passages @ self.n_tokens).astype(int)
        rows = _with_concepts(self.document_names, tokens, self.document_use)
        return rows.assign(passages=np.diff(self.passages.indptr))


def _with_concepts(rows: pd.DataFrame, tokens: np.ndarray, use: Use) -> pd.DataFrame:
    weights = use.weight
    strongest = objects(
        int(weights.indices[a + np.argmax(weights.data[a:b])]) + 1 if b > a else None
        for a, b in pairwise(weights.indptr)
    )
    return rows.assign(tokens=tokens, n_concepts=np.diff(use.typical.indptr), strongest=strongest)
