"""How much of the text the listed concepts use, and which frequent words none of them does."""

from __future__ import annotations

import numpy as np
import pandas as pd

from superwords.analysis.ranking import ranked_words
from superwords.posterior.result import Result
from superwords.text.corpus import documents_using


def _is_used(result: Result) -> np.ndarray:
    n_words = result.corpus.n_words
    is_used = np.zeros(n_words, bool)
    for rows in ranked_words(result.summary.words, result.n_concepts, n_words):
        is_used[result.summary.words.word[rows]] = True
    return is_used


def used_share(result: Result) -> float:
    """Return the share of the counted words (tokens) whose word belongs to a listed concept."""
    counts = np.asarray(result.corpus.counts.sum(axis=0)).ravel()
    return float(counts[_is_used(result)].sum() / max(1, counts.sum()))


def unused_words(result: Result, n: int | None = 20) -> pd.DataFrame:
    """Return the words that belong to no listed concept, the most frequent first.

    Parameters
    ----------
    result
        The result of a fit, `model.result_`.
    n
        The number of words at most; None is all.

    Returns
    -------
    DataFrame
        Columns word, documents (rows that have it) and tokens.
    """
    corpus = result.corpus
    words = np.flatnonzero(~_is_used(result))
    tokens = np.asarray(corpus.counts.sum(axis=0)).ravel()
    words = words[np.lexsort((words, -tokens[words]))][:n]
    documents = documents_using(corpus.counts)
    return pd.DataFrame(
        {
            "word": [corpus.vocabulary[i] for i in words],
            "documents": documents[words],
            "tokens": tokens[words],
        }
    )
