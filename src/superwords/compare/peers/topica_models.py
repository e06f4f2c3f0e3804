"""HDP, STM and CorEx by topica."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from superwords.compare.baselines import named_tokens
from superwords.compare.completion import Fitted, by_mixture
from superwords.sampler.fold_in import Halves
from superwords.text.corpus import Corpus

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
    return Fitted(
        _with_tokens(model, data), lambda halves: _predict(model, halves, seed=seed), _rows(model, data, corpus)
    )


def stm(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """Fit STM without covariates, until its bound converges (at most `iterations`).

    Its start is the spectral one, its default, which no seed changes.
    """
    data = _documents(corpus)
    none = np.zeros((data.num_docs, 0))
    model = _topica().STM(setting["k"], seed=seed)
    model.fit(data, prevalence=none, iters=iterations, num_threads=1, keep_eta_cov=False)
    return Fitted(_with_tokens(model, data), lambda halves: _predict(model, halves), _rows(model, data, corpus))


def corex(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """Fit CorEx to the presence of words, with no more topics than words."""
    data = _documents(corpus)
    model = _topica().CorEx(min(setting["k"], corpus.n_words), seed=seed)
    model.fit(data, iters=iterations, num_threads=1)
    occurs = sparse.csr_array(corpus.counts[data.kept_indices] > 0, dtype=float)
    holds = model.doc_topic - model.doc_topic.mean(axis=0)
    weights = np.where((occurs.T @ holds).T > 0, model.topic_word, 0.0)
    return Fitted(weights, None, _rows(model, data, corpus))


def _rows(model: Any, data: Any, corpus: Corpus) -> np.ndarray:
    rows = np.zeros((corpus.n_documents, np.asarray(model.doc_topic).shape[1]))
    rows[np.asarray(data.kept_indices)] = model.doc_topic
    return rows


def _topica() -> Any:
    return import_module("topica")


def _documents(corpus: Corpus) -> Any:
    vocabulary = [str(i) for i in range(corpus.n_words)]
    return _topica().Corpus.from_documents(named_tokens(corpus.counts), vocabulary=vocabulary)


def _with_tokens(model: Any, data: Any) -> np.ndarray:
    """Return probabilities with 0 where a topic has less than half a token of the word."""
    tokens = np.asarray(model.doc_topic).T @ np.asarray(data.doc_lengths, dtype=float)
    topic_word = np.asarray(model.topic_word)
    return np.where(topic_word * tokens[:, None] > _HALF_A_TOKEN, topic_word, 0.0)


def _predict(model: Any, halves: Halves, **options: Any) -> np.ndarray:
    doc_topic = np.asarray(model.transform(named_tokens(halves.first), **options))
    return by_mixture(doc_topic, np.asarray(model.topic_word), halves)
