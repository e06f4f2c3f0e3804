"""What word sets are judged by: diversity, stability, and who wins how surely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

TOP = 10  # words of a concept that diversity, stability and its own coherence look at
SAME = 1e-12  # two coherences closer than that are a tie


def top_words(weights: np.ndarray, most: int = TOP) -> np.ndarray:
    """Return the columns of the largest positive weights; ties in the order of the vocabulary."""
    order = np.argsort(-weights, kind="stable")
    return order[weights[order] > 0][:most]


def top_sets(weights: np.ndarray, most: int = TOP) -> list[np.ndarray]:
    """Return `top_words` of every concept that has any."""
    return [words for words in (top_words(row, most) for row in weights) if len(words)]


def diversity(sets: Sequence[np.ndarray]) -> float:
    """Return different words as a share of all words of the sets: 1 where no word is in two."""
    named = np.concatenate([*sets, np.zeros(0, int)])
    return len(np.unique(named)) / len(named) if len(named) else float("nan")


def jaccards(sets: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
    """Return the (n, m) Jaccard indices of sets of words with others."""
    words = np.unique(np.concatenate([*sets, *others, np.zeros(0, int)]))
    one, other = (
        np.array([np.isin(words, part) for part in group], float).reshape(len(group), len(words))
        for group in (sets, others)
    )
    shared = one @ other.T
    return shared / np.maximum(one.sum(axis=1)[:, None] + other.sum(axis=1) - shared, 1)


def similarity(sets: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> float:
    """Return mean over the sets of the Jaccard index with the most similar of the others."""
    found = jaccards(sets, others)
    return float(found.max(axis=1).mean()) if found.size else float("nan")


def stability(runs: Sequence[Sequence[np.ndarray]]) -> float:
    """Return mean `similarity` of every run to every other; NaN for a single run."""
    found = [similarity(one, other) for one in runs for other in runs if one is not other]
    return float(np.mean(found)) if found else float("nan")


class Wins(NamedTuple):
    n: int
    wins: int
    ties: int
    rate: float  # a tie is half a win
    low: float  # Wilson's 95% interval
    high: float


def win_rate(ours: np.ndarray, theirs: np.ndarray) -> Wins:
    n = len(ours)
    if n == 0:
        return Wins(0, 0, 0, *[float("nan")] * 3)
    tied = np.abs(ours - theirs) <= SAME
    wins, ties = int(((ours > theirs) & ~tied).sum()), int(tied.sum())
    rate = (wins + ties / 2) / n
    return Wins(n, wins, ties, rate, *wilson(rate, n))


def wilson(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return wilson's interval for a share of n trials."""
    z = float(stats.norm.ppf((1 + level) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * float(np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)))
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_test(difference: np.ndarray) -> float:
    """Return the p-value of Wilcoxon's signed-rank test that differences lie about 0; NaN where all are 0."""
    moved = difference[np.abs(difference) > SAME]
    if not len(moved):
        return float("nan")
    # The normal approximation for any n: the exact one changes with ties, which short lists have.
    return float(stats.wilcoxon(moved, method="approx").pvalue)
