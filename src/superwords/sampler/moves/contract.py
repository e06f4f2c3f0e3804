"""The interface of a move: `move(stream, sweep, now) -> (now, info)`.

A move is one file here and one line in `chain.py`. It checks in `now.model.steps` whether it is enabled, opens its own
named random streams, and leaves the target distribution invariant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from superwords.sampler.model import Model
from superwords.sampler.state import State, Tokens


class ChainState(NamedTuple):
    """State carried from move to move; sampled concentrations are in `model.prior`."""

    model: Model
    state: State
    tokens: Tokens | None  # z, from its imputation to the end of the sweep
    n_threads: int = 1  # threads that a move may use; the result does not depend on it


class Info(NamedTuple):
    """Proposals tried and accepted by kind; empty for Gibbs steps."""

    tried: dict[str, int]
    accepted: dict[str, int]


NOTHING_TRIED = Info({}, {})

Move = Callable[[np.ndarray, int, ChainState], tuple[ChainState, Info]]


def make_info(kinds: Iterable[str], tried: np.ndarray, accepted: np.ndarray) -> Info:
    """Return counts by kind, from arrays in the order of `kinds`."""
    return Info(dict(zip(kinds, tried.tolist())), dict(zip(kinds, accepted.tolist())))
