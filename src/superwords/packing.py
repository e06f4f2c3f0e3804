"""Values as bytes and back, safe to read from a stranger: no pickle, and sizes checked before anything is unpacked.

A value is made of dictionaries, numpy arrays, sparse arrays, and what JSON knows. Its *header* is JSON that tells its
shape and declares the type and size of every array; its *data* are the arrays end to end, compressed.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

# The types an array may have in a file, by their names there: little-endian on every machine.
TYPES = {
    np.dtype(name).newbyteorder("<").str: np.dtype(name)
    for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
}
LEVEL, QUICK_LEVEL = 6, 1  # of compression: for files that stay, and for what a chain waits for
_MOST_DIMENSIONS = 3
# Nothing honest is smaller by more than this factor beyond so many bytes; a forged size is refused by it.
_LARGEST_RATIO, _ALLOWANCE = 100, 64 * 2**20


class DamagedError(Exception):
    """What was read cannot be what was written."""


class Packed(NamedTuple):
    header: str
    size: int  # of the data before compression
    data: bytes


class _Declared(NamedTuple):
    """An array as its header declares it: ascending numbers are stored as their steps, in a smaller type."""

    stored: np.dtype
    shape: tuple[int, ...]
    dtype: np.dtype
    are_steps: bool

    @property
    def stored_bytes(self) -> int:
        return math.prod(self.shape) * self.stored.itemsize

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def pack(value: Any, level: int = LEVEL) -> Packed:
    """A value as a header and compressed data.

    Parameters
    ----------
    value : dict, array, sparse array, or what JSON knows
        Dictionaries may hold arrays at any depth; lists may not.
    level : int
        zlib's level of compression.

    Returns
    -------
    Packed

    Examples
    --------
    >>> packed = pack({"word": np.arange(3), "name": "health"})
    >>> unpack(packed)["word"].tolist()
    [0, 1, 2]
    """
    declared: list[list[Any]] = []
    parts: list[bytes] = []

    def array(values: np.ndarray) -> dict[str, Any]:
        stored = np.ascontiguousarray(values)
        kind = stored.dtype.newbyteorder("<").str
        entry: list[Any] = [kind, list(values.shape)]
        if values.ndim == 1 and len(values) and np.issubdtype(values.dtype, np.integer):
            # Word sets and pointers ascend: their steps are small numbers, which take a third of the room.
            stored = _narrow(np.diff(values.astype(np.int64), prepend=0))
            entry = [stored.dtype.newbyteorder("<").str, list(values.shape), kind]
        if kind not in TYPES:
            raise TypeError(f"an array of type {values.dtype} cannot be stored")
        declared.append(entry)
        parts.append(stored.astype(stored.dtype.newbyteorder("<"), copy=False).tobytes())
        return {"array": len(declared) - 1}

    def node(one: Any) -> dict[str, Any]:
        if isinstance(one, dict):
            return {"fields": {str(name): node(inner) for name, inner in one.items()}}
        if isinstance(one, np.ndarray):
            return array(one)
        if sparse.issparse(one):
            matrix = sparse.csr_array(one)
            fields = {name: array(getattr(matrix, name)) for name in ("data", "indices", "indptr")}
            return {"sparse": list(matrix.shape), "fields": fields}
        if isinstance(one, list | str):
            text = np.frombuffer(json.dumps(one, default=_plain).encode(), np.uint8)
            declared.append(["|u1", [len(text)]])
            parts.append(text.tobytes())
            return {"json": len(declared) - 1}
        return {"value": one.item() if isinstance(one, np.generic) else one}

    header = json.dumps({"value": node(value), "arrays": declared})
    joined = b"".join(parts)
    return Packed(header, len(joined), zlib.compress(joined, level))


def unpack(packed: Packed) -> Any:
    """Inverse of `pack`; raises `DamagedError` (or what a broken value provokes) rather than take what is forged."""
    header = json.loads(packed.header)
    declared = [_declaration(entry) for entry in header["arrays"]]
    most = _ALLOWANCE + _LARGEST_RATIO * len(packed.data)
    if sum(one.stored_bytes for one in declared) != packed.size:
        raise DamagedError("its sizes do not fit together")
    if max(packed.size, sum(one.bytes for one in declared)) > most:
        raise DamagedError("it declares to be larger than its data can be")
    raw = memoryview(_inflated(packed.data, packed.size))
    arrays, start = [], 0
    for one in declared:
        arrays.append(_array(raw[start : start + one.stored_bytes], one))
        start += one.stored_bytes
    return _value(header["value"], arrays)


def _declaration(entry: Any) -> _Declared:
    stored, shape = entry[:2]
    if len(shape) > _MOST_DIMENSIONS or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
        raise DamagedError("an array has no possible shape")
    are_steps = len(entry) == 3
    return _Declared(TYPES[stored], tuple(shape), TYPES[entry[2] if are_steps else stored], are_steps)


def _inflated(data: bytes, size: int) -> bytes:
    machine = zlib.decompressobj()
    raw = machine.decompress(data, max(size, 1))
    if len(raw) != size or (not machine.eof and machine.decompress(machine.unconsumed_tail, 1)):
        raise DamagedError("its data are not of the size they declare")
    if not machine.eof or machine.unused_data:
        raise DamagedError("its data end too soon or too late")
    return raw


def _array(raw: memoryview, one: _Declared) -> np.ndarray:
    stored = np.frombuffer(raw, one.stored.newbyteorder("<")).reshape(one.shape)
    if not one.are_steps:
        return stored.astype(one.dtype)
    values = np.cumsum(stored, dtype=np.int64)
    limits = np.iinfo(one.dtype)
    if len(values) and not limits.min <= int(values.min()) <= int(values.max()) <= limits.max:
        raise DamagedError("numbers do not fit their type")
    return values.astype(one.dtype)


def _value(node: dict[str, Any], arrays: list[np.ndarray]) -> Any:
    if "array" in node:
        return arrays[node["array"]]
    if "json" in node:
        return json.loads(arrays[node["json"]].tobytes())
    if "value" in node:
        return node["value"]
    fields = {name: _value(one, arrays) for name, one in node["fields"].items()}
    if "sparse" not in node:
        return fields
    shape = tuple(node["sparse"])
    if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
        raise DamagedError("a sparse array has no possible shape")
    if len(fields["indptr"]) != shape[0] + 1:
        raise DamagedError("a sparse array's parts do not fit together")
    matrix = sparse.csr_array((fields["data"], fields["indices"], fields["indptr"]), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _narrow(values: np.ndarray) -> np.ndarray:
    """The same whole numbers in the smallest type that holds them."""
    low, high = int(values.min()), int(values.max())
    kinds = (np.int8, np.int16, np.int32, np.int64)
    kind = next(one for one in kinds if np.iinfo(one).min <= low and high <= np.iinfo(one).max)
    return values.astype(kind)


def _plain(value: Any) -> Any:
    """What JSON does not know, in a form it does."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)
