"""X and σ² drawn for a step, by which the semantic term of a change costs the same few operations for each word of it.

Given them, word i has y_i ~ N(p_i/n_i, σ²) with p_i = Σ_j m_ji x_j (docs/algebra.md section 3). Its density depends on
three numbers, n_i, y_i·p_i and p_i·p_i (products weighed by 1/σ²); a change of m_ji changes them by y_i·x_j, p_i·x_j
and x_j·x_j, which are kept. A newborn concept's own x is integrated out of its ratio, and drawn when it is accepted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import lean, part
from superwords.sampler.model import Data, Prior
from superwords.sampler.random import SEMANTICS, gamma, normal, open_stream
from superwords.sampler.semantics import counts_as_numbers, posterior
from superwords.sampler.state import Sizes


class Instance(NamedTuple):
    """X and σ², and what follows from them and from m_ji, the document at hand counted; kept in step.

    Products u·v are Σ_k u_k v_k / σ_k². Without features F is 0, and nothing is kept.
    """

    x: np.ndarray  # (slots, F)
    precision: np.ndarray  # (F) 1/σ_k²
    gram: np.ndarray  # (slots, slots) x_j·x_t
    y_x: np.ndarray  # (V, slots) y_i·x_j, 0 where the word's features are unknown
    p_x: np.ndarray  # (V, slots) p_i·x_j, likewise
    y_p: np.ndarray  # (V) y_i·p_i
    p_p: np.ndarray  # (V) p_i·p_i
    pull: np.ndarray  # (V, F) p_i
    total: np.ndarray  # (V) n_i
    Y: np.ndarray  # (V, F)
    known: np.ndarray  # (V)


@lean
def _draw_noise(precision, noise, scale, shape, stream, sweep, turn):
    open_stream(stream, SEMANTICS, sweep, turn)
    for k in range(len(scale)):
        precision[k] = gamma(stream, shape) / scale[k]
    for j in range(len(noise)):
        for k in range(len(scale)):
            noise[j, k] = normal(stream) / math.sqrt(precision[k])


def no_features(n_slots: int, n_words: int) -> Instance:
    """The instance of a model without features."""
    none, nothing = np.zeros((n_words, 0)), np.zeros(0)
    total, known = np.zeros(n_words, np.int64), np.zeros(n_words, bool)
    return Instance(
        np.zeros((n_slots, 0)),
        nothing,
        np.zeros((0, 0)),
        none,
        none,
        nothing,
        nothing,
        none,
        total,
        none,
        known,
    )


def draw_instance(
    sizes: Sizes, data: Data, prior: Prior, stream: np.ndarray, sweep: int, turn: int = 0, n_spare: int = 0
) -> Instance:
    """σ_k² ~ InvGamma(α_σ + V/2, β̂_k) and x_k ~ N(x̂_k, σ_k² A), given Φ; room for `n_spare` further concepts.

    `turn` names the draw among those of a sweep.
    """
    n_rows, n_features = len(sizes.holders), data.Y.shape[1]
    if n_features == 0:
        return no_features(n_rows + n_spare, len(data.known))
    shape = prior.alpha_sigma + int(data.known.sum()) / 2
    if n_rows:
        A, X, b, _ = posterior(sizes, data, prior)
    else:
        b = 0.5 * (data.Y[data.known] ** 2).sum(axis=0) + prior.beta_sigma
        A, X = np.zeros((0, 0)), np.zeros((0, n_features))
    precision, noise = np.empty(n_features), np.empty((n_rows, n_features))
    _draw_noise(precision, noise, b, shape, stream, sweep, turn)
    x = np.zeros((n_rows + n_spare, n_features))
    x[:n_rows] = X + np.linalg.cholesky(A) @ noise if n_rows else X
    pull = counts_as_numbers(sizes).T @ x[:n_rows]
    pull[~data.known] = 0.0
    weighed = x * precision
    return Instance(
        x,
        precision,
        x @ weighed.T,
        data.Y @ weighed.T,
        pull @ weighed.T,
        ((data.Y * pull) @ precision),
        ((pull * pull) @ precision),
        pull,
        sizes.total.copy(),
        data.Y,
        data.known,
    )


def grow_instance(instance: Instance, n: int) -> Instance:
    """Room for n concepts."""
    if len(instance.precision) == 0:
        return no_features(n, len(instance.known))
    more = n - len(instance.x)
    if more == 0:
        return instance
    wider = {name: np.pad(getattr(instance, name), ((0, 0), (0, more))) for name in ("y_x", "p_x")}
    gram = np.pad(instance.gram, ((0, more), (0, more)))
    return instance._replace(x=np.pad(instance.x, ((0, more), (0, 0))), gram=gram, **wider)


@part
def log_fit_change(instance, gone, j, come, t, mark):
    """log P(Y | X, σ², Φ) gained when concept j loses the words `gone` and concept t gets the words `come`."""
    change = 0.0
    for w in come:
        mark[w] = 1
    for w in gone:
        change += log_fit_word(instance, w, -1.0, j, float(mark[w]), t)
        mark[w] = 0
    for w in come:
        if mark[w] == 1:
            change += log_fit_word(instance, w, 0.0, j, 1.0, t)
            mark[w] = 0
    return change


@part
def log_fit_word(instance, w, step_j, j, step_t, t):
    """The log density of y_w, changed by the two steps of m_jw and m_tw."""
    if not instance.known[w]:
        return 0.0
    gram = instance.gram
    y_p = instance.y_p[w] + step_j * instance.y_x[w, j] + step_t * instance.y_x[w, t]
    p_p = instance.p_p[w] + 2.0 * (step_j * instance.p_x[w, j] + step_t * instance.p_x[w, t])
    p_p += step_j * step_j * gram[j, j] + step_t * step_t * gram[t, t] + 2.0 * step_j * step_t * gram[j, t]
    n = float(instance.total[w])
    return log_fit(n + step_j + step_t, y_p, p_p) - log_fit(n, instance.y_p[w], instance.p_p[w])


@part
def log_fit(n, y_p, p_p):
    """log density of a word's features less that at p = 0: −½ Σ_k [(y − p/n)² − y²]/σ_k²."""
    return (y_p - 0.5 * p_p / n) / n if n > 0.5 else 0.0


