"""Features from any table of numbers with a column of words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.features.block import align, check_vocabulary, column, read_table


def table(source: Any, vocabulary: Sequence[str], word: str = "word") -> np.ndarray:
    """The numeric columns of a table (DataFrame, CSV or TSV file) in the order of the vocabulary, (V, F).

    `word` names the column of words. Rows of the same word are averaged, an empty cell takes its column's
    mean, and a word with no row (or none but empty cells) is unknown: a NaN row.

    Parameters
    ----------
    source : DataFrame, mapping of columns, or path
        The table; every column but the words must hold numbers.
    vocabulary : sequence of str
        The words of the corpus.
    word : str
        The column of words.

    Returns
    -------
    numpy.ndarray
        (V, F), one column for each column of numbers.

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
    frame = read_table(source, name)
    frame = frame[column(frame, word, name).notna()]
    numbers = numeric(frame.drop(columns=[word]), name)
    if numbers.shape[1] == 0:
        raise InputError(f"{name} has no column but {word!r}; give at least one column of numbers.")
    rows = numbers.groupby(frame[word].astype(str).str.strip().to_numpy()).mean().dropna(how="all")
    rows = rows.fillna(rows.mean()).dropna(axis="columns")
    known = {str(key): row for key, row in zip(rows.index, rows.to_numpy(dtype=float), strict=True)}
    return align(known, words, rows.shape[1], name)


def numeric(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The columns as floats, or one sentence about the first cell that is no finite number."""
    numbers = frame.apply(pd.to_numeric, errors="coerce").astype(float)
    bad = (numbers.isna() & frame.notna()) | np.isinf(numbers)
    if bad.to_numpy().any():
        row, at = np.argwhere(bad.to_numpy())[0]
        raise InputError(
            f"{name} has {frame.iat[row, at]!r} in column {frame.columns[at]!r}, row {row + 1}; "
            "every column but the words must hold finite numbers."
        )
    return numbers
