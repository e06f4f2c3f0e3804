"""Tables of concepts, their words, and the documents that hold them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.alignment import LEAST_OVERLAP, handful, normalised, overlaps
from superwords.concepts.coherence import coherence, presence
from superwords.concepts.intervals import TAILS, interval, sparse_quantile, weighted_mean
from superwords.concepts.ranking import TYPICAL, automatic_names, ranked_words, scores
from superwords.concepts.summary import Alignment, shared_weights
from superwords.corpus.corpus import Corpus
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.concepts.result import Result

TOP_WORDS = 10
RESERVED = (
    "document",
    "concept",
    "concept_name",
    "weight",
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


def of_present(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table whose `concept` people have neither merged into another nor hidden."""
    return table[~table["concept"].isin(list(result.away))].reset_index(drop=True) if result.away else table


def of_shown(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table whose `concept` lists and pages show."""
    return table[table["concept"].isin(result.shown)].reset_index(drop=True)


def concept_names(result: Result) -> list[str]:
    """Names of all concepts: those that people gave (`superwords.concepts.choices`), else `automatic_names`."""
    return [result.names.get(j, name) for j, name in enumerate(automatic_names(result), 1)]


def concept_table(result: Result, n_words: int = TOP_WORDS) -> pd.DataFrame:
    """One row per concept, in the order of their numbers; see docs/model.md for the columns."""
    summary, corpus = result.summary, result.corpus
    aligned, weights = summary.alignment, draw_weights(result)
    at = summary.memberships.draw
    holders, strength = aligned.holders[at].astype(float), aligned.strength[at].astype(float)
    low, high = interval(holders / corpus.n_documents, weights)
    weak, strong = interval(strength, weights)
    rows = weighted_mean(holders, weights)
    words, used = summary.words, used_words(result)
    by_chain = found_by_chain(aligned)
    return pd.DataFrame(
        {
            "concept": np.arange(1, result.n_concepts + 1),
            "name": pd.Series(concept_names(result), dtype=object),
            "rows": rows,
            "documents": rows if corpus.parent is None else _in_documents(result, weights),
            "prevalence": rows / corpus.n_documents,
            "prevalence_low": low,
            "prevalence_high": high,
            "strength": weighted_mean(strength, weights),
            "strength_low": weak,
            "strength_high": strong,
            "n_words": weighted_mean(aligned.n_words[at].astype(float), weights),
            "top_words": objects([corpus.vocabulary[i] for i in words.word[one[:n_words]]] for one in used),
            "shares": objects(words.used[one[:n_words]].astype(float).tolist() for one in used),
            "coherence": _coherence(result, [one[:TOP_WORDS] for one in used]),
            "much_like": objects(_much_like(result)),
            "stability": _stability(result, by_chain),
            "found_by": (by_chain >= TYPICAL).sum(axis=0).astype(int),
            "stability_by_chain": objects(by_chain.T.tolist()),
            "overlap": weighted_mean(aligned.overlap[at].astype(float), weights),
            "leftover": ~(rows > handful(corpus.n_documents)),
        }
    )


def kept_weights(result: Result) -> np.ndarray:
    """(T): how much each draw that memberships are kept of counts; they sum to 1."""
    aligned, at = result.summary.alignment, result.summary.memberships.draw
    return shared_weights(result.chain_weights, aligned.chain[at])


def kept_share(result: Result) -> np.ndarray:
    """(J): share of the draws that memberships are kept of, by weight, in which a concept has a partner."""
    return kept_weights(result) @ result.summary.alignment.matched[result.summary.memberships.draw]


def draw_weights(result: Result) -> np.ndarray:
    """(T, J): how much each draw that memberships are kept of counts in a concept's means and intervals.

    A draw without a partner of the concept counts 0; the others sum to 1. The reference is among them, so only a
    concept that uses no word, which has no partner anywhere, has none.
    """
    matched = result.summary.alignment.matched[result.summary.memberships.draw]
    weights = kept_weights(result)[:, None] * matched
    total = weights.sum(axis=0)
    return weights / np.where(total > 0, total, 1.0)


def found_by_chain(aligned: Alignment) -> np.ndarray:
    """(chains, J): share of a chain's draws in which a concept has a partner."""
    return np.array([aligned.matched[aligned.chain == c].mean(axis=0) for c in np.unique(aligned.chain)])


def found_share(result: Result) -> np.ndarray:
    """(J): share of all draws, by weight, in which a concept has a partner."""
    aligned = result.summary.alignment
    return aligned.weight @ aligned.matched


def used_words(result: Result) -> list[np.ndarray]:
    """For each concept its used words as rows of `summary.words`, the most telling first."""
    return ranked_words(result.summary.words, result.n_concepts, result.corpus.n_words)


def _stability(result: Result, by_chain: np.ndarray) -> np.ndarray:
    """(J): mean over the other chains of the share of their draws in which a concept has a partner.

    The chain that the reference is of knows its own concepts and is left out, unless there is no other.
    """
    aligned = result.summary.alignment
    others = np.unique(aligned.chain) != aligned.chain[aligned.reference]
    return by_chain[others if others.any() else ~others].mean(axis=0)


def _coherence(result: Result, top: list[np.ndarray]) -> list[float]:
    units, word = presence(result.corpus.counts), result.summary.words.word
    return [coherence(units, word[rows]) for rows in top]


def _much_like(result: Result) -> list[int | None]:
    """For each concept the one it is most like, if they would pass for partners were they of different draws."""
    words = result.summary.words
    shape = result.n_concepts, result.corpus.n_words
    score = sparse.csr_array((scores(words, shape[1]).astype(float), (words.concept, words.word)), shape)
    described = normalised(score)
    alike = overlaps(described, described)
    np.fill_diagonal(alike, 0.0)
    if not alike.size:
        return []
    nearest = alike.argmax(axis=1)
    return [int(k) + 1 if alike[j, k] >= LEAST_OVERLAP else None for j, k in enumerate(nearest)]


def _passages_of(corpus: Corpus) -> sparse.csr_array:
    """(documents, D): 1 for each passage of a source document."""
    assert corpus.parent is not None
    _, source = np.unique(corpus.parent, return_inverse=True)
    return sparse.csr_array((np.ones(len(source)), (source, np.arange(len(source)))))


def _in_sources(passages: sparse.csr_array, weights: sparse.csr_array) -> np.ndarray:
    """(J): how many source documents hold a concept in any of their passages."""
    return np.diff(sparse.csc_array(passages @ weights).indptr).astype(int)


def _in_documents(result: Result, weights: np.ndarray) -> np.ndarray:
    """(J): the same in the mean over the draws."""
    passages = _passages_of(result.corpus)
    drawn = np.array([_in_sources(passages, one) for one in drawn_weights(result)], float)
    return weighted_mean(drawn.reshape(weights.shape), weights)


def objects(values: Any) -> pd.Series:
    return pd.Series(list(values), dtype=object)


def other_table(result: Result, n_words: int = TOP_WORDS) -> pd.DataFrame:
    """Concepts that other chains find and the tables lack, those of most chains first.

    `rows` is of one draw, the most probable one of a chain that finds the concept.
    """
    others, vocabulary = result.summary.others, result.corpus.vocabulary
    words = [others.word[a:b][:n_words] for a, b in pairwise(others.ptr)]
    return pd.DataFrame(
        {
            "top_words": objects([vocabulary[i] for i in one] for one in words),
            "rows": others.holders.astype(int),
            "found_by": (others.found >= TYPICAL).sum(axis=1).astype(int),
            "stability_by_chain": objects(others.found.astype(float).tolist()),
        }
    )


def word_table(result: Result, concept: int) -> pd.DataFrame:
    """The used words of one concept, the most telling first, and how sure each is."""
    j = concept_index(result, concept)
    words, vocabulary = result.summary.words, result.corpus.vocabulary
    rows = used_words(result)[j]
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
            "probability": words.probability[rows].astype(float),
        }
    )


