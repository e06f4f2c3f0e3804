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

from superwords.cluster import (
    Cluster,
    ClusterLostError,
    Say,
    causes_raised,
    check_version,
    code_version,
    in_thread,
    packed,
    ray,
    unpacked,
)
from superwords.errors import InputError
from superwords.fitting.running import Receive, Runner, Swept, Task, sweeps_of
from superwords.sampler.compiling import await_kernels, compile_here

_POSITION_EVERY = 30.0  # seconds; a worker that dies costs so much work at the most
_LOOK_EVERY = 0.5
_MOST_LOST = 3  # workers in a row that die before a chain has handed back one sweep more
_MOST_WAITING = 64  # sweeps handed back that are not looked at yet; the chain waits then


def on_cluster(machines: Cluster, say: Say) -> Runner:
    """Return the runner of a cluster; as many chains run at once as the cluster has cores, others wait."""

    def run(tasks: Sequence[Task], n_jobs: int, receive: Receive, stop: threading.Event) -> None:
        await_kernels()
        # In a thread, so that Ctrl-C never falls between a draw and its number.
        running = in_thread(lambda: _Chains(machines, tasks, receive, stop, say).run())
        try:
            machines.wait_for(running)
        except BaseException as error:
            stop.set()
            if not isinstance(error, ClusterLostError):
                machines.wait_for(running)
            raise

    return run


class _ChainWorker:
    """Run one chain; this is in a worker."""

    def __init__(self) -> None:
        self._is_stopped = False

    def run(self, version: str, model: bytes, task: bytes) -> Iterator[bytes]:
        check_version(version)
        compile_here()
        whole: Task = unpacked(task)._replace(model=unpacked(model))
        with threadpool_limits(1):
            for swept in sweeps_of(whole, lambda: self._is_stopped):
                yield packed(swept)

    def stop(self) -> None:
        self._is_stopped = True


class _Running:
    """Follow one chain from the driver."""

    def __init__(self, task: Task, model: Any):
        self.model = model
        self.task = task._replace(position_every=min(task.position_every, _POSITION_EVERY))
        self.seen = task.position.sweep
        self.n_lost = 0
        self.has_begun = False

    def start(self, make_worker: Callable[[], Any]) -> Any:
        """Start a worker, and return the stream of its sweeps."""
        self.worker = make_worker()
        run = self.worker.run.options(num_returns="streaming", _generator_backpressure_num_objects=_MOST_WAITING)
        return run.remote(code_version(), self.model, packed(self.task._replace(model=None)))

    def take(self, swept: Swept) -> bool:
        """Note a sweep; return whether it is a new one."""
        self.has_begun = True
        if swept.position is not None:
            self.task = self.task._replace(position=swept.position)
        is_new = swept.progress.sweep > self.seen
        if is_new:
            self.seen, self.n_lost = swept.progress.sweep, 0
        return is_new

    def end(self) -> None:
        with suppress(Exception):
            ray().kill(self.worker)


class _Chains:
    def __init__(self, machines: Cluster, tasks: Sequence[Task], receive: Receive, stop: threading.Event, say: Say):
        self._machines, self._receive, self._stop, self._say = machines, receive, stop, say
        self._lost = importlib.import_module("ray.exceptions").RayError
        actor = ray().remote(num_cpus=1, max_concurrency=2, scheduling_strategy="SPREAD")(_ChainWorker)
        self._make_worker: Callable[[], Any] = actor.remote
        # Chains of the same documents share them; the prior, which may differ, is in the position.
        models = {id(task.model.data): task.model for task in tasks}
        shared = {key: ray().put(packed(model)) for key, model in models.items()}
        chains = [_Running(task, shared[id(task.model.data)]) for task in tasks]
        self._chains = {one.start(self._make_worker): one for one in chains}

    def run(self) -> None:
        is_told = False
        try:
            while self._chains:
                if self._stop.is_set() and not is_told:
                    is_told = True
                    for source, chain in list(self._chains.items()):
                        if chain.has_begun:
                            chain.worker.stop.remote()
                        else:  # it may still wait for a core
                            chain.end()
                            del self._chains[source]
                if self._chains:
                    self._look()
        finally:
            for chain in self._chains.values():
                chain.end()

    def _look(self) -> None:
        """Take what has arrived."""
        ready, _ = ray().wait(list(self._chains), num_returns=1, timeout=_LOOK_EVERY)
        for source in ready:
            chain = self._chains[source]
            try:
                with causes_raised():
                    swept: Swept = unpacked(ray().get(next(source)))
            except StopIteration:
                del self._chains[source]
                chain.end()
            except self._lost:
                del self._chains[source]
                self._machines.check()
                self._replace(chain)
            else:
                self._machines.check()  # nobody waits for this thread after the cluster is lost
                if chain.take(swept):
                    self._receive(swept)

    def _replace(self, chain: _Running) -> None:
        chain.end()
        if self._stop.is_set():
            return
        chain.n_lost += 1
        number, sweep = chain.task.chain + 1, chain.task.position.sweep
        if chain.n_lost >= _MOST_LOST:
            raise InputError(
                f"The workers of chain {number} died {_MOST_LOST} times after sweep {chain.seen:,}, perhaps because "
                "memory ran out; use fewer words or documents, or machines with more memory."
            )
        self._say(f"Chain {number} has lost its worker and continues in another, after sweep {sweep:,}.")
        self._chains[chain.start(self._make_worker)] = chain
