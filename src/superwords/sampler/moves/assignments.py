"""Imputing z, and the concepts' weights π given it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.contract import ChainState, Info, map_blocks
from superwords.sampler.random import IMPORTANCE, TOKENS, gamma, open_stream, uniform
from superwords.sampler.state import State, Tokens


class Explainers(NamedTuple):
    """Entries that explain each word of one document."""

    local_index: np.ndarray  # (V) a + 1 of the document's a-th word, else 0
    share: np.ndarray  # (P) π / T
    ptr: np.ndarray  # (a) into entry and pair
    fill: np.ndarray
    entry: np.ndarray
    pair: np.ndarray


def move_tokens(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Draw z given c, f and π, then π given z."""
    tokens = impute_tokens(now.state, now.model, stream, sweep, now.n_threads)
    return now._replace(tokens=tokens), {}


def impute_tokens(state: State, model: Model, stream: np.ndarray, sweep: int, n_threads: int = 1) -> Tokens:
    """Draw z ∝ π_z / T_z given c, f and π, then π given z in place."""
    longest = int(np.diff(model.data.doc_ptr).max())
    most = int(np.diff(state.pair_ptr[state.doc_ptr]).max())
    n_pairs = len(state.concept)
    tokens = Tokens(np.zeros(len(state.word), np.int32), np.zeros(n_pairs, np.int64))
    share = np.zeros(n_pairs)

    def impute(first: int, last: int) -> None:
        explainers = Explainers(
            np.zeros(len(state.theta), np.int32),
            share,
            *np.zeros((2, longest + 1), np.int64),
            *np.zeros((2, most), np.int64),
        )
        _impute_documents(first, last, state, tokens, explainers, model, stream.copy(), sweep)

    map_blocks(impute, len(state.doc_ptr) - 1, n_threads)
    return tokens


@ref_kernel
def _impute_documents(first_document, last_document, state, tokens, explainers, model, stream, sweep):
    """Impute z of the documents, which are independent here."""
    data = model.data
    for d in range(first_document, last_document):
        if state.doc_ptr[d] == state.doc_ptr[d + 1]:
            continue
        open_stream(stream, TOKENS, sweep, d)
        _find_explainers(state, data, explainers, d)
        first = data.doc_ptr[d]
        for a in range(data.doc_ptr[d + 1] - first):
            _assign(tokens, explainers, a, data.count[first + a], stream)
            explainers.local_index[data.word[first + a]] = 0
        if model.steps.weights:
            draw_weights(state, tokens, model.prior.alpha_pi, d, stream)


@helper
def _find_explainers(state, data, explainers, d):
    first, last = data.doc_ptr[d], data.doc_ptr[d + 1]
    local_index, ptr, fill = explainers.local_index, explainers.ptr, explainers.fill
    ptr[0] = 0
    for a in range(last - first):
        local_index[data.word[first + a]] = a + 1
        ptr[a + 1] = 0
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        mass = 0.0
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            w = state.word[e]
            mass += state.theta[w]
            if local_index[w] > 0:
                ptr[local_index[w]] += 1
        explainers.share[p] = state.weight[p] / mass if mass > 0.0 else 0.0
    for a in range(last - first):
        ptr[a + 1] += ptr[a]
        fill[a] = ptr[a]
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            a = local_index[state.word[e]] - 1
            if a >= 0:
                explainers.entry[fill[a]] = e
                explainers.pair[fill[a]] = p
                fill[a] += 1


@helper
def _assign(tokens, explainers, a, count, stream):
    """Assign `count` tokens of the document's a-th word to the pairs that explain it."""
    first, last = explainers.ptr[a], explainers.ptr[a + 1]
    pair, share = explainers.pair, explainers.share
    if first + 1 == last:
        tokens.entry[explainers.entry[first]] += count
        tokens.pair[pair[first]] += count
        return
    total = 0.0
    for k in range(first, last):
        total += share[pair[k]]
    for _ in range(count):
        # Appendix, "Impute z": z with probability ∝ π_z/T_z among the concepts with the word on
        u, k = uniform(stream) * total, first
        while u > share[pair[k]] and k < last - 1:
            u -= share[pair[k]]
            k += 1
        tokens.entry[explainers.entry[k]] += 1
        tokens.pair[pair[k]] += 1


@helper
def draw_weights(state, tokens, alpha_pi, d, stream):
    """Draw g_j ~ Gamma(α_π+n_j, 1), S ~ Gamma(J_d α_π, 1); set π_j = S g_j / Σ g."""
    first, last = state.doc_ptr[d], state.doc_ptr[d + 1]
    total = 0.0
    for p in range(first, last):
        # Appendix, "Sample π", corrected: z fixes the direction of π, the prior alone its sum S
        state.weight[p] = gamma(stream, alpha_pi + tokens.pair[p])
        total += state.weight[p]
    scale = gamma(stream, (last - first) * alpha_pi) / total
    for p in range(first, last):
        state.weight[p] = max(state.weight[p] * scale, 1e-300)


def move_theta(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Draw θ_i ~ Gamma(α_θ + n_i, rate 1 + Σ u_dj) in place, if θ is sampled.

    u_dj ~ Gamma(n_dj, rate T_dj). The text does not depend on the sum of θ, which is drawn from its prior,
    Gamma(V α_θ, 1).
    """
    if now.model.steps.sample_theta:
        rate, used = np.ones(len(now.state.theta)), np.zeros(len(now.state.theta), np.int64)
        _draw_theta(now.state, now.tokens, rate, used, now.model.prior.alpha_theta, stream, sweep)
    return now, {}


@ref_kernel
def _draw_theta(state, tokens, rate, used, alpha_theta, stream, sweep):
    n_words = len(state.theta)
    for d in range(len(state.doc_ptr) - 1):
        open_stream(stream, IMPORTANCE, sweep, n_words + d)
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            if tokens.pair[p] == 0:
                continue
            mass = 0.0
            for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                mass += state.theta[state.word[e]]
            u = gamma(stream, float(tokens.pair[p])) / mass
            for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                rate[state.word[e]] += u
                used[state.word[e]] += tokens.entry[e]
    total = 0.0
    for i in range(n_words):
        open_stream(stream, IMPORTANCE, sweep, i)
        state.theta[i] = gamma(stream, alpha_theta + used[i]) / rate[i]
        total += state.theta[i]
    scale = gamma(stream, n_words * alpha_theta) / total
    for i in range(n_words):
        state.theta[i] = max(state.theta[i] * scale, 1e-300)
