"""Traces of scalar quantities over the kept draws, by chain, and how well the chains have mixed in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.posterior.alignment import Consensus, find_partners, usage_of
from superwords.posterior.draws import TRACED, Draws, Kept
from superwords.posterior.summary import Alignment

CONCEPT_TRACED = ("prevalence", "strength")
_MOST_TRACED = 1000  # draws, over all chains, in which the listed concepts are traced
LEAST_DRAWS = 4  # per chain, for any statistic
# At an effective sample size of 30 the Monte-Carlo error of a mean is less than a fifth of the standard deviation that
# its interval is made of.
GOOD_RHAT, GOOD_ESS = 1.1, 30


class Mixing(NamedTuple):
    """R-hat (NaN for one chain), bulk and tail effective sample size, and Monte-Carlo standard error of means."""

    rhat: Any
    ess_bulk: Any
    ess_tail: Any
    mcse: Any


def trace_values(draws: Draws) -> dict[str, np.ndarray]:
    """Return (chain, draw) of each traced quantity, as far as every chain has come."""
    n = min((len(chain.kept_sweeps) for chain in draws.chains), default=0)
    values = {name: np.array([chain.trace[name][:n] for chain in draws.chains]) for name in TRACED}
    return {name: one if name == TRACED[0] else one.astype(int) for name, one in values.items()}


def concept_trace(draws: Draws, spaced: Draws, found: Consensus, aligned: Alignment) -> dict[str, np.ndarray]:
    """Return (chain, draw, concept) of prevalence and strength, NaN where a draw has no partner of the concept.

    From all kept draws, or from 1,000 evenly spaced ones where there are more.
    """
    n_rows = len(next(iter(spaced)).state.doc_ptr) - 1
    lengths = [len(chain) for chain in spaced.chains]
    n_traced = min([_MOST_TRACED // len(lengths), *(len(chain) for chain in draws.chains)])
    if min(lengths) >= n_traced:
        values = np.where(aligned.matched, aligned.rows / n_rows, np.nan), aligned.strength
        chains = np.unique(aligned.chain)
        by_chain = [[one[aligned.chain == c][: min(lengths)] for c in chains] for one in values]
        return {name: np.array(one, np.float32) for name, one in zip(CONCEPT_TRACED, by_chain)}
    places = [np.linspace(0, len(chain) - 1, n_traced).round().astype(int) for chain in draws.chains]
    rows = [[_of_draw(chain[int(s)], found, n_rows) for s in own] for chain, own in zip(draws.chains, places)]
    both = np.array(rows, np.float32).reshape(len(rows), n_traced, 2, -1)
    return {name: both[:, :, at] for at, name in enumerate(CONCEPT_TRACED)}


def _of_draw(draw: Kept, found: Consensus, n_rows: int) -> np.ndarray:
    """Return (2, J) prevalence and strength in one draw."""
    state, tokens, usage = draw.state, draw.tokens.pair, usage_of(draw)
    rows = usage.holders
    partner = find_partners(found.description, usage.description).of
    row = np.repeat(np.arange(n_rows), np.diff(state.doc_ptr))
    length = np.maximum(np.bincount(row, tokens, n_rows), 1)
    share = np.bincount(state.concept, tokens / length[row], len(rows))
    both = np.array([rows / n_rows, share / np.maximum(rows, 1)])
    return np.where(partner >= 0, both[:, partner], np.nan)


def mixing(values: np.ndarray) -> Mixing | None:
    """Return the mixing of (chain, draw) values; None where there is nothing to judge: too few draws, or a constant.

    A draw without a value (NaN, of a concept that it does not have) has that of the draw before it.
    """
    drawn = pd.DataFrame(np.asarray(values, float).T).replace([np.inf, -np.inf], np.nan)
    # Chains without any value are left out.
    values = np.ascontiguousarray(drawn.ffill().bfill().dropna(axis=1).to_numpy().T)
    if not len(values) or values.shape[1] < LEAST_DRAWS or np.ptp(values) == 0:
        return None
    rhat = statistic("rhat", values) if len(values) > 1 else float("nan")
    return Mixing(rhat, *(statistic(name, values) for name in ("ess", "ess_tail", "mcse")))


def statistic(name: str, values: np.ndarray) -> float:
    """Return a statistic of (chain, draw) values by arviz_stats: "rhat", "ess", "ess_tail" or "mcse"."""
    from arviz_stats.base import array_stats

    name, options = ("ess", {"method": "tail", "prob": (0.05, 0.95)}) if name == "ess_tail" else (name, {})
    # Chains that differ but do not move have an R-hat of infinity, which is no reason to warn.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(getattr(array_stats, name)(values, chain_axis=0, draw_axis=1, **options))
