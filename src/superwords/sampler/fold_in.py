"""Fold in new documents with the concepts fixed, one at a time (docs/foldin.md).

A new document is added to the D of the fit and updated by the moves of the chain. It is never entered into the counts
and the words' features play no part, so more is integrated out given z.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.document import (
    add_pair,
    append_document,
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
from superwords.sampler.model import Data, make_data
from superwords.sampler.moves.divide_unite import divide_and_unite
from superwords.sampler.moves.exchange import flip_concepts, swap_concepts
from superwords.sampler.moves.proposals import downweighted, draw_absent
from superwords.sampler.random import FOLD_IN, gamma, new_stream, open_stream, uniform
from superwords.sampler.state import State, finish_state, new_state

_OVERLAP = 2.0  # joins and leaves tried per share of the tokens in a concept, as in Steps.overlap
_SWAPS = 3
_DIVISIONS = 8  # and unions


class Sums(NamedTuple):
    """Sums over the sweeps after the burn-in; empty arrays are not computed."""

    weight: np.ndarray = np.zeros((0, 0))  # (D', J) E[π_j/S | z] where the document uses the concept
    inclusion: np.ndarray = np.zeros((0, 0))  # (D', J) how often it does
    predicted: np.ndarray = np.zeros(0)  # (N) probabilities of the words of `HeldOut`


class HeldOut(NamedTuple):
    """Held-out words to predict in each document, and scratch space."""

    ptr: np.ndarray = np.zeros(0, np.int64)  # (W+1)
    word: np.ndarray = np.zeros(0, np.int64)
    own: np.ndarray = np.zeros(0, np.int64)  # index of the word among the document's observed words, or −1
    on: np.ndarray = np.zeros(0, np.uint8)  # scratch: f of the held-out words
    shown: np.ndarray = np.zeros(0, np.uint8)  # scratch: f of the observed words


def fold_in(
    concepts: LeaveOneOutCounts, counts: sparse.csr_array, seed: int, n_sweeps: int, n_burn_in: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum E[π_j/S | z] over sweeps in which a document uses concept j; count them."""
    shape = counts.shape[0], len(concepts.holders)
    sums = Sums(np.zeros(shape), np.zeros(shape))
    sample_documents(make_data(counts, None), concepts, new_stream(seed, 0), n_sweeps, n_burn_in, sums)
    return sums.weight, sums.inclusion


def sample_documents(
    data: Data,
    concepts: LeaveOneOutCounts,
    stream: np.ndarray,
    n_sweeps: int,
    n_burn_in: int,
    sums: Sums | None = None,
    held_out: HeldOut | None = None,
) -> State:
    """Run an independent chain for each new document, and fill `sums`.

    Without sums, return the state after the last sweep, in which every word has a token.
    """
    n_words, n_concepts = concepts.m.shape
    n_tokens = 0 if sums else int(data.length.sum())
    new = new_state(len(data.length), n_tokens, n_tokens, concepts.theta)
    doc = new_document(n_words, int(np.diff(data.doc_ptr).max(initial=0)), n_concepts)
    schedule = n_sweeps, n_burn_in, sums is None
    rest = sums or Sums(), held_out or HeldOut(), new
    _sample_documents(data, concepts, doc, no_features(n_concepts, n_words), stream, schedule, *rest)
    return finish_state(new)


@ref_kernel
def _sample_documents(data, concepts, doc, regression, stream, schedule, sums, held_out, new):
    n_sweeps, n_burn_in, is_start = schedule
    for d in range(len(data.length)):
        if data.length[d] > 0:
            load_document(doc, concepts, data, d, 0.0, _OVERLAP)
            key = _content_key(doc)
            open_stream(stream, FOLD_IN, 0, key)
            _start(doc, concepts)
            _redraw_words(False, doc, concepts, stream)
            for sweep in range(1, n_sweeps + 1):
                open_stream(stream, FOLD_IN, sweep, key)
                flip_concepts(doc, concepts, regression, stream)
                swap_concepts(_SWAPS, doc, concepts, regression, stream)
                divide_and_unite(_DIVISIONS, doc, concepts, regression, stream)
                _impute(doc, stream)
                is_last = is_start and sweep == n_sweeps
                if not is_last:
                    _flip_unused(doc, concepts, stream)
                if sweep > n_burn_in:
                    _add_up(d, doc, concepts, stream, sums, held_out)
                _redraw_words(is_last, doc, concepts, stream)
        if is_start:
            append_document(new, doc, d)
        clear(doc)


