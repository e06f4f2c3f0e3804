"""What this machine has: memory used and free, and room on its disks."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def peak_memory() -> float:
    """Megabytes this process has used at the most."""
    import resource  # not on every system

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 if sys.platform != "darwin" else 1024**2
    )


def available_memory() -> float | None:
    """Bytes that can still be used without swapping, also within a container's limit; None where it is not known."""
    found = [one for one in (_meminfo(), _left_in_container()) if one is not None]
    return min(found) if found else None


def _meminfo() -> float | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    return None


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
    """Where SQLite puts files without a name."""
    named = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp")
    return next((Path(one) for one in named if one and Path(one).is_dir()), Path())


def free_disk(folder: Path) -> float:
    """Bytes that can still be written there."""
    return float(shutil.disk_usage(folder).free)
