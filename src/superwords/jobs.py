"""Read `n_jobs` as a number of threads or processes."""

from __future__ import annotations

from typing import Any

from superwords.errors import InputError


def n_workers(n_jobs: Any) -> int:
    """Return the number of workers as joblib does; None is all cores, as is -1."""
    if n_jobs is None:
        n_jobs = -1
    # Integers of any kind (numpy's too) have __index__; True has it too, but is not a number of cores.
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        remedy = "give 1 or more, or -1 for all cores"
        raise InputError("is not a number of cores", "n_jobs", n_jobs, remedy)
    from joblib import effective_n_jobs

    return int(effective_n_jobs(int(n_jobs)))
