"""Which files a source is, how large they are, and a fingerprint of what they hold."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def size_of(source: str | Path) -> int:
    """Bytes of a file, or of all files in a folder; 0 of what is neither."""
    return sum(path.stat().st_size for path in _files(Path(source)))


def digest(source: str | Path) -> str | None:
    """A fingerprint of a file or folder, None of what is neither (standard input, the name of a pipeline)."""
    found = hashlib.sha256()
    files = _files(Path(source))
    for path in files:
        found.update(f"{os.path.relpath(path, source)}\0".encode())
        with path.open("rb") as stream:
            for part in iter(lambda: stream.read(1 << 20), b""):
                found.update(part)
    return found.hexdigest() if files else None


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.is_file())
    return [path] if path.is_file() else []
