"""Start for large corpora: a chain on a sample of rows, which the others join.

The other rows are folded in given the concepts found, each with the words it uses and its own weights. This is
initialisation only: from its first sweep the chain has all rows, and its target is not affected.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.fold_in import sample_documents
from superwords.sampler.init.grow import start_of
from superwords.sampler.init.starts import counts_of
from superwords.sampler.leave_one_out import leave_one_out_counts
from superwords.sampler.model import Data, Model, make_data, n_documents
from superwords.sampler.new_state import concatenated, new_state, take_rows
from superwords.sampler.random import INITIAL, new_stream
from superwords.sampler.state import State, sizes_of
from superwords.sampler.threads import map_blocks

LARGE = 20_000  # rows above which a chain starts from a sample of them
ROWS, SWEEPS = 8_000, 60  # sample size in rows, and sweeps over it before the other rows join
_JOINING = 5  # sweeps over each of the others
_BEFORE = 1 << 40  # offset of sweep numbers, for separate random streams
_ROWS_STREAM = 2


def pick_rows(n_rows: int, n_picked: int, seed: int, chain: int) -> np.ndarray:
    """Return the rows of a chain's sample, ascending."""
    rng = np.random.default_rng([seed, chain, INITIAL, _ROWS_STREAM])
    return np.sort(rng.choice(n_rows, n_picked, replace=False))


def arrive(
    init: str, few_rows: Model, rows: np.ndarray, data: Data, theta: np.ndarray, seed: int, chain: int
) -> State:
    """Return a start for all rows of `data`; `few_rows` is the model of a sample."""
    start = start_of(init, few_rows, theta, seed, chain)
    await_kernels()
    few = Chain(few_rows, start, seed, chain, _BEFORE)
    for _ in range(SWEEPS):
        few.step()
    rest = np.setdiff1d(np.arange(n_documents(data)), rows)
    joined = join_rows(few, counts_of(data)[rest], new_stream(seed, chain))
    both = concatenated([few.state, joined], theta)
    return take_rows(both, np.argsort(np.concatenate([rows, rest]), kind="stable"))


def join_rows(chain: Chain, counts: sparse.csr_array, stream: np.ndarray, n_threads: int = 1) -> State:
    """Return the state of further rows given a chain's concepts, each independent."""
    state = chain.state
    concepts = leave_one_out_counts(
        sizes_of(state), n_documents(chain.model.data), state.theta, chain.model.prior
    )

    def join(first: int, last: int) -> State:
        data, new = make_data(counts[first:last], None), new_state(state, last - first)
        return sample_documents(data, concepts, stream.copy(), _JOINING, _JOINING, new=new)

    return concatenated(map_blocks(join, counts.shape[0], n_threads), state.theta)
