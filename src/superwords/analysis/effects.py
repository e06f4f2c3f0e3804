"""Effects of covariates on prevalence or strength, and predicted values: linear regressions, documents as cases.

The coefficients are differences of prevalences (or of strengths), by the method of composition as in stm's
`estimateEffect`: fit a regression to each draw, and pool draws of its coefficients from their sampling distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.analysis.design import MIN_GROUP, Design, make_design
from superwords.analysis.tables import named, source_of_rows, sources
from superwords.errors import InputError
from superwords.posterior.alignment import adding
from superwords.posterior.intervals import TAILS
from superwords.posterior.result import Result
from superwords.text.corpus import named_column

_GRID, _FEW = 40, 12  # points of a curve; a column with few distinct numbers is predicted at each
_MOST_POINTS, _MOST_ROWS = 800, 2_000_000
_LEAST_CLUSTERS = 5
LEAST_PER_COLUMN = 3  # documents
_SEED = 1785  # fixed, since the draws are numerical integration
_DRAWN = 4000  # of a pooled coefficient
_ROUNDS = 100  # draws of the use of documents folded in
_HALF = 0.5  # pseudo-count of Jeffreys' prior, for groups in which all or none hold a concept
_NO_LEVERAGE = 1e-6  # 1 − leverage below which a case determines a coefficient and has no residual
_PRODUCTS = 20_000_000


class Outcomes(NamedTuple):
    """Concept weights of rows in each of T draws, and the documents of the rows."""

    metadata: pd.DataFrame  # of the documents
    document: np.ndarray  # (rows) the document of each
    weights: list[sparse.csr_array]  # T of (rows, J)
    found: np.ndarray  # (T, J) weight of a draw for a concept, mean 1; 0 if the draw lacks the concept
    used: sparse.csc_array | None = None  # (rows, J) P(used) of documents folded in, in place of draws

    def gather(self, documents: np.ndarray) -> sparse.csr_array:
        """Return the matrix (documents, rows) that sums rows by document."""
        return adding(self.document, len(self.metadata))[documents]


def outcomes_of(result: Result) -> Outcomes:
    """Return the outcomes of the documents that a model was fitted to."""
    corpus, alignment = result.corpus, result.summary.alignment
    found = alignment.weights * alignment.matched.sum(axis=0)
    return Outcomes(sources(corpus)[1], source_of_rows(corpus), result.drawn_weights(), found)


def folded_outcomes(metadata: pd.DataFrame, weight: sparse.csr_array, used: sparse.csr_array) -> Outcomes:
    """Return the outcomes of folded-in documents, given weights and probabilities of use."""
    found = np.ones((1, used.shape[1]))
    return Outcomes(metadata, np.arange(used.shape[0]), [weight], found, sparse.csc_array(used))


class Pooled(NamedTuple):
    """Contrasts of coefficients and their variances in each of R rounds, or NaN."""

    mean: np.ndarray  # (R, J, q)
    variance: np.ndarray
    weight: np.ndarray  # (R, J) of each round
    cluster: np.ndarray | None = None  # of each case

    def summaries(self, concepts: Sequence[int]) -> np.ndarray:
        """Return (concepts, q, 4) mean, 95% interval and probability of being positive of concepts 1, 2, …"""
        out = np.full((len(concepts), self.mean.shape[2], 4), np.nan)
        for at, k in np.ndindex(out.shape[:2]):
            j = concepts[at] - 1
            mean, spread = self.mean[:, j, k], np.sqrt(self.variance[:, j, k])
            known = np.isfinite(mean) & np.isfinite(spread) & (self.weight[:, j] > 0)
            if not known.any():
                continue
            rng = np.random.default_rng([_SEED, j])  # the same for all k, so that the bands of curves are smooth
            share = self.weight[known, j] / self.weight[known, j].sum()
            rounds = rng.choice(np.flatnonzero(known), size=_DRAWN, p=share)
            drawn = rng.normal(mean[rounds], spread[rounds])
            if self.cluster is not None:
                degrees = len(np.unique(self.cluster)) - 1
                wider = np.sqrt(degrees / rng.chisquare(degrees, _DRAWN))
                drawn = mean[rounds] + wider * (drawn - mean[rounds])
            out[at, k] = [share @ mean[known], *np.quantile(drawn, TAILS), (drawn > 0).mean()]
        return out

    def table(self, result: Result, contrasts: Mapping[str, Iterable[Any]], figures: Sequence[str]) -> pd.DataFrame:
        """Return a row per shown concept and contrast, with the columns of the contrasts and of their `figures`."""
        summaries = self.summaries(result.shown)[..., : len(figures)]
        table = named(result, np.repeat(np.array(result.shown, int), summaries.shape[1]))
        table = table.assign(**{name: list(values) * len(result.shown) for name, values in contrasts.items()})
        return table.join(pd.DataFrame(summaries.reshape(-1, len(figures)), columns=list(figures)))


class RobustFit:
    """Fit least squares on one design, all concepts at once, with covariances HC3, or CR3 (cluster jackknife)."""

    def __init__(self, X: np.ndarray, cluster: np.ndarray | None = None) -> None:
        self.X, self.inverse = X, np.linalg.pinv(X)  # (p, D)
        leverage = (X * self.inverse.T).sum(axis=1)
        self.floor = (self.inverse * leverage) @ self.inverse.T
        self.alone = int(np.argmax(leverage)) if leverage.max() > 1 - _NO_LEVERAGE else -1
        self.order, self.starts = np.arange(len(X)), np.arange(len(X))
        # (p, D) change of the coefficients per residual when a case, or its cluster, is left out.
        self.pull = self.inverse / np.maximum(1 - leverage, _NO_LEVERAGE)
        self.products: np.ndarray | None = None
        if cluster is None:
            if self.pull.size * len(self.pull) <= _PRODUCTS:
                self.products = (self.pull[:, None] * self.pull).reshape(-1, len(X))  # (p · p, D)
            return
        self.order = np.argsort(cluster, kind="stable")
        self.starts = np.flatnonzero(np.diff(cluster[self.order], prepend=-1))
        grouped = self.X[self.order]
        own = np.add.reduceat(grouped[:, :, None] * grouped[:, None], self.starts)
        left = own.sum(axis=0) - own
        scale = np.sqrt(np.maximum(np.diagonal(own.sum(axis=0)), 1e-300))
        smallest = np.linalg.eigvalsh(left / np.outer(scale, scale))[:, 0]
        self.alone = int(cluster[self.order][self.starts[smallest.argmin()]]) if smallest.min() < 1e-9 else -1
        sizes = np.diff([*self.starts, len(cluster)])
        inverses = np.repeat(np.linalg.pinv(left, hermitian=True), sizes, axis=0)
        self.pull = np.einsum("dpq,dq->pd", inverses, grouped)

    def together(self, Y: np.ndarray, more: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (J, p), covariances (J, p, p); `more` times its leverage is added to a squared error."""
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


