"""Discovery: documents that together cover a collection, and documents a reader may like.

Coverage follows El-Arini, Veda, Shahaf and Guestrin (2009): a set A of documents covers concept j with probability
1 − Π_{d in A} (1 − p_dj), and its value is Σ_j v_j of that, v the concepts' shares of the collection (or a reader's
preferences). The value is submodular, so greedy selection comes within 1 − 1/e of the best set. p_dj is the probability
that one of three places in the document is about j, 1 − (1 − w_dj)^3 with its weight w_dj. With w alone a document on
one concept would be worth as much as one on three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import norm
from sklearn.preprocessing import normalize

from superwords.analysis.documents import concept_profiles, expected_words
from superwords.analysis.prevalence import once
from superwords.analysis.tables import of_shown
from superwords.errors import InputError, whole_number
from superwords.posterior.result import Result
from superwords.search.index import Catalog, catalog, search_index

DIVERSE_COLUMNS = ["document", "adds", "covered", "title", "concepts", "concept_names"]
RECOMMENDED_COLUMNS = ["document", "score", "taste", "low", "high", "title", "concepts", "concept_names"]
TASTE_COLUMNS = ["concept", "name", "taste", "low", "high", "sure"]
_MOST_NAMED, _LEAST_NAMED = 3, 0.05
_PLACES = 3  # that a reader sees of a document; chosen on conventions and news (docs/lab/research.md)
_DIVERSITY = 0.2  # weight in a recommendation's value
_CONCEPTS = 0.4  # of the prior variance of a reader's taste; the rest are the words themselves
_CONSTANT, _NOISE = 0.3, 0.5  # prior variance of a reader's mean taste, and variance of a judgement
_Z = 1.959964


class View(NamedTuple):
    """Represent documents by rows of numbers, centred and scaled implicitly."""

    values: sparse.csr_array  # (D, …)
    mean: np.ndarray
    scale: float  # mean squared length of a centred row
    share: float  # of the prior variance of a reader's taste

    def covariances(self, rows: sparse.csr_array) -> np.ndarray:
        """Return the prior covariances (D, n) of all documents with other rows."""
        plain = np.asarray((self.values @ rows.T).toarray())
        middle = self.values @ self.mean
        theirs = rows @ self.mean
        return self.share * ((plain - middle[:, None] - theirs[None, :] + self.mean @ self.mean) / self.scale)

    def variances(self, rows: sparse.csr_array) -> np.ndarray:
        """Return the prior variances (n) of rows."""
        square = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        return self.share * ((square - 2 * (rows @ self.mean) + self.mean @ self.mean) / self.scale)


def make_view(values: sparse.csr_array, share: float) -> View:
    mean = np.asarray(values.mean(axis=0)).ravel()
    square = float(values.multiply(values).sum()) / max(values.shape[0], 1)
    return View(values, mean, max(square - float(mean @ mean), 1e-12), share)


@once
def taste_views(result: Result) -> tuple[View, View]:
    """Return the documents' expected words (square roots) and BM25 weights, as taste sees them.

    Both are those of the draws, so that decisions recompute nothing.
    """
    if result.sampled is not None:
        return taste_views(result.sampled)
    expected, has = expected_words(result).sqrt(), normalize(search_index(result).has)
    return make_view(sparse.csr_array(expected), _CONCEPTS), make_view(sparse.csr_array(has), 1 - _CONCEPTS)


def diverse(result: Result, n: int, among: Iterable[Any] | pd.DataFrame | None = None) -> pd.DataFrame:
    """Return documents that together cover the concepts of a collection, or of a part of it.

    Parameters
    ----------
    n : int, at most
    among : iterable of str or DataFrame, optional
        Ids of the documents to choose from and to cover, or a table with a column `document`; all by default.

    Returns
    -------
    DataFrame
        In the order of selection; `adds` is a document's contribution to the share covered, `covered` the share covered
        so far, `concepts` those it adds most to.

    Examples
    --------
    >>> len(model.diverse(2))
    2
    """
    documents = catalog(result)
    rows = np.arange(len(documents.ids)) if among is None else _rows(documents, among, "among")
    weights = sparse.csr_array(documents.weights[rows])
    covers = weights.copy()
    covers.data = 1 - (1 - np.clip(weights.data, 0.0, 1.0)) ** _PLACES
    shares = np.asarray(weights.mean(axis=0)).ravel()
    value = shares / max(float(shares.sum()), 1e-12)
    chosen = _greedy(covers, value, whole_number("n", n), np.ones(len(rows), bool))
    table = [
        {"document": documents.ids[d], "adds": gain, "title": documents.titles[d], **_because(documents, adds)}
        for d, gain, adds in ((rows[best], gain, adds) for best, gain, adds in chosen)
    ]
    frame = pd.DataFrame(table, columns=pd.Index(DIVERSE_COLUMNS))
    frame["covered"] = frame["adds"].astype(float).cumsum()
    return frame


class Taste:
    """Learn a linear model of a reader's taste f from judgements of +1 or −1.

    f(d) = f_c(d) + f_w(d) + a constant, f_c linear in the square roots of the words expected of d under its concepts,
    f_w in the words' BM25 weights, both centred over the documents, with Gaussian priors. Only the judged documents
    enter, so only their inner products with the others are needed.
    """

    def __init__(self, views: Sequence[View], liked: np.ndarray, disliked: np.ndarray) -> None:
        self.views, self.judged = views, np.concatenate([liked, disliked])
        judgement = np.concatenate([np.ones(len(liked)), -np.ones(len(disliked))])
        shared = sum(one.covariances(one.values[self.judged]) for one in views)
        self._with_judged = np.asarray(shared) + _CONSTANT
        self._inverse = np.linalg.inv(self._with_judged[self.judged] + _NOISE * np.eye(len(self.judged)))
        self._alpha = self._inverse @ judgement

    def of_documents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation (D) of f."""
        own = np.asarray(sum(one.variances(one.values) for one in self.views))
        return self._posterior(self._with_judged, own + _CONSTANT)

    def of_concepts(self, result: Result) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation (J) of f_c for a document about one concept."""
        view, profiles = self.views[0], sparse.csr_array(concept_profiles(result).sqrt())
        return self._posterior(view.covariances(profiles)[self.judged].T, view.variances(profiles))

    def _posterior(self, with_judged: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation from prior covariances and variances."""
        explained = np.einsum("ij,jk,ik->i", with_judged, self._inverse, with_judged)
        return with_judged @ self._alpha, np.sqrt(np.maximum(own - explained, 0.0))


