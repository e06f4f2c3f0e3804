"""Fit linear regressions of memberships on columns, with documents as cases.

The coefficients are differences of prevalences (or of strengths), as in stm's `estimateEffect`: draw which documents
hold a concept, fit a regression, draw its coefficients from their sampling distribution, repeat, and pool.

The model does not know the columns. Where a text leaves open whether it holds a concept, the sampler's draws follow
the overall prevalence, and regressions on them find effects that are too small. The evidence of the text is the ratio
of two odds, those of the draws over those of the overall prevalence; here the prevalence that the columns lead to
expect takes the place of the latter. Regression and memberships are drawn in turn, chain by chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.analysis.prevalence import draw_weights, drawn_weights
from superwords.analysis.tables import source_of_rows, sources
from superwords.posterior.intervals import TAILS

if TYPE_CHECKING:
    from superwords.posterior.result import Result

LEAST_PER_COLUMN = 3  # documents
_SEED = 1785  # fixed, since the draws are numerical integration
_ROUNDS, _LEAST_ROUNDS, _WARM_UP, _DRAWN = 300, 100, 50, 4000  # rounds in all, and at least of each chain
_CELLS, _FEWEST_ROUNDS = 200_000_000, 30  # documents × concepts × rounds; large corpora get fewer rounds
_HALF = 0.5  # pseudo-count of Jeffreys' prior, for groups in which all or none hold a concept
_NO_LEVERAGE = 1e-6  # 1 − leverage below which a case determines a coefficient and has no residual
_PRODUCTS = 20_000_000
_ROUNDING = 1e-9
_LEAST = 0.005  # minimum distance of a linear probability from 0 and 1


class Outcomes(NamedTuple):
    """Concept weights of rows in each of T draws, and the documents of the rows."""

    metadata: pd.DataFrame  # of the documents
    document: np.ndarray  # (rows) the document of each
    weights: list[sparse.csr_array]  # T of (rows, J)
    found: np.ndarray  # (T, J) weight of a draw for a concept, mean 1; 0 if the draw lacks the concept
    chain: np.ndarray  # (T) the chain of each draw
    held: sparse.csr_array | None = None  # (rows, J) P(held) of documents folded in, in place of draws
    overall: np.ndarray | None = None  # (J) P(held) before their texts are seen

    @property
    def n_rows(self) -> np.ndarray:
        """Number of rows of each document."""
        return np.bincount(self.document, minlength=len(self.metadata))

    def memberships(self, rows: np.ndarray) -> list[Memberships]:
        """Return the memberships of the documents in the given places, chain by chain."""
        if self.held is not None:
            assert self.overall is not None
            return [self._memberships(rows, self.held, self.overall, self.found.sum(axis=0))]
        return [self._of_chain(rows, self.chain == c) for c in np.unique(self.chain)]

    def _of_chain(self, rows: np.ndarray, chosen: np.ndarray) -> Memberships:
        weight = self.found[chosen].sum(axis=0)
        times = sparse.csr_array(self.weights[0].shape)
        for t in np.flatnonzero(chosen):
            times = times + sparse.csr_array((self.weights[t] > 0).multiply(self.found[t][None, :]))
        share = 1 / np.maximum(weight, 1e-300)
        overall = np.asarray(times.mean(axis=0)).ravel() * share
        return self._memberships(rows, sparse.csr_array(times.multiply(share[None, :])), overall, weight)

    def _memberships(
        self, rows: np.ndarray, probability: sparse.csr_array, overall: np.ndarray, weight: np.ndarray
    ) -> Memberships:
        place = np.full(len(self.metadata), -1)
        place[rows] = np.arange(len(rows))
        entries = sparse.coo_array(probability)
        row, concept = entries.coords
        document, share = place[self.document[row]], 1 / self.n_rows[self.document[row]]
        prior = np.clip(overall, 1e-9, 1 - 1e-9)
        sure = np.zeros((len(rows), probability.shape[1]))
        known = (entries.data >= 1 - _ROUNDING) & (document >= 0)
        np.add.at(sure, (document[known], concept[known]), share[known])
        is_open = (entries.data > 0) & (entries.data < 1 - _ROUNDING) & (document >= 0)
        chosen = np.flatnonzero(is_open)[np.argsort(concept[is_open], kind="stable")]
        held, concept = entries.data[chosen], concept[chosen]
        evidence = np.log(held / (1 - held)) - np.log(prior / (1 - prior))[concept]
        return Memberships(sure, document[chosen], concept, share[chosen], evidence, weight)


class Memberships(NamedTuple):
    """Documents that hold each concept: with certainty, and with a probability."""

    sure: np.ndarray  # (documents, J) share of a document's rows that hold the concept in every draw
    document: np.ndarray  # of each uncertain row and concept, sorted by concept
    concept: np.ndarray
    share: np.ndarray  # of one row among the document's rows
    evidence: np.ndarray  # log odds, less those of the overall prevalence
    weight: np.ndarray  # (J) of this chain

    def drawn(self, rngs: Sequence[np.random.Generator], expected: np.ndarray) -> np.ndarray:
        """Draw shares (documents, J) of rows that hold a concept, given prevalences.

        `rngs` has a generator for each concept.
        """
        prior = np.clip(expected[self.document, self.concept], _LEAST, 1 - _LEAST)
        odds = self.evidence + np.log(prior / (1 - prior))
        n_open = np.bincount(self.concept, minlength=len(rngs))
        uniform = np.concatenate([rng.random(n) for rng, n in zip(rngs, n_open)])
        holds = self.share * (uniform < 1 / (1 + np.exp(-odds)))
        place = self.document * self.sure.shape[1] + self.concept
        return self.sure + np.bincount(place, holds, self.sure.size).reshape(self.sure.shape)


def outcomes_of(result: Result) -> Outcomes:
    """Return the outcomes of the documents that a model was fitted to."""
    corpus, alignment = result.corpus, result.summary.alignment
    found = draw_weights(result) * alignment.matched.sum(axis=0)
    metadata, document = sources(corpus)[1], source_of_rows(corpus)
    return Outcomes(metadata, document, drawn_weights(result), found, alignment.chain)


def folded_outcomes(
    metadata: pd.DataFrame, weight: sparse.csr_array, held: sparse.csr_array, overall: np.ndarray
) -> Outcomes:
    """Return the outcomes of folded-in documents, given weights and probabilities."""
    n_documents, n_concepts = held.shape
    found = np.ones((1, n_concepts))
    return Outcomes(metadata, np.arange(n_documents), [weight], found, np.zeros(1, int), held, overall)


class Pooled(NamedTuple):
    """Contrasts of coefficients and their variances in each of R rounds, or NaN."""

    mean: np.ndarray  # (R, J, q)
    variance: np.ndarray
    weight: np.ndarray  # (R, J) of each round
    degrees: float = np.inf  # of freedom

    def summary(self, j: int, k: int) -> list[float]:
        """Return mean, bounds of the 95% interval and probability of being positive."""
        mean, spread = self.mean[:, j, k], np.sqrt(self.variance[:, j, k])
        known = np.isfinite(mean) & np.isfinite(spread) & (self.weight[:, j] > 0)
        if not known.any():
            return [float("nan")] * 4
        rng = np.random.default_rng([_SEED, j])  # the same for all k, so that the bands of curves are smooth
        share = self.weight[known, j] / self.weight[known, j].sum()
        rounds = rng.choice(np.flatnonzero(known), size=_DRAWN, p=share)
        drawn = rng.normal(mean[rounds], spread[rounds])
        if np.isfinite(self.degrees):
            wider = np.sqrt(self.degrees / rng.chisquare(self.degrees, _DRAWN))
            drawn = mean[rounds] + wider * (drawn - mean[rounds])
        low, high = np.quantile(drawn, TAILS)
        return [float(share @ mean[known]), float(low), float(high), float((drawn > 0).mean())]


class RobustFit:
    """Fit least squares on one design, all concepts at once, with robust covariances.

    Without clusters the covariances are HC3, with clusters CR3 (the cluster jackknife), which is HC3 where every
    cluster is one case. tests/test_effects.py compares both with statsmodels.
    """

    def __init__(self, X: np.ndarray, cluster: np.ndarray | None = None) -> None:
        self.X, self.inverse = X, np.linalg.pinv(X)  # (p, D)
        leverage = (X * self.inverse.T).sum(axis=1)
        self.floor = (self.inverse * leverage) @ self.inverse.T
        self.alone = int(np.argmax(leverage)) if leverage.max() > 1 - _NO_LEVERAGE else -1
        self.order, self.starts = np.arange(len(X)), np.arange(len(X))
        self.pull = self.inverse / np.maximum(1 - leverage, _NO_LEVERAGE)
        self.products: np.ndarray | None = None
        if cluster is not None:
            self._set_clusters(cluster)
        elif self.pull.size * len(self.pull) <= _PRODUCTS:
            self.products = (self.pull[:, None] * self.pull).reshape(-1, len(X))  # (p · p, D)

    def _set_clusters(self, cluster: np.ndarray) -> None:
        """Set the change of the coefficients per residual when a cluster is left out."""
        self.order = np.argsort(cluster, kind="stable")
        self.starts = np.flatnonzero(np.diff(cluster[self.order], prepend=-1))
        grouped, n_clusters = self.X[self.order], len(self.starts)
        own = np.add.reduceat(grouped[:, :, None] * grouped[:, None], self.starts)
        left = own.sum(axis=0) - own
        scale = np.sqrt(np.maximum(np.diagonal(own.sum(axis=0)), 1e-300))
        smallest = np.linalg.eigvalsh(left / np.outer(scale, scale))[:, 0]
        self.alone = int(cluster[self.order][self.starts[smallest.argmin()]]) if smallest.min() < 1e-9 else -1
        sizes = np.diff([*self.starts, len(cluster)])
        inverses = np.repeat(np.linalg.pinv(left, hermitian=True), sizes, axis=0)
        self.pull = np.einsum("dpq,dq->pd", inverses, grouped)
        self.n_clusters = n_clusters

    def together(self, Y: np.ndarray, more: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (J, p) of the columns of Y and covariances (J, p, p).

        `more` times a case's leverage is added to its squared residual.
        """
        coefficients = self.inverse @ Y
        residual = (Y - self.X @ coefficients)[self.order]
        n_columns, n_concepts = len(self.inverse), Y.shape[1]
        if self.products is not None:
            covariance = (self.products @ residual**2).T.reshape(n_concepts, n_columns, n_columns)
        else:
            covariance = np.empty((n_concepts, n_columns, n_columns))
            for j in range(n_concepts):
                moved = np.add.reduceat(self.pull * residual[:, j], self.starts, axis=1)
                covariance[j] = moved @ moved.T
        return coefficients.T, covariance + more * self.floor


