"""What a fit leaves in a model, and the attributes that are read from it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray
from sklearn.base import BaseEstimator

from superwords.concepts.result import Result
from superwords.container import Choice
from superwords.corpus.corpus import Corpus
from superwords.draws import ChainDraws, Draws, Kept
from superwords.fitting.moves import move_statistics
from superwords.fitting.running import Schedule
from superwords.sampler.chain import Chain


class UnknownWords(NamedTuple):
    """Tokens of new documents that were left out, and some of their words, the most frequent first."""

    n_tokens: int
    examples: list[str]


class FittedModel(BaseEstimator):
    """The attributes of `ConceptModel`; what works on a fitted model needs nothing but them."""

    corpus_: Corpus
    seed_: int
    choices_: list[Choice]
    chains_: list[Chain]
    kept_: list[ChainDraws]
    schedule_: Schedule
    order_: np.ndarray
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
        """The most probable draw of the chains that predict held-out tokens well."""
        return self.result_.best_draw

    @property
    def consensus_draw_(self) -> Kept:
        """The draw closest to the posterior co-membership."""
        return self.result_.consensus_draw

    @property
    def n_concepts_(self) -> int:
        """Concepts of `best_draw_`, which are those of every table."""
        return self.result_.n_concepts

    @property
    def concept_word_(self) -> np.ndarray:
        """(J, V): share of the documents holding j that have word i on, m_ji / m_j."""
        return self.result_.concept_word

    @property
    def doc_concept_(self) -> Any:
        """(D, J): normalised weights of the most probable draw, 0 exactly where a concept is off.

        The mean of π given the draw's imputed tokens, (α_π + n_dj)/(J_d α_π + N_d). Sparse above 50 million cells.
        """
        return self.result_.doc_concept

    @property
    def co_membership_(self) -> Any:
        """(V, V): posterior probability that two words are on in the same concept; sparse above 5,000 words."""
        return self.result_.co_membership

    @property
    def trace_(self) -> xarray.DataTree:
        """Traces in ArviZ layout; `posterior` has "log_joint", "n_concepts", "n_memberships" and "n_words_on".

        `moves` has what the moves of each chain tried and accepted, and their seconds (see `moves()`).
        """
        trace = self.result_.trace.copy()
        trace["moves"] = xarray.DataTree(move_statistics(self.chains_))
        return trace

    @property
    def names_(self) -> dict[int, str]:
        """Names that people gave to concepts, by id; they are kept in the model file."""
        return self.result_.names
