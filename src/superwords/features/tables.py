"""Features from tables of numbers with a column of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.features.block import check_any_known, check_vocabulary, find_word


def table(source: Any, vocabulary: Sequence[str], word: str = "word") -> np.ndarray:
    """Return the numeric columns of a table in the order of the vocabulary.

    Parameters
    ----------
    source : DataFrame, mapping of columns, or path
        A table, or a CSV or TSV file. Rows of the same word are averaged, and an empty cell takes its column's mean.
    vocabulary : sequence of str
        The words of the corpus.
    word : str
        The column of words; every other one must hold numbers.

    Returns
    -------
    numpy.ndarray
        (V, F), NaN for a word that has no row, or only empty cells.

    Examples
    --------
    >>> from superwords import features
    >>> features.table({"word": ["milk", "boat"], "weight": [1, 50]}, ["boat", "milk", "tide"])
    array([[50.],
           [ 1.],
           [nan]])
    """
    words = check_vocabulary(vocabulary)
    name = str(source) if isinstance(source, (str, Path)) else "The table"
    frame = read_table(source, name, word).dropna(subset=[word])
    cells = frame.drop(columns=[word])
    numbers = cells.apply(pd.to_numeric, errors="coerce").astype(float)
    if len(bad := np.argwhere(((numbers.isna() & cells.notna()) | np.isinf(numbers)).to_numpy())):
        row, at = bad[0]
        raise InputError(
            f"{name} has {cells.iat[row, at]!r} in column {cells.columns[at]!r}, row {row + 1}; "
            "every column but the words must hold finite numbers."
        )
    if numbers.shape[1] == 0:
        raise InputError(f"{name} has no column but {word!r}; give at least one column of numbers.")
    rows = numbers.groupby(frame[word].astype(str).str.strip().to_numpy()).mean().dropna(how="all")
    rows = rows.fillna(rows.mean()).dropna(axis="columns")
    known = {key: key for key in rows.index}
    values = rows.reindex([find_word(known, own) for own in words]).to_numpy(float)
    check_any_known(values, name)
    return values


def read_table(source: Any, what: str, *columns: str) -> pd.DataFrame:
    """Return a table with some columns from a DataFrame, a mapping of columns, or a CSV or TSV file (also .gz)."""
    if isinstance(source, Mapping):
        try:
            table = pd.DataFrame(dict(source))
        except ValueError as error:
            raise InputError(f"The columns of {what} do not fit together: {error}.") from None
    elif isinstance(source, str | Path):
        table = _read_file(Path(source))
    elif isinstance(source, pd.DataFrame):
        table = source
    else:
        raise InputError(f"{what} is of type {type(source).__name__}; give a DataFrame or the path of a CSV file.")
    for name in columns:
        if name not in table.columns:
            there = ", ".join(map(str, table.columns)) or "none"
            raise InputError(f"{what} has no column {name!r}; the columns are {there}.")
    return table


def _read_file(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; give a CSV or TSV file with a word column.")
    separator = "\t" if any(suffix.lower() in (".tsv", ".tab") for suffix in path.suffixes) else ","
    try:
        # "null" and "nan" are words in some languages, so only an empty cell is missing.
        return pd.read_csv(path, sep=separator, keep_default_na=False, na_values=[""])
    except (ValueError, OSError, EOFError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path}: this is not a readable table ({reason}).") from None
