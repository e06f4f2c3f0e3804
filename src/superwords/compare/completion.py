"""Held-out likelihood by document completion: half of a window's tokens are shown, the others are predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.fitting.estimator import ConceptModel
from superwords.sampler.fold_in import Halves, predict
from superwords.sampler.leave_one_out import leave_one_out_counts
from superwords.sampler.state import sizes_of

SMOOTHING = 0.1  # the share of the training part's word frequencies in every model's prediction
DRAWS = 10  # states of a sampler over which predictions are averaged

Predict = Callable[[Halves], np.ndarray]  # (N) the probability a model gives each token, unsmoothed


class Fitted(NamedTuple):
    """What the adapter of a peer returns."""

    weights: np.ndarray  # (T, V) how much a word says of a topic; 0: not in it
    predict: Predict | None  # None: the model gives words no probability
    rows: np.ndarray  # (D, T) weights of the topics in each row


def by_mixture(doc_topic: np.ndarray, topic_word: np.ndarray, halves: Halves) -> np.ndarray:
    """Return Σ_t of a window's share of topic t times the word's probability in it."""
    return np.einsum("nt,tn->n", doc_topic[halves.row], topic_word[:, halves.word])


def word_frequencies(counts: sparse.csr_array) -> np.ndarray:
    total = np.asarray(counts.sum(axis=0), dtype=float).ravel()
    return total / total.sum()


def log_probability(predicted: np.ndarray, frequency: np.ndarray, smoothing: float = SMOOTHING) -> np.ndarray:
    """Return the log probability of each token: the model's, mixed with the frequency of its word."""
    return np.log((1 - smoothing) * predicted + smoothing * frequency)


def log_likelihood(predicted: np.ndarray, frequency: np.ndarray, smoothing: float = SMOOTHING) -> float:
    """Return the mean log probability of a token."""
    return float(log_probability(predicted, frequency, smoothing).mean()) if len(predicted) else float("nan")


def mean_and_error(values: np.ndarray, row: np.ndarray) -> tuple[float, float]:
    """Return the mean over tokens and its standard error over windows (tokens of a window are dependent)."""
    if not len(values):
        return float("nan"), float("nan")
    mean = float(values.mean())
    per_window = np.bincount(row, values - mean)
    return mean, float(np.sqrt((per_window**2).sum())) / len(values)


def from_draws(model: ConceptModel, halves: Halves) -> np.ndarray:
    """Return the predictions of our concepts: the mean over evenly spaced draws of all chains."""
    draws = list(model.draws_)
    chosen = np.unique(np.linspace(0, len(draws) - 1, DRAWS).round().astype(int))
    prior, predicted = model.chains_[0].model.prior, []
    for s in chosen:
        state, own = draws[s].state, prior._replace(b1=draws[s].b1, b2=draws[s].b2)
        concepts = leave_one_out_counts(sizes_of(state), len(state.doc_ptr) - 1, state.theta, own)
        predicted.append(predict(concepts, halves, model.seed_))
    return np.mean(predicted, axis=0)
