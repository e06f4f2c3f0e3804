"""Rows of tabular files (CSV, TSV, JSONL, Parquet), one at a time, with the place of each for messages."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from superwords.errors import InputError

_UNDECODED = re.compile("[\udc80-\udcff]")
_HUGE_FIELD = sys.maxsize


class Row(NamedTuple):
    place: str
    values: dict[str, Any]


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


def checked_lines(lines: Iterable[str], name: str, encoding: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        undecoded = _UNDECODED.search(line)
        if undecoded:
            byte = ord(undecoded.group()) - 0xDC00
            raise InputError(
                f"{name}, line {number}, is not valid {encoding}: "
                f"byte 0x{byte:02x} at column {undecoded.start() + 1}; "
                'save it as UTF-8 (in Python, an encoding such as "latin-1" may be named).'
            )
        yield line


def json_rows(lines: Iterable[str], name: str) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        try:
            values = json.loads(line.rstrip())
        except json.JSONDecodeError as error:
            raise InputError(
                f"{place}, is not valid JSON ({error.msg}, column {error.colno}); "
                "give one JSON object per line."
            ) from None
        if not isinstance(values, dict):
            raise InputError(
                f'{place}, is JSON but not an object; give one object such as {{"text": …}} per line.'
            )
        yield Row(place, values)


def line_rows(lines: Iterable[str], name: str) -> Iterator[Row]:
    """One document per line; empty lines are no documents."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield Row(f"{name}, line {number}", {"text": line.strip()})


def csv_rows(lines: Iterable[str], name: str, delimiter: str | None) -> Iterator[Row]:
    """Rows of a delimited file with a header; an unnamed delimiter is the header's most frequent one."""
    source = iter(lines)
    header_line = next(source, "")
    if not header_line.strip():
        return
    if delimiter is None:
        delimiter = max(",;\t", key=header_line.count)
    usual_limit = csv.field_size_limit(_HUGE_FIELD)
    try:
        reader = csv.reader(_with_first(header_line, source), delimiter=delimiter, strict=True)
        header = [column.strip() for column in next(reader)]
        for column in header:
            if header.count(column) > 1:
                raise InputError(
                    f"{name}, line 1, has two columns named {column!r}; give each column its own name."
                )
        start = reader.line_num + 1
        for fields in reader:
            place = f"{name}, line {start}"
            start = reader.line_num + 1
            if not fields:
                continue
            if len(fields) != len(header):
                raise InputError(
                    f"{place}, has {len(fields)} fields but the header has {len(header)}; "
                    "put a field that holds the delimiter or a line break in double quotes."
                )
            yield Row(place, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise InputError(
            f"{name}, line {reader.line_num}, is malformed ({error}); check the double quotes near it."
        ) from None
    finally:
        csv.field_size_limit(usual_limit)


def parquet_rows(path: Path) -> Iterator[Row]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(
            f"{path} is a Parquet file, and reading it needs pyarrow; install the extra superwords[parquet]."
        ) from None
    arrow_errors = importlib.import_module("pyarrow").ArrowException
    try:
        number = 0
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1000):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(f"{path}, row {number}", values)
    except (arrow_errors, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{path} cannot be read as Parquet: {reason}.") from None


def _with_first(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest
