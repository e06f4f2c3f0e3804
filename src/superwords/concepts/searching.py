"""Search: documents that have a query's words, or speak of the same concepts as those that have them.

The score of document d is (1 − a) · own(d) + a · Σ_n s_dn own(n) over its nearest documents n (`nearest`). own(d) adds
BM25 over the words of the texts and the probability of the query's words under the document's concepts, each divided
by its standard deviation over the documents. The share a is chosen by `known_item_share` from the corpus alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.preprocessing import normalize

from superwords.concepts.catalogue import catalogue
from superwords.concepts.examples import telling_passage
from superwords.concepts.known_items import known_item_share
from superwords.concepts.means import expected_words, rows_of_documents
from superwords.concepts.neighbours import nearest
from superwords.concepts.query_words import find_words
from superwords.concepts.tables import top_words, whole_number
from superwords.concepts.terms import Terms, bm25, information, query_terms, read_terms
from superwords.corpus.stopwords import meaningful_nouns, stop_words
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.concepts.result import Result

COLUMNS = ["document", "score", "title", "words", "concepts", "concept_names", "near", "passage"]
CONCEPT_SHARE = 0.1  # of a document's own score
_MOST_LINKS, _MOST_NEAR = 3, 2
_LEAST_LINK = 0.1
_MATCHING = 20
_MARKERS = 5
_TELLING = np.log(2.0)  # information of a term that half of the rows have


@dataclass(frozen=True)
class SearchIndex:
    """What a search looks things up in; made once for a result. Rows are documents."""

    ids: list[str]
    titles: list[str]
    terms: Terms  # of the corpus's rows
    rows: sparse.csr_array  # (documents, rows)
    told: np.ndarray  # the terms' information
    row_told: np.ndarray  # the same among rows: what half of the documents have may tell passages apart
    words: sparse.csc_array  # (documents, terms) BM25
    has: sparse.csr_array  # the same by documents
    weights: sparse.csr_array  # (documents, J)
    likely: sparse.csc_array  # (documents, V) expected words, times their information, of length 1
    word_told: np.ndarray  # (V)
    near: sparse.csr_array  # (documents, documents)
    near_share: float
    names: list[str]  # of the concepts, where people have given none


def search_index(result: Result) -> SearchIndex:
    """The index of a result, made on first use and kept with it.

    What is found is as sampled, whatever people decided; the concepts that are named follow their choices.
    """
    if "search_index" not in result.__dict__:
        result.remember(
            search_index=_make_index(result) if result.sampled is None else _decided(result, result.sampled)
        )
    return result.__dict__["search_index"]


def _decided(result: Result, sampled: Result) -> SearchIndex:
    index = search_index(sampled)
    if not result.away:
        return index
    known = catalogue(result)
    return replace(index, weights=known.weights, names=known.names)


def _make_index(result: Result) -> SearchIndex:
    terms, rows, known = read_terms(result.corpus), rows_of_documents(result), catalogue(result)
    counts = sparse.csr_array(rows @ terms.counts)
    told = information(counts)
    words = bm25(counts, told)
    expected = expected_words(result)
    word_told = information(sparse.csr_array(rows @ result.corpus.counts))
    near = nearest(words, expected)
    near_share = known_item_share(counts, words, told, expected, near)
    return SearchIndex(
        known.ids,
        known.titles,
        terms,
        rows,
        told,
        information(terms.counts),
        sparse.csc_array(words),
        words,
        known.weights,
        _likely(expected, word_told),
        word_told,
        near,
        near_share,
        known.names,
    )


def _likely(expected: sparse.csr_array, word_told: np.ndarray) -> sparse.csc_array:
    """In place and in single precision: of many documents it is the largest part of the index."""
    expected.data *= word_told.astype(np.float32)[expected.indices]
    return sparse.csc_array(normalize(expected, copy=False))


def search(result: Result, query: str, n: int = 10) -> pd.DataFrame:
    """The n documents that answer a query best, the best first, each with why.

    Parameters
    ----------
    result
        What a fit found.
    query
        Some words.
    n
        At most so many documents.

    Returns
    -------
    pandas.DataFrame
        `document`, `score`, `title` (or first words), `words` (of the query that the document has, without those that
        half of all rows have), `concepts` (the numbers of those that link it to the query, the strongest first),
        `concept_names`, `near` (the similar documents that add most to its score) and `passage` (the stretch that tells
        most; empty where no texts are kept). Documents that score 0 are left out.

    Examples
    --------
    >>> from superwords import ConceptModel, Corpus
    >>> texts = ["apple and pear", "pear and plum", "a plum", "engine and wheel", "wheel and brake", "a brake"]
    >>> corpus = Corpus.from_texts(texts, words="plain", min_df=1, n_jobs=1)
    >>> model = ConceptModel(n_chains=1, n_sweeps=20, random_state=0).fit(corpus)
    >>> search(model.result_, "plum", n=2)["document"].tolist()
    ['2', '1']
    """
    return _hits(result, query, n)[COLUMNS]


def _hits(result: Result, query: str, n: int) -> pd.DataFrame:
    """The table of `search` with the row of the telling passage."""
    index = search_index(result)
    asked = _read_query(result, index, query)
    own, score = _scores(index, asked)
    order = np.argsort(-score, kind="stable")[: whole_number(n, "documents")]
    best = order[score[order] > 0]
    profile = _profile(index, own)
    rows = [_hit(result, index, asked, own, int(d), profile) for d in best]
    table = pd.DataFrame(rows, columns=pd.Index([*COLUMNS, "row"]))
    table["score"] = score[best].astype(float)
    return table


def search_scores(result: Result, query: str) -> np.ndarray:
    """(D) The score of every document, in the order of `search_index(result).ids`."""
    index = search_index(result)
    return _scores(index, _read_query(result, index, query))[1]


def search_page(result: Result, query: str, n: int = 10) -> dict[str, Any]:
    """The same for a page: `query`, `unknown` (its words in no document), `concepts` (those it speaks of) and `hits`.

    Everything is plain JSON; a concept is {concept, name, share}, a hit a row of `search` with its passage's `row`.
    """
    hits = _hits(result, query, n)
    index = search_index(result)
    asked = _read_query(result, index, query)
    profile = _profile(index, _own_scores(index, asked))
    total = max(float(profile.sum()), 1e-12)
    spoken = [j for j in np.argsort(-profile, kind="stable")[:_MARKERS] if profile[j] > _LEAST_LINK * total]
    return {
        "query": query,
        "unknown": asked.unknown,
        "concepts": [
            {"concept": int(j) + 1, "name": _name(result, index, j), "share": float(profile[j] / total)}
            for j in spoken
        ],
        "hits": hits.to_dict("records"),
    }


@dataclass(frozen=True)
class _Query:
    columns: np.ndarray  # of its known terms
    times: np.ndarray
    telling: dict[
        str, int
    ]  # its words as written, but stop words and those of half of the rows; their columns
    words: np.ndarray  # (V) how often it has each word of the vocabulary
    unknown: list[str]


def _read_query(result: Result, index: SearchIndex, query: str) -> _Query:
    if not isinstance(query, str):
        raise InputError(f"query={query!r} is not text; give a few words to look for.")
    if not query.strip():
        raise InputError("The query is empty; give a few words to look for.")
    times: Counter[int] = Counter()
    written: dict[str, int] = {}
    unknown: list[str] = []
    for word, term in query_terms(query, index.terms.tokenizer):
        column = index.terms.columns.get(term)
        if column is None:
            unknown.append(word)
        else:
            times[column] += 1
            written[word] = column
    empty = _empty_words(result)
    telling = {
        word: column
        for word, column in written.items()
        if index.row_told[column] > _TELLING and word.lower() not in empty
    }
    columns, counts = np.array(list(times), int), np.array(list(times.values()), float)
    return _Query(columns, counts, telling or written, find_words(result.corpus, query), unknown)


def _empty_words(result: Result) -> frozenset[str]:
    """Stop words of the texts' language, which may be rare in short rows and still tell nothing."""
    language = (result.corpus.notes.get("recipe") or {}).get("language")
    return stop_words(language) - meaningful_nouns(language) if language else frozenset()


