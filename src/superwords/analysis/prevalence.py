"""Prevalence and strength of concepts by group of rows, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.posterior.consensus import TYPICAL
from superwords.posterior.intervals import TAILS, beta_levels, interval, weighted_mean
from superwords.posterior.traces import CONCEPT_TRACED, LEAST_DRAWS, Mixing, mixing
from superwords.storage import cache
from superwords.storage.model_file import checksum

if TYPE_CHECKING:
    from superwords.posterior.result import Result
    from superwords.posterior.summary import Alignment

_BETA_DRAWS = 4000
_LEVELS = 140  # of the Beta distributions of prevalences in the whole corpus

_BETA_SEED = 1785  # fixed, since the Beta draws are numerical integration


def kept_weights(result: Result) -> np.ndarray:
    """Return (T) how much each draw counts; they sum to 1."""
    return result.summary.alignment.weight


def draw_weights(result: Result) -> np.ndarray:
    """Return (T, J) how much each draw counts in a concept's means and intervals.

    A draw without a partner of the concept counts 0; the others sum to 1.
    """
    weights = kept_weights(result)[:, None] * result.summary.alignment.matched
    total = weights.sum(axis=0)
    return weights / np.where(total > 0, total, 1.0)


def found_share(result: Result) -> np.ndarray:
    """Return (J) share of all draws, by weight, in which a concept has a partner."""
    return result.summary.alignment.found


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
    member = sparse.csr_array(
        (
            np.ones(sum(map(len, rows))),
            (np.repeat(np.arange(len(rows)), [len(r) for r in rows]), np.concatenate(rows)),
        ),
        shape=(len(rows), result.corpus.n_documents),
    )
    own = drawn is None
    drawn = drawn_weights(result) if drawn is None else drawn
    weights = draw_weights(result) if weights is None else weights
    holders = np.array([(member @ (w > 0).astype(float)).toarray() for w in drawn])
    total = np.array([(member @ w).toarray() for w in drawn])
    weight = weights[:, None, :]
    strength = total / np.maximum(holders, 1)
    effect = _design_effect(result.corpus.parent, rows, drawn, holders, weight)
    lacking = missed(found_by_chain(result.summary.alignment)) if own else np.zeros(weight.shape[2], bool)
    return Groups(labels, rows, weight, holders, strength, effect, lacking)


def _design_effect(
    parent: np.ndarray | None,
    rows: list[np.ndarray],
    drawn: list[sparse.csr_array],
    holders: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """Return (G, J) the design effect of passages on the prevalence, at least 1.

    It is the variance between sources over that of independent passages.
    """
    if parent is None:
        return np.ones(holders.shape[1:])
    group = np.repeat(np.arange(len(rows)), [len(here) for here in rows])
    row = np.concatenate(rows)
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


def prevalence_interval(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return (G, J) bounds of the prevalences."""
    low, high = interval(*prevalence_draws(groups))
    n_rows = np.array([len(rows) for rows in groups.rows], float)[:, None]
    low = np.where(groups.missed, 0.0, low)
    return reaching_the_ends(low, high, weighted_mean(groups.holders, groups.weight), n_rows)


def population_interval(whole: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return (J) bounds of the prevalence in the population behind the first group."""
    n_documents = float(len(whole.rows[0]))
    rows, n_rows = whole.holders[:, 0] / whole.effect[0], n_documents / whole.effect[0]
    on, off = rows + 0.5, np.maximum(n_rows - rows, 0.0) + 0.5
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
    n_rows = np.array([len(rows) for rows in groups.rows], float)[None, :, None] / groups.effect
    holders = groups.holders / groups.effect
    times = max(1, _BETA_DRAWS // max(len(holders), 1))
    on, off = holders + 0.5, np.maximum(n_rows - holders, 0.0) + 0.5
    drawn = np.empty((len(on) * times, *on.shape[1:]))
    for j in range(on.shape[2]):  # a generator each, so that decisions about one concept do not affect others
        rng = np.random.default_rng([_BETA_SEED, j])
        drawn[:, :, j] = rng.beta(
            np.repeat(on[:, :, j], times, axis=0), np.repeat(off[:, :, j], times, axis=0)
        )
    return drawn, np.repeat(groups.weight, times, axis=0)


def reported_draws(result: Result) -> dict[str, np.ndarray]:
    """Return (chain, draw, concept) of population prevalence and strength.

    They include the design effect of passages, as the intervals do.
    """
    n_documents = result.corpus.n_documents
    prevalence, strength = (result.concept_trace[name].astype(float) for name in CONCEPT_TRACED)
    if not prevalence.size:
        return {"prevalence": prevalence, "strength": strength}
    effect = groups_of(result, ["all"], [np.arange(n_documents)]).effect[0]
    rows, n_rows = np.nan_to_num(prevalence) * n_documents / effect, n_documents / effect
    on, off = rows + 0.5, np.maximum(n_rows - rows, 0.0) + 0.5
    drawn, noise = np.empty_like(on), np.empty_like(on)
    for j in range(on.shape[2]):  # a generator each, as above
        rng = np.random.default_rng([_BETA_SEED, j])
        drawn[:, :, j], noise[:, :, j] = (
            rng.beta(on[:, :, j], off[:, :, j]),
            rng.standard_normal(on.shape[:2]),
        )
    # The weights of documents that use a concept vary by at most √(s(1 − s)) around their mean s.
    error = np.sqrt(np.clip(strength * (1 - strength), 0, None) / np.maximum(rows, 1)) / 2
    return {
        "prevalence": np.where(np.isnan(prevalence), np.nan, drawn),
        "strength": strength + error * noise,
    }


def concept_mixing(result: Result) -> dict[str, list[Mixing | None]]:
    """Return diagnostics of each concept's prevalence and strength; None if constant."""
    known = result.__dict__.get("concept_mixing")
    if known is None or known[0] is not result.concept_trace:
        drawn = {name: np.moveaxis(values, 2, 0) for name, values in reported_draws(result).items()}
        known = (
            result.concept_trace,
            {name: cached_mixing(values, result.is_cached) for name, values in drawn.items()},
        )
        result.remember(concept_mixing=known)
    return known[1]


class _Figures(NamedTuple):
    values: (
        np.ndarray
    )  # (concept, 4): R-hat, both effective sample sizes, Monte-Carlo error; NaN where unknown


def cached_mixing(traces: np.ndarray, is_cached: bool) -> list[Mixing | None]:
    """Return diagnostics of each trace; those of a saved model are cached."""

    def compute() -> _Figures:
        found = [mixing(one) or (np.nan,) * 4 for one in traces]
        return _Figures(np.array(found).reshape(len(traces), 4))

    figures = compute() if not is_cached else cache.cached(_key(traces), _Figures, compute)
    return [Mixing(*one) if np.isfinite(one[1]) else None for one in figures.values.tolist()]


def _key(traces: np.ndarray) -> str:
    return checksum(b"mixing", f"{traces.shape} {traces.dtype}".encode() + traces.tobytes()).hex()


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
