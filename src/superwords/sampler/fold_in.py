"""New documents folded in with the concepts kept: c, f and π of one document at a time (docs/foldin.md).

A new document is one beside the D of the fit, and is changed by the moves of the chain; since it is never entered into
the counts and the words' features have no say, what can be integrated out given z is.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from superwords.sampler.document import (
    add_pair,
    clear,
    drop_pair,
    load_document,
    new_document,
    set_explained,
    set_weight,
)
from superwords.sampler.feature_draw import no_features
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.leave_one_out import LeaveOneOutCounts
from superwords.sampler.model import make_data
from superwords.sampler.moves.divide_unite import divide_and_unite
from superwords.sampler.moves.join_leave import flip_concepts
from superwords.sampler.moves.proposals import downweighted, draw_absent
from superwords.sampler.moves.replace import swap_concepts
from superwords.sampler.random import FOLD_IN, gamma, new_stream, open_stream, uniform

_OVERLAP = 2.0  # joins and leaves tried, per share of the tokens that a concept holds (as Steps.overlap)
_SWAPS = 3
_DIVISIONS = 8  # and unions


def fold_in(
    concepts: LeaveOneOutCounts, counts: sparse.csr_array, seed: int, n_sweeps: int, n_burn_in: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum E[π_j/S | z] where a document uses a concept, and how often it does."""
    shape = counts.shape[0], len(concepts.holders)
    weight, inclusion = np.zeros(shape), np.zeros(shape)
    data = make_data(counts, None)
    doc = new_document(counts.shape[1], int(np.diff(data.doc_ptr).max()), shape[1])
    regression = no_features(*concepts.m.shape[::-1])
    stream = new_stream(seed, 0)
    _fold_documents(data, concepts, doc, regression, stream, n_sweeps, n_burn_in, weight, inclusion)
    return weight, inclusion


@ref_kernel
def _fold_documents(data, concepts, doc, regression, stream, n_sweeps, n_burn_in, weight, inclusion):
    for d in range(len(data.length)):
        if data.length[d] == 0:
            continue
        key = begin_document(d, data, concepts, doc, stream)
        for sweep in range(1, n_sweeps + 1):
            sweep_concepts(sweep, key, doc, concepts, regression, stream)
            flip_unused(d, sweep > n_burn_in, doc, concepts, stream, weight, inclusion)
            redraw_words(doc, concepts, stream)
        clear(doc)


@helper
def begin_document(d, data, concepts, doc, stream):
    """Load document d at its start; return the key of its stream."""
    load_document(doc, concepts, data, d, 0.0, _OVERLAP)
    key = _content_key(doc)
    open_stream(stream, FOLD_IN, 0, key)
    _start(doc, concepts)
    redraw_words(doc, concepts, stream)
    return key


@helper
def sweep_concepts(sweep, key, doc, concepts, regression, stream):
    """Update which concepts the document holds, then z given them."""
    open_stream(stream, FOLD_IN, sweep, key)
    flip_concepts(True, doc, concepts, regression, stream)
    swap_concepts(_SWAPS, True, doc, concepts, regression, stream)
    divide_and_unite(_DIVISIONS, True, doc, concepts, regression, stream)
    _impute(doc, stream)


@helper
def _content_key(doc):
    """Return a stream key made of the document's words and counts alone."""
    key = np.uint64(0x9E3779B97F4A7C15)
    for a in range(doc.n_words):
        key ^= (np.uint64(doc.word[a]) << np.uint64(32)) | np.uint64(doc.times[a])
        key *= np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(29)
    return key


@helper
def _start(doc, concepts):
    """Choose few concepts that explain every word, greedily.

    A word belongs to the concepts with at least half its largest P(f = 1), a bound that stands in doc.rest; such words
    count as if z had put their tokens there.
    """
    n_words, n_concepts = doc.n_words, len(concepts.holders)
    score = doc.pick[0]  # free until a word is picked
    for j in range(n_concepts):
        score[j] = 0.0
    for a in range(n_words):
        most = 0.0
        for j in range(n_concepts):
            most = max(most, doc.p[a, j])
        doc.rest[a], doc.n_explaining[a] = 0.5 * most, 0
        _add_scores(a, doc.times[a], score, doc)
    left = n_words
    while left > 0:
        best, k = 0, doc.n_pairs
        for j in range(1, n_concepts):
            if score[j] > score[best]:
                best = j
        score[best] = -np.inf
        _hold_unused(best, doc)
        for a in range(n_words):
            if doc.p[a, best] >= doc.rest[a]:
                doc.on[k, a] = 2
                doc.tokens[k] += doc.times[a]
                if doc.n_explaining[a] == 0:
                    left -= 1
                    doc.n_explaining[a] = 1
                    _add_scores(a, -doc.times[a], score, doc)


