"""Compile the sampler's kernels once, before workers start that would each compile all of them.

`python tests/warm.py concepts` compiles what the named moves need.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from joint import any_affinity
from superwords.sampler.chain import MOVES, Chain
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.moves.contract import ChainState
from superwords.sampler.simulate import simulate

# Two processes that have about as much to do.
HALVES = (("concepts",), ("tokens", "split_merge", "words"))


def warm(moves: list[str]) -> None:
    prior = Prior(3.0, 1.0, 1.0, np.full(6, 0.4), 1.0, 0.7, 3.0, 2.0, 1.0)
    made = simulate(prior, np.full(5, 8), 2, np.ones(6), seed=1)
    data = make_data(made.counts, made.features, made.null)
    steps = Steps(split_merges=2, word_moves=1.0, sample_theta=True)
    chain = Chain(Model(prior, data, any_affinity(6), steps), made.state, seed=1)
    now = ChainState(chain.model, chain.state, None)
    for name in moves:
        now, _ = MOVES[name](chain.stream, 0, now)


def warm_in_two_processes() -> None:
    started = [subprocess.Popen([sys.executable, __file__, *half]) for half in HALVES]
    for process in started:
        process.wait()


if __name__ == "__main__":
    warm(sys.argv[1:])
