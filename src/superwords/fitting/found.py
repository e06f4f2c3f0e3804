"""What a fitted model tells: its tables, each a line that reads the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis import groups, tables
from superwords.analysis import representatives as examples
from superwords.analysis import verdict as agreement
from superwords.fitting.fitted_model import FittedModel
from superwords.fitting.moves import move_table
from superwords.search import discovery
from superwords.search import index as searching


class FoundConcepts(FittedModel):
    """The read-only half of `ConceptModel`. The examples use the `model` of the example in `ConceptModel`."""

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : ignored
            Here because scikit-learn's pipelines give it.

        Returns
        -------
        array of str
            "concept_1", "concept_2", …, numbered as in every table. Concepts that people merged into others or hid have
            no column.

        Examples
        --------
        >>> str(model.get_feature_names_out()[0])
        'concept_1'
        """
        return np.array([f"concept_{j}" for j in self.result_.shown], dtype=object)

    def concepts(self, n_words: int = tables.TOP_WORDS) -> pd.DataFrame:
        """Return all concepts, those of most documents first.

        Parameters
        ----------
        n_words : int
            How many words of each concept to list.

        Returns
        -------
        DataFrame
            A row per concept: its number and name, prevalence, strength, first words and stability, and whether
            it is a leftover. docs/model.md explains every column.

        Examples
        --------
        >>> len(model.concepts()) == model.n_concepts_
        True
        """
        return tables.of_present(self.result_, tables.concept_table(self.result_, n_words))

    def other_concepts(self, n_words: int = tables.TOP_WORDS) -> pd.DataFrame:
        """Return concepts that at least two chains find and `concepts()` lacks, with the chains that find them.

        Parameters
        ----------
        n_words : int
            How many words of each concept to list.

        Returns
        -------
        DataFrame
            A row per concept.

        Examples
        --------
        >>> "found_by" in model.other_concepts()
        True
        """
        return tables.other_table(self.result_, n_words)

    def top_words(self, concept: int, n: int = tables.TOP_WORDS) -> list[str]:
        """Return the characteristic words that are used for a concept, the best first.

        Parameters
        ----------
        concept : int
            Its number: 1, 2, …
        n : int
            How many words at most.

        Returns
        -------
        list of str

        Examples
        --------
        >>> set(model.top_words(1, n=3)) <= set(model.corpus_.vocabulary)
        True
        """
        return tables.top_words(self.result_, concept, n)

    def words_of(self, concept: int) -> pd.DataFrame:
        """Return the words of a concept and how sure each is.

        Parameters
        ----------
        concept : int
            Its number: 1, 2, …

        Returns
        -------
        DataFrame
            A row per word.

        Examples
        --------
        >>> "word" in model.words_of(1)
        True
        """
        return tables.word_table(self.result_, concept)

    def words(self) -> pd.DataFrame:
        """Return every word with the concepts that use it.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> set(model.words()["word"]) <= set(model.corpus_.vocabulary)
        True
        """
        return tables.vocabulary_table(self.result_)

    def documents(self, passages: bool = False) -> pd.DataFrame:
        """Return the concepts that each document uses, with their weights and intervals.

        Parameters
        ----------
        passages : bool
            Whether to list passages where these are the model's rows; otherwise, their documents.

        Returns
        -------
        DataFrame
            A row per document and concept that it holds.

        Examples
        --------
        >>> set(model.documents()["document"]) <= set(model.corpus_.ids)
        True
        """
        return tables.marked(self.result_, tables.document_table(self.result_, passages))

    def representative_documents(self, concept: int, n: int = 5) -> pd.DataFrame:
        """Return typical documents of a concept, with a passage where texts are kept.

        Parameters
        ----------
        concept : int
            Its number: 1, 2, …
        n : int
            How many documents at most.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> len(model.representative_documents(1, n=2)) <= 2
        True
        """
        return examples.representative_documents(self.result_, concept, n)

    def similar_words(self, words: str | Sequence[str], n: int = 20) -> pd.DataFrame:
        """Return words that share concepts with one word, or belong with several, the nearest first.

        Parameters
        ----------
        words : str or list of str
            A word of the vocabulary, or several.
        n : int
            How many words at most.

        Returns
        -------
        DataFrame
            `word`, `together` (the probability that a use of it and a use of the given word are for the same concept;
            of several words, the mean over them) and `mcse`, its Monte-Carlo standard error. Of several words also
            `evidence`, by which the table is sorted: how far the word's uses are for their concepts, and in
            their company, beyond chance, in standard deviations (docs/guide.md).

        Examples
        --------
        >>> "coffee" in model.similar_words("milk")["word"].tolist()
        True
        >>> model.similar_words(["milk", "sugar"], n=1)["word"].tolist()
        ['coffee']
        """
        return examples.similar_words(self.result_, words, n)

    def by_group(self, column: str, n_words: int = tables.TOP_WORDS) -> pd.DataFrame:
        """Return prevalence, strength and words of each concept among each group of a metadata column.

        Parameters
        ----------
        column : str
            A column of `corpus_.metadata`.
        n_words : int
            How many words of each group to list.

        Returns
        -------
        DataFrame
            A row per concept and group.

        Examples
        --------
        >>> sorted(set(model.by_group("place")["group"]))
        ['harbour', 'kitchen']
        """
        return tables.listed(self.result_, groups.by_group(self.result_, column, n_words))

    def compare_groups(self, column: str, first: Any = None, second: Any = None) -> pd.DataFrame:
        """Return prevalence of each concept in one group less that in another, with intervals.

        Parameters
        ----------
        column : str
            A column of `corpus_.metadata`.
        first, second : optional
            The groups; may be left out where there are only two.

        Returns
        -------
        DataFrame
            A row per concept.

        Examples
        --------
        >>> len(model.compare_groups("place")) == model.n_concepts_
        True
        """
        return tables.listed(self.result_, groups.compare_groups(self.result_, column, first, second))

    def group_words(self, column: str, concept: int) -> pd.DataFrame:
        """Return the words each group uses for a concept, with intervals.

        Parameters
        ----------
        column : str
            A column of `corpus_.metadata`.
        concept : int
            Its number: 1, 2, …

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> "group" in model.group_words("place", 1)
        True
        """
        return groups.group_words(self.result_, column, concept)

    def search(self, query: str, n: int = 10) -> pd.DataFrame:
        """Return documents that match a query, the best first.

        Parameters
        ----------
        query : str
            Words, as one would type them.
        n : int
            How many documents at most.

        Returns
        -------
        DataFrame
            With the columns document, score, and the words and concepts that link each to the query.

        Examples
        --------
        >>> list(model.search("coffee", n=3).columns[:2])
        ['document', 'score']
        """
        return searching.search(self.result_, query, n)

    def diverse(self, n: int, among: Any = None) -> pd.DataFrame:
        """Return documents that together cover the collection.

        Parameters
        ----------
        n : int
            How many documents.
        among : list of ids or DataFrame, optional
            The documents to choose from, by id or as `search` found them; all if not given.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> len(model.diverse(2))
        2
        """
        return discovery.diverse(self.result_, n, among)

    def recommend(self, liked: Sequence[Any] = (), disliked: Sequence[Any] = (), n: int = 10) -> pd.DataFrame:
        """Return documents for a reader who liked some and disliked others, with intervals.

        Parameters
        ----------
        liked, disliked : list of ids
            The documents that were judged.
        n : int
            How many documents at most.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> len(model.recommend(liked=["0"], n=3))
        3
        """
        return discovery.recommend(self.result_, liked, disliked, n)

    def tastes(self, liked: Sequence[Any] = (), disliked: Sequence[Any] = ()) -> pd.DataFrame:
        """Return what judgements imply for each concept, the most liked first, with intervals.

        Parameters
        ----------
        liked, disliked : list of ids
            The documents that were judged.

        Returns
        -------
        DataFrame
            A row per concept.

        Examples
        --------
        >>> len(model.tastes(liked=["0"])) > 0
        True
        """
        return discovery.tastes(self.result_, liked, disliked)

    def convergence(self) -> pd.DataFrame:
        """R-hat, bulk and tail effective sample size and Monte-Carlo error of what is reported.

        Returns
        -------
        DataFrame
            A row for the log joint density, and for the prevalence and the strength of each concept.

        Examples
        --------
        >>> "rhat" in model.convergence()
        True
        """
        return agreement.convergence_table(self.result_)

    def moves(self) -> pd.DataFrame:
        """What every move of the sweeps so far tried, what was accepted, and the time it took, over all chains.

        Returns
        -------
        DataFrame
            A row per move and kind of proposal; Gibbs steps propose nothing. The time is in a move's first row.

        Examples
        --------
        >>> int(model.moves().set_index("proposal").loc["split", "tried"]) > 0
        True
        """
        return move_table(self.chains_)

    def verdict(self) -> agreement.Verdict:
        """Return what the fit can be used for: which concepts were found again, and the Monte-Carlo error.

        Returns
        -------
        Verdict
            Fields such as `converged`, `n_listed`, `n_reliable`, `covered`, `worst` and `reason`; its `str` is a
            few sentences to quote.

        Examples
        --------
        >>> model.verdict().n_listed == model.n_concepts_
        True
        """
        return agreement.verdict(self.result_)
