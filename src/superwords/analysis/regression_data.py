"""The documents that the user gave in every draw, each with its rows: the data of regressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.prevalence import draw_weights, drawn_weights
from superwords.analysis.tables import sources

if TYPE_CHECKING:
    from superwords.posterior.result import Result

_ROUNDING = 1e-9
_LEAST = 0.005  # a linear probability stays so far from 0 and 1


class Outcomes(NamedTuple):
    """Rows in each of T draws, and the documents they are of (a row each, unless rows are passages)."""

    metadata: pd.DataFrame  # of the documents
    document: np.ndarray  # (rows) the document of each
    weights: list[sparse.csr_array]  # T of (rows, J)
    found: np.ndarray  # (T, J) weight of a draw for a concept: 1 on average, 0: the draw lacks the concept
    chain: np.ndarray  # (T) the chain of each draw
    held: sparse.csr_array | None = None  # (rows, J) P(held) of documents folded in, in place of draws
    overall: np.ndarray | None = None  # (J) P(held) before their texts are seen

    @property
    def n_rows(self) -> np.ndarray:
        """(documents): how many rows each has."""
        return np.bincount(self.document, minlength=len(self.metadata))

    def memberships(self, rows: np.ndarray) -> list[Memberships]:
        """Return the memberships of the documents in the given places, chain by chain."""
        if self.held is not None:
            assert self.overall is not None
            return [self._memberships(rows, self.held, self.overall, self.found.sum(axis=0))]
        return [self._of_chain(rows, self.chain == c) for c in np.unique(self.chain)]

    def _of_chain(self, rows: np.ndarray, chosen: np.ndarray) -> Memberships:
        weight = self.found[chosen].sum(axis=0)
        times = sparse.csr_array(self.weights[0].shape)
        for t in np.flatnonzero(chosen):
            times = times + sparse.csr_array((self.weights[t] > 0).multiply(self.found[t][None, :]))
        share = 1 / np.maximum(weight, 1e-300)
        overall = np.asarray(times.mean(axis=0)).ravel() * share
        return self._memberships(rows, sparse.csr_array(times.multiply(share[None, :])), overall, weight)

    def _memberships(
        self, rows: np.ndarray, probability: sparse.csr_array, overall: np.ndarray, weight: np.ndarray
    ) -> Memberships:
        place = np.full(len(self.metadata), -1)
        place[rows] = np.arange(len(rows))
        entries = sparse.coo_array(probability)
        row, concept = entries.coords
        document, share = place[self.document[row]], 1 / self.n_rows[self.document[row]]
        prior = np.clip(overall, 1e-9, 1 - 1e-9)
        sure = np.zeros((len(rows), probability.shape[1]))
        known = (entries.data >= 1 - _ROUNDING) & (document >= 0)
        np.add.at(sure, (document[known], concept[known]), share[known])
        is_open = (entries.data > 0) & (entries.data < 1 - _ROUNDING) & (document >= 0)
        chosen = np.flatnonzero(is_open)[np.argsort(concept[is_open], kind="stable")]
        held, concept = entries.data[chosen], concept[chosen]
        evidence = np.log(held / (1 - held)) - np.log(prior / (1 - prior))[concept]
        return Memberships(sure, document[chosen], concept, share[chosen], evidence, weight)


class Memberships(NamedTuple):
    """Which documents hold which concepts: for sure, and as far as their texts leave it open."""

    sure: np.ndarray  # (documents, J) share of a document's rows that hold the concept in every draw
    document: np.ndarray  # of each row and concept that some draws affirm and others deny, concept by concept
    concept: np.ndarray
    share: np.ndarray  # of the document's rows that this one is
    evidence: np.ndarray  # log odds, less those of the overall prevalence
    weight: np.ndarray  # (J) of this chain

    def drawn(self, rngs: Sequence[np.random.Generator], expected: np.ndarray) -> np.ndarray:
        """Draw the shares (documents, J) of rows that hold a concept, given the expected prevalences.

        `rngs` has a generator for each concept.
        """
        prior = np.clip(expected[self.document, self.concept], _LEAST, 1 - _LEAST)
        odds = self.evidence + np.log(prior / (1 - prior))
        n_open = np.bincount(self.concept, minlength=len(rngs))
        uniform = np.concatenate([rng.random(n) for rng, n in zip(rngs, n_open)])
        holds = self.share * (uniform < 1 / (1 + np.exp(-odds)))
        place = self.document * self.sure.shape[1] + self.concept
        return self.sure + np.bincount(place, holds, self.sure.size).reshape(self.sure.shape)


def outcomes_of(result: Result) -> Outcomes:
    """Return the outcomes of the documents that a model was fitted to."""
    corpus, alignment = result.corpus, result.summary.alignment
    found, chain = draw_weights(result) * alignment.matched.sum(axis=0), alignment.chain
    if corpus.parent is None:
        rows = np.arange(corpus.n_documents)
        return Outcomes(corpus.metadata, rows, drawn_weights(result), found, chain)
    _, document = np.unique(corpus.parent, return_inverse=True)
    return Outcomes(sources(corpus)[1], document, drawn_weights(result), found, chain)


def folded_outcomes(
    metadata: pd.DataFrame, weight: sparse.csr_array, held: sparse.csr_array, overall: np.ndarray
) -> Outcomes:
    """Return the outcomes of documents folded in, with their weights and probabilities of holding a concept."""
    n_documents, n_concepts = held.shape
    found = np.ones((1, n_concepts))
    return Outcomes(metadata, np.arange(n_documents), [weight], found, np.zeros(1, int), held, overall)
