"""From what a user gives (or leaves out) to the hyperparameters, with one sentence where it cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.cluster import check_cluster
from superwords.corpus.corpus import documents_using
from superwords.errors import InputError
from superwords.fitting.running import Schedule
from superwords.jobs import n_workers
from superwords.progress import make_watcher
from superwords.sampler.initial import parse_start
from superwords.sampler.model import PRIOR_PROPOSALS, PUBLISHED, Prior, Steps
from superwords.sampler.part_start import LARGE, ROWS

# About so many words in a concept before looking; with a b₂ that holds them to it fewer, and those of many
# documents first: else they gather in one concept that half of the documents hold.
WORDS_PER_CONCEPT, WORDS_AT_LARGE_B2 = 10.0, 4.0
SAMPLED = ("alpha_omega", "b1", "b2")
# What "auto" means (docs/lab/settings.md): b₁ = 0.3 D, b₂ = 5 + D/60, and about one concept before looking (α_ω = 1/D):
# at a large b₁ a larger mass would be that of concepts which one document alone holds.
B1_PER_DOCUMENT, B2_LEAST, DOCUMENTS_PER_B2, CONCEPTS_AT_LARGE_B1 = 0.3, 5.0, 60.0, 1.0
_LARGE_B1 = 0.1  # per document
_UNCORRELATED = 1e-6
THETA_NAMES = ("uniform", "frequency", "root", "sample")
KEPT_PER_CHAIN = 100
# From so many rows on documents change apart from each other, so that threads share them, but for one in so many
# (docs/performance.md).
MANY_ROWS, TURNS = 10_000, 10
STEPS = {"exact": Steps(), "prior": PRIOR_PROPOSALS, "published": PUBLISHED}


MOST_ROWS = 8_000  # of a shard, where it is not said
_SHARDS = re.compile(r"shards:(?P<shards>[1-9]\d{0,5})(x(?P<rows>[1-9]\d{0,8}))?")


def check_settings(given: Mapping[str, Any]) -> None:
    """Refuse what no corpus could be fitted with, so that it is said before any text is read."""
    make_starts(given)
    make_start_rows(given, 1)
    make_schedule(given)
    make_steps(given)
    check_seed(given["random_state"])
    n_workers(given["n_jobs"])
    check_cluster(given["cluster"])
    parse_approximation(given["approximate"])
    make_watcher(given["progress"])
    # Rules of the corpus are tried on one that fits what is given.
    make_prior({**given, "lam": None}, _any_counts(1))
    make_lam(given["lam"], _any_counts(given["lam"]), is_b2_large=True)
    make_theta(given["theta"], _any_counts(given["theta"]))


def _any_counts(per_word: Any) -> sparse.csr_array:
    n_words = 1 if per_word is None or isinstance(per_word, str) else max(1, np.size(per_word))
    return sparse.csr_array(np.ones((1, n_words), np.int32))


def make_schedule(given: Mapping[str, Any]) -> Schedule:
    """Half of the sweeps are burn-in and about a hundred draws of each chain are kept, unless told otherwise."""
    n_sweeps, n_burn_in, thin = given["n_sweeps"], given["n_burn_in"], given["thin"]
    n_sweeps = whole_number("n_sweeps", n_sweeps, 1)
    burn_in = n_sweeps // 2 if n_burn_in is None else whole_number("n_burn_in", n_burn_in, 0)
    if burn_in >= n_sweeps:
        raise InputError(
            f"n_burn_in={burn_in} leaves no draw of n_sweeps={n_sweeps}; give a smaller n_burn_in."
        )
    most = n_sweeps - burn_in
    every = max(1, most // KEPT_PER_CHAIN) if thin is None else whole_number("thin", thin, 1)
    if every > most:
        raise InputError(
            f"thin={every} keeps no draw of the {most} sweeps after burn-in; give a smaller thin."
        )
    return Schedule(n_sweeps, burn_in, every)


def make_starts(given: Mapping[str, Any]) -> Sequence[str]:
    """Where each chain starts."""
    init, n_chains = given["init"], whole_number("n_chains", given["n_chains"], 1)
    if isinstance(init, str):
        init = [init] * n_chains
    if len(init) != n_chains:
        raise InputError(
            f"init names {len(init)} starts for {n_chains} chains; give one for each, or one for all."
        )
    for start in init:
        parse_start(start)
    return init


def make_start_rows(given: Mapping[str, Any], n_rows: int) -> int | None:
    """On how many rows chains arrive before the others join; None: all of them."""
    rows = given["start_rows"]
    if rows is None:
        return None
    if isinstance(rows, str):
        if rows != "auto":
            raise InputError(f"start_rows={rows!r} is not known; give 'auto', a number of rows, or None.")
        rows = ROWS if n_rows > LARGE else n_rows
    rows = whole_number("start_rows", rows, 1)
    return rows if rows < n_rows else None


class Plan(NamedTuple):
    n_shards: int
    n_rows: int  # of each, at the most


def parse_approximation(approximate: Any) -> Plan | None:
    """What "shards:8" or "shards:8x5000" asks for."""
    if approximate is None:
        return None
    found = _SHARDS.fullmatch(approximate) if isinstance(approximate, str) else None
    if found is None or found["shards"] == "1":
        raise InputError(
            f"approximate={approximate!r} is not known; give 'shards:8' for eight shards, or 'shards:8x5000' for "
            "eight of 5,000 rows each."
        )
    return Plan(int(found["shards"]), int(found["rows"] or MOST_ROWS))


def make_prior(given: Mapping[str, Any], counts: sparse.csr_array) -> Prior:
    """The hyperparameters: numbers given are held fixed at, others set by a rule of the corpus."""
    n_documents = counts.shape[0]

    def positive(name: str, default: float) -> float:
        value = given[name]
        if value is None or (name in SAMPLED and isinstance(value, str) and value in ("auto", "sample")):
            return default
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise InputError(
                f"{name}={value!r} is not a positive number; give one greater than 0"
                + (", 'auto' or 'sample'." if name in SAMPLED else ".")
            )
        return float(value)

    b1 = positive("b1", B1_PER_DOCUMENT * n_documents)
    b2 = positive("b2", B2_LEAST + n_documents / DOCUMENTS_PER_B2)
    is_b1_large = b1 > max(1.0, _LARGE_B1 * n_documents)
    return Prior(
        alpha_omega=positive("alpha_omega", CONCEPTS_AT_LARGE_B1 / n_documents if is_b1_large else 1.0),
        b1=b1,
        b2=b2,
        lam=make_lam(given["lam"], counts, is_b2_large=b2 >= B2_LEAST),
        alpha_pi=positive("alpha_pi", 1.0),
        K=positive("K", 0.5),
        alpha_sigma=positive("alpha_sigma", 2.0),
        beta_sigma=positive("beta_sigma", 1.0),
        alpha_theta=1.0,
    )


def make_steps(given: Mapping[str, Any], n_rows: int = 1) -> Steps:
    """The moves of a sweep: the named kind, and the hyperparameters it samples; with many rows, words apart."""
    if given["steps"] not in STEPS:
        raise InputError(f"steps={given['steps']!r} is not known; choose 'exact', 'prior' or 'published'.")

    def sampled(name: str) -> bool:
        return isinstance(given[name], str) and given[name] == "sample"

    is_apart = given["steps"] == "exact" and n_rows > MANY_ROWS
    return STEPS[given["steps"]]._replace(
        turns=TURNS if is_apart else 1,
        sample_theta=sampled("theta"),
        sample_alpha_omega=sampled("alpha_omega"),
        sample_b1=sampled("b1"),
        sample_b2=sampled("b2"),
    )


def make_lam(lam: Any, counts: sparse.csr_array, is_b2_large: bool) -> np.ndarray:
    n_words = counts.shape[1]
    if lam is None and is_b2_large:
        lam = lam_by_use(counts, WORDS_AT_LARGE_B2)
    elif lam is None:
        lam = min(0.5, WORDS_PER_CONCEPT / n_words)
    values = per_word("lam", lam, n_words)
    bad = ~((values > 0) & (values < 1))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        where = "" if np.ndim(lam) == 0 else f" for word {at}"
        raise InputError(f"lam is {values[at]}{where}; every λ must lie strictly between 0 and 1.")
    return values


def lam_by_use(counts: sparse.csr_array, words_on: float) -> np.ndarray:
    """λ in proportion to how many documents use a word, with about `words_on` words in a concept."""
    using = documents_using(counts) + 0.5
    return np.minimum(0.5, words_on * using / using.sum())


def make_theta(theta: Any, counts: sparse.csr_array) -> np.ndarray:
    """The words' importance θ, scaled to a mean of 1 (its scale does not matter)."""
    n_words = counts.shape[1]
    if theta is None or (isinstance(theta, str) and theta in ("uniform", "sample")):
        return np.ones(n_words)
    if isinstance(theta, str):
        if theta not in THETA_NAMES:
            raise InputError(
                f"theta={theta!r} is not known; give 'uniform', 'frequency', 'root', 'sample', or numbers."
            )
        frequency = np.asarray(counts.sum(axis=0)).ravel() + 0.5
        values = frequency if theta == "frequency" else np.sqrt(frequency)
    else:
        values = per_word("theta", theta, n_words)
        bad = ~((values > 0) & np.isfinite(values))
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"theta is {values[at]} for word {at}; every θ must be a positive, finite number."
            )
    return values / values.mean()


