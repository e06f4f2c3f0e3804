"""Blocks of word features: their type, what every source needs, tables of numbers, and how blocks are combined."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from superwords.errors import InputError
from superwords.text.checks import check_unique_words

Found = TypeVar("Found")

# Up to this many words the exact dense decomposition is faster than ARPACK, and takes 8 MB.
_DENSE_ROWS = 1000
_START_SEED = 20120614


class WordFeatures(np.ndarray):
    """Array (V, F) of word features, with NaN rows for unknown words.

    Attributes
    ----------
    explained : array
        (F) the share of the variance that each column explains.
    names : list of str
        A name for each column.
    """

    explained: np.ndarray
    names: list[str]

    def __new__(cls, values: np.ndarray, explained: np.ndarray, names: list[str]) -> WordFeatures:
        made = np.asarray(values).view(cls)
        made.explained, made.names = explained, names
        return made

    @property
    def values(self) -> np.ndarray:
        """The plain array (V, F)."""
        return np.asarray(self)

    @property
    def total_explained(self) -> float:
        """The share of the variance that all columns explain together."""
        return float(self.explained.sum())


def combine(*blocks: np.ndarray | WordFeatures) -> np.ndarray:
    """Return the blocks side by side, every block with the same total variance.

    Each block is centred and divided by one number, so that its columns keep their proportions. Use the result as it
    is (`standardize_features=False`), or wide blocks gain weight again.

    Parameters
    ----------
    *blocks : array or WordFeatures
        (V, F) each, NaN where a word is unknown. A word missing in one block only gets that block's mean, 0.

    Returns
    -------
    numpy.ndarray
        (V, sum of F).

    Examples
    --------
    >>> import numpy as np
    >>> from superwords import features
    >>> loud, quiet = np.array([[100.0], [-100.0]]), np.array([[0.1], [-0.1]])
    >>> features.combine(loud, quiet)
    array([[ 1.,  1.],
           [-1., -1.]])
    """
    if not blocks:
        raise InputError("There is nothing to combine; give at least one block of features.")
    arrays = [check_matrix(block, f"Block {number}") for number, block in enumerate(blocks, start=1)]
    for number, array in enumerate(arrays, start=1):
        if len(array) != len(arrays[0]):
            problem = f"Block {number} has {len(array)} rows and block 1 has {len(arrays[0])}"
            raise InputError(f"{problem}; every block needs one row per word.")
    share = sum(array.shape[1] for array in arrays) / len(arrays)
    known = np.array([~np.isnan(array).any(axis=1) for array in arrays])
    values = np.hstack([scale(array, rows, share) for array, rows in zip(arrays, known, strict=True)])
    values[~known.any(axis=0)] = np.nan
    return values


def scale(array: np.ndarray, known: np.ndarray, total_variance: float) -> np.ndarray:
    """Centre the known rows and scale them to the total variance; unknown rows are 0."""
    centred = np.zeros_like(array)
    centred[known] = array[known] - array[known].mean(axis=0)
    variance = float((centred[known] ** 2).mean(axis=0).sum())
    magnitude = float(np.abs(array[known]).max(initial=0.0))
    if variance <= (1e-12 * magnitude) ** 2:
        return np.zeros_like(array)
    return centred * np.sqrt(total_variance / variance)


def check_rows(given: Any, name: str, n: int | None = None, of: str = "word") -> np.ndarray:
    """Return numbers (n, F) of words or rows as floats; refuse other shapes and infinite numbers."""
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}: these are not numbers; give an array with one row per {of}.") from None
    if values.ndim != 2 or len(values) != (len(values) if n is None else n):
        rows = f"one row for each of the {n} {of}s, ({n}, F)" if n else f"an array with one row per {of}"
        raise InputError(f"{name} has the shape {values.shape}; give {rows}.")
    for row, column in np.argwhere(np.isinf(values)):
        remedy = "give finite numbers, or NaN where nothing is known"
        raise InputError(f"{name} is infinite in row {row}, column {column}; {remedy}.")
    return values


def check_matrix(given: Any, name: str, n_words: int | None = None) -> np.ndarray:
    """Return words-by-features numbers as floats; a row with any NaN is unknown and all NaN."""
    values = check_rows(given, name, n_words)
    if values.shape[1] == 0:
        raise InputError(f"{name} has no columns; give a words-by-features array.")
    values[np.isnan(values).any(axis=1)] = np.nan
    check_any_known(values, name)
    return values


def check_any_known(values: np.ndarray, source: str) -> None:
    if np.isnan(values).all():
        raise InputError(f"None of the {len(values)} words is known to {source}; check how its words are spelled.")


def spellings(word: str) -> Iterator[str]:
    """Yield the word as given, then in other cases and with underscores."""
    plain = unicodedata.normalize("NFC", word).strip()
    for case in (plain, plain.lower(), plain.capitalize(), plain.title(), plain.casefold()):
        yield case
        if " " in case:
            yield case.replace(" ", "_")


def find_word(known: Mapping[str, Found], word: str) -> Found | None:
    """Return the entry of the first spelling that is known."""
    return next((known[spelling] for spelling in spellings(word) if spelling in known), None)


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
    words = check_unique_words(vocabulary)
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


@threadpool_limits.wrap(limits=1)  # bits must not depend on how many threads there are
def project(rows: Any, known: Sequence[int] | np.ndarray, n_words: int, n_components: int, name: str) -> WordFeatures:
    """Return principal components of the known words' rows, NaN for the other words.

    Components that are only rounding error are left out. A large sparse matrix is centred implicitly and never dense.
    """
    n_rows, n_columns = rows.shape
    smaller = min(n_rows, n_columns)
    if sparse.issparse(rows) and (n_rows <= _DENSE_ROWS or n_components >= smaller // 2):
        rows = rows.toarray()
    solver, n_kept = ("arpack", n_components) if sparse.issparse(rows) else ("full", min(n_components, smaller))
    with np.errstate(invalid="ignore"):  # shares of a variance of 0
        pca = PCA(n_kept, svd_solver=solver, random_state=_START_SEED)
        scores = pca.fit_transform(rows)
    largest = pca.singular_values_.max(initial=0.0)
    real = pca.singular_values_ > max(n_rows, n_columns) * np.finfo(float).eps * max(largest, 1e-300)
    values = np.full((n_words, int(real.sum())), np.nan)
    values[known] = scores[:, real]
    explained = pca.explained_variance_ratio_[real]
    return WordFeatures(values, explained, [f"{name}_{k + 1}" for k in range(len(explained))])
