"""Kernels compiled ahead, in processes of their own, while documents are read.

`python -m superwords.sampler.compiling concepts` compiles what the named moves need. numba holds the interpreter's lock
while it compiles, so a thread would stop the reading.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from superwords.sampler.chain import MOVES, Chain
from superwords.sampler.jit import cache_folder
from superwords.sampler.model import Affinity, Model, Prior, Steps, make_data
from superwords.sampler.moves.contract import ChainState
from superwords.sampler.simulate import simulate

# Two processes that have about as much to do.
_HALVES = (("concepts",), ("tokens", "split_merge", "words"))
_running: list[subprocess.Popen[bytes]] = []


def compile_ahead() -> None:
    """Start compiling what is not on disk yet; comes back at once."""
    folder = cache_folder()
    if folder is None or _running or (os.cpu_count() or 1) < 2:
        return
    for moves in _HALVES:
        if not _mark(folder, moves).exists():
            program = [sys.executable, "-m", "superwords.sampler.compiling", *moves]
            _running.append(subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def await_kernels() -> None:
    """Wait for what `compile_ahead` started. Where it fails, kernels are compiled when they are first called."""
    while _running:
        _running.pop().wait()


def _mark(folder: str, moves: tuple[str, ...]) -> Path:
    return Path(folder) / f"{'-'.join(moves)}.compiled"


def _compile(moves: tuple[str, ...]) -> None:
    """Call the moves once, on a problem of the types that a fit has."""
    prior = Prior(3.0, 1.0, 1.0, np.full(6, 0.4), 1.0, 0.7, 3.0, 2.0, 1.0)
    made = simulate(prior, np.full(5, 8), 2, np.ones(6), seed=1)
    near, rho = np.arange(6, dtype=np.int32)[:, None], np.full((6, 1), 0.5)
    data = make_data(made.counts, made.features, made.null)
    steps = Steps(sample_theta=True)
    chain = Chain(Model(prior, data, Affinity(near, rho, rho), steps), made.state, seed=1)
    now = ChainState(chain.model, chain.state, None)
    for name in moves:
        now, _ = MOVES[name](chain.stream, 0, now)


if __name__ == "__main__":
    _compile(tuple(sys.argv[1:]))
    if folder := cache_folder():
        _mark(folder, tuple(sys.argv[1:])).touch()
