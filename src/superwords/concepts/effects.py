"""How prevalence, or strength, depends on several columns at once: a linear regression with documents as its cases.

The coefficients are differences of prevalences (or of strengths), as in stm's `estimateEffect`: draws of who holds a
concept, for each a regression by statsmodels and a draw of its coefficients (variances robust to heteroscedasticity,
HC3), all pooled.
A document of several passages counts by the share of its passages that hold the concept.

The model knows nothing of the columns. Where a text leaves open whether it holds a concept, the sampler's draws follow
the overall prevalence, and regressions on them find effects that are too small. What the text says is the ratio of two
odds, those of the draws over those of the overall prevalence; here the columns take the place of the latter.
Regression and memberships are drawn in turn, so that the memberships are drawn given the columns, chain by chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.concepts.design import Design, make_design
from superwords.concepts.intervals import TAILS
from superwords.concepts.outcomes import Outcomes, outcomes_of
from superwords.concepts.tables import concept_names
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.concepts.result import Result

OUTCOMES = ("prevalence", "strength")
_ROUNDING = 1e-9
_SEED = 1785  # the draws are numerical integration: the same call gives the same table
_ROUNDS, _LEAST_ROUNDS, _WARM_UP, _DRAWN = 300, 100, 50, 4000  # rounds in all, and at least of each chain
_HALF = 0.5  # of a case: where all of a group hold a concept, or none, the next one still may not (Jeffreys' prior)
_LEAST = 0.005  # a linear probability stays so far from 0 and 1
_LEAST_PER_COLUMN = 3  # documents
_NO_LEVERAGE = 1e-6  # a case that alone decides a coefficient has no residual


def effects(result: Result, formula: str, of: str = "prevalence") -> pd.DataFrame:
    """Effects of metadata columns on the prevalence or the strength of every concept.

    Parameters
    ----------
    result
        What a fit found.
    formula
        Columns joined by +, as in R: "party + chamber + date". Texts are groups, each compared with the first;
        dates count in years. `a:b`, `a*b`, `log(a)`, `poly(a, 2)` and others of formulaic's work as well.
    of
        "prevalence": the share of documents that hold a concept. "strength": its weight in those that do.

    Returns
    -------
    pandas.DataFrame
        A row per concept and term: `effect` with `low` and `high` (95%) and `probability_positive`, all other terms
        held fixed, and the same of the term's column alone (`unadjusted`, `unadjusted_low`, `unadjusted_high`).
        `documents` is the number of documents that have a value in every column.

    Examples
    --------
    >>> from superwords import ConceptModel, Corpus
    >>> counts = [[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 2, 4], [2, 3, 0, 0], [0, 0, 4, 1]] * 3
    >>> corpus = Corpus.from_counts(counts, metadata={"party": list("AABBAB") * 3})
    >>> model = ConceptModel(n_chains=1, n_sweeps=40, random_state=0).fit(corpus)
    >>> effects(model.result_, "party")["term"].unique().tolist()
    ['party[T.B]']
    """
    if of not in OUTCOMES:
        raise InputError(f"of={of!r} is not known; give one of {', '.join(map(repr, OUTCOMES))}.")
    outcomes = outcomes_of(result)
    design = make_design(outcomes.metadata, formula)
    _check_size(design)
    fit = _fit_prevalence if of == "prevalence" else _fit_strength
    adjusted = fit(outcomes, design)
    alone = {term: fit(outcomes, design.only(term)) for term in dict.fromkeys(design.terms)}
    names, rows = concept_names(result), []
    for j in result.shown:
        for k, (column, term) in enumerate(zip(design.columns, design.terms)):
            place = [at for at, one in enumerate(design.terms) if one == term].index(k)
            whole, single = adjusted.told(j - 1, k), alone[term].told(j - 1, place)
            rows.append([j, names[j - 1], column, *whole, *single[:3], len(design.matrix)])
    columns = ["concept", "name", "term", "effect", "low", "high", "probability_positive"]
    columns += ["unadjusted", "unadjusted_low", "unadjusted_high", "documents"]
    return pd.DataFrame(rows, columns=pd.Index(columns))


class _Pooled(NamedTuple):
    """Coefficients (the intercept left out) and their variances in each of R rounds; NaN: no say."""

    mean: np.ndarray  # (R, J, p)
    variance: np.ndarray
    weight: np.ndarray  # (R, J) how much a round counts

    def told(self, j: int, k: int) -> list[float]:
        """Mean, 95% interval and probability of being positive."""
        mean, spread = self.mean[:, j, k], np.sqrt(self.variance[:, j, k])
        known = np.isfinite(mean) & np.isfinite(spread) & (self.weight[:, j] > 0)
        if not known.any():
            return [float("nan")] * 4
        rng = np.random.default_rng([_SEED, j, k])
        share = self.weight[known, j] / self.weight[known, j].sum()
        rounds = rng.choice(np.flatnonzero(known), size=_DRAWN, p=share)
        drawn = rng.normal(mean[rounds], spread[rounds])
        low, high = np.quantile(drawn, TAILS)
        return [float(share @ mean[known]), float(low), float(high), float((drawn > 0).mean())]


def _check_size(design: Design) -> None:
    n_documents, n_columns = design.matrix.shape
    if n_documents < _LEAST_PER_COLUMN * n_columns:
        raise InputError(
            f"The formula has {n_columns} coefficients for {n_documents} documents with a value in every column; "
            f"give fewer columns, or columns of fewer groups."
        )


class RobustFit:
    """Least squares on one design, by statsmodels, with covariances robust to heteroscedasticity (HC3).

    `together` fits all concepts of a round at once: statsmodels takes one outcome at a time, which is 35 times slower.
    The pseudo-inverse and the leverages are its own, so the numbers are the same (tests/test_effects.py).
    """

    def __init__(self, X: np.ndarray) -> None:
        one = ols(np.zeros(len(X)), X)
        self.X = X
        self.inverse = one.model.pinv_wexog  # (p, D)
        self.products = (self.inverse[:, None] * self.inverse).reshape(-1, len(X))  # (p · p, D)
        self.leverage = one.get_influence().hat_matrix_diag[:, None]

    def together(self, Y: np.ndarray, more: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (J, p) of each column of Y and their covariances (J, p, p).

        `more` times a case's leverage is added to its squared residual.
        """
        coefficients = self.inverse @ Y
        residual = (Y - self.X @ coefficients) / np.maximum(1 - self.leverage, _NO_LEVERAGE)
        squared = residual**2 + more * self.leverage
        covariance = (self.products @ squared).T.reshape(Y.shape[1], *2 * [len(self.inverse)])
        return coefficients.T, covariance


