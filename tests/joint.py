"""Joint-distribution (Geweke 2004) tests, as an ensemble of short chains that start in the exact joint distribution.

Every replicate draws (state, data) from the prior by forward simulation, then alternates a sweep given the data with
new data given the state. A corpus has no token of an empty concept, so both are given that there is none: the start by
rejection, new data by drawing from the concepts that have a word on. If every step is exact the joint distribution
never changes, so a statistic's mean over the steps has the mean of its first, forward-simulated value. Replicates are
independent: the z-scores need no allowance for autocorrelation, and their false-alarm rate is what the normal
distribution says.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from superwords.sampler import density as hyperprior
from superwords.sampler.chain import Chain
from superwords.sampler.jit import kernel
from superwords.sampler.model import Affinity, Data, Model, Prior, Steps
from superwords.sampler.random import new_stream
from superwords.sampler.simulate import draw_features, draw_structure, draw_text
from superwords.sampler.state import State


class Setting(NamedTuple):
    n_documents: int = 4
    n_words: int = 4
    length: int = 3
    n_silent: int = 0  # documents without a token
    n_features: int = 0
    n_unknown: int = 0
    alpha_omega: float = 1.5
    b1: float = 1.0
    b2: float = 1.0
    lam: float = 0.3
    alpha_pi: float = 1.0
    alpha_theta: float = 2.0


@kernel
def dense_data(counts, Y, known):
    """The sampler's arrays from small dense counts."""
    n_documents, n_words = counts.shape
    n = (counts > 0).sum()
    doc_ptr, word, count = np.zeros(n_documents + 1, np.int64), np.zeros(n, np.int32), np.zeros(n, np.int32)
    at = 0
    for d in range(n_documents):
        for i in range(n_words):
            if counts[d, i] > 0:
                word[at], count[at] = i, counts[d, i]
                at += 1
        doc_ptr[d + 1] = at
    return Data(doc_ptr, word, count, counts.sum(axis=1), Y, known)


def prior_of(setting: Setting) -> Prior:
    lam = np.linspace(0.7, 1.3, setting.n_words) * setting.lam
    return Prior(setting.alpha_omega, setting.b1, setting.b2, lam, setting.alpha_pi, 0.7, 3.0, 2.0, setting.alpha_theta)


def draw_hyperparameters(prior: Prior, n_documents: int, steps: Steps, rng: np.random.Generator) -> Prior:
    """Those that the steps sample, from their priors."""
    if steps.sample_alpha_omega:
        prior = prior._replace(alpha_omega=rng.gamma(hyperprior.MASS_SHAPE) / hyperprior.MASS_RATE)
    if steps.sample_b1:
        prior = prior._replace(b1=float(np.exp(rng.normal(np.log(n_documents), hyperprior.LOG_SPREAD))))
    if steps.sample_b2:
        prior = prior._replace(b2=float(np.exp(rng.normal(np.log(hyperprior.B2_CENTRE), hyperprior.LOG_SPREAD))))
    return prior


def any_affinity(n_words: int) -> Affinity:
    """A fixed table: any will do, as long as it does not depend on the state."""
    rng = np.random.default_rng(5)
    n_near = max(1, n_words - 1)
    near = np.array(
        [[i, *rng.permutation([w for w in range(n_words) if w != i])[: n_near - 1]] for i in range(n_words)]
    )
    rho = rng.uniform(0.2, 0.9, near.shape)
    return Affinity(near.astype(np.int32), rho, rho * 0.5)


class Statistics(NamedTuple):
    """Moments of the state and of the data, the mixed ones included."""

    concepts: float
    pairs: float
    words_on: float
    weights: float
    squared_weights: float
    log_weights: float
    pairs_without_words: float
    squared_holders: float
    squared_word_counts: float
    concepts_of_one_document: float
    squared_pairs_per_document: float
    words_times_weight: float
    first_word_on: float
    squared_words_on: float
    squared_first_word_tokens: float
    tokens_times_words_on: float
    feature_of_words_on: float
    product_of_features: float
    first_theta_times_words_on: float


NAMES = (*Statistics._fields, "log_alpha_omega", "log_b1", "log_b2")


