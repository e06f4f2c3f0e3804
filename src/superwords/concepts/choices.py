"""What people decided about concepts, as rows of a model file: read, added to, and taken back.

A choice is never changed: a later one of the same kind and concept counts instead, and the last ones can be undone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from superwords.container import Choice, Container, damage_said
from superwords.errors import InputError


def read_choices(path: str | Path) -> list[Choice]:
    """All choices in a model file, in the order they were made."""
    with damage_said(str(path)), closing(Container.open(Path(path))) as container:
        return container.choices()


def add_choices(path: str | Path, choices: Iterable[Choice]) -> list[Choice]:
    """Append choices to a model file, all or none, and give them back with the time they were made.

    Examples
    --------
    >>> add_choices("model.sw", [Choice("name", 2, "health care")])  # doctest: +SKIP
    """
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    made = [one if one.made else one._replace(made=now) for one in choices]
    with _open_to_write(path) as container:
        container.add_choices(made)
    return made


def undo_choices(path: str | Path) -> list[Choice]:
    """Take back the choices that were made last (one decision may be several), and give them back."""
    with _open_to_write(path) as container:
        return container.remove_last_choices()


@contextmanager
def _open_to_write(path: str | Path) -> Iterator[Container]:
    with damage_said(str(path)):
        container = Container.open(Path(path), write=True)
    try:
        with closing(container):
            yield container
    except sqlite3.Error as error:
        raise InputError(f"The choice cannot be kept in {str(path)!r}: {error}.") from None
