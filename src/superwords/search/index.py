"""Search: documents that contain a query's words, or use the same concepts as documents that do.

The score of document d is (1 − a) · own(d) + a · Σ_n s_dn own(n) over its nearest documents n (`nearest`). own(d) adds
BM25 over the words of the texts and the probability of the query's words under the document's concepts, each divided
by its standard deviation over the documents. `known_item_share` chooses the share a from the corpus alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.preprocessing import normalize

from superwords.analysis.documents import expected_words, mean_weights, rows_of_documents, telling_passage, titles
from superwords.analysis.ranking import automatic_names
from superwords.analysis.tables import sources, top_words, whole_number
from superwords.errors import InputError
from superwords.search.neighbours import known_item_share, nearest
from superwords.search.terms import Terms, bm25, find_words, inverse_document_frequency, query_terms, read_terms
from superwords.text.languages import meaningful_nouns, stop_words

if TYPE_CHECKING:
    from superwords.posterior.result import Result

COLUMNS = ["document", "score", "title", "words", "concepts", "concept_names", "near", "passage"]
CONCEPT_SHARE = 0.1  # of a document's own score
_MOST_LINKS, _MOST_NEAR = 3, 2
_LEAST_LINK = 0.1
_MATCHING = 20
_MARKERS = 5
_INFORMATIVE = np.log(2.0)  # idf of a term that half of the rows contain


class Catalog(NamedTuple):
    """Documents with their weights, and the names of the concepts."""

    ids: list[str]
    titles: list[str]
    weights: sparse.csr_array  # (documents, J)
    names: list[str]


def catalog(result: Result) -> Catalog:
    """Return the documents of a result, made on first use; decisions that hide no concept share those of the draws."""
    own = result.sampled if result.sampled is not None and not result.away else result
    if "catalog" not in own.__dict__:
        ids, title = sources(own.corpus)[0], titles(own)
        own.remember(catalog=Catalog(ids, title, mean_weights(own), automatic_names(own)))
    made: Catalog = own.__dict__["catalog"]
    return made._replace(names=[result.names.get(j, name) for j, name in enumerate(made.names, 1)])


class SearchIndex(NamedTuple):
    """Hold the arrays that a search reads. Rows are documents."""

    terms: Terms  # of the corpus's rows
    rows: sparse.csr_array  # (documents, rows)
    row_idf: np.ndarray  # of the terms among rows: a term of half the documents may still tell passages apart
    words: sparse.csc_array  # (documents, terms) BM25
    has: sparse.csr_array  # the same by documents
    likely: sparse.csc_array  # (documents, V) expected words times their idf, of length 1
    word_idf: np.ndarray  # (V)
    near: sparse.csr_array  # (documents, documents)
    near_share: float


def search_index(result: Result) -> SearchIndex:
    """Return the index of a result, made on first use: the ranking is that of the draws, whatever people decided."""
    if result.sampled is not None:
        return search_index(result.sampled)
    if "search_index" not in result.__dict__:
        terms, rows = read_terms(result.corpus), rows_of_documents(result)
        counts = sparse.csr_array(rows @ terms.counts)
        idf = inverse_document_frequency(counts)
        words = bm25(counts, idf)
        expected = expected_words(result)
        word_idf = inverse_document_frequency(sparse.csr_array(rows @ result.corpus.counts))
        near = nearest(words, expected)
        near_share = known_item_share(counts, words, idf, expected, near)
        # In place and in single precision: for many documents this is the largest part of the index.
        expected.data *= word_idf.astype(np.float32)[expected.indices]
        index = SearchIndex(
            terms=terms,
            rows=rows,
            row_idf=inverse_document_frequency(terms.counts),
            words=sparse.csc_array(words),
            has=words,
            likely=sparse.csc_array(normalize(expected, copy=False)),
            word_idf=word_idf,
            near=near,
            near_share=near_share,
        )
        result.remember(search_index=index)
    return result.__dict__["search_index"]


def search(result: Result, query: str, n: int = 10) -> pd.DataFrame:
    """Return the documents that match a query, the best first, each with the reasons.

    Parameters
    ----------
    query : str
        Words, as one would type them.
    n : int
        The largest number of documents.

    Returns
    -------
    DataFrame
        `document`, `score`, `title` (or first words), `words` (of the query that the document contains, except those
        that half of all rows contain), `concepts` (numbers of those that link it to the query, the strongest first),
        `concept_names`, `near` (the similar documents that add most to its score) and `passage` (the most relevant
        excerpt; empty if no texts are kept). Documents that score 0 are left out.

    Examples
    --------
    >>> list(model.search("coffee", n=3).columns[:2])
    ['document', 'score']
    """
    return _answer(result, query, n)[0][COLUMNS]


def search_scores(result: Result, query: str) -> np.ndarray:
    """Return the score of every document (D), in the order of `catalog(result).ids`."""
    index = search_index(result)
    return _scores(index, _read_query(result, index, query))[1]


def search_page(result: Result, query: str, n: int = 10) -> dict[str, Any]:
    """Return a search as plain JSON: `query`, `unknown` (words in no document), `concepts` and `hits`.

    A concept is {concept, name, share}; a hit is a row of `search` with its passage's `row`.
    """
    hits, asked, profile = _answer(result, query, n)
    total = max(float(profile.sum()), 1e-12)
    spoken = [j for j in np.argsort(-profile, kind="stable")[:_MARKERS] if profile[j] > _LEAST_LINK * total]
    names = catalog(result).names
    return {
        "query": query,
        "unknown": asked.unknown,
        "concepts": [{"concept": int(j) + 1, "name": names[j], "share": float(profile[j] / total)} for j in spoken],
        "hits": hits.to_dict("records"),
    }


def _answer(result: Result, query: str, n: int) -> tuple[pd.DataFrame, _Query, np.ndarray]:
    """Return the table of `search` with the rows of the passages, the query, and how much it uses each concept."""
    index, documents = search_index(result), catalog(result)
    asked = _read_query(result, index, query)
    own, score = _scores(index, asked)
    order = np.argsort(-score, kind="stable")[: whole_number(n, "documents")]
    best = order[score[order] > 0]
    profile = _profile(documents.weights, own)
    rows = [_hit(result, index, documents, asked, own, int(d), profile) for d in best]
    table = pd.DataFrame(rows, columns=pd.Index([*COLUMNS, "row"]))
    table["score"] = score[best].astype(float)
    return table, asked, profile


class _Query(NamedTuple):
    columns: np.ndarray  # of its known terms
    times: np.ndarray
    informative: dict[str, int]  # columns of its words, except stop words and those of half of the rows
    words: np.ndarray  # (V) how often it has each word of the vocabulary
    unknown: list[str]
    forms: dict[str, int]  # beginnings of its informative words in a text


def _read_query(result: Result, index: SearchIndex, query: str) -> _Query:
    if not isinstance(query, str):
        raise InputError(f"query={query!r} is not text; give a few words to look for.")
    if not query.strip():
        raise InputError("The query is empty; give a few words to look for.")
    times: Counter[int] = Counter()
    written: dict[str, int] = {}
    stems: dict[int, str] = {}
    unknown: list[str] = []
    for word, term in query_terms(query, index.terms.tokenizer):
        column = index.terms.columns.get(term)
        if column is None:
            unknown.append(word)
        else:
            times[column] += 1
            written[word] = column
            stems[column] = term
    # Stop words of the texts' language may be rare in short rows.
    language = (result.corpus.notes.get("recipe") or {}).get("language")
    ignored = stop_words(language) - meaningful_nouns(language) if language else frozenset()
    informative = {
        word: column
        for word, column in written.items()
        if index.row_idf[column] > _INFORMATIVE and word.lower() not in ignored
    }
    columns, counts = np.array(list(times), int), np.array(list(times.values()), float)
    informative = informative or written
    words = find_words(result.corpus, query)
    return _Query(columns, counts, informative, words, unknown, _forms(informative, stems))


def _scores(index: SearchIndex, asked: _Query) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores (D) by the documents' own words and concepts, and those with their nearest documents'."""
    by_words = index.words[:, asked.columns] @ asked.times
    word = np.flatnonzero(asked.words)
    by_concepts = index.likely[:, word] @ (asked.words[word] * index.word_idf[word])
    own = (1 - CONCEPT_SHARE) * _scaled(by_words) + CONCEPT_SHARE * _scaled(by_concepts)
    return own, (1 - index.near_share) * own + index.near_share * (index.near @ own)


