"""What every experiment shares: its data, its folder, tables that grow, means with intervals, and its options.

An experiment is a module with a function `experiment(lab, ...)`. The function's keyword arguments are the options of
the command line, `NEEDS` names the files it reads, `LIBRARIES` the packages, and `QUICK` what `--quick` sets.
"""

from __future__ import annotations

import argparse
import gzip
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import sparse, stats

import superwords
from superwords.compare.peers import ITERATIONS, live_topics, topic_model, topic_shares
from superwords.errors import InputError
from superwords.files import write_atomic
from superwords.fitting.estimator import ConceptModel
from superwords.plots import save_figure
from superwords.plots.style import INK, PALETTE, bare, new_figure
from superwords.tabular import csv_text

DATA = Path(os.environ.get("SUPERWORDS_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Lab:
    """The data, the output folder and the output of one experiment."""

    out: Path
    data: Path = DATA
    quick: bool = False
    jobs: int | None = None
    say: Callable[[str], Any] = print

    def path(self, name: str) -> Path:
        """Return the path of a file or folder of the data."""
        return data_path(self.data, name)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the records of a file of JSON lines of the data."""
        return read_lines(self.data / name)

    def table(self, name: str, table: pd.DataFrame, index: bool = False, show: bool = False) -> None:
        """Write a table as CSV, and print it if `show`."""
        write_table(table, self.out / name, index)
        if show:
            self.say(table.to_string(index=index, float_format=lambda value: f"{value:.3f}"))

    def figure(self, name: str, figure: Figure) -> None:
        """Write a figure."""
        save_figure(figure, self.out / name)

    def growing(self, name: str, **settings: Any) -> GrowingTable:
        """Return a table that continues the one of an interrupted run with the same settings."""
        return GrowingTable(self.out / name, **settings)

    def model(self, name: str, make: Callable[[], ConceptModel]) -> ConceptModel:
        """Return the saved model of an interrupted run, or fit and save it."""
        path = self.out / name
        if path.exists():
            self.say(f"{path} is kept from an earlier run.")
            return superwords.load(path)
        model = make()
        model.save(path)
        return model


def data_path(data: Path, name: str) -> Path:
    """Return the path of a file or folder of the data, or raise InputError if it is missing."""
    path = data / name
    if not path.exists():
        raise InputError(f"{path}: the data of this experiment are missing; give their folder with --data.")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file of JSON lines, also .gz."""
    path = data_path(path.parent, path.name)
    try:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return [json.loads(line) for line in text.decode("utf-8").splitlines() if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: this is not a file of JSON lines ({error}).") from None


def make_folder(folder: Path) -> None:
    """Create the folder and check that it can be written to, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file; give the name of a folder with -o.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"The folder {str(folder)!r} cannot be written to ({error.strerror}); give another with -o."
        ) from None


def write_table(table: pd.DataFrame, path: Path, index: bool = False) -> None:
    """Write a table as CSV; an interruption leaves an earlier one whole."""
    write_atomic(path, csv_text(table.reset_index() if index else table).encode("utf-8"))


class GrowingTable:
    """Rows that are written as they are found, continuing an earlier run with the same settings."""

    def __init__(self, path: Path, **settings: Any) -> None:
        self.path, self.settings = path, settings
        self.table = pd.DataFrame()
        if path.exists():
            self.table = pd.read_csv(path)
            other = [name for name, value in settings.items() if not self._is_of(name, value)]
            if other:
                raise InputError(
                    f"{path} is of a run with another {other[0]}; give another folder with -o, or remove it."
                )

    def _is_of(self, name: str, value: Any) -> bool:
        return name in self.table and bool((self.table[name].astype(str) == str(value)).all())

    def has(self, **key: Any) -> bool:
        """Return whether there are rows with these values."""
        if not len(self.table):
            return False
        same = [self.table[name].astype(str) == str(value) for name, value in key.items()]
        return bool(pd.concat(same, axis=1).all(axis=1).any())

    def add(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        """Add rows and write the table."""
        new = pd.DataFrame([{**row, **self.settings} for row in rows])
        self.table = pd.concat([self.table, new], ignore_index=True) if len(self.table) else new
        write_table(self.table, self.path)


def t_interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95% interval of a mean by Student's t; NaN for a single value."""
    if len(values) < 2:
        return float("nan"), float("nan")
    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    mean = float(np.mean(values))
    return mean - half, mean + half


def means(table: pd.DataFrame, by: Sequence[str], value: str, count: str) -> pd.DataFrame:
    """Return a row per group: the mean of a column, its 95% interval, and the number of values."""
    rows = []
    for key, part in table.groupby(list(by), sort=False)[value]:
        values = part.dropna().to_numpy()
        low, high = t_interval(values)
        names = dict(zip(by, key if isinstance(key, tuple) else (key,)))
        rows.append({**names, value: values.mean(), "low": low, "high": high, count: len(values)})
    return pd.DataFrame(rows)


def bars(table: pd.DataFrame, label: str, value: str, title: str, ours: Sequence[str] = ()) -> Figure:
    """Draw a horizontal bar with its interval for each row of a table of means."""
    figure = new_figure(6.0, 0.9 + 0.32 * len(table))
    axes = figure.subplots()
    position = np.arange(len(table))
    errors = np.nan_to_num([table[value] - table["low"], table["high"] - table[value]])
    colours = [PALETTE[1] if name in ours else PALETTE[0] for name in table[label]]
    axes.barh(position, table[value], color=colours, xerr=np.maximum(errors, 0), ecolor=INK)
    axes.set_yticks(position, table[label].tolist())
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel(title, color=INK)
    bare(axes)
    figure.set_layout_engine("tight")
    return figure


class Topics(NamedTuple):
    """What a topic model found in the counts; rows of both matrices sum to 1, but for empty documents."""

    topic_word: np.ndarray  # (T, V)
    doc_topic: np.ndarray  # (D, T)
    log_likelihood: float  # per token


def fit_topics(name: str, counts: Any, iterations: int = ITERATIONS, seed: int = 0, **setting: Any) -> Topics:
    """Fit HDP, or LDA with `k` topics, and return its last state."""
    matrix = sparse.csr_array(counts)
    model = topic_model(name, matrix, iterations, seed, **setting)
    live, topic_word = live_topics(model, matrix.shape[1])
    doc_topic = np.zeros((matrix.shape[0], len(live)))
    doc_topic[np.flatnonzero(np.diff(matrix.indptr))] = topic_shares(model.docs, live)
    return Topics(topic_word, doc_topic, float(model.ll_per_word))


def run_experiment(name: str, arguments: Sequence[str]) -> Any:
    """Run the experiment of a module with options of the command line."""
    module = import_module(f"experiments.{name}")
    given = vars(_parser(name, module).parse_args(arguments))
    lab = Lab(*(given.pop(key) for key in ("out", "data", "quick", "jobs")))
    options = {key: value for key, value in given.items() if value is not None}
    if lab.quick:
        options = {**getattr(module, "QUICK", {}), **options}
    for file in getattr(module, "NEEDS", ()):
        lab.path(file)
    for library in getattr(module, "LIBRARIES", ()):
        if find_spec(library) is None:
            raise InputError(f"This needs {library}; run: pip install 'superwords[compare,peers]'.")
    make_folder(lab.out)
    found = module.experiment(lab, **options)
    print(f"Wrote tables and figures to {lab.out}.")
    return found


def _parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(f"python -m experiments {name}", description=module.__doc__)
    parser.add_argument("-o", "--out", "--output", type=Path, default=Path("out") / name, help="output folder")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data (docs/lab/results.md)")
    parser.add_argument("--quick", action="store_true", help="a small run that checks that everything works")
    parser.add_argument("--jobs", type=int, help="cores to use")
    for option in list(inspect.signature(module.experiment).parameters.values())[1:]:
        flag, default = f"--{option.name.replace('_', '-')}", option.default
        if isinstance(default, bool):
            parser.add_argument(flag, action="store_true", default=None)
        else:
            kind = _comma_list if isinstance(default, tuple) else partial(_number, type(default))
            parser.add_argument(flag, type=kind, metavar="VALUE", help=f"default: {default}")
    return parser


def _comma_list(text: str) -> tuple[Any, ...]:
    parts = [part.strip() for part in text.split(",")]
    return tuple(int(part) if part.isdigit() else part for part in parts)


def _number(kind: type, text: str) -> Any:
    """Read the value of an option: of its default's type, or a number if the default is None."""
    if kind is str:
        return text
    try:
        value = float(text) if kind in (float, type(None)) else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if value < 0 and kind is int:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return int(value) if float(value).is_integer() else value
