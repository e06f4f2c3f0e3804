"""Rows of tabular files (CSV, TSV, JSONL, Parquet), one at a time, with the place of each for messages."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from superwords.errors import InputError

_UNDECODED = re.compile("[\udc80-\udcff]")
LONGEST_LINE = 50_000_000  # characters of a line, or of a field of a CSV file


class Row(NamedTuple):
    """A row and where it stands; a line that holds nothing has no values."""

    place: str
    values: dict[str, Any] | None


def file_lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a text file, also gzipped, or one sentence that names the line that cannot be read."""
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding=codec, errors="surrogateescape", newline="") as file:
            yield from checked_lines(file, str(path), encoding)
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
                'save it as UTF-8 (in Python, an encoding such as "latin-1" may be named).'
            )
        yield line


def whole_text(path: Path, encoding: str) -> str:
    """The text of a file that is one document."""
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
    """How many rows each row group of a Parquet file has."""
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
    except (arrow_errors, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{path} cannot be read as Parquet: {reason}.") from None


def _with_first(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest
