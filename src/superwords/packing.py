"""Values as bytes and back, safe to read from a stranger: no pickle, and sizes checked before anything is unpacked.

A value is made of dictionaries, numpy arrays, sparse arrays, and what JSON knows. Its *header* is JSON that tells its
shape and declares the type and size of every array; its *data* are the arrays end to end, compressed. An array is kept
in the form that compresses best: whole numbers as they are or as steps from one to the next, values that recur as codes
into a table; and first the lowest byte of every number, then the next one, as neighbours are then alike.
"""

from __future__ import annotations

import bz2
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
_PLAIN, _STEPS, _CODES = "plain", "steps", "codes"  # the forms of an array
_MANY, _MOST_CODES = 1_000, 2**16  # fewer values, or more different ones, do not become codes
_LOOKED_AT = 50_000  # values from which a form is chosen
# Nothing honest is smaller by more than this factor beyond so many bytes; a forged size is refused by it.
_LARGEST_RATIO, _ALLOWANCE = 100, 64 * 2**20


class DamagedError(Exception):
    """What was read cannot be what was written."""


class Packed(NamedTuple):
    header: str
    size: int  # of the data before compression
    data: bytes


class _Declared(NamedTuple):
    """An array as its header declares it."""

    stored: np.dtype
    shape: tuple[int, ...]
    dtype: np.dtype
    form: str
    table: int  # of codes: which array has their values

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

    def store(stored: np.ndarray, *entry: Any) -> int:
        declared.append([_kind(stored), list(stored.shape), *entry])
        parts.append(_planes(stored))
        return len(declared) - 1

    def array(values: np.ndarray) -> dict[str, Any]:
        if _kind(values) not in TYPES:
            raise TypeError(f"an array of type {values.dtype} cannot be stored")
        form, stored, *table = _smallest(values) if level > QUICK_LEVEL else _quick(values)
        places = [store(one, _kind(one), _PLAIN) for one in table]
        return {"array": store(stored, _kind(values), form, *places)}

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
            return {"json": store(text, "|u1", _PLAIN)}
        return {"value": one.item() if isinstance(one, np.generic) else one}

    header = json.dumps({"value": node(value), "arrays": declared})
    joined = b"".join(parts)
    is_text = isinstance(value, list | str) and level > QUICK_LEVEL
    return Packed(header, len(joined), bz2.compress(joined) if is_text else zlib.compress(joined, level))


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
    arrays: list[np.ndarray] = []
    start = 0
    for one in declared:
        arrays.append(_array(raw[start : start + one.stored_bytes], one, arrays))
        start += one.stored_bytes
    return _value(header["value"], arrays)


def _declaration(entry: Any) -> _Declared:
    stored, shape, kind, form, *table = entry
    if len(shape) > _MOST_DIMENSIONS or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
        raise DamagedError("an array has no possible shape")
    if form not in (_PLAIN, _STEPS, _CODES) or len(table) != (form == _CODES):
        raise DamagedError("an array has no possible form")
    return _Declared(TYPES[stored], tuple(shape), TYPES[kind], form, *table or [0])


def _inflated(data: bytes, size: int) -> bytes:
    machine: Any = bz2.BZ2Decompressor() if data.startswith(b"BZh") else zlib.decompressobj()
    raw = machine.decompress(data, max(size, 1))
    if len(raw) != size or (not machine.eof and machine.decompress(_unread(machine), 1)):
        raise DamagedError("its data are not of the size they declare")
    if not machine.eof or machine.unused_data:
        raise DamagedError("its data end too soon or too late")
    return raw


def _unread(machine: Any) -> bytes:
    return getattr(machine, "unconsumed_tail", b"")  # bz2's keeps it to itself


def _array(raw: memoryview, one: _Declared, before: list[np.ndarray]) -> np.ndarray:
    planes = np.frombuffer(raw, np.uint8).reshape(one.stored.itemsize, -1)
    stored = np.ascontiguousarray(planes.T).view(one.stored.newbyteorder("<")).reshape(one.shape)
    if one.form == _CODES:
        return _looked_up(stored, one, before)
    if one.dtype.kind == "f":
        return stored.astype(one.dtype)
    values = np.cumsum(stored, dtype=np.int64) if one.form == _STEPS else stored
    limits = np.iinfo(one.dtype) if one.dtype.kind in "iu" else np.iinfo(np.uint8)
    if values.size and not limits.min <= int(values.min()) <= int(values.max()) <= limits.max:
        raise DamagedError("numbers do not fit their type")
    return values.astype(one.dtype)


def _looked_up(codes: np.ndarray, one: _Declared, before: list[np.ndarray]) -> np.ndarray:
    if type(one.table) is not int or not 0 <= one.table < len(before) or codes.dtype.kind != "u":
        raise DamagedError("an array's values are not there")
    table = before[one.table]
    if table.ndim != 1 or table.dtype != one.dtype or (codes.size and int(codes.max()) >= len(table)):
        raise DamagedError("an array's values are not there")
    return table[codes]


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


def _kind(values: np.ndarray) -> str:
    return values.dtype.newbyteorder("<").str


def _quick(values: np.ndarray) -> tuple[Any, ...]:
    """The form, and what is stored, without a look at the values: word sets and pointers ascend by small steps."""
    if values.ndim == 1 and len(values) and np.issubdtype(values.dtype, np.integer):
        return _STEPS, _narrow(np.diff(values.astype(np.int64), prepend=0))
    return _PLAIN, values


def _smallest(values: np.ndarray) -> tuple[Any, ...]:
    """The form that a part of the values shows to be smallest, what is stored, and the table of codes."""
    forms: list[tuple[Any, ...]] = [_quick(values)]
    if np.issubdtype(values.dtype, np.integer) and values.size:
        forms.append((_PLAIN, _narrow(values)))
    if values.ndim == 1 and values.dtype.kind == "f" and len(values) >= _MANY:
        bits = values.view(f"u{values.itemsize}")  # -0.0 is not 0.0 here
        table, code, times = np.unique(bits, return_inverse=True, return_counts=True)
        if len(table) <= min(_MOST_CODES, len(values) // 2):
            # The most frequent value is 0, and so on: most codes are small.
            rank = np.argsort(-times, kind="stable")
            codes = np.argsort(rank).astype(np.uint16)[code]
            forms.append((_CODES, codes, table[rank].view(values.dtype)))
    return min(forms, key=lambda one: _compressed(one[1])) if len(forms) > 1 else forms[0]


def _compressed(stored: np.ndarray) -> int:
    flat = stored.ravel()
    start = max(0, (len(flat) - _LOOKED_AT) // 2)
    return len(zlib.compress(_planes(flat[start : start + _LOOKED_AT]), QUICK_LEVEL))


def _planes(values: np.ndarray) -> bytes:
    """The numbers' lowest bytes, then the next ones, and so on."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return little.reshape(-1, 1).view(np.uint8).T.tobytes()


def _narrow(values: np.ndarray) -> np.ndarray:
    """The same whole numbers in the smallest type that holds them."""
    low, high = int(values.min()), int(values.max())
    kinds = (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64, np.uint64)
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
