"""HDP and LDA by tomotopy's collapsed Gibbs samplers: their topics, and adapters for `compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.compare.completion import DRAWS, Fitted, by_mixture
from superwords.errors import InputError
from superwords.sampler.fold_in import Halves
from superwords.text.checks import check_counts
from superwords.text.corpus import Corpus

ITERATIONS = 1000
# HDP's first are tomotopy's defaults; LDA's α and η stay there.
HDP_GRID = tuple(
    {"alpha": alpha, "eta": eta, "gamma": alpha}
    for alpha, eta in ((0.1, 0.01), (0.1, 0.1), (1.0, 0.01), (1.0, 0.1), (1.0, 0.3))
)
LDA_GRID = tuple({"k": k} for k in (5, 10, 20, 50, 100))
_HDP_TOPICS_AT_FIRST = 10
_HALF_A_TOKEN = 0.5
_INFERENCE = 100  # iterations


class Topics(NamedTuple):
    """What a topic model found in the counts; rows of both matrices sum to 1, but for empty documents."""

    topic_word: np.ndarray  # (T, V)
    doc_topic: np.ndarray  # (D, T)
    log_likelihood: float  # per token


def hdp(counts: Any, vocabulary: Sequence[str], iterations: int = ITERATIONS, seed: int = 0) -> Topics:
    """Fit a hierarchical Dirichlet process, which chooses the number of topics."""
    model = tomotopy_module().HDPModel(initial_k=_HDP_TOPICS_AT_FIRST, seed=seed)
    return _fit_topics(model, counts, len(vocabulary), iterations)


def lda(counts: Any, vocabulary: Sequence[str], k: int, iterations: int = ITERATIONS, seed: int = 0) -> Topics:
    """Fit latent Dirichlet allocation with k topics."""
    if k < 1:
        raise InputError(f"LDA cannot have {k} topics; give at least 1.")
    return _fit_topics(tomotopy_module().LDAModel(k=k, seed=seed), counts, len(vocabulary), iterations)


def tomotopy_module() -> Any:
    """Import tomotopy, or raise InputError."""
    try:
        import tomotopy
    except ImportError:
        raise InputError(
            "The baselines need tomotopy, which is not installed; run: pip install 'superwords[compare]'."
        ) from None
    return tomotopy


def _fit_topics(model: Any, counts: Any, n_words: int, iterations: int) -> Topics:
    matrix = check_counts(counts)
    if matrix.shape[1] != n_words:
        raise InputError(f"The counts have {matrix.shape[1]} columns for {n_words} words; give one per word.")
    if iterations < 1:
        raise InputError(f"{iterations} iterations find no topics; give at least 1.")
    filled = add_documents(model, matrix)
    if not filled:
        raise InputError("No document has a word, so there are no topics to find.")
    # One worker: with more, the same seed would not give the same topics.
    model.train(iterations, workers=1)
    live = _live(model)
    doc_topic = np.zeros((matrix.shape[0], len(live)))
    doc_topic[filled] = _shares(model.docs, live)
    return Topics(_topic_words(model, n_words), doc_topic, float(model.ll_per_word))


def add_documents(model: Any, matrix: sparse.csr_array) -> list[int]:
    """Add the documents that have words and return their rows; a word is named by its column."""
    filled = []
    for d, tokens in enumerate(named_tokens(matrix)):
        if tokens:
            model.add_doc(tokens)
            filled.append(d)
    return filled


def named_tokens(counts: sparse.csr_array) -> list[list[str]]:
    """Return the documents as lists of tokens; a word is called by its column's number."""
    parts = zip(counts.indptr[:-1], counts.indptr[1:])
    return [np.repeat(counts.indices[a:b], counts.data[a:b]).astype(str).tolist() for a, b in parts]


def _live(model: Any) -> list[int]:
    """Return the numbers of the topics in use; those of HDP come and go."""
    return [t for t in range(model.k) if getattr(model, "is_live_topic", lambda _: True)(t)]


def _shares(documents: Any, live: Sequence[int]) -> np.ndarray:
    share = np.array([document.get_topic_dist() for document in documents], dtype=float)[:, live]
    return share / share.sum(axis=1, keepdims=True)


def _topic_words(model: Any, n_words: int) -> np.ndarray:
    """Return the (T, V) probabilities of the words in each live topic."""
    live, columns = _live(model), [int(name) for name in model.used_vocabs]
    topic_word = np.zeros((len(live), n_words))
    for row, topic in enumerate(live):
        topic_word[row, columns] = model.get_topic_word_dist(topic)
    return topic_word


def hdp_peer(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """Fit HDP for a comparison."""
    model = tomotopy_module().HDPModel(initial_k=_HDP_TOPICS_AT_FIRST, seed=seed, **setting)
    return _fit(model, corpus, iterations)


def lda_peer(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """Fit LDA for a comparison."""
    return _fit(tomotopy_module().LDAModel(seed=seed, **setting), corpus, iterations)


def _fit(model: Any, corpus: Corpus, iterations: int) -> Fitted:
    """Fit a model; a topic's words are its mean over states of the second half, as ours are."""
    # States that are averaged over are as far apart as our draws: closer ones would be alike, and predict worse.
    between = max(1, iterations // (2 * DRAWS))
    _fit_topics(model, corpus.counts, corpus.n_words, max(1, iterations - (DRAWS - 1) * between))
    states = [_with_tokens(model, corpus.n_words)]
    for _ in range(DRAWS - 1):
        model.train(between, workers=1)
        states.append(_with_tokens(model, corpus.n_words))
    rows = np.zeros((corpus.n_documents, len(_live(model))))
    rows[np.flatnonzero(np.diff(corpus.counts.indptr))] = _shares(model.docs, _live(model))
    return Fitted(mean_of(states), lambda halves: _predict(model, halves, between), rows)


def _with_tokens(model: Any, n_words: int) -> dict[int, np.ndarray]:
    """Return each live topic's words in the present state, by the topic's number."""
    live = _live(model)
    tokens = np.asarray(model.get_count_by_topics(), dtype=float)[live]
    weights = assigned(_topic_words(model, n_words), tokens, float(model.eta), len(model.used_vocabs))
    return dict(zip(live, weights))


def mean_of(states: Sequence[Mapping[int, np.ndarray]]) -> np.ndarray:
    """Return the topics of the last state, each as its mean over the states that have it."""
    return np.array([np.mean([one[t] for one in states if t in one], axis=0) for t in states[-1]])


def assigned(topic_word: np.ndarray, tokens: np.ndarray, eta: float, n_used: int) -> np.ndarray:
    """Set the probability to 0 where a word has no token in the topic.

    What is left to such words is the prior's, the same for each: ranked, they would fill a short topic up in
    the order of the alphabet.
    """
    count = topic_word * (tokens + n_used * eta)[:, None] - eta
    return np.where(count > _HALF_A_TOKEN, topic_word, 0.0)


def _predict(model: Any, halves: Halves, between: int) -> np.ndarray:
    """Average predictions over states of the sampler, which continues."""
    total = np.zeros(len(halves.row))
    for draw in range(DRAWS):
        if draw:
            model.train(between, workers=1)
        documents = [model.make_doc(words) for words in named_tokens(halves.first)]
        model.infer(documents, _INFERENCE, workers=1)
        share, topic_word = _shares(documents, _live(model)), _topic_words(model, halves.first.shape[1])
        total += by_mixture(share, topic_word, halves)
    return total / DRAWS
