"""The f step with words apart, for large corpora: given z, X, σ² and u no word depends on another.

With u_dj ~ Gamma(n_dj, rate T_dj) the text's factor T_dj^{−n_dj} becomes Π_i e^{−u_dj θ_i f_ji}; with X and σ² drawn, a
word's features see its own counts only. γ stays integrated out, document by document (docs/algebra.md section 5). So
threads share the words; X, σ² and u are discarded after the step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.instance import Instance, draw_instance
from superwords.sampler.jit import kernel, lean, part
from superwords.sampler.model import Model
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info
from superwords.sampler.moves.words import Listing, Page, collect_by_word, lay_out, put_by_pair
from superwords.sampler.random import COLUMNS, gamma, open_stream, skip_by_log, uniform
from superwords.sampler.state import Sizes, State, Tokens, sizes_of
from superwords.sampler.threads import in_blocks

_AGAIN = 1 << 41  # X and σ² have been drawn in this sweep already: these are of other random numbers


class Columns(NamedTuple):
    """What all words see, and nothing here changes but a word's own counts."""

    page: Page
    sizes: Sizes
    u: np.ndarray  # (q)
    theta: np.ndarray
    instance: Instance
    model: Model


class WordColumn(NamedTuple):
    """A word at hand: its features' mean, and what depends on m_ji alone for the concept that bears the stamp."""

    pull: np.ndarray  # (F) Σ_j m_ji x_j
    number: np.ndarray  # [n_i, entries written, the stamp]
    fit: np.ndarray  # log density of its features at m_ji, up to a constant
    fit_stamp: np.ndarray
    odds: np.ndarray  # prior and semantic odds of on, m_ji other documents having it on
    log_miss: np.ndarray
    odds_stamp: np.ndarray


_TOTAL, _WRITTEN, _STAMP = range(3)


def move_columns(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """f given z, where it is asked for in this way."""
    model, state = now.model, now.state
    if len(state.concept) == 0 or now.tokens is None or not (model.steps.words and model.steps.columns):
        return now, NOTHING_TRIED
    sizes = sizes_of(state)
    state, tokens = sweep_columns(state, now.tokens, sizes, model, stream, sweep, now.n_threads)
    return now._replace(state=state, tokens=tokens), NOTHING_TRIED


def sweep_columns(
    state: State,
    tokens: Tokens,
    sizes: Sizes,
    model: Model,
    stream: np.ndarray,
    sweep: int,
    n_threads: int = 1,
) -> tuple[State, Tokens]:
    """One pass over the vocabulary: the new state, and the tokens that go with it; sizes are kept in step."""
    n_words = len(state.theta)
    page = lay_out(state, tokens, len(sizes.holders))
    before = collect_by_word(state, tokens, page)
    instance = draw_instance(sizes, model.data, model.prior, stream, sweep + _AGAIN)
    u = np.zeros(len(page.pair))
    in_blocks(
        lambda first, last: _draw_u(first, last, page, u, n_words, stream.copy(), sweep),
        len(state.doc_ptr) - 1,
        n_threads,
    )
    columns = Columns(page, sizes, u, state.theta, instance, model)

    def go_through(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return _sweep_block(first, last, before, columns, stream.copy(), sweep)

    size, q, count = zip(*in_blocks(go_through, n_words, n_threads))
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(size))])
    after = Listing(ptr, np.zeros(0, np.int64), np.concatenate(q), np.concatenate(count))
    return put_by_pair(state, tokens, page, after)


@lean
def _draw_u(first, last, page, u, n_words, stream, sweep):
    for d in range(first, last):
        open_stream(stream, COLUMNS, sweep, n_words + d)
        for p in range(page.doc_ptr[d], page.doc_ptr[d + 1]):
            q = page.of_doc[p]
            if page.tokens[q] > 0:
                u[q] = gamma(stream, float(page.tokens[q])) / page.mass[q]


