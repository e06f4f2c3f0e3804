"""Discovery: documents that together cover a collection, and documents a reader may like.

Coverage follows El-Arini, Veda, Shahaf and Guestrin (2009): a set A of documents covers concept j with probability
1 − Π_{d in A} (1 − p_dj), and is worth Σ_j v_j of that, v the concepts' shares of the collection (or what a reader's
judgements taught). The worth is submodular, so taking the document that adds most, again and again, comes within
1 − 1/e of the best set. p_dj is the probability that one of three places in the document speaks of j, 1 − (1 − w_dj)^3
with its weight w_dj. With w alone a document of one concept would be worth as much as one that speaks of three.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import norm
from sklearn.preprocessing import normalize

from superwords.concepts.catalogue import Catalogue, catalogue
from superwords.concepts.means import concept_profiles, expected_words
from superwords.concepts.searching import search_index
from superwords.concepts.tables import of_shown, whole_number
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.concepts.result import Result

DIVERSE_COLUMNS = ["document", "adds", "covered", "title", "concepts", "concept_names"]
RECOMMENDED_COLUMNS = ["document", "score", "taste", "low", "high", "title", "concepts", "concept_names"]
TASTE_COLUMNS = ["concept", "name", "taste", "low", "high", "sure"]
_MOST_NAMED, _LEAST_NAMED = 3, 0.05
_PLACES = 3  # that a reader looks at in a document; chosen on conventions and news (docs/lab/research.md)
_DIVERSITY = 0.2  # of a recommendation's worth
_CONCEPTS = 0.4  # of the prior variance of a reader's taste; the rest are the words themselves
_CONSTANT, _NOISE = 0.3, 0.5  # prior variance of how much a reader likes anything at all; of a judgement
_Z = 1.959964


class View(NamedTuple):
    """One way to look at documents: rows of numbers, centred and scaled without being stored so."""

    values: sparse.csr_array  # (D, …)
    mean: np.ndarray
    scale: float  # mean squared length of a centred row
    share: float  # of the prior variance of a reader's taste

    def products(self, rows: sparse.csr_array) -> np.ndarray:
        """(D, n) Inner products of all documents with other rows, both centred."""
        plain = np.asarray((self.values @ rows.T).toarray())
        middle = self.values @ self.mean
        theirs = rows @ self.mean
        return (plain - middle[:, None] - theirs[None, :] + self.mean @ self.mean) / self.scale

    def norms(self, rows: sparse.csr_array) -> np.ndarray:
        """(n) Squared lengths of centred rows."""
        square = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        return (square - 2 * (rows @ self.mean) + self.mean @ self.mean) / self.scale


def make_view(values: sparse.csr_array, share: float) -> View:
    mean = np.asarray(values.mean(axis=0)).ravel()
    square = float(values.multiply(values).sum()) / max(values.shape[0], 1)
    return View(values, mean, max(square - float(mean @ mean), 1e-12), share)


def _documents(result: Result) -> Catalogue:
    """With the names that people gave."""
    made = catalogue(result)
    return made._replace(names=[result.names.get(j + 1, name) for j, name in enumerate(made.names)])


def taste_views(result: Result) -> tuple[View, View]:
    """How a reader's taste sees documents: words expected under their concepts (square roots), and words by BM25.

    As sampled, so that nothing is computed anew when people decide something.
    """
    if result.sampled is not None:
        return taste_views(result.sampled)
    if "taste_views" not in result.__dict__:
        expected, has = expected_words(result).sqrt(), normalize(search_index(result).has)
        views = (
            make_view(sparse.csr_array(expected), _CONCEPTS),
            make_view(sparse.csr_array(has), 1 - _CONCEPTS),
        )
        result.remember(taste_views=views)
    return result.__dict__["taste_views"]


def diverse(result: Result, n: int, among: Iterable[Any] | pd.DataFrame | None = None) -> pd.DataFrame:
    """n documents that together cover what a collection, or a part of it, speaks of.

    Parameters
    ----------
    result
        What a fit found.
    n
        At most so many documents.
    among
        Ids of the documents to choose from, or a table with a column `document` such as `search` gives; all
        documents by default. What is to be covered are the concepts of these documents.

    Returns
    -------
    pandas.DataFrame
        In the order they were chosen: `document`, `adds` (what it adds to the share that is covered), `covered` (that
        share with all documents so far), `title`, `concepts` (numbers of those it adds most of) and `concept_names`.

    Examples
    --------
    >>> from superwords import ConceptModel, Corpus
    >>> counts = [[4, 4, 0, 0]] * 5 + [[0, 0, 4, 4]] * 3
    >>> model = ConceptModel(b1=1, b2=1, n_chains=1, n_sweeps=40, random_state=0)
    >>> model = model.fit(Corpus.from_counts(counts), features=None)
    >>> sorted(int(one) // 5 for one in diverse(model.result_, 2)["document"])
    [0, 1]
    """
    documents = _documents(result)
    rows = _rows(documents, among, "among")
    weights = sparse.csr_array(documents.weights[rows])
    met = weights.copy()
    met.data = 1 - (1 - np.clip(weights.data, 0.0, 1.0)) ** _PLACES
    shares = np.asarray(weights.mean(axis=0)).ravel()
    worth = shares / max(float(shares.sum()), 1e-12)
    left, open_, out, covered = np.ones(len(worth)), np.ones(len(rows), bool), [], 0.0
    for _ in range(min(whole_number(n, "documents"), len(rows))):
        gains = met @ (worth * left)
        best = int(np.argmax(np.where(open_, gains, -1.0)))
        covered += float(gains[best])
        adds = _row(met, best) * worth * left
        out.append((documents, rows[best], float(gains[best]), covered, adds))
        left, open_[best] = left * (1 - _row(met, best)), False
    table = [
        {
            "document": one.ids[d],
            "adds": gain,
            "covered": total,
            "title": one.titles[d],
            **_because(one, adds),
        }
        for one, d, gain, total, adds in out
    ]
    return pd.DataFrame(table, columns=pd.Index(DIVERSE_COLUMNS))


class Taste(NamedTuple):
    """What judgements say: a linear model of what a reader likes, judged documents being +1 or −1, others 0 on average.

    f(d) = f_c(d) + f_w(d) + a constant, f_c linear in the square roots of the words expected of d under its concepts,
    f_w in the words' BM25 weights, both centred over the documents, with Gaussian priors. Only the judged documents
    enter, so all that is needed are their inner products with the others.
    """

    judged: np.ndarray
    inverse: np.ndarray  # (n, n) of the judgements' covariance
    alpha: np.ndarray  # (n) inverse · judgements


def recommend(
    result: Result, liked: Sequence[Any] = (), disliked: Sequence[Any] = (), n: int = 10
) -> pd.DataFrame:
    """Documents for a reader who liked some and disliked others, not all of one kind.

    What a reader likes is learnt by a Bayesian linear regression on the words that documents' concepts lead one to
    expect of them and on the words they have. A recommendation is worth its probability and, by a fifth, what it adds
    to the liked concepts that the documents above it do not cover yet.

    Parameters
    ----------
    result
        What a fit found.
    liked, disliked
        Ids of documents that were judged.
    n
        At most so many documents.

    Returns
    -------
    pandas.DataFrame
        The best first: `document`, `score` (the probability that it is liked rather than disliked), `taste` with `low`
        and `high` (how much it is liked, 1 being as much as what was marked, and its 95% interval), `title`,
        `concepts` (numbers of those that speak most for it) and `concept_names`. Judged documents are left out.

    Examples
    --------
    >>> from superwords import ConceptModel, Corpus
    >>> counts = [[4, 4, 0, 0]] * 5 + [[0, 0, 4, 4]] * 5
    >>> model = ConceptModel(n_chains=1, n_sweeps=40, random_state=0).fit(Corpus.from_counts(counts), features=None)
    >>> sorted(recommend(model.result_, liked=["0"], disliked=["9"], n=4)["document"])
    ['1', '2', '3', '4']
    """
    documents = _documents(result)
    yes, no = _judged(documents, liked, disliked)
    views = taste_views(result)
    taste = learn_taste(views, yes, no)
    with_judged = _products(views, taste.judged) + _CONSTANT
    mean, spread = _posterior(with_judged, _norms(views) + _CONSTANT, taste)
    probability = norm.cdf(mean / np.sqrt(spread**2 + _NOISE))
    of_concepts = _concept_tastes(result, taste)[0]
    chosen = _ranked(documents.weights, probability, of_concepts, taste.judged, whole_number(n, "documents"))
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
        for d in chosen
    ]
    return pd.DataFrame(table, columns=pd.Index(RECOMMENDED_COLUMNS))


def tastes(result: Result, liked: Sequence[Any] = (), disliked: Sequence[Any] = ()) -> pd.DataFrame:
    """What judgements taught of each concept, the most liked first.

    Parameters
    ----------
    result
        What a fit found.
    liked, disliked
        Ids of documents that were judged.

    Returns
    -------
    pandas.DataFrame
        `concept`, `name`, `taste` (how much a document that is all about it would be liked, 1 being as much as what
        was marked), `low` and `high` (its 95% interval) and `sure` (the probability that the sign is right).
    """
    documents = _documents(result)
    taste = learn_taste(taste_views(result), *_judged(documents, liked, disliked))
    mean, spread = _concept_tastes(result, taste)
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


def learn_taste(views: Sequence[View], liked: np.ndarray, disliked: np.ndarray) -> Taste:
    """The posterior given the judgements."""
    judged = np.concatenate([liked, disliked])
    says = np.concatenate([np.ones(len(liked)), -np.ones(len(disliked))])
    covariance = (_products(views, judged) + _CONSTANT)[judged] + _NOISE * np.eye(len(judged))
    inverse = np.linalg.inv(covariance)
    return Taste(judged, inverse, inverse @ says)


def _posterior(with_judged: np.ndarray, own: np.ndarray, taste: Taste) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of f, from prior covariances with the judged documents and prior variances."""
    explained = np.einsum("ij,jk,ik->i", with_judged, taste.inverse, with_judged)
    return with_judged @ taste.alpha, np.sqrt(np.maximum(own - explained, 0.0))


def _products(views: Sequence[View], which: np.ndarray) -> np.ndarray:
    """(D, n) Prior covariances of f between all documents and some, without the constant."""
    return np.asarray(sum(one.share * one.products(one.values[which]) for one in views))


def _norms(views: Sequence[View]) -> np.ndarray:
    """(D) Prior variances of f, without the constant."""
    return np.asarray(sum(one.share * one.norms(one.values) for one in views))


def _concept_tastes(result: Result, taste: Taste) -> tuple[np.ndarray, np.ndarray]:
    """(J) Mean and standard deviation of f_c of a document that is all about a concept."""
    view = taste_views(result)[0]
    profiles = sparse.csr_array(concept_profiles(result).sqrt())
    with_judged = view.share * view.products(profiles)[taste.judged].T
    return _posterior(with_judged, view.share * view.norms(profiles), taste)


def _ranked(
    weights: sparse.csr_array, probability: np.ndarray, of_concepts: np.ndarray, judged: np.ndarray, n: int
) -> list[int]:
    """Documents by probability and by what they add to the liked concepts, without the judged ones."""
    worth = np.maximum(of_concepts, 0.0)
    worth = worth / max(float(worth.max(initial=0.0)), 1e-12)
    open_ = np.ones(len(probability), bool)
    open_[judged] = False
    left, chosen = np.ones(len(worth)), []
    for _ in range(min(n, int(open_.sum()))):
        value = (1 - _DIVERSITY) * probability + _DIVERSITY * (weights @ (worth * left))
        best = int(np.argmax(np.where(open_, value, -np.inf)))
        chosen.append(best)
        left, open_[best] = left * (1 - _row(weights, best)), False
    return chosen


def _rows(documents: Catalogue, which: Any, name: str) -> np.ndarray:
    """Numbers of the documents with these ids; all where None."""
    if which is None:
        return np.arange(len(documents.ids))
    if isinstance(which, pd.DataFrame):
        if "document" not in which:
            raise InputError(f"{name}: the table has no column 'document'; give ids, or a table from search.")
        which = which["document"]
    if isinstance(which, str) or not isinstance(which, Iterable):
        raise InputError(f"{name}={which!r} is not a list of documents; give their ids in a list.")
    number = {one: d for d, one in enumerate(documents.ids)}
    wanted = [str(one) for one in which]
    unknown = [one for one in wanted if one not in number]
    if unknown:
        raise InputError(f"{name}: there is no document {unknown[0]!r}; ids are like {documents.ids[0]!r}.")
    if not wanted:
        raise InputError(f"{name} names no document; give at least one id.")
    return np.unique([number[one] for one in wanted])


def _judged(documents: Catalogue, liked: Any, disliked: Any) -> tuple[np.ndarray, np.ndarray]:
    none = np.zeros(0, int)
    yes = _rows(documents, liked, "liked") if not _is_empty(liked) else none
    no = _rows(documents, disliked, "disliked") if not _is_empty(disliked) else none
    if not len(yes) and not len(no):
        raise InputError("Nothing was judged; give the ids of documents that are liked, or disliked.")
    both = np.intersect1d(yes, no)
    if len(both):
        raise InputError(
            f"Document {documents.ids[both[0]]!r} is both liked and disliked; leave it in one list."
        )
    return yes, no


def _is_empty(which: Any) -> bool:
    return which is None or (hasattr(which, "__len__") and not isinstance(which, str) and len(which) == 0)


def _row(weights: sparse.csr_array, d: int) -> np.ndarray:
    return weights[[d]].toarray().ravel()


def _because(documents: Catalogue, evidence: np.ndarray) -> dict[str, Any]:
    """The concepts that count most, for a row of a table."""
    total = float(evidence.sum())
    strong = [
        int(j)
        for j in np.argsort(-evidence, kind="stable")[:_MOST_NAMED]
        if evidence[j] > _LEAST_NAMED * total
    ]
    return {"concepts": [j + 1 for j in strong], "concept_names": [documents.names[j] for j in strong]}
