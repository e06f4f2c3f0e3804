"""Texts that are read from their source each time they are asked for, and parts of it that a worker reads by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any

from superwords.corpus.formats import Row, parquet_groups, parquet_rows, whole_text
from superwords.errors import InputError

PIECE_BYTES = 400_000  # of files that one task reads


@dataclass(frozen=True)
class FilePiece:
    """Some files of one document each."""

    paths: tuple[Path, ...]
    encoding: str

    @property
    def n_documents(self) -> int:
        return len(self.paths)

    def texts(self) -> Iterator[str]:
        for path in self.paths:
            _check_shared(path)
            yield whole_text(path, self.encoding)


@dataclass(frozen=True)
class RowGroup:
    """One row group of a Parquet file."""

    path: Path
    number: int
    n_documents: int
    column: str

    def texts(self) -> Iterator[str]:
        _check_shared(self.path)
        for row in parquet_rows(self.path, self.number, [self.column]):
            yield text_of(row, self.column)


def _check_shared(path: Path) -> None:
    if not path.exists():
        raise InputError(
            f"{path} is not there on {gethostname()}; put it in a folder that all machines of the cluster share."
        )


@dataclass(frozen=True)
class TextStream:
    """Texts read from their source each time they are asked for, so that they need not be in memory.

    `pieces` are parts of the source, one after the other, that a worker can read by itself; none where lines have to
    be read one by one.
    """

    read: Callable[[], Iterator[Any]]
    length: int
    pieces: Sequence[FilePiece | RowGroup] = ()

    def __iter__(self) -> Iterator[Any]:
        return self.read()

    def __len__(self) -> int:
        return self.length


def file_pieces(paths: Sequence[Path], encoding: str) -> list[FilePiece]:
    """Files in their order, so many together that it is worth a task."""
    pieces: list[FilePiece] = []
    some: list[Path] = []
    size = 0
    for path in paths:
        some.append(path.resolve())
        size += path.stat().st_size
        if size >= PIECE_BYTES or path is paths[-1]:
            pieces.append(FilePiece(tuple(some), encoding))
            some, size = [], 0
    return pieces


def row_groups(path: Path, column: str) -> list[RowGroup]:
    groups = enumerate(parquet_groups(path))
    return [RowGroup(path.resolve(), g, n_rows, column) for g, n_rows in groups]


def text_of(row: Row, column: str) -> Any:
    """The text of a row, or its tokens."""
    if row.values is None or column not in row.values:
        raise InputError(f"{row.place}, has no {column!r}; give every document its text.")
    value = row.values[column]
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple) and all(isinstance(token, str) for token in value):
        return list(value)
    raise InputError(
        f"{row.place}, holds {type(value).__name__} {str(value)[:40]!r} in {column!r}; "
        "give text, or a list of tokens."
    )
