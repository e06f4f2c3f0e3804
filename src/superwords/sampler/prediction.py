"""What our concepts predict of the words of a new document that were not shown (docs/lab/compare.md).

The fold-in's chain draws c, f and π given the words that were shown. Given z, a word i that was not shown has
probability Σ_j E[π_j/S] E[θ_i f_ji/T_j], and that is averaged over the sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.document import clear, new_document
from superwords.sampler.feature_draw import no_features
from superwords.sampler.fold_in import begin_document, flip_unused, redraw_words, sweep_concepts
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.leave_one_out import LeaveOneOutCounts
from superwords.sampler.model import Data, make_data
from superwords.sampler.moves.proposals import downweighted, draw_absent
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
    """Split the tokens of documents with at least two at random into two halves."""
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


def predict(concepts: LeaveOneOutCounts, halves: Halves, seed: int, n_sweeps: int = SWEEPS) -> np.ndarray:
    """Return (N) the probability of each token to predict."""
    if not len(halves.row) or not len(concepts.holders):
        return np.zeros(len(halves.row))
    first, n_words = halves.first, halves.first.shape[1]
    data = make_data(first, None)
    cells, place = np.unique(halves.row * n_words + halves.word, return_inverse=True)
    row, word = np.divmod(cells, n_words)
    longest = int(np.diff(data.doc_ptr).max())
    asked = Asked(
        ptr=np.searchsorted(row, np.arange(first.shape[0] + 1)).astype(np.int64),
        word=word.astype(np.int64),
        own=np.array(_places(data, row, word), np.int64),
        on=np.zeros(int(np.bincount(row).max()), np.uint8),
        shown=np.zeros(longest, np.uint8),
    )
    doc = new_document(n_words, longest, len(concepts.holders))
    regression = no_features(len(concepts.holders), n_words)
    burn_in = min(BURN_IN, n_sweeps // 3)
    unread = np.zeros((1, len(concepts.holders)))
    total = np.zeros(len(cells))
    stream = new_stream(seed, 0)
    complete(data, concepts, asked, doc, regression, stream, n_sweeps, burn_in, unread, total)
    return total[place] / (n_sweeps - burn_in)


def _places(data: Data, row: np.ndarray, word: np.ndarray) -> Sequence[int]:
    found = []
    for d, i in zip(row, word):
        at = np.flatnonzero(data.word[data.doc_ptr[d] : data.doc_ptr[d + 1]] == i)
        found.append(int(at[0]) if len(at) else -1)
    return found


@ref_kernel
def complete(data, concepts, asked, doc, regression, stream, n_sweeps, n_burn_in, unread, total):
    """Run the sweeps of a fold-in; after z, add what is predicted given it to `total`."""
    for d in range(len(data.length)):
        key = begin_document(d, data, concepts, doc, stream)
        for sweep in range(1, n_sweeps + 1):
            sweep_concepts(sweep, key, doc, concepts, regression, stream)
            flip_unused(0, False, doc, concepts, stream, unread, unread)
            if sweep > n_burn_in:
                for k in range(doc.n_pairs):
                    _add_prediction(d, k, concepts, asked, doc, stream, total)
            redraw_words(doc, concepts, stream)
        clear(doc)


@helper
def _add_prediction(d, k, concepts, asked, doc, stream, total):
    """Add the k-th concept's prediction; f is drawn anew given z, as in `redraw_words`.

    Given the other words, E[θ_i f_ji/T_j] = q_i θ_i/(θ_i + Σ_{l≠i} θ_l f_jl) with q_i = P(f_ji = 1 | u).
    """
    j, first, last = doc.concept[k], asked.ptr[d], asked.ptr[d + 1]
    alpha_pi, tokens = concepts.alpha_pi, doc.tokens[k]
    u = gamma(stream, float(tokens)) / doc.mass[k] if tokens > 0 else 0.0
    for t in range(first, last):
        if asked.own[t] < 0:
            doc.local_index[asked.word[t]] = 1  # kept out of the words drawn here
    _, mass = draw_absent(j, u, u, doc.used, doc, concepts, stream)
    for a in range(doc.n_words):
        asked.shown[a] = uniform(stream) < _on_given(k, a, u, doc)
        mass += doc.theta[a] * asked.shown[a]
    for t in range(first, last):
        w = asked.word[t]
        if asked.own[t] >= 0:
            asked.on[t - first] = asked.shown[asked.own[t]]
        else:
            doc.local_index[w] = 0
            asked.on[t - first] = uniform(stream) < _on_unseen(w, j, u, doc, concepts)
            mass += concepts.theta[w] * asked.on[t - first]
    weight = (alpha_pi + tokens) / (doc.n_pairs * alpha_pi + doc.length)
    for t in range(first, last):
        w, a = asked.word[t], asked.own[t]
        theta = concepts.theta[w]
        on = _on_given(k, a, u, doc) if a >= 0 else _on_unseen(w, j, u, doc, concepts)
        others = max(0.0, mass - theta * asked.on[t - first])
        total[t] += weight * on * theta / (theta + others)


@helper
def _on_given(k, a, u, doc):
    """Return P(f = 1) of the a-th word shown: 1 where the k-th concept has tokens of it."""
    if doc.on[k, a] == 2:
        return 1.0
    return downweighted(doc.p[a, doc.concept[k]], u * doc.theta[a])


@helper
def _on_unseen(w, j, u, doc, concepts):
    """Return the same of a word that the document was not shown with."""
    return downweighted((concepts.m[w, j] + concepts.extra[w]) * concepts.inverse[j], u * concepts.theta[w])
