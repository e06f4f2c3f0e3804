"""Measures of word sets and of clusters: diversity, reliability, win rates, and agreement with labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from superwords.posterior.resampling import first_words, jaccard

TOP = 10  # words of a concept that diversity, stability and its own coherence look at
SAME = 1e-12  # two coherences closer than that are a tie
FOLDS = 5  # of the probe
# Of two concepts' ten first words: five in common, or seven; less a rounding error.
PARTNERS = {"partners 1/3": 1 / 3 - 1e-9, "partners 1/2": 1 / 2 - 1e-9}


def top_words(weights: np.ndarray, most: int = TOP) -> np.ndarray:
    """Return the columns of the largest positive weights; ties in the order of the vocabulary."""
    return first_words(weights[None], most)[0]


def top_sets(weights: np.ndarray, most: int = TOP) -> list[np.ndarray]:
    """Return `top_words` of every concept that has any."""
    return [words for words in first_words(weights, most) if len(words)]


def diversity(sets: Sequence[np.ndarray]) -> float:
    """Return different words as a share of all words of the sets: 1 where no word is in two."""
    named = np.concatenate([*sets, np.zeros(0, int)])
    return len(np.unique(named)) / len(named) if len(named) else float("nan")


def reliability(runs: Sequence[Sequence[np.ndarray]]) -> dict[str, float]:
    """Return the share of concepts with a partner in another run, and the mean Jaccard index with the best one.

    `runs` are the sets of first words of each run's concepts; two of them are partners if their Jaccard index is at
    least 1/3 (or 1/2). NaN for a single run.
    """
    best = [jaccard(one, other).max(axis=1, initial=0.0) for one, other in permutations(runs, 2) if len(one)]
    if not best:
        return dict.fromkeys((*PARTNERS, "stability"), float("nan"))
    shares = {name: float(np.mean([(found >= least).mean() for found in best])) for name, least in PARTNERS.items()}
    return shares | {"stability": float(np.mean([found.mean() for found in best]))}


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
    """Return Wilson's interval for a share of n trials."""
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


def heaviest(documents: np.ndarray) -> np.ndarray:
    """Return each document's heaviest concept; −1 where it has none."""
    if not documents.shape[1]:
        return np.full(len(documents), -1)
    return np.where(documents.max(axis=1) > 0, documents.argmax(axis=1), -1)


def harmonic_purity(clusters: np.ndarray, labels: np.ndarray) -> float:
    """Return P1: the best F₁ of any cluster for each label, weighted by the size of the label."""
    both = contingency_matrix(labels, clusters)
    of_label, of_cluster = both.sum(axis=1), both.sum(axis=0)
    f1 = 2 * both / (of_label[:, None] + of_cluster)
    return float(f1.max(axis=1) @ of_label / len(labels))


def probe(documents: np.ndarray, labels: np.ndarray, seed: int = 0) -> float:
    """Return the cross-validated macro-F₁ of a logistic regression of the labels on the weights.

    Labels of fewer documents than there are folds are left out.
    """
    names, count = np.unique(labels, return_counts=True)
    kept = np.isin(labels, names[count >= FOLDS])
    if len(np.unique(labels[kept])) < 2 or not documents.shape[1]:
        return float("nan")
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    predicted = cross_val_predict(model, documents[kept], labels[kept], cv=folds)
    return float(f1_score(labels[kept], predicted, average="macro"))


def alignment(documents: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return P1, ARI and NMI of the heaviest concepts, and the probe's macro-F₁, for the labelled documents."""
    known = pd.notna(labels)
    labels = labels[known].astype(str)
    clusters = heaviest(documents[known])
    return {
        "P1": harmonic_purity(clusters, labels),
        "ARI": float(adjusted_rand_score(labels, clusters)),
        "NMI": float(normalized_mutual_info_score(labels, clusters)),
        "probe": probe(documents[known], labels),
    }
