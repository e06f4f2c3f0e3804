"""P(Y | Φ): the semantic likelihood with X and σ² integrated out, and the algebra that makes it fast.

Words are exchangeable cases of a conjugate regression of y_i on φ_i = m_i / n_i (docs/algebra.md section 3). With word
i taken out, P(Y|Φ) is a constant times a product of F Student-t densities of y_i, altered by a change of m_ji in O(F).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from superwords.sampler.jit import lean
from superwords.sampler.model import Data, Prior
from superwords.sampler.state import Sizes

_BLOCK = 32  # factors multiplied before a logarithm is taken
# Places in Regression.number
QUADRATIC, TOTAL, LOG_CASE = range(3)


class Regression(NamedTuple):
    """Posterior of the regression of the known features on Φ, and the case (word) that is out of it."""

    A: np.ndarray  # (J, J) (ΦΦᵀ + K I)⁻¹
    X: np.ndarray  # (J, F) posterior mean of the concepts' features
    b: np.ndarray  # (F) β̂_k
    a: float  # shape of the Student-t: half its degrees of freedom, one word taken out
    m: np.ndarray  # (J) m_ji of the word that is out
    Am: np.ndarray  # (J)
    r: np.ndarray  # (F) Σ_j m_ji X_j
    half_inverse_b: np.ndarray  # (F) 1 / (2 b_k)
    number: np.ndarray  # [QUADRATIC mᵀAm, TOTAL n_i, LOG_CASE log Student-t]


def mixing_matrix(sizes: Sizes, known: np.ndarray) -> np.ndarray:
    """Φ over the words with known features, (J, V_known). Words on in no concept have a zero column."""
    m = sizes.m[:, known].astype(float)
    return m / np.maximum(sizes.total[known], 1)  # Φ_ji = m_ji / Σ_j' m_j'i


def posterior(sizes: Sizes, data: Data, prior: Prior) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """A, X̂ᵀ, β̂ and log|ΦΦᵀ + K I| of the regression of the known features on Φ."""
    phi = mixing_matrix(sizes, data.known)
    y = data.Y[data.known]
    gram = phi @ phi.T
    gram[np.diag_indices_from(gram)] += prior.K
    factor = linalg.cholesky(gram, lower=True, check_finite=False)
    A = linalg.lapack.dpotri(factor, lower=1)[0]
    A = np.tril(A) + np.tril(A, -1).T
    projected = phi @ y
    X = A @ projected
    b = 0.5 * ((y * y).sum(axis=0) - (projected * X).sum(axis=0)) + prior.beta_sigma
    return A, X, b, 2.0 * float(np.log(np.diag(factor)).sum())


def log_features(sizes: Sizes, data: Data, prior: Prior) -> float:
    """log P(Y | Φ), the paper's last formula (with K a scalar precision and V the words with known features)."""
    n_features = data.Y.shape[1]
    if n_features == 0:
        return 0.0
    n_known = int(data.known.sum())
    n_rows = len(sizes.holders)
    constant = n_features * (
        gammaln(prior.alpha_sigma + n_known / 2)
        - gammaln(prior.alpha_sigma)
        + prior.alpha_sigma * math.log(prior.beta_sigma)
        - n_known / 2 * math.log(2 * math.pi)
    )
    if n_rows == 0:
        b, log_det = 0.5 * (data.Y[data.known] ** 2).sum(axis=0) + prior.beta_sigma, 0.0
    else:
        _, _, b, log_det = posterior(sizes, data, prior)
    shape = prior.alpha_sigma + n_known / 2
    return float(
        constant + 0.5 * n_features * (n_rows * math.log(prior.K) - log_det) - shape * np.log(b).sum()
    )


def degrees_of_freedom(prior: Prior, n_known: int) -> float:
    """Of the Student-t of one word's features given all other words'."""
    return 2.0 * prior.alpha_sigma + n_known - 1


def start_regression(sizes: Sizes, data: Data, prior: Prior) -> Regression:
    """The regression with every word in."""
    n_rows, n_features = len(sizes.holders), data.Y.shape[1]
    if n_features and n_rows:
        A, X, b, _ = posterior(sizes, data, prior)
    else:
        A, X, b = np.zeros((n_rows, n_rows)), np.zeros((n_rows, n_features)), np.ones(n_features)
    return Regression(
        np.ascontiguousarray(A),
        np.ascontiguousarray(X),
        b,
        degrees_of_freedom(prior, int(data.known.sum())) / 2,
        np.zeros(n_rows),
        np.zeros(n_rows),
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(3),
    )


