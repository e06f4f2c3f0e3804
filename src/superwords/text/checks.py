"""Validate the parts of a corpus; raise InputError for the first problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.errors import InputError
from superwords.text.recipe import given_languages, language_code


def check_counts(counts: Any) -> sparse.csr_array:
    """Return the counts as a sorted int32 CSR array, or raise InputError for an invalid entry."""
    if not sparse.issparse(counts):
        try:
            counts = np.asarray(counts, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                "The counts are not numbers; give a documents-by-words array of whole, non-negative counts, "
                "or texts as a corpus made by Corpus.from_texts."
            ) from None
        if counts.ndim != 2:
            raise InputError(
                f"The counts have {counts.ndim} dimension(s); give a two-dimensional array, "
                "one row per document and one column per word."
            )
    matrix = sparse.csr_array(counts)
    for size, what, line in zip(matrix.shape, ("documents", "words"), ("row", "column"), strict=True):
        if size == 0:
            raise InputError(f"The counts hold zero {what}; give at least one {line}.")
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"The counts are of type {matrix.dtype}; give whole, non-negative numbers.")
    matrix.sum_duplicates()
    data = matrix.data.astype(float)
    for bad, what in (
        (~np.isfinite(data), "not a finite number"),
        (data < 0, "negative"),
        (data != np.floor(data), "not a whole number"),
        (data > 2**31 - 1, "larger than 2,147,483,647"),
    ):
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
            raise InputError(
                f"The count in row {row}, column {int(matrix.indices[at])} is {matrix.data[at]}, which is {what}; "
                "counts must be whole, non-negative numbers."
            )
    whole = sparse.csr_array((data.astype(np.int32), matrix.indices, matrix.indptr), shape=matrix.shape)
    whole.eliminate_zeros()
    whole.sort_indices()
    return whole


def check_languages(language: str | Sequence[str], n_documents: int) -> str | list[str]:
    if isinstance(language, str):
        return language_code(language)
    given = given_languages(language)
    codes = {name: language_code(name) for name in set(given)}
    if len(given) != n_documents:
        raise InputError(
            f"There are {len(given)} languages for {n_documents} documents; "
            "give one language, or one per document."
        )
    return [codes[name] for name in given]


def check_texts(texts: Iterable[Any]) -> Iterable[str]:
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            are_tokens = isinstance(text, list | tuple)
            hint = "use Corpus.from_tokens for lists of tokens" if are_tokens else "give strings"
            raise InputError(f"Document {n} is of type {type(text).__name__}, not text; {hint}.")
        yield text


def check_sentences(document: Any, n: int) -> list[list[str]]:
    is_list = isinstance(document, Iterable) and not isinstance(document, str)
    parts: list[Any] = list(document) if is_list else [None]
    if all(isinstance(part, str) for part in parts):
        return [parts] if parts else []
    if all(isinstance(part, list | tuple) and all(isinstance(t, str) for t in part) for part in parts):
        return [list(part) for part in parts]
    raise InputError(
        f"Document {n} is neither a list of tokens nor a list of sentences that are lists of tokens."
    )


def check_names(ids: Sequence[Any] | None, n_documents: int) -> list[str]:
    if isinstance(ids, str) or not isinstance(ids, Iterable | None):
        raise InputError("is not a list", "ids", ids, "give one id per document")
    names = [str(name) for name in (range(n_documents) if ids is None else ids)]
    if len(names) != n_documents:
        raise InputError(f"There are {len(names)} ids for {n_documents} documents; give one id per document.")
    if twice := _repeated(names):
        name, first, second = twice
        raise InputError(
            f"The id {name!r} is given twice, to documents {first} and {second}; give each its own."
        )
    return names


def check_unique_words(words: Sequence[str]) -> list[str]:
    """Return the words as strings."""
    if isinstance(words, str) or not len(words):
        kind = "one string" if words else "empty"
        raise InputError(f"The vocabulary is {kind}; give a list of words.")
    if twice := _repeated(words):
        word, first, second = twice
        raise InputError(
            f"The vocabulary has the word {word!r} twice, at positions {first} and {second}; "
            "give each word one column."
        )
    return [str(word) for word in words]


def _repeated(names: Sequence[str]) -> tuple[str, int, int] | None:
    """Return the first name that was there before, and both its places."""
    seen: dict[str, int] = {}
    return next(
        ((name, seen[name], n) for n, name in enumerate(names) if seen.setdefault(name, n) != n), None
    )


def check_metadata(metadata: Any, n_documents: int) -> pd.DataFrame:
    if metadata is None:
        return pd.DataFrame(index=range(n_documents))
    try:
        table = pd.DataFrame(metadata).reset_index(drop=True)
    except (TypeError, ValueError) as error:
        reason = str(error).strip("!.")
        raise InputError(
            f"The metadata are not a table ({reason}); give a DataFrame, or columns of one length."
        ) from None
    if len(table) != n_documents:
        raise InputError(
            f"The metadata have {len(table)} rows for {n_documents} documents; give one row per document."
        )
    return table
