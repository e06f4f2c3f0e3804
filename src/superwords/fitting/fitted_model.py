"""What a fit leaves in a model, and the attributes that are read from it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray
from sklearn.base import BaseEstimator

from superwords.fitting.moves import move_statistics
from superwords.fitting.running import Schedule
from superwords.posterior.draws import ChainDraws, Draws, Kept
from superwords.posterior.resampling import Pilots
from superwords.posterior.result import Result
from superwords.posterior.trace_tree import trace_tree
from superwords.sampler.chain import Chain
from superwords.storage.model_file import Choice
from superwords.text.corpus import Corpus


class UnknownWords(NamedTuple):
    """Tokens of new documents that were left out, and some of their words, the most frequent first."""

    n_tokens: int
    examples: list[str]


class FittedModel(BaseEstimator):
    """The attributes of `ConceptModel`; what works on a fitted model needs nothing but them."""

    corpus_: Corpus
    seed_: int
    choices_: list[Choice]
    identity_: str  # of the file that the model was read from
    chains_: list[Chain]
    kept_: list[ChainDraws]
    schedule_: Schedule
    order_: np.ndarray
    pilots_: Pilots
    unknown_words_: UnknownWords
    sampled_: Result
    result_: Result
    n_jobs: int | None
    approximate: str | None

    @property
    def n_features_in_(self) -> int:
        """Words of the vocabulary; scikit-learn's name for the number of columns that `fit` saw."""
        return self.result_.corpus.n_words

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The words of the vocabulary, under scikit-learn's name for them."""
        return np.array(self.result_.corpus.vocabulary, dtype=object)

    @property
    def draws_(self) -> Draws:
        """The kept draws of all chains; row r of a draw is document `order_[r]`."""
        return self.result_.draws

    @property
    def best_draw_(self) -> Kept:
        """The most probable of the spaced draws."""
        return self.result_.best_draw

    @property
    def consensus_draw_(self) -> Kept:
        """The spaced draw whose concepts are most like the listed ones."""
        return self.result_.consensus_draw

    @property
    def n_concepts_(self) -> int:
        """Concepts that are listed, which are those of every table: the consensus over chains."""
        return self.result_.n_concepts

    @property
    def concept_word_(self) -> np.ndarray:
        """(J, V): share of the documents holding j that have word i on, m_ji / m_j, the mean over the draws."""
        return self.result_.concept_word[self._shown]

    @property
    def doc_concept_(self) -> Any:
        """(D, J): posterior mean weights of the listed concepts, 0 where a document never uses a concept.

        The mean over the draws of n_dj / N_d, the share of the document's tokens that is imputed to the concept.
        Tokens of concepts that are not listed count nowhere, so rows may sum to less than 1. Sparse above 50 million
        cells. Columns are those of `get_feature_names_out`: concepts that people merged into others or hid have none.
        """
        return self.result_.doc_concept[:, self._shown]

    @property
    def _shown(self) -> slice | list[int]:
        """Columns (0, 1, …) of the concepts that people left in place."""
        return [j - 1 for j in self.result_.shown] if self.result_.away else slice(None)

    @property
    def co_membership_(self) -> Any:
        """(V, V): posterior probability that two words are on in the same concept; sparse above 5,000 words.

        Each in at least one document. On a large corpus this is near 1 for most pairs, because some document has
        almost every word on in a concept; `similar_words` compares how often words are used for the same concepts.
        """
        return self.result_.co_membership

    @property
    def trace_(self) -> xarray.DataTree:
        """Traces in ArviZ layout; `posterior` has "log_joint", "n_concepts", "n_memberships" and "n_words_on".

        `moves` has what the moves of each chain tried and accepted, and their seconds (see `moves()`).
        """
        trace = trace_tree(self.result_)
        trace["moves"] = xarray.DataTree(move_statistics(self.chains_))
        return trace

    @property
    def names_(self) -> dict[int, str]:
        """Names that people gave to concepts, by id; they are kept in the model file."""
        return self.result_.names
