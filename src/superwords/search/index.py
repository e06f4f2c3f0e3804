"""Search: documents that contain a query's words, or use the same concepts as documents that do.

The score of document d is (1 − a) · own(d) + a · Σ_n s_dn own(n) over its nearest documents n (`nearest`). own(d) adds
BM25 over the words of the texts and the probability of the query's words under the document's concepts, each divided
by its standard deviation over the documents. `known_item_share` chooses the share a from the corpus alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.preprocessing import normalize

from superwords.analysis.documents import expected_words, mean_weights, telling_passage, titles
from superwords.analysis.prevalence import once
from superwords.analysis.tables import automatic_names, of_sources, sources, top_words
from superwords.errors import InputError, whole_number
from superwords.posterior.result import Result
from superwords.search.terms import bm25, find_words, inverse_document_frequency, query_terms, read_terms
from superwords.text.languages import meaningful_nouns, stop_words

COLUMNS = ["document", "score", "title", "words", "concepts", "concept_names", "near", "passage"]
CONCEPT_SHARE = 0.1  # of a document's own score
_MOST_LINKS, _MOST_NEAR = 3, 2
_LEAST_LINK = 0.1
_MATCHING = 20
_MARKERS = 5
_INFORMATIVE = np.log(2.0)  # idf of a term that half of the rows contain
N_NEAREST = 5
_CANDIDATES = 50
_BLOCK = 256
# Documents, as a share or a number: more frequent terms discriminate little and cost most.
_COMMON, _MOST = 0.5, 5_000
NEAR_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
N_ITEMS, N_TERMS = 200, 8
_FEWEST_ITEMS, _FEWEST_TERMS = 10, 4
_DEFAULT_SHARE = 0.5  # where there are too few documents to choose by


class Catalog(NamedTuple):
    """Documents with their weights, and the names of the concepts."""

    ids: list[str]
    titles: list[str]
    weights: sparse.csr_array  # (documents, J)
    names: list[str]


@once
def documents_searched(result: Result) -> Catalog:
    return Catalog(sources(result.corpus)[0], titles(result), mean_weights(result), automatic_names(result))


def catalog(result: Result) -> Catalog:
    """Return the documents of a result; decisions that hide no concept share those of the draws."""
    made = documents_searched(result.sampled if result.sampled is not None and not result.excluded else result)
    return made._replace(names=[result.names.get(j, name) for j, name in enumerate(made.names, 1)])


class SearchIndex:
    """Compute the arrays that a search reads. Rows are documents."""

    def __init__(self, result: Result) -> None:
        self.terms = read_terms(result.corpus)  # of the corpus's rows
        self.rows = of_sources(result.corpus)  # (documents, rows)
        # Among rows, since a term of half the documents may still tell passages apart.
        self.row_idf = inverse_document_frequency(self.terms.counts)
        counts = sparse.csr_array(self.rows @ self.terms.counts)
        idf = inverse_document_frequency(counts)
        self.has = bm25(counts, idf)  # (documents, terms)
        self.words = sparse.csc_array(self.has)
        expected = expected_words(result)
        self.word_idf = inverse_document_frequency(sparse.csr_array(self.rows @ result.corpus.counts))
        self.near = nearest(self.has, expected)  # (documents, documents)
        self.near_share = known_item_share(counts, self.has, idf, expected, self.near)
        # (documents, V) expected words times their idf, of length 1. In place and in single precision: for many
        # documents this is the largest part of the index.
        expected.data *= self.word_idf.astype(np.float32)[expected.indices]
        self.likely = sparse.csc_array(normalize(expected, copy=False))


@once
def search_index(result: Result) -> SearchIndex:
    """Return the index of a result: the ranking is that of the draws, whatever people decided."""
    return SearchIndex(result) if result.sampled is None else search_index(result.sampled)


def search(result: Result, query: str, n: int = 10) -> pd.DataFrame:
    """Return the documents that match a query, the best first, each with the reasons.

    Parameters
    ----------
    query : str
    n : int, at most

    Returns
    -------
    DataFrame
        `words` are those of the query that the document contains, except those that half of all rows contain,
        `concepts` those that link it to the query, the strongest first, `near` the similar documents that add most to
        its score, `passage` the most relevant excerpt. Documents that score 0 are left out.

    Examples
    --------
    >>> list(model.search("coffee", n=3).columns[:2])
    ['document', 'score']
    """
    return Search(result, query).hits(n)[COLUMNS]


def search_page(result: Result, query: str, n: int = 10) -> dict[str, Any]:
    """Return a search as plain JSON: `query`, `unknown` (words in no document), `concepts` and `hits`.

    A concept is {concept, name, share}; a hit is a row of `search` with its passage's `row`.
    """
    found = Search(result, query)
    names, profile, total = found.documents.names, found.profile, max(float(found.profile.sum()), 1e-12)
    spoken = [j for j in np.argsort(-profile, kind="stable")[:_MARKERS] if profile[j] > _LEAST_LINK * total]
    return {
        "query": query,
        "unknown": found.unknown,
        "concepts": [{"concept": int(j) + 1, "name": names[j], "share": float(profile[j] / total)} for j in spoken],
        "hits": found.hits(n).to_dict("records"),
    }


class Search:
    """Score all documents by a query, and give the reasons of the best."""

    def __init__(self, result: Result, query: str) -> None:
        if not isinstance(query, str):
            raise InputError(f"query={query!r} is not text; give a few words to look for.")
        if not query.strip():
            raise InputError("The query is empty; give a few words to look for.")
        self.result, self.index, self.documents = result, search_index(result), catalog(result)
        index = self.index
        found = query_terms(query, index.terms.tokenizer)
        self.unknown = [word for word, term in found if term not in index.terms.columns]
        known = [(word, term, index.terms.columns[term]) for word, term in found if term in index.terms.columns]
        written = {word: column for word, _, column in known}
        # Stop words of the texts' language may be rare in short rows.
        language = (result.corpus.notes.get("recipe") or {}).get("language")
        ignored = stop_words(language) - meaningful_nouns(language) if language else frozenset()
        # Columns of its words, except stop words and those of half of the rows, and their beginnings in a text: as
        # written, and their stems.
        self.informative = {
            word: column
            for word, column in written.items()
            if index.row_idf[column] > _INFORMATIVE and word.lower() not in ignored
        } or written
        stems = {column: term.removesuffix("i") for _, term, column in known}
        self.forms = self.informative | {stems[column]: column for column in self.informative.values()}
        times = Counter(column for _, _, column in known)
        by_words = index.words[:, np.array(list(times), int)] @ np.array(list(times.values()), float)
        asked = find_words(result.corpus, query)
        word = np.flatnonzero(asked)
        by_concepts = index.likely[:, word] @ (asked[word] * index.word_idf[word])
        # By the documents' own words and concepts, and with those of their nearest documents.
        self.own = (1 - CONCEPT_SHARE) * _scaled(by_words) + CONCEPT_SHARE * _scaled(by_concepts)
        self.score = (1 - index.near_share) * self.own + index.near_share * (index.near @ self.own)
        self.profile = _profile(self.documents.weights, self.own)

    def hits(self, n: int) -> pd.DataFrame:
        """Return the table of `search` with the rows of the passages."""
        order = np.argsort(-self.score, kind="stable")[: whole_number("n", n)]
        best = order[self.score[order] > 0]
        table = pd.DataFrame([self._hit(int(d)) for d in best], columns=pd.Index([*COLUMNS, "row"]))
        return table.assign(score=self.score[best].astype(float))

    def _hit(self, d: int) -> dict[str, Any]:
        documents = self.documents
        concept, weight = _entries(documents.weights, d)
        link = weight * self.profile[concept]
        strong = np.argsort(-link, kind="stable")[:_MOST_LINKS]
        linked = concept[strong[link[strong] > _LEAST_LINK * max(float(link.sum()), 1e-12)]].tolist()
        has = set(_entries(self.index.has, d)[0].tolist())
        other, share = _entries(self.index.near, d)
        gives = share * self.own[other] * (other != d)
        givers = [int(other[k]) for k in np.argsort(-gives, kind="stable")[:_MOST_NEAR] if gives[k] > 0]
        row, passage = self._passage(d, linked)
        return {
            "document": documents.ids[d],
            "row": row,
            "title": documents.titles[d],
            "words": [word for word, column in self.informative.items() if column in has],
            "concepts": [j + 1 for j in linked],
            "concept_names": [documents.names[j] for j in linked],
            "near": [documents.ids[one] for one in givers],
            "passage": passage,
        }

    def _passage(self, d: int, linked: list[int]) -> tuple[int, str]:
        """Return the row of a document that matches the query best, and its best excerpt."""
        index, rows = self.index, _entries(self.index.rows, d)[0]
        informative = np.array(list(self.informative.values()), int)
        terms = (_entries(index.terms.counts, r)[0] for r in rows)
        evidence = np.array([index.row_idf[np.intersect1d(one, informative)].sum() for one in terms])
        best = int(rows[int(np.argmax(evidence))])
        texts = self.result.corpus.texts
        if texts is None:
            return best, ""
        marks = {form: float(index.row_idf[column]) for form, column in self.forms.items()}
        if not evidence.max(initial=0.0):
            marks |= {word: 1.0 for j in linked for word in top_words(self.result, j + 1, _MARKERS)}
        return best, telling_passage(texts[best], marks)


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


def _entries(matrix: sparse.csr_array, row: int) -> tuple[np.ndarray, np.ndarray]:
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[part], matrix.data[part]


def nearest(
    words: sparse.csr_array,
    expected: sparse.csr_array,
    which: np.ndarray | None = None,
    own_words: sparse.csr_array | None = None,
) -> sparse.csr_array:
    """Return (D, D): the shares of each document's nearest others, or of itself where it has none.

    Similarity is the cosine of the terms' weights (`words`, such as BM25's) times the affinity Σ_i √(p(i|d) p(i|d')) of
    the `expected` words (D, V): near documents share rare words and use the same concepts. The rows may be those of
    some documents, `which`, with other terms, `own_words`.

    >>> words = sparse.csr_array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> nearest(words, words / 2).toarray().round(2).tolist()
    [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    """
    n_documents, n_terms = words.shape
    which = np.arange(n_documents) if which is None else which
    holders = np.bincount(words.indices, minlength=n_terms)
    rare = np.flatnonzero(holders <= max(min(_COMMON * n_documents, _MOST), 10))  # all of a tiny corpus
    others = normalize(words[:, rare]).T.tocsr()
    rows = normalize((words if own_words is None else own_words)[:, rare])
    root = sparse.csr_array(expected.sqrt())
    found, shares = [], []
    for start in range(0, len(which), _BLOCK):
        cosine = sparse.csr_array(rows[start : start + _BLOCK] @ others)
        for r, own in enumerate(which[start : start + _BLOCK]):
            other, value = _entries(cosine, r)
            other, value = other[other != own], value[other != own]
            if len(other) > _CANDIDATES:
                best = np.argpartition(-value, _CANDIDATES - 1)[:_CANDIDATES]
                other, value = other[best], value[best]
            value = value * (root[other] @ root[[own]].toarray().ravel())
            best = np.lexsort((other, -value))[:N_NEAREST]
            other, value = other[best], value[best]
            total = value.sum()
            found.append(other if total > 0 else [own])
            shares.append((value / total if total > 0 else np.ones(1)).astype(np.float32))
    pointers = np.cumsum([0, *map(len, found)])
    near = sparse.csr_array((np.concatenate(shares), np.concatenate(found), pointers), (len(which), n_documents))
    near.sort_indices()
    near.eliminate_zeros()
    return near


def known_item_share(
    counts: sparse.csr_array,
    words: sparse.csr_array,
    idf: np.ndarray,
    expected: sparse.csr_array,
    near: sparse.csr_array,
) -> float:
    """Return the weight of similar documents in a score, chosen by known-item search.

    For up to 200 documents, eight terms drawn by tf-idf (at most half of its terms) form a query and are removed from
    the document once. The result is the largest of `NEAR_SHARES` at which the mean reciprocal rank of the documents is
    within one standard error of the best.
    """
    rng = np.random.default_rng(0)
    which = np.flatnonzero(np.diff(counts.indptr) >= _FEWEST_TERMS)
    if len(which) < _FEWEST_ITEMS:
        return _DEFAULT_SHARE
    which = np.sort(rng.choice(which, min(N_ITEMS, len(which)), replace=False))
    query = sparse.vstack([_sample_terms(counts[[d]], idf, rng) for d in which], format="csr")
    rest = sparse.csr_array(counts[which] - query)
    rest.eliminate_zeros()
    reduced = bm25(rest, idf, float(counts.sum() / counts.shape[0]))
    own = np.asarray((query @ words.T).todense())
    at = np.arange(len(which))
    own[at, which] = np.asarray(query.multiply(reduced).sum(axis=1)).ravel()
    from_near = np.asarray((near @ own.T).T)
    reduced_near = nearest(words, expected, which, reduced)
    from_near[at, which] = np.asarray(reduced_near.multiply(own).sum(axis=1)).ravel()
    found = []
    for share in NEAR_SHARES:
        score = (1 - share) * own + share * from_near
        found.append(1 / (1 + (score > score[at, which][:, None]).sum(axis=1)))
    mean = np.mean(found, axis=1)
    best = int(np.argmax(mean))
    error = float(np.std(found[best]) / np.sqrt(len(which)))
    return max(share for share, value in zip(NEAR_SHARES, mean) if value >= mean[best] - error)


def _sample_terms(row: sparse.csr_array, idf: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
    weight = row.data * idf[row.indices]
    n_terms = min(N_TERMS, len(weight) // 2)
    chosen = rng.choice(row.indices, n_terms, replace=False, p=weight / weight.sum())
    ones = np.ones(len(chosen))
    return sparse.csr_array((ones, (np.zeros(len(chosen), int), chosen)), shape=row.shape)
