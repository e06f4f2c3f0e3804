"""The folder an experiment writes to: checked before the work, its tables written whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pandas as pd

import superwords
from superwords.errors import InputError
from superwords.files import write_whole
from superwords.fitting.estimator import ConceptModel
from superwords.tabular import csv_text


def make_folder(folder: Path) -> None:
    """Make the folder and try to write to it, so that no work is lost for want of a place."""
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
    """As CSV, in the place of an earlier one; an interruption leaves the earlier one whole."""
    write_whole(path, csv_text(table, index).encode("utf-8"))


class GrowingTable:
    """Rows that are written as they are found. What an earlier run of the same settings wrote is taken up again."""

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
        """Whether rows with these values are there."""
        if not len(self.table):
            return False
        same = [self.table[name].astype(str) == str(value) for name, value in key.items()]
        return bool(pd.concat(same, axis=1).all(axis=1).any())

    def add(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        """Add rows and write the table."""
        new = pd.DataFrame([{**row, **self.settings} for row in rows])
        self.table = pd.concat([self.table, new], ignore_index=True) if len(self.table) else new
        write_table(self.table, self.path)


def kept_model(path: Path, make: Callable[[], ConceptModel], say: Callable[[str], Any]) -> ConceptModel:
    """The model of an earlier run that was broken off, or a new one, which is kept."""
    if path.exists():
        say(f"{path} is kept from an earlier run.")
        return superwords.load(path)
    model = make()
    model.save(path)
    return model
