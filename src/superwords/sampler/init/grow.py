"""Add concepts to a start from topics by splits, as long as they are accepted.

√N / 10 topics are usually enough for running text. Where documents contain many distinct concepts they are far too few,
and a chain that tries two splits a sweep would grow for hundreds of sweeps. This is initialisation only: it ends before
the first sweep of the chain and does not affect its target.
"""

from __future__ import annotations

import numpy as np

from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.init.starts import initial_state
from superwords.sampler.model import Model
from superwords.sampler.state import State

GROWING = ("topics",)  # starts without a given number of concepts
_SWEEPS = 100  # maximum
_FIRST, _MOST = 8, 40  # attempted splits and merges in the first sweep, and in later ones
_WINDOW = 3  # sweeps
_MIN_GROWTH = 0.04  # net splits per attempt over the window for another sweep
_BEFORE = 1 << 41  # offset of sweep numbers, for separate random streams


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
    while len(grown) < _SWEEPS and (not grown or np.mean(grown[-_WINDOW:]) >= _MIN_GROWTH):
        n_attempts = _MOST if grown else _FIRST
        growing.model = model._replace(steps=model.steps._replace(split_merges=n_attempts))
        before = growing.accepted["split"] - growing.accepted["merge"]
        growing.step()
        grown.append((growing.accepted["split"] - growing.accepted["merge"] - before) / n_attempts)
    return growing.state
