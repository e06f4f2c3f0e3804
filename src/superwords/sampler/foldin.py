"""New documents folded in with the concepts kept: c, f and π of one document at a time (docs/foldin.md).

Given the training counts, a new document holds concept j with odds m_j/(D − m_j + b₁), and word i is on in it with
probability (m_ji + b₂λ_i)/(m_j + b₂), independently: the ratios of docs/algebra.md section 1 with all D documents as
the others.
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.foldin_workspace import (
    FIRST,
    LENGTH,
    PAIRS,
    WORDS,
    draw_absent,
    drop,
    held_back,
    set_explained,
    set_present,
)
from superwords.sampler.jit import inlined, lean
from superwords.sampler.moves.documents import flip_concepts, try_merge, try_split, try_swap
from superwords.sampler.random import FOLD_IN, gamma, open_stream, uniform

# Tries per sweep to join or leave a concept, per share of the document's tokens that it holds on average
_OVERLAP = 2.0
_SWAPS = 3
_SPLITS = 8  # and merges


@lean
def fold_in(documents, first, last, concepts, sheet, stream, n_sweeps, n_burn_in, weight, inclusion):
    """Documents first..last−1: add up E[π_j/S | z] and P(c_j) over the sweeps after burn-in, from row 0 on."""
    for d in range(first, last):
        if documents.ptr[d] == documents.ptr[d + 1]:
            continue
        key = begin_document(d, documents, concepts, sheet, stream)
        for sweep in range(1, n_sweeps + 1):
            sweep_concepts(sweep, key, documents, concepts, sheet, stream)
            flip_unused(d - first, sweep > n_burn_in, concepts, sheet, stream, weight, inclusion)
            redraw_weights(documents, concepts, sheet, stream)
        clear_sheet(documents, sheet)


@inlined
def begin_document(d, documents, concepts, sheet, stream):
    """Lay document d out at its start; returns the key of its stream."""
    _lay_out(d, documents, concepts, sheet)
    key = _content_key(d, documents)
    open_stream(stream, FOLD_IN, 0, key)
    _start(documents, concepts, sheet, stream)
    return key


@inlined
def sweep_concepts(sweep, key, documents, concepts, sheet, stream):
    """The first part of a sweep: which concepts the document holds, and z given them."""
    open_stream(stream, FOLD_IN, sweep, key)
    flip_concepts(documents, concepts, sheet, stream)
    _exchange(documents, concepts, sheet, stream)
    _impute(documents, sheet, stream)


@lean
def _exchange(documents, concepts, sheet, stream):
    for _ in range(_SWAPS):
        try_swap(documents, concepts, sheet, stream)
    for _ in range(_SPLITS):
        if uniform(stream) < 0.5:
            try_split(documents, concepts, sheet, stream)
        else:
            try_merge(documents, concepts, sheet, stream)


@lean
def _content_key(d, documents):
    """A number made of the document's words and counts, to name its stream, whatever stands beside it."""
    key = np.uint64(0x9E3779B97F4A7C15)
    for b in range(documents.ptr[d], documents.ptr[d + 1]):
        key ^= (np.uint64(documents.word[b]) << np.uint64(32)) | np.uint64(documents.times[b])
        key *= np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(29)
    return key


@lean
def _lay_out(d, documents, concepts, sheet):
    """What holds for the document throughout: P(f = 1) of its words, and how often each concept is tried.

    How often depends on nothing that is sampled, so that a choice by it needs no correction.
    """
    first, n_words = documents.ptr[d], documents.ptr[d + 1] - documents.ptr[d]
    length, n_concepts = 0, len(concepts.odds)
    for j in range(n_concepts):
        sheet.rate[j] = 0.0
        sheet.another[j] = -1.0
    for a in range(n_words):
        w, times = documents.word[first + a], documents.times[first + a]
        sheet.spot[w] = 1
        length += times
        for j in range(n_concepts):
            p = (concepts.m[w, j] + concepts.extra[w]) / concepts.whole[j]
            sheet.p[j, a] = p
            sheet.rate[j] += times * p
    for a in range(n_words):
        total = 0.0
        for j in range(n_concepts):
            fit = sheet.rate[j] / concepts.mass[j]
            total += sheet.p[j, a] * concepts.odds[j] * fit * fit
            sheet.pick[a, j] = total
    for j in range(n_concepts):
        sheet.rate[j] *= _OVERLAP / length
    sheet.number[WORDS], sheet.number[PAIRS] = n_words, 0
    sheet.number[LENGTH], sheet.number[FIRST] = length, first


@lean
def clear_sheet(documents, sheet):
    first = sheet.number[FIRST]
    for a in range(sheet.number[WORDS]):
        sheet.spot[documents.word[first + a]] = 0
    for k in range(sheet.number[PAIRS]):
        sheet.place[sheet.concept[k]] = 0


@lean
def _start(documents, concepts, sheet, stream):
    """Few concepts that explain every word: again and again the one most of what is left belongs to.

    A word belongs to the concepts with at least half its largest P(f = 1), a bound that stands in sheet.rest.
    """
    n_words, n_concepts, first = sheet.number[WORDS], len(concepts.odds), sheet.number[FIRST]
    score = sheet.share  # free until the concepts are chosen
    for j in range(n_concepts):
        score[j] = 0.0
    for a in range(n_words):
        most = 0.0
        for j in range(n_concepts):
            most = max(most, sheet.p[j, a])
        sheet.rest[a] = 0.5 * most
        sheet.cover[a] = 0
        _add_scores(a, documents.times[first + a], score, sheet)
    left = n_words
    while left > 0:
        best, k = 0, sheet.number[PAIRS]
        for j in range(1, n_concepts):
            if score[j] > score[best]:
                best = j
        score[best] = -np.inf
        for a in range(n_words):
            belongs = sheet.p[best, a] >= sheet.rest[a]
            sheet.on[k, a] = belongs
            if belongs and sheet.cover[a] == 0:
                left -= 1
                sheet.cover[a] = 1
                _add_scores(a, -documents.times[first + a], score, sheet)
        sheet.concept[k], sheet.place[best], sheet.weight[k] = best, k + 1, concepts.alpha_pi
        sheet.number[PAIRS] += 1
    for k in range(sheet.number[PAIRS]):
        set_present(k, documents, concepts, sheet)
        sheet.absent[k], sheet.new[k] = draw_absent(sheet.concept[k], 1.0, 1.0, concepts, sheet, stream)
    set_explained(sheet)


