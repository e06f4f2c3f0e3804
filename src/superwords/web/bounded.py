"""Compute what a person types freely (a formula) in a process of its own, within a budget of time and memory.

A formula can ask for any amount of work, in code that cannot be interrupted from within. The process is started by the
first such request, opens the model file itself, and is killed when a request exceeds its budget.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from superwords.errors import InputError
from superwords.fitting.estimator import load
from superwords.machine import limit_memory
from superwords.storage.model_file import Choice

SECONDS = 60.0
START_SECONDS = 60.0
BYTES = 2 * 2**30
TOO_MUCH = (
    "This was stopped because it took more than {seconds:.0f} seconds or {size:.0f} GB of memory; "
    "ask for less: fewer columns, lower powers, or columns of fewer groups."
)
UNREADABLE = "The model file cannot be read any more; open the model again."


class BoundedModel:
    """Run a model in its own process, one request at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._turn = path, threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def call(self, choices: Sequence[Choice], method: str, *given: Any) -> Any:
        """Return what a method of the model, curated by `choices`, returns."""
        with self._turn:
            if self._process is None or not self._process.is_alive():
                self.stop()
                context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
                self._pipe, its_end = context.Pipe()
                self._process = context.Process(target=_serve, args=(its_end, self._path, BYTES), daemon=True)
                self._process.start()
                its_end.close()
                if isinstance(self._answer(START_SECONDS), Exception):
                    self.stop()
                    raise HTTPException(503, UNREADABLE)
            answer = self._answer(SECONDS, (list(choices), method, given))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.join()
        if self._pipe is not None:
            self._pipe.close()

    def _answer(self, seconds: float, request: Any = None) -> Any:
        assert self._pipe is not None
        with suppress(EOFError, OSError):  # it ended: out of memory
            if request is not None:
                self._pipe.send(request)
            if self._pipe.poll(seconds):
                return self._pipe.recv()
        self.stop()
        raise HTTPException(503, TOO_MUCH.format(seconds=SECONDS, size=BYTES / 2**30))


def _serve(pipe: Connection, path: Path, n_bytes: int) -> None:
    """Answer requests until the explorer ends, exceptions as plain ones; this runs in the worker."""

    def end_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the explorer, which then ends this process
    threading.Thread(target=end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(10)  # the explorer's answers come first
    try:
        model = opened = load(path)
    except InputError as error:
        pipe.send(InputError(str(error)))
        return
    limit_memory(n_bytes)
    pipe.send(None)
    known, answer = list(opened.choices_), None
    with suppress(EOFError, OSError):
        while True:
            choices, method, given = pipe.recv()
            if choices != known:
                model, known = copy.copy(opened).choose(choices), choices
            try:
                answer = getattr(model, method)(*given)
            except InputError as error:
                answer = InputError(str(error))
            except MemoryError:
                os._exit(1)  # what is left of the memory may not do for an answer
            except Exception as error:
                answer = RuntimeError(f"{type(error).__name__}: {error}")
            pipe.send(answer)
