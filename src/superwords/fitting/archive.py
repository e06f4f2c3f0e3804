"""Values in a zip of plain arrays (.npy) and JSON, with no pickle: what model files and checkpoints are made of."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.sets import WordSets
from superwords.concepts.summary import Alignment, Memberships, Summary, Uses, WordUse
from superwords.concepts.word_draws import WordDraws
from superwords.draws import Kept
from superwords.fitting.running import Schedule
from superwords.sampler.model import Affinity, Prior, Steps
from superwords.sampler.state import State, Tokens

_TUPLES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(State, Tokens, Kept, Prior, Steps, Affinity, Schedule),
        *(Summary, Alignment, WordUse, Memberships, Uses, WordDraws, WordSets),
    )
}
# What reading a damaged file may raise.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
)


class Writer:
    """Writes values into an archive and gives the tree nodes that name them."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive

    def node(self, path: str, value: Any) -> dict[str, Any]:
        kind = type(value).__name__
        if isinstance(value, tuple) and kind in _TUPLES:
            named = zip(_TUPLES[kind]._fields, value)
            return {"tuple": kind, "fields": {name: self.node(f"{path}/{name}", one) for name, one in named}}
        if isinstance(value, dict) and path != "corpus/notes":
            return {"fields": {name: self.node(f"{path}/{name}", one) for name, one in value.items()}}
        if isinstance(value, np.ndarray):
            return self.array(path, value)
        if sparse.issparse(value):
            parts = {
                name: self.array(f"{path}/{name}", getattr(value, name))
                for name in ("data", "indices", "indptr")
            }
            return {"sparse": list(value.shape), "fields": parts}
        if isinstance(value, pd.DataFrame):
            columns = [_column(value.iloc[:, at]) for at in range(value.shape[1])]
            self.json(f"{path}.json", {"rows": len(value), "columns": columns})
            return {"table": f"{path}.json"}
        if isinstance(value, list | dict):
            self.json(f"{path}.json", value)
            return {"json": f"{path}.json"}
        return {"value": value.item() if isinstance(value, np.generic) else value}

    def rows(self, path: str, values: Sequence[Any]) -> dict[str, Any]:
        """Many tuples of one kind, field by field: arrays end to end, and how long each is."""
        node: dict[str, Any] = {"rows": len(values), "fields": {}}
        if not values:
            return node
        node["tuple"] = type(values[0]).__name__
        for name in values[0]._fields:
            column = [getattr(value, name) for value in values]
            here = f"{path}/{name}"
            if isinstance(column[0], tuple):
                node["fields"][name] = self.rows(here, column)
            elif isinstance(column[0], np.ndarray):
                lengths = np.array([len(one) for one in column], np.int64)
                ends = self.array(f"{here}/lengths", lengths)
                node["fields"][name] = {"joined": self.array(here, np.concatenate(column)), "lengths": ends}
            else:
                node["fields"][name] = self.array(here, np.array(column))
        return node

    def array(self, path: str, value: np.ndarray) -> dict[str, Any]:
        node = {"array": f"{path}.npy"}
        if value.ndim == 1 and len(value) and np.issubdtype(value.dtype, np.integer):
            # Word sets and pointers ascend: their steps are small numbers, which take a third of the room.
            node["steps_of"] = value.dtype.str
            value = _narrow(np.diff(value.astype(np.int64), prepend=0))
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asanyarray(value, order="C"), allow_pickle=False)
        self.member(f"{path}.npy", buffer.getvalue())
        return node

    def json(self, name: str, value: Any) -> None:
        self.member(name, json.dumps(value, default=_plain).encode())

    def member(self, name: str, content: bytes) -> None:
        # A fixed date: the same model gives the same file.
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3
        info.external_attr = 0o644 << 16
        self.archive.writestr(info, content)