@lean
def take_out(regression, y, m_word):
    """Remove the word with features y and counts m_word (J) from the regression and hold it as the case at hand."""
    A, X, b, m, Am, r = regression.A, regression.X, regression.b, regression.m, regression.Am, regression.r
    n_rows, n_features = X.shape
    total = 0.0
    Am[:] = 0.0
    r[:] = 0.0
    for j in range(n_rows):
        m[j] = m_word[j]
        if m[j] > 0.0:
            total += m[j]
            for k in range(n_rows):
                Am[k] += m[j] * A[j, k]
            for k in range(n_features):
                r[k] += m[j] * X[j, k]
    h = 0.0
    if total > 0.0:
        for j in range(n_rows):
            if m[j] > 0.0:
                h += m[j] * Am[j]
        h /= total * total
        _rank_one(regression, y, total, -1.0, 1.0 - h)
        for j in range(n_rows):
            Am[j] /= 1.0 - h
        r[:] = 0.0
        for j in range(n_rows):
            if m[j] > 0.0:
                for k in range(n_features):
                    r[k] += m[j] * X[j, k]
    else:
        for k in range(n_features):
            b[k] -= 0.5 * y[k] * y[k]
    for k in range(n_features):
        regression.half_inverse_b[k] = 0.5 / b[k]
    regression.number[QUADRATIC] = h / (1.0 - h) * total * total
    regression.number[TOTAL] = total
    regression.number[LOG_CASE] = log_student(regression, y, 0, 0.0, 0, 0.0)


@lean
def put_back(regression, y):
    """Return the case at hand, with its counts as they are now, to the regression."""
    total = regression.number[TOTAL]
    if total > 0.0:
        _rank_one(regression, y, total, 1.0, 1.0 + regression.number[QUADRATIC] / (total * total))
    else:
        for k in range(len(y)):
            regression.b[k] += 0.5 * y[k] * y[k]


@lean
def _rank_one(regression, y, total, sign, scale):
    """A −= sign·g gᵀ/scale, X += sign·g eᵀ/scale, b += sign·e²/(2 scale), with g = Aφ and e = y − Xᵀφ."""
    A, X, b, Am, r = regression.A, regression.X, regression.b, regression.Am, regression.r
    n_rows, n_features = X.shape
    for j in range(n_rows):
        g = Am[j] / total
        if g == 0.0:
            continue
        step = sign * g / scale
        down = step / total
        for k in range(n_rows):
            A[j, k] -= down * Am[k]
        for k in range(n_features):
            X[j, k] += step * (y[k] - r[k] / total)
    for k in range(n_features):
        e = y[k] - r[k] / total
        b[k] += sign * 0.5 * e * e / scale


@lean
def log_student(regression, y, j, up, i, down):
    """log Π_k t_k of the case at hand, up to a constant, were m_j larger by `up` and m_i smaller by `down`."""
    A, X, r = regression.A, regression.X, regression.r
    q, total = regression.number[QUADRATIC], regression.number[TOTAL]
    n_features = len(y)
    q += 2.0 * (up * regression.Am[j] - down * regression.Am[i])
    q += up * up * A[j, j] + down * down * A[i, i] - 2.0 * up * down * A[j, i]
    total += up - down
    inverse = 1.0 / total if total > 0.5 else 0.0
    v = 1.0 + q * inverse * inverse if total > 0.5 else 1.0
    inverse_v = 1.0 / v
    sum_log = 0.0
    for start in range(0, n_features, _BLOCK):
        product = 1.0
        for k in range(start, min(start + _BLOCK, n_features)):
            e = y[k] - (r[k] + up * X[j, k] - down * X[i, k]) * inverse
            product *= 1.0 + e * e * regression.half_inverse_b[k] * inverse_v
        sum_log += math.log(product)
    return -0.5 * n_features * math.log(v) - (regression.a + 0.5) * sum_log


@lean
def change_case(regression, y, j, step):
    """m_ji += step for the case at hand."""
    A, X = regression.A, regression.X
    regression.number[QUADRATIC] += 2.0 * step * regression.Am[j] + step * step * A[j, j]
    regression.number[TOTAL] += step
    regression.m[j] += step
    for k in range(len(regression.m)):
        regression.Am[k] += step * A[j, k]
    for k in range(X.shape[1]):
        regression.r[k] += step * X[j, k]
    if regression.number[TOTAL] < 0.5:
        regression.number[:] = 0.0
        regression.Am[:] = 0.0
        regression.r[:] = 0.0
    regression.number[LOG_CASE] = log_student(regression, y, j, 0.0, j, 0.0)
