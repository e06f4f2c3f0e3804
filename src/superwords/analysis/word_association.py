"""Which words belong with some given ones, and how sure that is.

Two things speak for a word: that its uses are for the concepts of the given words, and that rows use it beside them.
Each is counted, set against what chance would give, and expressed in standard deviations. A frequent word that is
used for their concepts a hundred times is surer to belong than a rare one that is twice, however alike their shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from superwords.posterior.consensus import chain_shares

if TYPE_CHECKING:
    from superwords.posterior.result import Result


def excess(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return by how many standard deviations counts exceed what is expected: the signed root Poisson deviance."""
    ratio = np.where(seen > 0, seen, 1.0) / np.where(seen > 0, expected, 1.0)
    deviance = 2 * (seen * np.log(ratio) - seen + expected)
    return np.sign(seen - expected) * np.sqrt(np.maximum(deviance, 0.0))


def belonging(result: Result, given: Sequence[int]) -> np.ndarray:
    """(V): the evidence that each word belongs with the given ones, the mean over these, in standard deviations."""
    at = list(given)
    return (by_rows(result.corpus.counts, at) + by_concepts(result, at)).mean(axis=0)


def by_concepts(result: Result, given: list[int]) -> np.ndarray:
    """(given, V): how far a word's uses are for the concepts of a given one, the mean over draws.

    Seen are a word's uses for each concept, by the share that the concept has of the given word's uses; expected are
    as many as the word would have if all words shared in the concepts alike.
    """
    sets = result.word_sets
    total = np.zeros((len(given), sets.n_words))
    weights = chain_shares(sets.chain)
    for weight, used in zip(weights, sets.used):
        uses, of_concept = (np.asarray(used.sum(axis=axis)).ravel() for axis in (0, 1))
        share = used[:, given].toarray() / np.maximum(uses[given], 1.0)
        common = share.T @ of_concept / max(float(uses.sum()), 1.0)
        total += weight * excess(np.asarray(used.T @ share).T, np.outer(common, uses))
    return total


def by_rows(counts: sparse.csr_array, given: list[int]) -> np.ndarray:
    """(given, V): how far rows that use a given word use another, too."""
    has = sparse.csr_array(counts > 0, dtype=float)
    n_rows = np.asarray(has.sum(axis=0)).ravel()
    both = np.asarray((has[:, given].T @ has).todense())
    return excess(both, np.outer(n_rows[given], n_rows) / max(has.shape[0], 1))
