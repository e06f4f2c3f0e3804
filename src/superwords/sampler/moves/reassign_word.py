"""Move all tokens of a word in a document to another of its concepts (docs/algebra.md section 5).

Given z, X and σ², document by document: f_ji → 0 and f_ki → 1, k drawn among the document's concepts without the word
in proportion to prior and text, and accepted on the features' ratio.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.feature_draw import RegressionDraw, draw_regression, log_fit_word, step_count
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.contract import ChainState, Info, make_info
from superwords.sampler.random import WORD_MOVES, accepts, open_stream, uniform
from superwords.sampler.state import Sizes, State, Tokens, sizes_of

_TURN = 0x100  # of drawing X and σ² in a sweep
_LEAST = 1e-300
OFF = -1


class WordMoves(NamedTuple):
    """The state, its counts, and the current document (words a, concepts k)."""

    state: State
    z: Tokens
    sizes: Sizes
    regression: RegressionDraw
    model: Model
    odds: np.ndarray  # (V, J) that a document has a word on in a concept, by the others' counts
    pair: np.ndarray  # (E) the pair of every entry of the state, changed by moves
    local_index: np.ndarray  # (V) a + 1 of a word that occurs in the document, else 0
    tokens: np.ndarray  # (a, k) imputed tokens of a word that is on, else OFF
    entry: np.ndarray  # (a, k) the entry of a word that is on
    n_tokens: np.ndarray  # (k) n_dj
    mass: np.ndarray  # (k) T
    log_weight: np.ndarray  # (k) log π
    log_rest: np.ndarray  # (k) n_dj log T/(T + θ), what one more word of θ costs the concept's present tokens
    log_token: np.ndarray  # (k) log π/(T + θ), the gain for each token of that word
    gain: np.ndarray  # (k) both, for one token, on the linear scale
    share: np.ndarray  # (k) scratch
    theta: np.ndarray  # () the θ that these are for
    tried: np.ndarray  # (1)
    moved: np.ndarray  # (1)


def move_word_tokens(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Move words between concepts, for a share `word_moves` of their uses."""
    model, before, z = now.model, now.state, now.tokens
    if len(before.concept) == 0 or z is None or not model.steps.word_moves:
        return now, {}
    sizes = sizes_of(before)
    state = before._replace(pair_ptr=before.pair_ptr.copy(), word=before.word.copy())
    tokens = Tokens(z.entry.copy(), z.pair.copy())
    regression = draw_regression(sizes, model.data, model.prior, stream, sweep, _TURN)
    moves = start_moves(state, tokens, sizes, regression, model)
    sweep_word_moves(moves, stream, sweep)
    return now._replace(state=state, tokens=tokens), make_info(("word move",), moves.tried, moves.moved)


def start_moves(state: State, tokens: Tokens, sizes: Sizes, regression: RegressionDraw, model: Model) -> WordMoves:
    """Return the record of a sweep, which changes state, tokens and counts in place."""
    most, longest = int(np.diff(state.doc_ptr).max()), int(np.diff(model.data.doc_ptr).max())
    moves = WordMoves(
        state,
        tokens,
        sizes,
        regression,
        model,
        odds=np.zeros((sizes.m.shape[1], len(sizes.m))),
        pair=np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr)),
        local_index=np.zeros(len(state.theta), np.int32),
        tokens=np.zeros((longest, most), np.int32),
        entry=np.zeros((longest, most), np.int64),
        n_tokens=np.zeros(most, np.int64),
        **{name: np.zeros(most) for name in ("mass", "log_weight", "log_rest", "log_token", "gain", "share")},
        theta=np.zeros(()),
        **{name: np.zeros(1, np.int64) for name in ("tried", "moved")},
    )
    _fill_odds(moves)
    return moves


def sweep_word_moves(moves: WordMoves, stream: np.ndarray, sweep: int) -> None:
    """Update the documents in place, and sort the words of each concept that were moved."""
    _sweep_documents(moves, stream, sweep)
    if moves.moved[0] > 0:
        state, tokens = moves.state, moves.z
        shape = len(state.concept), len(state.theta)
        entries = sparse.coo_array((tokens.entry, (moves.pair, state.word)), shape).tocsr()
        state.pair_ptr[:], state.word[:], tokens.entry[:] = entries.indptr, entries.indices, entries.data


@ref_kernel
def _fill_odds(moves):
    for i in range(len(moves.odds)):
        for j in range(len(moves.sizes.m)):
            moves.odds[i, j] = _odds(i, j, 0, moves)


@ref_kernel
def _sweep_documents(moves, stream, sweep):
    state, data, share = moves.state, moves.model.data, moves.model.steps.word_moves
    for d in range(len(data.length)):
        first, n_words = state.doc_ptr[d], data.doc_ptr[d + 1] - data.doc_ptr[d]
        n_pairs = state.doc_ptr[d + 1] - first
        if n_pairs < 2:
            continue
        open_stream(stream, WORD_MOVES, sweep, d)
        _lay_out(d, moves)
        moves.theta = -1.0
        is_backwards = uniform(stream) < 0.5  # a random direction keeps the sweep reversible
        for at in range(n_words):
            if share < 1.0 and uniform(stream) >= share:
                continue
            a = n_words - 1 - at if is_backwards else at
            k = _pick_holder(a, n_pairs, moves, stream)
            if k >= 0:
                i = np.int64(data.word[data.doc_ptr[d] + a])
                to = _pick_target(a, i, k, first, n_pairs, moves, stream)
                if to != k:
                    moves.tried[0] += 1
                    moves.moved[0] += _hand_over(a, i, k, to, first, moves, stream)
        for k in range(n_pairs):
            moves.z.pair[first + k] = moves.n_tokens[k]
        for a in range(data.doc_ptr[d], data.doc_ptr[d + 1]):
            moves.local_index[data.word[a]] = 0


