"""Update f word by word given z: Eq. (fUpdate) of the paper (docs/algebra.md 5).

Words are independent given z, X, σ² and u ~ Gamma(n_dj, rate T_dj), by which the text's factor T_dj^{−n_dj} becomes
Π_i e^{−u_dj θ_i f_ji}. A small vocabulary is updated in blocks, each with new X and σ², since each word then has more
weight in them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.feature_draw import RegressionDraw, draw_regression, log_fit_word, step_count
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.contract import ChainState, Info, map_blocks
from superwords.sampler.random import WORDS, gamma, open_stream, skip_by_log, uniform
from superwords.sampler.state import Sizes, State, Tokens, sizes_of

_FIRST_TURN = 1  # X and σ² were drawn in this sweep already; use other random numbers
_BLOCKS, _FEW_WORDS = 4, 500  # blocks per sweep of at most this number of words; else one block


class SweepContext(NamedTuple):
    """Data shared by all words; only a word's own counts are updated.

    A pair has an index q in the order concept, document; a word's entries are sorted by q.
    """

    first: np.ndarray  # (J+1) where a concept's pairs begin
    u: np.ndarray  # (q)
    ptr: np.ndarray  # (V+1) into q, tokens
    q: np.ndarray  # (E) of an entry
    tokens: np.ndarray  # (E) n_dji
    sizes: Sizes
    theta: np.ndarray
    regression: RegressionDraw
    model: Model


class Progress(NamedTuple):
    """The entries written so far, and what depends on m_ji alone for the current word and concept."""

    odds: np.ndarray  # prior and semantic odds of on, m_ji other documents having it on
    log_miss: np.ndarray  # log(1 − p) of those odds
    stamp: np.ndarray
    current: np.ndarray  # () stamp of the present word and concept
    written: np.ndarray  # () entries written
    word: np.ndarray  # () the next word
    size: np.ndarray  # entries of each word
    q: np.ndarray
    tokens: np.ndarray


def move_words(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Draw f given z."""
    model, state = now.model, now.state
    if len(state.concept) == 0 or now.tokens is None or not model.steps.words:
        return now, {}
    sizes = sizes_of(state)
    state, tokens = sweep_words(state, now.tokens, sizes, model, stream, sweep, now.n_threads)
    return now._replace(state=state, tokens=tokens), {}


def sweep_words(
    state: State, tokens: Tokens, sizes: Sizes, model: Model, stream: np.ndarray, sweep: int, n_threads: int = 1
) -> tuple[State, Tokens]:
    """Update the vocabulary once, with `sizes`; return the new state and tokens."""
    n_pairs, n_words = len(state.concept), len(state.theta)
    u = np.zeros(n_pairs)

    def draw_u(first: int, last: int) -> None:
        _draw_u(first, last, state, tokens, u, stream.copy(), sweep)

    map_blocks(draw_u, len(state.doc_ptr) - 1, n_threads)
    order = np.argsort(state.concept, kind="stable")
    first = np.searchsorted(state.concept[order], np.arange(len(sizes.holders) + 1))
    entries = sparse.csr_array((tokens.entry, state.word, state.pair_ptr), shape=(n_pairs, n_words))
    by_word = sparse.csc_array(entries[order])
    before = by_word.indptr.astype(np.int64), by_word.indices.astype(np.int32), by_word.data
    n_blocks = min(_BLOCKS, n_words) if model.data.Y.shape[1] and n_words <= _FEW_WORDS else 1
    found = []
    for block in range(n_blocks):
        start, end = n_words * block // n_blocks, n_words * (block + 1) // n_blocks
        regression = draw_regression(sizes, model.data, model.prior, stream, sweep, _FIRST_TURN + block)
        context = SweepContext(first, u[order], *before, sizes, state.theta, regression, model)
        found += map_blocks(partial(_sweep_block, start, context, stream, sweep), end - start, n_threads)
    size, q, count = (np.concatenate(part) for part in zip(*found))
    ptr = np.concatenate([[0], np.cumsum(size)])
    after = sparse.csc_array((count, order[q], ptr), shape=(n_pairs, n_words)).tocsr()
    state = state._replace(pair_ptr=after.indptr.astype(np.int64), word=after.indices.astype(np.int32))
    return state, tokens._replace(entry=after.data)


@ref_kernel
def _draw_u(first, last, state, tokens, u, stream, sweep):
    for d in range(first, last):
        open_stream(stream, WORDS, sweep, len(state.theta) + d)
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            if tokens.pair[p] > 0:
                mass = 0.0
                for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                    mass += state.theta[state.word[e]]
                u[p] = gamma(stream, float(tokens.pair[p])) / mass