@lean
def _add_scores(a, times, score, sheet):
    for j in range(len(score)):
        if sheet.p[j, a] >= sheet.rest[a]:
            score[j] += times * sheet.p[j, a]


@lean
def _impute(documents, sheet, stream):
    """z: a token goes to a concept with its word on, in proportion to π/T. Marks such words with a 2."""
    n_pairs, first = sheet.number[PAIRS], sheet.number[FIRST]
    for k in range(n_pairs):
        sheet.tokens[k] = 0
    for a in range(sheet.number[WORDS]):
        for _ in range(documents.times[first + a]):
            u, chosen = uniform(stream) * sheet.explained[a], -1
            for k in range(n_pairs):
                if sheet.on[k, a] > 0:
                    chosen = k
                    u -= sheet.share[k]
                    if u <= 0.0:
                        break
            sheet.tokens[chosen] += 1
            sheet.on[chosen, a] = 2


@lean
def flip_unused(row, is_kept, concepts, sheet, stream, weight, inclusion):
    """c_j of the concepts without tokens, given z, with π and their f integrated out; and what the sweep adds.

    Of the text only Γ(rα_π)/Γ(rα_π + N) sees how many concepts (r) are held. Added are conditional expectations:
    E[π_j/S | z] = (α_π + n_j)/(rα_π + N), times the probability of c_j = 1 where there are no tokens.
    """
    alpha_pi, length = concepts.alpha_pi, sheet.number[LENGTH]
    for j in range(len(concepts.odds)):
        k = sheet.place[j] - 1
        if k >= 0 and sheet.tokens[k] > 0:
            continue
        others = sheet.number[PAIRS] - (1 if k >= 0 else 0)
        odds = concepts.odds[j] * _cost_of_another(others, concepts, sheet)
        p = odds / (1.0 + odds)
        if is_kept:
            weight[row, j] += p * alpha_pi / ((others + 1) * alpha_pi + length)
            inclusion[row, j] += p
        joins = uniform(stream) < p
        if joins and k < 0:
            _take(others, j, sheet)
        elif k >= 0 and not joins:
            drop(k, sheet)
    if is_kept:
        total = sheet.number[PAIRS] * alpha_pi + length
        for k in range(sheet.number[PAIRS]):
            if sheet.tokens[k] > 0:
                weight[row, sheet.concept[k]] += (alpha_pi + sheet.tokens[k]) / total
                inclusion[row, sheet.concept[k]] += 1.0


@lean
def _cost_of_another(r, concepts, sheet):
    """Γ((r+1)α_π) Γ(rα_π + N) / (Γ((r+1)α_π + N) Γ(rα_π)): what one more concept does to the text."""
    if sheet.another[r] < 0.0:
        few, many, length = r * concepts.alpha_pi, (r + 1) * concepts.alpha_pi, sheet.number[LENGTH]
        log_cost = (
            math.lgamma(many) - math.lgamma(few) + math.lgamma(few + length) - math.lgamma(many + length)
        )
        sheet.another[r] = math.exp(log_cost)
    return sheet.another[r]


@lean
def _take(k, j, sheet):
    """Concept j takes the k-th place, without tokens; its words and π are drawn with those of the others."""
    sheet.concept[k], sheet.place[j], sheet.tokens[k] = j, k + 1, 0
    for a in range(sheet.number[WORDS]):
        sheet.on[k, a] = 0
    sheet.number[PAIRS] += 1


@lean
def redraw_weights(documents, concepts, sheet, stream):
    """f and π given z.

    With u ~ Gamma(n_j, rate T_j) the factor T_j^{−n_j} of the text becomes Π_i e^{−u θ_i f_ji}: words are independent,
    and those with tokens stay on. π as in docs/algebra.md section 7: its direction given z, its sum from the prior.
    """
    n_words, n_pairs, first = sheet.number[WORDS], sheet.number[PAIRS], sheet.number[FIRST]
    alpha_pi, total = concepts.alpha_pi, 0.0
    for k in range(n_pairs):
        j, u = sheet.concept[k], 0.0
        if sheet.tokens[k] > 0:
            u = gamma(stream, float(sheet.tokens[k])) / (sheet.present[k] + sheet.absent[k] + sheet.new[k])
        for a in range(n_words):
            stays = sheet.on[k, a] == 2
            if not stays:
                cost = u * concepts.theta[documents.word[first + a]]
                stays = uniform(stream) < held_back(sheet.p[j, a], cost)
            sheet.on[k, a] = stays
        set_present(k, documents, concepts, sheet)
        sheet.absent[k], sheet.new[k] = draw_absent(j, u, u, concepts, sheet, stream)
        sheet.weight[k] = gamma(stream, alpha_pi + sheet.tokens[k])
        total += sheet.weight[k]
    scale = gamma(stream, n_pairs * alpha_pi) / total
    for k in range(n_pairs):
        sheet.weight[k] = max(sheet.weight[k] * scale, 1e-300)
    set_explained(sheet)
