"""Callbacks of a fit, and progress in a terminal, a notebook or a log."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import Any, NamedTuple

from rich import progress as bars
from rich.console import Console

from superwords.errors import InputError

# Standard error: results on standard output stay clean for scripts.
messages = Console(stderr=True, highlight=False)

_LINES_PER_CHAIN = 10
_SECONDS_PER_LINE = 5.0
STARTING = "starting (the sampler is compiled on first use, which takes up to a minute)"


class Progress(NamedTuple):
    """Hold the progress of one chain."""

    chain: int
    sweep: int
    n_sweeps: int
    n_concepts: int
    log_joint: float  # of the last stored draw; before the first, of a recent sweep
    seconds: float


Report = Callable[[Progress], None]


class Watcher:
    """Base class of callbacks, which shows nothing; see `make_watcher`."""

    def say(self, line: str) -> None:
        """Report one sentence about a choice or a result."""

    @contextmanager
    def reading(self) -> Iterator[Callable[[int, int], None] | None]:
        """Enter while documents are read; yield a function of documents read and total.

        It yields None if progress is not shown.
        """
        yield None

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        """Enter before the first sweep, and exit when all chains have stopped."""
        yield

    every = math.inf  # minimum seconds between two positions of a chain that it needs
    stop: threading.Event | None = None  # once it is set, each chain ends after its present sweep

    def see(self, swept: Any) -> None:
        """Process the output of a sweep (`fitting.running.Swept`), before the call."""

    def __call__(self, progress: Progress) -> None:
        """Process the progress after each sweep, in the chain's own thread."""


class Callbacks(Watcher):
    """Several watchers and functions of one fit, entered in order, exited in reverse."""

    def __init__(self, callbacks: Sequence[Report]):
        self._callbacks, self._watchers = callbacks, [one for one in callbacks if isinstance(one, Watcher)]
        self.every = min((one.every for one in self._watchers), default=math.inf)
        self.stop = next((one.stop for one in self._watchers if one.stop), None)

    def say(self, line: str) -> None:
        for one in self._watchers:
            one.say(line)

    @contextmanager
    def reading(self) -> Iterator[Callable[[int, int], None] | None]:
        with ExitStack() as stack:
            reports = [stack.enter_context(one.reading()) for one in self._watchers]
            yield next((report for report in reports if report is not None), None)

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        with ExitStack() as stack:
            for one in self._watchers:
                stack.enter_context(one.watching(model))
            yield

    def see(self, swept: Any) -> None:
        for one in self._watchers:
            one.see(swept)

    def __call__(self, progress: Progress) -> None:
        for one in self._callbacks:
            one(progress)


def make_watcher(progress: Any) -> Watcher:
    """Return the watcher for True, False, "auto" (shown in a terminal or notebook), a function, or a list of these."""
    if isinstance(progress, Watcher):
        return progress
    if isinstance(progress, list | tuple):
        watchers = [made for one in progress if type(made := make_watcher(one)) is not Watcher]
        return Callbacks(watchers) if watchers else Watcher()
    if isinstance(progress, str) and progress == "auto":
        progress = messages.is_terminal or messages.is_jupyter
    if progress is None or isinstance(progress, bool):
        return Display() if progress else Watcher()
    if callable(progress):
        return Callbacks([progress])
    raise InputError(f"progress={progress!r} is not known; give True, False, 'auto', a function, or a list of these.")


def _is_live() -> bool:
    """Return whether bars can be redrawn; rich needs ipywidgets for it in a notebook."""
    return messages.is_terminal or (messages.is_jupyter and find_spec("ipywidgets") is not None)


def _bars(before: str, what: str, after: Sequence[str] = (), **how: Any) -> bars.Progress:
    """Return bars with the texts of these columns around them, gone when they are complete."""
    texts = [bars.TextColumn(one) for one in after]
    counts = bars.BarColumn(20), bars.MofNCompleteColumn(), bars.TextColumn(what)
    columns = bars.TextColumn(before), *counts, *texts[:-1], bars.TimeRemainingColumn(), *texts[-1:]
    return bars.Progress(*columns, console=messages, transient=True, refresh_per_second=4, **how)


class Display(Watcher):
    """Bars in a terminal and in a notebook, a few plain lines elsewhere."""

    def say(self, line: str) -> None:
        # Lines are broken between words on a terminal, and not at all in a file.
        messages.print(line, markup=False, soft_wrap=not messages.is_terminal)

    @contextmanager
    def reading(self) -> Iterator[Callable[[int, int], None] | None]:
        if not _is_live():
            yield None
            return
        with _bars("reading and tagging", "documents") as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        self._lines, self._last_line = [0] * len(model.chains_), [monotonic()] * len(model.chains_)
        self._is_live, fields = _is_live(), ("{task.fields[rate]:>7}", "{task.fields[found]}")
        self._bars = _bars("{task.description}", "sweeps", fields, disable=not self._is_live)
        for number, chain in enumerate(model.chains_, start=1):
            how = {"total": model.schedule_.n_sweeps, "completed": chain.sweep}
            self._bars.add_task(f"chain {number}", **how, rate="", found=STARTING)
        with self._bars:
            yield

    def __call__(self, progress: Progress) -> None:
        task = self._bars.tasks[progress.chain]
        found = f"{progress.n_concepts:,} concepts"
        if not math.isnan(progress.log_joint):
            found += f", log joint {progress.log_joint:,.0f}"
        self._bars.update(task.id, completed=progress.sweep, rate=_rate(task), found=found)
        if not self._is_live:
            self._print_line(progress, task, found)

    def _print_line(self, progress: Progress, task: bars.Task, found: str) -> None:
        c, is_last = progress.chain, progress.sweep >= progress.n_sweeps
        tenth = progress.sweep * _LINES_PER_CHAIN // progress.n_sweeps
        is_soon = monotonic() - self._last_line[c] < _SECONDS_PER_LINE
        if tenth <= self._lines[c] or (is_soon and not is_last):
            return
        self._lines[c], self._last_line[c] = tenth, monotonic()
        left = "" if is_last or task.time_remaining is None else f"{_clock(task.time_remaining)} left"
        parts = [f"{progress.sweep:,}/{progress.n_sweeps:,} sweeps", _rate(task), left, found]
        self.say(f"chain {c + 1}: " + ", ".join(part for part in parts if part))


def _rate(task: bars.Task) -> str:
    """Return the recent sweeps per second; the first sweep may include compilation."""
    speed = task.finished_speed or task.speed
    return "" if not speed else f"{speed:.1f}/s" if speed < 100 else f"{speed:.0f}/s"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