def _sweep_block(
    start: int, context: SweepContext, stream: np.ndarray, sweep: int, *part: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Update words from `start` on; return the number of entries of each, and these."""
    first, last, stream = start + part[0], start + part[1], stream.copy()
    most, n_pairs = int(context.sizes.holders.max()) + 2, len(context.u)
    room = 2 * int(context.ptr[last] - context.ptr[first]) + n_pairs
    progress = Progress(
        **{name: np.zeros(most) for name in ("odds", "log_miss")},
        stamp=np.zeros(most, np.int64),
        **{name: np.array(number) for name, number in (("current", 0), ("written", 0), ("word", first))},
        size=np.zeros(last - first, np.int64),
        **{name: np.empty(room, np.int32) for name in ("q", "tokens")},
    )
    while not _sweep_some(first, last, context, progress, stream, sweep):
        more = np.empty_like(progress.q)
        progress = progress._replace(q=np.append(progress.q, more), tokens=np.append(progress.tokens, more))
    n_written = int(progress.written)
    return progress.size, progress.q[:n_written].copy(), progress.tokens[:n_written].copy()


@ref_kernel
def _sweep_some(first, last, context, progress, stream, sweep):
    """Update words from progress.word on; return False if space may run out."""
    sizes, regression, share = context.sizes, context.regression, context.model.steps.words
    while progress.word < last:
        i, at = progress.word, progress.written
        if at + len(context.u) > len(progress.q):
            return False
        open_stream(stream, WORDS, sweep, i)
        start, last_entry = context.ptr[i], context.ptr[i + 1]
        if share < 1.0 and uniform(stream) >= share:
            _keep_entries(start, last_entry, context, progress)
        else:
            sizes.total[i] = 0
            for j in range(len(sizes.holders)):
                end, was = start, sizes.m[j, i]
                while end < last_entry and context.q[end] < context.first[j + 1]:
                    end += 1
                if j < len(context.model.fixed) and context.model.fixed[j, i] != 0:
                    _keep_entries(start, end, context, progress)
                else:
                    progress.current += 1
                    _gibbs_concept(i, j, start, end, context, progress, stream)
                if sizes.m[j, i] != was and len(regression.precision) > 0:
                    step_count(regression, i, j, float(sizes.m[j, i] - was))
                sizes.total[i] += sizes.m[j, i]
                start = end
        progress.size[i - first] = progress.written - at
        progress.word += 1
    return True


@helper
def _keep_entries(start, end, context, progress):
    """Write entries as they are."""
    for e in range(start, end):
        progress.q[progress.written], progress.tokens[progress.written] = context.q[e], context.tokens[e]
        progress.written += 1


@helper
def _gibbs_concept(i, j, start, end, context, progress, stream):
    """Draw f_ji^(d) for every document that holds j, in order.

    A document with the word off turns it on with at most p_max, its text factor being at most 1: a geometric number of
    them is skipped, and the next accepted with p_d / p_max; redrawn whenever m_ji changes.
    """
    u, sizes, theta = context.u, context.sizes, context.theta[i]
    base, written = sizes.m[j, i], progress.written
    m, q, next_on, last = base, context.first[j], start, context.first[j + 1]
    fresh = True
    odds, gap = 0.0, 0
    while q < last:
        if fresh:
            gap = last
            if m < sizes.holders[j]:
                odds = _odds(m, base, i, j, context, progress)
                # Thinning: the text factor is at most 1, so no document before the gap can turn on
                gap = skip_by_log(stream, progress.log_miss[m])
            fresh = False
        stop = context.q[next_on] if next_on < end else last
        is_on, n = True, 0
        if gap < stop - q:
            q += gap
            # Eq. (fUpdate): T^{−n} = E exp(−u θ f) makes the text factor e^{−uθ}, which needs no other word
            p = odds / (odds + math.exp(u[q] * theta))
            is_on = uniform(stream) * odds < (1.0 + odds) * p
            if is_on:
                m += 1
                fresh = True
            else:
                gap = skip_by_log(stream, progress.log_miss[m])
        else:
            gap -= stop - q
            q = stop
            if next_on == end:
                break
            n = context.tokens[next_on]
            next_on += 1
            if n == 0:
                on_odds = _odds(m - 1, base, i, j, context, progress)
                is_on = uniform(stream) * (on_odds + math.exp(u[q] * theta)) < on_odds
                if not is_on:
                    m -= 1
                    fresh = True
        if is_on:
            progress.q[written], progress.tokens[written] = q, n
            written += 1
        q += 1
    sizes.m[j, i] = m
    progress.written = written


@helper
def _odds(m_others, base, i, j, context, progress):
    """Return the prior and feature odds of f_ji^(d) given m_others; memoised."""
    if progress.stamp[m_others] != progress.current:
        progress.stamp[m_others] = progress.current
        lam, b2 = context.model.prior.lam[i], context.model.prior.b2
        # Eq. (fUpdate): prior odds (m_ji⁻ + b₂λ_i)/(m_j⁻ − m_ji⁻ + b₂(1 − λ_i)), then the features
        odds = (m_others + b2 * lam) / (context.sizes.holders[j] - 1 - m_others + b2 * (1.0 - lam))
        if context.regression.known[i]:
            step = float(m_others - base)
            gain = log_fit_word(context.regression, i, step + 1.0, j, 0.0, j)
            gain -= log_fit_word(context.regression, i, step, j, 0.0, j)
            odds *= math.exp(min(gain, 600.0))
        progress.odds[m_others] = odds
        progress.log_miss[m_others] = -math.log1p(odds)
    return progress.odds[m_others]
