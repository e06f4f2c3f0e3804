"""Prevalence and strength of concepts by group of rows, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from superwords.posterior.consensus import TYPICAL
from superwords.posterior.intervals import TAILS, beta_levels, interval, weighted_mean
from superwords.posterior.result import Result
from superwords.posterior.summary import Alignment
from superwords.posterior.traces import CONCEPT_TRACED, LEAST_DRAWS

_BETA_DRAWS = 4000
_LEVELS = 140  # of the Beta distributions of prevalences in the whole corpus
Computed = TypeVar("Computed")
_BETA_SEED = 1785  # fixed, since the Beta draws are numerical integration


def draw_weights(result: Result) -> np.ndarray:
    """Return (T, J) how much each draw counts in a concept's means and intervals.

    A draw without a partner of the concept counts 0; the others sum to 1.
    """
    aligned = result.summary.alignment
    weights = aligned.weight[:, None] * aligned.matched
    total = weights.sum(axis=0)
    return weights / np.where(total > 0, total, 1.0)


def found_by_chain(aligned: Alignment) -> np.ndarray:
    """Return (chains, J) share of a chain's draws in which a concept has a partner."""
    return np.array([aligned.matched[aligned.chain == c].mean(axis=0) for c in np.unique(aligned.chain)])


def missed(by_chain: np.ndarray) -> np.ndarray:
    """Return (J) whether some chain lacks the concept; its intervals then begin at 0."""
    return np.asarray((by_chain < TYPICAL).any(axis=0))


def drawn_weights(result: Result) -> list[sparse.csr_array]:
    """Return, for each draw, the shares n_dj / N_d of a document's tokens, (D, J)."""
    return drawn(result, result.summary.memberships.weight.astype(float))


def drawn(result: Result, values: np.ndarray) -> list[sparse.csr_array]:
    """Return (D, J) of each draw, from values at the places of the memberships."""
    kept, n_documents = result.summary.memberships, result.corpus.n_documents
    out = []
    for t in range(len(result.summary.alignment.chain)):
        ptr = kept.ptr[t * n_documents : (t + 1) * n_documents + 1]
        part = slice(ptr[0], ptr[-1])
        shape = (n_documents, result.n_concepts)
        out.append(sparse.csr_array((values[part], kept.concept[part], ptr - ptr[0]), shape=shape))
    return out


class Groups(NamedTuple):
    """Per draw t, group g and concept j."""

    labels: list[Any]
    rows: list[np.ndarray]  # of each group
    weight: np.ndarray  # (T, 1, J) of a draw in the concept's means; 0 where the concept has no partner
    holders: np.ndarray  # (T, G, J)
    strength: np.ndarray  # (T, G, J), 0 where no row holds the concept
    effect: np.ndarray  # (G, J) design effect
    missed: np.ndarray  # (J) whether some chain lacks the concept


