"""The interface of a move: `move(stream, sweep, now) -> (now, info)`.

A move is one file here and one line in `chain.py`. It checks in `now.model.steps` whether it is enabled, opens its own
named random streams, and leaves the target distribution invariant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from superwords.sampler.model import Model
from superwords.sampler.state import State, Tokens


class ChainState(NamedTuple):
    """State carried from move to move; sampled concentrations are in `model.prior`."""

    model: Model
    state: State
    tokens: Tokens | None  # z, from its imputation to the end of the sweep
    n_threads: int = 1  # threads that a move may use; the result does not depend on it


Info = dict[str, tuple[int, int]]  # proposals tried and accepted by kind; empty for Gibbs steps

Move = Callable[[np.ndarray, int, ChainState], tuple[ChainState, Info]]


def make_info(kinds: Iterable[str], tried: np.ndarray, accepted: np.ndarray) -> Info:
    """Return counts by kind, from arrays in the order of `kinds`."""
    return dict(zip(kinds, zip(tried.tolist(), accepted.tolist())))


_BLOCKS_PER_THREAD = 4  # so that threads finish at about the same time
_LEAST = 256  # documents in a block; a smaller one costs less than its overhead

Made = TypeVar("Made")


def map_blocks(work: Callable[[int, int], Made], n: int, n_threads: int) -> list[Made]:
    """Return `work(first, last)` over 0..n−1 in blocks, in their order."""
    n_blocks = min(n_threads * _BLOCKS_PER_THREAD, n // _LEAST)
    if n_threads == 1 or n_blocks < 2:
        return [work(0, n)]
    ends = [n * block // n_blocks for block in range(n_blocks + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, ends[:-1], ends[1:]))
