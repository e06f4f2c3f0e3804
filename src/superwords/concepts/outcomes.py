"""The documents that the user gave in every draw, each with its rows: what regressions with documents as cases need."""

from __future__ import annotations

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

    @property
    def n_rows(self) -> np.ndarray:
        """(documents): how many rows each has."""
        return np.bincount(self.document, minlength=len(self.metadata))


def outcomes_of(result: Result) -> Outcomes:
    corpus, summary = result.corpus, result.summary
    found = draw_weights(result) * summary.alignment.matched[summary.memberships.draw].sum(axis=0)
    if corpus.parent is None:
        return Outcomes(corpus.metadata, np.arange(corpus.n_documents), drawn_weights(result), found)
    _, document = np.unique(corpus.parent, return_inverse=True)
    return Outcomes(sources(corpus)[1], document, drawn_weights(result), found)
