"""Discovery: documents that together cover a collection, and documents a reader may like.

Coverage follows El-Arini, Veda, Shahaf and Guestrin (2009): a set A of documents covers concept j with probability
1 − Π_{d in A} (1 − w_dj), w the weights of the documents' concepts, and is worth Σ_j v_j of that, v the concepts'
shares of the collection (or what a reader's judgements taught). The worth is submodular, so taking the document that
adds most, again and again, comes within 1 − 1/e of the best set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit
from scipy.stats import norm

from superwords.concepts.means import document_names, mean_weights, titles
from superwords.concepts.ranking import names
from superwords.concepts.searching import whole_number
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.concepts.result import Result

DIVERSE_COLUMNS = ["document", "adds", "covered", "title", "concepts", "concept_names"]
RECOMMENDED_COLUMNS = ["document", "score", "low", "high", "title", "concepts", "concept_names"]
TASTE_COLUMNS = ["concept", "name", "taste", "low", "high", "sure"]
_MOST_NAMED, _LEAST_NAMED = 3, 0.05
_SPREAD = (
    3.0  # prior standard deviation of a concept's effect, in log odds per standard deviation of its weight
)
_DIVERSITY = 0.2  # of a recommendation's worth
_Z = 1.959964


class Catalogue(NamedTuple):
    """The documents and their weights; made once for a result."""

    ids: list[str]
    titles: list[str]
    weights: sparse.csr_array  # (documents, J)
    names: list[str]  # of the concepts


def catalogue(result: Result) -> Catalogue:
    """Documents with the mean over the draws of their weights, made on first use and kept with the result."""
    if "discovery" not in result.__dict__:
        plain = names(result.summary.words, result.n_concepts, result.corpus.vocabulary)
        result.remember(
            discovery=Catalogue(document_names(result)[0], titles(result), mean_weights(result), plain)
        )
    made: Catalogue = result.__dict__["discovery"]
    given = [result.names.get(j + 1, name) for j, name in enumerate(made.names)]
    return made._replace(names=given)


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
    >>> model = ConceptModel(n_chains=1, n_sweeps=40, random_state=0).fit(Corpus.from_counts(counts), features=None)
    >>> sorted(int(one) // 5 for one in diverse(model.result_, 2)["document"])
    [0, 1]
    """
    documents = catalogue(result)
    rows = _rows(documents, among, "among")
    weights = sparse.csr_array(documents.weights[rows])
    shares = np.asarray(weights.mean(axis=0)).ravel()
    worth = shares / max(float(shares.sum()), 1e-12)
    left, open_, out, covered = np.ones(len(worth)), np.ones(len(rows), bool), [], 0.0
    for _ in range(min(whole_number(n), len(rows))):
        gains = weights @ (worth * left)
        best = int(np.argmax(np.where(open_, gains, -1.0)))
        covered += float(gains[best])
        adds = _row(weights, best) * worth * left
        out.append((documents, rows[best], float(gains[best]), covered, adds))
        left, open_[best] = left * (1 - _row(weights, best)), False
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
    """A Gaussian posterior of what a reader's judgements say of the concepts, by Laplace's approximation."""

    mean: np.ndarray  # (J + 1) effects per standard deviation of a weight; the intercept last
    covariance: np.ndarray
    scale: np.ndarray  # (J) standard deviations of the weights' square roots


