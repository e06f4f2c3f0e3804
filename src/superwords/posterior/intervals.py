"""Means and central 95% intervals over weighted draws."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_ROUNDING = 1e-9


def beta_levels(mean: np.ndarray, variance: np.ndarray, n_levels: int = 20) -> np.ndarray:
    """Return (levels, n) evenly spaced quantiles of n Beta distributions with these means and variances.

    Together they represent the distribution in mixtures over draws. With 20, 60, 100 or 140 levels they give the 95%
    interval of a single draw exactly.
    """
    is_whole = mean > 1 - 1e-6  # of a document that holds one concept
    total = np.where(is_whole, 1.0, mean * (1 - mean) / np.maximum(variance, 1e-12) - 1)
    both = np.round([(mean * total).ravel(), ((1 - mean) * total).ravel()], 3)
    different, at = np.unique(both, axis=1, return_inverse=True)
    levels = (np.arange(n_levels) + 0.5) / n_levels
    found = betaincinv(np.maximum(different[0], 1e-3), np.maximum(different[1], 1e-3), levels[:, None])
    return np.where(is_whole, 1.0, found[:, at.ravel()].reshape(n_levels, *mean.shape))


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean over the first axis; draws of weight 0 are ignored; NaN if there are no others."""
    weights = np.broadcast_to(weights, values.shape)
    total = weights.sum(axis=0)
    summed = (np.where(weights > 0, values, 0.0) * weights).sum(axis=0)
    return np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)


def interval(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the central 95% over the first axis; draws of weight 0 are ignored; NaN if there are no others."""
    weights = np.broadcast_to(weights, values.shape)
    known = weights.sum(axis=0) > 0
    if not values.size:
        return np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    low, high = np.quantile(
        np.where(weights > 0, values, 0.0),
        [q - _ROUNDING for q in TAILS],
        axis=0,
        weights=np.where(known, weights, 1.0),
        method="inverted_cdf",
    )
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def sparse_quantile(key: np.ndarray, value: np.ndarray, weight: np.ndarray, q: float) -> np.ndarray:
    """Return the q-quantile for each key that occurs, in ascending order of keys, as numpy's "inverted_cdf" has it.

    `value` holds the positive values and `weight` the weights of their draws; a key's weights sum to 1 together with
    those of the draws that are not written down, where its value is 0.
    """
    order = np.lexsort((value, key))
    value, weight = value[order], weight[order]
    _, start, written = np.unique(key[order], return_index=True, return_counts=True)
    if not len(start):
        return np.zeros(0)
    reached = np.cumsum(weight)
    before = reached[start] - weight[start]
    at_end = reached[start + written - 1]
    zeros = 1.0 - (at_end - before)
    passed = reached + np.repeat(zeros - before, written) >= q - _ROUNDING
    place = np.where(passed, np.arange(len(value)), start.repeat(written) + written.repeat(written) - 1)
    first = np.minimum.reduceat(place, start)
    return np.where(zeros >= q - _ROUNDING, 0.0, value[first])