@helper
def _add_up(d, doc, concepts, stream, sums, held_out):
    """Add a sweep's conditional expectations given z to the sums."""
    # E[π_j/S | z] = (α_π + n_j)/(rα_π + N), r concepts held
    total = doc.n_pairs * concepts.alpha_pi + doc.length
    for k in range(doc.n_pairs):
        if len(sums.weight) > 0 and doc.tokens[k] > 0:
            sums.weight[d, doc.concept[k]] += (concepts.alpha_pi + doc.tokens[k]) / total
            sums.inclusion[d, doc.concept[k]] += 1.0
        if len(sums.predicted) > 0:
            _add_prediction(d, k, concepts, held_out, doc, stream, sums.predicted)


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
    """Choose a few concepts that explain every word, greedily."""
    # A word belongs to the concepts with at least half its largest P(f = 1), a bound kept in doc.rest; such words
    # count as if z had put their tokens there
    n_words, n_concepts = doc.n_words, len(concepts.holders)
    score = doc.pick[0]  # not in use until a word is picked
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
    """Draw z ∝ π/T among the concepts with the word on; mark used words with 2."""
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
def _flip_unused(doc, concepts, stream):
    """Update c_j of concepts without tokens, given z, with π and f integrated out."""
    alpha_pi, length = concepts.alpha_pi, doc.length
    known, cost = -1, 0.0  # the number of other concepts, and what one more costs
    for j in range(len(concepts.holders)):
        k = doc.place[j] - 1
        if k >= 0 and doc.tokens[k] > 0:
            continue
        others = doc.n_pairs - (1 if k >= 0 else 0)
        if others != known:
            # Γ((r+1)α_π) Γ(rα_π+N) / (Γ((r+1)α_π+N) Γ(rα_π)): the text's factor for one concept more than r
            few, many = others * alpha_pi, (others + 1) * alpha_pi
            log_cost = math.lgamma(many) - math.lgamma(few)
            log_cost += math.lgamma(few + length) - math.lgamma(many + length)
            known, cost = others, math.exp(log_cost)
        odds = concepts.odds[j] * cost
        p = odds / (1.0 + odds)
        joins = uniform(stream) < p
        if joins and k < 0:
            _hold_unused(j, doc)
        elif k >= 0 and not joins:
            drop_pair(doc, k)


@helper
def _hold_unused(j, doc):
    """Add concept j without tokens; its words and π are drawn with the others."""
    k = doc.n_pairs
    add_pair(doc, j, 0.0, 0.0, 0)
    doc.tokens[k] = 0
    for a in range(doc.n_words):
        doc.on[k, a] = 0


@helper
def _redraw_words(only_used, doc, concepts, stream):
    """Draw f and π given z; with `only_used` keep only concepts and words with tokens.

    With u ~ Gamma(n_j, rate T_j) the factor T_j^{−n_j} of the text becomes Π_i e^{−u θ_i f_ji}: words are independent,
    and those with tokens stay on. π as in docs/algebra.md section 7: its direction given z, its sum from the prior.
    """
    for k in range(doc.n_pairs - 1, -1, -1):
        if only_used and doc.tokens[k] == 0:
            drop_pair(doc, k)
    n_pairs, alpha_pi, total = doc.n_pairs, concepts.alpha_pi, 0.0
    for k in range(n_pairs):
        j, u, size, mass, absent = doc.concept[k], 0.0, 0, 0.0, 0.0
        if doc.tokens[k] > 0 and doc.mass[k] > 0.0 and not only_used:
            u = gamma(stream, float(doc.tokens[k])) / doc.mass[k]
        for a in range(doc.n_words):
            stays = doc.on[k, a] == 2
            if not (stays or only_used):
                stays = uniform(stream) < downweighted(doc.p[a, j], u * doc.theta[a])
            doc.on[k, a] = stays
            if stays:
                doc.words[k, size] = doc.word[a]
                size += 1
                mass += doc.theta[a]
        if not only_used:
            size, absent = draw_absent(k, j, u, u, size, doc, concepts, stream)
        doc.size[k], doc.mass[k], doc.weight[k] = size, mass + absent, gamma(stream, alpha_pi + doc.tokens[k])
        total += doc.weight[k]
    scale = gamma(stream, n_pairs * alpha_pi) / total
    for k in range(n_pairs):
        set_weight(doc, k, max(doc.weight[k] * scale, 1e-300), doc.mass[k])
    set_explained(doc)


