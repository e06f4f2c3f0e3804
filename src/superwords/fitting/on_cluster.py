"""Run chains on a cluster: each in an actor of its own, which returns every sweep as a chain in a thread does.

A chain whose worker dies continues in another from the last position it returned. Its sweeps since then are made again,
bit by bit the same, and are not counted twice.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from threadpoolctl import threadpool_limits

from superwords import cluster
from superwords.cluster import code_version, packed, ray, unpacked
from superwords.errors import InputError
from superwords.fitting.running import Receive, Runner, Swept, Task, sweeps_of
from superwords.sampler.compiling import await_kernels, compile_here

_POSITION_EVERY = 30.0  # seconds; a worker that dies costs so much work at the most
_LOOK_EVERY = 0.5
_MOST_LOST = 3  # workers in a row that die before a chain has handed back one sweep more
_MOST_WAITING = 64  # sweeps handed back that are not looked at yet; the chain waits then


def on_cluster(machines: cluster.Cluster, say: cluster.Say) -> Runner:
    """Return the runner of a cluster; as many chains run at once as the cluster has cores, others wait."""

    def run(tasks: Sequence[Task], n_jobs: int, receive: Receive, stop: threading.Event) -> None:
        await_kernels()
        # In a thread, so that Ctrl-C never falls between a draw and its number.
        running = cluster.in_thread(lambda: _run_all(machines, tasks, receive, stop, say))
        try:
            machines.wait_for(running)
        except BaseException as error:
            stop.set()
            if not isinstance(error, cluster.ClusterLostError):
                machines.wait_for(running)
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


class _Chain:
    """Follow one chain from the driver, in one worker or several in turn."""

    def __init__(self, task: Task, model: Any, actor: Callable[[], Any]):
        self.task = task._replace(model=None, position_every=min(task.position_every, _POSITION_EVERY))
        self.seen = task.position.sweep
        self.n_lost = 0
        self.has_begun = False
        self._model, self._actor = model, actor

    def start(self) -> Any:
        """Start a worker, and return the stream of its sweeps."""
        self.worker = self._actor()
        run = self.worker.run.options(num_returns="streaming", _generator_backpressure_num_objects=_MOST_WAITING)
        return run.remote(code_version(), self._model, packed(self.task))

    def end(self) -> None:
        with suppress(Exception):
            ray().kill(self.worker)


def _run_all(
    machines: cluster.Cluster, tasks: Sequence[Task], receive: Receive, stop: threading.Event, say: cluster.Say
) -> None:
    """Start all chains, and hand over what they return until the last one ends."""
    lost = importlib.import_module("ray.exceptions").RayError
    actor = ray().remote(num_cpus=1, max_concurrency=2, scheduling_strategy="SPREAD")(_ChainWorker)
    # Chains of the same documents share them; the prior, which may differ, is in the position.
    models = {id(task.model.data): task.model for task in tasks}
    shared = {key: ray().put(packed(model)) for key, model in models.items()}
    chains = [_Chain(task, shared[id(task.model.data)], actor.remote) for task in tasks]
    running = {chain.start(): chain for chain in chains}
    is_stopping = False
    try:
        while running:
            if stop.is_set() and not is_stopping:
                is_stopping = True
                for chain in running.values():
                    if chain.has_begun:
                        chain.worker.stop.remote()
                    else:  # it may still wait for a core
                        chain.end()
                running = {source: chain for source, chain in running.items() if chain.has_begun}
            ready, _ = ray().wait(list(running), num_returns=1, timeout=_LOOK_EVERY) if running else ([], [])
            for source in ready:
                chain = running[source]
                try:
                    swept: Swept = cluster.fetched(next(source))
                except StopIteration:
                    del running[source]
                    chain.end()
                    continue
                except lost:
                    del running[source]
                    machines.check()
                    chain.end()
                    if not stop.is_set():
                        running[_again(chain, say)] = chain
                    continue
                machines.check()  # nobody waits for this thread after the cluster is lost
                chain.has_begun = True
                if swept.position is not None:
                    chain.task = chain.task._replace(position=swept.position)
                if swept.progress.sweep > chain.seen:
                    chain.seen, chain.n_lost = swept.progress.sweep, 0
                    receive(swept)
    finally:
        for chain in running.values():
            chain.end()


def _again(chain: _Chain, say: cluster.Say) -> Any:
    """Continue a chain that has lost its worker in another."""
    chain.n_lost += 1
    number, sweep = chain.task.chain + 1, chain.task.position.sweep
    if chain.n_lost >= _MOST_LOST:
        raise InputError(
            f"The workers of chain {number} died {_MOST_LOST} times after sweep {chain.seen:,}, perhaps because "
            "memory ran out; use fewer words or documents, or machines with more memory."
        )
    say(f"Chain {number} has lost its worker and continues in another, after sweep {sweep:,}.")
    return chain.start()
