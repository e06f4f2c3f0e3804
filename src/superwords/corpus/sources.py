"""Documents from wherever they are, not yet counted: lists, tables, files, folders, standard input, ready counts."""

from __future__ import annotations

import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import TextIOWrapper
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import sparse

from superwords.corpus.formats import (
    Row,
    checked_lines,
    csv_rows,
    file_lines,
    json_rows,
    line_rows,
    parquet_rows,
    whole_text,
)
from superwords.corpus.text_stream import FilePiece, RowGroup, TextStream, file_pieces, row_groups, text_of
from superwords.errors import InputError

_NUMBER = re.compile(r"[-+]?(?!0\d)(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_WHOLE = re.compile(r"[-+]?\d{1,18}")
SHOWN_COLUMNS = 20
FILE_KINDS = ".csv, .tsv, .jsonl (each also .gz), .txt, .parquet, .npz, or a folder of .txt files"


@dataclass(frozen=True)
class Documents:
    """Documents as read: texts (a list, or a stream that can be read again), ids and everything else known of
    them.

    Ready counts have `counts` and `vocabulary` in place of texts. `notes` says what was left out.
    """

    texts: Any
    ids: list[str]
    metadata: pd.DataFrame
    are_tokens: bool = False
    counts: Any = None
    vocabulary: list[str] | None = None
    notes: tuple[str, ...] = ()


def open_documents(
    source: Any,
    text: str | None = None,
    id: str | None = None,
    encoding: str = "utf-8",
    vocabulary: Sequence[str] | str | Path | None = None,
) -> Documents:
    """Reads documents from a list of strings or of lists of tokens, a DataFrame, a file, a folder, "-"
    (standard input) or counts with their vocabulary (a list, or a file of one word per line).

    text and id name columns; left out, they are "text" (or the only column there is) and "id" (or running
    numbers).
    """
    if isinstance(source, str | Path):
        if str(source) == "-":
            return _read_standard_input(text, id, encoding)
        return _read_path(Path(source), text, id, encoding, vocabulary)
    if isinstance(source, pd.DataFrame):
        return _read_frame(source, text, id)
    if sparse.issparse(source):
        return _read_counts(source, vocabulary, encoding, "the counts")
    if not isinstance(source, Iterable):
        raise InputError(
            f"Documents cannot be read from {type(source).__name__}; give a list of texts, {FILE_KINDS}."
        )
    rows = [Row(f"document {n}", {"text": value}) for n, value in enumerate(source)]
    return _from_rows(lambda: iter(rows), "the list", "text", None, in_memory=True)


def _read_path(
    path: Path, text: str | None, id: str | None, encoding: str, vocabulary: Sequence[str] | str | Path | None
) -> Documents:
    if not path.exists():
        raise InputError(f"{path} does not exist; give {FILE_KINDS}.")
    if path.is_dir():
        return _read_folder(path, encoding)
    kind = Path(path.stem).suffix.lower() if path.suffix == ".gz" else path.suffix.lower()
    name = str(path)
    if kind in (".csv", ".tsv"):
        delimiter = "\t" if kind == ".tsv" else None
        return _from_rows(
            lambda: csv_rows(file_lines(path, encoding), name, delimiter), name, text, id, is_typed=False
        )
    if kind in (".jsonl", ".ndjson"):
        return _from_rows(lambda: json_rows(file_lines(path, encoding), name), name, text, id)
    if kind == ".parquet":
        return _from_rows(
            lambda: parquet_rows(path), name, text, id, cut=lambda column: row_groups(path, column)
        )
    if kind == ".txt":
        return _from_rows(lambda: line_rows(file_lines(path, encoding), name), name, text, id)
    if kind == ".npz":
        beside = path.with_suffix(".txt")
        words = beside if vocabulary is None and beside.exists() else vocabulary
        return _read_counts(_load_counts(path), words, encoding, name)
    raise InputError(f"{path} is of an unknown kind; give {FILE_KINDS}.")


def _load_counts(path: Path) -> Any:
    """A matrix whose places are within its bounds, or one sentence."""
    try:
        with path.open("rb") as file:
            counts = sparse.csr_array(sparse.load_npz(file))
        counts.check_format(full_check=True)
    except (ValueError, OSError, LookupError, TypeError, AttributeError, EOFError, ArithmeticError) as error:
        reason = error.strerror if isinstance(error, PermissionError) else None
        said = f"cannot be read: {reason}" if reason else "is not a matrix saved by scipy.sparse.save_npz"
        raise InputError(f"{path} {said}; save the counts with it.") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, MemoryError):
        raise InputError(f"{path} is damaged; save the counts again with scipy.sparse.save_npz.") from None
    return counts