def recommend(result: Result, liked: Sequence[Any] = (), disliked: Sequence[Any] = (), n: int = 10) -> pd.DataFrame:
    """Return diverse documents for a reader who liked some and disliked others.

    A reader's taste is learnt by Bayesian linear regression on the words expected under the documents' concepts and on
    the words they contain. A document's rank depends on its probability of being liked and, with a weight of one fifth,
    on what it adds to the liked concepts that higher ranks do not cover yet.

    Parameters
    ----------
    liked, disliked : sequence of str
        Ids of documents that were judged.
    n : int, at most

    Returns
    -------
    DataFrame
        The best first, without those judged; `score` is the probability that a document is liked rather than disliked,
        `taste` how much it is liked on a scale where a liked document is 1, with a 95% interval, `concepts` those that
        contribute most.

    Examples
    --------
    >>> len(model.recommend(liked=["0"], n=3))
    3
    """
    documents = catalog(result)
    taste = Taste(taste_views(result), *_judged(documents, liked, disliked))
    mean, spread = taste.of_documents()
    probability = norm.cdf(mean / np.sqrt(spread**2 + _NOISE))
    of_concepts = taste.of_concepts(result)[0]
    worth = np.maximum(of_concepts, 0.0)
    worth = _DIVERSITY * worth / max(float(worth.max(initial=0.0)), 1e-12)
    others = np.isin(np.arange(len(probability)), taste.judged, invert=True)
    base = (1 - _DIVERSITY) * probability
    chosen = _greedy(documents.weights, worth, whole_number("n", n), others, base)
    table = [
        {
            "document": documents.ids[d],
            "score": float(probability[d]),
            "taste": float(mean[d]),
            "low": float(mean[d] - _Z * spread[d]),
            "high": float(mean[d] + _Z * spread[d]),
            "title": documents.titles[d],
            **_because(documents, _row(documents.weights, d) * np.maximum(of_concepts, 0.0)),
        }
        for d, _, _ in chosen
    ]
    return pd.DataFrame(table, columns=pd.Index(RECOMMENDED_COLUMNS))


