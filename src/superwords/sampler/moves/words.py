"""The f step, word by word, given z: Eq. (fUpdate) of the paper with the algebra of docs/algebra.md, 3 and 5.

For each word: take it out of the regression, let its tokens change concept (word_move.py), then a Gibbs step for every
document and concept, with the semantic term memoised over m_ji and documents that would stay off skipped exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import inlined, lean, part
from superwords.sampler.model import Model
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info
from superwords.sampler.moves.word_move import NEW, OLD, hand_over
from superwords.sampler.random import WORDS, open_stream, skip_by_log, uniform
from superwords.sampler.semantics import (
    LOG_CASE,
    Regression,
    change_case,
    log_student,
    put_back,
    start_regression,
    take_out,
)
from superwords.sampler.state import Sizes, State, Tokens, sizes_of
from superwords.sampler.workspace import longer


class Page(NamedTuple):
    """The pairs in the order concept, document (index q), and what the f step needs to know of each."""

    first: np.ndarray  # (J+1) where a concept's pairs begin
    doc: np.ndarray  # (q)
    mass: np.ndarray  # (q) T
    tokens: np.ndarray  # (q) n_dj
    null: np.ndarray  # (q)
    size: np.ndarray  # (q) words on
    log_weight: np.ndarray  # (q) log π
    concept: np.ndarray  # (q)
    doc_ptr: np.ndarray  # (D+1) into of_doc
    of_doc: np.ndarray  # the q of a document's pairs
    pair: np.ndarray  # (q) the pair's place in the state


class Entries(NamedTuple):
    """One word's entries, sorted by q, with n_dji; and room for what they become."""

    q: np.ndarray
    tokens: np.ndarray
    new_q: np.ndarray
    new_tokens: np.ndarray
    number: np.ndarray  # [OLD, NEW]: how many


class Listing(NamedTuple):
    """All entries, word by word."""

    ptr: np.ndarray  # (V+1)
    fill: np.ndarray  # (V) scratch
    q: np.ndarray
    tokens: np.ndarray


class Links(NamedTuple):
    """One word's entries linked by document, for the word move."""

    head: np.ndarray  # (D) the document's first entry, −1 if none
    after: np.ndarray  # the next one


class Memo(NamedTuple):
    """What depends on m_ji alone, for the word and concept that bear the stamp: all documents share it."""

    log_case: np.ndarray  # log Student-t at m_ji
    case_stamp: np.ndarray
    odds: np.ndarray  # prior and semantic odds of on, m_ji other documents having it on
    log_miss: np.ndarray  # log(1 − p) of those odds
    odds_stamp: np.ndarray
    stamp: np.ndarray  # (1) the current one


class Work(NamedTuple):
    """All that the f step works on, handed from kernel to kernel."""

    entries: Entries  # of the word at hand
    links: Links
    memo: Memo
    page: Page
    sizes: Sizes
    theta: np.ndarray
    model: Model
    regression: Regression  # the word at hand out of it
    stream: np.ndarray


def lay_out(state: State, tokens: Tokens, n_concepts: int) -> Page:
    """The pairs in concept order."""
    n_pairs = len(state.concept)
    order = np.argsort(state.concept, kind="stable")
    rank = np.empty(n_pairs, np.int64)
    rank[order] = np.arange(n_pairs)
    doc = np.repeat(np.arange(len(state.doc_ptr) - 1), np.diff(state.doc_ptr))
    size = np.diff(state.pair_ptr)
    mass = np.bincount(np.repeat(np.arange(n_pairs), size), state.theta[state.word], n_pairs)
    return Page(
        np.searchsorted(state.concept[order], np.arange(n_concepts + 1)),
        doc[order].astype(np.int32),
        mass[order],
        tokens.pair[order],
        tokens.null[order],
        size[order],
        np.log(state.weight)[order],
        state.concept[order],
        state.doc_ptr,
        rank,
        order,
    )


@lean
def _by_word(state, tokens, page, listing):
    """The entries word by word, each word's sorted by q."""
    ptr, fill = listing.ptr, listing.fill
    for e in range(len(state.word)):
        ptr[state.word[e] + 1] += 1
    for i in range(len(fill)):
        ptr[i + 1] += ptr[i]
        fill[i] = ptr[i]
    for q in range(len(page.pair)):
        p = page.pair[q]
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            at = fill[state.word[e]]
            fill[state.word[e]] += 1
            listing.q[at] = q
            listing.tokens[at] = tokens.entry[e]


@lean
def _by_pair(new, entry, page, listing):
    """Back from word order to pair order, words ascending."""
    pair_ptr, fill = new.pair_ptr, page.size
    for at in range(listing.ptr[-1]):
        pair_ptr[page.pair[listing.q[at]] + 1] += 1
    for p in range(len(fill)):
        pair_ptr[p + 1] += pair_ptr[p]
        fill[p] = pair_ptr[p]
    for i in range(len(listing.ptr) - 1):
        for at in range(listing.ptr[i], listing.ptr[i + 1]):
            p = page.pair[listing.q[at]]
            new.word[fill[p]] = i
            entry[fill[p]] = listing.tokens[at]
            fill[p] += 1