def ols(y: np.ndarray, X: np.ndarray) -> Any:
    """statsmodels' ordinary least squares."""
    try:
        from statsmodels.regression.linear_model import OLS
    except ImportError:
        raise InputError(
            "Effects need statsmodels; install it by pip install 'superwords[effects]'."
        ) from None
    return OLS(y, X).fit()


class _Memberships(NamedTuple):
    """Who holds what: for sure, and as far as the text leaves it open."""

    sure: np.ndarray  # (documents, J) share of a document's rows that hold the concept in every draw
    document: np.ndarray  # of each row and concept that some draws say yes to and others no
    concept: np.ndarray
    share: np.ndarray  # of the document's rows that this one is
    evidence: np.ndarray  # log odds, less those of the overall prevalence

    def drawn(self, rng: np.random.Generator, expected: np.ndarray) -> np.ndarray:
        """(documents, J): shares of rows that hold a concept, drawn given what the columns lead to expect."""
        prior = np.clip(expected[self.document, self.concept], _LEAST, 1 - _LEAST)
        odds = self.evidence + np.log(prior / (1 - prior))
        holds = self.share * (rng.random(len(odds)) < 1 / (1 + np.exp(-odds)))
        place = self.document * self.sure.shape[1] + self.concept
        return self.sure + np.bincount(place, holds, self.sure.size).reshape(self.sure.shape)


