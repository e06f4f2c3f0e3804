"""A corpus: sparse word counts per document, the vocabulary, and what is known of each document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.errors import InputError


@dataclass(frozen=True)
class Corpus:
    """Counts of V words in D rows. A row is a document, or a passage of one (then `parent` names its document).

    `metadata` has one row per row of `counts`, whatever was pruned. `sentences` is the sentence-by-word
    presence matrix that sentence co-occurrence is computed from, and `sentence_row` the row of `counts` each
    sentence belongs to; both are None for a corpus made of ready counts.
    """

    counts: sparse.csr_array
    vocabulary: list[str]
    metadata: pd.DataFrame
    ids: list[str]
    parent: np.ndarray | None = None
    sentences: sparse.csr_array | None = None
    sentence_row: np.ndarray | None = None
    texts: list[str] | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def n_documents(self) -> int:
        return int(self.counts.shape[0])

    @property
    def n_words(self) -> int:
        return int(self.counts.shape[1])

    @property
    def n_tokens(self) -> int:
        return int(self.counts.sum())

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        vocabulary: Sequence[str] | None = None,
        metadata: Any = None,
        ids: Sequence[Any] | None = None,
    ) -> Corpus:
        """A corpus from ready counts: a (D, V) array or scipy sparse matrix of whole, non-negative numbers."""
        matrix = check_counts(counts)
        n_documents, n_words = matrix.shape
        words = [f"word{i}" for i in range(n_words)] if vocabulary is None else [str(w) for w in vocabulary]
        if len(words) != n_words:
            raise InputError(
                f"The vocabulary has {len(words)} words but the counts have {n_words} columns; "
                "give one word per column."
            )
        check_unique_words(words)
        names = [str(d) for d in range(n_documents)] if ids is None else [str(d) for d in ids]
        if len(names) != n_documents:
            raise InputError(
                f"There are {len(names)} ids for {n_documents} documents; give one id per row of the counts."
            )
        return cls(matrix, words, check_metadata(metadata, n_documents), names)


def check_unique_words(words: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for i, word in enumerate(words):
        if word in seen:
            raise InputError(
                f"The vocabulary has the word {word!r} twice, at positions {seen[word]} and {i}; "
                "give each word one column."
            )
        seen[word] = i


def check_metadata(metadata: Any, n_documents: int) -> pd.DataFrame:
    if metadata is None:
        return pd.DataFrame(index=range(n_documents))
    table = pd.DataFrame(metadata).reset_index(drop=True)
    if len(table) != n_documents:
        raise InputError(
            f"The metadata have {len(table)} rows for {n_documents} documents; give one row per document."
        )
    return table


def check_counts(counts: Any) -> sparse.csr_array:
    """The counts as a sorted int32 CSR array, or one sentence about the first entry that is no count."""
    if sparse.issparse(counts):
        matrix = sparse.csr_array(counts)
    else:
        try:
            dense = np.asarray(counts, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                "The counts are not numbers; give a documents-by-words array of whole, non-negative counts."
            ) from None
        if dense.ndim != 2:
            raise InputError(
                f"The counts have {dense.ndim} dimension(s); give a two-dimensional array, "
                "one row per document and one column per word."
            )
        matrix = sparse.csr_array(dense)
    if matrix.shape[0] == 0:
        raise InputError("The counts hold zero documents; give at least one row.")
    if matrix.shape[1] == 0:
        raise InputError("The counts hold zero words; give at least one column.")
    if not np.issubdtype(matrix.dtype, np.number) and matrix.dtype != bool:
        raise InputError(f"The counts are of type {matrix.dtype}; give whole, non-negative numbers.")
    matrix.sum_duplicates()
    data = matrix.data
    if np.issubdtype(data.dtype, np.complexfloating):
        raise InputError("The counts are complex numbers; give whole, non-negative numbers.")
    for bad, what in (
        (~np.isfinite(data.astype(float)), "not a finite number"),
        (data < 0 if data.dtype != bool else np.zeros(len(data), bool), "negative"),
        (data != np.floor(data.astype(float)), "not a whole number"),
        (data.astype(float) > 2**31 - 1, "larger than 2,147,483,647"),
    ):
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
            raise InputError(
                f"The count in row {row}, column {int(matrix.indices[at])} is {data[at]}, which is {what}; "
                "counts must be whole, non-negative numbers."
            )
    whole = sparse.csr_array((data.astype(np.int32), matrix.indices, matrix.indptr), shape=matrix.shape)
    whole.eliminate_zeros()
    whole.sort_indices()
    return whole