def _from_rows(
    read_rows: Callable[[], Iterator[Row]],
    name: str,
    text: str | None,
    id: str | None,
    is_typed: bool = True,
    in_memory: bool = False,
    cut: Callable[[str], Sequence[FilePiece | RowGroup]] = lambda column: (),
) -> Documents:
    """One pass that checks every row and keeps its metadata; texts are read again when they are needed."""
    metadata: list[dict[str, Any]] = []
    places: dict[str, str] = {}
    kinds: set[bool] = set()
    text_column, id_column = "", None
    n_blank = 0
    for row in read_rows():
        if row.values is None:
            n_blank += 1
            continue
        n = len(places)
        if n == 0:
            text_column, id_column = _choose_columns(list(row.values), row.place, text, id)
        kinds.add(_is_tokens(text_of(row, text_column)))
        if len(kinds) > 1:
            raise InputError(
                f"{row.place}, differs in kind from those before it; give all as text or all as tokens."
            )
        identity = str(n) if id_column is None else _id_of(row, id_column)
        if identity in places:
            raise InputError(
                f"{row.place}, has the id {identity!r} that {places[identity]}, has too; "
                "give each document its own id."
            )
        places[identity] = row.place
        metadata.append({k: v for k, v in row.values.items() if k not in (text_column, id_column)})
    if not places:
        raise InputError(f"{name} is empty: it holds no document; give at least one.")

    def texts() -> Iterator[Any]:
        return (text_of(row, text_column) for row in read_rows() if row.values is not None)

    stream = list(texts()) if in_memory else TextStream(texts, len(places), cut(text_column))
    lines = "1 empty line was" if n_blank == 1 else f"{n_blank:,} empty lines were"
    notes = (f"{lines} skipped.",) if n_blank else ()
    return Documents(stream, list(places), _table_of(metadata, is_typed), kinds.pop(), notes=notes)


def _table_of(rows: list[dict[str, Any]], is_typed: bool) -> pd.DataFrame:
    if is_typed:
        return pd.DataFrame(rows, index=range(len(rows)))
    columns = {name: _as_numbers([row[name] for row in rows]) for name in rows[0]}
    return pd.DataFrame(columns, index=range(len(rows)))


def _choose_columns(
    columns: list[str], place: str, text: str | None, id: str | None
) -> tuple[str, str | None]:
    more = len(columns) - SHOWN_COLUMNS
    there = ", ".join(map(repr, columns[:SHOWN_COLUMNS])) + (f" and {more:,} more" if more > 0 else "")
    if text is None:
        if "text" not in columns and len(columns) != 1:
            raise InputError(
                f"{place}, has no column 'text' but {there}; name the one that holds the text (--text NAME, "
                "text='NAME' in Python)."
            )
        text = "text" if "text" in columns else columns[0]
    for column, role in ((text, "text"), (id, "id")):
        if column is not None and column not in columns:
            raise InputError(f"{place}, has no {role} column {column!r}; the columns are {there}.")
    return text, id if id is not None or "id" not in columns else "id"


def _is_tokens(value: Any) -> bool:
    return isinstance(value, list)


def _id_of(row: Row, column: str) -> str:
    value = (row.values or {}).get(column)
    if value is None or str(value) == "":
        raise InputError(f"{row.place}, has no {column!r}; give every document an id.")
    return str(value)


