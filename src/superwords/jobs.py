"""How many threads or processes `n_jobs` asks for."""

from __future__ import annotations

from typing import Any

from superwords.errors import InputError


def n_workers(n_jobs: Any) -> int:
    """As in joblib: 4 is four, -1 all cores, -2 all but one; None is all cores here."""
    if n_jobs is None:
        n_jobs = -1
    # A whole number of any kind (numpy's too) has __index__; True has it too, but is no number of cores.
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r} is not a number of cores; give 1 or more, or -1 for all cores.")
    from joblib import effective_n_jobs

    return int(effective_n_jobs(int(n_jobs)))
