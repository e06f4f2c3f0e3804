"""Credible intervals of sparse quantities: what is not written down is 0, and counts as much."""

from __future__ import annotations

import numpy as np
import pandas as pd

LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The central 95% over the first axis, NaN values (a draw without a say) left out."""
    low = np.full(values.shape[1:], np.nan)
    high = low.copy()
    for at in np.ndindex(values.shape[1:]):
        known = values[(slice(None), *at)]
        known = known[~np.isnan(known)]
        if len(known):
            low[at], high[at] = np.quantile(known, TAILS)
    return low, high


def mean_over_draws(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis, NaN values left out; NaN where there is no other."""
    n_known = (~np.isnan(values)).sum(axis=0)
    return np.where(n_known > 0, np.nansum(values, axis=0) / np.maximum(n_known, 1), np.nan)


def widened(table: pd.DataFrame, value: str, low: str, high: str) -> pd.DataFrame:
    """A table whose intervals reach to their own mean, as people expect it.

    A mean lies outside the central 95% where a few draws say something far from all others (a weight of 1 in
    99% of them), and the share of a group's documents where it is 0 or 1.
    """
    return table.assign(
        **{
            low: table[[low, value]].min(axis=1, skipna=False),
            high: table[[high, value]].max(axis=1, skipna=False),
        }
    )


def sparse_quantile(key: np.ndarray, value: np.ndarray, n_values: np.ndarray, q: float) -> np.ndarray:
    """The q-quantile for each key that occurs, in ascending order of keys.

    `value` holds the positive values; `n_values` how many each occurring key has in all, zeros included.
    """
    order = np.lexsort((value, key))
    value = value[order]
    _, start, written = np.unique(key[order], return_index=True, return_counts=True)
    n_zeros = n_values - written
    position = q * np.maximum(n_values - 1, 0)
    below = np.floor(position).astype(int)
    above = np.minimum(below + 1, n_values - 1)

    def at(rank: np.ndarray) -> np.ndarray:
        from_start = np.clip(rank - n_zeros, 0, written - 1)
        return np.where(rank < n_zeros, 0.0, value[start + from_start])

    share = position - below
    return at(below) * (1 - share) + at(above) * share
