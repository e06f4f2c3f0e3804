"""HDP and LDA by tomotopy's collapsed Gibbs samplers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from superwords import baselines
from superwords.compare.completion import DRAWS, Halves, by_mixture
from superwords.compare.peers.fitted import Fitted
from superwords.corpus import Corpus

# HDP's first are tomotopy's defaults; LDA's α and η stay there.
HDP_GRID = tuple(
    {"alpha": alpha, "eta": eta, "gamma": gamma}
    for alpha, eta, gamma in (
        (0.1, 0.01, 0.1),
        (0.1, 0.1, 0.1),
        (1.0, 0.01, 1.0),
        (1.0, 0.1, 1.0),
        (1.0, 0.3, 1.0),
    )
)
LDA_GRID = tuple({"k": k} for k in (10, 20, 50, 100))
_HDP_TOPICS_AT_FIRST = 10
_HALF_A_TOKEN = 0.5
_INFERENCE = 100  # iterations


def hdp(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    model = baselines.tomotopy_module().HDPModel(initial_k=_HDP_TOPICS_AT_FIRST, seed=seed, **setting)
    return _fit(model, corpus, iterations)


def lda(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    return _fit(baselines.tomotopy_module().LDAModel(seed=seed, **setting), corpus, iterations)


def _fit(model: Any, corpus: Corpus, iterations: int) -> Fitted:
    topics = baselines.fit_topics(model, corpus.counts, corpus.vocabulary, iterations)
    tokens = np.asarray(model.get_count_by_topics(), dtype=float)[_live(model)]
    weights = assigned(topics.topic_word, tokens, float(model.eta), len(model.used_vocabs))
    return Fitted(weights, lambda halves: _predict(model, halves, iterations))


def _live(model: Any) -> list[int]:
    return [t for t in range(model.k) if getattr(model, "is_live_topic", lambda _: True)(t)]


def assigned(topic_word: np.ndarray, tokens: np.ndarray, eta: float, n_used: int) -> np.ndarray:
    """Probabilities with 0 where a word has no token in the topic.

    What is left to such words is the prior's, the same for each: ranked, they would fill a short topic up in
    the order of the alphabet.
    """
    count = topic_word * (tokens + n_used * eta)[:, None] - eta
    return np.where(count > _HALF_A_TOKEN, topic_word, 0.0)


def _predict(model: Any, halves: Halves, iterations: int) -> np.ndarray:
    """The mean over states of the sampler, which goes on for half as many iterations as the fit had.

    Our draws are as far apart: those of states close to each other would be much alike, and predict worse.
    """
    between = max(1, iterations // (2 * DRAWS))
    total = np.zeros(len(halves.row))
    for draw in range(DRAWS):
        if draw:
            model.train(between, workers=1)
        live = _live(model)
        topic_word = np.zeros((len(live), halves.first.shape[1]))
        columns = [int(name) for name in model.used_vocabs]
        for row, topic in enumerate(live):
            topic_word[row, columns] = model.get_topic_word_dist(topic)
        documents = [model.make_doc(words) for words in named_tokens(halves.first)]
        model.infer(documents, _INFERENCE, workers=1)
        share = np.array([document.get_topic_dist() for document in documents], dtype=float)[:, live]
        total += by_mixture(share / share.sum(axis=1, keepdims=True), topic_word, halves)
    return total / DRAWS


def named_tokens(counts: sparse.csr_array) -> list[list[str]]:
    """The documents as lists of tokens; a word is called by its column's number, as in the baselines."""
    parts = zip(counts.indptr[:-1], counts.indptr[1:])
    return [np.repeat(counts.indices[a:b], counts.data[a:b]).astype(str).tolist() for a, b in parts]
