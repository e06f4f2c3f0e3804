"""Which files a source is, how large they are, and a fingerprint of what they hold."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path


def size_of(source: str | Path) -> int:
    """Return bytes of a file, or of all files in a folder; 0 of what is neither."""
    return sum(path.stat().st_size for path in _files(Path(source)))


def digest(source: str | Path) -> str | None:
    """Return a fingerprint of a file or folder, None of what is neither (standard input, the name of a pipeline)."""
    stats = [(path, path.stat()) for path in _files(Path(source))]
    files = tuple((path, one.st_size, one.st_mtime_ns) for path, one in stats)
    return _content(str(source), files) if files else None


@lru_cache(maxsize=16)
def _content(source: str, files: tuple[tuple[Path, int, int], ...]) -> str:
    """Read the files, once in a process while their sizes and times stay the same."""
    found = hashlib.sha256()
    for path, *_ in files:
        found.update(f"{os.path.relpath(path, source)}\0".encode())
        with path.open("rb") as stream:
            for part in iter(lambda: stream.read(1 << 20), b""):
                found.update(part)
    return found.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.is_file())
    return [path] if path.is_file() else []
