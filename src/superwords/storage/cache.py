"""Results that are derived from a model's draws, kept in the user's cache folder so that they are computed once.

Nothing here is needed: an entry that is missing, unreadable or cannot be written is computed again. Entries are plain
.npz files without pickle, named by a digest of all that they are computed from.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from superwords.files import atomic_file

LARGEST = 10**9  # bytes of all entries; the least recently used go first
_LARGEST_ENTRY = LARGEST // 4

Derived = TypeVar("Derived", bound=tuple[Any, ...])


class _Sparse(typing.NamedTuple):
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: np.ndarray


def cache_folder() -> Path:
    """Return where derived results are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "superwords" / "summaries"


def cached(key: str, kind: type[Derived], compute: Callable[[], Derived]) -> Derived:
    """Return a named tuple of arrays from the cache, or compute it and keep it there."""
    path = cache_folder() / f"{key}.npz"
    with suppress(Exception):  # whatever a missing or damaged entry provokes
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            found: Derived = _nested(kind, arrays)
        with suppress(OSError):
            os.utime(path)
        return found
    found = compute()
    write(key, found)
    return found


def write(key: str, value: tuple[Any, ...]) -> None:
    """Keep an entry, if there is room for it; remove the least recently used ones until all fit."""
    arrays, folder = _flat(value), cache_folder()
    if sum(array.nbytes for array in arrays.values()) > _LARGEST_ENTRY:
        return
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / f"{key}.npz") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        total = 0
        for path in sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime, reverse=True):
            total += path.stat().st_size
            if total > LARGEST:
                path.unlink(missing_ok=True)


def _flat(value: Any, place: str = "") -> dict[str, np.ndarray]:
    """Return the arrays and numbers of nested named tuples by their place, such as `alignment.chain`."""
    if sparse.issparse(value):
        value = _Sparse(value.data, value.indices, value.indptr, np.array(value.shape))
    if not isinstance(value, tuple):
        return {place.removesuffix("."): np.asarray(value)}
    fields = value._asdict().items()  # type: ignore[attr-defined]
    return {inner: array for name, one in fields for inner, array in _flat(one, f"{place}{name}.").items()}


def _nested(kind: Any, arrays: typing.Mapping[str, np.ndarray], place: str = "") -> Any:
    """Invert `_flat`."""
    fields = {}
    for name, of in typing.get_type_hints(kind).items():
        if isinstance(of, type) and issubclass(of, tuple):
            fields[name] = _nested(of, arrays, f"{place}{name}.")
        elif of in (sparse.csr_array, sparse.csc_array):
            *parts, shape = _nested(_Sparse, arrays, f"{place}{name}.")
            fields[name] = of(tuple(parts), shape=tuple(shape.tolist()))
        else:
            found = arrays[f"{place}{name}"]
            fields[name] = found.item() if of in (int, float) else found
    return kind(**fields)
