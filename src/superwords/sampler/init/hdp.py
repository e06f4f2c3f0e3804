"""Topic model of the rows to start from: collapsed Gibbs for a truncated HDP.

A row's topics follow Dirichlet(α β). β, the shares of the T topics in the corpus, is drawn after every pass from
Dirichlet(γ/T + tables), the weak limit of the Dirichlet process, with the tables of Teh et al. (2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.jit import kernel
from superwords.sampler.random import INITIAL, below, gamma, open_stream, uniform

PASSES = 150
# Concentrations of a row's topics, of each word in a topic, and of the corpus's topics
ALPHA, ETA, GAMMA = 1.0, 0.1, 5.0


class TokenTopics(NamedTuple):
    """The topic of every token, row by row."""

    row: np.ndarray  # (N)
    word: np.ndarray  # (N)
    topic: np.ndarray  # (N)


def tokens_of(counts: sparse.csr_array) -> tuple[TokenTopics, np.ndarray]:
    """Return the tokens of all rows with topic 0, and the offset of each row."""
    n_rows = counts.shape[0]
    row = np.repeat(np.repeat(np.arange(n_rows), np.diff(counts.indptr)), counts.data)
    word = np.repeat(counts.indices, counts.data).astype(np.int64)
    row_ptr = np.searchsorted(row, np.arange(n_rows + 1)).astype(np.int64)
    return TokenTopics(row, word, np.zeros(len(word), np.int64)), row_ptr


def draw_topics(counts: sparse.csr_array, n_topics: int, stream: np.ndarray, n_passes: int = PASSES) -> TokenTopics:
    """Return the topic of every token after `n_passes` passes from a random start."""
    tokens, row_ptr = tokens_of(counts)
    _gibbs(row_ptr, tokens.word, tokens.topic, counts.shape[1], n_topics, n_passes, stream)
    return tokens


@kernel
def _gibbs(row_ptr, word, topic, n_words, n_topics, n_passes, stream):
    of_word, total = np.zeros((n_words, n_topics)), np.zeros(n_topics)
    in_row, weight = np.zeros(n_topics), np.empty(n_topics)
    share, tables = np.full(n_topics, 1.0 / n_topics), np.empty(n_topics)
    open_stream(stream, INITIAL, 0, 0)
    for n in range(len(word)):
        topic[n] = below(stream, n_topics)
        of_word[word[n], topic[n]] += 1.0
        total[topic[n]] += 1.0
    for turn in range(1, n_passes + 1):
        open_stream(stream, INITIAL, turn, 0)
        tables[:] = GAMMA / n_topics
        for d in range(len(row_ptr) - 1):
            for n in range(row_ptr[d], row_ptr[d + 1]):
                in_row[topic[n]] += 1.0
            for n in range(row_ptr[d], row_ptr[d + 1]):
                t, i = topic[n], word[n]
                in_row[t] -= 1.0
                of_word[i, t] -= 1.0
                total[t] -= 1.0
                whole = 0.0
                for t in range(n_topics):
                    smooth = (of_word[i, t] + ETA) / (total[t] + n_words * ETA)
                    whole += (in_row[t] + ALPHA * share[t]) * smooth
                    weight[t] = whole
                t, at = 0, uniform(stream) * whole
                while t < n_topics - 1 and weight[t] < at:
                    t += 1
                topic[n] = t
                in_row[t] += 1.0
                of_word[i, t] += 1.0
                total[t] += 1.0
            for n in range(row_ptr[d], row_ptr[d + 1]):
                t = topic[n]
                for seated in range(int(in_row[t])):
                    tables[t] += uniform(stream) * (ALPHA * share[t] + seated) < ALPHA * share[t]
                in_row[t] = 0.0
        for t in range(n_topics):
            share[t] = gamma(stream, tables[t])
        share /= share.sum()
