"""New documents folded in with the concepts kept: c, f and π of one document at a time (docs/foldin.md).

A new document is one beside the D of the fit, and is changed by the moves of the chain; since it is never entered into
the counts and the words' features have no say, what can be integrated out given z is.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from superwords.sampler.instance import no_features
from superwords.sampler.jit import lean, part
from superwords.sampler.model import make_data
from superwords.sampler.moves.divide_unite import divide_and_unite
from superwords.sampler.moves.flips import flip_concepts
from superwords.sampler.moves.swaps import swap_concepts
from superwords.sampler.moves.word_sets import draw_absent, held_back
from superwords.sampler.open_document import (
    LENGTH,
    PAIRS,
    USED,
    WORDS,
    add_pair,
    clear,
    drop_pair,
    lay_out,
    new_document,
    set_explained,
    set_weight,
)
from superwords.sampler.random import FOLD_IN, gamma, new_stream, open_stream, uniform
from superwords.sampler.workspace import Concepts

_OVERLAP = 2.0  # joins and leaves tried, per share of the tokens that a concept holds (as Steps.overlap)
_SWAPS = 3
_DIVISIONS = 8  # and unions


def fold_in(
    concepts: Concepts, counts: sparse.csr_array, seed: int, n_sweeps: int, n_burn_in: int
) -> tuple[np.ndarray, np.ndarray]:
    """E[π_j/S | z] and P(c_j) of every document and concept, added up over the sweeps after burn-in."""
    shape = counts.shape[0], len(concepts.holders)
    weight, inclusion = np.zeros(shape), np.zeros(shape)
    data = make_data(counts, None)
    doc = new_document(counts.shape[1], int(np.diff(data.doc_ptr).max()), shape[1])
    instance = no_features(*concepts.m.shape[::-1])
    stream = new_stream(seed, 0)
    _fold_documents(data, concepts, doc, instance, stream, n_sweeps, n_burn_in, weight, inclusion)
    return weight, inclusion


@lean
def _fold_documents(data, concepts, doc, instance, stream, n_sweeps, n_burn_in, weight, inclusion):
    for d in range(len(data.length)):
        if data.length[d] == 0:
            continue
        key = begin_document(d, data, concepts, doc, stream)
        for sweep in range(1, n_sweeps + 1):
            sweep_concepts(sweep, key, doc, concepts, instance, stream)
            flip_unused(d, sweep > n_burn_in, doc, concepts, stream, weight, inclusion)
            redraw_words(doc, concepts, stream)
        clear(doc)


@part
def begin_document(d, data, concepts, doc, stream):
    """Lay document d out at its start; returns the key of its stream."""
    lay_out(doc, concepts, data, d, 0.0, _OVERLAP)
    key = _content_key(doc)
    open_stream(stream, FOLD_IN, 0, key)
    _start(doc, concepts)
    redraw_words(doc, concepts, stream)
    return key


@part
def sweep_concepts(sweep, key, doc, concepts, instance, stream):
    """The first part of a sweep: which concepts the document holds, and z given them."""
    open_stream(stream, FOLD_IN, sweep, key)
    flip_concepts(True, doc, concepts, instance, stream)
    swap_concepts(_SWAPS, True, doc, concepts, instance, stream)
    divide_and_unite(_DIVISIONS, True, doc, concepts, instance, stream)
    _impute(doc, stream)


@part
def _content_key(doc):
    """A number made of the document's words and counts, to name its stream, whatever stands beside it."""
    key = np.uint64(0x9E3779B97F4A7C15)
    for a in range(doc.number[WORDS]):
        key ^= (np.uint64(doc.word[a]) << np.uint64(32)) | np.uint64(doc.times[a])
        key *= np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(29)
    return key


@part
def _start(doc, concepts):
    """Few concepts that explain every word: again and again the one most of what is left belongs to.

    A word belongs to the concepts with at least half its largest P(f = 1), a bound that stands in doc.rest; such words
    count as if z had put their tokens there.
    """
    n_words, n_concepts = doc.number[WORDS], len(concepts.holders)
    score = doc.pick[0]  # free until a word is picked
    for j in range(n_concepts):
        score[j] = 0.0
    for a in range(n_words):
        most = 0.0
        for j in range(n_concepts):
            most = max(most, doc.p[a, j])
        doc.rest[a], doc.cover[a] = 0.5 * most, 0
        _add_scores(a, doc.times[a], score, doc)
    left = n_words
    while left > 0:
        best, k = 0, doc.number[PAIRS]
        for j in range(1, n_concepts):
            if score[j] > score[best]:
                best = j
        score[best] = -np.inf
        _hold_unused(best, doc)
        for a in range(n_words):
            if doc.p[a, best] >= doc.rest[a]:
                doc.on[k, a] = 2
                doc.tokens[k] += doc.times[a]
                if doc.cover[a] == 0:
                    left -= 1
                    doc.cover[a] = 1
                    _add_scores(a, -doc.times[a], score, doc)


