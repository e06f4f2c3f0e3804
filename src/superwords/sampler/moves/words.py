"""The f step, word by word, given z: Eq. (fUpdate) of the paper with the algebra of MODEL.md section 3.

For each word: take it out of the regression, hand its tokens over between concepts (handover.py), then a Gibbs step for
every document and concept, with the semantic term memoised over m_ji and documents that would stay off skipped exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import kernel
from superwords.sampler.moves.handover import hand_over
from superwords.sampler.random import WORDS, open_stream, skip, uniform
from superwords.sampler.semantics import change_case, log_student, put_back, take_out
from superwords.sampler.state import State, Tokens


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


class Entries(NamedTuple):
    """One word's entries, sorted by q, with n_dji; and room for what they become."""

    q: np.ndarray
    tokens: np.ndarray
    new_q: np.ndarray
    new_tokens: np.ndarray
    number: np.ndarray  # [entries, new entries]


class Memo(NamedTuple):
    """log Student-t at a value of m_ji, for the word and concept that bear the stamp."""

    value: np.ndarray
    stamp: np.ndarray
    number: np.ndarray  # [current stamp]


@kernel
def lay_out(state, tokens, n_concepts):
    """The pairs in concept order; also pair → q."""
    n_pairs = len(state.concept)
    first = np.zeros(n_concepts + 1, np.int64)
    for p in range(n_pairs):
        first[state.concept[p] + 1] += 1
    for j in range(n_concepts):
        first[j + 1] += first[j]
    fill = first.copy()
    rank = np.zeros(n_pairs, np.int64)
    page = Page(
        first,
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs),
        np.zeros(n_pairs, np.int64),
        np.zeros(n_pairs, np.int64),
        np.zeros(n_pairs, np.int64),
        np.zeros(n_pairs),
        np.zeros(n_pairs, np.int32),
        state.doc_ptr,
        rank,
    )
    for d in range(len(state.doc_ptr) - 1):
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            q = fill[state.concept[p]]
            fill[state.concept[p]] += 1
            rank[p] = q
            page.doc[q] = d
            page.concept[q] = state.concept[p]
            page.tokens[q] = tokens.pair[p]
            page.null[q] = tokens.null[p]
            page.log_weight[q] = math.log(state.weight[p])
            page.size[q] = state.pair_ptr[p + 1] - state.pair_ptr[p]
            for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                page.mass[q] += state.theta[state.word[e]]
    return page


@kernel
def by_word(state, tokens, page):
    """The entries word by word, each word's sorted by q."""
    n_words, n_pairs = len(state.theta), len(state.concept)
    ptr = np.zeros(n_words + 1, np.int64)
    for e in range(len(state.word)):
        ptr[state.word[e] + 1] += 1
    for i in range(n_words):
        ptr[i + 1] += ptr[i]
    fill = ptr[:-1].copy()
    pair_of = np.zeros(n_pairs, np.int64)
    for p in range(n_pairs):
        pair_of[page.of_doc[p]] = p
    q_of = np.zeros(len(state.word), np.int64)
    n_of = np.zeros(len(state.word), np.int32)
    for q in range(n_pairs):
        p = pair_of[q]
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            at = fill[state.word[e]]
            fill[state.word[e]] += 1
            q_of[at] = q
            n_of[at] = tokens.entry[e]
    return ptr, q_of, n_of


@kernel
def sweep_words(state, tokens, sizes, model, regression, stream, sweep):
    """One pass over the vocabulary. Returns the new state and the tokens that go with it; sizes are kept in step."""
    data = model.data
    n_words, n_pairs, n_concepts = len(state.theta), len(state.concept), len(sizes.holders)
    page = lay_out(state, tokens, n_concepts)
    ptr, q_of, n_of = by_word(state, tokens, page)
    entries = Entries(
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_pairs + 1, np.int32),
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_pairs + 1, np.int32),
        np.zeros(2, np.int64),
    )
    most = data.doc_ptr.size + 2
    memo = Memo(np.zeros(most), np.zeros(most, np.int64), np.zeros(1, np.int64))
    head = np.full(data.doc_ptr.size, -1, np.int64)
    after = np.zeros(n_pairs + 1, np.int64)
    out_ptr = np.zeros(n_words + 1, np.int64)
    out_q = np.zeros(len(q_of) + 1024, np.int64)
    out_n = np.zeros(len(q_of) + 1024, np.int32)
    m_word = np.zeros(n_concepts)
    for i in range(n_words):
        open_stream(stream, WORDS, sweep, i)
        n = ptr[i + 1] - ptr[i]
        entries.q[:n] = q_of[ptr[i] : ptr[i + 1]]
        entries.tokens[:n] = n_of[ptr[i] : ptr[i + 1]]
        entries.number[0], entries.number[1] = n, 0
        informed = data.known[i] and data.Y.shape[1] > 0
        if informed:
            m_word[:] = sizes.m[:, i]
            take_out(regression, data.Y[i], m_word)
        if model.steps.handovers > 0.0:
            hand_over(i, informed, entries, head, after, page, sizes, state.theta, model, regression, stream)
        if model.steps.words:
            _gibbs_word(i, informed, entries, memo, page, sizes, state.theta, model, regression, stream)
        else:
            entries.new_q[:n] = entries.q[:n]
            entries.new_tokens[:n] = entries.tokens[:n]
            entries.number[1] = n
        if informed:
            put_back(regression, data.Y[i])
        n = entries.number[1]
        at = out_ptr[i]
        if at + n > len(out_q):
            longer_q, longer_n = np.zeros(2 * (at + n), np.int64), np.zeros(2 * (at + n), np.int32)
            longer_q[:at], longer_n[:at] = out_q[:at], out_n[:at]
            out_q, out_n = longer_q, longer_n
        out_q[at : at + n] = entries.new_q[:n]
        out_n[at : at + n] = entries.new_tokens[:n]
        out_ptr[i + 1] = at + n
    return _by_pair(state, page, out_ptr, out_q, out_n)