@helper
def _add_scores(a, times, score, doc):
    for j in range(len(score)):
        if doc.p[a, j] >= doc.rest[a]:
            score[j] += times * doc.p[a, j]


@helper
def _impute(doc, stream):
    """Draw z: a token goes to a concept with its word on, ∝ π/T. Marks used words with 2."""
    n_pairs = doc.n_pairs
    for k in range(n_pairs):
        doc.tokens[k] = 0
    for a in range(doc.n_words):
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


@helper
def flip_unused(row, is_kept, doc, concepts, stream, weight, inclusion):
    """Update c_j of concepts without tokens, given z, with π and f integrated out.

    Of the text only Γ(rα_π)/Γ(rα_π + N) sees how many concepts (r) are held. Added is the conditional expectation
    E[π_j/S | z] = (α_π + n_j)/(rα_π + N) of the concepts that the document uses.
    """
    alpha_pi, length = concepts.alpha_pi, doc.length
    known, cost = -1, 0.0  # of one concept more than so many
    for j in range(len(concepts.holders)):
        k = doc.place[j] - 1
        if k >= 0 and doc.tokens[k] > 0:
            continue
        others = doc.n_pairs - (1 if k >= 0 else 0)
        if others != known:
            known, cost = others, _cost_of_another(others, alpha_pi, length)
        odds = concepts.odds[j] * cost
        p = odds / (1.0 + odds)
        joins = uniform(stream) < p
        if joins and k < 0:
            _hold_unused(j, doc)
        elif k >= 0 and not joins:
            drop_pair(doc, k)
    if is_kept:
        total = doc.n_pairs * alpha_pi + length
        for k in range(doc.n_pairs):
            if doc.tokens[k] > 0:
                weight[row, doc.concept[k]] += (alpha_pi + doc.tokens[k]) / total
                inclusion[row, doc.concept[k]] += 1.0


@helper
def _cost_of_another(r, alpha_pi, length):
    """Return Γ((r+1)α_π) Γ(rα_π+N) / (Γ((r+1)α_π+N) Γ(rα_π)): the text's factor."""
    few, many = r * alpha_pi, (r + 1) * alpha_pi
    log_cost = math.lgamma(many) - math.lgamma(few) + math.lgamma(few + length) - math.lgamma(many + length)
    return math.exp(log_cost)


@helper
def _hold_unused(j, doc):
    """Add concept j without tokens; its words and π are drawn with those of the others."""
    k = doc.n_pairs
    add_pair(doc, j, 0.0, 0.0, 0)
    doc.tokens[k] = 0
    for a in range(doc.n_words):
        doc.on[k, a] = 0


@helper
def redraw_words(doc, concepts, stream):
    """Draw f and π given z.

    With u ~ Gamma(n_j, rate T_j) the factor T_j^{−n_j} of the text becomes Π_i e^{−u θ_i f_ji}: words are independent,
    and those with tokens stay on. π as in docs/algebra.md section 7: its direction given z, its sum from the prior.
    """
    n_pairs, alpha_pi, total = doc.n_pairs, concepts.alpha_pi, 0.0
    doc.used = 0
    for k in range(n_pairs):
        j, u, mass = doc.concept[k], 0.0, 0.0
        start = doc.used
        end = start
        if doc.tokens[k] > 0 and doc.mass[k] > 0.0:
            u = gamma(stream, float(doc.tokens[k])) / doc.mass[k]
        for a in range(doc.n_words):
            stays = doc.on[k, a] == 2 or uniform(stream) < downweighted(doc.p[a, j], u * doc.theta[a])
            doc.on[k, a] = stays
            if stays:
                doc.arena[end] = doc.word[a]
                end += 1
                mass += doc.theta[a]
        end, absent = draw_absent(j, u, u, end, doc, concepts, stream)
        doc.start[k], doc.size[k], doc.used = start, end - start, end
        doc.weight[k], doc.mass[k] = gamma(stream, alpha_pi + doc.tokens[k]), mass + absent
        total += doc.weight[k]
    scale = gamma(stream, n_pairs * alpha_pi) / total
    for k in range(n_pairs):
        set_weight(doc, k, max(doc.weight[k] * scale, 1e-300), doc.mass[k])
    set_explained(doc)
