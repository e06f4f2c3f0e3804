"""`model.trace_`: all that was traced, in the layout of ArviZ."""

from __future__ import annotations

import warnings
from importlib import import_module, metadata
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from superwords.posterior.draws import TRACED
from superwords.posterior.result import Result
from superwords.posterior.traces import CONCEPT_TRACED
from superwords.sampler.records import State

if TYPE_CHECKING:
    import xarray

_JITTER, _SEED = 1e-6, 1785  # of log densities, in nats


def trace_tree(result: Result) -> xarray.DataTree:
    """Return the traces in ArviZ layout.

    `posterior` has the traced quantities of all kept draws and, where every kept draw is traced, prevalence, strength
    of the listed concepts and sampled hyperparameters; of longer runs these are in the group `concepts`, over evenly
    spaced draws. `sample_stats` has the log density, the sweep and the share of accepted proposals of each draw (where
    all are stored), `log_likelihood` that of each document in the spaced draws, `observed_data` the documents' tokens.
    """
    import arviz_base  # takes a quarter of a second, and is not needed to sample

    posterior: dict[str, np.ndarray] = dict(result.trace_values)
    n = posterior[TRACED[0]].shape[1]
    sweeps = np.array([chain.kept_sweeps[:n] for chain in result.draws.chains])
    groups: dict[str, dict[str, np.ndarray]] = {
        "posterior": posterior,
        "sample_stats": {"lp": posterior[TRACED[0]], "sweep": sweeps},
        "observed_data": {"n_tokens": np.asarray(result.corpus.counts.sum(axis=1)).ravel()},
    }
    if result.n_concepts:
        traced = {name: values.astype(float) for name, values in result.concept_trace.items()}
        sampled = _sampled(result, traced[CONCEPT_TRACED[0]].shape[1])
        acceptance = sampled.pop("acceptance", np.zeros(0))
        traced |= {name: values for name, values in sampled.items() if np.ptp(values, axis=(0, 1)).any()}
        if acceptance.shape == sweeps.shape:
            groups["sample_stats"]["acceptance_rate"] = acceptance
        is_whole = traced[CONCEPT_TRACED[0]].shape[1] == n
        (posterior if is_whole else groups.setdefault("concepts", {})).update(traced)
        groups["log_likelihood"] = {"documents": document_likelihood(result)}
    dims = {"theta": ["word"], "documents": ["document"], "n_tokens": ["document"]}
    dims |= {name: ["concept"] for name in CONCEPT_TRACED}
    coords = {"document": np.array(result.corpus.ids), "word": np.array(result.corpus.vocabulary)}
    coords["concept"] = np.arange(1, result.n_concepts + 1)
    return arviz_base.from_dict(groups, coords=coords, dims=dims, check_conventions=False)


def for_arviz(tree: xarray.DataTree) -> Any:
    """Return the tree as the installed ArviZ reads it: as an `InferenceData` if that is older than version 1."""
    try:
        if not metadata.version("arviz").startswith("0."):
            return tree
    except metadata.PackageNotFoundError:
        return tree
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last releases of 0.x announce version 1 when they are imported
        return import_module("arviz").InferenceData.from_datatree(tree)


def _sampled(result: Result, n: int) -> dict[str, np.ndarray]:
    """Return b₁, b₂, α_ω, the acceptance (chain, draw) and θ (chain, draw, word), where n draws are stored."""
    if any(len(chain) != n for chain in result.draws.chains):
        return {}
    names = ("b1", "b2", "alpha_omega", "acceptance", "theta")
    read = attrgetter(*names[:-1], "state.theta")
    drawn = [[read(draw) for draw in chain] for chain in result.draws.chains]
    return {name: np.array([[draw[at] for draw in chain] for chain in drawn]) for at, name in enumerate(names)}


def document_likelihood(result: Result) -> np.ndarray:
    """Return (chain, draw, document) log density of each document's tokens in the spaced draws, z summed out.

    A stored draw has α_π + n_dj in the place of π, which is drawn here from Gamma(α_π + n_dj, 1), given z.
    """
    counts = sparse.csr_array(result.corpus.counts[result.order])
    chains = result.spaced.chains
    n = min(len(chain) for chain in chains)
    out, rng = np.empty((len(chains), n, len(result.order))), np.random.default_rng(_SEED)
    for c, chain in enumerate(chains):
        for s in range(n):
            state = chain[s].state
            drawn = state._replace(weight=rng.standard_gamma(state.weight))
            out[c, s, result.order] = log_text(drawn, counts)
    # A document of one concept has the same density in many draws; ArviZ's Pareto fit (`az.loo`) refuses such ties.
    return out + _JITTER * rng.standard_normal(out.shape)


def log_text(state: State, counts: sparse.csr_array) -> np.ndarray:
    """Return (D) log Π_i (Σ_{j: c f = 1} θ_i π_j / (S T_j))^{#_di}, documents in the order of the state."""
    n_documents, n_words = counts.shape
    pair = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    document = np.repeat(np.arange(n_documents), np.diff(state.doc_ptr))
    mass = np.bincount(pair, state.theta[state.word], len(state.concept))
    total = np.bincount(document, state.weight, n_documents)
    share = state.weight / np.where(mass > 0, mass, 1.0) / np.where(total > 0, total, 1.0)[document]
    row = np.repeat(np.arange(n_documents), np.diff(counts.indptr))
    cells = row.astype(np.int64) * n_words + counts.indices
    key = document[pair].astype(np.int64) * n_words + state.word
    place = np.minimum(np.searchsorted(cells, key), max(len(cells) - 1, 0))
    here = cells[place] == key if len(cells) else np.zeros(len(key), bool)
    density = np.bincount(place[here], (share[pair] * state.theta[state.word])[here], len(cells))
    with np.errstate(divide="ignore"):
        return np.bincount(row, counts.data * np.log(density), n_documents)
