"""How far concepts agree with labels that people gave, with each other over reseeds, and on the effects of a column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from superwords.compare.measures import jaccards, top_sets

FOLDS = 5
JACCARDS = (1 / 3, 0.5)  # of two concepts' ten first words: five in common, or seven
MOST_GROUPS = 6  # of a column whose effects are estimated
_ROUNDING = 1e-9


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


def reliability(runs: Sequence[np.ndarray]) -> dict[str, float]:
    """Return the share of concepts with a partner in another run, and the mean Jaccard index with the best one.

    `runs` are (T, V) weights of the words; two concepts are partners if their ten first words have a Jaccard
    index of at least 1/3 (or 1/2).
    """
    pairs = permutations([top_sets(weights) for weights in runs], 2)
    best = [jaccards(one, other).max(axis=1, initial=0.0) for one, other in pairs if len(one)]
    shares = {
        f"partners {name}": float(np.mean([(found >= least - _ROUNDING).mean() for found in best]))
        for name, least in zip(("1/3", "1/2"), JACCARDS)
        if best
    }
    return shares | {"stability": float(np.mean([found.mean() for found in best])) if best else np.nan}


class Effects(NamedTuple):
    """Effects of one run: a row per concept, a column per term."""

    words: list[np.ndarray]  # the ten first words of each concept
    effect: np.ndarray  # (T, C)
    low: np.ndarray
    high: np.ndarray


def share_effects(documents: np.ndarray, weights: np.ndarray, column: pd.Series) -> Effects:
    """Regress the share of every topic on a column, with robust standard errors (HC3), as `estimateEffect` of stm."""
    known = column.notna().to_numpy()
    X = _design(column[known])
    inverse = np.linalg.pinv(X.T @ X)
    slopes = inverse @ X.T @ documents[known]
    leverage = np.einsum("ij,jk,ik->i", X, inverse, X)
    residual = (documents[known] - X @ slopes) / np.maximum(1 - leverage, 1e-9)[:, None]
    bread = inverse @ X.T
    error = np.sqrt(np.einsum("ci,it->ct", bread**2, residual**2))
    half = float(stats.t.ppf(0.975, max(len(X) - X.shape[1], 1))) * error[1:].T
    effect, words = slopes[1:].T, [top_sets(row[None]) for row in weights]
    kept = [t for t, found in enumerate(words) if found]
    return Effects([words[t][0] for t in kept], effect[kept], (effect - half)[kept], (effect + half)[kept])


def _design(column: pd.Series) -> np.ndarray:
    """Return an intercept, and the other groups of a column beside the first (or its numbers)."""
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_GROUPS:
        values = column.to_numpy(float)[:, None]
    else:
        values = pd.get_dummies(column.astype(str), drop_first=True).to_numpy(float)
    return np.column_stack([np.ones(len(values)), values])


def agreement(runs: Sequence[Effects]) -> dict[str, float]:
    """Return how far reseeds of one model agree on effects, over concepts that are partners (Jaccard 1/3).

    `flips` is the share of effects reported with an interval that excludes 0 whose sign differs in another run;
    `sd/se` the median of the between-seed standard deviation over the reported standard error; `inside` the share
    of the other runs' effects that lie in the reported interval; `compared` the share of concepts with a partner.
    """
    rows, total = [], 0
    for one, other in permutations(runs, 2):
        total += len(one.words)
        jaccard = jaccards(one.words, other.words)
        partner = jaccard.argmax(axis=1) if jaccard.size else np.zeros(0, int)
        for t in np.flatnonzero(jaccard.max(axis=1, initial=0.0) >= JACCARDS[0] - _ROUNDING):
            there, effect, low, high = other.effect[partner[t]], one.effect[t], one.low[t], one.high[t]
            error = np.maximum((high - low) / (2 * 1.96), 1e-12)
            reported, flipped = (low > 0) | (high < 0), np.sign(there) != np.sign(effect)
            inside = (low <= there) & (there <= high)
            rows.append(np.array([reported, flipped, inside, (there - effect) / error]))
    if not rows:
        return dict.fromkeys(("flips", "sd/se", "inside"), float("nan")) | {"compared": 0.0, "reported": 0.0}
    reported, flipped, inside, apart = np.concatenate(rows, axis=1)
    return {
        "flips": float(flipped[reported > 0].mean()) if reported.any() else float("nan"),
        # Two reseeds differ by √2 times their standard deviation; the median of a squared normal is χ²'s.
        "sd/se": float(np.sqrt(np.median(apart**2 / 2) / stats.chi2.ppf(0.5, 1))),
        "inside": float(inside.mean()),
        "compared": len(rows) / total,
        "reported": float(reported.sum()),
    }


def is_labels(column: pd.Series) -> bool:
    """Return whether a column holds labels, rather than many different numbers."""
    return not (pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_GROUPS)


def has_effects(column: pd.Series) -> bool:
    """Return whether the effects of a column are estimated: numbers, or few groups."""
    return not is_labels(column) or 2 <= column.nunique() <= MOST_GROUPS


def with_interval(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the mean over seeds of every measure, with half the width of its 95% interval (Student's t)."""
    rows: list[dict[Any, Any]] = []
    for key, part in table.groupby(list(by), sort=False):
        row: dict[Any, Any] = dict(zip(by, key if isinstance(key, tuple) else (key,)))
        for name in part.columns.difference([*by, "seed"], sort=False):
            values = part[name].dropna().to_numpy(float)
            row[name] = values.mean() if len(values) else np.nan
            if len(values) > 1:
                row[f"{name} ±"] = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
        rows.append(row | {"seeds": part["seed"].nunique()})
    return pd.DataFrame(rows)