@kernel
def _by_pair(state, page, ptr, q_of, n_of):
    """Back from word order to pair order, words ascending."""
    n_pairs = len(state.concept)
    pair_of = np.zeros(n_pairs, np.int64)
    for p in range(n_pairs):
        pair_of[page.of_doc[p]] = p
    pair_ptr = np.zeros(n_pairs + 1, np.int64)
    for at in range(ptr[-1]):
        pair_ptr[pair_of[q_of[at]] + 1] += 1
    for p in range(n_pairs):
        pair_ptr[p + 1] += pair_ptr[p]
    fill = pair_ptr[:-1].copy()
    word = np.zeros(ptr[-1], np.int32)
    entry = np.zeros(ptr[-1], np.int32)
    for i in range(len(ptr) - 1):
        for at in range(ptr[i], ptr[i + 1]):
            p = pair_of[q_of[at]]
            word[fill[p]] = i
            entry[fill[p]] = n_of[at]
            fill[p] += 1
    pair = np.zeros(n_pairs, np.int64)
    null = np.zeros(n_pairs, np.int64)
    for q in range(n_pairs):
        pair[pair_of[q]] = page.tokens[q]
        null[pair_of[q]] = page.null[q]
    new = State(state.doc_ptr, state.concept, state.weight, pair_ptr, word, state.theta)
    return new, Tokens(entry, pair, null)


@kernel
def _log_case(m, m_now, i, j, memo, model, regression):
    """log Student-t of word i at m_ji = m, remembered."""
    stamp = memo.number[0]
    if memo.stamp[m] != stamp:
        memo.stamp[m] = stamp
        memo.value[m] = log_student(regression, model.data.Y[i], j, float(m - m_now), j, 0.0)
    return memo.value[m]


@kernel
def _log_odds(m_others, m_now, i, j, informed, memo, holders, model, regression):
    """Prior and semantic log odds that f_ji^(d) is on, m_others other documents having it on."""
    lam, b2 = model.prior.lam[i], model.prior.b2
    log_odds = math.log((m_others + b2 * lam) / (holders - 1 - m_others + b2 * (1.0 - lam)))
    if informed:
        log_odds += _log_case(m_others + 1, m_now, i, j, memo, model, regression)
        log_odds -= _log_case(m_others, m_now, i, j, memo, model, regression)
    return log_odds


@kernel
def _gibbs_word(i, informed, entries, memo, page, sizes, theta, model, regression, stream):
    at = 0
    for j in range(len(sizes.holders)):
        start = at
        while at < entries.number[0] and entries.q[at] < page.first[j + 1]:
            at += 1
        memo.number[0] += 1
        before = sizes.m[j, i]
        _gibbs_concept(i, j, start, at, informed, entries, memo, page, sizes, theta, model, regression, stream)
        if informed and sizes.m[j, i] != before:
            change_case(regression, j, float(sizes.m[j, i] - before))


@kernel
def _gibbs_concept(i, j, start, end, informed, entries, memo, page, sizes, theta, model, regression, stream):
    """f_ji^(d) for every document that holds j, in order.

    A document with the word off turns it on with at most p_max, its text factor being at most 1: a geometric number of
    them is skipped, and the next accepted with p_d / p_max; redrawn whenever m_ji changes.
    """
    holders = sizes.holders[j]
    m = sizes.m[j, i]
    base = m  # the regression's case stands at this count until the concept is done
    q, next_on = page.first[j], start
    fresh = True
    log_odds, p_most, gap = 0.0, 0.0, 0
    while q < page.first[j + 1]:
        if fresh:
            p_most = 0.0
            if m < holders:
                log_odds = _log_odds(m, base, i, j, informed, memo, holders, model, regression)
                p_most = 1.0 / (1.0 + math.exp(-log_odds))
            gap = skip(stream, p_most)
            fresh = False
        stop = entries.q[next_on] if next_on < end else page.first[j + 1]
        if gap < stop - q:
            q += gap
            if uniform(stream) * p_most < _probability_on(log_odds, theta[i], page.mass[q], q, page):
                _append(entries, q, 0)
                page.mass[q] += theta[i]
                page.size[q] += 1
                m += 1
                fresh = True
            else:
                gap = skip(stream, p_most)
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
            without = page.mass[q] - theta[i] if page.size[q] > 1 else 0.0
            odds = _log_odds(m - 1, base, i, j, informed, memo, holders, model, regression)
            stays = uniform(stream) < _probability_on(odds, theta[i], without, q, page)
        if stays:
            _append(entries, q, n)
        else:
            page.size[q] -= 1
            page.mass[q] = page.mass[q] - theta[i] if page.size[q] > 0 else 0.0
            m -= 1
            fresh = True
        q += 1
    sizes.total[i] += m - base
    sizes.m[j, i] = m


@kernel
def _probability_on(log_odds, theta, mass_without, q, page):
    """With the text factor (1 + θ_i / T_dj)^{−n_dj}; a concept with null tokens stays empty."""
    if page.null[q] > 0:
        return 0.0
    if page.tokens[q] > 0:
        log_odds -= page.tokens[q] * math.log1p(theta / mass_without)
    return 1.0 / (1.0 + math.exp(-log_odds))


@kernel
def _append(entries, q, n):
    at = entries.number[1]
    entries.new_q[at] = q
    entries.new_tokens[at] = n
    entries.number[1] += 1
