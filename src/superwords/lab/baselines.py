"""Topic models to compare concepts with, through tomotopy: HDP and LDA by collapsed Gibbs sampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.corpus.checks import check_counts
from superwords.errors import InputError

ITERATIONS = 1000


class Topics(NamedTuple):
    """What a topic model found in the counts; rows of both matrices sum to 1, but for empty documents."""

    topic_word: np.ndarray  # (T, V)
    doc_topic: np.ndarray  # (D, T)
    log_likelihood: float  # per token


def hdp(counts: Any, vocabulary: Sequence[str], iterations: int = ITERATIONS, seed: int = 0) -> Topics:
    """A hierarchical Dirichlet process: as many topics as the data ask for."""
    return fit_topics(tomotopy_module().HDPModel(initial_k=10, seed=seed), counts, vocabulary, iterations)


def lda(
    counts: Any, vocabulary: Sequence[str], k: int, iterations: int = ITERATIONS, seed: int = 0
) -> Topics:
    """Latent Dirichlet allocation with k topics."""
    if k < 1:
        raise InputError(f"LDA cannot have {k} topics; give at least 1.")
    return fit_topics(tomotopy_module().LDAModel(k=k, seed=seed), counts, vocabulary, iterations)


def tomotopy_module() -> Any:
    try:
        import tomotopy
    except ImportError:
        raise InputError(
            "The baselines need tomotopy, which is not installed; run: pip install 'superwords[compare]'."
        ) from None
    return tomotopy


def fit_topics(model: Any, counts: Any, vocabulary: Sequence[str], iterations: int) -> Topics:
    matrix = check_counts(counts)
    if matrix.shape[1] != len(vocabulary):
        raise InputError(
            f"The counts have {matrix.shape[1]} columns for {len(vocabulary)} words; give one per word."
        )
    if iterations < 1:
        raise InputError(f"{iterations} iterations find no topics; give at least 1.")
    filled = add_documents(model, matrix)
    if not filled:
        raise InputError("No document has a word, so there are no topics to find.")
    # One worker: with more, the same seed would not give the same topics.
    model.train(iterations, workers=1)
    live = live_topics(model)
    doc_topic = np.zeros((matrix.shape[0], len(live)))
    for document, d in zip(model.docs, filled):
        share = np.asarray(document.get_topic_dist())[live]
        doc_topic[d] = share / share.sum()
    return Topics(topic_words(model, len(vocabulary)), doc_topic, float(model.ll_per_word))


def live_topics(model: Any) -> list[int]:
    """The numbers of the topics in use: HDP's come and go."""
    return [t for t in range(model.k) if getattr(model, "is_live_topic", lambda _: True)(t)]


def topic_words(model: Any, n_words: int) -> np.ndarray:
    """(T, V) The words' probabilities in each live topic."""
    live = live_topics(model)
    columns = [int(name) for name in model.used_vocabs]
    topic_word = np.zeros((len(live), n_words))
    for row, topic in enumerate(live):
        topic_word[row, columns] = model.get_topic_word_dist(topic)
    return topic_word


def add_documents(model: Any, matrix: sparse.csr_array) -> list[int]:
    """Adds the documents that have words, and gives their rows. A word is called by its column's number."""
    filled = []
    for d in range(matrix.shape[0]):
        part = slice(matrix.indptr[d], matrix.indptr[d + 1])
        tokens = np.repeat(matrix.indices[part], matrix.data[part])
        if len(tokens):
            model.add_doc(tokens.astype(str).tolist())
            filled.append(d)
    return filled