@helper
def _add_prediction(d, k, concepts, held_out, doc, stream, total):
    """Add the k-th concept's prediction, with f redrawn given z (`_redraw_words`).

    Given the other words, E[θ_i f_ji/T_j] = q_i θ_i/(θ_i + Σ_{l≠i} θ_l f_jl) with q_i = P(f_ji = 1 | u).
    """
    j, first, last = doc.concept[k], held_out.ptr[d], held_out.ptr[d + 1]
    alpha_pi, tokens = concepts.alpha_pi, doc.tokens[k]
    u = gamma(stream, float(tokens)) / doc.mass[k] if tokens > 0 else 0.0
    for t in range(first, last):
        if held_out.own[t] < 0:
            doc.local_index[held_out.word[t]] = 1  # kept out of the words drawn here
    _, mass = draw_absent(doc.n_pairs, j, u, u, 0, doc, concepts, stream)
    for a in range(doc.n_words):
        held_out.shown[a] = uniform(stream) < _on_given(k, a, u, doc)
        mass += doc.theta[a] * held_out.shown[a]
    for t in range(first, last):
        w = held_out.word[t]
        if held_out.own[t] >= 0:
            held_out.on[t - first] = held_out.shown[held_out.own[t]]
        else:
            doc.local_index[w] = 0
            held_out.on[t - first] = uniform(stream) < _on_unseen(w, j, u, doc, concepts)
            mass += concepts.theta[w] * held_out.on[t - first]
    weight = (alpha_pi + tokens) / (doc.n_pairs * alpha_pi + doc.length)
    for t in range(first, last):
        w, a = held_out.word[t], held_out.own[t]
        theta = concepts.theta[w]
        on = _on_given(k, a, u, doc) if a >= 0 else _on_unseen(w, j, u, doc, concepts)
        others = max(0.0, mass - theta * held_out.on[t - first])
        total[t] += weight * on * theta / (theta + others)


@helper
def _on_given(k, a, u, doc):
    """Return P(f = 1) of the a-th observed word; 1 if the k-th concept has tokens."""
    if doc.on[k, a] == 2:
        return 1.0
    return downweighted(doc.p[a, doc.concept[k]], u * doc.theta[a])


@helper
def _on_unseen(w, j, u, doc, concepts):
    """Return the same of a word that the document was not shown with."""
    return downweighted((concepts.m[w, j] + concepts.extra[w]) * concepts.inverse[j], u * concepts.theta[w])


SWEEPS, BURN_IN = 30, 10
_SPLIT_SEED = 20120322  # one split for all models and all seeds
_LEAST_TOKENS = 2


class Halves(NamedTuple):
    """Documents with observed tokens, and held-out tokens to predict."""

    first: sparse.csr_array  # (W, V) counts a model may see
    row: np.ndarray  # (N) document of each token to predict, ascending
    word: np.ndarray  # (N) its word


def make_halves(counts: sparse.csr_array) -> Halves:
    """Split the tokens of each document with at least two into random halves."""
    rng = np.random.default_rng(_SPLIT_SEED)
    seen: list[np.ndarray] = []
    hidden: list[np.ndarray] = []
    for part in map(slice, counts.indptr, counts.indptr[1:]):
        tokens = rng.permutation(np.repeat(counts.indices[part], counts.data[part]))
        if len(tokens) >= _LEAST_TOKENS:
            first, second = np.split(tokens, [(len(tokens) + 1) // 2])
            seen.append(first)
            hidden.append(np.sort(second))
    row, word = _listed(seen)
    first = sparse.csr_array((np.ones(len(word), np.int32), (row, word)), shape=(len(seen), counts.shape[1]))
    first.sum_duplicates()
    return Halves(first, *_listed(hidden))


def _listed(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the document and the word of every token."""
    row = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return row, np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)


def predict(concepts: LeaveOneOutCounts, halves: Halves, seed: int, n_sweeps: int = SWEEPS) -> np.ndarray:
    """Return (N) the probability of each token to predict."""
    if not len(halves.row) or not len(concepts.holders):
        return np.zeros(len(halves.row))
    first, n_words = halves.first, halves.first.shape[1]
    data = make_data(first, None)
    cells, place = np.unique(halves.row * n_words + halves.word, return_inverse=True)
    row, word = np.divmod(cells, n_words)
    size = np.diff(data.doc_ptr)
    shown = np.repeat(np.arange(len(size)), size) * n_words + data.word
    at = np.searchsorted(shown, cells)
    held_out = HeldOut(
        ptr=np.searchsorted(row, np.arange(len(size) + 1)).astype(np.int64),
        word=word.astype(np.int64),
        own=np.where(np.append(shown, -1)[at] == cells, at - data.doc_ptr[row], -1),
        on=np.zeros(int(np.bincount(row).max()), np.uint8),
        shown=np.zeros(int(size.max()), np.uint8),
    )
    burn_in = min(BURN_IN, n_sweeps // 3)
    sums = Sums(predicted=np.zeros(len(word)))
    sample_documents(data, concepts, new_stream(seed, 0), n_sweeps, burn_in, sums, held_out)
    return sums.predicted[place] / (n_sweeps - burn_in)