@part
def change_counts(instance, gone, j, come, t):
    """Carry such a change out."""
    for w in gone:
        step_count(instance, w, j, -1.0)
        _step_pull(instance, w, j, -1.0)
    for w in come:
        step_count(instance, w, t, 1.0)
        _step_pull(instance, w, t, 1.0)


@part
def _step_pull(instance, w, j, step):
    """What only newborn concepts look at."""
    if instance.known[w]:
        for k in range(len(instance.precision)):
            instance.pull[w, k] += step * instance.x[j, k]
        if instance.total[w] == 0:
            for k in range(len(instance.precision)):
                instance.pull[w, k] = 0.0


@part
def step_count(instance, w, j, step):
    """m_jw += step; p_w itself stays behind."""
    instance.total[w] += int(step)
    if not instance.known[w]:
        return
    if instance.total[w] == 0:
        instance.y_p[w], instance.p_p[w] = 0.0, 0.0
        for k in range(len(instance.gram)):
            instance.p_x[w, k] = 0.0
        return
    instance.y_p[w] += step * instance.y_x[w, j]
    instance.p_p[w] += 2.0 * step * instance.p_x[w, j] + step * step * instance.gram[j, j]
    for k in range(len(instance.gram)):
        instance.p_x[w, k] += step * instance.gram[j, k]


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
    log_ratio = -0.5 * n_features * math.log(B / K)
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
        log_ratio += 0.5 * instance.precision[f] * (gained + pulled * pulled / B)
    return log_ratio, B


@part
def draw_newborn(instance, words, j, B, stream):
    """x_new,k ~ N(Σ_i b_i e_ik / B, σ_k²/B), and all that is kept with it."""
    x, precision = instance.x, instance.precision
    for f in range(len(precision)):
        pulled = 0.0
        for w in words:
            if instance.known[w]:
                b = 1.0 / (instance.total[w] + 1.0)
                pulled += b * (instance.Y[w, f] - b * instance.pull[w, f])
        x[j, f] = pulled / B + normal(stream) / math.sqrt(B * precision[f])
    for w in range(len(instance.known)):
        y_x, p_x = 0.0, 0.0
        if instance.known[w]:
            for f in range(len(precision)):
                y_x += precision[f] * instance.Y[w, f] * x[j, f]
                p_x += precision[f] * instance.pull[w, f] * x[j, f]
        instance.y_x[w, j], instance.p_x[w, j] = y_x, p_x
    for t in range(len(x)):
        product = 0.0
        for f in range(len(precision)):
            product += precision[f] * x[t, f] * x[j, f]
        instance.gram[j, t], instance.gram[t, j] = product, product
    change_counts(instance, words[:0], j, words, j)
