"""Compile kernels ahead of time in separate processes, while documents are read.

`python -m superwords.sampler.compiling concepts` compiles the kernels of the named moves. A thread would block the
reading, because numba holds the GIL while it compiles. The order of compilation can change the last digit of a result;
every fit compiles the kernels here, so the first run gives the same bits as later ones.
"""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse

from superwords.sampler.chain import MOVES, Chain
from superwords.sampler.jit import cache_folder
from superwords.sampler.model import Affinity, Model, Prior, Steps, make_data
from superwords.sampler.moves.contract import ChainState
from superwords.sampler.state import State

# Two processes with about equal compile times.
_HALVES = (("concepts",), ("tokens", "word_moves", "split_merge", "words"))
_ATTEMPTS = 20  # at a split or merge, so that some reach the last stage and every kernel is called
_running: list[subprocess.Popen[bytes]] = []


def compile_ahead() -> None:
    """Start compiling the kernels that are not on disk, and return at once."""
    folder = cache_folder()
    if folder is None or _running:
        return
    for moves in _HALVES:
        if not _mark(folder, moves).exists():
            program = [sys.executable, "-m", "superwords.sampler.compiling", *moves]
            _running.append(subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def await_kernels() -> None:
    """Wait for `compile_ahead`; kernels that failed are compiled on their first call."""
    while _running:
        _running.pop().wait()


def compile_here() -> None:
    """Compile the kernels in one process of this machine, while others wait for it."""
    with one_at_a_time():
        compile_ahead()
        await_kernels()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold a lock that excludes other processes on this machine (POSIX only)."""
    folder = cache_folder()
    if folder is None or os.name != "posix":
        yield
        return
    import fcntl

    with open(Path(folder) / "compiling.lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _mark(folder: str, moves: tuple[str, ...]) -> Path:
    """Return the file that marks moves as compiled for this path of the package."""
    copy = hashlib.sha256(__file__.encode()).hexdigest()[:16]
    return Path(folder) / f"{'-'.join(moves)}-{copy}.compiled"


def _compile(moves: tuple[str, ...]) -> None:
    """Call the moves once, on a small problem with the types that a fit has."""
    prior = Prior(3.0, 1.0, 1.0, np.full(4, 0.4), 1.0, 0.7, 3.0, 2.0, 1.0)
    data = make_data(sparse.csr_array(np.full((3, 4), 2)), np.eye(4)[:, :2])
    pairs = np.arange(7, dtype=np.int64)
    concept, words = np.tile(np.arange(2, dtype=np.int32), 3), np.tile(np.arange(4, dtype=np.int32), 3)
    state = State(pairs[::2].copy(), concept, np.ones(6), 2 * pairs, words, np.ones(4))
    near, rho = np.arange(4, dtype=np.int32)[:, None], np.full((4, 1), 0.5)
    steps = Steps(sample_theta=True, split_merges=_ATTEMPTS)
    chain = Chain(Model(prior, data, Affinity(near, rho, rho), steps), state, seed=1)
    now = ChainState(chain.model, chain.state, None)
    for name in moves:
        now, _ = MOVES[name](chain.stream, 0, now)


if __name__ == "__main__":
    gc.disable()  # saves a sixth of the time in a short-lived process
    _compile(tuple(sys.argv[1:]))
    if folder := cache_folder():
        _mark(folder, tuple(sys.argv[1:])).touch()