def recommend(
    result: Result, liked: Sequence[Any] = (), disliked: Sequence[Any] = (), n: int = 10
) -> pd.DataFrame:
    """Documents for a reader who liked some and disliked others, not all of one kind.

    How much each concept adds to the odds of liking a document is learnt by a Bayesian logistic regression on the
    square roots of the weights. All other documents together count as one that was disliked, so that likes alone
    teach something. A recommendation is worth its probability and, by a fifth, what it adds to the liked concepts
    that the documents above it do not cover yet.

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
        The best first: `document`, `score` (the probability that it is liked), `low` and `high` (its 95% interval),
        `title`, `concepts` (numbers of those that speak most for it) and `concept_names`. Judged ones are left out.

    Examples
    --------
    >>> from superwords import ConceptModel, Corpus
    >>> counts = [[4, 4, 0, 0]] * 5 + [[0, 0, 4, 4]] * 5
    >>> model = ConceptModel(n_chains=1, n_sweeps=40, random_state=0).fit(Corpus.from_counts(counts), features=None)
    >>> sorted(recommend(model.result_, liked=["0"], disliked=["9"], n=4)["document"])
    ['1', '2', '3', '4']
    """
    documents = catalogue(result)
    yes, no = _judged(documents, liked, disliked)
    taste = learn_taste(documents.weights, yes, no)
    score, spread = _log_odds(documents.weights, taste)
    chosen = _ranked(documents.weights, expit(score), taste, np.concatenate([yes, no]), whole_number(n))
    effect = _effect(taste)
    table = [
        {
            "document": documents.ids[d],
            "score": float(expit(score[d])),
            "low": float(expit(score[d] - _Z * spread[d])),
            "high": float(expit(score[d] + _Z * spread[d])),
            "title": documents.titles[d],
            **_because(documents, np.sqrt(_row(documents.weights, d)) * np.maximum(effect, 0.0)),
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
        `concept`, `name`, `taste` (log odds of liking a document that is all about it, against one that never
        speaks of it), `low` and `high` (its 95% interval) and `sure` (the probability that the sign is right).
    """
    documents = catalogue(result)
    yes, no = _judged(documents, liked, disliked)
    taste = learn_taste(documents.weights, yes, no)
    mean = _effect(taste)
    spread = np.sqrt(np.diag(taste.covariance)[:-1]) / taste.scale
    order = np.argsort(-mean, kind="stable")
    table = {
        "concept": order + 1,
        "name": [documents.names[j] for j in order],
        "taste": mean[order],
        "low": (mean - _Z * spread)[order],
        "high": (mean + _Z * spread)[order],
        "sure": norm.cdf(np.abs(mean) / np.maximum(spread, 1e-12))[order],
    }
    return pd.DataFrame(table, columns=pd.Index(TASTE_COLUMNS))


def learn_taste(weights: sparse.csr_array, liked: np.ndarray, disliked: np.ndarray) -> Taste:
    """The posterior of a reader's taste by Newton's method; see `recommend`."""
    root = sparse.csr_array(weights.sqrt())
    n_documents, n_concepts = root.shape
    mean = np.asarray(root.mean(axis=0)).ravel()
    square = np.asarray(root.multiply(root).mean(axis=0)).ravel()
    scale = np.sqrt(np.maximum(square - mean**2, 1e-6))
    x = np.hstack([root.toarray() / scale, np.ones((n_documents, 1))])
    y, count = np.zeros(n_documents), np.full(n_documents, 1.0 / n_documents)
    y[liked] = 1.0
    count[np.concatenate([liked, disliked])] = 1.0
    precision = np.full(n_concepts + 1, 1.0 / _SPREAD**2)
    precision[-1] = 1e-2
    beta = np.zeros(n_concepts + 1)
    for _ in range(50):
        p = expit(x @ beta)
        gradient = x.T @ (count * (y - p)) - precision * beta
        hessian = (x * (count * p * (1 - p))[:, None]).T @ x + np.diag(precision)
        step = np.linalg.solve(hessian, gradient)
        beta += step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    return Taste(beta, np.linalg.inv(hessian), scale)


def _effect(taste: Taste) -> np.ndarray:
    """(J) In log odds of a document that is all about a concept."""
    return taste.mean[:-1] / taste.scale


def _log_odds(weights: sparse.csr_array, taste: Taste) -> tuple[np.ndarray, np.ndarray]:
    """The log odds that each document is liked, and their standard deviations."""
    root = sparse.csr_array(weights.sqrt()).toarray() / taste.scale
    x = np.hstack([root, np.ones((len(root), 1))])
    return x @ taste.mean, np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", x, taste.covariance, x), 0.0))


def _ranked(
    weights: sparse.csr_array, probability: np.ndarray, taste: Taste, judged: np.ndarray, n: int
) -> list[int]:
    """Documents by probability and by what they add to the liked concepts, without the judged ones."""
    worth = np.maximum(_effect(taste), 0.0)
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
            raise InputError(
                f"{name}: the table has no column 'document'; give ids, or a table that search gives."
            )
        which = which["document"]
    if isinstance(which, str) or not isinstance(which, Iterable):
        raise InputError(f"{name}={which!r} is not a list of documents; give their ids in a list.")
    number = {one: d for d, one in enumerate(documents.ids)}
    wanted = [str(one) for one in which]
    unknown = [one for one in wanted if one not in number]
    if unknown:
        raise InputError(
            f"{name}: there is no document {unknown[0]!r}; ids are like {documents.ids[0]!r} "
            "(model.documents() lists them)."
        )
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
