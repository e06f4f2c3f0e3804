"""Rows of files (CSV, TSV, JSONL, Parquet), one at a time, with the place of each for messages, and streams of texts
that are read from their source each time they are asked for, in pieces that a worker reads by itself.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any, NamedTuple, TextIO

from superwords.errors import InputError
from superwords.text.files import MOST_UNPACKED, check_unpacked, document_text

_UNDECODED = re.compile("[\udc80-\udcff]")
PIECE_BYTES = 400_000  # of files that one task reads
LONGEST_LINE = 50_000_000  # characters of a line, or of a field of a CSV file


class Row(NamedTuple):
    """Hold a row and its line number; an empty line has no values."""

    place: str
    values: dict[str, Any] | None


def file_lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a text file, also gzipped, or one sentence that names the line that cannot be read."""
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    is_packed = path.suffix == ".gz"
    opener: Any = gzip.open if is_packed else open
    size = 0
    try:
        with opener(path, "rt", encoding=codec, errors="surrogateescape", newline="") as file:
            for line in checked_lines(file, str(path), encoding):
                size += len(line)
                if is_packed and size > MOST_UNPACKED:
                    check_unpacked(path, size)
                yield line
    except LookupError:
        raise InputError(
            f'The encoding {encoding!r} is not known; give one such as "utf-8" or "latin-1".'
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(
            f"{path} is not a complete gzip file; compress it again or give the plain file."
        ) from None
    except UnicodeError:
        raise InputError(f"{path} is not written in {encoding}; name its encoding.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None


def checked_lines(file: TextIO, name: str, encoding: str) -> Iterator[str]:
    """Lines of bounded length, so that a file without line breaks is refused before it fills the memory."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), start=1):
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise InputError(
                f"{name}, line {number}, is longer than {LONGEST_LINE:,} characters; "
                "give one document per line, or cut it into smaller documents."
            )
        undecoded = _UNDECODED.search(line)
        if undecoded:
            byte = ord(undecoded.group()) - 0xDC00
            raise InputError(
                f"{name}, line {number}, is not valid {encoding}: "
                f"byte 0x{byte:02x} at column {undecoded.start() + 1}; "
                "save it as UTF-8, or name its encoding (--encoding latin-1)."
            )
        yield line


def whole_text(path: Path, encoding: str) -> str:
    """Return the text of a file that is one document."""
    return document_text(path, lambda: _plain_text(path, encoding))


def _plain_text(path: Path, encoding: str) -> str:
    lines: list[str] = []
    length = 0
    for line in file_lines(path, encoding):
        length += len(line)
        if length > LONGEST_LINE:
            raise InputError(
                f"{path} is longer than {LONGEST_LINE:,} characters; cut it into smaller documents."
            )
        lines.append(line)
    return "".join(lines)


def json_rows(lines: Iterable[str], name: str) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        place = f"{name}, line {number}"
        if not line.strip():
            yield Row(place, None)
            continue
        try:
            values = json.loads(line.rstrip())
        except json.JSONDecodeError as error:
            raise InputError(
                f"{place}, is not valid JSON ({error.msg}, column {error.colno}); "
                "give one JSON object per line."
            ) from None
        except RecursionError:
            raise InputError(
                f"{place}, is JSON nested too deeply to be read; give one flat JSON object per line."
            ) from None
        except ValueError:
            raise InputError(
                f"{place}, holds a number of more digits than can be read; give it as text, in quotes."
            ) from None
        if not isinstance(values, dict):
            raise InputError(
                f'{place}, is JSON but not an object; give one object such as {{"text": …}} per line.'
            )
        yield Row(place, values)


def json_items(path: Path, text: str) -> Iterator[Row]:
    """Yield the documents of a JSON file: a list of objects or of texts, or an object that holds such a list."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not valid JSON ({type(error).__name__}); give a list of objects."
        ) from None
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else [found]
    if not isinstance(found, list):
        raise InputError(f"{path} holds no list of documents; give a list of objects or of texts.")
    for n, value in enumerate(found):
        place = f"{path}, item {n + 1}"
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            raise InputError(f"{place}, is {type(value).__name__}; give objects or texts.")
        yield Row(place, value)


def line_rows(lines: Iterable[str], name: str) -> Iterator[Row]:
    """One document per line; empty lines are no documents."""
    for number, line in enumerate(lines, start=1):
        yield Row(f"{name}, line {number}", {"text": line.strip()} if line.strip() else None)


def csv_rows(lines: Iterable[str], name: str, delimiter: str | None) -> Iterator[Row]:
    """Rows of a delimited file with a header; an unnamed delimiter is the header's most frequent one."""
    source = iter(lines)
    header_line = next(source, "")
    if not header_line.strip():
        return
    if delimiter is None:
        delimiter = max(",;\t", key=header_line.count)
    usual_limit = csv.field_size_limit(LONGEST_LINE)
    try:
        start = 1
        reader = csv.reader(_with_first(header_line, source), delimiter=delimiter, strict=True)
        header = [column.strip() for column in next(reader)]
        column, times = Counter(header).most_common(1)[0]
        if times > 1:
            raise InputError(
                f"{name}, line 1, has two columns named {column!r}; give each column its own name."
            )
        start = reader.line_num + 1
        for fields in reader:
            place = f"{name}, line {start}"
            start = reader.line_num + 1
            if not fields:
                yield Row(place, None)
                continue
            if len(fields) != len(header):
                raise InputError(
                    f"{place}, has {len(fields)} fields but the header has {len(header)}; "
                    "put a field that holds the delimiter or a line break in double quotes."
                )
            yield Row(place, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        if "field limit" in str(error):
            raise InputError(
                f"{name}, line {start}, has a field longer than {LONGEST_LINE:,} characters; "
                "check the double quotes near it, or cut the document into smaller ones."
            ) from None
        raise InputError(
            f"{name}, line {reader.line_num}, is malformed ({error}); check the double quotes near it."
        ) from None
    finally:
        csv.field_size_limit(usual_limit)


def parquet_rows(path: Path, group: int | None = None, columns: list[str] | None = None) -> Iterator[Row]:
    """Rows of a Parquet file, or of one of its row groups; of all columns, or of some."""
    number = 0
    with _opened_parquet(path) as file:
        groups = None if group is None else [group]
        for batch in file.iter_batches(batch_size=1000, row_groups=groups, columns=columns):
            for values in batch.to_pylist():
                number += 1
                yield Row(f"{path}, row {number}", values)


def parquet_groups(path: Path) -> list[int]:
    """Return how many rows each row group of a Parquet file has."""
    with _opened_parquet(path) as file:
        return [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]


@contextmanager
def _opened_parquet(path: Path) -> Iterator[Any]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(
            f"{path} is a Parquet file, and reading it needs pyarrow; install the extra superwords[parquet]."
        ) from None
    arrow_errors = importlib.import_module("pyarrow").ArrowException
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} has text that is not UTF-8 ({error.reason}, byte 0x{error.object[error.start]:02x}); "
            "write the file again with valid text."
        ) from None
    except (arrow_errors, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{path} cannot be read as Parquet: {reason}.") from None


def _with_first(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest


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
    """Yield files in order, in batches large enough for a task."""
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
    """Return the text of a row, or its tokens."""
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
