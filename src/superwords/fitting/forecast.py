"""What a run will need: memory and disk before its first sweep, time after a few; what cannot fit is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from superwords.concepts.summary import most_spaced
from superwords.draws import ChainDraws
from superwords.errors import InputError
from superwords.fitting.running import Schedule
from superwords.machine import available_memory, free_disk, peak_memory, temporary_folder
from superwords.packing import QUICK_LEVEL, pack
from superwords.progress import Progress, Watcher
from superwords.sampler.chain import Chain
from superwords.sampler.model import n_words
from superwords.sampler.state import n_concepts

# Bytes that a sweep works with, as measured: for each word that is on, each concept of a document, each document,
# and each word of a concept whether it is on or not.
_PER_ENTRY, _PER_PAIR, _PER_DOCUMENT, _PER_CELL = 100, 250, 150, 70
_PER_SUMMED = 45  # bytes of the summing up for each word that is on in a draw that is kept in detail
_TOKENS = 1.3  # of a draw's size on disk over its state's alone
_WORDS_ON = 4  # at the most, for each word of each document, in a draw that has left its start
_LOOKED_AT = 3  # sweeps before time is told; the first is left out, as kernels may be compiled in it
_WORTH_TELLING = 120.0  # seconds that are left


def memory_of_chain(chain: Chain) -> float:
    """Bytes that a chain takes while it runs, beside its data."""
    state = chain.state
    cells = n_concepts(state) * n_words(chain.model.data)
    parts = len(state.word), len(state.concept), len(state.doc_ptr), cells
    return float(sum(n * size for n, size in zip(parts, (_PER_ENTRY, _PER_PAIR, _PER_DOCUMENT, _PER_CELL))))


def words_on(chains: Sequence[Chain]) -> float:
    """Words on in a draw: those of the fullest start, but not far more than its documents use."""
    return float(max(min(len(one.state.word), _WORDS_ON * len(one.model.data.word)) for one in chains))


def disk_of_draw(chains: Sequence[Chain]) -> float:
    """Bytes that a kept draw takes on disk."""
    state = max((one.state for one in chains), key=lambda state: len(state.word))
    packed = len(pack(state._asdict(), QUICK_LEVEL).data)
    return _TOKENS * packed * words_on(chains) / max(1, len(state.word))


def memory_of_summary(chains: Sequence[Chain], schedule: Schedule) -> float:
    """Bytes that the draws take when they are summed up at the end."""
    n_pairs = max(len(one.state.concept) for one in chains)
    n_draws = min(len(chains) * schedule.n_kept(schedule.n_sweeps), most_spaced(n_pairs))
    return n_draws * words_on(chains) * _PER_SUMMED


def check_memory(chains: Sequence[Chain], schedule: Schedule, n_at_once: int) -> float:
    """Bytes that the chains, or their summing up, will take; refused where the machine does not have them."""
    each, free = max(memory_of_chain(one) for one in chains), available_memory()
    summing = memory_of_summary(chains, schedule)
    need = max(n_at_once * each, summing)
    if free is None or need <= free:
        return need
    fit = int(free // each) if summing <= free else 0
    advice = (
        f"{fit} at a time would fit (n_jobs={fit}, --jobs {fit})."
        if fit >= 1
        else "fewer words (a larger min_df, --min-df) or fewer documents would need less."
    )
    what = f"{_chains(n_at_once)} at a time" if need > summing else "Summing up the draws"
    raise InputError(f"{what} would need about {_size(need)} of memory, and {_size(free)} are free; {advice}")


def check_disk(chains: Sequence[Chain], draws: Sequence[ChainDraws], schedule: Schedule) -> float:
    """Bytes that the draws to come will take on disk; refused where there is no room for them."""
    to_come = [max(0, schedule.n_kept(schedule.n_sweeps) - len(kept)) for kept in draws]
    need, folder = sum(to_come) * disk_of_draw(chains), _folder_of(draws)
    free = free_disk(folder)
    if need <= free:
        return need
    thin = schedule.thin * math.ceil(need / max(free, 1.0))
    advice = (
        f"keeping one draw in {thin} would fit (thin={thin}, --thin {thin})."
        if thin <= schedule.n_sweeps - schedule.n_burn_in
        else "fewer chains, fewer documents or a larger min_df would need less."
    )
    raise InputError(
        f"The {sum(to_come):,} draws to be kept would need about {_size(need)} of disk, and {_size(free)} are free "
        f"in {folder}; {advice}"
    )


def _folder_of(draws: Sequence[ChainDraws]) -> Path:
    path = Path(draws[0].container.name)
    return path.resolve().parent if path.is_file() else temporary_folder()


class Forecast(Watcher):
    """Another watcher that is told, after a few sweeps of each chain that runs, what the rest will take."""

    def __init__(self, watcher: Watcher, n_at_once: int, is_here: bool = True):
        self._watcher = watcher
        self._is_here = is_here  # the chains run on this machine
        self._n_at_once = n_at_once
        self._first: dict[int, Progress] = {}
        self._seconds: dict[int, float] = {}  # per sweep, by chain
        self._memory = 0.0
        self._is_told = False
        self.every = watcher.every

    def say(self, line: str) -> None:
        self._watcher.say(line)

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        if self._is_here:
            self._memory = check_memory(model.chains_, model.schedule_, self._n_at_once)
        with self._watcher.watching(model):
            self._disk = check_disk(model.chains_, model.kept_, model.schedule_)
            self._left = [max(0, model.schedule_.n_sweeps - one.sweep) for one in model.chains_]
            yield

    def see(self, swept: Any) -> None:
        self._watcher.see(swept)

    def __call__(self, progress: Progress) -> None:
        self._watcher(progress)
        first = self._first.setdefault(progress.chain, progress)
        done = progress.sweep - first.sweep
        if self._is_told or done < _LOOKED_AT - 1:
            return
        self._seconds[progress.chain] = (progress.seconds - first.seconds) / done
        if len(self._seconds) >= self._n_at_once:
            self._is_told = True
            self._tell(sum(self._seconds.values()) / len(self._seconds))

    def _tell(self, per_sweep: float) -> None:
        seconds = sweeps_in_turn(self._left, self._n_at_once) * per_sweep
        if seconds < _WORTH_TELLING:
            return
        n_chains = sum(left > 0 for left in self._left)
        memory = f"{_size(self._memory + 1e6 * peak_memory())} of memory and " if self._is_here else ""
        at_once = "" if n_chains <= self._n_at_once else f", {self._n_at_once} at a time"
        self.say(
            f"{_chains(n_chains)} of {max(self._left):,} sweeps{at_once}: about {_clock(seconds)} at "
            f"{per_sweep:.2g} s a sweep; {memory}{_size(self._disk)} of disk for the draws."
        )


def sweeps_in_turn(left: Sequence[int], n_at_once: int) -> int:
    """Sweeps one after the other, when chains with so many left take turns, so many at a time."""
    ends = [0] * n_at_once
    for n in left:
        ends[ends.index(min(ends))] += n
    return max(ends)


def _chains(n: int) -> str:
    return "One chain" if n == 1 else f"{n} chains"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(1.0, n_bytes / 1e6):.0f} MB"


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{seconds / 3600:.1f} hours"