def groups_of(
    result: Result,
    labels: list[Any],
    rows: list[np.ndarray],
    drawn: list[sparse.csr_array] | None = None,
    weights: np.ndarray | None = None,
) -> Groups:
    """Return the groups given their rows, none of them empty.

    `drawn` and `weights` replace the `drawn_weights` and `draw_weights` of the concepts, for other columns.
    """
    group, row = np.repeat(np.arange(len(rows)), [len(here) for here in rows]), np.concatenate(rows)
    shape = (len(rows), result.corpus.n_documents)
    member = sparse.csr_array((np.ones(len(row)), (group, row)), shape=shape)
    own = drawn is None
    drawn = drawn_weights(result) if drawn is None else drawn
    weight = (draw_weights(result) if weights is None else weights)[:, None, :]
    holders = np.array([(member @ (w > 0).astype(float)).toarray() for w in drawn])
    total = np.array([(member @ w).toarray() for w in drawn])
    effect, parent = np.ones(holders.shape[1:]), result.corpus.parent
    if parent is not None:
        effect = _design_effect(parent, group, row, drawn, holders, weight)
    lacking = missed(found_by_chain(result.summary.alignment)) if own else np.zeros(weight.shape[2], bool)
    return Groups(labels, rows, weight, holders, total / np.maximum(holders, 1), effect, lacking)


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
    of_group = sparse.csr_array((np.ones(len(cells)), (cells // n_parents, np.arange(len(cells)))))
    size = np.bincount(cell).astype(float)
    n_rows, squared = (of_group @ size)[:, None], (of_group @ size**2)[:, None]
    n_sources = np.bincount(cells // n_parents).astype(float)[:, None]
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


def _posterior(holders: Any, n_rows: Any, effect: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of the Beta posterior of a prevalence under Jeffreys' prior."""
    holders, n_rows = holders / effect, n_rows / effect
    return holders + 0.5, np.maximum(n_rows - holders, 0.0) + 0.5


def prevalence_interval(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return (G, J) bounds of the prevalences."""
    low, high = interval(*prevalence_draws(groups))
    n_rows = np.array([len(rows) for rows in groups.rows], float)[:, None]
    low = np.where(groups.missed, 0.0, low)
    return reaching_the_ends(low, high, weighted_mean(groups.holders, groups.weight), n_rows)


def population_interval(whole: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return (J) bounds of the prevalence in the population behind the first group."""
    n_documents = float(len(whole.rows[0]))
    on, off = _posterior(whole.holders[:, 0], n_documents, whole.effect[0])
    variance = on * off / ((on + off) ** 2 * (on + off + 1))
    levels = beta_levels(on / (on + off), variance, _LEVELS)
    weights = np.tile(whole.weight[:, 0], (len(levels), 1))
    low, high = interval(levels.reshape(weights.shape), weights)
    used = weighted_mean(whole.holders[:, 0], whole.weight[:, 0])
    low = np.where(whole.missed, 0.0, low)
    return reaching_the_ends(low, high, used, np.full(len(used), n_documents))


def reaching_the_ends(
    low: np.ndarray, high: np.ndarray, held: np.ndarray, n_rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Jeffreys bounds extended to 0 where no row holds, to 1 where all do.

    Brown, Cai and DasGupta (2001) recommend this; otherwise the interval excludes the observed share.
    """
    return np.where(held < 0.5, 0.0, low), np.where(held > n_rows - 0.5, 1.0, high)


def prevalence_draws(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return (draws, G, J) prevalences from each draw's Beta posterior, and weights."""
    n_rows = np.array([len(rows) for rows in groups.rows], float)[None, :, None]
    times = max(1, _BETA_DRAWS // max(len(groups.holders), 1))
    on, off = _posterior(groups.holders, n_rows, groups.effect)
    drawn = np.empty((len(on) * times, *on.shape[1:]))
    for j in range(on.shape[2]):  # a generator each, so that decisions about one concept do not affect others
        both = (np.repeat(one[:, :, j], times, axis=0) for one in (on, off))
        drawn[:, :, j] = np.random.default_rng([_BETA_SEED, j]).beta(*both)
    return drawn, np.repeat(groups.weight, times, axis=0)


def once_per_trace(function: Callable[[Result], Computed]) -> Callable[[Result], Computed]:
    """Keep what a function of a result returns, as long as the result has the same trace of concepts."""

    @wraps(function)
    def kept(result: Result) -> Computed:
        known = result.__dict__.get(function.__name__)
        if known is None or known[0] is not result.concept_trace:
            known = result.concept_trace, function(result)
            result.remember(**{function.__name__: known})
        return known[1]

    return kept


@once_per_trace
def reported_draws(result: Result) -> dict[str, np.ndarray]:
    """Return (chain, draw, concept) of population prevalence and strength.

    They include the design effect of passages, as the intervals do.
    """
    n_documents = result.corpus.n_documents
    prevalence, strength = (result.concept_trace[name].astype(float) for name in CONCEPT_TRACED)
    if not prevalence.size:
        return {"prevalence": prevalence, "strength": strength}
    effect = groups_of(result, ["all"], [np.arange(n_documents)]).effect[0]
    rows = np.nan_to_num(prevalence) * n_documents
    on, off = _posterior(rows, n_documents, effect)
    drawn, noise = np.empty_like(on), np.empty_like(on)
    for j in range(on.shape[2]):  # a generator each, as above
        rng = np.random.default_rng([_BETA_SEED, j])
        drawn[:, :, j] = rng.beta(on[:, :, j], off[:, :, j])
        noise[:, :, j] = rng.standard_normal(on.shape[:2])
    # The weights of documents that use a concept vary by at most √(s(1 − s)) around their mean s.
    error = np.sqrt(np.clip(strength * (1 - strength), 0, None) / np.maximum(rows / effect, 1)) / 2
    drawn[np.isnan(prevalence)] = np.nan
    return {"prevalence": drawn, "strength": strength + error * noise}


def settled(result: Result) -> np.ndarray:
    """Return (J) whether every chain reports what the others do.

    A chain's mean prevalence and strength must lie in the 95% intervals that the other chains give; not so where a
    chain lacks the concept, or where there are too few chains or draws to judge.
    """
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
