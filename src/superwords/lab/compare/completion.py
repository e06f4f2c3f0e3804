"""Held-out likelihood by document completion: half of a window's tokens say what it is about, the others are scored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from superwords.sampler.prediction import Halves

# The share of the training part's word frequencies in every model's prediction, and others to see what it decides.
SMOOTHING = 0.1
OTHER_SMOOTHINGS = (0.01, 0.3)
DRAWS = 10  # states of a sampler over which predictions are averaged

Predict = Callable[[Halves], np.ndarray]  # (N) the probability a model gives each token, unsmoothed


def by_mixture(doc_topic: np.ndarray, topic_word: np.ndarray, halves: Halves) -> np.ndarray:
    """Σ_t of a window's share of topic t times the word's probability in it."""
    return np.einsum("nt,tn->n", doc_topic[halves.row], topic_word[:, halves.word])


def word_frequencies(counts: sparse.csr_array) -> np.ndarray:
    total = np.asarray(counts.sum(axis=0), dtype=float).ravel()
    return total / total.sum()


def log_probability(predicted: np.ndarray, frequency: np.ndarray, smoothing: float = SMOOTHING) -> np.ndarray:
    """Of each token, (1 − smoothing) of it the model's and the rest its word's frequency."""
    return np.log((1 - smoothing) * predicted + smoothing * frequency)


def log_likelihood(predicted: np.ndarray, frequency: np.ndarray, smoothing: float = SMOOTHING) -> float:
    """Mean log probability of a token."""
    return float(log_probability(predicted, frequency, smoothing).mean()) if len(predicted) else float("nan")


def mean_and_error(values: np.ndarray, row: np.ndarray) -> tuple[float, float]:
    """Mean over tokens and its standard error over windows, whose tokens are not independent of each other."""
    if not len(values):
        return float("nan"), float("nan")
    mean = float(values.mean())
    per_window = np.bincount(row, values - mean)
    return mean, float(np.sqrt((per_window**2).sum())) / len(values)
