"""The default start goes on with splits and merges of whole concepts for as long as many of them are accepted.

√N / 10 topics suit running text, which seldom asks for more. Where documents are made of many distinct concepts they
are far too few, and a chain that tries two splits a sweep would grow for hundreds of sweeps. All of it is only a start:
it ends before the first sweep of the chain, whose target is what it would be from any other start.
"""

from __future__ import annotations

import numpy as np

from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.model import Model
from superwords.sampler.state import State

_SWEEPS = 100  # at the most
_FIRST, _MOST = 8, 40  # attempts in the first sweep, and in any
_WORTH, _LATELY = (
    0.04,
    3,
)  # share of the attempts of so many sweeps that must have been accepted for another sweep
_BEFORE = 1 << 41  # these sweeps have random numbers of their own


def grow(model: Model, state: State, seed: int, chain: int) -> State:
    """The state from which the chain starts, after as many sweeps as bring splits and merges."""
    if not model.steps.split_merges:
        return state
    await_kernels()
    growing = Chain(model, state, seed, chain, _BEFORE)
    accepted: list[float] = []  # share of the attempts, by sweep
    while len(accepted) < _SWEEPS and (not accepted or np.mean(accepted[-_LATELY:]) >= _WORTH):
        n_attempts = _MOST if accepted else _FIRST
        growing.model = model._replace(steps=model.steps._replace(split_merges=n_attempts))
        before = growing.accepted["split"] + growing.accepted["merge"]
        growing.step()
        accepted.append((growing.accepted["split"] + growing.accepted["merge"] - before) / n_attempts)
    return growing.state
