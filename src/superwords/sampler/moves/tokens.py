"""Imputing z, and the concepts' weights π given it."""

from __future__ import annotations

import numpy as np

from superwords.sampler.jit import kernel
from superwords.sampler.random import IMPORTANCE, TOKENS, gamma, open_stream, uniform
from superwords.sampler.state import Tokens


@kernel
def impute_tokens(state, model, stream, sweep):
    """Draw z given c, f and π (a token of word w goes to z in proportion to π_z / T_z), then π given z.

    Changes state.weight in place. Documents are independent of each other here.
    """
    data = model.data
    tokens = Tokens(
        np.zeros(len(state.word), np.int32),
        np.zeros(len(state.concept), np.int64),
        np.zeros(len(state.concept), np.int64),
    )
    spot = np.zeros(len(state.theta), np.int32)
    share = np.zeros(len(state.concept))
    entries = np.zeros(0, np.int64)
    pairs = np.zeros(0, np.int64)
    for d in range(len(data.doc_ptr) - 1):
        if state.doc_ptr[d] == state.doc_ptr[d + 1]:
            continue
        open_stream(stream, TOKENS, sweep, d)
        ptr, n_found = _count_explainers(state, data, spot, share, d)
        if n_found > len(entries):
            entries = np.zeros(2 * n_found, np.int64)
            pairs = np.zeros(2 * n_found, np.int64)
        _list_explainers(state, spot, ptr, entries, pairs, d)
        first = data.doc_ptr[d]
        for a in range(data.doc_ptr[d + 1] - first):
            _assign(tokens, entries[ptr[a] : ptr[a + 1]], pairs[ptr[a] : ptr[a + 1]], share, data.count[first + a], stream)
            spot[data.word[first + a]] = 0
        if data.null[d] > 0:
            _assign_null(state, tokens, d, data.null[d], stream)
        if model.steps.weights:
            draw_weights(state, tokens, model, d, stream)
    return tokens


@kernel
def _count_explainers(state, data, spot, share, d):
    """T and π/T of the document's concepts, and where the list of explainers of each of its words begins."""
    first, last = data.doc_ptr[d], data.doc_ptr[d + 1]
    ptr = np.zeros(last - first + 1, np.int64)
    for a in range(last - first):
        spot[data.word[first + a]] = a + 1
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        mass = 0.0
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            w = state.word[e]
            mass += state.theta[w]
            ptr[spot[w]] += spot[w] > 0
        share[p] = state.weight[p] / mass if mass > 0.0 else 0.0
    for a in range(last - first):
        ptr[a + 1] += ptr[a]
    return ptr, ptr[last - first]


@kernel
def _list_explainers(state, spot, ptr, entries, pairs, d):
    fill = ptr.copy()
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            a = spot[state.word[e]] - 1
            if a >= 0:
                entries[fill[a]] = e
                pairs[fill[a]] = p
                fill[a] += 1


@kernel
def _assign(tokens, entries, pairs, share, count, stream):
    """Send `count` tokens of one word to the pairs that explain it."""
    n = len(pairs)
    if n == 1:
        tokens.entry[entries[0]] += count
        tokens.pair[pairs[0]] += count
        return
    total = 0.0
    for k in range(n):
        total += share[pairs[k]]
    if n == 0:
        return  # only the published order of steps reaches a word that nothing explains
    for _ in range(count):
        u, k = uniform(stream) * total, 0
        while u > share[pairs[k]] and k < n - 1:
            u -= share[pairs[k]]
            k += 1
        tokens.entry[entries[k]] += 1
        tokens.pair[pairs[k]] += 1


@kernel
def _assign_null(state, tokens, d, count, stream):
    """Send the null tokens to the document's empty concepts, in proportion to π."""
    total = 0.0
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        if state.pair_ptr[p] == state.pair_ptr[p + 1]:
            total += state.weight[p]
    for _ in range(count):
        u, chosen = uniform(stream) * total, -1
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            if state.pair_ptr[p] == state.pair_ptr[p + 1]:
                chosen = p
                u -= state.weight[p]
                if u <= 0.0:
                    break
        if chosen >= 0:
            tokens.null[chosen] += 1


@kernel
def draw_weights(state, tokens, model, d, stream):
    """g_j ~ Gamma(α_π + n_j, 1), S ~ Gamma(J_d α_π, 1), π_j = S g_j / Σ g: the sum does not depend on z."""
    alpha_pi = model.prior.alpha_pi
    first, last = state.doc_ptr[d], state.doc_ptr[d + 1]
    total = 0.0
    for p in range(first, last):
        state.weight[p] = gamma(stream, alpha_pi + tokens.pair[p] + tokens.null[p])
        total += state.weight[p]
    if model.steps.published_pi:
        return
    scale = gamma(stream, (last - first) * alpha_pi) / total
    for p in range(first, last):
        state.weight[p] = max(state.weight[p] * scale, 1e-300)


@kernel
def draw_theta(state, tokens, model, stream, sweep):
    """θ given z, in place: with u_dj ~ Gamma(n_dj, rate T_dj), θ_i ~ Gamma(α_θ + n_i, rate 1 + Σ_{f_dji = 1} u_dj).

    The text does not see the sum of θ, so it is drawn from its prior, Gamma(V α_θ, 1).
    """
    n_words = len(state.theta)
    rate = np.ones(n_words)
    used = np.zeros(n_words, np.int64)
    for d in range(len(state.doc_ptr) - 1):
        open_stream(stream, IMPORTANCE, sweep, n_words + d)
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            if tokens.pair[p] == 0:
                continue
            mass = 0.0
            for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                mass += state.theta[state.word[e]]
            u = gamma(stream, tokens.pair[p]) / mass
            for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                rate[state.word[e]] += u
                used[state.word[e]] += tokens.entry[e]
    total = 0.0
    for i in range(n_words):
        open_stream(stream, IMPORTANCE, sweep, i)
        state.theta[i] = gamma(stream, model.prior.alpha_theta + used[i]) / rate[i]
        total += state.theta[i]
    scale = gamma(stream, n_words * model.prior.alpha_theta) / total
    for i in range(n_words):
        state.theta[i] = max(state.theta[i] * scale, 1e-300)