class Cases(NamedTuple):
    """Cases of a regression: documents, design matrix, clusters and contrasts."""

    rows: np.ndarray
    matrix: np.ndarray  # (cases, p)
    contrasts: np.ndarray  # (q, p)
    cluster: np.ndarray | None = None  # (cases) a number each

    @property
    def degrees(self) -> float:
        """Degrees of freedom: with clusters, their number less one."""
        return np.inf if self.cluster is None else float(len(np.unique(self.cluster)) - 1)


def fit(outcomes: Outcomes, cases: Cases, of: str) -> Pooled:
    """Fit prevalence or strength."""
    return fit_prevalence(outcomes, cases) if of == "prevalence" else fit_strength(outcomes, cases)


def fit_prevalence(outcomes: Outcomes, cases: Cases) -> Pooled:
    """Fit prevalence separately for each chain.

    A difference between chains is not uncertainty about a text, which the columns could resolve.
    """
    regression = RobustFit(cases.matrix, cases.cluster)
    chains = outcomes.memberships(cases.rows)
    n_rounds = max(_LEAST_ROUNDS, _ROUNDS // len(chains))
    affordable = int(_CELLS / max(chains[0].sure.size * len(chains), 1))
    n_rounds = max(min(n_rounds, affordable), _FEWEST_ROUNDS)
    with threadpool_limits(1):  # the matrices are too small for several threads
        fitted = [_fit_chain(c, one, cases, regression, n_rounds) for c, one in enumerate(chains)]
    mean, variance, weight = (np.concatenate(part) for part in zip(*fitted))
    return Pooled(mean, variance, weight, cases.degrees)


def _fit_chain(
    chain: int, memberships: Memberships, cases: Cases, regression: RobustFit, n_rounds: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw memberships and coefficients in turn.

    Each concept has its own generator, so that decisions about one do not affect others.
    """
    X, L = cases.matrix, cases.contrasts
    rngs = [np.random.default_rng([_SEED, chain, j]) for j in range(memberships.sure.shape[1])]
    coefficients = regression.together(memberships.drawn(rngs, np.full(memberships.sure.shape, 0.5)))[0]
    means, variances = [], []
    for r in range(min(_WARM_UP, n_rounds) + n_rounds):
        mean, covariance = regression.together(memberships.drawn(rngs, X @ coefficients.T), _HALF)
        coefficients = _drawn(rngs, mean, covariance)
        if r >= min(_WARM_UP, n_rounds):
            means.append(mean @ L.T)
            variances.append(np.einsum("qp,jpr,qr->jq", L, covariance, L, optimize=True))
    never = (memberships.weight == 0)[None, :, None]
    return np.where(never, np.nan, means), np.array(variances), np.tile(memberships.weight, (n_rounds, 1))


def _drawn(rngs: list[np.random.Generator], mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return one draw (J, p) of each concept's coefficients."""
    values, vectors = np.linalg.eigh(covariance)
    noise = np.array([rng.normal(size=mean.shape[1]) for rng in rngs]).reshape(mean.shape)
    noise *= np.sqrt(np.maximum(values, 0))
    return mean + np.einsum("jpq,jq->jp", vectors, noise)


def fit_strength(outcomes: Outcomes, cases: Cases) -> Pooled:
    """Fit, in every draw, the mean weight of a concept in the documents that hold it."""
    n_draws, n_concepts = outcomes.found.shape
    X, L, n_rows = cases.matrix, cases.contrasts, len(outcomes.document)
    gather = sparse.csr_array(
        (np.ones(n_rows), (outcomes.document, np.arange(n_rows))), shape=(len(outcomes.metadata), n_rows)
    )[cases.rows]
    mean = np.full((n_draws, n_concepts, len(L)), np.nan)
    variance = mean.copy()
    for t, weights in enumerate(outcomes.weights):
        holders = (gather @ (weights > 0).astype(float)).toarray()
        strength = (gather @ weights).toarray() / np.maximum(holders, 1)
        for j in np.flatnonzero(outcomes.found[t]):
            own = np.flatnonzero(holders[:, j])
            if len(own) < LEAST_PER_COLUMN * X.shape[1] or np.linalg.matrix_rank(X[own]) < X.shape[1]:
                continue
            one = RobustFit(X[own], None if cases.cluster is None else cases.cluster[own])
            if one.alone >= 0:
                continue  # the variance of a group of one is unknown
            coefficients, covariance = one.together(strength[own][:, [j]])
            mean[t, j] = L @ coefficients[0]
            variance[t, j] = np.einsum("qp,pr,qr->q", L, covariance[0], L)
    return Pooled(mean, variance, outcomes.found, cases.degrees)
