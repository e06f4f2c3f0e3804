"""What the experiments on real data share: finding the data, and the interval of a mean over seeds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from superwords.errors import InputError


def data_path(data: Path, name: str) -> Path:
    """The path of a file or folder of the data, or one sentence about its absence."""
    path = data / name
    if not path.exists():
        raise InputError(f"{path}: the data of this experiment are missing; give their folder with --data.")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file of JSON lines, also .gz."""
    if not path.is_file():
        raise InputError(f"{path}: the data of this experiment are missing; give their folder with --data.")
    try:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return [json.loads(line) for line in text.decode("utf-8").splitlines() if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: this is not a file of JSON lines ({error}).") from None


def t_interval(values: np.ndarray) -> tuple[float, float]:
    """The 95% interval of the mean over seeds by Student's t; NaN for a single seed."""
    if len(values) < 2:
        return float("nan"), float("nan")
    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    mean = float(np.mean(values))
    return mean - half, mean + half
