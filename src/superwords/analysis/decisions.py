"""Read, append and undo user decisions about concepts in a model file.

A choice is never changed: a later one of the same kind and concept replaces it, and the last ones can be undone.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from superwords.errors import StorageError
from superwords.storage.model_file import Choice, ModelFile, translate_corruption


def read_choices(path: str | Path) -> list[Choice]:
    """Return all choices in a model file, in the order they were made."""
    with translate_corruption(str(path)), closing(ModelFile.open(Path(path))) as file:
        return file.choices()


def add_choices(path: str | Path, choices: Iterable[Choice], identity: str = "") -> list[Choice]:
    """Append choices to a model file in one transaction; return them with their time.

    `identity` is that of the model they refer to (`ModelFile.identity`). If the file now holds another model, whose
    concepts may have other numbers, a `StorageError` is raised.
    """
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    made = [one if one.made else one._replace(made=now) for one in choices]
    with locked(path, identity) as file:
        file.add_choices(made)
    return made


def undo_choices(path: str | Path, identity: str = "") -> list[Choice]:
    """Remove and return the choices of the last decision."""
    with locked(path, identity) as file:
        return file.remove_last_choices()


@contextmanager
def locked(path: str | Path, identity: str = "") -> Iterator[ModelFile]:
    """Open a model file in a transaction, committed as a whole or not at all."""
    opened = os.stat(path) if os.path.exists(path) else None
    with translate_corruption(str(path)):
        file = ModelFile.open(Path(path), write=True)
    try:
        with closing(file), file.transaction():
            # Another process may have replaced the file while this one waited for the lock.
            is_replaced = opened is None or not os.path.samestat(opened, os.stat(path))
            if is_replaced or (identity and file.identity() != identity):
                raise StorageError(
                    f"{str(path)!r} has been sampled further since it was opened, so its concepts may have other "
                    "numbers; open it again and repeat the decision."
                )
            yield file
    except sqlite3.Error as error:
        raise StorageError(f"The decision cannot be kept in {str(path)!r}: {error}.") from None


@contextmanager
def held(path: str | Path) -> Iterator[None]:
    """Block decisions about a model while its file is being replaced."""
    with translate_corruption(str(path)):
        file = ModelFile.open(Path(path), write=True)
    with closing(file), file.reading(alone=True):
        yield
