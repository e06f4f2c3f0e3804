"""Features from the company words keep: which words share a passage or sentence, as principal components."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from superwords.corpus.corpus import Corpus
from superwords.errors import InputError
from superwords.features.block import WordFeatures, check_n_components, principal_components

WEIGHTINGS = ("ppmi", "log")
CONTEXTS = ("passages", "sentences")


def cooccurrence(
    corpus: Corpus, n_components: int = 50, weighting: str = "ppmi", context: str | None = None
) -> np.ndarray:
    """Co-occurrence of each word as (V, F) principal components; see `cooccurrence_components`.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    n_components : int
        At most so many columns.
    weighting : "ppmi" or "log"
        Positive pointwise mutual information, or the logarithm of counts.
    context : "passages", "sentences" or None
        Where words meet; None: passages if these are the corpus's rows, else sentences.

    Returns
    -------
    numpy.ndarray
        (V, F); words that occur in no context are NaN.

    Examples
    --------
    >>> from superwords import Corpus, features
    >>> rows = [["milk", "sugar"], ["milk", "sugar"], ["boat", "tide"], ["boat", "tide"]]
    >>> corpus = Corpus.from_tokens(rows, min_df=1)
    >>> features.cooccurrence(corpus, n_components=1).shape
    (4, 1)
    """
    return cooccurrence_components(corpus, n_components, weighting, context).values


def cooccurrence_components(
    corpus: Corpus, n_components: int = 50, weighting: str = "ppmi", context: str | None = None
) -> WordFeatures:
    """Co-occurrence projected onto principal components, with the variance each explains.

    Row i holds, for every other word l, max(0, log((n_il + 1)/(e_il + 1))), with n_il the number of contexts that
    hold both and e_il = n_i n_l / N what independence would give, or with `weighting="log"` log(1 + n_il). The
    contexts are the corpus's rows where these are passages, and its sentences else, or what `context` names. A
    corpus made of ready counts has no sentences: its documents take their place. Words in no context are unknown
    (NaN). There are fewer columns than `n_components` when the data have a lower rank.

    Parameters
    ----------
    corpus, n_components, weighting, context
        As of `cooccurrence`.

    Returns
    -------
    WordFeatures
        `values` (V, F), and `explained`, the share of the variance that each column explains.

    Examples
    --------
    >>> from superwords import features
    >>> from superwords.demo import load_demo
    >>> company = features.cooccurrence_components(load_demo().corpus, n_components=10)
    >>> company.values.shape
    (125, 10)
    """
    n_components = check_n_components(n_components)
    presence = presence_matrix(corpus, context)
    occurrences = np.asarray(presence.sum(axis=0)).ravel()
    used = np.flatnonzero(occurrences > 0)
    if len(used) < 2:
        raise InputError("Co-occurrence needs at least two words that occur; this corpus has fewer.")
    weights = weigh(presence[:, used], weighting)
    if weights.nnz == 0:
        raise InputError(
            "No two words of this corpus occur together more often than by chance, "
            "so co-occurrence tells nothing about them."
        )
    scores, explained = principal_components(weights, n_components)
    values = np.full((corpus.n_words, scores.shape[1]), np.nan)
    values[used] = scores
    return WordFeatures(values, explained, [f"cooccurrence_{k + 1}" for k in range(scores.shape[1])])


def presence_matrix(corpus: Corpus, context: str | None = None) -> sparse.csr_array:
    """Passages or sentences (documents, where sentences are not known) by words: 1 where the word occurs."""
    if context is not None and context not in CONTEXTS:
        raise InputError(f"The context is {context!r}; choose one of {', '.join(CONTEXTS)}.")
    if context == "passages" and corpus.parent is None:
        raise InputError(
            'The rows of this corpus are not passages; make it with unit="passages:5", for example.'
        )
    rows = corpus.sentences
    if rows is None or context == "passages" or (context is None and corpus.parent is not None):
        rows = corpus.counts
    presence = sparse.csr_array(rows > 0, dtype=np.int32)
    presence.eliminate_zeros()
    return presence


def weigh(presence: sparse.csr_array, weighting: str = "ppmi") -> sparse.csr_array:
    """The weighted co-occurrence of every two different words, (V, V) and sparse: it is 0 where n_il is 0."""
    if weighting not in WEIGHTINGS:
        raise InputError(f"The weighting is {weighting!r}; choose one of {', '.join(WEIGHTINGS)}.")
    together = sparse.coo_array(presence.T @ presence)
    # A word is no company to itself: its own frequency would swamp the row.
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
