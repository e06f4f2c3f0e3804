"""Helpers, which only kernels call, made callable from a test."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numba
import numpy as np

from superwords.sampler.numba_refs import as_ref


@cache
def from_python(part: Any) -> Any:
    """Return a function that passes records on by reference, as kernels do, and their numbers by value."""
    names = inspect.signature(part.py_func).parameters
    scope: dict[str, Any] = {"part": part, "as_ref": as_ref}
    given = ", ".join(f"as_ref({name})" for name in names)
    exec(f"def call({', '.join(names)}):\n    return part({given})", scope)
    compiled = numba.njit(scope["call"])
    return lambda *args: compiled(*(_number(one) for one in args))


def _number(given: Any) -> Any:
    return given.item() if isinstance(given, np.ndarray) and given.ndim == 0 else given
