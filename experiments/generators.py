"""Corpora generated with known concepts, for benchmarks and experiments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse


class Planted(NamedTuple):
    counts: sparse.csr_array  # (D, V)
    features: np.ndarray  # (V, F)
    truth: np.ndarray  # (J, V) whether a word belongs to a concept
    holds: np.ndarray  # (D, J) whether a document holds a concept


def plant_corpus(
    n_documents: int,
    n_words: int,
    n_concepts: int,
    per_document: float,
    length: int,
    n_features: int,
    seed: int = 0,
    noise: float = 0.5,
) -> Planted:
    """Plant documents that each hold some of `n_concepts` concepts, and use most of their words.

    Every word belongs to one concept or two; features are the mean of its concepts' centres plus noise.
    """
    rng = np.random.default_rng([seed, 17])
    truth = np.zeros((n_concepts, n_words), bool)
    truth[rng.permutation(np.arange(n_words) % n_concepts), np.arange(n_words)] = True
    second = rng.random(n_words) < 0.3
    truth[rng.integers(n_concepts, size=n_words), np.arange(n_words)] |= second
    popularity = rng.gamma(2.0, size=n_concepts)
    rows, columns, values = [], [], []
    holds = np.zeros((n_documents, n_concepts), bool)
    for d in range(n_documents):
        n = int(np.clip(rng.poisson(per_document), 1, n_concepts))
        held = rng.choice(n_concepts, size=n, replace=False, p=popularity / popularity.sum())
        holds[d, held] = True
        tokens = rng.multinomial(length, rng.dirichlet(np.ones(n)))
        for j, n_tokens in zip(held, tokens):
            words = np.flatnonzero(truth[j])
            used = words[rng.random(len(words)) < 0.8]
            picked = rng.choice(used if len(used) else words, size=n_tokens)
            rows += [d] * n_tokens
            columns += picked.tolist()
            values += [1] * n_tokens
    counts = sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=(n_documents, n_words)))
    centres = rng.normal(size=(n_concepts, n_features))
    share = truth / truth.sum(axis=0)
    features = share.T @ centres + noise * rng.normal(size=(n_words, n_features))
    return Planted(counts, features, truth, holds)
