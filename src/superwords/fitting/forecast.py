"""What a run will need: memory and disk before its first sweep, time after a few; what cannot fit is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from superwords.errors import InputError
from superwords.machine import available_memory, free_disk, peak_memory, temporary_folder
from superwords.posterior.draws import ChainDraws, Schedule, most_spaced
from superwords.progress import Progress, Watcher
from superwords.sampler.chain import Chain
from superwords.sampler.state import n_concepts
from superwords.storage.arrays import pack
from superwords.storage.draws import plain_state

# Bytes that a sweep works with, as measured: for each word that is on, each concept of a document, each document,
# and each word of a concept whether it is on or not.
_PER_ENTRY, _PER_PAIR, _PER_DOCUMENT, _PER_CELL = 100, 250, 150, 70
_PER_SUMMED = 45  # bytes of the summing up for each word that is on in a draw that is kept in detail
_TOKENS = 1.3  # of a draw's size on disk over its state's alone
_WORDS_ON = 4  # at the most, for each word of each document, in a draw that has left its start
_LOOKED_AT = 3  # sweeps before time is forecast; the first is left out, as kernels may be compiled in it
_WORTH_TELLING = 120.0  # seconds that are left


def memory_of_chain(chain: Chain) -> float:
    """Return bytes that a chain takes while it runs, without its data."""
    state, cells = chain.state, n_concepts(chain.state) * len(chain.model.data.known)
    pairs, documents = _PER_PAIR * len(state.concept), _PER_DOCUMENT * len(state.doc_ptr)
    return float(_PER_ENTRY * len(state.word) + pairs + documents + _PER_CELL * cells)


def words_on(chains: Sequence[Chain]) -> float:
    """Return words on in a draw: those of the fullest start, but not far more than its documents use."""
    return float(max(min(len(one.state.word), _WORDS_ON * len(one.model.data.word)) for one in chains))


def disk_of_draw(chains: Sequence[Chain]) -> float:
    """Return bytes that a kept draw takes on disk."""
    state = max((one.state for one in chains), key=lambda state: len(state.word))
    packed = len(pack({**plain_state(state)[0], "weight": None}).data)
    return _TOKENS * packed * words_on(chains) / max(1, len(state.word))


def memory_of_summary(chains: Sequence[Chain], schedule: Schedule) -> float:
    """Return the bytes that the summary of the draws takes at the end."""
    most = most_spaced(max(len(one.state.concept) for one in chains), words_on(chains))
    return min(len(chains) * schedule.n_kept(schedule.n_sweeps), most) * words_on(chains) * _PER_SUMMED


def check_memory(chains: Sequence[Chain], schedule: Schedule, n_at_once: int) -> float:
    """Return the bytes that the chains or their summary will take; raise if the machine lacks them."""
    each, free = max(memory_of_chain(one) for one in chains), available_memory()
    summing = memory_of_summary(chains, schedule)
    need = max(n_at_once * each, summing)
    if free is not None and need > free:
        fit = int(free // each) if summing <= free else 0
        what = f"{_chains(n_at_once)} at a time" if need > summing else "Summing up the draws"
        remedy = f"{fit} at a time would fit ({{n_jobs:{fit}}})"
        least = "fewer words (a larger {min_df}) or fewer documents would need less"
        problem = f"{what} would need about {_size(need)} of memory, and {_size(free)} are free"
        raise InputError(problem, remedy=remedy if fit >= 1 else least)
    return need


def check_disk(chains: Sequence[Chain], draws: Sequence[ChainDraws], schedule: Schedule) -> float:
    """Return the bytes that the draws to come will take on disk; raise if there is no room."""
    n_draws = sum(max(0, schedule.n_kept(schedule.n_sweeps) - len(kept)) for kept in draws)
    need, file = n_draws * disk_of_draw(chains), Path(draws[0].file.name)
    folder = file.resolve().parent if file.is_file() else temporary_folder()
    free = free_disk(folder)
    if need > free:
        thin = schedule.thin * math.ceil(need / max(free, 1.0))
        remedy = f"keeping one draw in {thin} would fit ({{thin:{thin}}})"
        least = "fewer chains, fewer documents or a larger {min_df} would need less"
        is_enough = thin <= schedule.n_sweeps - schedule.n_burn_in
        problem = (
            f"The {n_draws:,} draws to be kept would need about {_size(need)} of disk, and {_size(free)} are free "
        )
        raise InputError(f"{problem}in {folder}", remedy=remedy if is_enough else least)
    return need


class Forecast(Watcher):
    """Check the disk, and report after a few sweeps of each running chain what the rest will take.

    `report` is called with one sentence. `n_at_once` chains run at the same time and take `memory` bytes, as
    `check_memory` returns them; None if they run on other machines.
    """

    def __init__(self, report: Callable[[str], None], n_at_once: int, memory: float | None = None):
        self._report, self._n_at_once, self._memory = report, n_at_once, memory
        self._first: dict[int, Progress] = {}
        self._seconds: dict[int, float] = {}  # per sweep, by chain
        self._is_reported = False

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        self._disk = check_disk(model.chains_, model.kept_, model.schedule_)
        self._left = [max(0, model.schedule_.n_sweeps - one.sweep) for one in model.chains_]
        yield

    def __call__(self, progress: Progress) -> None:
        first = self._first.setdefault(progress.chain, progress)
        done = progress.sweep - first.sweep
        if self._is_reported or done < _LOOKED_AT - 1:
            return
        self._seconds[progress.chain] = (progress.seconds - first.seconds) / done
        if len(self._seconds) < self._n_at_once:
            return
        self._is_reported = True
        per_sweep = sum(self._seconds.values()) / len(self._seconds)
        seconds = sweeps_in_turn(self._left, self._n_at_once) * per_sweep
        if seconds < _WORTH_TELLING:
            return
        n_chains, minutes = sum(left > 0 for left in self._left), round(seconds / 60)
        at_once = "" if n_chains <= self._n_at_once else f", {self._n_at_once} at a time"
        time = f"{minutes} minutes" if minutes < 120 else f"{seconds / 3600:.1f} hours"
        memory = "" if self._memory is None else f"{_size(self._memory + 1e6 * peak_memory())} of memory and "
        self._report(
            f"{_chains(n_chains)} of {max(self._left):,} sweeps{at_once}: about {time} at "
            f"{per_sweep:.2g} s a sweep; {memory}{_size(self._disk)} of disk for the draws."
        )


def sweeps_in_turn(left: Sequence[int], n_at_once: int) -> int:
    """Return the sweeps one after the other when chains take turns, `n_at_once` at a time."""
    ends = [0] * n_at_once
    for n in left:
        ends[ends.index(min(ends))] += n
    return max(ends)


def _chains(n: int) -> str:
    return "One chain" if n == 1 else f"{n} chains"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(1.0, n_bytes / 1e6):.0f} MB"
