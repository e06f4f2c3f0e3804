"""The one wrapper through which every kernel of the project is compiled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config as numba_config
from numba.core.options import DefaultOptions
from numba.core.types import unliteral

config: Any = numba_config

# Sums may be reordered (so that loops vectorise), but NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@cache
def cache_folder() -> str | None:
    """A folder for compiled kernels that changes with their sources, or None where nothing can be written.

    numba's own cache does not notice an edit in an imported module; keying the folder by the text of every module
    with kernels, or with types they use, does.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        text = source.read_bytes()
        if b".jit import" in text or b"NamedTuple" in text:
            digest.update(text)
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(root) / "superwords" / "kernels" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return None
    except OSError:
        return None
    return str(folder)


OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}
# Reference counts cost more than the arithmetic where arrays are taken out of tuples in an inner loop. numba's switch
# for them is private: where a version has none, kernels are slower and nothing else.
NO_COUNTS: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
# What Python never calls needs no unpacking of Python objects, which takes longer to compile than the function.
INSIDE: dict[str, Any] = {**OPTIONS, **NO_COUNTS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def part(function: Callable[..., Any]) -> Any:
    """A part of lean kernels, called by them alone."""
    return _for_any_value(numba.njit(**INSIDE)(function))


def inlined(function: Callable[..., Any]) -> Any:
    """A small part, or one with a single caller: copied into it, since tuples of arrays are slow to hand over."""
    return _for_any_value(numba.njit(forceinline=True, **INSIDE)(function))


def lean(function: Callable[..., Any]) -> Any:
    """A kernel that allocates nothing and returns no array: compiled without reference counts."""
    return _compile(function, **NO_COUNTS)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first call, without the GIL, and keep the machine code on disk."""
    return _compile(function)


def _compile(function: Callable[..., Any], **more: Any) -> Any:
    folder = None if config.CACHE_DIR else cache_folder()
    if folder is None:
        return _for_any_value(numba.njit(cache=bool(config.CACHE_DIR), **OPTIONS, **more)(function))
    config.CACHE_DIR = folder
    try:
        return _for_any_value(numba.njit(cache=True, **OPTIONS, **more)(function))
    finally:
        config.CACHE_DIR = ""


def _for_any_value(compiled: Any) -> Any:
    """Have kernels call it as it is for any number: numba compiles a function anew for every constant it is given."""
    find = getattr(compiled, "get_call_template", None)
    if find is not None:  # else kernels take longer to compile, and nothing else
        compiled.get_call_template = lambda args, named: find(
            tuple(map(unliteral, args)), {name: unliteral(value) for name, value in named.items()}
        )
    return compiled