def _as_numbers(values: list[str]) -> list[Any]:
    """Numbers where all of a CSV column are; codes such as "007" stay text."""
    filled = [value for value in values if value]
    if not filled or not all(map(_NUMBER.fullmatch, filled)):
        return values
    if len(filled) == len(values) and all(map(_WHOLE.fullmatch, filled)):
        return [int(value) for value in values]
    return [float(value) if value else nan for value in values]


def _read_frame(frame: pd.DataFrame, text: str | None, id: str | None) -> Documents:
    columns = [str(column) for column in frame.columns]
    if frame.empty:
        raise InputError("The table is empty: it holds no document; give at least one row.")
    text_column, id_column = _choose_columns(columns, "The table", text, id)
    wanted = [text_column] if id_column is None else [text_column, id_column]
    lists = [frame.iloc[:, columns.index(column)].tolist() for column in wanted]
    rows = [
        Row(f"the table, row {n}", dict(zip(wanted, values)))
        for n, values in enumerate(zip(*lists, strict=True))
    ]
    read = _from_rows(lambda: iter(rows), "the table", text_column, id_column, in_memory=True)
    others = [n for n, column in enumerate(columns) if column not in wanted]
    return Documents(read.texts, read.ids, frame.iloc[:, others].reset_index(drop=True), read.are_tokens)


def _read_folder(folder: Path, encoding: str) -> Documents:
    paths = sorted(path for path in folder.rglob("*.txt") if path.is_file())
    if not paths:
        raise InputError(f"{folder} holds no .txt file; give a folder of text files, one document each.")

    def rows() -> Iterator[Row]:
        for path in paths:
            inside = path.relative_to(folder)
            yield Row(
                str(path),
                {
                    "id": inside.with_suffix("").as_posix(),
                    "text": whole_text(path, encoding),
                    "file": path.name,
                    "folder": inside.parent.as_posix() if inside.parent != Path() else "",
                },
            )

    found = _from_rows(rows, str(folder), "text", "id", cut=lambda column: file_pieces(paths, encoding))
    n_others = sum(path.is_file() for path in folder.rglob("*")) - len(paths)
    if n_others == 0:
        return found
    one = n_others == 1
    told = f"{n_others:,} file{'' if one else 's'} not .txt {'was' if one else 'were'} left out."
    return replace(found, notes=(told,))


def _read_standard_input(text: str | None, id: str | None, encoding: str) -> Documents:
    name = "standard input"
    wrapped = TextIOWrapper(sys.stdin.buffer, encoding=encoding, errors="surrogateescape")
    lines = list(checked_lines(wrapped, name, encoding))
    wrapped.detach()
    first = next((line for line in lines if line.strip()), "")
    heads = [head.strip(' "\ufeff') for head in re.split(r"[,;\t]", first.strip())]
    if len(heads) > 1 and (text or "text") in heads:  # the first line of a table, not a document
        return _from_rows(lambda: csv_rows(lines, name, None), name, text, id, in_memory=True, is_typed=False)
    to_rows = json_rows if first.lstrip().startswith("{") else line_rows
    return _from_rows(lambda: to_rows(lines, name), name, text, id, in_memory=True)


def _read_counts(
    counts: Any, vocabulary: Sequence[str] | str | Path | None, encoding: str, name: str
) -> Documents:
    if vocabulary is None:
        raise InputError(
            f"{name} come without words; give the vocabulary, a list or a file with one word per line."
        )
    if isinstance(vocabulary, str | Path):
        words = [line.strip() for line in _lines_of(Path(vocabulary), encoding)]
    else:
        words = [str(word) for word in vocabulary]
    if len(words) != counts.shape[1]:
        raise InputError(
            f"The vocabulary has {len(words)} words but {name} have {counts.shape[1]} columns; "
            "give one word per column."
        )
    n_documents = counts.shape[0]
    ids = [str(d) for d in range(n_documents)]
    return Documents([], ids, pd.DataFrame(index=range(n_documents)), False, counts, words)


def _lines_of(path: Path, encoding: str) -> Iterable[str]:
    return (line for line in file_lines(path, encoding) if line.strip())
