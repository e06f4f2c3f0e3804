"""Turn what a user gives (or leaves out) into hyperparameters; what cannot be used raises one sentence."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.cluster import check_cluster
from superwords.errors import InputError, is_whole, whole_number
from superwords.features.block import check_rows
from superwords.features.specs import check_spec, is_spec
from superwords.machine import n_workers
from superwords.posterior.draws import Schedule
from superwords.progress import make_watcher
from superwords.sampler.compiling import compile_ahead
from superwords.sampler.init.grow import LARGE, ROWS
from superwords.sampler.init.starts import NUMBERED, parse_start
from superwords.sampler.model import PRIOR_PROPOSALS, Prior, Steps
from superwords.text.corpus import documents_using

# Words that a concept has a priori; fewer at a large b₂, and those of many documents first: else they gather in one
# concept that half of the documents hold.
WORDS_PER_CONCEPT, WORDS_AT_LARGE_B2 = 10.0, 4.0
SAMPLED = ("alpha_omega", "b1", "b2")
# What "auto" means (docs/lab/settings.md): b₁ = 0.3 D, b₂ = 5 + D/60, and about one concept before looking (α_ω = 1/D):
# at a large b₁ a larger mass would be that of concepts which one document alone holds.
B1_PER_DOCUMENT, B2_LEAST, DOCUMENTS_PER_B2, CONCEPTS_AT_LARGE_B1 = 0.3, 5.0, 60.0, 1.0
_LARGE_B1 = 0.1  # per document
_UNCORRELATED = 1e-6
KEPT_PER_CHAIN = 100
STEPS = {"exact": Steps(), "prior": PRIOR_PROPOSALS}
MOST_ROWS = 8_000  # of a shard, by default
_SHARDS = re.compile(r"shards:(?P<shards>[1-9]\d{0,5})(x(?P<rows>[1-9]\d{0,8}))?")
_REMEDIES = {  # where a parameter has a name that is not known
    "approximate": "give 'shards:8' for eight shards, or 'shards:8x5000' for eight of 5,000 rows each",
    "start_rows": "give 'auto', a number of rows, or None",
    "steps": "choose 'exact' or 'prior'",
    "theta": "give 'uniform', 'frequency', 'root', 'sample', or numbers",
}


def check_model(given: Mapping[str, Any], features: Any) -> None:
    """Raise InputError for all that is known to be wrong before any text is read, and compile kernels meanwhile."""
    make_starts(given)
    make_start_rows(given, 1)
    make_schedule(given)
    whole_number("n_pilots", given["n_pilots"], 0)
    make_steps(given)
    check_seed(given["random_state"])
    n_workers(given["n_jobs"])
    check_cluster(given["cluster"])
    parse_approximation(given["approximate"])
    make_watcher(given["progress"])
    # Rules of the corpus are tried on one that fits what is given.
    lam, theta = (
        sparse.csr_array(np.ones((1, 1 if isinstance(one, str | None) else max(1, np.size(one))), np.int32))
        for one in (given["lam"], given["theta"])
    )
    make_prior(given, lam)
    make_theta(given["theta"], theta)
    if is_spec(features):
        check_spec(features)
    compile_ahead()


def _unknown(name: str, value: Any) -> InputError:
    return InputError("is not known", name, value, _REMEDIES[name])


def make_schedule(given: Mapping[str, Any]) -> Schedule:
    """Return the schedule; by default half of the sweeps are burn-in and about 100 draws are kept."""
    n_burn_in, thin = given["n_burn_in"], given["thin"]
    n_sweeps = whole_number("n_sweeps", given["n_sweeps"], 1)
    burn_in = n_sweeps // 2 if n_burn_in is None else whole_number("n_burn_in", n_burn_in, 0)
    if burn_in >= n_sweeps:
        problem = f"leaves no draw of {{n_sweeps:{n_sweeps}}}"
        raise InputError(problem, "n_burn_in", burn_in, "give a smaller {n_burn_in}")
    most = n_sweeps - burn_in
    every = max(1, most // KEPT_PER_CHAIN) if thin is None else whole_number("thin", thin, 1)
    if every > most:
        raise InputError(f"keeps no draw of the {most} sweeps after burn-in", "thin", every, "give a smaller {thin}")
    return Schedule(n_sweeps, burn_in, every)


def make_starts(given: Mapping[str, Any]) -> Sequence[str]:
    """Return where each chain starts, with the number of concepts that is asked for, if any."""
    init, n_chains = given["init"], whole_number("n_chains", given["n_chains"], 1)
    if isinstance(init, str):
        init = [init] * n_chains
    if not hasattr(init, "__len__"):
        parse_start(init)  # which refuses it
    if len(init) != n_chains:
        raise InputError(f"init names {len(init)} starts for {n_chains} chains; give one for each, or one for all.")
    parsed = [parse_start(start) for start in init]
    if given["n_concepts"] is None:
        return list(init)
    n = whole_number("n_concepts", given["n_concepts"], 1)
    for start, (name, number) in zip(init, parsed):
        if number is not None or name not in NUMBERED:
            remedy = f"leave one of them out, or give init as one of {', '.join(map(repr, NUMBERED))}"
            raise InputError(f"n_concepts={n} and init={start!r} do not go together; {remedy}.")
    return [f"{name}:{n}" for name, _ in parsed]


def make_start_rows(given: Mapping[str, Any], n_rows: int) -> int | None:
    """Return on how many rows the start is made before the others join; None: on all."""
    rows = given["start_rows"]
    if rows is None:
        return None
    if isinstance(rows, str):
        if rows != "auto":
            raise _unknown("start_rows", rows)
        rows = ROWS if n_rows > LARGE else n_rows
    rows = whole_number("start_rows", rows, 1)
    return rows if rows < n_rows else None


class Plan(NamedTuple):
    n_shards: int
    n_rows: int  # of each, at the most


def parse_approximation(approximate: Any) -> Plan | None:
    """Return the plan of "shards:8" or "shards:8x5000"."""
    if approximate is None:
        return None
    found = _SHARDS.fullmatch(approximate) if isinstance(approximate, str) else None
    if found is None or found["shards"] == "1":
        raise _unknown("approximate", approximate)
    return Plan(int(found["shards"]), int(found["rows"] or MOST_ROWS))


def make_prior(given: Mapping[str, Any], counts: sparse.csr_array) -> Prior:
    """Return the hyperparameters: given numbers are held fixed, others follow a rule of the corpus."""
    n_documents, n_words = counts.shape

    def positive(name: str, default: float) -> float:
        value = given[name]
        if value is None or (name in SAMPLED and isinstance(value, str) and value in ("auto", "sample")):
            return default
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
            remedy = "give one greater than 0" + (", 'auto' or 'sample'" if name in SAMPLED else "")
            raise InputError("is not a positive number", name, value, remedy)
        return float(value)

    b1 = positive("b1", B1_PER_DOCUMENT * n_documents)
    b2 = positive("b2", B2_LEAST + n_documents / DOCUMENTS_PER_B2)
    is_b1_large = b1 > max(1.0, _LARGE_B1 * n_documents)
    alpha_omega = positive("alpha_omega", CONCEPTS_AT_LARGE_B1 / n_documents if is_b1_large else 1.0)
    rules = {"alpha_pi": 1.0, "K": 0.5, "alpha_sigma": 2.0, "beta_sigma": 1.0}
    others = {name: positive(name, default) for name, default in rules.items()}
    lam = given["lam"]
    if lam is None:
        large = b2 >= B2_LEAST
        lam = lam_by_use(counts, WORDS_AT_LARGE_B2) if large else min(0.5, WORDS_PER_CONCEPT / n_words)
    lam = _per_word("lam", lam, n_words, 1.0, "every λ must lie strictly between 0 and 1")
    return Prior(b1=b1, b2=b2, alpha_omega=alpha_omega, lam=lam, alpha_theta=1.0, **others)


def make_steps(given: Mapping[str, Any]) -> Steps:
    """Return the moves of a sweep: the named kind, and the hyperparameters it samples."""
    if given["steps"] not in list(STEPS):
        raise _unknown("steps", given["steps"])
    named = ("theta", *SAMPLED)
    sampled = {f"sample_{name}": isinstance(given[name], str) and given[name] == "sample" for name in named}
    return STEPS[given["steps"]]._replace(**sampled)


def lam_by_use(counts: sparse.csr_array, words_on: float) -> np.ndarray:
    """Return λ in proportion to how many documents use a word, with about `words_on` words in a concept."""
    using = documents_using(counts) + 0.5
    return np.minimum(0.5, words_on * using / using.sum())


def make_theta(theta: Any, counts: sparse.csr_array) -> np.ndarray:
    """Return the words' importance θ, scaled to a mean of 1 (its scale does not matter)."""
    n_words = counts.shape[1]
    if theta is None or (isinstance(theta, str) and theta in ("uniform", "sample")):
        return np.ones(n_words)
    if isinstance(theta, str):
        if theta not in ("frequency", "root"):
            raise _unknown("theta", theta)
        frequency = np.asarray(counts.sum(axis=0)).ravel() + 0.5
        values = frequency if theta == "frequency" else np.sqrt(frequency)
    else:
        values = _per_word("theta", theta, n_words, np.inf, "every θ must be a positive, finite number")
    return values / values.mean()


