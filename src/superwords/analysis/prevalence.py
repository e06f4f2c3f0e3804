"""Prevalence and strength of concepts by group of rows, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from superwords.posterior.alignment import adding
from superwords.posterior.intervals import TAILS, beta_levels, interval, weighted_mean
from superwords.posterior.result import Result
from superwords.posterior.traces import CONCEPT_TRACED, LEAST_DRAWS

_BETA_DRAWS = 4000
_LEVELS = 140  # of the Beta distributions of prevalences in the whole corpus
_BETA_SEED = 1785  # fixed, since the Beta draws are numerical integration
Computed = TypeVar("Computed")


class Groups(NamedTuple):
    """Per draw t, group g and concept j."""

    labels: list[Any]
    rows: list[np.ndarray]  # of each group
    weight: np.ndarray  # (T, 1, J) of a draw in the concept's means; 0 where the concept has no partner
    holders: np.ndarray  # (T, G, J)
    strength: np.ndarray  # (T, G, J), 0 where no row holds the concept
    effect: np.ndarray  # (G, J) design effect
    missed: np.ndarray  # (J) whether some chain lacks the concept

    @property
    def n_rows(self) -> np.ndarray:
        """(G): rows of each group."""
        return np.array([len(rows) for rows in self.rows])

    @property
    def mean_holders(self) -> np.ndarray:
        """(G, J): rows that use a concept, mean over the draws."""
        return weighted_mean(self.holders, self.weight)

    def beta(self, holders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of prevalences' Beta posteriors, (…, G, J) as the holders, under Jeffreys' prior."""
        holders, n_rows = holders / self.effect, self.n_rows[:, None] / self.effect
        return holders + 0.5, np.maximum(n_rows - holders, 0.0) + 0.5

    def bounds(self, values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (G, J) bounds of prevalences from weighted draws, 0 where no row holds the concept and 1 where all do.

        Brown, Cai and DasGupta (2001) recommend this; otherwise the interval excludes the observed share.
        """
        low, high = interval(values, weights)
        held, whole = self.mean_holders, self.n_rows[:, None] - 0.5
        return np.where(self.missed | (held < 0.5), 0.0, low), np.where(held > whole, 1.0, high)

    def prevalence_draws(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (draws, G, J) prevalences from each draw's Beta posterior, and weights."""
        times = max(1, _BETA_DRAWS // max(len(self.holders), 1))
        on, off = self.beta(self.holders)
        drawn = np.empty((len(on) * times, *on.shape[1:]))
        for j in range(on.shape[2]):  # a generator each, so that decisions about one concept do not affect others
            both = (np.repeat(one[:, :, j], times, axis=0) for one in (on, off))
            drawn[:, :, j] = np.random.default_rng([_BETA_SEED, j]).beta(*both)
        return drawn, np.repeat(self.weight, times, axis=0)


def groups_of(
    result: Result,
    rows: Mapping[Any, np.ndarray] | None = None,
    drawn: list[sparse.csr_array] | None = None,
    weights: np.ndarray | None = None,
) -> Groups:
    """Return the groups of these rows, or one of all rows, of the concepts or of other `drawn` columns."""
    parent, n_documents = result.corpus.parent, result.corpus.n_documents
    rows = {"all": np.arange(n_documents)} if rows is None else rows
    group, row = np.repeat(np.arange(len(rows)), list(map(len, rows.values()))), np.concatenate(list(rows.values()))
    member = sparse.csr_array((np.ones(len(row)), (group, row)), shape=(len(rows), n_documents))
    aligned = result.summary.alignment
    lacking = aligned.is_missed if drawn is None else np.array(False)
    drawn = result.drawn_weights() if drawn is None else drawn
    weight = (aligned.weights if weights is None else weights)[:, None, :]
    holders = np.array([(member @ (w > 0).astype(float)).toarray() for w in drawn])
    strength = np.array([(member @ w).toarray() for w in drawn]) / np.maximum(holders, 1)
    effect = np.ones(holders.shape[1:])
    if parent is not None:
        effect = _design_effect(parent, group, row, drawn, holders, weight)
    return Groups(list(rows), list(rows.values()), weight, holders, strength, effect, lacking)


def _design_effect(
    parent: np.ndarray,
    group: np.ndarray,
    row: np.ndarray,
    drawn: list[sparse.csr_array],
    holders: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """Return (G, J) the variance between sources over that of independent passages, at least 1."""
    n_parents = int(parent.max()) + 1
    # A cell is a group's part of a source document.
    cells, cell = np.unique(group * n_parents + parent[row], return_inverse=True)
    of_cell = sparse.csr_array((np.ones(len(row)), (cell, row)), shape=(len(cells), len(parent)))
    n_sources = np.bincount(cells // n_parents).astype(float)[:, None]
    of_group = adding(cells // n_parents, len(n_sources))
    size = np.bincount(cell).astype(float)
    n_rows, squared = (of_group @ size)[:, None], (of_group @ size**2)[:, None]
    ratios = []
    for one, held in zip(drawn, holders):
        share = held / n_rows
        counts = sparse.csr_array(of_cell @ (one > 0).astype(float))
        products = (of_group @ (sparse.diags_array(size) @ counts)).toarray()
        # Σ (count − size · share)² over a group's cells, without the cells that hold nothing.
        spread = (of_group @ counts.power(2)).toarray() - 2 * share * products + share**2 * squared
        between = np.maximum(spread, 0) * n_sources / np.maximum(n_sources - 1, 1)
        within = n_rows * share * (1 - share)
        ratios.append(np.where(within > 0, between / np.where(within > 0, within, 1.0), n_rows / n_sources))
    return np.fmax(1.0, weighted_mean(np.array(ratios), weight))


def population_interval(whole: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return (J) bounds of the prevalence in the population behind a group of all rows."""
    on, off = whole.beta(whole.holders)
    variance = on * off / ((on + off) ** 2 * (on + off + 1))
    levels = beta_levels(on / (on + off), variance, _LEVELS)
    low, high = whole.bounds(np.concatenate(levels), np.tile(whole.weight, (len(levels), 1, 1)))
    return low[0], high[0]


def once(function: Callable[[Result], Computed]) -> Callable[[Result], Computed]:
    """Compute what a function returns once for each result."""

    @wraps(function)
    def kept(result: Result) -> Any:
        if function.__name__ not in result.computed:
            result.computed[function.__name__] = function(result)
        return result.computed[function.__name__]

    return kept


@once
def reported_draws(result: Result) -> dict[str, np.ndarray]:
    """Return (chain, draw, concept) of population prevalence and strength, as uncertain as the intervals are."""
    prevalence, strength = (result.concept_trace[name].astype(float) for name in CONCEPT_TRACED)
    if not prevalence.size:
        return {"prevalence": prevalence, "strength": strength}
    whole = groups_of(result)
    rows = np.nan_to_num(prevalence) * result.corpus.n_documents
    on, off = whole.beta(rows)
    drawn, noise = np.empty_like(on), np.empty_like(on)
    for j in range(on.shape[2]):  # a generator each, as above
        rng = np.random.default_rng([_BETA_SEED, j])
        drawn[:, :, j] = rng.beta(on[:, :, j], off[:, :, j])
        noise[:, :, j] = rng.standard_normal(on.shape[:2])
    # The weights of documents that use a concept vary by at most √(s(1 − s)) around their mean s.
    error = np.sqrt(np.clip(strength * (1 - strength), 0, None) / np.maximum(rows / whole.effect, 1)) / 2
    drawn[np.isnan(prevalence)] = np.nan
    return {"prevalence": drawn, "strength": strength + error * noise}


def settled(result: Result) -> np.ndarray:
    """Return (J) whether each chain's mean prevalence and strength lie in the 95% intervals of the other chains."""
    agreed = np.ones(result.n_concepts, bool)
    for name, drawn in reported_draws(result).items():
        n_chains, n_draws = drawn.shape[:2]
        if n_chains < 2 or n_draws < LEAST_DRAWS or not result.n_concepts:
            return np.zeros(result.n_concepts, bool)
        traced = result.concept_trace[name].astype(float)
        for c in range(n_chains):
            others = np.delete(drawn, c, axis=0).reshape(-1, drawn.shape[2])
            missing = np.isnan(traced[c]).all(axis=0) | np.isnan(others).all(axis=0)
            low, high = np.nanquantile(np.where(missing, 0.0, others), TAILS, axis=0)
            mean = np.nanmean(np.where(missing, 0.0, traced[c]), axis=0)
            agreed &= ~missing & (low <= mean) & (mean <= high)
    return agreed