def fit_prevalence(
    outcomes: Outcomes, rows: np.ndarray, X: np.ndarray, contrasts: np.ndarray, cluster: np.ndarray | None = None
) -> Pooled:
    """Fit, in every draw, the share of rows that use a concept; the cases are the documents `rows`, with design X."""
    regression, gather = RobustFit(X, cluster), outcomes.gather(rows)
    n_rows = np.maximum(gather.sum(axis=1), 1)[:, None]
    # A generator for each concept: what is decided about one changes no other.
    rngs, used = [np.random.default_rng([_SEED, j]) for j in range(outcomes.found.shape[1])], outcomes.used
    fitted = []
    with threadpool_limits(1):  # the matrices are too small for several threads
        for t in range(len(outcomes.weights) if used is None else _ROUNDS):
            if used is None:
                uses, weight = outcomes.weights[t] > 0, outcomes.found[t]
            else:
                uniform = [rng.random(n) for rng, n in zip(rngs, np.diff(used.indptr))]
                drawn = np.concatenate([np.zeros(0), *uniform]) < used.data
                uses, weight = sparse.csc_array((drawn, used.indices, used.indptr), used.shape), outcomes.found[0]
            share = (gather @ uses.astype(float)).toarray() / n_rows
            mean, covariance = regression.together(share, _HALF)
            variance = np.einsum("qp,jpr,qr->jq", contrasts, covariance, contrasts, optimize=True)
            fitted.append((mean @ contrasts.T, variance, weight))
    means, variances, weights = map(np.array, zip(*fitted))
    return Pooled(means, variances, weights, cluster)


