"""X and σ² drawn for a step, so that a change of counts is cheap to evaluate.

Word i has y_i ~ N(p_i/n_i, σ²) with p_i = Σ_j m_ji x_j (docs/algebra.md section 3). Its density depends on n_i, y_i·p_i
and p_i·p_i; a change of m_ji changes them by y_i·x_j, p_i·x_j and x_j·x_j, which are stored.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.feature_likelihood import counts_as_numbers, posterior
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Data, Prior
from superwords.sampler.random import SEMANTICS, accepts, gamma, normal, open_stream
from superwords.sampler.state import Sizes


class RegressionDraw(NamedTuple):
    """X, σ² and the products that depend on them and m_ji, updated incrementally.

    m_ji includes the loaded document. Products u·v are Σ_k u_k v_k / σ_k². Without features F is 0.
    """

    x: np.ndarray  # (slots, F)
    precision: np.ndarray  # (F) 1/σ_k²
    gram: np.ndarray  # (slots, slots) x_j·x_t
    y_x: np.ndarray  # (V, slots) y_i·x_j, 0 where the word's features are unknown
    p_x: np.ndarray  # (V, slots) p_i·x_j, likewise
    y_p: np.ndarray  # (V) y_i·p_i
    p_p: np.ndarray  # (V) p_i·p_i
    feature_sum: np.ndarray  # (V, F) p_i
    total: np.ndarray  # (V) n_i
    Y: np.ndarray  # (V, F)
    known: np.ndarray  # (V)


@ref_kernel
def _draw_noise(precision, noise, scale, shape, stream, sweep, turn):
    open_stream(stream, SEMANTICS, sweep, turn)
    for k in range(len(scale)):
        precision[k] = gamma(stream, shape) / scale[k]
    for j in range(len(noise)):
        for k in range(len(scale)):
            noise[j, k] = normal(stream) / math.sqrt(precision[k])


def no_features(n_slots: int, n_words: int) -> RegressionDraw:
    """Return the regression of a model without features."""
    none, nothing, x, gram = np.zeros((n_words, 0)), np.zeros(0), np.zeros((n_slots, 0)), np.zeros((0, 0))
    total, known = np.zeros(n_words, np.int64), np.zeros(n_words, bool)
    return RegressionDraw(x, nothing, gram, none, none, nothing, nothing, none, total, none, known)


def draw_regression(
    sizes: Sizes, data: Data, prior: Prior, stream: np.ndarray, sweep: int, turn: int = 0, n_spare: int = 0
) -> RegressionDraw:
    """Draw σ_k² ~ InvGamma(α_σ + V/2, β̂_k), x_k ~ N(x̂_k, σ_k² A), given Φ."""
    n_concepts, n_features = len(sizes.holders), data.Y.shape[1]
    if n_features == 0:
        return no_features(n_concepts + n_spare, len(data.known))
    shape = prior.alpha_sigma + int(data.known.sum()) / 2
    A, X, b, _ = posterior(sizes, data, prior)
    precision, noise = np.empty(n_features), np.empty((n_concepts, n_features))
    _draw_noise(precision, noise, b, shape, stream, sweep, turn)
    x = np.zeros((n_concepts + n_spare, n_features))
    x[:n_concepts] = X + np.linalg.cholesky(A) @ noise
    feature_sum = counts_as_numbers(sizes).T @ x[:n_concepts]
    feature_sum[~data.known] = 0.0
    weighed = x * precision
    with_x = x @ weighed.T, data.Y @ weighed.T, feature_sum @ weighed.T
    with_p = (data.Y * feature_sum) @ precision, (feature_sum * feature_sum) @ precision
    return RegressionDraw(x, precision, *with_x, *with_p, feature_sum, sizes.total.copy(), data.Y, data.known)


def grow_regression(regression: RegressionDraw, n: int) -> RegressionDraw:
    """Return a copy with room for n concepts."""
    more = n - len(regression.x)
    wider = {name: np.pad(getattr(regression, name), ((0, 0), (0, more))) for name in ("y_x", "p_x")}
    gram = np.pad(regression.gram, ((0, more), (0, more)))
    return regression._replace(x=np.pad(regression.x, ((0, more), (0, 0))), gram=gram, **wider)


@helper
def accept_on_features(regression, removed, j, added, t, mark, stream):
    """Accept or reject a change of counts on P(Y | X, σ², Φ); apply it if accepted."""
    if len(regression.precision) > 0:
        if not accepts(log_fit_change(regression, removed, j, added, t, mark), stream):
            return False
        change_counts(regression, removed, j, added, t)
    return True


@helper
def log_fit_change(regression, removed, j, added, t, mark):
    """Return the change of log P(Y | X, σ², Φ) for words `removed` and `added`."""
    change = 0.0
    for w in added:
        mark[w] = 1
    for w in removed:
        change += log_fit_word(regression, w, -1.0, j, float(mark[w]), t)
        mark[w] = 0
    for w in added:
        if mark[w] == 1:
            change += log_fit_word(regression, w, 0.0, j, 1.0, t)
            mark[w] = 0
    return change


@helper
def log_fit_word(regression, w, step_j, j, step_t, t):
    """Return the log density of y_w after steps of m_jw and m_tw."""
    if not regression.known[w]:
        return 0.0
    gram = regression.gram
    y_p = regression.y_p[w] + step_j * regression.y_x[w, j] + step_t * regression.y_x[w, t]
    p_p = regression.p_p[w] + 2.0 * (step_j * regression.p_x[w, j] + step_t * regression.p_x[w, t])
    p_p += step_j * step_j * gram[j, j] + step_t * step_t * gram[t, t] + 2.0 * step_j * step_t * gram[j, t]
    n = float(regression.total[w])
    return log_fit(n + step_j + step_t, y_p, p_p) - log_fit(n, regression.y_p[w], regression.p_p[w])


@helper
def log_fit(n, y_p, p_p):
    """Return −½ Σ_k [(y − p/n)² − y²]/σ_k², a word's log density less that at p = 0."""
    return (y_p - 0.5 * p_p / n) / n if n > 0.5 else 0.0


