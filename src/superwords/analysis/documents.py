"""Documents: their concepts, representative passages, expected words and labels.

In a corpus of passages, a document is the source of its passages, each weighted by its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis import tables
from superwords.analysis.tables import concept_index, entries, named, objects, source_shares, sources, used_words
from superwords.posterior.alignment import TYPICAL
from superwords.posterior.intervals import TAILS, beta_levels, sparse_quantile
from superwords.posterior.result import Result
from superwords.tabular import shortened
from superwords.text.corpus import Corpus

SPEAKERS = ("speaker", "author", "speaker_name", "author_name", "name", "member", "sender")
TITLES = ("title", "headline", "subject", "heading")
_LENGTH = 80  # maximum characters of a title, and mean characters of a label column
_DIFFERENT = 0.8  # minimum share of distinct values in a title column with another name
_PASSAGE = 280
_MARKER_WORDS = 30
_LEAST_EXPECTED = 1e-5
_BLOCK = 4096  # documents
_TABLE_COLUMNS = ("document", "concept", "concept_name", "weight", "low", "high", "probability", "tokens", "passage")


def document_table(result: Result, passages: bool = False) -> pd.DataFrame:
    """Return the concepts that each document uses, with their weights and intervals.

    Listed are those that use the concept in at least half of the draws that find it, and as many more of the most
    probable ones as make up the expected number of documents, which `concepts()` has.

    Parameters
    ----------
    passages : bool
        Whether to list passages, where these are the rows, in place of their documents.

    Examples
    --------
    >>> set(model.documents()["document"]) <= set(model.corpus_.ids)
    True
    """
    table = one_document(result, None, passages)
    by_probability = table.sort_values(["probability", "weight"], ascending=False, kind="stable")
    rank = by_probability.groupby("concept").cumcount().reindex(table.index)
    expected = table.groupby("concept")["probability"].transform("sum").round()
    return table[(table["probability"] >= TYPICAL) | (rank < expected)].reset_index(drop=True)


def one_document(result: Result, document: int | None, passages: bool = False) -> pd.DataFrame:
    """Return the same of one document (None: of each), with every concept that it uses in any draw."""
    corpus = result.corpus
    place, concept, figures = _figures(result, document, passages or corpus.parent is None)
    of_concept = named(result, concept + 1).rename(columns={"name": "concept_name"})
    table = with_metadata(*((corpus.ids, corpus.metadata) if passages else sources(corpus)), place, _TABLE_COLUMNS)
    return table.join(of_concept).assign(**figures)


def with_metadata(ids: Sequence[str], metadata: pd.DataFrame, rows: Any, taken: Sequence[Any]) -> pd.DataFrame:
    """Return documents with their metadata; a column whose name is taken becomes "metadata_<name>"."""
    labels = metadata.iloc[rows].reset_index(drop=True)
    labels = labels.rename(columns={name: f"metadata_{name}" for name in labels if name in taken or name == "document"})
    return pd.concat([pd.DataFrame({"document": objects(ids[d] for d in rows)}), labels], axis=1)


def _figures(result: Result, only: int | None, are_rows: bool) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return documents (or rows), concepts, and of each pair the mean weight, its bounds and P(used).

    The bounds are of π_dj / S_d, Beta distributed given a draw's tokens, and widened to include the weight.
    """
    draw, place, kept = *result.draw_and_row, result.summary.memberships
    total = np.repeat(kept.total.astype(float), np.diff(kept.ptr))
    weight, mean = kept.weight.astype(float), kept.mean.astype(float)
    moments = [weight, mean, np.maximum(mean * (1 - mean), 1e-12) / (total + 1)]
    if not are_rows:  # passages count by their tokens
        share, place = tables.row_shares(result.corpus)[place], tables.source_of_rows(result.corpus)[place]
        moments = [one * part for one, part in zip(moments, (share, share, share**2))]
    here = slice(None) if only is None else place == only
    n_documents, n_concepts = int(place.max(initial=0)) + 1, max(result.n_concepts, 1)
    cells, at = np.unique(((draw * n_documents + place) * n_concepts + kept.concept)[here], return_inverse=True)
    weight, mean, variance = (np.bincount(at, one[here], len(cells)) for one in moments)
    draw, key = np.divmod(cells, n_documents * n_concepts)
    count = result.summary.alignment.weights[draw, key % n_concepts]
    known = count > 0
    key, count = key[known], count[known]
    level = beta_levels(mean[known], variance[known])
    spread = np.tile(key, len(level)), level.ravel(), np.tile(count / len(level), len(level))
    low, high = (sparse_quantile(*spread, q) for q in TAILS)
    seen, at = np.unique(key, return_inverse=True)
    weight, used = (np.bincount(at, one, len(seen)) for one in (weight[known] * count, count))
    bounds = {"low": np.minimum(low, weight), "high": np.maximum(high, weight)}
    return *np.divmod(seen, n_concepts), {"weight": weight, **bounds, "probability": np.minimum(used, 1.0)}


