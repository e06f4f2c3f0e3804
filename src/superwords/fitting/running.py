"""Running several chains side by side: same bits at any number of jobs, stopped cleanly, advanced later."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.draws import ChainDraws
from superwords.jobs import n_workers
from superwords.progress import Progress, Report
from superwords.sampler.chain import Chain


class Schedule(NamedTuple):
    """Sweeps in all, those before the first kept draw, and one kept draw every `thin`."""

    n_sweeps: int
    n_burn_in: int
    thin: int

    def keeps(self, sweep: int) -> bool:
        """Whether the draw after this many sweeps is kept."""
        return sweep > self.n_burn_in and (sweep - self.n_burn_in) % self.thin == 0


def run_chains(
    chains: list[Chain],
    draws: list[ChainDraws],
    schedule: Schedule,
    n_jobs: int | None = None,
    report: Report | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Take every chain to `schedule.n_sweeps` sweeps. Setting `stop`, or Ctrl-C, ends each after its present sweep."""
    stop = stop or threading.Event()
    jobs = min(len(chains), n_workers(n_jobs))
    # Linear algebra on one thread: its results could otherwise depend on how many there are.
    with threadpool_limits(1), ThreadPoolExecutor(jobs) as pool:
        try:
            running = [
                pool.submit(_run, number, chain, draws[number], schedule, report, stop)
                for number, chain in enumerate(chains)
            ]
            for job in running:
                job.result()
        except BaseException:
            stop.set()
            raise


def _run(
    number: int,
    chain: Chain,
    draws: ChainDraws,
    schedule: Schedule,
    report: Report | None,
    stop: threading.Event,
) -> None:
    start = perf_counter()
    while chain.sweep < schedule.n_sweeps and not stop.is_set():
        for draw in chain.advance(1):
            if schedule.keeps(draw.sweep):
                draws.keep(draw, chain.model)
        if report is not None:
            seen = draws.trace["log_joint"]
            report(
                Progress(
                    number,
                    chain.sweep,
                    schedule.n_sweeps,
                    int(chain.state.concept.max()) + 1 if len(chain.state.concept) else 0,
                    seen[-1] if seen else float("nan"),
                    perf_counter() - start,
                )
            )


def document_order(counts: sparse.csr_array, ids: list[str]) -> np.ndarray:
    """An order of the documents that depends on what they hold, not on how they came: by content, then by id.

    The chain scans documents in this order, so that shuffled input gives the same concepts.
    """
    keys = [
        (counts.indices[a:b].tobytes(), counts.data[a:b].tobytes(), ids[d])
        for d, (a, b) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:]))
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))