def new_listing(n_words: int, n_entries: int) -> Listing:
    return Listing(
        np.zeros(n_words + 1, np.int64),
        np.zeros(n_words, np.int64),
        np.zeros(n_entries, np.int64),
        np.zeros(n_entries, np.int32),
    )


def move_words(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Word moves, and f given z, where it is not left to columns.py."""
    model, state = now.model, now.state
    steps = model.steps._replace(words=model.steps.words and not model.steps.columns)
    if len(state.concept) == 0 or now.tokens is None or not (steps.words or steps.word_moves):
        return now, NOTHING_TRIED
    sizes = sizes_of(state)
    regression = start_regression(sizes, model.data, model.prior)
    state, tokens = sweep_words(
        state, now.tokens, sizes, model._replace(steps=steps), regression, stream, sweep
    )
    return now._replace(state=state, tokens=tokens), NOTHING_TRIED


def sweep_words(
    state: State,
    tokens: Tokens,
    sizes: Sizes,
    model: Model,
    regression: Regression,
    stream: np.ndarray,
    sweep: int,
) -> tuple[State, Tokens]:
    """One pass over the vocabulary. Returns the new state and the tokens that go with it; sizes are kept in step."""
    n_words, n_pairs, n_documents = len(state.theta), len(state.concept), len(state.doc_ptr) - 1
    page = lay_out(state, tokens, len(sizes.holders))
    before = collect_by_word(state, tokens, page)
    after = new_listing(n_words, len(state.word) + 2 * n_pairs)
    room = n_pairs + 1
    entries = Entries(
        np.zeros(room, np.int64),
        np.zeros(room, np.int32),
        np.zeros(room, np.int64),
        np.zeros(room, np.int32),
        np.zeros(2, np.int64),
    )
    most = n_documents + 2
    memo = Memo(
        np.zeros(most),
        np.zeros(most, np.int64),
        np.zeros(most),
        np.zeros(most),
        np.zeros(most, np.int64),
        np.zeros(1, np.int64),
    )
    links = Links(np.full(n_documents, -1), np.zeros(room, np.int64))
    work = Work(entries, links, memo, page, sizes, state.theta, model, regression, stream)
    i = 0
    while True:
        i = _sweep_vocabulary(i, before, after, work, sweep)
        if i == n_words:
            break
        n_entries = 2 * len(after.q) + n_pairs
        after = after._replace(q=longer(after.q, n_entries), tokens=longer(after.tokens, n_entries))
    return put_by_pair(state, tokens, page, after)


def collect_by_word(state: State, tokens: Tokens, page: Page) -> Listing:
    """The entries word by word."""
    listing = new_listing(len(state.theta), len(state.word))
    _by_word(state, tokens, page, listing)
    return listing


def put_by_pair(state: State, tokens: Tokens, page: Page, after: Listing) -> tuple[State, Tokens]:
    """The state and its tokens with the entries as they are now; `page` is used up."""
    n_entries = after.ptr[-1]
    pair = np.empty_like(page.tokens)
    pair[page.pair] = page.tokens
    pair_ptr = np.zeros(len(page.pair) + 1, np.int64)
    new = state._replace(pair_ptr=pair_ptr, word=np.zeros(n_entries, np.int32))
    entry = np.zeros(n_entries, np.int32)
    _by_pair(new, entry, page, after)
    return new, Tokens(entry, pair, tokens.null)


@lean
def _sweep_vocabulary(i, before, after, work, sweep):
    """Words i and on; stops, and says at which word, when the new list might not hold the next one."""
    data, steps, entries = work.model.data, work.model.steps, work.entries
    while i < len(work.theta) and after.ptr[i] + len(work.page.doc) <= len(after.q):
        open_stream(work.stream, WORDS, sweep, i)
        n = before.ptr[i + 1] - before.ptr[i]
        for at in range(n):
            entries.q[at] = before.q[before.ptr[i] + at]
            entries.tokens[at] = before.tokens[before.ptr[i] + at]
        entries.number[OLD], entries.number[NEW] = n, 0
        informed = data.known[i] and data.Y.shape[1] > 0
        if informed:
            take_out(work.regression, data.Y[i], work.sizes.m[:, i])
        if steps.word_moves > 0.0:
            hand_over(i, informed, work)
        if steps.words:
            _gibbs_word(i, informed, work)
        else:
            for at in range(n):
                _append(entries, entries.q[at], entries.tokens[at])
        if informed:
            put_back(work.regression, data.Y[i])
        start = after.ptr[i]
        for at in range(entries.number[NEW]):
            after.q[start + at] = entries.new_q[at]
            after.tokens[start + at] = entries.new_tokens[at]
        i += 1
        after.ptr[i] = start + entries.number[NEW]
    return i


@inlined
def _log_case_change(m_others, m_now, i, j, work):
    """log Student-t of word i at m_ji = m_others + 1, less at m_others; both remembered."""
    memo, regression = work.memo, work.regression
    stamp = memo.stamp[0]
    for m in range(m_others, m_others + 2):
        if memo.case_stamp[m] != stamp:
            memo.case_stamp[m] = stamp
            if m == m_now:
                memo.log_case[m] = regression.number[LOG_CASE]
            else:
                memo.log_case[m] = log_student(regression, work.model.data.Y[i], j, float(m - m_now), j, 0.0)
    return memo.log_case[m_others + 1] - memo.log_case[m_others]


@inlined
def _odds(m_others, m_now, i, j, informed, work):
    """Prior and semantic odds that f_ji^(d) is on, m_others other documents having it on; remembered."""
    memo = work.memo
    stamp = memo.stamp[0]
    if memo.odds_stamp[m_others] != stamp:
        memo.odds_stamp[m_others] = stamp
        lam, b2 = work.model.prior.lam[i], work.model.prior.b2
        odds = (m_others + b2 * lam) / (work.sizes.holders[j] - 1 - m_others + b2 * (1.0 - lam))
        if informed:
            odds *= math.exp(min(_log_case_change(m_others, m_now, i, j, work), 600.0))
        memo.odds[m_others] = odds
        memo.log_miss[m_others] = -math.log1p(odds)
    return memo.odds[m_others]


@part
def _gibbs_word(i, informed, work):
    entries, page, sizes = work.entries, work.page, work.sizes
    at = 0
    for j in range(len(sizes.holders)):
        start = at
        while at < entries.number[OLD] and entries.q[at] < page.first[j + 1]:
            at += 1
        work.memo.stamp[0] += 1
        before = sizes.m[j, i]
        _gibbs_concept(i, j, start, at, informed, work)
        if informed and sizes.m[j, i] != before:
            change_case(work.regression, work.model.data.Y[i], j, float(sizes.m[j, i] - before))


@inlined
def _gibbs_concept(i, j, start, end, informed, work):
    """f_ji^(d) for every document that holds j, in order.

    A document with the word off turns it on with at most p_max, its text factor being at most 1: a geometric number of
    them is skipped, and the next accepted with p_d / p_max; redrawn whenever m_ji changes.
    """
    entries, memo, page, sizes, stream = work.entries, work.memo, work.page, work.sizes, work.stream
    theta = work.theta[i]
    m = sizes.m[j, i]
    base = m  # the regression's case stands at this count until the concept is done
    q, next_on, last = page.first[j], start, page.first[j + 1]
    fresh = True
    odds, gap = 0.0, 0
    while q < last:
        if fresh:
            gap = last
            if m < sizes.holders[j]:
                odds = _odds(m, base, i, j, informed, work)
                gap = skip_by_log(stream, memo.log_miss[m])
            fresh = False
        stop = entries.q[next_on] if next_on < end else last
        if gap < stop - q:
            q += gap
            if uniform(stream) * odds < (1.0 + odds) * _probability_on(odds, theta, page.mass[q], q, page):
                _append(entries, q, 0)
                page.mass[q] += theta
                page.size[q] += 1
                m += 1
                fresh = True
            else:
                gap = skip_by_log(stream, memo.log_miss[m])
            q += 1
            continue
        gap -= stop - q
        q = stop
        if next_on == end:
            break
        n = entries.tokens[next_on]
        next_on += 1
        stays = n > 0
        if not stays:
            without = page.mass[q] - theta if page.size[q] > 1 else 0.0
            on_odds = _odds(m - 1, base, i, j, informed, work)
            stays = uniform(stream) < _probability_on(on_odds, theta, without, q, page)
        if stays:
            _append(entries, q, n)
        else:
            page.size[q] -= 1
            page.mass[q] = page.mass[q] - theta if page.size[q] > 0 else 0.0
            m -= 1
            fresh = True
        q += 1
    sizes.total[i] += m - base
    sizes.m[j, i] = m


@inlined
def _probability_on(odds, theta, mass_without, q, page):
    """With the text factor (1 + θ_i / T_dj)^{−n_dj}; a concept with null tokens stays empty."""
    if page.null[q] > 0:
        return 0.0
    n = page.tokens[q]
    if n == 0:
        return odds / (1.0 + odds)
    factor, power = 1.0, 1.0 + theta / mass_without
    while n > 0:
        if n & 1:
            factor *= power
        power *= power
        n >>= 1
    return odds / (odds + factor)


@inlined
def _append(entries, q, n):
    at = entries.number[NEW]
    entries.new_q[at] = q
    entries.new_tokens[at] = n
    entries.number[NEW] += 1