def representative_documents(result: Result, concept: int, n: int = 5) -> pd.DataFrame:
    """Return documents with large weight and many tokens of a concept.

    Parameters
    ----------
    concept : int (1, 2, …)
    n : int, at most

    Returns
    -------
    DataFrame
        Highest w · log(1 + w N_d) first, w the mean weight, N_d the tokens; with an excerpt if texts were kept.

    Examples
    --------
    >>> len(model.representative_documents(1, n=2)) <= 2
    True
    """
    j, corpus = concept_index(result, concept), result.corpus
    (draw, row), kept = result.draw_and_row, result.summary.memberships
    share = result.summary.alignment.weights[draw, j] * kept.weight * (kept.concept == j)
    weight = np.bincount(row, share, corpus.n_documents)
    tokens = np.asarray(corpus.counts.sum(axis=1)).ravel()
    evidence = weight * np.log1p(weight * tokens)
    best = [int(d) for d in np.argsort(-evidence, kind="stable")[:n] if weight[d] > 0]
    table = with_metadata(corpus.ids, corpus.metadata, best, _TABLE_COLUMNS).assign(
        weight=weight[best], tokens=tokens[best].astype(int)
    )
    if corpus.texts is not None:
        words, vocabulary = result.summary.words, corpus.vocabulary
        score, rows = words.score, used_words(result)[j][:_MARKER_WORDS]
        marks = {vocabulary[words.word[r]]: float(score[r]) for r in rows if score[r] > 0}
        table["passage"] = objects(telling_passage(corpus.texts[d], marks) for d in best)
    return table


