"""What a fit leaves behind: the chains, their draws, people's choices, and the arrays that follow from them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from superwords.analysis import curation
from superwords.errors import InputError
from superwords.posterior.draws import ChainDraws, Draws, Schedule
from superwords.posterior.resampling import Pilots
from superwords.posterior.result import Result
from superwords.posterior.trace_tree import for_arviz, trace_tree
from superwords.sampler.chain import MOVES, PROPOSALS, Chain
from superwords.storage.model_file import Choice
from superwords.text.corpus import Corpus

if TYPE_CHECKING:
    import xarray


class UnfittedError(InputError, NotFittedError):
    """The model has not seen any documents yet."""


class UnknownWords(NamedTuple):
    """Tokens of new documents that were left out, and some of their words, the most frequent first."""

    n_tokens: int
    examples: list[str]


def _of_result(name: str, description: str) -> Any:
    """Return a property that reads an attribute of `result_`."""

    def read(self: FittedModel) -> Any:
        return getattr(self.result_, name)

    return property(read, doc=description)


class FittedModel(TransformerMixin, BaseEstimator):
    """The fitted attributes of a `ConceptModel`."""

    corpus_: Corpus
    order_: np.ndarray
    seed_: int
    schedule_: Schedule
    chains_: list[Chain]
    kept_: list[ChainDraws]
    pilots_: Pilots
    choices_: list[Choice]
    identity_: str  # of the file that the model was read from
    unknown_words_: UnknownWords
    n_jobs: int | None

    if not TYPE_CHECKING:  # else every name would pass for an attribute

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says so where a fitted attribute is read before a fit."""
            is_known = name in FittedModel.__annotations__ or hasattr(type(self), name)
            if not self.__sklearn_is_fitted__() and is_known:
                raise UnfittedError("This ConceptModel is not fitted yet; call fit first.")
            return object.__getattribute__(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "chains_" in self.__dict__

    @cached_property
    def result_(self) -> Result:
        """What was found, with people's choices, read-only: tables, plots and pages are made of it."""
        return curation.curated(self.sampled_, self.choices_)

    @cached_property
    def sampled_(self) -> Result:
        """What was found, before anything that people decided about it."""
        prior, pilots = self.chains_[0].model.prior, self.__dict__.get("pilots_")
        return Result(self.corpus_, self.order_, prior, Draws(self.kept_), pilots=pilots)

    def _forget(self) -> None:
        """Drop what was computed from earlier draws."""
        for name in ("sampled_", "result_", "unknown_words_"):
            self.__dict__.pop(name, None)

    def _carry_choices(self, before: sparse.csc_array | None) -> None:
        """Keep people's choices about concepts that are still there, and warn of those that are lost."""
        if before is not None:
            self.choices_, lost = curation.carried(self.choices_, before, self.sampled_.consensus.description)
            for sentence in lost:
                warnings.warn(sentence, stacklevel=4)

    @property
    def n_features_in_(self) -> int:
        """Words of the vocabulary; scikit-learn's name for the number of columns that `fit` saw."""
        return self.result_.corpus.n_words

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The words of the vocabulary, under scikit-learn's name for them."""
        return np.array(self.result_.corpus.vocabulary, dtype=object)

    @property
    def concept_word_(self) -> np.ndarray:
        """(J, V): share of the documents holding j that have word i on, m_ji / m_j, the mean over the draws."""
        return self.result_.concept_word[self._shown]

    @property
    def doc_concept_(self) -> Any:
        """(D, J): posterior mean weights of the listed concepts, 0 where a document never uses a concept.

        The mean over the draws of n_dj / N_d, the share of the document's tokens that is imputed to the concept; rows
        may sum to less than 1. Sparse above 50 million cells. Columns are those of `get_feature_names_out`.
        """
        return self.result_.doc_concept[:, self._shown]

    @property
    def _shown(self) -> slice | list[int]:  # columns (0, 1, …) of the concepts that people left in place
        return [j - 1 for j in self.result_.shown] if self.result_.excluded else slice(None)

    @property
    def trace_(self) -> Any:
        """Traces in ArviZ layout: an xarray DataTree, or an `InferenceData` where ArviZ 0.x is installed.

        `posterior` has, by chain and draw, "log_joint", "n_concepts", "n_memberships" and "n_words_on"; "prevalence"
        and "strength" by listed "concept", NaN where a draw has no match of one; and the hyperparameters that vary
        ("b1", "b2", "alpha_omega", and "theta" by word). Above 1,000 kept draws, those of concepts and hyperparameters
        are in the group `concepts`, over evenly spaced draws. `sample_stats` has the log density, the sweep and, where
        all draws are stored, the acceptance rate; `log_likelihood` that of each document in the spaced draws;
        `observed_data` its number of tokens; `moves` the counts and seconds of each chain's moves (see `moves()`).
        """
        import xarray  # takes a tenth of a second, and is not needed to sample

        trace = trace_tree(self.result_)
        trace["moves"] = xarray.DataTree(move_statistics(self.chains_))
        return for_arviz(trace)

    def moves(self) -> pd.DataFrame:
        """Return what each move proposed, what was accepted and the time it took, over all chains.

        Returns
        -------
        DataFrame
            A row per move and kind of proposal; Gibbs steps propose nothing. The time is in a move's first row.

        Examples
        --------
        >>> int(model.moves().set_index("proposal").loc["split", "tried"]) > 0
        True
        """
        rows = []
        for move in MOVES:
            called = move.replace("_merge", " and merge").replace("_", " ")
            seconds = sum(chain.seconds.get(move, 0.0) for chain in self.chains_)
            for kind in PROPOSALS.get(move, ("",)):
                tried, accepted = (
                    sum(getattr(chain, name)[kind] for chain in self.chains_) if kind else np.nan
                    for name in ("tried", "accepted")
                )
                rows.append([called, kind, tried, accepted, accepted / tried if tried else np.nan, seconds])
                seconds = np.nan
        table = pd.DataFrame(rows, columns=["move", "proposal", "tried", "accepted", "acceptance", "seconds"])
        return table.assign(time_share=table["seconds"] / (table["seconds"].sum() or np.nan))

    draws_ = _of_result("draws", "The kept draws of all chains; row r of a draw is document `order_[r]`.")
    best_draw_ = _of_result("best_draw", "The most probable of the spaced draws.")
    consensus_draw_ = _of_result("consensus_draw", "The spaced draw whose concepts are most like the listed ones.")
    n_concepts_ = _of_result("n_concepts", "How many concepts are listed: the consensus over chains.")
    descriptions_ = _of_result("descriptions", "Sentences that describe concepts, by number, as they were proposed.")
    names_ = _of_result("names", "Names that people gave to concepts, by number; they are kept in the model file.")
    co_membership_ = _of_result(
        "co_membership",
        """(V, V): posterior probability that two words are on in the same concept; sparse above 5,000 words.

        Each in at least one document. On a large corpus this is near 1 for most pairs, because some document has
        almost every word on in a concept; `similar_words` compares how often words are used for the same concepts.
        """,
    )


def move_statistics(chains: Sequence[Chain]) -> xarray.Dataset:
    """Return the counts by chain: `tried` and `accepted` by proposal, `seconds` by move."""
    import xarray

    kinds = [kind for known in PROPOSALS.values() for kind in known]
    counts = {
        name: [[getattr(chain, name)[kind] for kind in kinds] for chain in chains] for name in ("tried", "accepted")
    }
    seconds = [[chain.seconds.get(move, 0.0) for move in MOVES] for chain in chains]
    return xarray.Dataset(
        {name: (("chain", "proposal"), np.array(values, int)) for name, values in counts.items()}
        | {"seconds": (("chain", "move"), np.array(seconds, float))},
        {"chain": np.arange(len(chains)), "proposal": kinds, "move": list(MOVES)},
    )
