"""Tables of metadata in what JSON knows: numbers, texts and missing values as they are, times as whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def plain_table(table: pd.DataFrame) -> list[Any]:
    return [len(table), [_column(table.iloc[:, at]) for at in range(table.shape[1])]]


def read_table(stored: list[Any]) -> pd.DataFrame:
    n_rows, columns = stored
    if not columns:
        return pd.DataFrame(index=range(n_rows))
    table = pd.concat([_series(column) for column in columns], axis=1)
    table.columns = pd.Index([column["name"] for column in columns])
    return table


def _column(series: pd.Series) -> dict[str, Any]:
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
