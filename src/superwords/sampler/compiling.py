"""Kernels compiled ahead, in processes of their own, while documents are read.

`python -m superwords.sampler.compiling concepts` compiles what the named moves need. numba holds the interpreter's lock
while it compiles, so a thread would stop the reading. Compiled in another order, kernels may round otherwise in the
last digit; as every fit has them compiled here, the first run has the bits of all later ones.
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

# Two processes that have about as much to do.
_HALVES = (("concepts",), ("tokens", "word_moves", "split_merge", "words"))
_ATTEMPTS = 20  # at a split or merge: some go all the way, and so call every kernel
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
    """Wait for `compile_ahead`; what failed is compiled on its first call."""
    while _running:
        _running.pop().wait()


def compile_here() -> None:
    """Compile the kernels in one process of this machine; the others wait for it."""
    with one_at_a_time():
        compile_ahead()
        await_kernels()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold a lock that one process of this machine can have, where files can be locked."""
    folder = cache_folder()
    if folder is None or os.name != "posix":
        yield
        return
    import fcntl

    with open(Path(folder) / "compiling.lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _mark(folder: str, moves: tuple[str, ...]) -> Path:
    """Return the file that marks moves as compiled for this copy of the package: numba keeps machine code by path."""
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
    gc.disable()  # a sixth of the time, and the process is short
    _compile(tuple(sys.argv[1:]))
    if folder := cache_folder():
        _mark(folder, tuple(sys.argv[1:])).touch()