def per_word(name: str, value: Any, n_words: int) -> np.ndarray:
    try:
        values = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}={value!r} is not a number; give a number, or one per word.") from None
    if values.ndim == 0:
        return np.full(n_words, float(values))
    if values.shape != (n_words,):
        raise InputError(f"{name} has shape {values.shape}; give a number, or one per word ({n_words}).")
    return values.copy()


def scale_features(features: Any, n_words: int, standardize: bool) -> np.ndarray | None:
    """Features (V, F) with whole NaN rows for unknown words, centred and scaled over the known ones if asked.

    Columns are scaled each by itself, except principal components, whose sizes say how much they matter.
    """
    if features is None:
        return None
    try:
        values = np.array(features, dtype=float)
    except (TypeError, ValueError):
        raise InputError("The features are not numbers; give a words-by-features array.") from None
    if values.ndim != 2 or len(values) != n_words:
        raise InputError(
            f"The features have shape {values.shape}; give one row per word of the vocabulary, ({n_words}, F)."
        )
    if np.isinf(values).any():
        row, column = (int(x) for x in np.argwhere(np.isinf(values))[0])
        raise InputError(
            f"The feature in row {row}, column {column} is infinite; give finite numbers, or NaN for unknown words."
        )
    unknown = np.isnan(values).any(axis=1)
    values[unknown] = np.nan
    if values.shape[1] == 0 or unknown.all():
        return None
    if standardize:
        known = values[~unknown]
        spread = known.std(axis=0)
        if are_uncorrelated(known):
            spread = np.full(len(spread), np.sqrt(np.square(spread).mean()))
        values = (values - known.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return values


def are_uncorrelated(values: np.ndarray) -> bool:
    """Whether the columns are principal components: no two correlate, which other numbers never quite do."""
    centred = values - values.mean(axis=0)
    products = centred.T @ centred
    size = np.sqrt(np.diag(products))
    products[np.diag_indices_from(products)] = 0.0
    return bool((np.abs(products) <= _UNCORRELATED * np.outer(size, size)).all())


def whole_number(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} is not a whole number of at least {least}.")
    return int(value)


def make_seed(random_state: Any) -> int:
    """A 63-bit seed from None (fresh), a whole number, or a numpy generator."""
    check_seed(random_state)
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(random_state)


def check_seed(random_state: Any) -> None:
    """Without drawing from a generator."""
    if random_state is None or isinstance(random_state, np.random.Generator | np.random.RandomState):
        return
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(
            f"random_state={random_state!r} is not a seed; give a whole number of at least 0, or None."
        )


def plain_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The estimator's parameters as a file holds them, but for those that only make sense where they were given."""
    kept = {name: value for name, value in given.items() if name not in ("progress", "cluster")}
    if not isinstance(kept["random_state"], int | np.integer):
        kept["random_state"] = None
    return {name: _plain_setting(value) for name, value in kept.items()}


def _plain_setting(value: Any) -> Any:
    if isinstance(value, str | int | float | np.generic | None):
        return value
    array = np.asarray(value)
    return array if array.dtype.kind in "biuf" else array.tolist()
