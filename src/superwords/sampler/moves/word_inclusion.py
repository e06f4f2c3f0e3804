"""Update f word by word given z: Eq. (fUpdate) of the paper (docs/algebra.md 5).

Words are independent given z, X, σ² and u. With u_dj ~ Gamma(n_dj, rate T_dj) the text's factor T_dj^{−n_dj} becomes
Π_i e^{−u_dj θ_i f_ji}; given X and σ², a word's features depend on its own counts only. γ stays integrated out. So
words can be updated in parallel; X, σ² and u are discarded after the step. A small vocabulary is updated in blocks,
each with new X and σ², since each word then has more weight in them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.feature_draw import RegressionDraw, draw_regression, log_fit, step_count
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info, map_blocks
from superwords.sampler.random import WORDS, gamma, open_stream, skip_by_log, uniform
from superwords.sampler.state import Sizes, State, Tokens, sizes_of

_FIRST_TURN = 1  # X and σ² were drawn in this sweep already; use other random numbers
_BLOCKS, _FEW_WORDS = 4, 500  # blocks per sweep of at most this number of words; else one block


class PairIndex(NamedTuple):
    """Pairs in the order concept, document (index q), with u."""

    first: np.ndarray  # (J+1) where a concept's pairs begin
    u: np.ndarray  # (q)


class EntriesByWord(NamedTuple):
    """Entries word by word, each word's sorted by q, with n_dji."""

    ptr: np.ndarray  # (V+1)
    q: np.ndarray
    tokens: np.ndarray


class SweepContext(NamedTuple):
    """Data shared by all words; only a word's own counts are updated."""

    pairs: PairIndex
    sizes: Sizes
    theta: np.ndarray
    regression: RegressionDraw
    model: Model


class OddsCache(NamedTuple):
    """Quantities that depend on m_ji alone, for the current word and concept."""

    odds: np.ndarray  # prior and semantic odds of on, m_ji other documents having it on
    log_miss: np.ndarray  # log(1 − p) of those odds
    stamp: np.ndarray
    current: np.ndarray  # () stamp of the present word and concept
    written: np.ndarray  # () entries written
    word: np.ndarray  # () the next word


