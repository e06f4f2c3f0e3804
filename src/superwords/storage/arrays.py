"""Pack values into bytes and back, safely for files from strangers: no pickle, sizes checked before unpacking.

A value is made of dictionaries, numpy arrays, sparse arrays, and what JSON knows. Its *header* is JSON: the value's
structure, and the type, shape and compressed size of every array. Its *data* are the compressed arrays end to end:
numbers by zlib, whole numbers in the narrowest type that holds them, and text by bzip2.
"""

from __future__ import annotations

import bz2
import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from scipy import sparse

# The types an array may have in a file, by their names there: little-endian on every machine.
TYPES = {
    np.dtype(name).newbyteorder("<").str: np.dtype(name)
    for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
}
_LIMITS = {name: np.iinfo(kind) for name, kind in TYPES.items() if kind.kind in "iu"}
_TEXT = "text"  # in the place of an array's type: JSON
_MOST_DIMENSIONS = 3
_LEVEL = 6  # of zlib
# Guard against decompression bombs: refuse a ratio above 100:1 beyond the first 64 MiB.
_LARGEST_RATIO, _ALLOWANCE = 100, 64 * 2**20

Value = TypeVar("Value")
_parameters: Callable[[Any], Mapping[str, Parameter]] = cache(lambda kind: signature(kind).parameters)


class DamagedError(Exception):
    """What was read cannot be what was written."""


class OtherVersionError(DamagedError):
    """What was read has fields that this version of superwords does not have, or lacks some that it needs."""


class Packed(NamedTuple):
    """A value's header and its compressed data."""

    header: str
    data: bytes


def pack(value: Any) -> Packed:
    """Pack a value; dictionaries may hold arrays at any depth, lists may not.

    Examples
    --------
    >>> packed = pack({"word": np.arange(3), "name": "health"})
    >>> unpack(packed)["word"].tolist()
    [0, 1, 2]
    """
    declared: list[list[Any]] = []
    data: list[bytes] = []

    def store(stored: np.ndarray, kind: str, compressed: bytes) -> int:
        declared.append([_kind(stored), list(stored.shape), kind, len(compressed)])
        data.append(compressed)
        return len(declared) - 1

    def node(one: Any) -> dict[str, Any]:
        if isinstance(one, dict):
            return {"fields": {str(name): node(inner) for name, inner in one.items()}}
        if isinstance(one, np.ndarray):
            if _kind(one) not in TYPES:
                raise TypeError(f"an array of type {one.dtype} cannot be stored")
            stored = _narrow(one)
            return {"array": store(stored, _kind(one), compress(stored))}
        if sparse.issparse(one):
            matrix = sparse.csr_array(one)
            parts = {"data": matrix.data, "indices": matrix.indices, "lengths": np.diff(matrix.indptr)}
            return {"sparse": list(matrix.shape), **node(parts)}
        if isinstance(one, list | str):
            text = np.frombuffer(json.dumps(one, default=_plain).encode(), np.uint8)
            return {"json": store(text, _TEXT, bz2.compress(text.tobytes()))}
        return {"value": one.item() if isinstance(one, np.generic) else one}

    return Packed(json.dumps({"value": node(value), "arrays": declared}), b"".join(data))


def unpack(packed: Packed) -> Any:
    """Invert `pack`; raise `DamagedError` (or what a broken value provokes) rather than accept a forged value."""
    header = json.loads(packed.header)
    n_bytes = 0
    for stored, shape, kind, compressed in header["arrays"]:
        check_numbers("a size", (*shape, compressed), int, 2**48)
        require(len(shape) <= _MOST_DIMENSIONS, "an array has no possible shape")
        is_possible = (stored, len(shape)) == ("|u1", 1) if kind == _TEXT else stored == kind or kind[1] in "iu"
        require(is_possible, "an array has no possible type")
        widths = [TYPES[one].itemsize for one in (stored, kind) if one != _TEXT]
        n_bytes += math.prod(shape) * max(widths)
    n_compressed = sum(compressed for *_, compressed in header["arrays"])
    require(n_compressed == len(packed.data), "its sizes do not fit together")
    is_possible = n_bytes <= _ALLOWANCE + _LARGEST_RATIO * len(packed.data)
    require(is_possible, "it declares to be larger than its data can be")
    arrays, start = [], 0
    for *declared, compressed in header["arrays"]:
        arrays.append(_array(packed.data[start : start + compressed], *declared))
        start += compressed
    return _value(header["value"], arrays)


def compress(values: np.ndarray) -> bytes:
    """Return an array's numbers, little-endian and compressed."""
    return zlib.compress(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes(), _LEVEL)


