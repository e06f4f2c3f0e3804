"""Parts of kernels, which only kernels call, made callable from a test."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numba


@cache
def from_python(part: Any) -> Any:
    """A kernel that calls the part with the arguments it is given."""
    names = ", ".join(inspect.signature(part.py_func).parameters)
    scope = {"part": part}
    exec(f"def call({names}):\n    return part({names})", scope)
    return numba.njit(scope["call"])
