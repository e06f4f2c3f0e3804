"""Documents in the mean over the draws: their concepts' weights and the words expected of them.

Of a corpus of passages the rows here are the source documents, each passage counting by its tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from superwords.analysis.labels import document_labels, label_columns, names_of
from superwords.analysis.tables import source_shares

if TYPE_CHECKING:
    from superwords.posterior.result import Result

_TITLE_LENGTH = 80
_LEAST_EXPECTED = 1e-5
_BLOCK = 4096  # documents


def rows_of_documents(result: Result) -> sparse.csr_array:
    """Return (documents, rows) 1 where a row is a passage of the document."""
    shares = _fold(result)
    return sparse.csr_array((np.ones(shares.nnz), shares.indices, shares.indptr), shape=shares.shape)


def mean_weights(result: Result) -> sparse.csr_array:
    """Return (documents, J) the mean over the draws of each document's weight in each concept.

    A draw without a partner of a concept counts as one without the concept, so rows may sum to less than 1.
    """
    return sparse.csr_array(_fold(result) @ result.weights)


def expected_words(result: Result) -> sparse.csr_array:
    """Return (documents, V) p(the next word of a document is i) under its concepts, in the mean over the draws.

    A document has its own variant of each concept. Word i is on in it with the share of the concept's documents that
    have it on, and surely in the draws in which the document uses it for the concept; p(i | j, d) is that divided by
    its sum over words, and p(i | d) = Σ_j w_dj p(i | j, d) with the mean weights w.
    """
    uses, corpus, on = result.summary.uses, result.corpus, _words_on(result)
    row = np.repeat(np.arange(corpus.n_documents), np.diff(uses.ptr))
    used_at = np.asarray(on[uses.concept, uses.word]).ravel() if len(row) else np.zeros(0)
    raised = uses.share * (1 - used_at)
    weights = result.weights
    more = sparse.csr_array(
        sparse.coo_array((raised, (row, uses.concept)), shape=(corpus.n_documents, result.n_concepts))
    )
    per_word = _divided(weights, np.asarray(on.sum(axis=1)).ravel(), more)
    at_use = np.asarray(per_word[row, uses.concept]).ravel() if len(row) else np.zeros(0)
    own = sparse.coo_array((at_use * raised, (row, uses.word)), shape=corpus.counts.shape)
    fold = _fold(result)
    per_word, own = sparse.csr_array(fold @ per_word), sparse.csr_array(fold @ sparse.csr_array(own))
    blocks = []
    for start in range(0, fold.shape[0], _BLOCK):
        part = slice(start, start + _BLOCK)
        expected = sparse.csr_array((per_word[part] @ on + own[part]).astype(np.float32))
        expected.data[expected.data < _LEAST_EXPECTED] = 0.0
        expected.eliminate_zeros()
        blocks.append(expected)
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def concept_profiles(result: Result) -> sparse.csr_array:
    """(J, V): P(word i | a token of concept j) in a document with no variant of its own, in the mean over the draws."""
    on = _words_on(result)
    total = np.asarray(on.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(total, 1e-12)) @ on)


def _words_on(result: Result) -> sparse.csr_array:
    """Return (J, V) the share of a concept's documents that have a word on, in the mean over the draws."""
    words = result.summary.words
    shape = result.n_concepts, result.corpus.n_words
    return sparse.csr_array((words.on.astype(float), (words.concept, words.word)), shape=shape)


def titles(result: Result) -> list[str]:
    """What to call each document: its speaker and title, else its first words, else its most frequent words."""
    corpus = result.corpus
    if label_columns(names_of(corpus)[1]):
        return [_shortened(label) for label in document_labels(corpus)]
    rows = _fold(result)
    first = [int(rows.indices[start]) for start in rows.indptr[:-1]]
    if corpus.texts is not None:
        return [_shortened(corpus.texts[row]) for row in first]
    counts = sparse.csr_array(rows_of_documents(result) @ corpus.counts)
    out = []
    for a, b in zip(counts.indptr[:-1], counts.indptr[1:]):
        most = counts.indices[a:b][np.argsort(-counts.data[a:b], kind="stable")][:6]
        out.append(_shortened(", ".join(corpus.vocabulary[i] for i in most)))
    return out


def _fold(result: Result) -> sparse.csr_array:
    corpus = result.corpus
    if corpus.parent is not None:
        shares = source_shares(corpus)
        shares.sort_indices()
        return shares
    return sparse.csr_array(sparse.eye_array(corpus.n_documents, format="csr"))


def _divided(weights: sparse.csr_array, of_concept: np.ndarray, more: sparse.csr_array) -> sparse.csr_array:
    """Return the weights over the number of words that are on in each (row, concept)."""
    entries = sparse.coo_array(weights)
    row, concept = entries.coords
    extra = np.asarray(more[row, concept]).ravel() if len(row) else np.zeros(0)
    n_on = of_concept[concept] + extra
    value = np.divide(entries.data, n_on, out=np.zeros(len(n_on)), where=n_on > 0)
    return sparse.csr_array((value, (row, concept)), shape=weights.shape)


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    if len(plain) <= _TITLE_LENGTH:
        return plain
    end = plain.rfind(" ", 0, _TITLE_LENGTH - 1)
    return plain[: end if end > 0 else _TITLE_LENGTH] + " …"
