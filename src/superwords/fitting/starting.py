"""From what is given to the model to sample, and chains set at their start, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.corpus.corpus import Corpus
from superwords.corpus.reading import are_texts, corpus_of
from superwords.features.specs import check_spec, is_spec, make_features
from superwords.fitting.running import document_order
from superwords.fitting.settings import (
    check_settings,
    make_prior,
    make_start_rows,
    make_starts,
    make_steps,
    make_theta,
    scale_features,
)
from superwords.jobs import n_workers
from superwords.progress import Watcher
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.compiling import compile_ahead
from superwords.sampler.growth import start_of
from superwords.sampler.initial import NUMBERED, counts_of, parse_start
from superwords.sampler.model import Model, make_data, n_documents
from superwords.sampler.part_start import SWEEPS, arrive, pick_rows
from superwords.sampler.state import State


class Prepared(NamedTuple):
    """What is sampled."""

    corpus: Corpus
    order: np.ndarray  # of the corpus's rows in the model
    model: Model
    theta: np.ndarray


def prepare(given: Mapping[str, Any], X: Any, features: Any, tell: Watcher) -> Prepared:
    """Check everything that is given, read documents and features, and put the model together."""
    check_settings(given)
    if is_spec(features):
        check_spec(features)
    compile_ahead()
    with tell.reading() if are_texts(X) else nullcontext() as reading:
        corpus = corpus_of(X, n_jobs=given["n_jobs"], progress=reading, say=tell.say)
    found = make_features(features, corpus, tell.say)
    if found.seeds:
        corpus = replace(corpus, notes={**corpus.notes, "seeds": found.seeds})
    order = document_order(corpus.counts, corpus.ids)
    counts = sparse.csr_array(corpus.counts[order])
    prior, theta = make_prior(given, counts), make_theta(given["theta"], counts)
    is_scaled = given["standardize_features"] and found.standardize
    values = scale_features(found.values, counts.shape[1], is_scaled)
    affinity, steps = make_affinity(counts, values), make_steps(given, counts.shape[0])
    return Prepared(corpus, order, Model(prior, make_data(counts, values), affinity, steps), theta)


def start_chains(
    given: Mapping[str, Any], model: Model, theta: np.ndarray, seed: int, say: Callable[[str], None]
) -> list[Chain]:
    """A chain for each start that is asked for; those of many rows arrive on a part of them first."""
    starts, n_rows = make_starts(given), n_documents(model.data)
    n_part = make_start_rows(given, n_rows)
    if n_part is not None and any(parse_start(one)[0] in NUMBERED for one in starts):
        say(
            f"Large corpus: each chain starts with {SWEEPS} sweeps on {n_part:,} of the {n_rows:,} rows, "
            "which the others then join."
        )

    def start(chain: int) -> State:
        init = starts[chain]
        if n_part is None or parse_start(init)[0] not in NUMBERED:
            return start_of(init, model, theta, seed, chain)
        rows = pick_rows(n_rows, n_part, seed, chain)
        part = part_of(model, rows, given)
        return arrive(init, part, rows, model.data, theta, seed, chain)

    # Linear algebra on one thread: its results could otherwise depend on how many there are.
    n_at_once = min(len(starts), n_workers(given["n_jobs"]))
    with threadpool_limits(1), ThreadPoolExecutor(n_at_once) as pool:
        states = list(pool.map(start, range(len(starts))))
    return [Chain(model, state, seed, chain) for chain, state in enumerate(states)]


def part_of(model: Model, rows: np.ndarray, given: Mapping[str, Any]) -> Model:
    """The model of some rows alone, with the rules of its own size."""
    counts = sparse.csr_array(counts_of(model.data)[rows])
    features = np.where(model.data.known[:, None], model.data.Y, np.nan)
    return model._replace(prior=make_prior(given, counts), data=make_data(counts, features))
