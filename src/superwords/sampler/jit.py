"""The one wrapper through which every kernel of the project is compiled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import numba
from numba.core import config as numba_config
from numba.core.types import unliteral

from superwords.sampler.handles import hand_on

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
# What Python never calls needs no unpacking of Python objects, which takes longer to compile than the function.
INSIDE: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def part(function: Callable[..., Any]) -> Any:
    """A part of kernels, called by them alone."""
    return _for_any_value(numba.njit(**INSIDE)(function))


def inlined(function: Callable[..., Any]) -> Any:
    """A part with a single caller, which is compiled with it: each level of calls is compiled anew by the one above."""
    return numba.njit(inline="always", **INSIDE)(function)


def lean(function: Callable[..., Any]) -> Any:
    """A kernel that allocates nothing and returns no array: its arguments are handed on by pointers (handles.py)."""
    names, code = signature(function).parameters, function.__code__
    handed = ", ".join(f"hand_on({name})" for name in names)
    source = f"def {function.__name__}({', '.join(names)}):\n    return body({handed})"
    scope = {"body": inlined(function), "hand_on": hand_on, "__name__": function.__module__}
    # On the function's own line of its own file, as numba keeps machine code by them.
    exec(compile("\n" * (code.co_firstlineno - 1) + source, code.co_filename, "exec"), scope)
    return _compile(scope[function.__name__])


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first call, without the GIL, and keep the machine code on disk."""
    return _compile(function)


def _compile(function: Callable[..., Any]) -> Any:
    folder = None if config.CACHE_DIR else cache_folder()
    if folder is None:
        return _for_any_value(numba.njit(cache=bool(config.CACHE_DIR), **OPTIONS)(function))
    config.CACHE_DIR = folder
    try:
        return _for_any_value(numba.njit(cache=True, **OPTIONS)(function))
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