def fit_strength(
    outcomes: Outcomes, rows: np.ndarray, X: np.ndarray, contrasts: np.ndarray, cluster: np.ndarray | None = None
) -> Pooled:
    """Fit, in every draw, the mean weight of a concept in the documents that hold it."""
    gather = outcomes.gather(rows)
    mean = np.full((*outcomes.found.shape, len(contrasts)), np.nan)
    variance = mean.copy()
    for t, weights in enumerate(outcomes.weights):
        holders = (gather @ (weights > 0).astype(float)).toarray()
        strength = (gather @ weights).toarray() / np.maximum(holders, 1)
        for j in np.flatnonzero(outcomes.found[t]):
            own = np.flatnonzero(holders[:, j])
            if len(own) < LEAST_PER_COLUMN * X.shape[1] or np.linalg.matrix_rank(X[own]) < X.shape[1]:
                continue
            one = RobustFit(X[own], None if cluster is None else cluster[own])
            if one.alone >= 0:
                continue  # the variance of a group of one is unknown
            coefficients, covariance = one.together(strength[own][:, [j]])
            mean[t, j] = contrasts @ coefficients[0]
            variance[t, j] = np.einsum("qp,pr,qr->q", contrasts, covariance[0], contrasts)
    return Pooled(mean, variance, outcomes.found, cluster)


FIGURES = ["predicted", "low", "high"]
OUTCOMES = {"prevalence": fit_prevalence, "strength": fit_strength}


def outcome(rows: str) -> str:
    """Return what effects on prevalence are effects on, where a corpus has these rows."""
    if rows == "documents":
        return "the share of documents that use the concept"
    return f"the share of a document's {rows} that use the concept, each document counting the same"


def effects(
    result: Result,
    formula: str,
    of: str = "prevalence",
    *,
    reference: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    min_group: int = MIN_GROUP,
    cluster: str | None = None,
    outcomes: Outcomes | None = None,
) -> pd.DataFrame:
    """Estimate effects of columns on prevalence or strength (docs/effects.md).

    Parameters
    ----------
    formula : str
        Columns joined by +, such as "party + chamber + date".
    of : str
        "prevalence" or "strength".
    reference : dict
        For a column, the group that the others are compared with, such as {"party": "D"}.
    groups : dict
        For a column, the groups whose documents are used, such as {"party": ["D", "R"]}.
    min_group : int
        Groups of fewer documents are pooled as "other".
    cluster : str
        A column of authors or other sources whose documents are not independent of one another.
    X : Corpus or list of str
        New documents, which are folded in; those of the fit if None.
    metadata : DataFrame
        The columns of the new documents, a row each; those of `X` if it is a Corpus.

    Returns
    -------
    DataFrame
        A row per concept and term: `effect` with its 95% interval, all other terms held fixed, and `unadjusted`, of the
        term's column alone. `attrs["notes"]` lists the units of dates and the groups that were pooled or left out.

    Examples
    --------
    >>> model.effects("place + year")["concept"].nunique() == model.n_concepts_
    True
    """
    outcomes = outcomes or outcomes_of(result)
    design, codes = _design(outcomes, formula, of, cluster, reference, groups, min_group)
    terms, size = np.array(design.terms), len(design.terms)

    def fitted(places: np.ndarray) -> Pooled:
        contrasts = np.eye(len(places) + 1)[1:]
        return OUTCOMES[of](outcomes, design.rows, design.matrix[:, [0, *(places + 1)]], contrasts, codes)

    adjusted = ["effect", "low", "high", "probability_positive"]
    unadjusted = ["unadjusted", "unadjusted_low", "unadjusted_high"]
    columns = {"term": design.columns, "label": design.labels}
    table = fitted(np.arange(size)).table(result, columns, adjusted).assign(**dict.fromkeys(unadjusted, np.nan))
    # An interaction has no meaning without its columns.
    for term in (one for one in dict.fromkeys(design.terms) if ":" not in one):
        own, rows = np.flatnonzero(terms == term), np.tile(terms == term, len(result.shown))
        alone = fitted(own).summaries(result.shown)[..., :3] if len(own) < size else table[adjusted[:3]].to_numpy()
        table.loc[rows, unadjusted] = alone.reshape(-1, 3)
    table = table.assign(documents=len(design.matrix))
    table.attrs["notes"] = design.notes
    return table


