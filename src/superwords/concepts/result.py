"""What a fit found, read-only: all that tables, plots and pages are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import xarray
from scipy import sparse

from superwords.concepts.alignment import Usage, reordered, usage_of
from superwords.concepts.sets import WordSets, co_membership, word_sets
from superwords.concepts.stacking import chain_weights
from superwords.concepts.summary import Summary, shared_weights, summarize
from superwords.corpus.corpus import Corpus
from superwords.draws import Draws, Kept
from superwords.sampler.model import Prior
from superwords.sampler.state import n_concepts, sizes_of

_DENSE_WEIGHTS = 50_000_000


@dataclass
class Result:
    """The kept draws of a corpus and what follows from them, each computed on first use.

    Parameters
    ----------
    corpus
        The documents, in the order they were given.
    order
        Row r of a draw is document ``order[r]`` of the corpus.
    prior
        The prior of the fit, of which the documents' weights need α_π.
    draws
        The kept draws of all chains.
    names
        Names that people gave to concepts, by id (1, 2, …).
    away
        Concepts that people merged into others or hid, and which of the two; their columns are empty.
    themes
        Themes that people gathered concepts in.
    sampled
        The result before people decided anything, if this is one with their choices.
    """

    corpus: Corpus
    order: np.ndarray
    prior: Prior
    draws: Draws
    names: dict[int, str] = field(default_factory=dict)
    away: dict[int, str] = field(default_factory=dict)
    themes: dict[int, str] = field(default_factory=dict)
    sampled: Result | None = field(default=None, repr=False)

    @property
    def has_concepts(self) -> bool:
        """Whether any draw was kept, here or in the file that the result came from."""
        return "best_draw" in self.__dict__ or len(self.draws) > 0

    def remember(self, **parts: Any) -> None:
        """Take over parts that were computed earlier, such as those of a model file."""
        self.__dict__.update(parts)

    @cached_property
    def chain_weights(self) -> np.ndarray:
        """(chains): how much each chain counts, by how well it predicts held-out tokens; they sum to 1."""
        if "summary" in self.__dict__:
            return self.summary.alignment.chain_weight
        return chain_weights(self.draws, sparse.csr_array(self.corpus.counts[self.order]), self.prior)

    @cached_property
    def best_draw(self) -> Kept:
        """The reference of all tables: the most probable draw of the chains that predict well.

        A chain with less than half the weight of the best one sits in a poorer mode, however dense.
        """
        weights = self.chain_weights
        return self.draws.most_probable(np.flatnonzero(weights >= weights.max() / 2))

    @cached_property
    def consensus_draw(self) -> Kept:
        """The draw closest to the posterior co-membership."""
        return self.draws.consensus(self.co_membership)

    @cached_property
    def concept_order(self) -> np.ndarray:
        """The best draw's concepts, most documents first; ties by the words, so that labels do not matter."""
        sizes = sizes_of(self.best_draw.state)
        keys = [(-int(sizes.holders[j]), tuple(-sizes.m[j])) for j in range(len(sizes.holders))]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=int)

    @property
    def n_concepts(self) -> int:
        """Concepts of the reference, which are those of every table."""
        return len(self.concept_order)

    @property
    def shown(self) -> list[int]:
        """Ids of the concepts that lists and pages show: those that people left in place and that use any word."""
        if not self.n_concepts:
            return []
        uses_words = np.flatnonzero(self.summary.alignment.matched.any(axis=0)) + 1
        return [int(j) for j in uses_words if j not in self.away]

    @cached_property
    def concept_word(self) -> np.ndarray:
        """(J, V): share of the documents holding j that have word i on, m_ji / m_j."""
        sizes = sizes_of(self.best_draw.state)
        return (sizes.m / np.maximum(sizes.holders, 1)[:, None])[self.concept_order]

    @cached_property
    def doc_concept(self) -> Any:
        """(D, J): normalised weights of the most probable draw; sparse above 50 million cells."""
        weights = self.reference_weights
        dense = weights.shape[0] * weights.shape[1] <= _DENSE_WEIGHTS
        return weights.toarray() if dense else weights

    @cached_property
    def reference_weights(self) -> sparse.csr_array:
        """(D, J): the weights of `doc_concept`, sparse."""
        return sparse.csr_array(self.weights_of(self.best_draw)[:, self.concept_order])

    def weights_of(self, draw: Kept) -> sparse.csr_array:
        """A draw's (D, J) weights, documents in the order they were given, concepts in the draw's own.

        The mean of π given the draw's imputed tokens, (α_π + n_dj)/(J_d α_π + N_d).
        """
        state = draw.state
        share = self.prior.alpha_pi + draw.tokens.pair
        row = np.repeat(np.arange(len(self.order)), np.diff(state.doc_ptr))
        total = np.bincount(row, share, len(self.order))
        return sparse.csr_array(
            (share / total[row], (self.order[row], state.concept)), shape=(len(self.order), n_concepts(state))
        )

    @cached_property
    def co_membership(self) -> Any:
        """(V, V): posterior probability that two words are on in the same concept; sparse above 5,000 words."""
        return co_membership(self.word_sets, shared_weights(self.chain_weights, self.word_sets.chain))

    @cached_property
    def trace(self) -> xarray.DataTree:
        """Traces in ArviZ layout."""
        return self.draws.trace()

    @cached_property
    def word_sets(self) -> WordSets:
        """The words of every concept of every kept draw."""
        return word_sets(self.draws)

    @property
    def reference(self) -> Usage:
        """The most probable draw's concepts, in the order of their ids."""
        return reordered(usage_of(self.best_draw), self.concept_order)

    @cached_property
    def summary(self) -> Summary:
        """All kept draws set beside the reference, which the tables are made of (docs/model.md)."""
        return summarize(
            *(self.draws, self.best_draw, self.chain_weights),
            *(self.concept_order, self.order, self.weights_of),
        )
