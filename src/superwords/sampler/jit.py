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


def inlined(function: Callable[..., Any]) -> Any:
    """A part of an inner loop: copied into its caller, since tuples of arrays are slow to hand over."""
    return numba.njit(inline="always", **OPTIONS)(function)


def lean(function: Callable[..., Any]) -> Any:
    """A kernel that allocates nothing and returns no array: compiled without reference counts, which cost more than
    the arithmetic where arrays are taken out of tuples in an inner loop."""
    return _compile(function, _nrt=False)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first call, without the GIL, and keep the machine code on disk."""
    return _compile(function)


def _compile(function: Callable[..., Any], **more: Any) -> Any:
    folder = None if config.CACHE_DIR else cache_folder()
    if folder is None:
        return numba.njit(cache=bool(config.CACHE_DIR), **OPTIONS, **more)(function)
    config.CACHE_DIR = folder
    try:
        return numba.njit(cache=True, **OPTIONS, **more)(function)
    finally:
        config.CACHE_DIR = ""