@helper
def _lay_out(d, moves):
    state, data = moves.state, moves.model.data
    n_words = data.doc_ptr[d + 1] - data.doc_ptr[d]
    n_pairs = state.doc_ptr[d + 1] - state.doc_ptr[d]
    for a in range(n_words):
        moves.local_index[data.word[data.doc_ptr[d] + a]] = a + 1
        for k in range(n_pairs):
            moves.tokens[a, k] = OFF
    for k in range(n_pairs):
        p, mass = state.doc_ptr[d] + k, 0.0
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            mass += state.theta[state.word[e]]
            local_index = moves.local_index[state.word[e]]
            if local_index > 0:
                moves.tokens[local_index - 1, k], moves.entry[local_index - 1, k] = moves.z.entry[e], e
        moves.mass[k], moves.n_tokens[k] = mass, moves.z.pair[p]
        moves.log_weight[k] = math.log(state.weight[p])


@helper
def _pick_holder(a, n_pairs, moves, stream):
    """Pick one of the concepts that tokens of the word are imputed to; −1 if none."""
    chosen, seen = -1, 0
    for k in range(n_pairs):
        if moves.tokens[a, k] > 0:
            seen += 1
            if seen == 1 or uniform(stream) * seen < 1.0:
                chosen = k
    return chosen


@helper
def _weigh(k, theta, moves):
    """Set the log gain of the k-th concept by one more word of θ."""
    mass, used = moves.mass[k], moves.n_tokens[k]
    moves.log_rest[k] = used * math.log(mass / (mass + theta)) if used > 0 else 0.0
    moves.log_token[k] = moves.log_weight[k] - math.log(mass + theta)
    moves.gain[k] = math.exp(moves.log_token[k] + moves.log_rest[k])


@helper
def _pick_target(a, i, home, first, n_pairs, moves, stream):
    """Draw the concept that gets the tokens: the same, or one without the word."""
    state = moves.state
    theta, n, total = state.theta[i], moves.tokens[a, home], 0.0
    j = np.int64(state.concept[first + home])
    if _is_fixed(i, j, moves):
        return home
    if theta != moves.theta:
        moves.theta = theta
        for k in range(n_pairs):
            _weigh(k, theta, moves)
    for k in range(n_pairs):
        moves.share[k] = 0.0
        is_fixed = _is_fixed(i, state.concept[first + k], moves)
        if moves.tokens[a, k] == OFF and not is_fixed:
            gain = moves.gain[k] if n == 1 else math.exp(n * moves.log_token[k] + moves.log_rest[k])
            moves.share[k] = gain * moves.odds[i, state.concept[first + k]]
            total += moves.share[k]
    if total == 0.0:
        return home
    mass, used = moves.mass[home], moves.n_tokens[home] - n
    log_gain = n * (moves.log_weight[home] - math.log(mass))
    if used > 0:
        log_gain += used * math.log((mass - theta) / mass)
    stays = math.exp(log_gain) * _odds(i, j, 1, moves)
    u = uniform(stream) * (total + stays) - stays
    if u < 0.0:
        return home
    for k in range(n_pairs):
        u -= moves.share[k]
        if u < 0.0:
            return k
    return home


@helper
def _is_fixed(i, j, moves):
    """Return whether the word is conditioned on in concept j."""
    return j < len(moves.model.fixed) and moves.model.fixed[j, i] != 0


@helper
def _odds(i, j, own, moves):
    """Return the odds that a document has the word on in concept j, given the others."""
    sizes, prior = moves.sizes, moves.model.prior
    m = sizes.m[j, i] - own
    on, off = prior.b2 * prior.lam[i], prior.b2 * (1.0 - prior.lam[i])
    return (m + on) / max(sizes.holders[j] - 1 - m + off, _LEAST)


@helper
def _hand_over(a, i, home, to, first, moves, stream):
    """Accept the move on the feature ratio and apply it."""
    state, regression = moves.state, moves.regression
    j, t = np.int64(state.concept[first + home]), np.int64(state.concept[first + to])
    if len(regression.precision) > 0:
        if not accepts(log_fit_word(regression, i, -1.0, j, 1.0, t), stream):
            return False
        step_count(regression, i, t, 1.0)
        step_count(regression, i, j, -1.0)
    n, theta = moves.tokens[a, home], state.theta[i]
    moves.tokens[a, to], moves.tokens[a, home] = n, OFF
    moves.entry[a, to] = moves.entry[a, home]
    moves.pair[moves.entry[a, home]] = first + to
    moves.n_tokens[to] += n
    moves.n_tokens[home] -= n
    moves.mass[to] += theta
    moves.mass[home] -= theta
    _weigh(to, theta, moves)
    _weigh(home, theta, moves)
    moves.sizes.m[t, i] += 1
    moves.sizes.m[j, i] -= 1
    moves.odds[i, t] = _odds(i, t, 0, moves)
    moves.odds[i, j] = _odds(i, j, 0, moves)
    return True
