"""Move all tokens of a word in a document to another of its concepts.

docs/algebra.md section 5, "the word move".
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


class TokenTable(NamedTuple):
    """Tokens of the current document; a indexes its distinct words, k its concepts."""

    local_index: np.ndarray  # (V) a + 1 of a word that occurs in the document, else 0
    tokens: np.ndarray  # (a, k) imputed tokens of a word that is on, else OFF
    entry: np.ndarray  # (a, k) the entry of a word that is on
    mass: np.ndarray  # (k) T
    n_tokens: np.ndarray  # (k) n_dj
    log_weight: np.ndarray  # (k) log π
    log_rest: np.ndarray  # (k) n_dj log T/(T + θ), what one more word of θ costs the concept's present tokens
    log_token: np.ndarray  # (k) log π/(T + θ), the gain for each token of that word
    gain: np.ndarray  # (k) both, for one token, on the linear scale
    share: np.ndarray  # (k) scratch
    theta: np.ndarray  # () the θ that these are for
    pair: np.ndarray  # (E) the pair of every entry of the state, changed by moves


class Context(NamedTuple):
    """Counts shared by the documents, updated with every move."""

    odds: np.ndarray  # (V, J) that a document has a word on in a concept, by the others' counts
    sizes: Sizes
    regression: RegressionDraw
    model: Model


def move_word_tokens(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Move words between concepts, for a share `word_moves` of their uses."""
    model, before, z = now.model, now.state, now.tokens
    if len(before.concept) == 0 or z is None or not model.steps.word_moves:
        return now, {}
    sizes = sizes_of(before)
    state = before._replace(pair_ptr=before.pair_ptr.copy(), word=before.word.copy())
    tokens = Tokens(z.entry.copy(), z.pair.copy())
    regression = draw_regression(sizes, model.data, model.prior, stream, sweep, _TURN)
    tried, moved = sweep_word_moves(state, tokens, make_context(sizes, regression, model), stream, sweep)
    info = make_info(("word move",), tried, moved)
    return now._replace(state=state, tokens=tokens), info


def make_context(sizes: Sizes, regression: RegressionDraw, model: Model) -> Context:
    """Return the context given by the other documents' counts, kept up to date."""
    odds = np.zeros((sizes.m.shape[1], len(sizes.m)))
    _fill_odds(sizes, model.prior, odds)
    return Context(odds, sizes, regression, model)


def sweep_word_moves(
    state: State, tokens: Tokens, context: Context, stream: np.ndarray, sweep: int
) -> tuple[np.ndarray, np.ndarray]:
    """Update the documents in place; return how many moves were tried and made."""
    most = int(np.diff(state.doc_ptr).max())
    longest = int(np.diff(context.model.data.doc_ptr).max())
    table = TokenTable(
        local_index=np.zeros(len(state.theta), np.int32),
        tokens=np.zeros((longest, most), np.int32),
        entry=np.zeros((longest, most), np.int64),
        n_tokens=np.zeros(most, np.int64),
        **{name: np.zeros(most) for name in ("mass", "log_weight", "log_rest", "log_token", "gain", "share")},
        theta=np.zeros(()),
        pair=np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr)),
    )
    tried, moved = np.zeros(1, np.int64), np.zeros(1, np.int64)
    _sweep_documents(state, tokens, context, table, tried, moved, stream, sweep)
    if moved[0] > 0:
        shape = len(state.concept), len(state.theta)
        entries = sparse.coo_array((tokens.entry, (table.pair, state.word)), shape).tocsr()
        state.pair_ptr[:], state.word[:], tokens.entry[:] = entries.indptr, entries.indices, entries.data
    return tried, moved


@ref_kernel
def _fill_odds(sizes, prior, odds):
    for i in range(len(odds)):
        for j in range(len(sizes.m)):
            odds[i, j] = _odds(i, j, 0, sizes, prior)


@ref_kernel
def _sweep_documents(state, tokens, context, table, tried, moved, stream, sweep):
    data, word_moves = context.model.data, context.model.steps.word_moves
    for d in range(len(data.length)):
        n_pairs, n_words = state.doc_ptr[d + 1] - state.doc_ptr[d], data.doc_ptr[d + 1] - data.doc_ptr[d]
        if n_pairs < 2:
            continue
        open_stream(stream, WORD_MOVES, sweep, d)
        _lay_out(d, state, tokens, data, table)
        table.theta = -1.0
        n_moved, is_backwards = 0, uniform(stream) < 0.5  # a random direction keeps the sweep reversible
        for at in range(n_words):
            if word_moves < 1.0 and uniform(stream) >= word_moves:
                continue
            a = n_words - 1 - at if is_backwards else at
            k = _pick_holder(a, n_pairs, table, stream)
            if k >= 0:
                i = np.int64(data.word[data.doc_ptr[d] + a])
                to = _pick_target(a, i, k, state.doc_ptr[d], n_pairs, state, context, table, stream)
                if to != k:
                    tried[0] += 1
                    n_moved += _hand_over(a, i, k, to, state.doc_ptr[d], state, context, table, stream)
        moved[0] += n_moved
        for k in range(n_pairs):
            tokens.pair[state.doc_ptr[d] + k] = table.n_tokens[k]
        for a in range(data.doc_ptr[d], data.doc_ptr[d + 1]):
            table.local_index[data.word[a]] = 0