class Reader:
    """The values that a tree's nodes name."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive

    def value(self, node: dict[str, Any]) -> Any:
        if "array" in node:
            return self.array(node)
        if "json" in node:
            return self.json(node["json"])
        if "table" in node:
            return self.table(node["table"])
        if "value" in node:
            return node["value"]
        fields = {name: self.value(one) for name, one in node["fields"].items()}
        if "sparse" in node:
            matrix = sparse.csr_array(
                (fields["data"], fields["indices"], fields["indptr"]), shape=node["sparse"]
            )
            matrix.check_format(full_check=True)
            return matrix
        if "tuple" in node:
            return _checked(_TUPLES[node["tuple"]](**fields))
        return fields

    def rows(self, node: dict[str, Any]) -> list[Any]:
        """Inverse of `Writer.rows`."""
        if node["rows"] == 0:
            return []
        columns = []
        for one in node["fields"].values():
            if "rows" in one:
                columns.append(self.rows(one))
            elif "joined" in one:
                ends = np.cumsum(self.array(one["lengths"]))
                columns.append([part.copy() for part in np.split(self.array(one["joined"]), ends[:-1])])
            else:
                columns.append(self.array(one).tolist())
        kind = _TUPLES[node["tuple"]]
        names = list(node["fields"])
        return [
            _checked(kind(**dict(zip(names, values, strict=True)))) for values in zip(*columns, strict=True)
        ]

    def array(self, node: dict[str, Any]) -> np.ndarray:
        value = np.lib.format.read_array(io.BytesIO(self.archive.read(node["array"])), allow_pickle=False)
        if "steps_of" in node:
            return np.cumsum(value, dtype=np.int64).astype(np.dtype(node["steps_of"]))
        return value

    def json(self, name: str) -> Any:
        return json.loads(self.archive.read(name))

    def table(self, name: str) -> pd.DataFrame:
        stored = self.json(name)
        columns = [_series(column) for column in stored["columns"]]
        if not columns:
            return pd.DataFrame(index=range(stored["rows"]))
        table = pd.concat(columns, axis=1)
        table.columns = pd.Index([column["name"] for column in stored["columns"]])
        return table


def _narrow(value: np.ndarray) -> np.ndarray:
    """The same whole numbers in the smallest type that holds them."""
    low, high = int(value.min()), int(value.max())
    kind = next(
        k
        for k in (np.int8, np.int16, np.int32, np.int64)
        if np.iinfo(k).min <= low and high <= np.iinfo(k).max
    )
    return value.astype(kind)


def _checked(value: Any) -> Any:
    """Numbers that point nowhere must not reach the compiled kernels."""
    if isinstance(value, Affinity) and not ((value.near >= 0) & (value.near < len(value.near))).all():
        raise ValueError("its near words are not in the vocabulary")
    if not isinstance(value, State):
        return value
    for ptr, end in ((value.doc_ptr, len(value.concept)), (value.pair_ptr, len(value.word))):
        if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != end or (np.diff(ptr) < 0).any():
            raise ValueError("a state's parts do not fit together")
    words = value.word
    if len(words) and not 0 <= words.min() <= words.max() < len(value.theta):
        raise ValueError("a state has words that the vocabulary does not")
    if len(value.concept) and not 0 <= value.concept.min() <= value.concept.max() < len(value.concept):
        raise ValueError("a state has a concept that no document holds")
    return value


def _plain(value: Any) -> Any:
    """What JSON does not know, in a form it does."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)


def _column(series: pd.Series) -> dict[str, Any]:
    """A column of metadata as JSON: numbers, texts and missing values as they are, times as whole numbers."""
    name = series.name if isinstance(series.name, str | int) else str(series.name)
    out: dict[str, Any] = {"name": name, "dtype": str(series.dtype)}
    if isinstance(series.dtype, pd.CategoricalDtype):
        out |= {"dtype": "category", "ordered": bool(series.cat.ordered)}
        out["categories"] = _column(pd.Series(series.cat.categories))
        out["values"] = series.cat.codes.tolist()
    elif isinstance(series.dtype, pd.DatetimeTZDtype):
        plain = series.dt.tz_convert("UTC").dt.tz_localize(None)
        out |= {
            "dtype": str(plain.dtype),
            "zone": str(series.dt.tz),
            "values": plain.astype("int64").tolist(),
        }
    elif series.dtype.kind in "mM":
        out["values"] = series.astype("int64").tolist()
    else:
        out["values"] = [None if value is pd.NA or value is pd.NaT else value for value in series.tolist()]
    return out


def _series(column: dict[str, Any]) -> pd.Series:
    values, dtype = column["values"], column["dtype"]
    if dtype == "category":
        categories = pd.Index(_series(column["categories"]))
        return pd.Series(pd.Categorical.from_codes(values, categories, ordered=column["ordered"]))
    if dtype.startswith(("datetime64", "timedelta64")):
        times = pd.Series(np.array(values, "int64").view(dtype))
        return times.dt.tz_localize("UTC").dt.tz_convert(column["zone"]) if "zone" in column else times
    return pd.Series(values, dtype=dtype)
