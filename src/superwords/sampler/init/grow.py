"""Starts for which a chain runs first. This is initialisation only: the chain's target is not affected.

A start from topics grows by splits as long as they are accepted: where documents contain many distinct concepts,
√N / 10 topics are far too few. In large corpora a chain runs on a sample of the rows, and the others are folded in.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.fold_in import sample_documents
from superwords.sampler.init.starts import counts_of, initial_state
from superwords.sampler.leave_one_out import leave_one_out_counts
from superwords.sampler.model import Data, Model, make_data
from superwords.sampler.moves.contract import map_blocks
from superwords.sampler.random import INITIAL, new_stream
from superwords.sampler.state import State, concatenated, sizes_of, take_rows

GROWING = ("topics",)  # starts without a given number of concepts
_MOST_SWEEPS = 100
_FIRST, _MOST = 8, 40  # attempted splits and merges in the first sweep, and in later ones
_WINDOW = 3  # sweeps
_MIN_GROWTH = 0.04  # net splits per attempt over the window for another sweep
LARGE = 20_000  # rows above which a chain starts from a sample of them
ROWS, SWEEPS = 8_000, 60  # sample size in rows, and sweeps over it before the other rows join
_JOINING = 5  # sweeps over each of the others
_ROWS_STREAM = 2
_BEFORE_ALL, _BEFORE = 1 << 40, 1 << 41  # offsets of sweep numbers, for separate random streams


def start_of(
    init: str, model: Model, theta: np.ndarray, seed: int, chain: int, shares: np.ndarray | None = None
) -> State:
    """Return the initial state of a chain, grown if no number of concepts is given."""
    state = initial_state(init, model.data, model.prior, theta, seed, chain, shares)
    if init not in GROWING or not model.steps.split_merges:
        return state
    await_kernels()
    growing = Chain(model, state, seed, chain, _BEFORE)
    grown: list[float] = []  # by sweep
    while len(grown) < _MOST_SWEEPS and (not grown or np.mean(grown[-_WINDOW:]) >= _MIN_GROWTH):
        n_attempts = _MOST if grown else _FIRST
        growing.model = model._replace(steps=model.steps._replace(split_merges=n_attempts))
        before = growing.accepted["split"] - growing.accepted["merge"]
        growing.step()
        grown.append((growing.accepted["split"] - growing.accepted["merge"] - before) / n_attempts)
    return growing.state


def pick_rows(n_rows: int, n_picked: int, seed: int, chain: int) -> np.ndarray:
    """Return the rows of a chain's sample, ascending."""
    rng = np.random.default_rng([seed, chain, INITIAL, _ROWS_STREAM])
    return np.sort(rng.choice(n_rows, n_picked, replace=False))


def arrive(init: str, few_rows: Model, rows: np.ndarray, data: Data, theta: np.ndarray, seed: int, chain: int) -> State:
    """Return a start for all rows of `data`; `few_rows` is the model of a sample."""
    start = start_of(init, few_rows, theta, seed, chain)
    await_kernels()
    few = Chain(few_rows, start, seed, chain, _BEFORE_ALL)
    for _ in range(SWEEPS):
        few.step()
    rest = np.setdiff1d(np.arange(len(data.length)), rows)
    joined = join_rows(few, counts_of(data)[rest], new_stream(seed, chain))
    both = concatenated([few.state, joined], theta)
    return take_rows(both, np.argsort(np.concatenate([rows, rest]), kind="stable"))


def join_rows(chain: Chain, counts: sparse.csr_array, stream: np.ndarray, n_threads: int = 1) -> State:
    """Return the state of further rows given a chain's concepts, each independent."""
    state, model = chain.state, chain.model
    concepts = leave_one_out_counts(sizes_of(state), len(model.data.length), state.theta, model.prior)

    def join(first: int, last: int) -> State:
        return sample_documents(make_data(counts[first:last], None), concepts, stream.copy(), _JOINING, _JOINING)

    return concatenated(map_blocks(join, counts.shape[0], n_threads), state.theta)
