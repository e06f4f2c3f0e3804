"""Run several chains side by side: the same bits at any number of jobs, stopped cleanly, advanced later.

A *runner* is given chains as plain arrays and hands back what they do, sweep by sweep, in threads (`in_threads`) or on
a cluster (`on_cluster`). There, each chain is in an actor of its own. A chain whose worker dies continues in another
from the last position it returned: its sweeps since then are made again, bit by bit the same, and not counted twice.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from superwords import cluster
from superwords.cluster import packed, ray, unpacked
from superwords.errors import ClusterError, InputError
from superwords.machine import n_workers
from superwords.posterior.draws import ChainDraws, Kept, Schedule, keep
from superwords.progress import Progress, Watcher
from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels, compile_here
from superwords.sampler.records import Position, n_concepts
from superwords.storage.model_file import code_digest

_LOG_JOINT_EVERY = 1.0  # seconds, while no draw is kept
_MOST_TIME = 0.03  # share of the time spent on it
_POSITION_EVERY = 30.0  # seconds; a worker of a cluster that dies costs so much work at the most
_LOOK_EVERY = 0.5
_MOST_LOST = 3  # workers in a row that die before a chain has handed back one sweep more
_MOST_WAITING = 64  # sweeps handed back that are not looked at yet; the chain waits then


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
            share = (chain.accepted.total() - accepted) / max(chain.tried.total() - tried, 1)
            kept = keep(draw, chain.model, share)
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


def on_cluster(machines: cluster.Cluster, say: cluster.Say) -> Runner:
    """Return the runner of a cluster; as many chains run at once as the cluster has cores, others wait."""

    def run(tasks: Sequence[Task], n_jobs: int, receive: Receive, stop: threading.Event) -> None:
        await_kernels()
        actor = ray().remote(num_cpus=1, max_concurrency=2, scheduling_strategy="SPREAD")(_ChainWorker)
        # Chains of the same documents share them; the prior, which may differ, is in the position.
        models = {id(task.model.data): task.model for task in tasks}
        shared = {key: machines.watched(partial(ray().put, packed(model))) for key, model in models.items()}
        following = partial(_follow, machines, actor, receive, stop, say)
        # In threads, so that Ctrl-C never falls between a draw and its number.
        running = [cluster.in_thread(partial(following, shared[id(one.model.data)], one)) for one in tasks]
        for one in running:
            one.add_done_callback(lambda done: stop.set() if done.exception() else None)  # the others end, too
        try:
            for one in running:
                machines.wait_for(one)
        except BaseException as error:
            stop.set()
            if not isinstance(error, ClusterError):
                for one in running:
                    with suppress(Exception):  # the first error is raised
                        machines.wait_for(one)
            raise

    return run


class _ChainWorker:
    """Run one chain; this is in a worker."""

    def __init__(self) -> None:
        self._is_stopped = False

    def run(self, version: str, model: bytes, task: bytes) -> Iterator[bytes]:
        cluster.check_version(version)
        compile_here()
        whole: Task = unpacked(task)._replace(model=unpacked(model))
        with threadpool_limits(1):
            for swept in sweeps_of(whole, lambda: self._is_stopped):
                yield packed(swept)

    def stop(self) -> None:
        self._is_stopped = True


def _follow(
    machines: cluster.Cluster,
    actor: Any,
    receive: Receive,
    stop: threading.Event,
    say: cluster.Say,
    model: Any,
    task: Task,
) -> None:
    """Hand over what one chain returns until it ends, from one worker or several in turn."""
    dead = importlib.import_module("ray.exceptions").RayError
    task = task._replace(model=None, position_every=min(task.position_every, _POSITION_EVERY))
    number, seen, n_lost = task.chain + 1, task.position.sweep, 0
    while True:
        worker = actor.remote()
        run = worker.run.options(num_returns="streaming", _generator_backpressure_num_objects=_MOST_WAITING)
        sweeps = run.remote(code_digest(), model, packed(task))
        has_begun = is_stopping = False
        try:
            while has_begun or not stop.is_set():  # before its first sweep it may still wait for a core
                if stop.is_set() and not is_stopping:
                    is_stopping = True
                    worker.stop.remote()
                if not ray().wait([sweeps], timeout=_LOOK_EVERY)[0]:
                    continue
                swept: Swept = cluster.fetched(next(sweeps))
                machines.check()  # nobody waits for this thread after the cluster is lost
                has_begun = True
                if swept.position is not None:
                    task = task._replace(position=swept.position)
                if swept.progress.sweep > seen:
                    seen, n_lost = swept.progress.sweep, 0
                    receive(swept)
            return
        except StopIteration:
            return
        except dead:
            machines.check()
            if stop.is_set():
                return
            n_lost += 1
        finally:
            with suppress(Exception):
                ray().kill(worker)
        if n_lost >= _MOST_LOST:
            problem = (
                f"The workers of chain {number} died {n_lost} times after sweep {seen:,}, perhaps for want of memory"
            )
            raise InputError(f"{problem}; use fewer words or documents, or machines with more memory.")
        say(f"Chain {number} has lost its worker and continues in another, after sweep {task.position.sweep:,}.")


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
    every, n_cores = np.inf if watcher is None else watcher.every, n_workers(n_jobs)
    to_run = [(c, one) for c, one in enumerate(chains) if one.sweep < schedule.n_sweeps]
    n_threads = max(1, n_cores // max(1, len(to_run))) if runner is in_threads else 1
    rest = schedule, every, watcher is not None, n_threads
    tasks = [Task(c, one.model, one.seed, one.position(), *rest) for c, one in to_run]
    runner(tasks, max(1, min(len(tasks), n_cores)), receive, stop)
    if raised:
        raise raised[0]
