"""What the feature functions share: a word under its spellings, principal components, reading tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from superwords.errors import InputError

Found = TypeVar("Found")

_DENSE_ROWS = 1000
"""Up to so many words the exact dense decomposition is the faster one, and takes 8 MB."""

_START_SEED = 20120614


@dataclass(frozen=True)
class WordFeatures:
    """Features of V words, and how much they explain.

    Attributes
    ----------
    values : array
        (V, F) with NaN rows for unknown words.
    explained : array
        (F) the share of the variance that each column explains.
    names : list of str
        A name for each column.
    """

    values: np.ndarray
    explained: np.ndarray
    names: list[str]

    @property
    def total_explained(self) -> float:
        """The share of the variance that all columns explain together."""
        return float(self.explained.sum())


def check_n_components(n_components: Any) -> int:
    whole = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not whole or n_components < 1:
        raise InputError(f"n_components is {n_components!r}; give a whole number of at least 1.")
    return int(n_components)


def check_vocabulary(vocabulary: Sequence[str]) -> list[str]:
    if isinstance(vocabulary, str):
        raise InputError("The vocabulary is one string; give a list of words.")
    words = list(vocabulary)
    if not words:
        raise InputError("The vocabulary is empty; give at least one word.")
    for i, word in enumerate(words):
        if not isinstance(word, str):
            raise InputError(f"Word {i} of the vocabulary is {word!r}; give every word as a string.")
    return words


def spellings(word: str) -> Iterator[str]:
    """The word as given, then the spellings it may be filed under; the first one that is known counts."""
    plain = unicodedata.normalize("NFC", word).strip()
    for case in (plain, plain.lower(), plain.capitalize(), plain.title(), plain.casefold()):
        yield case
        if " " in case:
            yield case.replace(" ", "_")


def find_word(known: Mapping[str, Found], word: str) -> Found | None:
    """What is filed under the word or, failing that, under another case of it."""
    return next((known[spelling] for spelling in spellings(word) if spelling in known), None)


def read_table(source: Any, what: str) -> pd.DataFrame:
    """A DataFrame as it is, a mapping of columns, or a CSV or TSV file (also .gz)."""
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, Mapping):
        try:
            return pd.DataFrame(dict(source))
        except ValueError as error:
            raise InputError(f"The columns of {what} do not fit together: {error}.") from None
    if not isinstance(source, (str, Path)):
        raise InputError(f"{what} is a {type(source).__name__}; give a DataFrame or the path of a CSV file.")
    path = Path(source)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; give a CSV or TSV file with a word column.")
    separator = "\t" if any(suffix.lower() in (".tsv", ".tab") for suffix in path.suffixes) else ","
    try:
        # "null" and "nan" are words in some languages, so only an empty cell is missing.
        return pd.read_csv(path, sep=separator, keep_default_na=False, na_values=[""])
    except (ValueError, OSError, EOFError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path}: this is not a readable table ({reason}).") from None


def column(table: pd.DataFrame, name: str, what: str) -> pd.Series:
    if name not in table.columns:
        raise InputError(
            f"{what} has no column {name!r}; its columns are {', '.join(map(str, table.columns))}."
        )
    return table[name]


def align(known: Mapping[str, np.ndarray], words: Iterable[str], width: int, source: str) -> np.ndarray:
    """The known rows in the order of the words, NaN where a word is unknown."""
    rows = []
    for word in words:
        found = find_word(known, word)
        rows.append(np.full(width, np.nan) if found is None else found)
    values = np.array(rows, dtype=float)
    check_any_known(values, source)
    return values


def check_any_known(values: np.ndarray, source: str) -> None:
    if np.isnan(values).all():
        raise InputError(
            f"None of the {len(values)} words is known to {source}; check how its words are spelled."
        )


@threadpool_limits.wrap(limits=1)  # bits must not depend on how many threads there are
def principal_components(rows: Any, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores on the first principal components, and the share of the variance that each explains.

    Signs are scikit-learn's: each component's largest loading is positive. Components that rounding alone made are
    left out, so there are at most as many columns as the data have rank. A large sparse matrix is centred without
    ever being written out.
    """
    n_rows, n_columns = rows.shape
    smaller = min(n_rows, n_columns)
    if sparse.issparse(rows) and (n_rows <= _DENSE_ROWS or n_components >= smaller // 2):
        rows = rows.toarray()
    solver, wanted = (
        ("arpack", n_components) if sparse.issparse(rows) else ("full", min(n_components, smaller))
    )
    with np.errstate(invalid="ignore"):  # shares of a variance of 0
        pca = PCA(wanted, svd_solver=solver, random_state=_START_SEED)
        scores = pca.fit_transform(rows)
    largest = pca.singular_values_.max(initial=0.0)
    real = pca.singular_values_ > max(n_rows, n_columns) * np.finfo(float).eps * max(largest, 1e-300)
    return scores[:, real], pca.explained_variance_ratio_[real]
