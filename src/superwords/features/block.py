"""What the feature functions share: a word under its spellings, principal components, reading tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from superwords.errors import InputError

Found = TypeVar("Found")


@dataclass(frozen=True)
class WordFeatures:
    """Features of V words: `values` (V, F) with NaN rows for unknown words, the share of the variance that
    each column explains, and a name per column."""

    values: np.ndarray
    explained: np.ndarray
    names: list[str]

    @property
    def total_explained(self) -> float:
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
def principal_components(rows: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores on the first principal components, and the share of the variance that each explains."""
    centred = rows - rows.mean(axis=0)
    left, singular, right = np.linalg.svd(centred, full_matrices=False)
    total = float(np.sum(singular**2))
    return fixed_scores(left, singular, right, n_components, total)


def fixed_scores(
    left: np.ndarray, singular: np.ndarray, right: np.ndarray, n_components: int, total: float
) -> tuple[np.ndarray, np.ndarray]:
    """Scores u·s with each component's largest loading positive, so that the same data give the same signs.

    Components that rounding alone made are left out: there are at most as many columns as the data have rank.
    """
    real = singular > max(len(left), right.shape[1]) * np.finfo(float).eps * max(
        singular.max(initial=0.0), 1e-300
    )
    keep = np.flatnonzero(real)[:n_components]
    loadings = right[keep]
    peak = loadings[np.arange(len(keep)), np.argmax(np.abs(loadings), axis=1)]
    scores = left[:, keep] * singular[keep] * np.sign(peak)
    return scores, singular[keep] ** 2 / total if total > 0 else np.zeros(len(keep))
