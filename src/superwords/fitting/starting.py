"""Chains set at their start, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.fitting.settings import make_prior, make_start_rows, make_starts
from superwords.jobs import n_workers
from superwords.sampler.chain import Chain
from superwords.sampler.growth import grow
from superwords.sampler.initial import GROWING, NUMBERED, counts_of, initial_state, parse_start
from superwords.sampler.model import Model, make_data, n_documents
from superwords.sampler.part_start import SWEEPS, arrive, pick_rows
from superwords.sampler.state import State


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
            state = initial_state(init, model.data, model.prior, theta, seed, chain)
            return grow(model, state, seed, chain) if init in GROWING else state
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
