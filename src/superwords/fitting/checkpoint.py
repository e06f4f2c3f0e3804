"""Going on with an interrupted run: all it needs, written now and then to one file beside the model.

A checkpoint is a file of `superwords.storage`'s format that holds every kept draw, no summaries, and a `key`:
what the run was asked for, so that a run with other settings is not taken for its continuation.
"""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from superwords.draws import ChainDraws
from superwords.errors import InputError
from superwords.files import whole_file
from superwords.fitting.archive import DAMAGE, Writer
from superwords.fitting.running import Progress
from superwords.fitting.storage import read_model, write_model
from superwords.sampler.model import Model
from superwords.sampler.state import State, Tokens

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

# Writing may take at most this share of the time, however large the model has grown.
_MOST_TIME = 0.05


class Snapshot(NamedTuple):
    """One chain between two sweeps, and how many of its kept draws belong to that moment."""

    sweep: int
    model: Model
    state: State
    tokens: Tokens | None
    n_kept: int


class Checkpointer:
    """Called by each chain's thread after each of its sweeps, writes a checkpoint every so many seconds.

    Make it when the chains stand still, since it begins by looking at all of them.
    """

    def __init__(
        self,
        model: ConceptModel,
        path: Path,
        key: Mapping[str, Any],
        every: float,
        complain: Callable[[str], None],
    ):
        self.path = path
        self._model = model
        self._key = dict(key)
        self._every = every
        self._complain = complain
        self._writing = threading.Lock()
        self._next = monotonic() + every
        self.look()

    def look(self) -> None:
        """Take a snapshot of every chain; none may be running."""
        self._snapshots = [self._snapshot(c) for c in range(len(self._model.chains_))]

    def __call__(self, progress: Progress) -> None:
        self._snapshots[progress.chain] = self._snapshot(progress.chain)
        if monotonic() < self._next or not self._writing.acquire(blocking=False):
            return
        start = monotonic()
        try:
            self.write()
        except InputError as error:
            # The chains are worth more than their checkpoint.
            self._complain(str(error))
        finally:
            took = monotonic() - start
            self._next = monotonic() + max(self._every, took / _MOST_TIME)
            self._writing.release()

    def _snapshot(self, c: int) -> Snapshot:
        chain = self._model.chains_[c]
        state = State(*(array.copy() for array in chain.state))
        return Snapshot(chain.sweep, chain.model, state, chain.tokens, len(self._model.kept_[c].kept))

    def write(self) -> None:
        """Write the latest snapshots, whole or not at all."""
        try:
            with whole_file(self.path) as file:
                self._write(file)
        except OSError as error:
            raise InputError(
                f"The checkpoint cannot be written to {str(self.path)!r}: {error.strerror or error}."
            ) from error

    def _write(self, file: Any) -> None:
        taken = list(self._snapshots)
        draws = []
        for one, kept in zip(taken, self._model.kept_):
            trace = {name: values[: one.n_kept] for name, values in kept.trace.items()}
            draws.append(ChainDraws(kept.kept[: one.n_kept], trace))
        with zipfile.ZipFile(file, "w") as archive:
            write_model(_QuickWriter(archive), self._still(taken), draws, checkpoint=self._key)

    def _still(self, taken: list[Snapshot]) -> Any:
        """The model as it stood at the snapshots, as if without draws: those are not summarised yet."""
        model = self._model
        return SimpleNamespace(
            get_params=model.get_params,
            corpus_=model.corpus_,
            seed_=model.seed_,
            schedule_=model.schedule_,
            order_=model.order_,
            chains_=taken,
            result_=SimpleNamespace(has_concepts=False),
        )


class _QuickWriter(Writer):
    """Compresses little: a checkpoint lives for one run, and a chain waits for it."""

    def member(self, name: str, content: bytes) -> None:
        self.archive.writestr(name, content, zipfile.ZIP_DEFLATED, compresslevel=1)


def read_checkpoint(path: Path) -> tuple[ConceptModel, dict[str, Any]]:
    """The model as it was left (`resume` goes on with it) and the key of its run."""
    try:
        with zipfile.ZipFile(path) as archive:
            model, head = read_model(archive, str(path))
            return model, head["checkpoint"]
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"There is no checkpoint {str(path)!r} to go on from.") from None
    except DAMAGE as error:
        raise InputError(f"{str(path)!r} is not a checkpoint, or it is damaged: {error}.") from error