def predicted(
    result: Result,
    formula: str,
    by: str | Sequence[str],
    of: str = "prevalence",
    *,
    reference: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    min_group: int = MIN_GROUP,
    cluster: str | None = None,
    outcomes: Outcomes | None = None,
) -> pd.DataFrame:
    """Predict prevalence or strength by group or over time, with intervals.

    Parameters
    ----------
    formula, of, reference, groups, min_group, cluster, X, metadata
        As of `effects`.
    by : str or list of str
        Columns of the formula: "party", "date", or ["date", "party"].

    Returns
    -------
    DataFrame
        A row per concept and value of `by` (every group, and a grid over numbers and dates), averaged over the
        observed values of the other columns.

    Examples
    --------
    >>> model.predicted("place + year", by="place")["place"].unique().tolist()
    ['harbour', 'kitchen']
    """
    outcomes = outcomes or outcomes_of(result)
    design, codes = _design(outcomes, formula, of, cluster, reference, groups, min_group)
    names = [by] if isinstance(by, str) else list(by)
    if not names or any(name not in design.table for name in names):
        known = ", ".join(repr(name) for name in design.table)
        raise InputError(f"by={by!r} is not a column of the formula; give one of {known}, or several.")

    def grid(own: pd.Series) -> list[Any]:
        if isinstance(own.dtype, pd.CategoricalDtype):
            return list(own.cat.categories)
        different = np.unique(own.to_numpy())
        return (different if len(different) <= _FEW else np.linspace(different[0], different[-1], _GRID)).tolist()

    points = list(product(*(grid(design.table[name]) for name in names)))
    if len(points) > _MOST_POINTS:
        raise InputError(f"by={by!r} has {len(points):,} combinations; give fewer columns or groups.")
    step = max(1, len(points) * len(design.table) // _MOST_ROWS)
    thinned = design._replace(table=design.table.iloc[::step])
    contrasts = np.array([thinned.at(**dict(zip(names, point))) for point in points])
    columns = {}
    for name, places in zip(names, zip(*points)):
        scale = design.scales.get(name)  # of the user's column
        columns[name] = [one if scale is None else scale.shown(one) for one in places]
    pooled = OUTCOMES[of](outcomes, design.rows, design.matrix, contrasts, codes)
    table = pooled.table(result, columns, FIGURES).assign(documents=len(design.matrix))
    # Prevalences and weights are shares, but a linear prediction may leave [0, 1].
    table[FIGURES] = table[FIGURES].clip(0, 1)
    table.attrs.update(notes=design.notes, by=names)
    return table


def _design(
    outcomes: Outcomes, formula: str, of: str, cluster: str | None, *options: Any
) -> tuple[Design, np.ndarray | None]:
    """Return the design, and the cluster of each of its cases as a number, unique where it is missing."""
    if of not in OUTCOMES:
        raise InputError(f"of={of!r} is not known; give one of {', '.join(map(repr, OUTCOMES))}.")
    design = make_design(outcomes.metadata, formula, *options)
    n_documents, n_columns = design.matrix.shape
    if n_documents < LEAST_PER_COLUMN * n_columns:
        raise InputError(
            f"The formula has {n_columns} coefficients for {n_documents} documents with a value in every column; "
            f"give fewer columns, or columns of fewer groups."
        )
    if cluster is None:
        return design, None
    values = named_column(outcomes.metadata, cluster).iloc[design.rows].reset_index(drop=True)
    codes, labels = pd.factorize(values)
    codes[codes < 0] = len(labels) + np.arange((codes < 0).sum())
    n_clusters, least = len(np.unique(codes)), max(_LEAST_CLUSTERS, n_columns + 1)
    if n_clusters < least:
        raise InputError(
            f"The column {cluster!r} has {n_clusters} values among {len(codes):,} documents; intervals by cluster "
            f"need at least {least}."
        )
    alone = RobustFit(design.matrix, codes).alone
    if alone >= 0:
        raise InputError(
            f"A coefficient of the formula depends on the documents of one value of {cluster!r}, {labels[alone]!r}, "
            "alone, so that its interval is unknown; leave that group out."
        )
    note = f"Intervals allow for the {n_clusters:,} clusters of {cluster}."
    return design._replace(notes=[*design.notes, note]), codes
