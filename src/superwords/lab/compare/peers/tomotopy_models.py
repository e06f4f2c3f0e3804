"""HDP and LDA by tomotopy's collapsed Gibbs samplers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from superwords.corpus.corpus import Corpus
from superwords.lab import baselines
from superwords.lab.compare.completion import DRAWS, by_mixture
from superwords.lab.compare.peers.fitted import Fitted
from superwords.sampler.prediction import Halves

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
LDA_GRID = tuple({"k": k} for k in (5, 10, 20, 50, 100))
_HDP_TOPICS_AT_FIRST = 10
_HALF_A_TOKEN = 0.5
_INFERENCE = 100  # iterations


def hdp(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    model = baselines.tomotopy_module().HDPModel(initial_k=_HDP_TOPICS_AT_FIRST, seed=seed, **setting)
    return _fit(model, corpus, iterations)


def lda(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    return _fit(baselines.tomotopy_module().LDAModel(seed=seed, **setting), corpus, iterations)


def _fit(model: Any, corpus: Corpus, iterations: int) -> Fitted:
    """A topic's words are those of its mean over states of the second half of the iterations, as ours are."""
    between = _between(iterations)
    baselines.fit_topics(model, corpus.counts, corpus.vocabulary, max(1, iterations - (DRAWS - 1) * between))
    states = [_with_tokens(model, corpus.n_words)]
    for _ in range(DRAWS - 1):
        model.train(between, workers=1)
        states.append(_with_tokens(model, corpus.n_words))
    return Fitted(mean_of(states), lambda halves: _predict(model, halves, iterations))


def _between(iterations: int) -> int:
    """Iterations between two states that are averaged over: as far apart as our draws are.

    States close to each other would be much alike, and predict worse.
    """
    return max(1, iterations // (2 * DRAWS))


def _with_tokens(model: Any, n_words: int) -> dict[int, np.ndarray]:
    """Each live topic's words in the present state, by the topic's number."""
    live = baselines.live_topics(model)
    tokens = np.asarray(model.get_count_by_topics(), dtype=float)[live]
    weights = assigned(
        baselines.topic_words(model, n_words), tokens, float(model.eta), len(model.used_vocabs)
    )
    return dict(zip(live, weights))


def mean_of(states: Sequence[Mapping[int, np.ndarray]]) -> np.ndarray:
    """The topics of the last state, each as its mean over the states that have it."""
    return np.array([np.mean([one[t] for one in states if t in one], axis=0) for t in states[-1]])


def assigned(topic_word: np.ndarray, tokens: np.ndarray, eta: float, n_used: int) -> np.ndarray:
    """Probabilities with 0 where a word has no token in the topic.

    What is left to such words is the prior's, the same for each: ranked, they would fill a short topic up in
    the order of the alphabet.
    """
    count = topic_word * (tokens + n_used * eta)[:, None] - eta
    return np.where(count > _HALF_A_TOKEN, topic_word, 0.0)


def _predict(model: Any, halves: Halves, iterations: int) -> np.ndarray:
    """The mean over states of the sampler, which goes on for half as many iterations as the fit had."""
    total = np.zeros(len(halves.row))
    for draw in range(DRAWS):
        if draw:
            model.train(_between(iterations), workers=1)
        live, topic_word = baselines.live_topics(model), baselines.topic_words(model, halves.first.shape[1])
        documents = [model.make_doc(words) for words in named_tokens(halves.first)]
        model.infer(documents, _INFERENCE, workers=1)
        share = np.array([document.get_topic_dist() for document in documents], dtype=float)[:, live]
        total += by_mixture(share / share.sum(axis=1, keepdims=True), topic_word, halves)
    return total / DRAWS


def named_tokens(counts: sparse.csr_array) -> list[list[str]]:
    """The documents as lists of tokens; a word is called by its column's number, as in the baselines."""
    parts = zip(counts.indptr[:-1], counts.indptr[1:])
    return [np.repeat(counts.indices[a:b], counts.data[a:b]).astype(str).tolist() for a, b in parts]
