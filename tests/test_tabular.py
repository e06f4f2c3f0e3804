"""One writer for every CSV of the project, and one for tables as JSON."""

import ast
import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import superwords
from superwords.tabular import csv_text, records

ROOT = Path(superwords.__file__).parent


def cells(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"])
def test_no_text_becomes_a_formula(start):
    danger = f"{start}cmd|' /C calc'!A0"
    table = pd.DataFrame({danger: [danger], "list": [[danger, "b"]], "kind": pd.Categorical([danger])})
    for row in cells(csv_text(table)):
        assert not any(cell.startswith(start) for cell in row)
    assert cells(csv_text(table.set_index(danger).reset_index()))[1][0] == f"'{danger}"


def test_numbers_and_dates_stay_as_they_are():
    table = pd.DataFrame(
        {
            "real": [-0.1, np.nan, -np.inf],
            "whole": [-1, 0, 2],
            "object": pd.Series([-1, None, "a"], dtype=object),
            "time": pd.to_datetime(["2012-09-04", None, "2017-01-01"]),
            "list": [[0.123456, 2, "x"], [], [1.0]],
        }
    )
    assert csv_text(table) == (
        "real,whole,object,time,list\n-0.1,-1,-1,2012-09-04,0.1235 | 2 | x\n,0,,,\n-inf,2,a,2017-01-01,1\n"
    )


def test_rows_as_json_have_no_number_that_json_lacks():
    table = pd.DataFrame(
        {
            "real": [0.1, np.inf],
            "list": [[np.float64("nan"), np.int64(1)], []],
            "time": pd.to_datetime(["2012-09-04", None]),
            "maybe": pd.array([1, None], dtype="Int64"),
        }
    )
    wanted = [
        {"real": 0.1, "list": [None, 1], "time": "2012-09-04T00:00:00", "maybe": 1},
        {"real": None, "list": [], "time": None, "maybe": None},
    ]
    assert records(table) == json.loads(json.dumps(records(table), allow_nan=False)) == wanted


def test_nobody_else_writes_csv_or_tables_as_json():
    for path in ROOT.rglob("*.py"):
        if path.name == "tabular.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", "") if isinstance(node, ast.Attribute) else ""
            of_csv = name in ("writer", "DictWriter") and getattr(node.value, "id", "") == "csv"
            assert name != "to_csv", path
            assert not of_csv, path
