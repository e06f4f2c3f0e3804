"""What every move of a chain agrees on: `move(stream, sweep, now) -> (now, info)`.

A move is one file here and one line in `chain.py`. It looks at `now.model.steps` for whether it is switched on, opens
its own named random streams, and leaves the joint distribution of all that is sampled as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from superwords.sampler.model import Model
from superwords.sampler.state import State, Tokens


class ChainState(NamedTuple):
    """What is carried from move to move; sampled concentrations stand in `model.prior`."""

    model: Model
    state: State
    tokens: Tokens | None  # z, from its imputation to the end of the sweep
    n_threads: int = 1  # how many a move may use; it does not change a bit


class Info(NamedTuple):
    """What a move only reports: how often each kind of proposal was tried and accepted (none for a Gibbs step)."""

    tried: dict[str, int]
    accepted: dict[str, int]


NOTHING_TRIED = Info({}, {})

Move = Callable[[np.ndarray, int, ChainState], tuple[ChainState, Info]]


def make_info(kinds: Iterable[str], tried: np.ndarray, accepted: np.ndarray) -> Info:
    """Return counts by kind, from arrays in the order of `kinds`."""
    return Info(dict(zip(kinds, tried.tolist())), dict(zip(kinds, accepted.tolist())))