def top_words(result: Result, concept: int, n: int = TOP_WORDS) -> list[str]:
    """A concept's n most telling words."""
    most = whole_number(n, "words", least=0)
    rows = used_words(result)[concept_index(result, concept)]
    return [result.corpus.vocabulary[i] for i in result.summary.words.word[rows[:most]]]


def whole_number(n: Any, things: str, least: int = 1) -> int:
    """How many of something were asked for."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < least:
        raise InputError(f"n={n!r} is not a number of {things}; give a whole number of at least {least}.")
    return int(n)


def vocabulary_table(result: Result) -> pd.DataFrame:
    """Every word: how often it occurs, and the concepts it is a used word of, leftovers last.

    `shares` are the concepts' shares of the rows that use the word for any concept, over all draws.
    """
    counts = sparse.csc_array(result.corpus.counts)
    words, known = result.summary.words, concept_table(result, 0)
    leftover = known["leftover"].to_numpy(dtype=bool)
    share = use_shares(result)
    rows = np.concatenate([*used_words(result), np.zeros(0, int)]).astype(int)
    j = words.concept[rows]
    rows = rows[np.lexsort((j, -share[rows], leftover[j], words.word[rows]))]
    at = np.searchsorted(words.word[rows], np.arange(result.corpus.n_words + 1))
    held = [rows[a:b] for a, b in pairwise(at)]
    return pd.DataFrame(
        {
            "word": pd.Series(result.corpus.vocabulary, dtype=object),
            "rows": np.diff(counts.indptr).astype(int),
            "tokens": np.asarray(counts.sum(axis=0)).ravel().astype(int),
            "n_concepts": [len(here) for here in held],
            "concepts": objects((words.concept[here] + 1).tolist() for here in held),
            "shares": objects(share[here].tolist() for here in held),
        }
    )


def use_shares(result: Result) -> np.ndarray:
    """For each row of `summary.words`: of the rows that use the word for any concept, the concept's share.

    Over all draws: a draw that does not find the concept does not use the word for it.
    """
    words = result.summary.words
    uses = words.documents * found_share(result)[words.concept]
    everywhere = np.bincount(words.word, uses, result.corpus.n_words)[words.word]
    return uses / np.where(everywhere > 0, everywhere, 1.0)


def document_table(result: Result, passages: bool = False) -> pd.DataFrame:
    """One row per document and concept it holds in at least half of the draws that find the concept.

    Of a corpus of passages: of the source documents, each passage counting by its tokens, unless `passages`.
    """
    table = _document_rows(result, _fold(result, passages))
    return table[table["probability"] >= TYPICAL].reset_index(drop=True)


def one_document(result: Result, document: int, passages: bool = False) -> pd.DataFrame:
    """The same of one document, with every concept that it holds in any draw: in how many is in `probability`."""
    return _document_rows(result, _fold(result, passages), document)


def _fold(result: Result, passages: bool) -> sparse.csr_array | None:
    corpus = result.corpus
    return None if passages or corpus.parent is None else source_shares(corpus)


def _folded(weights: sparse.csr_array, fold: sparse.csr_array | None) -> sparse.csr_array:
    out = weights if fold is None else sparse.csr_array(fold @ weights)
    out.sort_indices()
    return out


def _document_rows(result: Result, fold: sparse.csr_array | None, only: int | None = None) -> pd.DataFrame:
    """Every document, or one, and every concept that it holds in any draw that counts."""
    corpus = result.corpus
    key, weight, low, high, held = _weight_intervals(result, fold, only)
    document, concept = np.divmod(key, max(result.n_concepts, 1))
    ids, metadata = (corpus.ids, corpus.metadata) if fold is None else sources(corpus)
    table = pd.DataFrame({"document": pd.Series([ids[d] for d in document], dtype=object)})
    label = concept_names(result)
    return with_metadata(table, metadata, document).assign(
        concept=concept + 1,
        concept_name=pd.Series([label[j] for j in concept], dtype=object),
        weight=weight,
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
    result: Result, fold: sparse.csr_array | None, only: int | None
) -> tuple[np.ndarray, ...]:
    """(document, concept) as one number; mean weight, bounds and P(held) over the draws with a partner."""
    keys, values, counts = [], [], []
    if only is not None and fold is not None:
        fold = sparse.csr_array(fold[[only]])
    for weights, of_draw in zip(weights_of_told(result), draw_weights(result)):
        own = _folded(weights[[only]] if fold is None and only is not None else weights, fold)
        entries = sparse.coo_array(own)
        row = entries.row.astype(np.int64) + (only or 0)
        keys.append(row * result.n_concepts + entries.col)
        values.append(entries.data)
        counts.append(of_draw[entries.col])
    key, value, count = np.concatenate(keys), np.concatenate(values), np.concatenate(counts)
    key, value, count = (part[count > 0] for part in (key, value, count))
    seen, at = np.unique(key, return_inverse=True)
    mean = np.bincount(at, value * count, len(seen))
    held = np.minimum(np.bincount(at, count, len(seen)), 1.0)
    low, high = (sparse_quantile(key, value, count, q) for q in TAILS)
    return seen, mean, low, high, held


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


def weights_of_told(result: Result) -> list[sparse.csr_array]:
    """The same, but 0 in rows without any word: what a draw has for them comes from the prior alone."""
    has_words = sparse.diags_array((np.diff(result.corpus.counts.indptr) > 0).astype(float))
    out = [sparse.csr_array(has_words @ weights) for weights in drawn_weights(result)]
    for weights in out:
        weights.eliminate_zeros()
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