@kernel
def statistics(state, counts, Y):
    n_pairs = len(state.concept)
    n_concepts = state.concept.max() + 1 if n_pairs else 0
    m, holders = np.zeros((n_concepts, len(state.theta))), np.zeros(n_concepts)
    empty, products = 0.0, 0.0
    for p in range(n_pairs):
        j = state.concept[p]
        holders[j] += 1
        size = state.pair_ptr[p + 1] - state.pair_ptr[p]
        empty += size == 0
        products += size * state.weight[p]
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            m[j, state.word[e]] += 1
    per_doc = state.doc_ptr[1:] - state.doc_ptr[:-1]
    total = m.sum(axis=0)
    live = 0.0
    for j in range(n_concepts):
        live += holders[j] > 0
    on_features, product = 0.0, 0.0
    if Y.shape[1]:
        on_features = (np.abs(Y[:, 0]) * (total > 0)).sum()
        product = (Y[0, 0] * Y[1, 0]) / (1.0 + Y[0, 0] ** 2 + Y[1, 0] ** 2)
    return Statistics(
        concepts=live,
        pairs=float(n_pairs),
        words_on=float(len(state.word)),
        weights=state.weight.sum(),
        squared_weights=(state.weight**2).sum(),
        log_weights=np.log(state.weight).sum(),
        pairs_without_words=empty,
        squared_holders=(holders**2).sum(),
        squared_word_counts=(m**2).sum(),
        concepts_of_one_document=float((holders == 1).sum()),
        squared_pairs_per_document=float((per_doc**2).sum()),
        words_times_weight=products,
        first_word_on=total[0],
        squared_words_on=(total**2).sum(),
        squared_first_word_tokens=float((counts[:, 0] ** 2).sum()),
        tokens_times_words_on=(counts.sum(axis=0) * total).sum(),
        feature_of_words_on=on_features,
        product_of_features=product,
        first_theta_times_words_on=np.log(state.theta[0]) * total[0],
    )


def largest(z: np.ndarray) -> dict[str, float]:
    """The three statistics that are furthest off, by name."""
    return {NAMES[k]: round(float(z[k]), 1) for k in np.argsort(-np.abs(z))[:3]}


def draw_start(setting, fixed, steps, lengths, rng, stream, turn) -> tuple[Prior, State]:
    """Hyperparameters and state from the prior, given that no token is drawn from an empty concept."""
    while True:
        theta = np.maximum(rng.gamma(setting.alpha_theta, size=setting.n_words), 1e-300)
        if not steps.sample_theta:
            theta = np.linspace(0.5, 1.5, setting.n_words)
        prior = draw_hyperparameters(fixed, setting.n_documents, steps, rng)
        attempt = next(turn)
        state = draw_structure(prior, lengths, theta, stream, attempt)
        if not draw_text(state, lengths, stream, attempt)[1].any():
            return prior, state


class ZeroDensityError(AssertionError):
    """A chain reached a state under which its text cannot be drawn."""


def draw_words(state, lengths, stream, turn) -> np.ndarray:
    """The text of a state, given that no token is drawn from an empty concept."""
    has_words = np.diff(state.pair_ptr) > 0
    counts, null = draw_text(state._replace(weight=state.weight * has_words), lengths, stream, turn)
    if null.any():
        raise ZeroDensityError(f"Document {np.flatnonzero(null)[0]} has tokens and no words to draw them from")
    return counts


def joint_z(
    setting: Setting,
    steps: Steps,
    n_replicates: int = 1500,
    n_steps: int = 15,
    seed: int = 1,
    chain_class: type[Chain] = Chain,
    enough: float = np.inf,
) -> np.ndarray:
    """z-scores of the statistics in `NAMES` (0 where a statistic is constant).

    An `enough` ends the run at an eighth, a quarter or half of the replicates if a z-score is larger than that.
    """
    looks = {n_replicates // 8, n_replicates // 4, n_replicates // 2} if np.isfinite(enough) else set()
    fixed, affinity = prior_of(setting), any_affinity(setting.n_words)
    lengths = np.full(setting.n_documents, setting.length)
    lengths[: setting.n_silent] = 0
    known = np.arange(setting.n_words) >= setting.n_unknown
    rng = np.random.default_rng(seed)
    stream = new_stream(seed, 999)
    differences = np.zeros((n_replicates, len(NAMES)))
    turn = itertools.count()  # every draw of the simulator has random numbers of its own
    for r in range(n_replicates):
        prior, state = draw_start(setting, fixed, steps, lengths, rng, stream, turn)
        chain = None
        for step in range(n_steps + 1):
            counts = draw_words(state, lengths, stream, next(turn))
            Y = draw_features(state, prior, setting.n_features, rng)
            Y[~known] = 0.0
            hyperparameters = np.log([prior.alpha_omega, prior.b1, prior.b2])
            now = np.array([*statistics(state, counts, Y), *hyperparameters])
            differences[r] += now / n_steps if step else -now
            if step == n_steps:
                break
            model = Model(prior, dense_data(counts, Y, known), affinity, steps)
            if chain is None:
                chain = chain_class(model, state, seed, r)
            chain.model = model
            chain.step()
            state, prior = chain.state, chain.model.prior
        if r + 1 in looks and abs(z := _z_scores(differences[: r + 1])).max() > enough:
            return z
    return _z_scores(differences)


def _z_scores(differences: np.ndarray) -> np.ndarray:
    spread = differences.std(axis=0, ddof=1)
    z = differences.mean(axis=0) / np.where(spread > 0, spread, 1) * np.sqrt(len(differences))
    return np.where(spread > 1e-9, z, 0.0)  # what a move leaves alone differs by rounding only
