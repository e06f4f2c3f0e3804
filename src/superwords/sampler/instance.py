"""X and σ² drawn for the c step, by which the semantic term of a document's change costs O(F) for each word of it.

Given them, word i has y_i ~ N(p_i/n_i, σ²) with p_i = Σ_j m_ji x_j (docs/algebra.md section 4). A newborn concept's own
x is integrated out of its ratio, and drawn when it is accepted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import inlined, lean, part
from superwords.sampler.model import Data, Prior
from superwords.sampler.random import SEMANTICS, gamma, normal, open_stream
from superwords.sampler.semantics import posterior
from superwords.sampler.state import Sizes


class Instance(NamedTuple):
    """X and σ², and every word's p_i and n_i, the document at hand counted; kept in step where there are features."""

    x: np.ndarray  # (slots, F)
    precision: np.ndarray  # (F) 1/σ_k²
    pull: np.ndarray  # (V, F) p_i
    total: np.ndarray  # (V) n_i
    Y: np.ndarray  # (V, F)
    known: np.ndarray  # (V)


@lean
def _draw_noise(precision, noise, scale, shape, stream, sweep):
    open_stream(stream, SEMANTICS, sweep, 0)
    for k in range(len(scale)):
        precision[k] = gamma(stream, shape) / scale[k]
    for j in range(len(noise)):
        for k in range(len(scale)):
            noise[j, k] = normal(stream) / math.sqrt(precision[k])


def no_features(n_slots: int, n_words: int) -> Instance:
    """The instance of a model without features."""
    nothing = np.zeros((n_words, 0))
    return Instance(
        np.zeros((n_slots, 0)),
        np.zeros(0),
        nothing,
        np.zeros(n_words, np.int64),
        nothing,
        np.zeros(n_words, bool),
    )


def draw_instance(sizes: Sizes, data: Data, prior: Prior, stream: np.ndarray, sweep: int) -> Instance:
    """σ_k² ~ InvGamma(α_σ + V/2, β̂_k) and x_k ~ N(x̂_k, σ_k² A), given Φ."""
    n_rows, n_features = len(sizes.holders), data.Y.shape[1]
    if n_features == 0:
        return no_features(n_rows, len(data.known))
    shape = prior.alpha_sigma + int(data.known.sum()) / 2
    if n_rows:
        A, X, b, _ = posterior(sizes, data, prior)
    else:
        b = 0.5 * (data.Y[data.known] ** 2).sum(axis=0) + prior.beta_sigma
        A, X = np.zeros((0, 0)), np.zeros((0, n_features))
    precision, noise = np.empty(n_features), np.empty((n_rows, n_features))
    _draw_noise(precision, noise, b, shape, stream, sweep)
    x = X + np.linalg.cholesky(A) @ noise if n_rows else X
    pull = np.ascontiguousarray(sizes.m.T.astype(float) @ x)
    return Instance(np.ascontiguousarray(x), precision, pull, sizes.total.copy(), data.Y, data.known)


@part
def log_fit_change(instance, gone, j, come, t, mark):
    """log P(Y | X, σ², Φ) gained when concept j loses the words `gone` and concept t gets the words `come`."""
    change = 0.0
    for w in come:
        mark[w] = 1
    for w in gone:
        change += _log_fit_word(instance, w, -1.0, j, float(mark[w]), t)
        mark[w] = 0
    for w in come:
        if mark[w] == 1:
            change += _log_fit_word(instance, w, 0.0, j, 1.0, t)
            mark[w] = 0
    return 0.5 * change


@inlined
def _log_fit_word(instance, w, step_j, j, step_t, t):
    """Twice the log density of y_w, changed by the two steps of m_jw and m_tw."""
    if not instance.known[w]:
        return 0.0
    n = instance.total[w]
    n_new = n + step_j + step_t
    before = 1.0 / n if n > 0 else 0.0
    after = 1.0 / n_new if n_new > 0.5 else 0.0
    change = 0.0
    for k in range(len(instance.precision)):
        y, pull = instance.Y[w, k], instance.pull[w, k]
        e0 = y - pull * before
        e = y - (pull + step_j * instance.x[j, k] + step_t * instance.x[t, k]) * after
        change += instance.precision[k] * (e0 * e0 - e * e)
    return change


@part
def change_counts(instance, gone, j, come, t):
    """Carry such a change out."""
    _step(instance, gone, j, -1)
    _step(instance, come, t, 1)


@inlined
def _step(instance, words, j, step):
    for w in words:
        instance.total[w] += step
        for k in range(len(instance.precision)):
            instance.pull[w, k] += step * instance.x[j, k]
        if instance.total[w] == 0:
            instance.pull[w, :] = 0.0


@part
def log_fit_newborn(instance, K, words, j, counted):
    """log P(Y) with a concept of one document, x integrated out, less without it; and the precision B of x.

    `counted` is 1 when p_i and n_i count it already (a death), 0 when not (a birth).
    """
    n_features = len(instance.precision)
    B = K
    for w in words:
        if instance.known[w]:
            b = 1.0 / (instance.total[w] - counted + 1.0)
            B += b * b
    log_fit = -0.5 * n_features * math.log(B / K)
    for f in range(n_features):
        gained, pulled = 0.0, 0.0
        for w in words:
            if instance.known[w]:
                n = instance.total[w] - counted
                b = 1.0 / (n + 1.0)
                pull = instance.pull[w, f] - counted * instance.x[j, f] if n > 0 else 0.0
                e0 = instance.Y[w, f] - (pull / n if n > 0 else 0.0)
                e = instance.Y[w, f] - b * pull
                gained += e0 * e0 - e * e
                pulled += b * e
        log_fit += 0.5 * instance.precision[f] * (gained + pulled * pulled / B)
    return log_fit, B


@inlined
def draw_newborn(instance, words, j, B, stream):
    """x_new,k ~ N(Σ_i b_i e_ik / B, σ_k²/B), and p_i and n_i with it."""
    for f in range(len(instance.precision)):
        pulled = 0.0
        for w in words:
            if instance.known[w]:
                b = 1.0 / (instance.total[w] + 1.0)
                pulled += b * (instance.Y[w, f] - b * instance.pull[w, f])
        instance.x[j, f] = pulled / B + normal(stream) / math.sqrt(B * instance.precision[f])
    change_counts(instance, words[:0], j, words, j)