@part
def _add_scores(a, times, score, doc):
    for j in range(len(score)):
        if doc.p[a, j] >= doc.rest[a]:
            score[j] += times * doc.p[a, j]


@part
def _impute(doc, stream):
    """z: a token goes to a concept with its word on, in proportion to π/T. Marks such words with a 2."""
    n_pairs = doc.number[PAIRS]
    for k in range(n_pairs):
        doc.tokens[k] = 0
    for a in range(doc.number[WORDS]):
        for _ in range(doc.times[a]):
            u, chosen = uniform(stream) * doc.explained[a], -1
            for k in range(n_pairs):
                if doc.on[k, a] > 0:
                    chosen = k
                    u -= doc.share[k]
                    if u <= 0.0:
                        break
            doc.tokens[chosen] += 1
            doc.on[chosen, a] = 2


@part
def flip_unused(row, is_kept, doc, concepts, stream, weight, inclusion):
    """c_j of the concepts without tokens, given z, with π and their f integrated out; and what the sweep adds.

    Of the text only Γ(rα_π)/Γ(rα_π + N) sees how many concepts (r) are held. Added are conditional expectations:
    E[π_j/S | z] = (α_π + n_j)/(rα_π + N), times the probability of c_j = 1 where there are no tokens.
    """
    alpha_pi, length = concepts.alpha_pi, doc.number[LENGTH]
    known, cost = -1, 0.0  # of one concept more than so many
    for j in range(len(concepts.holders)):
        k = doc.place[j] - 1
        if k >= 0 and doc.tokens[k] > 0:
            continue
        others = doc.number[PAIRS] - (1 if k >= 0 else 0)
        if others != known:
            known, cost = others, _cost_of_another(others, alpha_pi, length)
        odds = concepts.odds[j] * cost
        p = odds / (1.0 + odds)
        if is_kept:
            weight[row, j] += p * alpha_pi / ((others + 1) * alpha_pi + length)
            inclusion[row, j] += p
        joins = uniform(stream) < p
        if joins and k < 0:
            _hold_unused(j, doc)
        elif k >= 0 and not joins:
            drop_pair(doc, k)
    if is_kept:
        total = doc.number[PAIRS] * alpha_pi + length
        for k in range(doc.number[PAIRS]):
            if doc.tokens[k] > 0:
                weight[row, doc.concept[k]] += (alpha_pi + doc.tokens[k]) / total
                inclusion[row, doc.concept[k]] += 1.0


@part
def _cost_of_another(r, alpha_pi, length):
    """Γ((r+1)α_π) Γ(rα_π + N) / (Γ((r+1)α_π + N) Γ(rα_π)): what one more concept does to the text."""
    few, many = r * alpha_pi, (r + 1) * alpha_pi
    log_cost = math.lgamma(many) - math.lgamma(few) + math.lgamma(few + length) - math.lgamma(many + length)
    return math.exp(log_cost)


@part
def _hold_unused(j, doc):
    """The document takes concept j without tokens; its words and π are drawn with those of the others."""
    k = doc.number[PAIRS]
    add_pair(doc, j, 0.0, 0.0, 0)
    doc.tokens[k] = 0
    for a in range(doc.number[WORDS]):
        doc.on[k, a] = 0


@part
def redraw_words(doc, concepts, stream):
    """f and π given z.

    With u ~ Gamma(n_j, rate T_j) the factor T_j^{−n_j} of the text becomes Π_i e^{−u θ_i f_ji}: words are independent,
    and those with tokens stay on. π as in docs/algebra.md section 7: its direction given z, its sum from the prior.
    """
    n_pairs, alpha_pi, total = doc.number[PAIRS], concepts.alpha_pi, 0.0
    doc.number[USED] = 0
    for k in range(n_pairs):
        j, u, mass = doc.concept[k], 0.0, 0.0
        start = doc.number[USED]
        end = start
        if doc.tokens[k] > 0 and doc.mass[k] > 0.0:
            u = gamma(stream, float(doc.tokens[k])) / doc.mass[k]
        for a in range(doc.number[WORDS]):
            stays = doc.on[k, a] == 2 or uniform(stream) < held_back(doc.p[a, j], u * doc.theta[a])
            doc.on[k, a] = stays
            if stays:
                doc.arena[end] = doc.word[a]
                end += 1
                mass += doc.theta[a]
        end, absent = draw_absent(j, u, u, end, doc, concepts, stream)
        doc.start[k], doc.size[k], doc.number[USED] = start, end - start, end
        doc.weight[k], doc.mass[k] = gamma(stream, alpha_pi + doc.tokens[k]), mass + absent
        total += doc.weight[k]
    scale = gamma(stream, n_pairs * alpha_pi) / total
    for k in range(n_pairs):
        set_weight(doc, k, max(doc.weight[k] * scale, 1e-300), doc.mass[k])
    set_explained(doc)