def telling_passage(text: str, marks: dict[str, float], length: int = _PASSAGE) -> str:
    """Return the passage of about `length` characters with the most marked weight, each word counted once."""
    plain = " ".join(text.split())
    if len(plain) <= length:
        return plain
    found = {word: re.finditer(rf"(?<!\w){re.escape(word)}", plain, re.IGNORECASE) for word in marks}
    hits = {word: np.array([one.start() for one in places], int) for word, places in found.items()}
    best = _densest(hits, marks, length - length // 8)
    begin = max(0, min(best - length // 8, len(plain) - length))
    end = min(len(plain), begin + length)
    begin = 0 if begin == 0 else plain.find(" ", begin) + 1
    if end < len(plain):
        end = max(plain.rfind(" ", begin, end), begin + 1)
    return ("… " if begin > 0 else "") + plain[begin:end] + (" …" if end < len(plain) else "")


def _densest(hits: Mapping[str, np.ndarray], marks: Mapping[str, float], length: int) -> int:
    """Return the start of the window of this length with the largest sum of weights, given where each word begins."""
    starts = np.unique(np.concatenate([np.zeros(0, int), *hits.values()]))
    weight = np.zeros(len(starts))
    for word, begin in hits.items():
        # A word is in a window if its next occurrence ends there.
        following = np.append(begin, np.inf)[np.searchsorted(begin, starts)]
        weight += marks[word] * (following + len(word) <= starts + length)
    return int(starts[np.argmax(weight.round(9))]) if len(starts) else 0


def mean_weights(result: Result) -> sparse.csr_array:
    """Return (documents, J) mean weights; a draw without a partner counts as 0, so rows may sum to less than 1."""
    return sparse.csr_array(source_shares(result.corpus) @ result.weights)


def expected_words(result: Result) -> sparse.csr_array:
    """Return (documents, V) the predictive probability of each word, mean over draws.

    Word i is on in a document's variant of a concept with the share of the concept's documents that have it on, surely
    where the document uses it; p(i | j, d) is that over its sum, p(i | d) = Σ_j w_dj p(i | j, d) with mean weights w.
    """
    uses, corpus, on = result.summary.uses, result.corpus, tables.by_word(result, result.summary.words.on)
    row = np.repeat(np.arange(corpus.n_documents), np.diff(uses.ptr))
    raised = uses.share * (1 - entries(on, uses.concept, uses.word))
    weights, shape = sparse.coo_array(result.weights), (corpus.n_documents, result.n_concepts)
    more = sparse.csr_array(sparse.coo_array((raised, (row, uses.concept)), shape=shape))
    # The weights over the number of words that are on in each (row, concept).
    n_on = np.asarray(on.sum(axis=1)).ravel()[weights.col] + entries(more, *weights.coords)
    value = np.divide(weights.data, n_on, out=np.zeros(len(n_on)), where=n_on > 0)
    per_word = sparse.csr_array((value, weights.coords), shape=shape)
    own = entries(per_word, row, uses.concept) * raised
    fold, of_word = source_shares(corpus), sparse.coo_array((own, (row, uses.word)), shape=corpus.counts.shape)
    per_word, own = sparse.csr_array(fold @ per_word), sparse.csr_array(fold @ sparse.csr_array(of_word))
    blocks = []
    for start in range(0, fold.shape[0], _BLOCK):
        part = slice(start, start + _BLOCK)
        expected = sparse.csr_array((per_word[part] @ on + own[part]).astype(np.float32))
        expected.data[expected.data < _LEAST_EXPECTED] = 0.0
        expected.eliminate_zeros()
        blocks.append(expected)
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def concept_profiles(result: Result) -> sparse.csr_array:
    """Return (J, V) P(word i | a token of concept j), for a document without its own variant of the concept."""
    on = tables.by_word(result, result.summary.words.on)
    total = np.asarray(on.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(total, 1e-12)) @ on)


def titles(result: Result) -> list[str]:
    """Return a title for each document: from metadata, or its first or top words."""
    corpus, rows = result.corpus, source_shares(result.corpus)
    if label_columns(sources(corpus)[1]):
        full = document_labels(corpus)
    elif corpus.texts is not None:
        full = [corpus.texts[int(rows.indices[start])] for start in rows.indptr[:-1]]
    else:
        counts, full = sparse.csr_array(tables.of_sources(corpus) @ corpus.counts), []
        for a, b in pairwise(counts.indptr):
            most = counts.indices[a:b][np.argsort(-counts.data[a:b], kind="stable")][:6]
            full.append(", ".join(corpus.vocabulary[i] for i in most))
    return [shortened(title, _LENGTH) for title in full]


def label_columns(metadata: pd.DataFrame) -> list[Any]:
    """Return up to two columns that label documents, speaker and title: by name, else short texts of several words."""
    known = {name: metadata[name].dropna().tolist() for name in metadata}
    texts = {name: own for name, own in known.items() if own and all(isinstance(one, str) for one in own)}
    short = {name: own for name, own in texts.items() if sum(map(len, own)) <= _LENGTH * len(own)}
    found = []
    for labels in (SPEAKERS, TITLES):
        found += [name for label in labels for name in short if str(name).casefold() == label][:1]
    various = (name for name, own in short.items() if len(set(own)) >= _DIFFERENT * len(metadata) > 1)
    return found or [name for name in various if sum(" " in one for one in short[name]) > len(short[name]) / 2][:1]


def document_labels(corpus: Corpus) -> list[str]:
    """Return a label for every document: "speaker: title" where known, else its id."""
    ids, metadata = sources(corpus)
    columns = [
        ["" if pd.isna(value) else " ".join(str(value).split()) for value in metadata[name]]
        for name in label_columns(metadata)
    ]
    labels = [": ".join(part for part in parts if part) for parts in zip(*columns)]
    return [label or one for label, one in zip(labels, ids)] if columns else list(ids)


def row_labels(corpus: Corpus) -> list[str]:
    """Return a label for every row; that of a passage includes its number."""
    labels = document_labels(corpus)
    if corpus.parent is None:
        return labels
    documents = pd.Series(corpus.parent).groupby(corpus.parent)
    places = zip(documents.ngroup(), documents.cumcount() + 1, documents.transform("size"))
    return [f"{labels[d]}, passage {k} of {n}" for d, k, n in places]