def _scaled(values: np.ndarray) -> np.ndarray:
    spread = float(values.std())
    return values / spread if spread > 0 else values


def _profile(weights: sparse.csr_array, own: np.ndarray) -> np.ndarray:
    """Return how much more the best matches use each concept (J) than documents do on average."""
    best = np.argsort(-own, kind="stable")[:_MATCHING]
    best = best[own[best] > 0]
    if not len(best):
        return np.zeros(weights.shape[1])
    among = own[best] @ weights[best] / own[best].sum()
    return np.maximum(among - np.asarray(weights.mean(axis=0)).ravel(), 0.0)


def _hit(
    result: Result, index: SearchIndex, documents: Catalog, asked: _Query, own: np.ndarray, d: int, profile: np.ndarray
) -> dict[str, Any]:
    """Return a row of `search` without its score."""
    concept, weight = _entries(documents.weights, d)
    link = weight * profile[concept]
    strong = np.argsort(-link, kind="stable")[:_MOST_LINKS]
    linked = concept[strong[link[strong] > _LEAST_LINK * max(float(link.sum()), 1e-12)]].tolist()
    has = set(_entries(index.has, d)[0].tolist())
    other, share = _entries(index.near, d)
    gives = share * own[other] * (other != d)
    givers = [int(other[k]) for k in np.argsort(-gives, kind="stable")[:_MOST_NEAR] if gives[k] > 0]
    row, passage = _passage(result, index, asked, d, linked)
    return {
        "document": documents.ids[d],
        "row": row,
        "title": documents.titles[d],
        "words": [word for word, column in asked.informative.items() if column in has],
        "concepts": [j + 1 for j in linked],
        "concept_names": [documents.names[j] for j in linked],
        "near": [documents.ids[one] for one in givers],
        "passage": passage,
    }


