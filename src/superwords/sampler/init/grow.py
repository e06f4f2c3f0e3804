"""Continue a start from topics with splits of whole concepts as long as they add concepts.

√N / 10 topics suit running text, which seldom asks for more. Where documents are made of many distinct concepts they
are far too few, and a chain that tries two splits a sweep would grow for hundreds of sweeps. All of it is only a start:
it ends before the first sweep of the chain, whose target is what it would be from any other start.
"""

from __future__ import annotations

import numpy as np

from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.init.starts import initial_state
from superwords.sampler.model import Model
from superwords.sampler.state import State

GROWING = ("topics",)  # starts whose number of concepts is not asked for
_SWEEPS = 100  # at the most
_FIRST, _MOST = 8, 40  # attempts at a split or merge in the first sweep, and in any other
_LATELY = 3  # sweeps
_WORTH = 0.04  # splits more than merges, per attempt of late, that are worth another sweep
_BEFORE = 1 << 41  # these sweeps have random numbers of their own


def start_of(
    init: str, model: Model, theta: np.ndarray, seed: int, chain: int, shares: np.ndarray | None = None
) -> State:
    """Return the state from which a chain starts; where no number of concepts is given, after it has grown."""
    state = initial_state(init, model.data, model.prior, theta, seed, chain, shares)
    if init not in GROWING or not model.steps.split_merges:
        return state
    await_kernels()
    growing = Chain(model, state, seed, chain, _BEFORE)
    grown: list[float] = []  # by sweep
    while len(grown) < _SWEEPS and (not grown or np.mean(grown[-_LATELY:]) >= _WORTH):
        n_attempts = _MOST if grown else _FIRST
        growing.model = model._replace(steps=model.steps._replace(split_merges=n_attempts))
        before = growing.accepted["split"] - growing.accepted["merge"]
        growing.step()
        grown.append((growing.accepted["split"] - growing.accepted["merge"] - before) / n_attempts)
    return growing.state