def _array(data: bytes, stored: str, shape: list[int], kind: str) -> Any:
    """Decompress an array of numbers, or a text, but no more than its declared size."""
    machine: Any = bz2.BZ2Decompressor() if kind == _TEXT else zlib.decompressobj()
    size = math.prod(shape) * TYPES[stored].itemsize
    raw = machine.decompress(data, max(size, 1))
    rest = getattr(machine, "unconsumed_tail", b"")  # bz2's machine keeps it to itself
    is_whole = len(raw) == size and (machine.eof or not machine.decompress(rest, 1))
    require(is_whole, "its data are not of the size they declare")
    require(machine.eof and not machine.unused_data, "its data end too soon or too late")
    if kind == _TEXT:
        return json.loads(raw)
    values = np.frombuffer(raw, stored).reshape(shape)
    if stored != kind and values.size:
        limits = _LIMITS[kind]
        is_within = values.dtype.kind in "iu" and limits.min <= values.min() <= values.max() <= limits.max
        require(is_within, "numbers do not fit their type")
    return values.astype(TYPES[kind])


def _value(node: dict[str, Any], arrays: list[Any]) -> Any:
    for kind in ("array", "json"):
        if kind in node:
            found = arrays[node[kind]]
            require(isinstance(found, np.ndarray) == (kind == "array"), "an array is of the wrong type")
            return found
    if "value" in node:
        return node["value"]
    fields = {name: _value(one, arrays) for name, one in node["fields"].items()}
    return _sparse(node["sparse"], **fields) if "sparse" in node else fields


def _sparse(shape: Any, data: np.ndarray, indices: np.ndarray, lengths: np.ndarray) -> sparse.csr_array:
    check_numbers("a size", shape, int, 2**31)
    n_rows, _ = shape
    expect(indices, None, len(data))
    expect(lengths, None, n_rows)
    is_whole = data.ndim == 1 and len(data) == lengths.sum() and (lengths >= 0).all()
    require(is_whole, "a sparse array's parts do not fit together")
    pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(lengths.dtype)
    matrix = sparse.csr_array((data, indices, pointers), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _kind(values: np.ndarray) -> str:
    return values.dtype.newbyteorder("<").str


def _narrow(values: np.ndarray) -> np.ndarray:
    """Return the same whole numbers in the smallest type that holds them; other numbers as they are."""
    if values.dtype.kind not in "iu" or not values.size:
        return values
    low, high = int(values.min()), int(values.max())
    kinds = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64, np.uint64)
    return values.astype(next(one for one in kinds if np.iinfo(one).min <= low and high <= np.iinfo(one).max))


def _plain(value: Any) -> Any:
    """Return what JSON does not know in a form that it does."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


def construct(kind: type[Value], fields: Mapping[str, Any], end: float | None = None) -> Value:
    """Return `kind(**fields)`; fields that are not stored take their defaults.

    With `end`, whole numbers, numbers and flags must be of their declared types, and from 0 to before `end`.
    """
    known = _parameters(kind)
    unknown = sorted(set(fields) - set(known))
    missing = [name for name, one in known.items() if one.default is one.empty and name not in fields]
    if unknown or missing:
        both = (("has", unknown), ("lacks", missing))
        found = " and ".join(f"{verb} {', '.join(names)}" for verb, names in both if names)
        raise OtherVersionError(f"its {kind.__name__} {found}")
    types = {} if end is None else get_type_hints(kind)
    for name, value in fields.items():
        if end is not None and types[name] in (int, float, bool):
            check_numbers(f"{name} of its {kind.__name__}", [value], types[name], end)
    return kind(**fields)


def check_numbers(name: str, values: Iterable[Any], kind: Any, end: float = math.inf) -> None:
    """Raise `DamagedError` unless these are all numbers of a type, from 0 to before `end`."""
    require(all(type(one) is kind and 0 <= one < end for one in values), f"{name} is not a possible number")


def require(holds: Any, otherwise: str) -> None:
    """Raise `DamagedError` unless what was read has a property."""
    if not holds:
        raise DamagedError(otherwise)


def expect(values: Any, kind: str | None, *shape: int | None, end: int | None = None) -> np.ndarray:
    """Return an array if it has this type (None: whole numbers of any width) and shape (None: any length).

    With `end`, its numbers must be from 0 to before it.
    """
    is_right = isinstance(values, np.ndarray) and values.ndim == len(shape)
    require(is_right and (values.dtype == kind if kind else values.dtype.kind == "i"), "an array is of the wrong type")
    require(all(n in (None, found) for n, found in zip(shape, values.shape)), "its parts do not fit together")
    if end is not None and values.size:
        require(0 <= values.min() <= values.max() < end, "a number points nowhere")
    return values
