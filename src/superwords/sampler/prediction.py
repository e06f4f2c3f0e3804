"""What our concepts predict of the words of a new document that were not shown (docs/lab/compare.md).

The fold-in's chain draws c, f and π given the words that were shown. Given z, a word i that was not shown has
probability Σ_j E[π_j/S] E[θ_i f_ji/T_j], and that is averaged over the sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.foldin import begin_document, clear_sheet, flip_unused, redraw_weights, sweep_concepts
from superwords.sampler.foldin_workspace import (
    LENGTH,
    PAIRS,
    WORDS,
    Concepts,
    Documents,
    draw_absent,
    held_back,
    new_sheet,
)
from superwords.sampler.jit import lean
from superwords.sampler.random import gamma, new_stream, uniform

SWEEPS, BURN_IN = 30, 10
_SPLIT_SEED = 20120322  # one split for all models and all seeds
_LEAST_TOKENS = 2


class Halves(NamedTuple):
    """Documents of which some tokens are shown, and the tokens to predict."""

    first: sparse.csr_array  # (W, V) counts a model may see
    row: np.ndarray  # (N) document of each token to predict, ascending
    word: np.ndarray  # (N) its word


class Asked(NamedTuple):
    """The different words to predict in each document."""

    ptr: np.ndarray  # (W+1)
    word: np.ndarray
    own: np.ndarray  # the word's place among those the document was shown with, or −1
    on: np.ndarray  # room for f of the words asked about, and of the words shown
    shown: np.ndarray


def make_halves(counts: sparse.csr_array) -> Halves:
    """Documents with at least two tokens, their tokens shared out at random: the first half gets the odd token."""
    rng = np.random.default_rng(_SPLIT_SEED)
    seen: list[np.ndarray] = []
    hidden: list[np.ndarray] = []
    for d in range(counts.shape[0]):
        part = slice(counts.indptr[d], counts.indptr[d + 1])
        tokens = rng.permutation(np.repeat(counts.indices[part], counts.data[part]))
        if len(tokens) >= _LEAST_TOKENS:
            middle = (len(tokens) + 1) // 2
            seen.append(tokens[:middle])
            hidden.append(np.sort(tokens[middle:]))
    first = sparse.csr_array(
        (np.ones(_total(seen), np.int32), (_rows(seen), _joined(seen))), shape=(len(seen), counts.shape[1])
    )
    first.sum_duplicates()
    return Halves(first, _rows(hidden), _joined(hidden))


def _total(parts: list[np.ndarray]) -> int:
    return sum(map(len, parts))


def _rows(parts: list[np.ndarray]) -> np.ndarray:
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)


def predict(concepts: Concepts, halves: Halves, seed: int, n_sweeps: int = SWEEPS) -> np.ndarray:
    """(N) the probability of each token to predict."""
    if not len(halves.row) or not len(concepts.odds):
        return np.zeros(len(halves.row))
    first, n_words = halves.first, halves.first.shape[1]
    documents = Documents(
        first.indptr.astype(np.int64), first.indices.astype(np.int32), first.data.astype(np.int32)
    )
    cells, place = np.unique(halves.row * n_words + halves.word, return_inverse=True)
    row, word = np.divmod(cells, n_words)
    longest = int(np.diff(documents.ptr).max())
    asked = Asked(
        ptr=np.searchsorted(row, np.arange(first.shape[0] + 1)).astype(np.int64),
        word=word.astype(np.int64),
        own=np.array(_places(documents, row, word), np.int64),
        on=np.zeros(int(np.bincount(row).max()), np.uint8),
        shown=np.zeros(longest, np.uint8),
    )
    sheet = new_sheet(n_words, len(concepts.odds), longest)
    burn_in = min(BURN_IN, n_sweeps // 3)
    unread = np.zeros((1, len(concepts.odds)))
    total = np.zeros(len(cells))
    complete(documents, concepts, asked, sheet, new_stream(seed, 0), n_sweeps, burn_in, unread, total)
    return total[place] / (n_sweeps - burn_in)


def _places(documents: Documents, row: np.ndarray, word: np.ndarray) -> Sequence[int]:
    found = []
    for d, i in zip(row, word):
        at = np.flatnonzero(documents.word[documents.ptr[d] : documents.ptr[d + 1]] == i)
        found.append(int(at[0]) if len(at) else -1)
    return found


@lean
def complete(documents, concepts, asked, sheet, stream, n_sweeps, n_burn_in, unread, total):
    """The sweeps of `fold_in`; after z, what is predicted given it is added to `total`."""
    for d in range(len(documents.ptr) - 1):
        key = begin_document(d, documents, concepts, sheet, stream)
        for sweep in range(1, n_sweeps + 1):
            sweep_concepts(sweep, key, documents, concepts, sheet, stream)
            flip_unused(0, False, concepts, sheet, stream, unread, unread)
            if sweep > n_burn_in:
                for k in range(sheet.number[PAIRS]):
                    _add_prediction(d, k, documents, concepts, asked, sheet, stream, total)
            redraw_weights(documents, concepts, sheet, stream)
        clear_sheet(documents, sheet)


@lean
def _add_prediction(d, k, documents, concepts, asked, sheet, stream, total):
    """Of the k-th concept. f is drawn anew given z, as in `redraw_weights`, with each word asked about drawn by itself.

    Given the other words, E[θ_i f_ji/T_j] = q_i θ_i/(θ_i + Σ_{l≠i} θ_l f_jl) with q_i = P(f_ji = 1 | u).
    """
    j, first, last = sheet.concept[k], asked.ptr[d], asked.ptr[d + 1]
    alpha_pi, tokens = concepts.alpha_pi, sheet.tokens[k]
    u = 0.0
    if tokens > 0:
        u = gamma(stream, float(tokens)) / (sheet.present[k] + sheet.absent[k] + sheet.new[k])
    for t in range(first, last):
        sheet.spot[asked.word[t]] = 1
    absent, new = draw_absent(j, u, u, concepts, sheet, stream)
    mass = absent + new
    for a in range(sheet.number[WORDS]):
        theta = concepts.theta[documents.word[documents.ptr[d] + a]]
        asked.shown[a] = uniform(stream) < _on_given(k, a, theta, u, sheet)
        mass += theta * asked.shown[a]
    for t in range(first, last):
        w = asked.word[t]
        if asked.own[t] >= 0:
            asked.on[t - first] = asked.shown[asked.own[t]]
        else:
            sheet.spot[w] = 0
            p = (concepts.m[w, j] + concepts.extra[w]) / concepts.whole[j]
            asked.on[t - first] = uniform(stream) < held_back(p, u * concepts.theta[w])
            mass += concepts.theta[w] * asked.on[t - first]
    weight = (alpha_pi + tokens) / (sheet.number[PAIRS] * alpha_pi + sheet.number[LENGTH])
    for t in range(first, last):
        w, a = asked.word[t], asked.own[t]
        theta = concepts.theta[w]
        if a >= 0:
            on = _on_given(k, a, theta, u, sheet)
        else:
            on = held_back((concepts.m[w, j] + concepts.extra[w]) / concepts.whole[j], u * theta)
        others = max(0.0, mass - theta * asked.on[t - first])
        total[t] += weight * on * theta / (theta + others)


@lean
def _on_given(k, a, theta, u, sheet):
    """P(f = 1) of the a-th word shown: 1 where the k-th concept has tokens of it."""
    if sheet.on[k, a] == 2:
        return 1.0
    return held_back(sheet.p[sheet.concept[k], a], u * theta)
