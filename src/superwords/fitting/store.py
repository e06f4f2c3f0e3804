"""The one file of a model: a container to which a run appends as it samples, and which holds what was found in the end.

While chains run, their file (the *checkpoint*) takes in every kept draw and, now and then, where each chain stands: a
kill at any moment leaves the last whole transaction, from which a run goes on with the same bits. A finished model's
file has the most probable and the consensus draw and the summaries, and every draw on request. Both are read alike.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from superwords.concepts.curating import KINDS, MERGE, decisions
from superwords.concepts.naming import checked_name
from superwords.container import Choice, Container, damage_said
from superwords.draws import ChainDraws, Draws
from superwords.errors import InputError
from superwords.files import whole_path
from superwords.fitting.parts import ModelParts, chain_part, from_plain, plain_position, to_plain
from superwords.fitting.running import Swept
from superwords.packing import QUICK_LEVEL, DamagedError, pack
from superwords.progress import Watcher

# Writing may take at most this share of the time, however large the model has grown.
_MOST_TIME = 0.05
_RUN = "run"  # the part that tells what an unfinished run was asked for


class Stored(NamedTuple):
    """What a file holds."""

    parts: ModelParts
    draws: list[ChainDraws]
    choices: list[Choice]
    run: dict[str, Any] | None  # what an unfinished run was asked for


def write(
    path: Path,
    parts: ModelParts,
    draws: Sequence[ChainDraws] = (),
    choices: Sequence[Choice] = (),
    run: Mapping[str, Any] | None = None,
) -> None:
    """A new file in the place of an earlier one, whole or not at all."""
    from superwords import __version__

    if not path.parent.is_dir():
        raise InputError(f"There is no folder {str(path.parent)!r} to save the model in.")
    try:
        with (
            whole_path(path) as temporary,
            closing(Container.create(temporary, safe=False)) as container,
            container.transaction(),
        ):
            container.put("version", __version__)
            for name, value in to_plain(parts).items():
                container.put(name, value)
            if run is not None:
                container.put(_RUN, [dict(run)])
            for chain in draws:
                chain.copy_to(container)
            container.add_choices(choices)
    except (OSError, sqlite3.Error) as error:
        told = getattr(error, "strerror", None) or error
        raise InputError(f"The model cannot be written to {str(path)!r}: {told}.") from error


def read(path: str | Path) -> Stored:
    """What a file holds, every index checked; an `InputError` says what is wrong with it.

    Draws stay in the file, and are read and checked when they are asked for.
    """
    with damage_said(str(path)):
        container = Container.open(Path(path))
        try:
            with container.reading():
                stored = _read(container)
        except BaseException:
            container.close()
            raise
        if not any(map(len, stored.draws)):
            container.close()
            stored = stored._replace(draws=[ChainDraws(chain=c) for c in range(len(stored.draws))])
        return stored


def _read(container: Container) -> Stored:
    names = container.parts()
    parts = from_plain({name: container.get(name) for name in names if name != _RUN})
    n_found = 0 if parts.findings is None else parts.findings.summary.alignment.overlap.shape[1]
    choices = container.choices()
    _check_choices(choices, n_found)
    run = None
    if _RUN in names:
        (run,) = container.get(_RUN)
        if not isinstance(run, dict):
            raise DamagedError("it does not tell what its run was asked for")
    return Stored(parts, _draws(container, parts), choices, run)


def _check_choices(choices: Sequence[Choice], n_concepts: int) -> None:
    known = range(1, n_concepts + 1)
    for one in choices:
        if one.kind not in KINDS or one.concept not in known or checked_name(one.value) != one.value:
            raise DamagedError("a choice is about no concept, or of no kind")
        if one.kind == MERGE and one.value and int(one.value) not in known:
            raise DamagedError("a choice merges a concept into none")
    decisions(choices).columns(n_concepts)


def _draws(container: Container, parts: ModelParts) -> list[ChainDraws]:
    return [ChainDraws(container, c, parts.shape, position.sweep) for c, position in enumerate(parts.chains)]


class Checkpoint(Watcher):
    """The file of a run: takes in every kept draw, and every so many seconds where the chains stand.

    Parameters
    ----------
    path
        A file that `write` made, at the run's begin or in an earlier part of it.
    every
        Seconds between two transactions; more if they would take over a twentieth of the time.
    complain
        Told in one sentence what could not be written; the chains go on.
    """

    def __init__(self, path: Path, every: float, complain: Callable[[str], None]):
        self.path = path
        self.every = every
        self._complain = complain
        with damage_said(str(path)):
            self._container = Container.open(path, write=True)
            with self._container.reading():
                self.draws = _read(self._container).draws
        self._positions: dict[int, Any] = {}
        self._writing = threading.Lock()
        self._next = monotonic() + every

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        model.kept_, model.sampled_.draws = self.draws, Draws(self.draws)
        yield

    def see(self, swept: Swept) -> None:
        if swept.position is None:
            return
        self._positions[swept.progress.chain] = swept.position
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
            self._next = monotonic() + max(self.every, took / _MOST_TIME)
            self._writing.release()

    def write(self) -> None:
        """Where the chains stand now, and the draws they have kept, in one transaction."""
        taken = dict(self._positions)
        # Packed first: other chains do not wait for it.
        packed = {c: pack(plain_position(one), QUICK_LEVEL) for c, one in taken.items()}
        try:
            with self._container.transaction():
                for c, one in packed.items():
                    self._container.put_packed(chain_part(c), one)
        except sqlite3.Error as error:
            raise InputError(f"The checkpoint cannot be written to {str(self.path)!r}: {error}.") from error

    def close(self) -> None:
        self._container.close()
