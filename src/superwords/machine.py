"""Measure this machine: cores, memory used and free, and free disk space."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from superwords.errors import InputError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_LEAST_SPACE = 6e8  # bytes


def n_workers(n_jobs: Any) -> int:
    """Return the number of workers as joblib does; None is all cores, as is -1."""
    n_jobs = -1 if n_jobs is None else n_jobs
    # Integers of any kind (numpy's too) have __index__; True has it too, but is not a number of cores.
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise InputError("is not a number of cores", "n_jobs", n_jobs, "give 1 or more, or -1 for all cores")
    from joblib import effective_n_jobs

    return int(effective_n_jobs(int(n_jobs)))


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
        problem = f"The limit on address space (ulimit -v) leaves {left / 1e6:.0f} MB"
        raise InputError(f"{problem}; superwords needs at least {_LEAST_SPACE / 1e6:.0f} MB to start.")


def _address_space() -> float | None:
    """Return the bytes of this process's address space, where Linux reports them."""
    with suppress(OSError, ValueError, IndexError):
        return float(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None


def _left_of_limit() -> float | None:
    """Return the bytes left under a limit on the address space."""
    used = _address_space()
    if resource is None or used is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else float(soft) - used


def _meminfo() -> float | None:
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
        return float(found[1]) * 1024 if found else None
    return None


def _left_in_container() -> float | None:
    folder = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # ValueError: "max", for no limit
        limit, used = (float((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        files = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return limit - used + float(files.get("inactive_file", 0))
    return None


def temporary_folder() -> Path:
    """Return the folder in which SQLite keeps its unnamed files."""
    named = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp")
    return next((Path(one) for one in named if one and Path(one).is_dir()), Path())


def free_disk(folder: Path) -> float:
    """Return the bytes that can still be written to a folder's disk."""
    return float(shutil.disk_usage(folder).free)