@helper
def _lay_out(d, state, tokens, data, table):
    n_words = data.doc_ptr[d + 1] - data.doc_ptr[d]
    n_pairs = state.doc_ptr[d + 1] - state.doc_ptr[d]
    for a in range(n_words):
        table.local_index[data.word[data.doc_ptr[d] + a]] = a + 1
        for k in range(n_pairs):
            table.tokens[a, k] = OFF
    for k in range(n_pairs):
        p, mass = state.doc_ptr[d] + k, 0.0
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            mass += state.theta[state.word[e]]
            local_index = table.local_index[state.word[e]]
            if local_index > 0:
                table.tokens[local_index - 1, k], table.entry[local_index - 1, k] = tokens.entry[e], e
        table.mass[k], table.n_tokens[k] = mass, tokens.pair[p]
        table.log_weight[k] = math.log(state.weight[p])


@helper
def _pick_holder(a, n_pairs, table, stream):
    """Pick one of the concepts that tokens of the word are imputed to; −1 if none."""
    chosen, seen = -1, 0
    for k in range(n_pairs):
        if table.tokens[a, k] > 0:
            seen += 1
            if seen == 1 or uniform(stream) * seen < 1.0:
                chosen = k
    return chosen


@helper
def _weigh(k, theta, table):
    """Set the log gain of the k-th concept by one more word of θ."""
    mass, used = table.mass[k], table.n_tokens[k]
    table.log_rest[k] = used * math.log(mass / (mass + theta)) if used > 0 else 0.0
    table.log_token[k] = table.log_weight[k] - math.log(mass + theta)
    table.gain[k] = math.exp(table.log_token[k] + table.log_rest[k])


@helper
def _pick_target(a, i, home, first, n_pairs, state, context, table, stream):
    """Draw the concept that gets the tokens: the same, or one without the word."""
    theta, n, total = state.theta[i], table.tokens[a, home], 0.0
    j = np.int64(state.concept[first + home])
    if _is_fixed(i, j, context):
        return home
    if theta != table.theta:
        table.theta = theta
        for k in range(n_pairs):
            _weigh(k, theta, table)
    for k in range(n_pairs):
        table.share[k] = 0.0
        is_fixed = _is_fixed(i, state.concept[first + k], context)
        if table.tokens[a, k] == OFF and not is_fixed:
            gain = table.gain[k] if n == 1 else math.exp(n * table.log_token[k] + table.log_rest[k])
            table.share[k] = gain * context.odds[i, state.concept[first + k]]
            total += table.share[k]
    if total == 0.0:
        return home
    mass, used = table.mass[home], table.n_tokens[home] - n
    log_gain = n * (table.log_weight[home] - math.log(mass))
    if used > 0:
        log_gain += used * math.log((mass - theta) / mass)
    stays = math.exp(log_gain) * _odds(i, j, 1, context.sizes, context.model.prior)
    u = uniform(stream) * (total + stays) - stays
    if u < 0.0:
        return home
    for k in range(n_pairs):
        u -= table.share[k]
        if u < 0.0:
            return k
    return home


@helper
def _is_fixed(i, j, context):
    """Return whether the word is conditioned on in concept j."""
    return j < len(context.model.fixed) and context.model.fixed[j, i] != 0


@helper
def _odds(i, j, own, sizes, prior):
    """Return the odds that a document has the word on in concept j, given the others."""
    m = sizes.m[j, i] - own
    on, off = prior.b2 * prior.lam[i], prior.b2 * (1.0 - prior.lam[i])
    return (m + on) / max(sizes.holders[j] - 1 - m + off, _LEAST)


@helper
def _hand_over(a, i, home, to, first, state, context, table, stream):
    """Accept the move on the feature ratio and apply it."""
    j, t = np.int64(state.concept[first + home]), np.int64(state.concept[first + to])
    regression = context.regression
    if len(regression.precision) > 0:
        if not accepts(log_fit_word(regression, i, -1.0, j, 1.0, t), stream):
            return False
        step_count(regression, i, t, 1.0)
        step_count(regression, i, j, -1.0)
    n, theta = table.tokens[a, home], state.theta[i]
    table.tokens[a, to], table.tokens[a, home] = n, OFF
    table.entry[a, to] = table.entry[a, home]
    table.pair[table.entry[a, home]] = first + to
    table.n_tokens[to] += n
    table.n_tokens[home] -= n
    table.mass[to] += theta
    table.mass[home] -= theta
    _weigh(to, theta, table)
    _weigh(home, theta, table)
    context.sizes.m[t, i] += 1
    context.sizes.m[j, i] -= 1
    context.odds[i, t] = _odds(i, t, 0, context.sizes, context.model.prior)
    context.odds[i, j] = _odds(i, j, 0, context.sizes, context.model.prior)
    return True