def tastes(result: Result, liked: Sequence[Any] = (), disliked: Sequence[Any] = ()) -> pd.DataFrame:
    """Return what judgements imply for each concept, the most liked first.

    Parameters
    ----------
    liked, disliked : sequence of str
        Ids of documents that were judged.

    Returns
    -------
    DataFrame
        `taste` is how much a document about nothing else would be liked, on a scale where a liked document is 1, with a
        95% interval, `sure` the probability that its sign is right.

    Examples
    --------
    >>> len(model.tastes(liked=["0"])) > 0
    True
    """
    documents = catalog(result)
    taste = Taste(taste_views(result), *_judged(documents, liked, disliked))
    mean, spread = taste.of_concepts(result)
    order = np.argsort(-mean, kind="stable")
    table = {
        "concept": order + 1,
        "name": [documents.names[j] for j in order],
        "taste": mean[order],
        "low": (mean - _Z * spread)[order],
        "high": (mean + _Z * spread)[order],
        "sure": norm.cdf(np.abs(mean) / np.maximum(spread, 1e-12))[order],
    }
    return of_shown(result, pd.DataFrame(table, columns=pd.Index(TASTE_COLUMNS)))


def _greedy(
    covers: sparse.csr_array, value: np.ndarray, n: int, available: np.ndarray, base: np.ndarray | float = 0.0
) -> Iterator[tuple[int, float, np.ndarray]]:
    """Yield the available document of the largest gain, n times, with its gain and what it adds to each concept.

    The gain is `base` and the value of what it covers and those before it do not.
    """
    uncovered, available = np.ones(len(value)), available.copy()
    for _ in range(min(n, int(available.sum()))):
        gains = base + covers @ (value * uncovered)
        best = int(np.argmax(np.where(available, gains, -np.inf)))
        row = _row(covers, best)
        yield best, float(gains[best]), row * value * uncovered
        uncovered, available[best] = uncovered * (1 - row), False


def _rows(documents: Catalog, which: Any, name: str, least: int = 1) -> np.ndarray:
    """Return the numbers of the documents with these ids."""
    if which is None:
        which = ()
    if isinstance(which, pd.DataFrame):
        if "document" not in which:
            raise InputError(f"{name}: the table has no column 'document'; give ids, or a table from search.")
        which = which["document"]
    if isinstance(which, str) or not isinstance(which, Iterable):
        raise InputError(f"{name}={which!r} is not a list of documents; give their ids in a list.")
    number = {one: d for d, one in enumerate(documents.ids)}
    ids = [str(one) for one in which]
    unknown = [one for one in ids if one not in number]
    if unknown:
        raise InputError(f"{name}: there is no document {unknown[0]!r}; ids are like {documents.ids[0]!r}.")
    if len(ids) < least:
        raise InputError(f"{name} names no document; give at least one id.")
    return np.unique(np.array([number[one] for one in ids], int))


def _judged(documents: Catalog, liked: Any, disliked: Any) -> tuple[np.ndarray, np.ndarray]:
    yes, no = _rows(documents, liked, "liked", least=0), _rows(documents, disliked, "disliked", least=0)
    if not len(yes) and not len(no):
        raise InputError("No judgement is given; give the ids of documents that are liked, or disliked.")
    both = np.intersect1d(yes, no)
    if len(both):
        raise InputError(f"Document {documents.ids[both[0]]!r} is both liked and disliked; leave it in one list.")
    return yes, no


def _row(weights: sparse.csr_array, d: int) -> np.ndarray:
    return weights[[d]].toarray().ravel()


def _because(documents: Catalog, evidence: np.ndarray) -> dict[str, Any]:
    """Return the concepts that contribute most, for a row of a table."""
    total = float(evidence.sum())
    strong = [int(j) for j in np.argsort(-evidence, kind="stable")[:_MOST_NAMED] if evidence[j] > _LEAST_NAMED * total]
    return {"concepts": [j + 1 for j in strong], "concept_names": [documents.names[j] for j in strong]}
