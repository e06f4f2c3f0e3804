"""Run several chains side by side: the same bits at any number of jobs, stopped cleanly, advanced later.

A *runner* is given chains as plain arrays and hands back what they do, sweep by sweep. Here they run in threads
(`in_threads`) or on a cluster (`fitting.on_cluster`); whatever else passes on what `sweeps_of` gives, in its order, is
a runner too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from superwords.jobs import n_workers
from superwords.posterior.draws import ChainDraws, Kept, Schedule, keep
from superwords.progress import Progress, Watcher
from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.records import Position, n_concepts

_LOG_JOINT_EVERY = 1.0  # seconds, while no draw is kept
_MOST_TIME = 0.03  # share of the time spent on it


class Task(NamedTuple):
    """One chain in plain arrays, and how far it is to go; it can be pickled."""

    chain: int
    model: Any  # a Model; None while it travels apart from the task
    seed: int
    position: Position
    schedule: Schedule
    position_every: float = np.inf  # seconds between two positions handed back; the last one always is
    is_reported: bool = False  # somebody looks at the log joint while it runs
    n_threads: int = 1  # for the moves that can use several; it does not change a bit


class Swept(NamedTuple):
    """What a chain hands back after a sweep: how far it is, the draw if it is kept, and now and then all it needs."""

    progress: Progress
    kept: Kept | None
    position: Position | None


Receive = Callable[[Swept], None]
# Runs the tasks, a limited number at once, and hands over every chain's `Swept` in the order of its sweeps. Setting the
# event ends each chain after its present sweep.
Runner = Callable[[Sequence[Task], int, Receive, threading.Event], None]


def sweeps_of(task: Task, is_stopped: Callable[[], bool]) -> Iterator[Swept]:
    """Take one chain to its last sweep; what it does depends on the task only."""
    schedule, start = task.schedule, perf_counter()
    chain = Chain(task.model, task.position.state, task.seed, task.chain)
    chain.go_to(task.position)
    chain.n_threads = task.n_threads
    next_position = monotonic() + task.position_every
    # The log joint is that of the last kept draw; before there is one, it is computed now and then.
    log_joint, next_joint = float("nan"), 0.0 if task.is_reported else np.inf
    is_last = chain.sweep >= schedule.n_sweeps or is_stopped()
    while not is_last:
        tried, accepted = chain.tried.total(), chain.accepted.total()
        (draw,) = chain.advance(1)
        kept = position = None
        if schedule.keeps(draw.sweep):
            tried, accepted = chain.tried.total() - tried, chain.accepted.total() - accepted
            kept = keep(draw, chain.model, accepted / max(tried, 1))
            log_joint, next_joint = kept.log_joint, np.inf
        elif (now := monotonic()) >= next_joint:
            log_joint = chain.log_joint()
            next_joint = monotonic() + max(_LOG_JOINT_EVERY, (monotonic() - now) / _MOST_TIME)
        is_last = chain.sweep >= schedule.n_sweeps or is_stopped()
        if is_last or monotonic() >= next_position:
            position = chain.position()
            next_position = monotonic() + task.position_every
        done = chain.sweep, schedule.n_sweeps, n_concepts(chain.state), log_joint, perf_counter() - start
        yield Swept(Progress(task.chain, *done), kept, position)


def in_threads(tasks: Sequence[Task], n_jobs: int, receive: Receive, stop: threading.Event) -> None:
    """Run the chains in threads of this process, in which `receive` is called."""

    def run(task: Task) -> None:
        for swept in sweeps_of(task, stop.is_set):
            receive(swept)

    await_kernels()
    # Linear algebra on one thread: its results could otherwise depend on how many there are.
    with threadpool_limits(1), ThreadPoolExecutor(n_jobs) as pool:
        try:
            for job in [pool.submit(run, task) for task in tasks]:
                job.result()
        except BaseException:
            stop.set()
            raise


def run_chains(
    chains: Sequence[Chain],
    draws: Sequence[ChainDraws],
    schedule: Schedule,
    n_jobs: int | None = None,
    watcher: Watcher | None = None,
    runner: Runner = in_threads,
) -> None:
    """Take every chain to `schedule.n_sweeps` sweeps; Ctrl-C ends each after its present sweep.

    `watcher` sees all that the chains hand back; what it raises stops them too, and so does its event.
    """
    stop = getattr(watcher, "stop", None) or threading.Event()
    raised: list[BaseException] = []

    def receive(swept: Swept) -> None:
        number = swept.progress.chain
        if swept.kept is not None:
            draws[number].append(swept.kept)
        if swept.position is not None:
            chains[number].go_to(swept.position)
        try:
            if watcher is not None:
                watcher.see(swept)
                watcher(swept.progress)
        except BaseException as error:
            # Do not interrupt the sweep: the chain ends after it, in its current state.
            raised.append(error)
            stop.set()

    for chain, kept in zip(chains, draws, strict=True):
        kept.cut(chain.sweep)
    every = np.inf if watcher is None else watcher.every
    to_run = [(c, one) for c, one in enumerate(chains) if one.sweep < schedule.n_sweeps]
    n_threads = max(1, n_workers(n_jobs) // max(1, len(to_run))) if runner is in_threads else 1
    rest = schedule, every, watcher is not None, n_threads
    tasks = [Task(c, one.model, one.seed, one.position(), *rest) for c, one in to_run]
    runner(tasks, max(1, min(len(tasks), n_workers(n_jobs))), receive, stop)
    if raised:
        raise raised[0]
