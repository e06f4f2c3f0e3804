"""Chains and counts that several tests of the sampler share."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import sparse

from superwords.progress import Watcher
from superwords.sampler.chain import Chain
from superwords.sampler.model import Affinity, Model, Prior, Steps, make_data
from superwords.sampler.simulate import Simulated, draw_documents
from superwords.sampler.state import State, new_state

N_WORDS, N_BLOCKS = 20, 4


def blocks(seed: int = 3, n_rows: int = 80, n_tokens: int = 12) -> sparse.csr_array:
    """Each row draws all its tokens from one of four sets of five words; the last row has none."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((n_rows + 1, N_WORDS), int)
    for d in range(n_rows):
        np.add.at(counts[d], (d % N_BLOCKS) * 5 + rng.integers(5, size=n_tokens), 1)
    return sparse.csr_array(counts)


def prior_of(n_words: int = N_WORDS) -> Prior:
    return Prior(1.0, 3.0, 5.0, np.full(n_words, 0.2), 1.0, 0.5, 2.0, 1.0, 1.0)


def many_concepts(n_concepts: int = 24, n_rows: int = 480) -> sparse.csr_array:
    """Rows of two among many sets of six words each: far more than √N / 10."""
    rng = np.random.default_rng(7)
    counts = np.zeros((n_rows, 6 * n_concepts), int)
    for d in range(n_rows):
        for j in rng.choice(n_concepts, 2, replace=False):
            np.add.at(counts[d], 6 * j + rng.integers(6, size=8), 1)
    return sparse.csr_array(counts)


def simulate_words(prior, lengths, n_features=0, theta=None, seed=0) -> Simulated:
    """Simulate given that no token is drawn from an empty concept, as in a corpus; by rejection."""
    for chain in itertools.count():
        made = draw_documents(prior, lengths, n_features, theta, seed, chain)
        if not made.null.any():
            return made
    raise AssertionError


def some_chain(**steps):
    prior = Prior(3.0, 20.0, 5.0, np.full(30, 0.2), 1.0, 0.7, 3.0, 2.0, 1.0)
    made = simulate_words(prior, np.full(60, 12), 3, np.ones(30), seed=4)
    near, rho = np.arange(30, dtype=np.int32)[:, None], np.full((30, 1), 0.5)
    data = make_data(made.counts, made.features)
    return Chain(Model(prior, data, Affinity(near, rho, rho), Steps(**steps)), made.state, seed=1)


def assert_same_chain(one, other):
    for a, b in zip((*one.state, *one.tokens), (*other.state, *other.tokens)):
        np.testing.assert_array_equal(a, b)


def tiny_state(n_documents, n_pairs, n_entries, theta):
    return new_state(n_documents, 1, 1, theta)


def same(one: State, other: State) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other))


class Saying(Watcher):
    def __init__(self, lines):
        self.say = lines.append
