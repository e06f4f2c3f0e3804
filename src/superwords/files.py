"""Atomic writes: a file appears whole or not at all."""

from __future__ import annotations

import errno
import glob
import os
import platform
import re
import secrets
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from superwords.errors import InputError, StorageError

_STALE_AFTER = 24 * 3600.0  # seconds, for temporary files whose process is unknown


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces `target` on success.

    It is removed on failure. Other processes see either the old or the complete new file. Temporary files of killed
    processes beside the target are removed.
    """
    _remove_stale(target)
    temporary = target.parent / f".{target.name}.{_host()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_file(target: Path) -> Iterator[BinaryIO]:
    """Yield an open file that replaces `target` on success."""
    with atomic_path(target) as path, open(path, "xb") as file:
        yield file


def write_atomic(target: Path, data: bytes) -> None:
    """Write a whole file at once."""
    with atomic_file(target) as file:
        file.write(data)


def file_part(name: Any) -> str:
    """Return what a column's name leaves for a file's name on any system."""
    return re.sub(r"[^\w-]+", "-", str(name)).strip("-")[:60] or "column"


@contextmanager
def writing(what: str, target: Path) -> Iterator[None]:
    """Raise InputError, which says what cannot be written where, if the system refuses."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{what} cannot be written to {str(target)!r}: {error.strerror or error}.") from error


def write_named(target: str | os.PathLike[str], data: bytes | str, what: str) -> Path:
    """Write a whole file at once; raise InputError, which says what the file is, if that fails."""
    path = Path(target)
    with writing(f"The {what}", path):
        write_atomic(path, data.encode("utf-8") if isinstance(data, str) else data)
    return path


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, so that a rename survives a power failure."""
    if os.name != "posix":  # Windows cannot open a folder, and its renames are journalled
        return
    opened = os.open(folder, os.O_RDONLY)
    with suppress(OSError):  # not supported by some network file systems
        os.fsync(opened)
    os.close(opened)


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Lock `target` for writing; raise `StorageError` if another process has it.

    The operating system locks a file beside the target, and releases it if the process is killed.
    """
    path = target.parent / f".{target.name}.lock"
    while True:
        try:
            file = open(path, "ab")  # noqa: SIM115 (held until the end)
        except OSError as error:
            raise StorageError(f"{str(target)!r} cannot be written: {error.strerror or error}.") from None
        if not _lock(file):
            file.close()
            raise StorageError(f"Another process is writing {str(target)!r}; try again when it has finished.")
        with suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break
        file.close()  # its owner has just removed it
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # fails on Windows, where the file stays
        file.close()


def _lock(file: BinaryIO) -> bool:
    """Lock an open file without waiting; file systems without locks grant every lock."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _remove_stale(target: Path) -> None:
    """Remove the temporary files of processes that no longer run."""
    with suppress(OSError):
        for path in list(target.parent.glob(f".{glob.escape(target.name)}.*.tmp*")):
            owner = path.name.removeprefix(f".{target.name}.").partition(".tmp")[0].split("-")
            with suppress(OSError):
                if not _may_be_written(path, owner):
                    path.unlink()


def _may_be_written(path: Path, owner: list[str]) -> bool:
    if len(owner) != 3 or owner[0] != _host() or not owner[1].isdigit() or os.name != "posix":
        # Of another machine or version. Windows does not remove a file that is open.
        return time.time() - path.stat().st_mtime < _STALE_AFTER
    try:
        os.kill(int(owner[1]), 0)
    except (OSError, OverflowError) as error:
        return not isinstance(error, ProcessLookupError)
    return True
