"""The folder an experiment writes to: checked before the work, its tables written whole."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

import pandas as pd

from superwords.errors import InputError
from superwords.files import write_whole
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
