"""Measure this machine's memory, used and free, and free disk space."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from superwords.errors import InputError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_LEAST_SPACE = 6e8  # bytes


def peak_memory() -> float:
    """Return the peak memory of this process in megabytes; NaN if unknown."""
    if resource is None:
        return float("nan")
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def available_memory() -> float | None:
    """Return the bytes available without swapping; None if unknown.

    Limits of a container and of this process's address space (`ulimit -v`) are included.
    """
    found = [one for one in (_meminfo(), _left_in_container(), _left_of_limit()) if one is not None]
    return max(0.0, min(found)) if found else None


def limit_memory(n_bytes: float) -> None:
    """Limit this process to `n_bytes` more than now, if the system supports it."""
    used = _address_space()
    if resource is not None and used is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = int(used + n_bytes)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def check_address_space() -> None:
    """Raise where a limit leaves too little to load the libraries: OpenBLAS would try for ever."""
    left = _left_of_limit()
    if left is not None and left < _LEAST_SPACE:
        raise InputError(
            f"The limit on address space (ulimit -v) leaves {left / 1e6:.0f} MB; superwords needs at least "
            f"{_LEAST_SPACE / 1e6:.0f} MB to start."
        )


def _address_space() -> float | None:
    """Return the bytes of this process's address space, where Linux reports them."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def _left_of_limit() -> float | None:
    """Return the bytes left under a limit on the address space."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _address_space()
    return None if soft == resource.RLIM_INFINITY or used is None else float(soft) - used


def _meminfo() -> float | None:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return float(found[1]) * 1024 if found else None


def _left_in_container() -> float | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = float((folder / "memory.current").read_text())
        files = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else float(limit) - used + float(files.get("inactive_file", 0))


def temporary_folder() -> Path:
    """Return the folder in which SQLite keeps its unnamed files."""
    named = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp")
    return next((Path(one) for one in named if one and Path(one).is_dir()), Path())


def free_disk(folder: Path) -> float:
    """Return the bytes that can still be written to a folder's disk."""
    return float(shutil.disk_usage(folder).free)
