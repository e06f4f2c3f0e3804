"""Whether words occur together in the corpus's own rows: normalised pointwise mutual information."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse


def presence(rows: sparse.csr_array) -> sparse.csc_array:
    """Units of text (rows, sentences or windows) by words: 1 where the word occurs. Units without words count too."""
    return sparse.csc_array(sparse.csr_array(rows) > 0, dtype=np.int32)


def pair_npmi(units: sparse.csc_array, words: Sequence[int] | np.ndarray) -> np.ndarray:
    """NPMI of every two of the words, log(p_il / (p_i p_l)) / -log p_il; NaN where no unit holds both.

    It is 1, the limit, where every unit holds both.
    """
    chosen = units[:, np.sort(np.asarray(words, dtype=int))]
    together = np.asarray((chosen.T @ chosen).toarray(), dtype=float) / units.shape[0]
    first, second = np.triu_indices(len(words), 1)
    both, alone = together[first, second], np.diag(together)
    values = np.full(len(both), np.nan)
    seen = both > 0
    always = both == 1
    ratio = np.log(both[seen] / (alone[first] * alone[second])[seen])
    values[seen] = ratio / np.where(always[seen], 1.0, -np.log(both[seen]))
    values[always] = 1.0
    return values


def coherence(units: sparse.csc_array, words: Sequence[int] | np.ndarray, never: float = 0.0) -> float:
    """Return the mean NPMI over all pairs of the words; NaN for fewer than two.

    A pair that no unit has together counts `never`: 0 says that absence from little text means nothing, −1 is NPMI's
    limit, by which any set of frequent words wins (docs/lab/compare.md).
    """
    if len(words) < 2:
        return float("nan")
    values = pair_npmi(units, words)
    return float(np.where(np.isnan(values), never, values).mean())
