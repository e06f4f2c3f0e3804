"""The documents that the user gave in every draw, each with its rows: what regressions with documents as cases need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.tables import draw_weights, drawn_weights, sources

if TYPE_CHECKING:
    from superwords.concepts.result import Result


class Outcomes(NamedTuple):
    """Rows in each of T draws, and the documents they are of (a row each, unless rows are passages)."""

    metadata: pd.DataFrame  # of the documents
    document: np.ndarray  # (rows) the document of each
    weights: list[sparse.csr_array]  # T of (rows, J)
    found: np.ndarray  # (T, J) how much the draw counts for the concept: 1 on average, 0: it has no partner
    chain: np.ndarray  # (T) the chain of each draw

    @property
    def n_rows(self) -> np.ndarray:
        """(documents): how many rows each has."""
        return np.bincount(self.document, minlength=len(self.metadata))

    def by_chain(self) -> Iterator[Outcomes]:
        """The draws of each chain by themselves."""
        for c in np.unique(self.chain):
            own = np.flatnonzero(self.chain == c)
            weights = [self.weights[t] for t in own]
            yield self._replace(weights=weights, found=self.found[own], chain=self.chain[own])


def outcomes_of(result: Result) -> Outcomes:
    corpus, alignment, draw = result.corpus, result.summary.alignment, result.summary.memberships.draw
    found, chain = draw_weights(result) * alignment.matched[draw].sum(axis=0), alignment.chain[draw]
    if corpus.parent is None:
        rows = np.arange(corpus.n_documents)
        return Outcomes(corpus.metadata, rows, drawn_weights(result), found, chain)
    _, document = np.unique(corpus.parent, return_inverse=True)
    return Outcomes(sources(corpus)[1], document, drawn_weights(result), found, chain)