def _memberships(outcomes: Outcomes, rows: np.ndarray) -> _Memberships:
    """Of the documents in the given places."""
    n_draws, shape = outcomes.found.sum(axis=0), outcomes.weights[0].shape
    times = sparse.csr_array(shape)
    for weights, found in zip(outcomes.weights, outcomes.found):
        times = times + sparse.csr_array((weights > 0).multiply(found[None, :]))
    place = np.full(len(outcomes.metadata), -1)
    place[rows] = np.arange(len(rows))
    entries = sparse.coo_array(times)
    row, concept = entries.coords
    document, share = place[outcomes.document[row]], 1 / outcomes.n_rows[outcomes.document[row]]
    overall = np.clip(np.asarray(times.mean(axis=0)).ravel() / np.maximum(n_draws, 1), 1e-9, 1 - 1e-9)
    held = entries.data / np.maximum(n_draws, 1)[concept]
    sure = np.zeros((len(rows), shape[1]))
    known = (held >= 1 - _ROUNDING) & (document >= 0)
    np.add.at(sure, (document[known], concept[known]), share[known])
    is_open = (held > 0) & (held < 1 - _ROUNDING) & (document >= 0)
    held, concept = held[is_open], concept[is_open]
    evidence = np.log(held / (1 - held)) - np.log(overall / (1 - overall))[concept]
    return _Memberships(sure, document[is_open], concept, share[is_open], evidence)


def _fit_prevalence(outcomes: Outcomes, design: Design) -> _Pooled:
    """Chain by chain: where chains differ, that is no doubt about a text, and the columns must not settle it."""
    rng, regression = np.random.default_rng(_SEED), RobustFit(design.matrix)
    n_rounds = max(_LEAST_ROUNDS, _ROUNDS // len(np.unique(outcomes.chain)))
    chains = [_fit_chain(one, design, regression, rng, n_rounds) for one in outcomes.by_chain()]
    return _Pooled(*(np.concatenate(part) for part in zip(*chains)))


def _fit_chain(
    outcomes: Outcomes, design: Design, regression: RobustFit, rng: np.random.Generator, n_rounds: int
) -> _Pooled:
    """Memberships and regressions in turn, given the draws of one chain."""
    X, memberships = design.matrix, _memberships(outcomes, design.rows)
    coefficients = regression.together(memberships.drawn(rng, np.full(memberships.sure.shape, 0.5)))[0]
    means, variances = [], []
    with threadpool_limits(1):  # the matrices are small: further threads would only wait for each other
        for r in range(_WARM_UP + n_rounds):
            mean, covariance = regression.together(memberships.drawn(rng, X @ coefficients.T), _HALF)
            coefficients = _drawn(rng, mean, covariance)
            if r >= _WARM_UP:
                means.append(mean[:, 1:])
                variances.append(np.diagonal(covariance, axis1=1, axis2=2)[:, 1:])
    weight = outcomes.found.sum(axis=0)
    never = (weight == 0)[None, :, None]
    return _Pooled(np.where(never, np.nan, means), np.array(variances), np.tile(weight, (n_rounds, 1)))


def _drawn(rng: np.random.Generator, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(J, p): one draw of each concept's coefficients."""
    values, vectors = np.linalg.eigh(covariance)
    noise = rng.normal(size=mean.shape) * np.sqrt(np.maximum(values, 0))
    return mean + np.einsum("jpq,jq->jp", vectors, noise)


def _fit_strength(outcomes: Outcomes, design: Design) -> _Pooled:
    """In every draw, of the documents that hold a concept in it: its mean weight in the rows that do."""
    n_draws, n_concepts = outcomes.found.shape
    X, n_documents = design.matrix, len(outcomes.metadata)
    gather = sparse.csr_array(
        (np.ones(len(outcomes.document)), (outcomes.document, np.arange(len(outcomes.document)))),
        shape=(n_documents, len(outcomes.document)),
    )[design.rows]
    shape = (n_draws, n_concepts, X.shape[1] - 1)
    mean, variance = np.full(shape, np.nan), np.full(shape, np.nan)
    for t, weights in enumerate(outcomes.weights):
        holders = (gather @ (weights > 0).astype(float)).toarray()
        strength = (gather @ weights).toarray() / np.maximum(holders, 1)
        for j in np.flatnonzero(outcomes.found[t]):
            holds = np.flatnonzero(holders[:, j])
            own = X[holds]
            if len(own) < _LEAST_PER_COLUMN * X.shape[1] or np.linalg.matrix_rank(own) < X.shape[1]:
                continue
            one = ols(strength[holds, j], own)
            if one.get_influence().hat_matrix_diag.max() > 1 - _NO_LEVERAGE:
                continue  # a group of one, whose spread cannot be told
            mean[t, j], variance[t, j] = one.params[1:], np.diagonal(one.cov_HC3)[1:]
    return _Pooled(mean, variance, outcomes.found)
