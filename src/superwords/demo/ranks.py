"""The paper's measure of multilingual concepts: ranks of translations."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from superwords.errors import InputError

WordPair = tuple[Set[str], Set[str]]
"""Hold words of one language and their translations, as in {egg, eggs} ↔ {Eier}."""


@dataclass(frozen=True)
class RankAccuracy:
    """Rank accuracy: the `mean` over pairs, and a row per pair.

    A row has `forward` (from the first set to the second), `backward`, their mean `accuracy`, and `known`: whether
    all necessary similarities were known.
    """

    mean: float
    pairs: pd.DataFrame

    @property
    def mean_known(self) -> float:
        """The mean over the pairs whose similarities are known; NaN if there is none."""
        known = self.pairs.loc[self.pairs["known"], "accuracy"]
        return float(known.mean()) if len(known) else float("nan")


def rank_accuracy(similarity: np.ndarray, vocabulary: Sequence[str], pairs: Sequence[WordPair]) -> RankAccuracy:
    """Return the share of words that a word's translations are ranked above.

    For every word w of one set of a pair and every translation t in the other, the competitors are the words
    outside the pair, of both languages, whose similarity to w is known; a tie counts half. Where the
    similarity of w and t is itself unknown (NaN) the accuracy is that of chance, 0.5. Both directions count
    equally, and so does each pair.
    """
    matrix = np.asarray(similarity, dtype=float)
    if matrix.shape != (len(vocabulary), len(vocabulary)):
        raise InputError(
            f"The similarity has the shape {matrix.shape} for {len(vocabulary)} words; "
            "give one row and one column per word."
        )
    if not pairs:
        raise InputError("There is no pair to rank; give at least one pair of translations.")
    index = {word: i for i, word in enumerate(vocabulary)}
    rows = []
    for first, second in pairs:
        here, there = positions(first, index), positions(second, index)
        forward, backward = directed(matrix, here, there), directed(matrix, there, here)
        known = not any(np.isnan(matrix[np.ix_(*way)]).any() for way in ((here, there), (there, here)))
        name = f"{'/'.join(sorted(first))} ↔ {'/'.join(sorted(second))}"
        rows.append((name, forward, backward, (forward + backward) / 2, known))
    table = pd.DataFrame(rows, columns=["pair", "forward", "backward", "accuracy", "known"])
    return RankAccuracy(float(table["accuracy"].mean()), table)


def directed(matrix: np.ndarray, queries: list[int], targets: list[int]) -> float:
    outside = np.setdiff1d(np.arange(len(matrix)), queries + targets)
    shares = []
    for query, target in product(queries, targets):
        own, competitors = matrix[query, target], matrix[query, outside]
        competitors = competitors[~np.isnan(competitors)]
        is_known = not np.isnan(own) and len(competitors)
        shares.append((competitors < own).mean() + 0.5 * (competitors == own).mean() if is_known else 0.5)
    return float(np.mean(shares))


def positions(words: Set[str], index: dict[str, int]) -> list[int]:
    unknown = sorted(word for word in words if word not in index)
    if unknown or not words:
        raise InputError(f"The pair of {sorted(words)} has no or unknown words; give words of the vocabulary.")
    return [index[word] for word in sorted(words)]


def picture_similarity(features: np.ndarray) -> np.ndarray:
    """Return minus the L2 distance of every two rows; NaN if unknown."""
    rows = np.asarray(features, dtype=float)
    if rows.ndim != 2:
        raise InputError(f"The features have the shape {rows.shape}; give a words-by-features array.")
    return -np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2))
