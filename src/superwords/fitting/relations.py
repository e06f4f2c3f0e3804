"""How concepts relate to time, to the columns of the documents, and to one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis import effects, over_time, tables, themes
from superwords.analysis import export as exporting
from superwords.analysis.curation import decisions, gathering
from superwords.analysis.design import MIN_GROUP
from superwords.analysis.regression_data import Outcomes, folded_outcomes
from superwords.analysis.tables import concept_table
from superwords.errors import InputError
from superwords.fitting.folding import transform
from superwords.fitting.found import FoundConcepts
from superwords.text.corpus import Corpus


def _options(
    reference: Mapping[str, Any] | None, groups: Mapping[str, Any] | None, min_group: int, cluster: str | None
) -> dict[str, Any]:
    return {"reference": reference, "groups": groups, "min_group": min_group, "cluster": cluster}


class RelatedConcepts(FoundConcepts):
    """The relating part of `ConceptModel`. The examples use the `model` of the example in `ConceptModel`."""

    def over_time(self, column: str, by: Any = None) -> pd.DataFrame:
        """Prevalence and strength of every concept by period, with intervals; periods without documents are there.

        Parameters
        ----------
        column : str
            A column of dates, years or numbers.
        by : str or number
            "day", "week", "month", "quarter", "year" or "decade" of dates, a width of numbers; chosen if None.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> model.over_time("year")["period"].unique().tolist()
        ['2001', '2002', '2003', '2004']
        """
        return tables.marked(self.result_, over_time.over_time(self.result_, column, by))

    def trends(self, column: str, by: Any = None) -> pd.DataFrame:
        """What rises and what falls over time, and the probability that it does.

        Parameters
        ----------
        column, by
            As of `over_time`.

        Returns
        -------
        DataFrame
            What rises most surely first.

        Examples
        --------
        >>> len(model.trends("year")) == model.n_concepts_
        True
        """
        return tables.marked(self.result_, over_time.trends(self.result_, column, by))

    def words_over_time(self, column: str, concept: int) -> pd.DataFrame:
        """A concept's words in the earlier and in the later half of the documents.

        Parameters
        ----------
        column : str
            As of `over_time`.
        concept : int
            Its number.

        Returns
        -------
        DataFrame
            The words whose use changed most first.

        Examples
        --------
        >>> "change" in model.words_over_time("year", 1)
        True
        """
        return over_time.words_over_time(self.result_, column, concept)

    def effects(
        self,
        formula: str,
        of: str = "prevalence",
        *,
        reference: Mapping[str, Any] | None = None,
        groups: Mapping[str, Any] | None = None,
        min_group: int = MIN_GROUP,
        cluster: str | None = None,
        X: Any = None,
        metadata: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """Estimate how prevalence or strength depends on several columns at once (docs/effects.md).

        Parameters
        ----------
        formula : str
            Columns joined by +, such as "party + chamber + date".
        of : str
            "prevalence" or "strength".
        reference : dict
            For a column, the group that the others are compared with, such as {"party": "D"}.
        groups : dict
            For a column, the groups whose documents are used, such as {"party": ["D", "R"]}.
        min_group : int
            Groups of fewer documents are pooled as "other".
        cluster : str
            A column of authors or other sources whose documents are not independent of one another.
        X : Corpus or list of str
            New documents, which are folded in; those of the fit if None.
        metadata : DataFrame
            The columns of the new documents, a row each; those of `X` if it is a Corpus.

        Returns
        -------
        DataFrame
            A row per concept and term: the effect with its interval, adjusted for the other columns, and unadjusted.

        Examples
        --------
        >>> model.effects("place + year")["concept"].nunique() == model.n_concepts_
        True
        """
        options = _options(reference, groups, min_group, cluster)
        found = effects.effects(self.result_, formula, of, **options, outcomes=self._outcomes(X, metadata))
        return tables.marked(self.result_, found)

    def predicted(
        self,
        formula: str,
        by: str | Sequence[str],
        of: str = "prevalence",
        *,
        reference: Mapping[str, Any] | None = None,
        groups: Mapping[str, Any] | None = None,
        min_group: int = MIN_GROUP,
        cluster: str | None = None,
        X: Any = None,
        metadata: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """Predict prevalence or strength by group, over time, or by group over time, with intervals.

        Parameters
        ----------
        formula, of, reference, groups, min_group, cluster, X, metadata
            As of `effects`.
        by : str or list of str
            Columns of the formula: "party", "date", or ["date", "party"].

        Returns
        -------
        DataFrame
            A row per concept and value of `by`, averaged over the other columns as the documents have them.

        Examples
        --------
        >>> model.predicted("place + year", by="place")["place"].unique().tolist()
        ['harbour', 'kitchen']
        """
        options = _options(reference, groups, min_group, cluster)
        outcomes = self._outcomes(X, metadata)
        return effects.predicted(self.result_, formula, by, of, **options, outcomes=outcomes)

    def _outcomes(self, X: Any, metadata: pd.DataFrame | None) -> Outcomes | None:
        """Fold new documents in; None without any."""
        if X is None:
            return None
        table = X.metadata if metadata is None and isinstance(X, Corpus) else metadata
        if not isinstance(table, pd.DataFrame):
            raise InputError(
                "New documents need their columns; give metadata=DataFrame with a row per document."
            )
        weight, held = (sparse.csr_array(part) for part in transform(self, X, return_inclusion=True))
        if len(table) != held.shape[0]:
            raise InputError(
                f"metadata has {len(table):,} rows for {held.shape[0]:,} documents; give a row each."
            )
        decided = decisions(self.choices_)
        if decided.away:  # a merged concept is used where any of its parts is
            joined = gathering(decided.columns(held.shape[1]))
            held = sparse.csr_array(-np.expm1(np.log1p(-np.minimum(held.toarray(), 1 - 1e-12)) @ joined))
        overall = concept_table(self.result_, 0)["prevalence"].fillna(0.0).to_numpy(float)
        return folded_outcomes(table.reset_index(drop=True), weight, held, overall)

    def export(
        self, path: str | Path, format: str | None = None, table: str = "all", **options: Any
    ) -> list[Path]:
        """Write tables for other programs, or as they are printed in a paper (docs/paper.md).

        Parameters
        ----------
        path : str or Path
            A file, or the folder of all tables.
        format : str, optional
            "csv", "parquet", "xlsx", "latex", "docx", "json", "netcdf" or "pyldavis"; by the ending if not given.
        table : str
            "concepts", "words", "documents", "documents_wide", "vocabulary", "groups", "trends", "periods", "effects",
            "quotes" or "all".
        **options
            groups (columns), time (a column), formula and cluster (of the effects).

        Returns
        -------
        list of Path
            The files.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in model.export(f"{folder}/concepts.tex", table="concepts")]
        ['concepts.tex']
        """
        return exporting.export(self, path, format, table, **options)

    def tree(self) -> themes.ConceptTree:
        """Concepts as a tree by shared words and documents, cut into themes where the draws agree most.

        Returns
        -------
        ConceptTree
            Its `table` has the themes, `linkage` is scipy's, `as_json()` is for pages.

        Examples
        --------
        >>> len(model.tree().order) == model.n_concepts_
        True
        """
        return themes.make_tree(self.result_)

    def themes(self) -> pd.DataFrame:
        """Themes and how many documents speak of them: those that people made, else those of the tree.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> sorted(j for concepts in model.themes()["concepts"] for j in concepts) == model.result_.shown
        True
        """
        return themes.theme_table(self.result_)
