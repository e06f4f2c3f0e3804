"""The file of a run: a kill at any moment leaves the last complete transaction, from which the run continues."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from superwords.errors import StorageError
from superwords.fitting.running import Swept
from superwords.posterior.draws import Draws
from superwords.progress import Watcher
from superwords.storage.arrays import pack
from superwords.storage.model import CHAIN, plain_chain, read_open
from superwords.storage.model_file import ModelFile, translate_corruption

# Writing may take at most this share of the time, however large the model has grown.
_MOST_TIME = 0.05


class Checkpoint(Watcher):
    """Store every kept draw and, now and then, where the chains are.

    `path` is a file that `storage.model.write` made. There are `every` seconds between two transactions; more if they
    would take over a twentieth of the time. If something cannot be written, `complain` is called with a message, and
    the chains continue.
    """

    def __init__(self, path: Path, every: float, complain: Callable[[str], None]):
        self.path = path
        self.every = every
        self._complain = complain
        with translate_corruption(str(path)):
            self._file = ModelFile.open(path, write=True)
            with self._file.reading():
                self.draws = read_open(self._file).draws
        self._positions: dict[int, Any] = {}
        self._writing = threading.Lock()
        self._next = monotonic() + every

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        """Let the model keep its draws in this file while it runs."""
        model.kept_, model.sampled_.draws = self.draws, Draws(self.draws)
        yield

    def see(self, swept: Swept) -> None:
        """Take in where a chain is, and write if it is time."""
        if swept.position is None:
            return
        self._positions[swept.progress.chain] = swept.position
        if monotonic() < self._next or not self._writing.acquire(blocking=False):
            return
        start = monotonic()
        try:
            self.write()
        except StorageError as error:
            # The chains are worth more than their checkpoint.
            self._complain(str(error))
        finally:
            self._next = monotonic() + max(self.every, (monotonic() - start) / _MOST_TIME)
            self._writing.release()

    def write(self) -> None:
        """Write where the chains are, and the draws they have kept, in one transaction."""
        # Packed first: other chains do not wait for it.
        packed = {c: pack(plain_chain(one)) for c, one in dict(self._positions).items()}
        try:
            with self._file.transaction():
                for c, one in packed.items():
                    self._file.put(CHAIN.format(c), one)
        except sqlite3.Error as error:
            raise StorageError(f"The checkpoint cannot be written to {str(self.path)!r}: {error}.") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()