def _entries(matrix: sparse.csr_array, row: int) -> tuple[np.ndarray, np.ndarray]:
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[part], matrix.data[part]


def _passage(result: Result, index: SearchIndex, asked: _Query, d: int, linked: list[int]) -> tuple[int, str]:
    """Return the row of a document that matches a query best, and its best excerpt."""
    rows = index.rows.indices[index.rows.indptr[d] : index.rows.indptr[d + 1]]
    informative = np.array(list(asked.informative.values()), int)
    evidence = np.array(
        [index.row_idf[np.intersect1d(_entries(index.terms.counts, r)[0], informative)].sum() for r in rows]
    )
    best = int(rows[int(np.argmax(evidence))])
    texts = result.corpus.texts
    if texts is None:
        return best, ""
    marks = {form: float(index.row_idf[column]) for form, column in asked.forms.items()}
    if not evidence.max(initial=0.0):
        marks |= {word: 1.0 for j in linked for word in top_words(result, j + 1, _MARKERS)}
    return best, telling_passage(texts[best], marks)


def _forms(informative: dict[str, int], stems: dict[int, str]) -> dict[str, int]:
    """Return the beginnings that find a query's words in a text: as written, and their stems.

    >>> _forms({"taxes": 0, "economies": 1}, {0: "tax", 1: "economi"})
    {'taxes': 0, 'economies': 1, 'tax': 0, 'econom': 1}
    """
    return informative | {stems[column].removesuffix("i"): column for column in informative.values()}
