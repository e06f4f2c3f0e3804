"""Simulation of documents from the model, as `superwords.simulate`."""

from __future__ import annotations

from typing import Any

import numpy as np

from superwords.sampler.model import Prior
from superwords.sampler.simulate import Simulated
from superwords.sampler.simulate import simulate as draw


def simulate(
    n_documents: int = 100,
    n_words: int = 50,
    length: int = 50,
    n_features: int = 0,
    *,
    alpha_omega: float = 5.0,
    b1: float = 1.0,
    b2: float = 1.0,
    lam: float = 0.1,
    theta: Any = 1.0,
    alpha_pi: float = 1.0,
    K: float = 0.1,
    alpha_sigma: float = 2.0,
    beta_sigma: float = 1.0,
    seed: int = 0,
) -> Simulated:
    """Draw documents from the model.

    Parameters
    ----------
    n_documents, n_words, length, n_features : int
        Documents, words, tokens of each document, and features of each word.
    alpha_omega, b1, b2, lam, theta, alpha_pi, K, alpha_sigma, beta_sigma : float
        The hyperparameters; `lam` and `theta` may be one number per word.
    seed : int
        The same seed gives the same data.

    Returns
    -------
    Simulated
        `counts` (D, V), `features` (V, F), `null` (tokens without a word), and `state`, the truth: concepts, word
        sets and weights.

    Examples
    --------
    >>> import superwords
    >>> data = superwords.simulate(20, 10, length=30, seed=1)
    >>> data.counts.shape
    (20, 10)
    >>> data.weights().shape[0]
    20
    """
    of_word = np.broadcast_to(np.asarray(lam, float), n_words).copy()
    prior = Prior(alpha_omega, b1, b2, of_word, alpha_pi, K, alpha_sigma, beta_sigma, 1.0)
    importance = np.broadcast_to(np.asarray(theta, float), n_words).copy()
    return draw(prior, np.full(n_documents, length), n_features, importance, seed)
