"""Input of the sampler: hyperparameters, data, and the moves of a sweep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

_ABSENT = 0.5  # factor on the probability of a near word that the document does not use


class Prior(NamedTuple):
    """The hyperparameters, in the paper's symbols; `lam` has one entry per word."""

    alpha_omega: float
    b1: float
    b2: float
    lam: np.ndarray
    alpha_pi: float
    K: float
    alpha_sigma: float
    beta_sigma: float
    alpha_theta: float


class Data(NamedTuple):
    """Counts by document, and the features Y of the words that have them."""

    doc_ptr: np.ndarray  # (D+1) into word, count
    word: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # shadows tuple.count, which is not used
    length: np.ndarray  # (D) tokens of a document
    Y: np.ndarray  # (V, F), zero rows where unknown
    known: np.ndarray  # (V)


class Affinity(NamedTuple):
    """Words that a data-driven birth proposes together with each seed word."""

    near: np.ndarray  # (V, M), the seed itself first
    rho_present: np.ndarray  # (V, M) probability of a near word that occurs in the document
    rho_absent: np.ndarray  # (V, M) that of one that does not


def with_absent(near: np.ndarray, rho: np.ndarray) -> Affinity:
    """Return the affinity for near words and their probabilities if present."""
    absent = rho * _ABSENT
    absent[:, 0] = rho[:, 0]
    return Affinity(near, rho, absent)


class Steps(NamedTuple):
    """Moves of a sweep and how often each is tried."""

    flips: bool = True
    attempts: float = 2.0  # shared concepts per document that it tries to join or leave, regardless of words
    overlap: float = 3.0  # additional tries, per share of its tokens expected in a concept
    swaps: int = 1  # replacements of a concept by another tried per document
    divisions: int = 4  # divisions of a concept in two, or unions of two, tried per document
    births: float = 0.25  # births or deaths tried per document
    data_driven: bool = True
    weights: bool = True
    word_moves: float = 0.75  # share of the uses of a word in which its tokens may change concept
    split_merges: int = 2  # splits and merges of concepts over all documents, tried per sweep
    words: float = 0.5  # share of the words whose f is updated in a sweep
    sample_theta: bool = False
    sample_alpha_omega: bool = False
    sample_b1: bool = False
    sample_b2: bool = False


PRIOR_PROPOSALS = Steps(swaps=0, divisions=0, births=1.0, data_driven=False, word_moves=0.0, split_merges=0)


class Model(NamedTuple):
    """The target distribution of a chain and the moves it uses.

    `fixed` conditions the first concepts, which keep their numbers 0, 1, …: 1 where a word is on in every document that
    holds the concept, −1 where it is off in all of them, 0 where it is sampled.
    """

    prior: Prior
    data: Data
    affinity: Affinity
    steps: Steps
    fixed: np.ndarray = np.zeros((0, 0), np.int8)  # (K, V)


def make_data(counts: sparse.csr_array, features: np.ndarray | None) -> Data:
    """Return counts (D, V) and features (V, F; NaN if unknown) as `Data`."""
    n_words = counts.shape[1]
    counts = sparse.csr_array(counts)
    counts.sort_indices()
    if features is None:
        features = np.zeros((n_words, 0))
    known = np.asarray(~np.isnan(features).any(axis=1))
    return Data(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        counts.data.astype(np.int32),
        np.asarray(counts.sum(axis=1)).ravel().astype(np.int64),
        np.ascontiguousarray(np.where(known[:, None], features, 0.0), dtype=float),
        known,
    )