def move_words(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Draw f given z."""
    model, state = now.model, now.state
    if len(state.concept) == 0 or now.tokens is None or not model.steps.words:
        return now, NOTHING_TRIED
    sizes = sizes_of(state)
    state, tokens = sweep_words(state, now.tokens, sizes, model, stream, sweep, now.n_threads)
    return now._replace(state=state, tokens=tokens), NOTHING_TRIED


def sweep_words(
    state: State, tokens: Tokens, sizes: Sizes, model: Model, stream: np.ndarray, sweep: int, n_threads: int = 1
) -> tuple[State, Tokens]:
    """Update the vocabulary once, with `sizes`; return the new state and tokens."""
    n_pairs, n_words = len(state.concept), len(state.theta)
    u = np.zeros(n_pairs)
    map_blocks(
        lambda first, last: _draw_u(first, last, state, tokens, u, stream.copy(), sweep),
        len(state.doc_ptr) - 1,
        n_threads,
    )
    order = np.argsort(state.concept, kind="stable")
    pairs = PairIndex(np.searchsorted(state.concept[order], np.arange(len(sizes.holders) + 1)), u[order])
    entries = sparse.csr_array((tokens.entry, state.word, state.pair_ptr), shape=(n_pairs, n_words))
    by_word = sparse.csc_array(entries[order])
    before = EntriesByWord(by_word.indptr.astype(np.int64), by_word.indices.astype(np.int32), by_word.data)
    n_blocks = min(_BLOCKS, n_words) if model.data.Y.shape[1] and n_words <= _FEW_WORDS else 1
    found = []
    for block in range(n_blocks):
        start, end = n_words * block // n_blocks, n_words * (block + 1) // n_blocks
        regression = draw_regression(sizes, model.data, model.prior, stream, sweep, _FIRST_TURN + block)
        context = SweepContext(pairs, sizes, state.theta, regression, model)
        sweep_some = partial(_sweep_block, start, before, context, stream, sweep)
        found += map_blocks(sweep_some, end - start, n_threads)
    size, q, count = (np.concatenate(part) for part in zip(*found))
    ptr = np.concatenate([[0], np.cumsum(size)])
    after = sparse.csc_array((count, order[q], ptr), shape=(n_pairs, n_words)).tocsr()
    state = state._replace(pair_ptr=after.indptr.astype(np.int64), word=after.indices.astype(np.int32))
    return state, tokens._replace(entry=after.data)


@ref_kernel
def _draw_u(first, last, state, tokens, u, stream, sweep):
    """Draw u of the pairs of these documents."""
    for d in range(first, last):
        open_stream(stream, WORDS, sweep, len(state.theta) + d)
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            if tokens.pair[p] > 0:
                mass = 0.0
                for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                    mass += state.theta[state.word[e]]
                u[p] = gamma(stream, float(tokens.pair[p])) / mass


def _sweep_block(
    start: int, before: EntriesByWord, context: SweepContext, stream: np.ndarray, sweep: int, *part: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Update words from `start` on; return the number of entries of each, and these."""
    first, last, stream = start + part[0], start + part[1], stream.copy()
    most, n_pairs = int(context.sizes.holders.max()) + 2, len(context.pairs.u)
    cache = OddsCache(np.zeros(most), np.zeros(most), np.zeros(most, np.int64), *map(np.array, (0, 0, first)))
    size = np.zeros(last - first, np.int64)
    room = 2 * int(before.ptr[last] - before.ptr[first]) + n_pairs
    new_q, new_tokens = np.empty(room, np.int32), np.empty(room, np.int32)
    while not _sweep_some(first, last, before, context, cache, size, new_q, new_tokens, stream, sweep):
        new_q, new_tokens = (np.append(one, np.empty_like(one)) for one in (new_q, new_tokens))
    written = int(cache.written)
    return size, new_q[:written].copy(), new_tokens[:written].copy()


@ref_kernel
def _sweep_some(first, last, before, context, cache, size, new_q, new_tokens, stream, sweep):
    """Update words from cache.word on; return False if space may run out."""
    sizes, regression, share = context.sizes, context.regression, context.model.steps.words
    while cache.word < last:
        i, at = cache.word, cache.written
        if at + len(context.pairs.u) > len(new_q):
            return False
        open_stream(stream, WORDS, sweep, i)
        start, last_entry = before.ptr[i], before.ptr[i + 1]
        if share < 1.0 and uniform(stream) >= share:
            _keep_entries(start, last_entry, before, new_q, new_tokens, cache)
        else:
            sizes.total[i] = 0
            for j in range(len(sizes.holders)):
                end = start
                while end < last_entry and before.q[end] < context.pairs.first[j + 1]:
                    end += 1
                if j < len(context.model.fixed) and context.model.fixed[j, i] != 0:
                    _keep_entries(start, end, before, new_q, new_tokens, cache)
                    sizes.total[i] += sizes.m[j, i]
                    start = end
                    continue
                cache.current += 1
                was = sizes.m[j, i]
                _gibbs_concept(i, j, start, end, before, new_q, new_tokens, cache, context, stream)
                if sizes.m[j, i] != was and len(regression.precision) > 0:
                    step_count(regression, i, j, float(sizes.m[j, i] - was))
                sizes.total[i] += sizes.m[j, i]
                start = end
        size[i - first] = cache.written - at
        cache.word += 1
    return True


@helper
def _keep_entries(start, end, before, new_q, new_tokens, cache):
    """Write entries as they are."""
    at = cache.written
    for e in range(start, end):
        new_q[at + e - start], new_tokens[at + e - start] = before.q[e], before.tokens[e]
    cache.written += end - start


@helper
def _gibbs_concept(i, j, start, end, before, new_q, new_tokens, cache, context, stream):
    """Draw f_ji^(d) for every document that holds j, in order.

    A document with the word off turns it on with at most p_max, its text factor being at most 1: a geometric number of
    them is skipped, and the next accepted with p_d / p_max; redrawn whenever m_ji changes.
    """
    pairs, sizes = context.pairs, context.sizes
    theta, base = context.theta[i], sizes.m[j, i]
    m, written = base, cache.written
    q, next_on, last = pairs.first[j], start, pairs.first[j + 1]
    fresh = True
    odds, gap = 0.0, 0
    while q < last:
        if fresh:
            gap = last
            if m < sizes.holders[j]:
                odds = _odds(m, base, i, j, cache, context)
                # Thinning: the text factor is at most 1, so no document before the gap can turn on
                gap = skip_by_log(stream, cache.log_miss[m])
            fresh = False
        stop = before.q[next_on] if next_on < end else last
        is_on, n = True, 0
        if gap < stop - q:
            q += gap
            # Eq. (fUpdate): T^{−n} = E exp(−u θ f) makes the text factor e^{−uθ}, which needs no other word
            p = odds / (odds + math.exp(pairs.u[q] * theta))
            is_on = uniform(stream) * odds < (1.0 + odds) * p
            if is_on:
                m += 1
                fresh = True
            else:
                gap = skip_by_log(stream, cache.log_miss[m])
        else:
            gap -= stop - q
            q = stop
            if next_on == end:
                break
            n = before.tokens[next_on]
            next_on += 1
            if n == 0:
                on_odds = _odds(m - 1, base, i, j, cache, context)
                is_on = uniform(stream) * (on_odds + math.exp(pairs.u[q] * theta)) < on_odds
                if not is_on:
                    m -= 1
                    fresh = True
        if is_on:
            new_q[written], new_tokens[written] = q, n
            written += 1
        q += 1
    sizes.m[j, i] = m
    cache.written = written


@helper
def _odds(m_others, base, i, j, cache, context):
    """Return the prior and feature odds of f_ji^(d) given m_others; memoised."""
    if cache.stamp[m_others] != cache.current:
        cache.stamp[m_others] = cache.current
        lam, b2 = context.model.prior.lam[i], context.model.prior.b2
        # Eq. (fUpdate): prior odds (m_ji⁻ + b₂λ_i)/(m_j⁻ − m_ji⁻ + b₂(1 − λ_i)), then the features
        odds = (m_others + b2 * lam) / (context.sizes.holders[j] - 1 - m_others + b2 * (1.0 - lam))
        if context.regression.known[i]:
            step = float(m_others - base)
            gain = _fit(step + 1.0, i, j, context.regression) - _fit(step, i, j, context.regression)
            odds *= math.exp(min(gain, 600.0))
        cache.odds[m_others] = odds
        cache.log_miss[m_others] = -math.log1p(odds)
    return cache.odds[m_others]


@helper
def _fit(step, i, j, regression):
    """Return the log density of the word's features were m_ji larger by `step`."""
    y_p = regression.y_p[i] + step * regression.y_x[i, j]
    p_p = regression.p_p[i] + step * (2.0 * regression.p_x[i, j] + step * regression.gram[j, j])
    return log_fit(regression.total[i] + step, y_p, p_p)