def _own_scores(index: SearchIndex, asked: _Query) -> np.ndarray:
    """(D) What a document's own words and concepts say of the query."""
    by_words = index.words[:, asked.columns] @ asked.times
    word = np.flatnonzero(asked.words)
    by_concepts = index.likely[:, word] @ (asked.words[word] * index.word_told[word])
    return (1 - CONCEPT_SHARE) * _scaled(by_words) + CONCEPT_SHARE * _scaled(by_concepts)


def _scaled(values: np.ndarray) -> np.ndarray:
    spread = float(values.std())
    return values / spread if spread > 0 else values


def _scores(index: SearchIndex, asked: _Query) -> tuple[np.ndarray, np.ndarray]:
    own = _own_scores(index, asked)
    return own, (1 - index.near_share) * own + index.near_share * (index.near @ own)


def _profile(index: SearchIndex, own: np.ndarray) -> np.ndarray:
    """(J) How much more the documents that match best speak of a concept than documents do on average."""
    best = np.argsort(-own, kind="stable")[:_MATCHING]
    best = best[own[best] > 0]
    if not len(best):
        return np.zeros(index.weights.shape[1])
    among = own[best] @ index.weights[best] / own[best].sum()
    return np.maximum(among - np.asarray(index.weights.mean(axis=0)).ravel(), 0.0)