def _per_word(name: str, value: Any, n_words: int, end: float, rule: str) -> np.ndarray:
    """Return a number for each word, from one for all or for each; all must lie between 0 and `end`."""
    try:
        values = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError("is not a number", name, value, "give a number, or one per word") from None
    if values.ndim and values.shape != (n_words,):
        raise InputError(f"{name} has shape {values.shape}; give a number, or one per word ({n_words}).")
    is_each, values = bool(values.ndim), np.broadcast_to(values, n_words).copy()
    for i in np.flatnonzero(~((values > 0) & (values < end))):
        raise InputError(f"{name} is {values[i]}{f' for word {i}' if is_each else ''}; {rule}.")
    return values


def scale_features(features: Any, n_words: int, standardize: bool) -> np.ndarray | None:
    """Return features (V, F), centred and scaled over the known words; rows of unknown words are NaN.

    Columns are scaled each by itself, except principal components, whose sizes say how much they matter.
    """
    if features is None:
        return None
    values = check_rows(features, "features", n_words)
    unknown = np.isnan(values).any(axis=1)
    n_partly = (unknown & ~np.isnan(values).all(axis=1)).sum()
    if n_partly:
        sentence = f"{n_partly} words have some features missing (NaN) and some not"
        warnings.warn(f"{sentence}; they count as words without features.", stacklevel=2)
    values[unknown] = np.nan
    if values.shape[1] == 0 or unknown.all():
        return None
    if standardize:
        known = values[~unknown]
        centre, spread = known.mean(axis=0), known.std(axis=0)
        centred = known - centre
        products = centred.T @ centred
        size = np.sqrt(np.diag(products))
        np.fill_diagonal(products, 0.0)
        if (np.abs(products) <= _UNCORRELATED * np.outer(size, size)).all():  # principal components
            spread[:] = np.sqrt(np.square(spread).mean())
        values = (values - centre) / np.where(spread > 0, spread, 1.0)
    return values


def check_seed(random_state: Any) -> None:
    """Raise if this is not a seed, without drawing from a generator."""
    is_seed = is_whole(random_state) and random_state >= 0
    if not is_seed and not isinstance(random_state, np.random.Generator | np.random.RandomState | None):
        raise InputError("is not a seed", "random_state", random_state, "give a whole number of at least 0, or None")


def make_seed(random_state: Any) -> int:
    """Return a 63-bit seed from None (fresh), a whole number, or a numpy generator."""
    check_seed(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(np.random.default_rng().integers(2**63) if random_state is None else random_state)
