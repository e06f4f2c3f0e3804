"""How concepts relate to time, to the columns of the documents, and to one another."""

from __future__ import annotations

from typing import Any

import pandas as pd

from superwords.concepts import effects, over_time, themes
from superwords.fitting.found import FoundConcepts


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
        return over_time.over_time(self.result_, column, by)

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
        return over_time.trends(self.result_, column, by)

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

    def effects(self, formula: str, of: str = "prevalence") -> pd.DataFrame:
        """How prevalence or strength depends on several columns at once (docs/effects.md).

        Parameters
        ----------
        formula : str
            Columns joined by +, such as "party + chamber + date".
        of : str
            "prevalence" or "strength".

        Returns
        -------
        DataFrame
            A row per concept and term: the effect with its interval, adjusted for the other columns, and unadjusted.

        Examples
        --------
        >>> model.effects("place + year")["concept"].nunique() == model.n_concepts_
        True
        """
        return effects.effects(self.result_, formula, of)

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
