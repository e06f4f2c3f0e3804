"""Features from co-occurrence: which words share a passage or sentence, as principal components."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from superwords.errors import InputError, whole_number
from superwords.features.block import WordFeatures, project
from superwords.text.corpus import Corpus

WEIGHTINGS = ("ppmi", "log")
CONTEXTS = ("passages", "sentences")


def cooccurrence(
    corpus: Corpus, n_components: int = 50, weighting: str = "ppmi", context: str | None = None
) -> WordFeatures:
    """Return the co-occurrence of each word as principal components.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    n_components : int
        The largest number of columns; there are fewer when the data have a lower rank.
    weighting : "ppmi" or "log"
        The weight of two words that share n contexts where e = n_i n_l / N are expected: max(0, log((n + 1)/(e + 1))),
        or log(1 + n).
    context : "passages", "sentences" or None
        Where words meet; None: passages if these are the corpus's rows, else sentences, or documents of ready counts.

    Returns
    -------
    WordFeatures
        (V, F), NaN for words that occur in no context.

    Examples
    --------
    >>> from superwords import Corpus, features
    >>> rows = [["milk", "sugar"], ["milk", "sugar"], ["boat", "tide"], ["boat", "tide"]]
    >>> corpus = Corpus.from_tokens(rows, min_df=1)
    >>> features.cooccurrence(corpus, n_components=1).shape
    (4, 1)
    """
    n_components = whole_number("n_components", n_components)
    presence = presence_matrix(corpus, context)
    occurrences = np.asarray(presence.sum(axis=0)).ravel()
    used = np.flatnonzero(occurrences > 0)
    if len(used) < 2:
        raise InputError("Co-occurrence needs at least two words that occur; this corpus has fewer.")
    weights = weigh(presence[:, used], weighting)
    if weights.nnz == 0:
        problem = "No two words of this corpus occur together more often than by chance"
        raise InputError(f"{problem}, so there are no co-occurrence features.")
    return project(weights, used, corpus.n_words, n_components, "cooccurrence")


def presence_matrix(corpus: Corpus, context: str | None = None) -> sparse.csr_array:
    """Return contexts by words, 1 where the word occurs; documents replace unknown sentences."""
    if context is not None and context not in CONTEXTS:
        raise InputError(f"The context is {context!r}; choose one of {', '.join(CONTEXTS)}.")
    if context == "passages" and corpus.parent is None:
        raise InputError('The rows of this corpus are not passages; make it with unit="passages:5", for example.')
    rows = corpus.sentences
    if rows is None or context == "passages" or (context is None and corpus.parent is not None):
        rows = corpus.counts
    presence = sparse.csr_array(rows > 0, dtype=np.int32)
    presence.eliminate_zeros()
    return presence


def weigh(presence: sparse.csr_array, weighting: str = "ppmi") -> sparse.csr_array:
    """Return the weighted co-occurrence of every two different words, (V, V) and sparse."""
    if weighting not in WEIGHTINGS:
        raise InputError(f"The weighting is {weighting!r}; choose one of {', '.join(WEIGHTINGS)}.")
    together = sparse.coo_array(presence.T @ presence)
    # Without the diagonal: a word's own frequency would swamp its row.
    different = together.row != together.col
    row, col, n_together = together.row[different], together.col[different], together.data[different]
    if weighting == "log":
        data = np.log1p(n_together)
    else:
        occurrences = np.asarray(presence.sum(axis=0), dtype=float).ravel()
        expected = occurrences[row] * occurrences[col] / presence.shape[0]
        data = np.maximum(0.0, np.log((n_together + 1.0) / (expected + 1.0)))
    weights = sparse.csr_array((data, (row, col)), shape=together.shape)
    weights.eliminate_zeros()
    return weights
