"""HDP, STM and CorEx by topica."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from superwords.corpus.corpus import Corpus
from superwords.lab.compare.completion import by_mixture
from superwords.lab.compare.peers.fitted import Fitted
from superwords.lab.compare.peers.tomotopy_models import named_tokens
from superwords.sampler.prediction import Halves

# The first are topica's defaults. It samples α and γ from there, so that they matter less than the words' β.
HDP_GRID = tuple(
    {"alpha": alpha, "beta": beta, "gamma": gamma}
    for alpha, beta, gamma in ((0.1, 0.01, 0.1), (0.1, 0.1, 0.1), (1.0, 0.1, 1.0))
)
STM_GRID = tuple({"k": k} for k in (5, 10, 20, 50))  # with 100 it takes minutes on a few hundred documents
COREX_GRID = tuple({"k": k} for k in (5, 10, 20, 50, 100))
_HALF_A_TOKEN = 0.5


def hdp(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    data = _documents(corpus)
    model = _topica().HDP(seed=seed, **setting).fit(data, iters=iterations, keep_theta_draws=False)
    return Fitted(_with_tokens(model, data), lambda halves: _predict(model, halves, seed=seed))


def stm(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """Without covariates, until its bound stands still (at most `iterations`).

    Its start is the spectral one, its default, which no seed changes.
    """
    data = _documents(corpus)
    none = np.zeros((data.num_docs, 0))
    model = _topica().STM(setting["k"], seed=seed)
    model.fit(data, prevalence=none, iters=iterations, num_threads=1, keep_eta_cov=False)
    return Fitted(_with_tokens(model, data), lambda halves: _predict(model, halves))


def corex(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """On whether a word occurs; no more topics than words. Only words whose presence speaks for the topic are its."""
    data = _documents(corpus)
    model = _topica().CorEx(min(setting["k"], corpus.n_words), seed=seed)
    model.fit(data, iters=iterations, num_threads=1)
    occurs = sparse.csr_array(corpus.counts[data.kept_indices] > 0, dtype=float)
    holds = model.doc_topic - model.doc_topic.mean(axis=0)
    return Fitted(np.where((occurs.T @ holds).T > 0, model.topic_word, 0.0), None)


def _topica() -> Any:
    return import_module("topica")


def _documents(corpus: Corpus) -> Any:
    vocabulary = [str(i) for i in range(corpus.n_words)]
    return _topica().Corpus.from_documents(named_tokens(corpus.counts), vocabulary=vocabulary)


def _with_tokens(model: Any, data: Any) -> np.ndarray:
    """Probabilities with 0 where a topic has not half a token of the word, as for tomotopy's topics."""
    tokens = np.asarray(model.doc_topic).T @ np.asarray(data.doc_lengths, dtype=float)
    topic_word = np.asarray(model.topic_word)
    return np.where(topic_word * tokens[:, None] > _HALF_A_TOKEN, topic_word, 0.0)


def _predict(model: Any, halves: Halves, **options: Any) -> np.ndarray:
    doc_topic = np.asarray(model.transform(named_tokens(halves.first), **options))
    return by_mixture(doc_topic, np.asarray(model.topic_word), halves)
