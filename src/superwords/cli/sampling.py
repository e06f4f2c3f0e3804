"""What a person sees while the chains run, and how Ctrl-C ends them between two sweeps."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from superwords.cli.common import messages, say
from superwords.fitting.running import Progress, Report

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

_LINES_PER_CHAIN = 10
_SECONDS_PER_LINE = 5.0
_RATE_OVER = 40  # sweeps
_LOG_JOINT_EVERY = 1.0  # seconds, while no draw is kept yet
_MOST_TIME = 0.03  # share of the time spent on it
_STARTING = "starting (the sampler is compiled on first use, which takes up to a minute)"


class ChainView:
    """Where one chain stands, as far as a person wants to know."""

    def __init__(self, n_sweeps: int, sweep: int):
        self.sweep, self.n_sweeps = sweep, n_sweeps
        self.n_concepts = 0
        self.log_joint = float("nan")
        self.times: deque[tuple[float, int]] = deque(maxlen=_RATE_OVER)
        self.next_log_joint = 0.0
        self.last_line = monotonic()
        self.lines = 0

    @property
    def rate(self) -> float:
        """Sweeps per second, lately: the first sweep has the compilation in it."""
        if len(self.times) < 2:
            return float("nan")
        (start, first), (end, last) = self.times[0], self.times[-1]
        return (last - first) / max(end - start, 1e-9)

    @property
    def left(self) -> str:
        return "done" if self.sweep >= self.n_sweeps else clock((self.n_sweeps - self.sweep) / self.rate)

    def values(self) -> tuple[str, str, str, str, str]:
        log_joint = "" if np.isnan(self.log_joint) else f"{self.log_joint:,.0f}"
        rate = (
            "" if np.isnan(self.rate) else f"{self.rate:.1f}/s" if self.rate < 100 else f"{self.rate:.0f}/s"
        )
        return f"{self.sweep:,}/{self.n_sweeps:,}", rate, self.left, f"{self.n_concepts:,}", log_joint


def clock(seconds: float) -> str:
    if not np.isfinite(seconds):
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class SamplingDisplay:
    """A live table on a terminal, a few plain lines elsewhere, nothing when quiet."""

    def __init__(self, model: ConceptModel, quiet: bool):
        self._model = model
        self._is_live = messages.is_terminal and not quiet
        self._is_plain = not messages.is_terminal and not quiet
        n_sweeps = model.schedule_.n_sweeps
        self._chains = [ChainView(n_sweeps, chain.sweep) for chain in model.chains_]
        self._note = ""

    def __call__(self, progress: Progress) -> None:
        """Called in a chain's own thread after each of its sweeps."""
        view = self._chains[progress.chain]
        view.times.append((monotonic(), progress.sweep))
        view.sweep, view.n_concepts = progress.sweep, progress.n_concepts
        if self._is_live or self._is_plain:
            self._set_log_joint(view, progress)
        if self._is_plain:
            self._print_line(view, progress.chain)

    def _set_log_joint(self, view: ChainView, progress: Progress) -> None:
        if not np.isnan(progress.log_joint):
            view.log_joint = progress.log_joint
            return
        start = monotonic()
        if start >= view.next_log_joint:
            view.log_joint = self._model.chains_[progress.chain].log_joint()
            took = monotonic() - start
            view.next_log_joint = monotonic() + max(_LOG_JOINT_EVERY, took / _MOST_TIME)

    def _print_line(self, view: ChainView, chain: int) -> None:
        tenth = view.sweep * _LINES_PER_CHAIN // view.n_sweeps
        is_last = view.sweep >= view.n_sweeps
        if tenth <= view.lines or (monotonic() - view.last_line < _SECONDS_PER_LINE and not is_last):
            return
        view.lines, view.last_line = tenth, monotonic()
        sweeps, rate, left, concepts, log_joint = view.values()
        parts = [f"{sweeps} sweeps", rate, "" if is_last else f"{left} left" if left else ""]
        parts += [f"{concepts} concepts", f"log joint {log_joint}" if log_joint else ""]
        say(f"chain {chain + 1}: " + ", ".join(part for part in parts if part))

    def note(self, text: str) -> None:
        """Something to say while the chains still run."""
        if self._is_live:
            self._note = text
        else:
            say(text)

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self._is_live:
            yield
            return
        with Live(get_renderable=self._render, console=messages, refresh_per_second=4, transient=True):
            yield

    def _render(self) -> RenderableType:
        if not any(view.times for view in self._chains):
            return Text(self._note or _STARTING)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("chain")
        table.add_column("", width=20)
        for name in ("sweeps", "rate", "time left", "concepts", "log joint"):
            table.add_column(name, justify="right")
        for number, view in enumerate(self._chains, start=1):
            bar = ProgressBar(total=view.n_sweeps, completed=view.sweep, width=20)
            table.add_row(str(number), bar, *view.values())
        return Group(table, Text(self._note)) if self._note else table


def report_to(*listeners: Report) -> Report:
    def report(progress: Progress) -> None:
        for listener in listeners:
            listener(progress)

    return report


@contextmanager
def stopped_softly(tell: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) raises KeyboardInterrupt, the second ends the process."""

    def stop_now(number: int, frame: FrameType | None) -> None:
        # Chains still run in their threads, so nothing they hold may be saved; checkpoints are whole files.
        os._exit(1)

    def stop(number: int, frame: FrameType | None) -> None:
        for one in signals:
            signal.signal(one, stop_now)
        tell("Stopping after the present sweep (Ctrl-C again: at once, back to the last checkpoint).")
        raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, stop) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
