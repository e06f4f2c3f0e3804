"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_path(target: Path) -> Iterator[Path]:
    """A path to write to that takes the place of `target` when all went well, and else leaves no trace.

    Another process sees the old file or the whole new one, never a part.
    """
    temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}.tmp"
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """The same as an open file."""
    with whole_path(target) as path, open(path, "xb") as file:
        yield file


def write_whole(target: Path, data: bytes) -> None:
    with whole_file(target) as file:
        file.write(data)
