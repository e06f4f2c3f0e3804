"""How much each chain counts: stacking by held-out tokens (Yao, Vehtari and Gelman 2022, arXiv 2006.12335).

Chains that sit in different modes are weighed by how well a mixture of them predicts tokens that were held out. The
weights w maximise Σ_n log Σ_c w_c p_c(n), p_c(n) being the probability chain c gives the held-out token n, in the mean
over resampled rows. A fit sees
every token, so rows are held out afterwards: in a kept draw some rows (at most a tenth at a time) are taken out of
m_j and m_ji, half of the tokens of each are shown to the fold-in, and the other half is predicted. What remains of a
held-out row is that the other rows were sampled beside it; that is the same for every chain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from superwords.draws import Draws, Kept
from superwords.sampler.model import Prior
from superwords.sampler.prediction import Halves, make_halves, predict
from superwords.sampler.state import Sizes, State, n_concepts, sizes_of
from superwords.sampler.workspace import make_concepts

N_ROWS = 200
N_DRAWS = 4  # of each chain, evenly spaced
N_SWEEPS = 15  # of the fold-in
_MOST_AT_ONCE = 0.1  # share of the rows
_SEED = 2022
_ROUNDS, _SETTLED = 2000, 1e-5
_RESAMPLES = 40
_LEAST = 1e-12


def chain_weights(draws: Draws, counts: sparse.csr_array, prior: Prior) -> np.ndarray:
    """(chains): weights that sum to 1; equal where there is nothing to tell chains apart by.

    Parameters
    ----------
    draws
        The kept draws of all chains.
    counts
        (rows, V) in the order of the draws' rows.
    prior
        The prior of the fit; b₁ and b₂ are the draws' own.
    """
    sampled = [c for c, chain in enumerate(draws.chains) if len(chain)]
    weights = np.zeros(len(draws.chains))
    weights[sampled] = 1 / max(len(sampled), 1)
    parts = _parts(counts)
    if len(sampled) > 1 and parts:
        density = [_of_chain(draws.chains[c], parts, counts, prior) for c in sampled]
        row = np.concatenate([rows[half.row] for rows, half in zip(parts, _halves(parts, counts))])
        weights[sampled] = stacked(np.array(density), row)
    return weights


def stacked(density: np.ndarray, row: np.ndarray) -> np.ndarray:
    """(chains): the weights that predict best, from (chains, tokens) densities and the row of each token.

    They are the mean over resampled rows (the Bayesian bootstrap), so that a difference which a few rows decide does
    not decide everything: chains that predict about as well share.

    Examples
    --------
    >>> stacked(np.array([[0.2, 0.1], [0.1, 0.05]]), np.array([0, 1])).round(3).tolist()
    [1.0, 0.0]
    """
    rng = np.random.default_rng(_SEED)
    rows, at = np.unique(row, return_inverse=True)
    found = [best_mixture(density, rng.standard_exponential(len(rows))[at]) for _ in range(_RESAMPLES)]
    mean = np.mean(found, axis=0)
    return mean / mean.sum()


def best_mixture(density: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The weights w that maximise Σ_n t_n log Σ_c w_c p_c(n), t_n being how often token n counts.

    The objective is concave; expectation and maximisation begin with equal weights, so that chains which say the same
    keep the same weight.
    """
    weights = np.full(len(density), 1 / len(density))
    density, share = density + _LEAST, times / times.sum()
    for _ in range(_ROUNDS):
        new = weights * ((density / (weights @ density)) @ share)
        moved = np.abs(new - weights).max()
        weights = new / new.sum()
        if moved < _SETTLED:
            break
    return weights


def _parts(counts: sparse.csr_array) -> list[np.ndarray]:
    """Rows to hold out, a part of them at a time."""
    length = np.asarray(counts.sum(axis=1)).ravel()
    usable = np.flatnonzero(length >= 2)
    rng = np.random.default_rng(_SEED)
    chosen = rng.permutation(usable)[:N_ROWS]
    at_once = max(1, int(_MOST_AT_ONCE * counts.shape[0]))
    return [np.sort(chosen[a : a + at_once]) for a in range(0, len(chosen), at_once)]


def _halves(parts: list[np.ndarray], counts: sparse.csr_array) -> list[Halves]:
    return [make_halves(sparse.csr_array(counts[rows])) for rows in parts]


def _of_chain(
    kept: Sequence[Kept], parts: list[np.ndarray], counts: sparse.csr_array, prior: Prior
) -> np.ndarray:
    """(tokens): the mean over some draws of the probability of each held-out token."""
    halves = _halves(parts, counts)
    chosen = np.unique(np.linspace(0, len(kept) - 1, N_DRAWS).round().astype(int))
    return np.mean([_of_draw(kept[int(s)], parts, halves, prior) for s in chosen], axis=0)


def _of_draw(draw: Kept, parts: list[np.ndarray], halves: list[Halves], prior: Prior) -> np.ndarray:
    whole = sizes_of(draw.state)
    n_rows = len(draw.state.doc_ptr) - 1
    own = prior._replace(b1=draw.b1, b2=draw.b2)
    found = []
    for rows, half in zip(parts, halves):
        concepts = make_concepts(without(whole, draw.state, rows), n_rows - len(rows), draw.state.theta, own)
        found.append(predict(concepts, half, _SEED, N_SWEEPS))
    return np.concatenate(found)


def without(sizes: Sizes, state: State, rows: np.ndarray) -> Sizes:
    """The sizes with some rows left out, and without the concepts that only they hold."""
    n_words = sizes.m.shape[1]
    pairs = np.concatenate([np.arange(state.doc_ptr[d], state.doc_ptr[d + 1]) for d in rows])
    entries = np.concatenate(
        [np.arange(state.pair_ptr[p], state.pair_ptr[p + 1]) for p in pairs] or [np.zeros(0, np.int64)]
    ).astype(np.int64)
    pairs = pairs.astype(np.int64)
    concept = np.repeat(state.concept[pairs], np.diff(state.pair_ptr)[pairs]).astype(np.int64)
    gone = np.bincount(concept * n_words + state.word[entries], minlength=sizes.m.size)
    m = sizes.m - gone.reshape(sizes.m.shape)
    holders = sizes.holders - np.bincount(state.concept[pairs], minlength=n_concepts(state))
    held = holders > 0
    m = np.ascontiguousarray(m[held], np.int32)
    return Sizes(m, holders[held], m.sum(axis=0).astype(np.int64))
