"""Forward simulation from the prior: the paper's generative model (figure 2); `superwords.simulate`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.feature_likelihood import mixing_matrix
from superwords.sampler.jit import kernel
from superwords.sampler.model import Prior
from superwords.sampler.random import DATA, STRUCTURE, gamma, new_stream, open_stream, poisson, uniform
from superwords.sampler.state import State, sizes_of


class Simulated(NamedTuple):
    """Simulated documents and the truth behind them."""

    counts: sparse.csr_array  # (D, V)
    null: np.ndarray  # (D) tokens drawn from an empty concept, or in a document with none
    features: np.ndarray  # (V, F)
    state: State  # the truth

    def weights(self) -> np.ndarray:
        """Return (D, J) π_j^(d) / S_d, 0 where a document does not hold a concept."""
        state = self.state
        document = np.repeat(np.arange(len(state.doc_ptr) - 1), np.diff(state.doc_ptr))
        out = np.zeros((len(state.doc_ptr) - 1, int(state.concept.max(initial=-1)) + 1))
        out[document, state.concept] = state.weight
        return out / np.maximum(out.sum(axis=1, keepdims=True), 1e-300)


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
    return draw_documents(prior, np.full(n_documents, length), n_features, importance, seed)


def draw_documents(
    prior: Prior, lengths: np.ndarray, n_features: int, theta: np.ndarray, seed: int = 0, chain: int = 0
) -> Simulated:
    """Draw documents of these lengths, their concepts, and the words' features."""
    stream = new_stream(seed, chain)
    state = draw_structure(prior, lengths, theta, stream, 0)
    counts, null = draw_text(state, lengths, stream, 0)
    features = draw_features(state, prior, n_features, np.random.default_rng([seed, chain]))
    return Simulated(sparse.csr_array(counts), null, features, state)


@kernel
def draw_structure(prior, lengths, theta, stream, sweep):
    """Draw c, f and π by the two nested buffet processes, document by document."""
    n_documents, n_words = len(lengths), len(prior.lam)
    open_stream(stream, STRUCTURE, sweep, 0)
    m = np.zeros((16, n_words))
    holders = np.zeros(16)
    n_concepts = 0
    doc_ptr = np.zeros(n_documents + 1, np.int64)
    concept = [np.int32(0) for _ in range(0)]
    weight = [0.0 for _ in range(0)]
    pair_ptr = [0]
    word = [np.int32(0) for _ in range(0)]
    for d in range(n_documents):
        born = poisson(stream, prior.alpha_omega * prior.b1 / (prior.b1 + d))
        while n_concepts + born > len(holders):
            m = np.concatenate((m, np.zeros_like(m)))
            holders = np.concatenate((holders, np.zeros_like(holders)))
        for j in range(n_concepts + born):
            if j < n_concepts and uniform(stream) * (prior.b1 + d) >= holders[j]:
                continue
            for i in range(n_words):
                if uniform(stream) * (holders[j] + prior.b2) < m[j, i] + prior.b2 * prior.lam[i]:
                    m[j, i] += 1.0
                    word.append(np.int32(i))
            holders[j] += 1.0
            concept.append(np.int32(j))
            weight.append(gamma(stream, prior.alpha_pi))
            pair_ptr.append(len(word))
        n_concepts += born
        doc_ptr[d + 1] = len(concept)
    return State(doc_ptr, np.array(concept), np.array(weight), np.array(pair_ptr), np.array(word), theta)


@kernel
def draw_text(state, lengths, stream, sweep):
    """Draw w given c, f and π, as dense counts (D, V) and null tokens (D)."""
    n_documents = len(lengths)
    counts = np.zeros((n_documents, len(state.theta)), np.int32)
    null = np.zeros(n_documents, np.int64)
    for d in range(n_documents):
        open_stream(stream, DATA, sweep, d)
        first, last = state.doc_ptr[d], state.doc_ptr[d + 1]
        total = state.weight[first:last].sum()
        for _ in range(lengths[d]):
            if first == last:
                null[d] += 1
                continue
            u, p = uniform(stream) * total, first
            while u > state.weight[p] and p < last - 1:
                u -= state.weight[p]
                p += 1
            e, end = state.pair_ptr[p], state.pair_ptr[p + 1]
            if e == end:
                null[d] += 1
                continue
            u = uniform(stream) * state.theta[state.word[e:end]].sum()
            while u > state.theta[state.word[e]] and e < end - 1:
                u -= state.theta[state.word[e]]
                e += 1
            counts[d, state.word[e]] += 1
    return counts, null


def draw_features(state: State, prior: Prior, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Draw Y given c and f.

    σ_k² ~ InvGamma(α_σ, β_σ), X_kj ~ N(0, σ_k²/K), Y_k ~ N(X_k Φ, σ_k² I).
    """
    sizes = sizes_of(state)
    phi = mixing_matrix(sizes, np.ones(len(state.theta), bool))
    sigma = np.sqrt(prior.beta_sigma / rng.gamma(prior.alpha_sigma, size=n_features))
    x = rng.normal(size=(len(sizes.holders), n_features)) * sigma / np.sqrt(prior.K)
    return phi.T @ x + rng.normal(size=(len(state.theta), n_features)) * sigma