@helper
def change_counts(regression, removed, j, added, t):
    """Apply a change of counts."""
    for w in removed:
        step_count(regression, w, j, -1.0)
        _step_feature_sum(regression, w, j, -1.0)
    for w in added:
        step_count(regression, w, t, 1.0)
        _step_feature_sum(regression, w, t, 1.0)


@helper
def _step_feature_sum(regression, w, j, step):
    """Update p_w, which only births and deaths read."""
    if regression.known[w]:
        for k in range(len(regression.precision)):
            regression.feature_sum[w, k] += step * regression.x[j, k]
        if regression.total[w] == 0:
            for k in range(len(regression.precision)):
                regression.feature_sum[w, k] = 0.0


@helper
def step_count(regression, w, j, step):
    """Add `step` to m_jw, without updating p_w."""
    regression.total[w] += int(step)
    if not regression.known[w]:
        return
    if regression.total[w] == 0:
        regression.y_p[w], regression.p_p[w] = 0.0, 0.0
        for k in range(len(regression.gram)):
            regression.p_x[w, k] = 0.0
        return
    regression.y_p[w] += step * regression.y_x[w, j]
    regression.p_p[w] += 2.0 * step * regression.p_x[w, j] + step * step * regression.gram[j, j]
    for k in range(len(regression.gram)):
        regression.p_x[w, k] += step * regression.gram[j, k]


@helper
def log_fit_newborn(regression, K, words, j, counted):
    """Return log P(Y) with a new concept (x integrated out) less without, and B."""
    # B is its precision; `counted` is 1 if p_i and n_i include it already (a death), 0 if not (a birth)
    n_features = len(regression.precision)
    B = K
    for w in words:
        if regression.known[w]:
            b = 1.0 / (regression.total[w] - counted + 1.0)
            B += b * b
    log_ratio = -0.5 * n_features * math.log(B / K)
    for f in range(n_features):
        gained, pulled = 0.0, 0.0
        for w in words:
            if regression.known[w]:
                n = regression.total[w] - counted
                b = 1.0 / (n + 1.0)
                feature_sum = regression.feature_sum[w, f] - counted * regression.x[j, f] if n > 0 else 0.0
                e0 = regression.Y[w, f] - (feature_sum / n if n > 0 else 0.0)
                e = regression.Y[w, f] - b * feature_sum
                gained += e0 * e0 - e * e
                pulled += b * e
        log_ratio += 0.5 * regression.precision[f] * (gained + pulled * pulled / B)
    return log_ratio, B


@helper
def draw_newborn(regression, words, j, B, stream):
    """Draw x_new,k ~ N(Σ_i b_i e_ik / B, σ_k²/B) and update dependent quantities."""
    x, precision = regression.x, regression.precision
    for f in range(len(precision)):
        pulled = 0.0
        for w in words:
            if regression.known[w]:
                b = 1.0 / (regression.total[w] + 1.0)
                pulled += b * (regression.Y[w, f] - b * regression.feature_sum[w, f])
        x[j, f] = pulled / B + normal(stream) / math.sqrt(B * precision[f])
    for w in range(len(regression.known)):
        y_x, p_x = 0.0, 0.0
        if regression.known[w]:
            for f in range(len(precision)):
                y_x += precision[f] * regression.Y[w, f] * x[j, f]
                p_x += precision[f] * regression.feature_sum[w, f] * x[j, f]
        regression.y_x[w, j], regression.p_x[w, j] = y_x, p_x
    for t in range(len(x)):
        product = 0.0
        for f in range(len(precision)):
            product += precision[f] * x[t, f] * x[j, f]
        regression.gram[j, t], regression.gram[t, j] = product, product
    change_counts(regression, words[:0], j, words, j)
