"""Tables of concepts, their words, and the documents that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.intervals import TAILS, interval, mean_over_draws, sparse_quantile
from superwords.concepts.ranking import names, ranked_rows, ranked_words, scores
from superwords.concepts.summary import Summary
from superwords.corpus.corpus import Corpus
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.concepts.result import Result

TOP_WORDS = 10
HANDFUL = 8  # documents: a concept of no more is a leftover
RESERVED = (
    "document",
    "concept",
    "concept_name",
    "weight",
    "weight_mean",
    "low",
    "high",
    "probability",
    "tokens",
    "passage",
)


def concept_index(result: Result, concept: Any) -> int:
    """A concept's column (0, 1, …) from its id (1, 2, …)."""
    n_concepts = result.n_concepts
    whole = isinstance(concept, int | np.integer) and not isinstance(concept, bool)
    if not whole or not 1 <= concept <= n_concepts:
        choice = f"choose one from 1 to {n_concepts}" if n_concepts else "the model has none"
        raise InputError(f"There is no concept {concept!r}; {choice}.")
    if int(concept) in result.away:
        raise InputError(f"Concept {concept} {result.away[int(concept)]}; restore it to see it on its own.")
    return int(concept) - 1


def of_shown(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table whose `concept` people have neither merged into another nor hidden."""
    if not result.away:
        return table
    return table[table["concept"].isin(result.shown)].reset_index(drop=True)


def concept_names(result: Result) -> list[str]:
    """Names of all concepts: those that people gave (`superwords.concepts.choices`), else their most telling words."""
    automatic = names(result.summary.words, result.n_concepts, result.corpus.vocabulary)
    return [result.names.get(j, name) for j, name in enumerate(automatic, 1)]


def concept_table(result: Result, n_words: int = TOP_WORDS) -> pd.DataFrame:
    """One row per concept, most documents first; see docs/model.md for the columns."""
    summary, corpus = result.summary, result.corpus
    aligned = summary.alignment
    matched, counted = aligned.matched, counted_draws(summary)
    weights = result.reference_weights
    holders = np.diff(sparse.csc_array(weights).indptr)
    strength = np.asarray(weights.sum(axis=0)).ravel() / np.maximum(holders, 1)
    drawn_holders = np.where(counted, aligned.holders, np.nan)
    drawn_strength = np.where(counted, aligned.strength, np.nan).astype(float)
    low, high = interval(drawn_holders / corpus.n_documents)
    weak, strong = interval(drawn_strength)
    held = mean_over_draws(drawn_holders)
    sources = holders if corpus.parent is None else _in_sources(_passages_of(corpus), weights)
    ranked = ranked_words(summary.words, result.n_concepts, corpus.n_words)
    top = [rows[:n_words] for rows in ranked]
    return pd.DataFrame(
        {
            "concept": np.arange(1, result.n_concepts + 1),
            "name": pd.Series(concept_names(result), dtype=object),
            "documents": holders.astype(int),
            "documents_mean": held,
            "source_documents": sources.astype(int),
            "source_documents_mean": held if corpus.parent is None else _mean_in_sources(result, sources),
            "prevalence": holders / corpus.n_documents,
            "prevalence_mean": held / corpus.n_documents,
            "prevalence_low": low,
            "prevalence_high": high,
            "strength": strength,
            "strength_mean": mean_over_draws(drawn_strength),
            "strength_low": weak,
            "strength_high": strong,
            "n_words": (result.concept_word > 0).sum(axis=1).astype(int),
            "top_words": _objects([corpus.vocabulary[i] for i in summary.words.word[rows]] for rows in top),
            "shares": _objects(summary.words.used[rows].astype(float).tolist() for rows in top),
            "stability": matched.mean(axis=0),
            "stability_by_chain": _objects(_by_chain(matched, aligned.chain).T.tolist()),
            "jaccard": mean_over_draws(np.where(matched, aligned.jaccard, np.nan)),
            "leftover": holders <= min(HANDFUL, corpus.n_documents / 10),
        }
    )


def counted_draws(summary: Summary) -> np.ndarray:
    """(S, J): the draws that means and intervals of a concept are over, as those of groups and documents are.

    They are the draws with a partner that memberships are kept of; all with a partner if none of them has one.
    """
    matched = summary.alignment.matched
    is_kept = np.zeros((len(matched), 1), bool)
    is_kept[summary.memberships.draw] = True
    counted = matched & is_kept
    return np.where(counted.any(axis=0), counted, matched)


def _passages_of(corpus: Corpus) -> sparse.csr_array:
    """(sources, D): 1 for each passage of a source document."""
    assert corpus.parent is not None
    _, source = np.unique(corpus.parent, return_inverse=True)
    return sparse.csr_array((np.ones(len(source)), (source, np.arange(len(source)))))


def _in_sources(passages: sparse.csr_array, weights: sparse.csr_array) -> np.ndarray:
    """(J): how many source documents hold a concept in any of their passages."""
    return np.diff(sparse.csc_array(passages @ weights).indptr).astype(int)


def _mean_in_sources(result: Result, otherwise: np.ndarray) -> np.ndarray:
    """(J): the same in the mean over the draws; `otherwise` where no draw says anything."""
    summary = result.summary
    matched = summary.alignment.matched[summary.memberships.draw]
    passages = _passages_of(result.corpus)
    drawn = np.array([_in_sources(passages, weights) for weights in drawn_weights(result)])
    mean = mean_over_draws(np.where(matched, drawn, np.nan))
    return np.where(np.isnan(mean), otherwise, mean)


def _objects(values: Any) -> pd.Series:
    return pd.Series(list(values), dtype=object)


def _by_chain(matched: np.ndarray, chain: np.ndarray) -> np.ndarray:
    """(chains, J): share of a chain's draws in which a concept has a partner."""
    return np.array([matched[chain == c].mean(axis=0) for c in np.unique(chain)])


def word_table(result: Result, concept: int) -> pd.DataFrame:
    """The words of one concept, the most telling first, and how sure each is."""
    j = concept_index(result, concept)
    words, vocabulary = result.summary.words, result.corpus.vocabulary
    rows = ranked_rows(words, j, len(vocabulary))
    return pd.DataFrame(
        {
            "word": pd.Series([vocabulary[i] for i in words.word[rows]], dtype=object),
            "score": scores(words, len(vocabulary))[rows].astype(float),
            "share_used": words.used[rows].astype(float),
            "used_low": words.used_low[rows].astype(float),
            "used_high": words.used_high[rows].astype(float),
            "share_on": words.on[rows].astype(float),
            "on_low": words.on_low[rows].astype(float),
            "on_high": words.on_high[rows].astype(float),
            "probability": words.inside[rows].astype(float),
        }
    )


def top_words(result: Result, concept: int, n: int = TOP_WORDS) -> list[str]:
    """A concept's n most telling words."""
    j = concept_index(result, concept)
    words, vocabulary = result.summary.words, result.corpus.vocabulary
    return [vocabulary[i] for i in words.word[ranked_rows(words, j, len(vocabulary))[:n]]]


def vocabulary_table(result: Result) -> pd.DataFrame:
    """Every word: how often it occurs, and the concepts of the most probable draw that hold it."""
    counts = sparse.csc_array(result.corpus.counts)
    share = sparse.csc_array(result.concept_word)
    held = [share[:, [i]].tocoo() for i in range(share.shape[1])]
    order = [np.lexsort((one.row, -one.data)) for one in held]
    return pd.DataFrame(
        {
            "word": pd.Series(result.corpus.vocabulary, dtype=object),
            "documents": np.diff(counts.indptr).astype(int),
            "tokens": np.asarray(counts.sum(axis=0)).ravel().astype(int),
            "n_concepts": [one.nnz for one in held],
            "concepts": _objects((one.row[at] + 1).tolist() for one, at in zip(held, order)),
            "shares": _objects(one.data[at].tolist() for one, at in zip(held, order)),
        }
    )


def document_table(result: Result, passages: bool = False) -> pd.DataFrame:
    """One row per document and concept it holds: weight, mean and interval over the aligned draws, and P(held).

    Of a corpus of passages: of the source documents, each passage counting by its tokens, unless `passages`.
    """
    fold = _fold(result, passages)
    weights = _folded(result.reference_weights, fold)
    return _document_rows(result, fold, *weights.nonzero())


def one_document(result: Result, document: int, passages: bool = False) -> pd.DataFrame:
    """The same of one document, with every concept that it holds in any draw: in how many is in `probability`."""
    fold = _fold(result, passages)
    held = np.zeros(result.n_concepts, bool)
    for weights in (result.reference_weights, *drawn_weights(result)):
        own = weights[[document]] if fold is None else fold[[document]] @ weights
        held |= own.toarray().ravel() > 0
    concept = np.flatnonzero(held)
    return _document_rows(result, fold, np.full(len(concept), document), concept)


def _fold(result: Result, passages: bool) -> sparse.csr_array | None:
    corpus = result.corpus
    return None if passages or corpus.parent is None else source_shares(corpus)


def _folded(weights: sparse.csr_array, fold: sparse.csr_array | None) -> sparse.csr_array:
    out = weights if fold is None else sparse.csr_array(fold @ weights)
    out.sort_indices()
    return out


def _document_rows(
    result: Result, fold: sparse.csr_array | None, document: np.ndarray, concept: np.ndarray
) -> pd.DataFrame:
    corpus = result.corpus
    weights = _folded(result.reference_weights, fold)
    weight = np.asarray(weights[document, concept]).ravel() if len(document) else np.zeros(0)
    mean, low, high, held = _weight_intervals(result, fold, document, concept)
    ids, metadata = (corpus.ids, corpus.metadata) if fold is None else sources(corpus)
    table = pd.DataFrame({"document": pd.Series([ids[d] for d in document], dtype=object)})
    label = concept_names(result)
    return with_metadata(table, metadata, document).assign(
        concept=concept + 1,
        concept_name=pd.Series([label[j] for j in concept], dtype=object),
        weight=weight.astype(float),
        weight_mean=mean,
        low=low,
        high=high,
        probability=held,
    )


def with_metadata(table: pd.DataFrame, metadata: pd.DataFrame, rows: np.ndarray | list[int]) -> pd.DataFrame:
    """A table with its rows' metadata; a column whose name the table needs becomes "metadata_<name>"."""
    labels = metadata.iloc[rows].reset_index(drop=True)
    labels = labels.rename(columns={name: f"metadata_{name}" for name in labels if name in RESERVED})
    return pd.concat([table, labels], axis=1)


def _weight_intervals(
    result: Result, fold: sparse.csr_array | None, document: np.ndarray, concept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean, bounds and P(held) of a document's weights, over the draws in which the concept has a partner."""
    keys, values = [], []
    for weights in drawn_weights(result):
        entries = sparse.coo_array(_folded(weights, fold))
        keys.append(entries.row.astype(np.int64) * result.n_concepts + entries.col)
        values.append(entries.data)
    key, value = np.concatenate(keys), np.concatenate(values)
    seen, at, times = np.unique(key, return_inverse=True, return_counts=True)
    summary = result.summary
    n_matched = summary.alignment.matched[summary.memberships.draw].sum(axis=0)
    n_values = n_matched[seen % max(result.n_concepts, 1)]
    wanted = document.astype(np.int64) * result.n_concepts + concept
    place = np.searchsorted(seen, wanted)
    known = np.isin(wanted, seen)

    def looked_up(found: np.ndarray) -> np.ndarray:
        # A concept without a partner in any of these draws (not even itself: it has no word) says nothing.
        column = np.where(n_matched[concept] > 0, 0.0, np.nan)
        column[known] = found[place[known]]
        return column

    mean = looked_up(np.bincount(at, value, len(seen)) / n_values)
    low, high = (looked_up(sparse_quantile(key, value, n_values, q)) for q in TAILS)
    held = np.zeros(len(wanted))
    held[known] = times[place[known]] / n_matched[concept[known]]
    return mean, low, high, held


def drawn_weights(result: Result) -> list[sparse.csr_array]:
    """(D, J) weights of each draw that memberships are kept of."""
    kept = result.summary.memberships
    n_documents = result.corpus.n_documents
    out = []
    for t in range(len(kept.draw)):
        ptr = kept.ptr[t * n_documents : (t + 1) * n_documents + 1]
        part = slice(ptr[0], ptr[-1])
        out.append(
            sparse.csr_array(
                (kept.weight[part].astype(float), kept.concept[part], ptr - ptr[0]),
                shape=(n_documents, result.n_concepts),
            )
        )
    return out


def source_shares(corpus: Corpus) -> sparse.csr_array:
    """(sources, D): each passage's share of its source document's tokens (equal shares where it has none)."""
    assert corpus.parent is not None
    _, source = np.unique(corpus.parent, return_inverse=True)
    tokens = np.asarray(corpus.counts.sum(axis=1)).ravel().astype(float)
    total = np.bincount(source, tokens)
    rows = np.bincount(source)
    share = np.where(total[source] > 0, tokens / np.maximum(total[source], 1.0), 1.0 / rows[source])
    return sparse.csr_array((share, (source, np.arange(len(source)))))


def sources(corpus: Corpus) -> tuple[list[str], pd.DataFrame]:
    """Ids and metadata of the source documents of a corpus of passages."""
    assert corpus.parent is not None
    _, first = np.unique(corpus.parent, return_index=True)
    ids = [corpus.ids[d].rsplit("#", 1)[0] for d in first]
    return ids, corpus.metadata.iloc[first].reset_index(drop=True)
