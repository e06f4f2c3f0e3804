"""P(Y | Φ): the semantic likelihood with X and σ² integrated out.

Words are exchangeable cases of a conjugate regression of y_i on φ_i = m_i / n_i (docs/algebra.md section 3). The moves
draw X and σ² from their posterior (feature_draw.py), so that a change of m_ji costs a few operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.special import gammaln

from superwords.sampler.model import Data, Prior
from superwords.sampler.state import Sizes

_LARGE, _FEW = 500_000, 0.05  # use sparse algebra from this many counts, with at most this share nonzero


def mixing_matrix(sizes: Sizes, known: np.ndarray) -> Any:
    """Return Φ (J, V_known) over the words with known features."""
    m = counts_as_numbers(sizes)[:, known]
    return m / np.maximum(sizes.total[known], 1)  # Φ_ji = m_ji / Σ_j' m_j'i


def counts_as_numbers(sizes: Sizes) -> Any:
    """Return m_ji (J, V) for linear algebra; sparse where nearly all of many are 0."""
    if sizes.m.size >= _LARGE and np.count_nonzero(sizes.m) <= _FEW * sizes.m.size:
        return sparse.csr_array(sizes.m).astype(float)
    return sizes.m.astype(float)


def posterior(sizes: Sizes, data: Data, prior: Prior) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return A, X̂ᵀ, β̂ and log|ΦΦᵀ + K I| of the regression of known features on Φ."""
    y = data.Y[data.known]
    if len(sizes.holders) == 0:
        return np.zeros((0, 0)), np.zeros((0, y.shape[1])), 0.5 * (y * y).sum(axis=0) + prior.beta_sigma, 0.0
    phi = mixing_matrix(sizes, data.known)
    gram = (phi @ phi.T).toarray() if sparse.issparse(phi) else phi @ phi.T
    gram.flat[:: len(gram) + 1] += prior.K
    factor = linalg.cholesky(gram, lower=True, check_finite=False)
    A = linalg.lapack.dpotri(factor, lower=1)[0]  # zero above the diagonal
    A = A + np.tril(A, -1).T
    projected = phi @ y
    X = A @ projected
    b = 0.5 * ((y * y).sum(axis=0) - (projected * X).sum(axis=0)) + prior.beta_sigma
    return A, X, b, 2.0 * float(np.log(factor.diagonal()).sum())


def log_features(sizes: Sizes, data: Data, prior: Prior) -> float:
    """Return log P(Y | Φ), the paper's last formula, over the words with features."""
    n_features = data.Y.shape[1]
    if n_features == 0:
        return 0.0
    n_known = int(data.known.sum())
    constant = n_features * (
        gammaln(prior.alpha_sigma + n_known / 2)
        - gammaln(prior.alpha_sigma)
        + prior.alpha_sigma * math.log(prior.beta_sigma)
        - n_known / 2 * math.log(2 * math.pi)
    )
    _, _, b, log_det = posterior(sizes, data, prior)
    shape = prior.alpha_sigma + n_known / 2
    return float(
        # Eq. (Ymarglike) for a diagonal Σ, the last formula of the appendix: K is a scalar precision
        constant + 0.5 * n_features * (len(sizes.holders) * math.log(prior.K) - log_det) - shape * np.log(b).sum()
    )