@kernel
def _sweep_block(first, last, before, columns, stream, sweep):
    """Words first..last−1: how many entries each has then, and the entries one after the other."""
    page, sizes, instance = columns.page, columns.sizes, columns.instance
    n_features, most = len(instance.precision), sizes.holders.max() + 2
    column = WordColumn(
        np.zeros(n_features),
        np.zeros(3, np.int64),
        np.zeros(most),
        np.zeros(most, np.int64),
        np.zeros(most),
        np.zeros(most),
        np.zeros(most, np.int64),
    )
    size = np.zeros(last - first, np.int64)
    room = 2 * (before.ptr[last] - before.ptr[first]) + len(page.doc)
    new_q, new_tokens = np.empty(room, np.int64), np.empty(room, np.int32)
    at = 0
    for i in range(first, last):
        if at + len(page.doc) > len(new_q):
            more = len(new_q) + len(page.doc)
            new_q = np.concatenate((new_q, np.empty(more, np.int64)))
            new_tokens = np.concatenate((new_tokens, np.empty(more, np.int32)))
        open_stream(stream, COLUMNS, sweep, i)
        for k in range(n_features):
            column.pull[k] = instance.pull[i, k]
        column.number[_TOTAL], column.number[_WRITTEN] = sizes.total[i], 0
        start = before.ptr[i]
        for j in range(len(sizes.holders)):
            end = start
            while end < before.ptr[i + 1] and before.q[end] < page.first[j + 1]:
                end += 1
            column.number[_STAMP] += 1
            _gibbs_column(i, j, start, end, before, new_q[at:], new_tokens[at:], column, columns, stream)
            start = end
        sizes.total[i] = column.number[_TOTAL]
        size[i - first] = column.number[_WRITTEN]
        at += column.number[_WRITTEN]
    return size, new_q[:at].copy(), new_tokens[:at].copy()


@part
def _gibbs_column(i, j, start, end, before, new_q, new_tokens, column, columns, stream):
    """f_ji^(d) for every document that holds j, in order; those that stay off are skipped as in words.py."""
    page, sizes, u, number = columns.page, columns.sizes, columns.u, column.number
    theta = columns.theta[i]
    m = sizes.m[j, i]
    base = m
    q, next_on, last = page.first[j], start, page.first[j + 1]
    fresh = True
    odds, gap = 0.0, 0
    while q < last:
        if fresh:
            gap = last
            if m < sizes.holders[j]:
                odds = _odds(m, base, i, j, column, columns)
                gap = skip_by_log(stream, column.log_miss[m])
            fresh = False
        stop = before.q[next_on] if next_on < end else last
        is_on, n = True, 0
        if gap < stop - q:
            q += gap
            p = odds / (odds + math.exp(u[q] * theta)) if page.null[q] == 0 else 0.0
            is_on = uniform(stream) * odds < (1.0 + odds) * p
            if is_on:
                m += 1
                fresh = True
            else:
                gap = skip_by_log(stream, column.log_miss[m])
        else:
            gap -= stop - q
            q = stop
            if next_on == end:
                break
            n = before.tokens[next_on]
            next_on += 1
            if n == 0:
                on_odds = _odds(m - 1, base, i, j, column, columns)
                is_on = uniform(stream) * (on_odds + math.exp(u[q] * theta)) < on_odds
                if not is_on:
                    m -= 1
                    fresh = True
        if is_on:
            new_q[number[_WRITTEN]], new_tokens[number[_WRITTEN]] = q, n
            number[_WRITTEN] += 1
        q += 1
    if m != base:
        number[_TOTAL] += m - base
        for k in range(len(column.pull)):
            column.pull[k] += (m - base) * columns.instance.x[j, k]
        if number[_TOTAL] == 0:
            column.pull[:] = 0.0
        sizes.m[j, i] = m


@part
def _odds(m_others, base, i, j, column, columns):
    """Prior and semantic odds that f_ji^(d) is on, m_others other documents having it on; remembered."""
    stamp, prior = column.number[_STAMP], columns.model.prior
    if column.odds_stamp[m_others] != stamp:
        column.odds_stamp[m_others] = stamp
        lam, b2 = prior.lam[i], prior.b2
        odds = (m_others + b2 * lam) / (columns.sizes.holders[j] - 1 - m_others + b2 * (1.0 - lam))
        if columns.instance.known[i] and len(column.pull) > 0:
            gain = _fit(m_others + 1, base, i, j, column, columns) - _fit(
                m_others, base, i, j, column, columns
            )
            odds *= math.exp(min(gain, 600.0))
        column.odds[m_others] = odds
        column.log_miss[m_others] = -math.log1p(odds)
    return column.odds[m_others]


@part
def _fit(m, base, i, j, column, columns):
    """log density of the word's features at m_ji = m, up to a constant; remembered."""
    if column.fit_stamp[m] != column.number[_STAMP]:
        column.fit_stamp[m] = column.number[_STAMP]
        instance, total, fit = columns.instance, column.number[_TOTAL] + m - base, 0.0
        inverse = 1.0 / total if total > 0 else 0.0
        for k in range(len(column.pull)):
            e = instance.Y[i, k] - (column.pull[k] + (m - base) * instance.x[j, k]) * inverse
            fit += instance.precision[k] * e * e
        column.fit[m] = -0.5 * fit
    return column.fit[m]
