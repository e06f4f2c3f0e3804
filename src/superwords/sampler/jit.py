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

from superwords.sampler.numba_refs import HelperCompiler, as_ref

config: Any = numba_config

# Sums may be reordered (so that loops vectorise), but NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@cache
def cache_folder() -> str | None:
    """Return a folder for compiled kernels keyed by their sources, or None.

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


OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, "no_cfunc_wrapper": True}
# Functions only called from kernels need no Python wrapper, which takes longer to compile than the function.
INSIDE: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True}


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call."""
    return _for_any_value(numba.njit(pipeline_class=HelperCompiler, **INSIDE)(function))


def inline_helper(function: Callable[..., Any]) -> Any:
    """Compile a helper into its single caller, which saves compile time."""
    return numba.njit(inline="always", **INSIDE)(function)


def ref_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that allocates nothing and passes its arguments by pointer."""
    names, code = signature(function).parameters, function.__code__
    references = ", ".join(f"as_ref({name})" for name in names)
    source = f"def {function.__name__}({', '.join(names)}):\n    return body({references})"
    scope = {"body": inline_helper(function), "as_ref": as_ref, "__name__": function.__module__}
    # On the function's own line and file, which are keys of numba's cache.
    exec(compile("\n" * (code.co_firstlineno - 1) + source, code.co_filename, "exec"), scope)
    return kernel(scope[function.__name__])


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first call, without the GIL, and cache the machine code."""
    folder = None if config.CACHE_DIR else cache_folder()
    if folder is None:
        return _for_any_value(numba.njit(cache=bool(config.CACHE_DIR), **OPTIONS)(function))
    config.CACHE_DIR = folder
    try:
        return _for_any_value(numba.njit(cache=True, **OPTIONS)(function))
    finally:
        config.CACHE_DIR = ""


def _for_any_value(compiled: Any) -> Any:
    """Treat literal arguments as their type, so that numba compiles only once."""
    find = getattr(compiled, "get_call_template", None)
    if find is not None:  # a private method of numba; without it kernels only take longer to compile
        compiled.get_call_template = lambda args, named: find(
            tuple(map(unliteral, args)), {name: unliteral(value) for name, value in named.items()}
        )
    return compiled