def _hit(
    result: Result, index: SearchIndex, asked: _Query, own: np.ndarray, d: int, profile: np.ndarray
) -> dict[str, Any]:
    """A row of `search`, but for its score."""
    concept, weight = _entries(index.weights, d)
    link = weight * profile[concept]
    strong = np.argsort(-link, kind="stable")[:_MOST_LINKS]
    linked = concept[strong[link[strong] > _LEAST_LINK * max(float(link.sum()), 1e-12)]].tolist()
    has = set(_entries(index.has, d)[0].tolist())
    other, share = _entries(index.near, d)
    gives = share * own[other] * (other != d)
    givers = [int(other[k]) for k in np.argsort(-gives, kind="stable")[:_MOST_NEAR] if gives[k] > 0]
    row, passage = _passage(result, index, asked, d, linked)
    return {
        "document": index.ids[d],
        "row": row,
        "title": index.titles[d],
        "words": [word for word, column in asked.telling.items() if column in has],
        "concepts": [j + 1 for j in linked],
        "concept_names": [_name(result, index, j) for j in linked],
        "near": [index.ids[one] for one in givers],
        "passage": passage,
    }


def _entries(matrix: sparse.csr_array, row: int) -> tuple[np.ndarray, np.ndarray]:
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[part], matrix.data[part]


def _name(result: Result, index: SearchIndex, j: int) -> str:
    return result.names.get(int(j) + 1, index.names[j])


def _passage(result: Result, index: SearchIndex, asked: _Query, d: int, linked: list[int]) -> tuple[int, str]:
    """The row of a document that says most of a query, and the stretch of its text that does."""
    rows = index.rows.indices[index.rows.indptr[d] : index.rows.indptr[d + 1]]
    telling = np.array(list(asked.telling.values()), int)
    evidence = np.array(
        [index.row_told[np.intersect1d(_entries(index.terms.counts, r)[0], telling)].sum() for r in rows]
    )
    best = int(rows[int(np.argmax(evidence))])
    texts = result.corpus.texts
    if texts is None:
        return best, ""
    marks = {word: float(index.row_told[column]) for word, column in asked.telling.items()}
    if not evidence.max(initial=0.0):
        marks |= {word: 1.0 for j in linked for word in top_words(result, j + 1, _MARKERS)}
    return best, telling_passage(texts[best], marks)
