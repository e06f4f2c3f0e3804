"""Features from word vectors: a matrix, a text file, a spaCy pipeline, or a function that embeds words."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.features.block import check_any_known, check_matrix, check_vocabulary, find_word, spellings


def vectors(source: Any, vocabulary: Sequence[str]) -> np.ndarray:
    """Return a vector for each word, (V, F), NaN where a word has none.

    Except from a function or an aligned array, a phrase with no vector of its own gets the mean of those of
    its words that are known.

    Parameters
    ----------
    source : tuple, mapping, DataFrame, array, path, str or function
        `(matrix, words)`; a dict word → vector; a DataFrame with the words as index; a (V, F) array whose rows are
        the vocabulary's; the path of a word2vec or GloVe text file, with or without a header line, also .gz; the name
        of an installed spaCy pipeline that has vectors; or a function from a list of words and phrases to a matrix.
    vocabulary : sequence of str
        The words and phrases of the corpus.

    Returns
    -------
    numpy.ndarray
        (V, F).

    Examples
    --------
    >>> from superwords import features
    >>> features.vectors({"ice": [0.0, 1.0], "cream": [0.0, 3.0]}, ["ice cream", "boat"])
    array([[ 0.,  2.],
           [nan, nan]])
    """
    words = check_vocabulary(vocabulary)
    if callable(source):
        return check_matrix(source(list(words)), "The function's result", len(words))
    if isinstance(source, np.ndarray):
        return check_matrix(source, "The matrix", len(words))
    known, name = lookup(source, words)
    unknown = np.full(len(next(iter(known.values()))) if known else 1, np.nan)
    values = np.array([word_vector(known, word, unknown) for word in words])
    check_any_known(values, name)
    return values


def word_vector(known: Mapping[str, np.ndarray], word: str, unknown: np.ndarray) -> np.ndarray:
    own = find_word(known, word)
    if own is not None:
        return own
    parts = [part for part in (find_word(known, piece) for piece in pieces(word)) if part is not None]
    return np.mean(parts, axis=0) if parts else unknown


def pieces(word: str) -> list[str]:
    return word.replace("_", " ").split()


def lookup(source: Any, words: list[str]) -> tuple[dict[str, np.ndarray], str]:
    """Return vectors by word, at least those that the vocabulary needs, and a name of the source."""
    if isinstance(source, pd.DataFrame):
        return by_word(source.to_numpy(), list(source.index)), "the table of vectors"
    if isinstance(source, Mapping):
        return by_word(list(source.values()), list(source)), "the table of vectors"
    if isinstance(source, tuple) and len(source) == 2:
        return by_word(*source), "the matrix of vectors"
    if isinstance(source, (str, Path)):
        if Path(source).is_file():
            return read_vectors(Path(source), words), str(source)
        return spacy_vectors(str(source), words), f"the spaCy pipeline {source}"
    raise InputError(
        f"The vectors are of type {type(source).__name__}; give (matrix, words), a file, "
        "the name of a spaCy pipeline or a function."
    )


def by_word(matrix: Any, words: Sequence[Any]) -> dict[str, np.ndarray]:
    rows = check_matrix(matrix, "The matrix of vectors", len(words))
    return {str(word): row for word, row in zip(words, rows, strict=True) if not np.isnan(row).any()}


def spacy_vectors(name: str, words: list[str]) -> dict[str, np.ndarray]:
    try:
        import spacy
    except ImportError:
        raise InputError(
            f"{name}: there is no such file, and spaCy is not installed to load it by name."
        ) from None
    try:
        vocab = spacy.load(name).vocab
    except OSError:
        raise InputError(f"{name}: there is no such file and no spaCy pipeline of that name.") from None
    if vocab.vectors_length == 0:
        raise InputError(f"The spaCy pipeline {name} has no word vectors; use one of its _md or _lg sisters.")
    return {
        key: np.asarray(vocab.get_vector(key), dtype=float)
        for key in needed_keys(words)
        if vocab.has_vector(key)
    }


def needed_keys(words: list[str]) -> set[str]:
    return {key for word in words for part in (word, *pieces(word)) for key in spellings(part)}


def read_vectors(path: Path, words: list[str]) -> dict[str, np.ndarray]:
    """Read the vectors that are needed, line by line: the file may be larger than memory."""
    opener: Callable[..., TextIO] = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
            return parse_vectors(lines, needed_keys(words), path)
    except (OSError, EOFError, zlib.error):
        raise InputError(
            f"{path}: this file of vectors cannot be read; it may be cut short or damaged."
        ) from None


def parse_vectors(lines: TextIO, needed: set[str], path: Path) -> dict[str, np.ndarray]:
    known: dict[str, np.ndarray] = {}
    width = 0
    for number, line in enumerate(lines, start=1):
        first = line.split(maxsplit=1)[:1]
        if width and first and first[0] not in needed:
            continue
        fields = line.split()
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            width = int(fields[1])  # word2vec's header "words length"
            continue
        if not fields:
            continue
        width = width or len(fields) - 1
        # Some words hold spaces themselves, so the numbers are counted from the right.
        word = " ".join(fields[:-width]) if width else ""
        if len(fields) <= width or not width:
            raise InputError(
                f"{path}, line {number}: a word and {width or 'some'} numbers are expected here."
            )
        if word in needed and word not in known:
            known[word] = parse_numbers(fields[-width:], path, number)
    return known


def parse_numbers(fields: list[str], path: Path, number: int) -> np.ndarray:
    try:
        vector = np.array(fields, dtype=float)
    except ValueError:
        vector = np.array([np.nan])
    if not np.isfinite(vector).all():
        raise InputError(f"{path}, line {number}: the word is not followed by finite numbers only.")
    return vector
