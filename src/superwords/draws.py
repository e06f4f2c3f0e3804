"""Draws kept from the chains: their traces, the most probable one, the consensus one, and co-membership."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import arviz_base
import numpy as np
import xarray
from arviz_stats.base import array_stats
from scipy import sparse

from superwords.sampler.chain import Draw
from superwords.sampler.density import log_joint, log_score
from superwords.sampler.model import Model
from superwords.sampler.state import Sizes, State, Tokens, sizes_of

TRACED = ("log_joint", "n_concepts", "n_memberships", "n_words_on")


class Kept(NamedTuple):
    """One kept draw: its state and z, the score the most probable draw is chosen by, and its concentrations."""

    sweep: int
    state: State
    tokens: Tokens
    score: float
    b1: float = 1.0
    b2: float = 1.0


@dataclass
class ChainDraws:
    """What is kept of one chain."""

    kept: list[Kept] = field(default_factory=list)
    trace: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TRACED})

    def keep(self, draw: Draw, model: Model) -> None:
        state = State(*(array.copy() for array in draw.state))
        score = log_score(state, draw.tokens, model)
        self.kept.append(Kept(draw.sweep, state, draw.tokens, score, model.prior.b1, model.prior.b2))
        values = log_joint(state, model), len(np.unique(state.concept)), len(state.concept), len(state.word)
        for name, value in zip(TRACED, values):
            self.trace[name].append(float(value))


class Draws:
    """The kept draws of all chains."""

    def __init__(self, chains: list[ChainDraws]):
        self.chains = chains

    def __len__(self) -> int:
        return sum(len(chain.kept) for chain in self.chains)

    def __iter__(self) -> Iterator[Kept]:
        """One draw after the other, chain by chain."""
        for chain in self.chains:
            yield from chain.kept

    @property
    def chain(self) -> np.ndarray:
        """(S): which chain each draw is of."""
        return np.repeat(np.arange(len(self.chains)), [len(one.kept) for one in self.chains]).astype(np.int32)

    def trace(self) -> xarray.DataTree:
        """The traced quantities in ArviZ layout, dims (chain, draw), as far as every chain has come."""
        n = min(len(chain.kept) for chain in self.chains)
        values = {name: np.array([chain.trace[name][:n] for chain in self.chains]) for name in TRACED}
        for name in TRACED[1:]:
            values[name] = values[name].astype(int)
        return arviz_base.from_dict({"posterior": values}, check_conventions=False)

    def most_probable(self) -> Kept:
        """The draw of the highest density over all chains, π integrated out (docs/algebra.md section 1)."""
        return max(self, key=lambda draw: draw.score)

    def consensus(self, co_membership: Any) -> Kept:
        """The draw whose co-membership lies closest to the posterior's: the least Σ (C_s − C̄)²."""

        def distance(draw: Kept) -> float:
            together = shared_concepts(sizes_of(draw.state))
            if sparse.issparse(co_membership):
                return float((together - 2 * together.multiply(co_membership)).sum())
            row, column = together.nonzero()
            return float((1 - 2 * co_membership[row, column]).sum())

        return min(self, key=distance)


def shared_concepts(sizes: Sizes) -> sparse.csr_array:
    """1 where two words are on in the same concept."""
    on = sparse.csr_array((sizes.m > 0).astype(np.float32))
    together = sparse.csr_array(on.T @ on)
    together.data[:] = 1.0
    return together


def convergence(trace: xarray.DataTree) -> dict[str, dict[str, float]]:
    """R-hat (needs two chains or more; NaN else), bulk effective sample size and MCSE of each traced quantity."""
    out = {}
    for name in TRACED:
        values = np.asarray(trace["posterior"][name].data, dtype=float)
        n_chains, n_draws = values.shape
        steady = values.size > 0 and bool(np.all(values == values.flat[0]))
        enough = n_draws >= 4
        out[name] = {
            "rhat": 1.0 if steady else statistic("rhat", values) if enough and n_chains > 1 else float("nan"),
            "ess": float(values.size) if steady else statistic("ess", values) if enough else float("nan"),
            "mcse": 0.0 if steady else statistic("mcse", values) if enough else float("nan"),
        }
    return out


def statistic(name: str, values: np.ndarray) -> float:
    # Chains that differ but do not move have an R-hat of infinity, which is no reason to warn.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(getattr(array_stats, name)(values, chain_axis=0, draw_axis=1))
