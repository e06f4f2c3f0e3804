"""Documents from wherever they are, not yet counted: lists, tables, files, folders, standard input, ready counts."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import sparse

from superwords.errors import InputError
from superwords.text.cleaning import has_surrogates
from superwords.text.files import (
    DOCUMENT_FILES,
    R_FILES,
    excel_table,
    guessed_encoding,
    matrix_market,
    r_contents,
    saved_counts,
)
from superwords.text.formats import (
    FilePiece,
    Row,
    RowGroup,
    TextStream,
    checked_lines,
    csv_rows,
    file_lines,
    file_pieces,
    json_items,
    json_rows,
    line_rows,
    parquet_rows,
    row_groups,
    text_of,
    whole_text,
)

_NUMBER = re.compile(r"[-+]?(?!0\d)(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_WHOLE = re.compile(r"[-+]?\d{1,18}")
SHOWN_COLUMNS = 20
FILE_KINDS = (
    ".csv, .tsv, .jsonl, .json (each also .gz), .txt, .md, .html, .docx, .pdf, .xlsx, .parquet, .npz, .mtx, .rds, "
    ".rda, or a folder of text files"
)
ROW_FILES: dict[str, Callable[[Path, str], Iterator[Row]]] = {
    ".csv": lambda path, encoding: csv_rows(file_lines(path, encoding), str(path), None),
    ".tsv": lambda path, encoding: csv_rows(file_lines(path, encoding), str(path), "\t"),
    ".jsonl": lambda path, encoding: json_rows(file_lines(path, encoding), str(path)),
    ".ndjson": lambda path, encoding: json_rows(file_lines(path, encoding), str(path)),
    ".txt": lambda path, encoding: line_rows(file_lines(path, encoding), str(path)),
    ".parquet": lambda path, _: parquet_rows(path),
}
COUNT_FILES = {".npz": saved_counts, ".mtx": matrix_market}
UTF8 = "utf-8"
NO_ID = "none"  # ids are running numbers
LOOKED_AT = 50  # rows by which the text column is guessed
SAMPLED, LONGEST_SAMPLE = 200, 20_000  # texts that show length and language, and characters of each
LEAST_TEXT = 20  # characters that texts have on average at least, if they are guessed
SOME_TEXTS = 5  # of fewer, one is often most of the text
DOMINATES = 0.5  # share of all characters in one document that is worth a warning


@dataclass(frozen=True)
class Documents:
    """Documents as read: texts (a list, or a stream that can be read again), ids and everything else known of
    them.

    Ready counts have `counts` and `vocabulary` in place of texts. `notes` says what was left out, `doubts` are
    warnings, and `sample` are some texts with their numbers.
    """

    texts: Any
    ids: list[str]
    metadata: pd.DataFrame
    are_tokens: bool = False
    counts: Any = None
    vocabulary: list[str] | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    sample: tuple[tuple[int, str], ...] = ()


def open_documents(
    source: Any,
    text: str | None = None,
    id: str | None = None,
    encoding: str | None = None,
    vocabulary: Sequence[str] | str | Path | None = None,
) -> Documents:
    """Reads documents from a list of strings or of lists of tokens, a DataFrame, a file, a folder, "-"
    (standard input) or counts with their vocabulary (a list, or a file of one word per line).

    text and id name columns; left out, they are "text" (or the only column there is) and "id" (or running
    numbers).
    """
    if isinstance(source, str | Path):
        if str(source) == "-":
            return _read_lines(sys.stdin.buffer, "standard input", text, id, encoding or UTF8)
        path = Path(source)
        guess = guessed_encoding(path) if encoding is None else None
        found = _read_path(path, text, id, encoding or guess or UTF8, vocabulary)
        if guess is None:
            return found
        note = (
            f"{path} is not UTF-8; it was read as {guess}, which is a guess (--encoding NAME names another)."
        )
        return replace(found, notes=(note, *found.notes))
    if isinstance(source, pd.DataFrame):
        return _read_frame(source, text, id)
    if sparse.issparse(source):
        return _read_counts(source, vocabulary, encoding or UTF8, "the counts")
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
    if path.is_fifo() or path.is_char_device():
        with path.open("rb") as stream:
            return _read_lines(stream, str(path), text, id, encoding)
    kind = Path(path.stem).suffix.lower() if path.suffix == ".gz" else path.suffix.lower()
    name = str(path)
    if kind in ROW_FILES:
        return _from_rows(
            lambda: ROW_FILES[kind](path, encoding),
            name,
            text,
            id,
            is_typed=kind not in (".csv", ".tsv"),
            cut=(lambda column: row_groups(path, column)) if kind == ".parquet" else None,
        )
    if kind in COUNT_FILES:
        beside = path.with_suffix(".txt")
        words = beside if vocabulary is None and beside.exists() else vocabulary
        return _read_counts(COUNT_FILES[kind](path), words, encoding, name)
    if kind == ".json":
        items = list(json_items(path, "".join(file_lines(path, encoding))))
        return _from_rows(lambda: iter(items), name, text, id, in_memory=True)
    if kind == ".xlsx":
        return _read_frame(excel_table(path), text, id)
    if kind in R_FILES:
        found = r_contents(path)
        if isinstance(found, pd.DataFrame):
            return _read_frame(found, text, id)
        counts, words, ids, metadata = found
        return replace(_read_counts(counts, words, encoding, name), ids=ids, metadata=metadata)
    if kind in DOCUMENT_FILES:
        row = Row(name, {"id": _shown(path.stem), "text": whole_text(path, encoding)})
        return _from_rows(lambda: iter([row]), name, "text", "id", in_memory=True)
    raise InputError(f"{path} is of an unknown kind; give {FILE_KINDS}.")


def _from_rows(
    read_rows: Callable[[], Iterator[Row]],
    name: str,
    text: str | None,
    id: str | None,
    is_typed: bool = True,
    in_memory: bool = False,
    cut: Callable[[str], Sequence[FilePiece | RowGroup]] | None = None,
) -> Documents:
    """Check every row in one pass and keep its metadata; texts are read again when they are needed."""
    metadata: list[dict[str, Any]] = []
    places: dict[str, str] = {}
    text_column, id_column, guess = "", None, None
    n_blank = 0
    hygiene = Hygiene()
    rows = read_rows()
    first = list(islice(rows, LOOKED_AT))
    for row in chain(first, rows):
        if row.values is None:
            n_blank += 1
            continue
        n = len(places)
        if n == 0:
            guess = _longest_column(first) if text is None else None
            text_column, id_column = _choose_columns(list(row.values), row.place, text, id, guess)
        hygiene.look(text_of(row, text_column), row.place)
        identity = str(n) if id_column is None else _id_of(row, id_column)
        if identity in places:
            raise InputError(
                f"{row.place}, has the id {identity!r} that {places[identity]}, has too; "
                'give each its own, name another column (--id NAME), or give "none" for running numbers.'
            )
        places[identity] = row.place
        metadata.append({k: v for k, v in row.values.items() if k not in (text_column, id_column)})
    if not places:
        raise InputError(f"{name} is empty: it holds no document; give at least one.")

    def texts() -> Iterator[Any]:
        return (text_of(row, text_column) for row in read_rows() if row.values is not None)

    pieces = () if cut is None else cut(text_column)
    notes = []
    if n_blank:
        notes.append(f"{n_blank:,} empty {'line was' if n_blank == 1 else 'lines were'} skipped.")
    if guess is not None:
        notes.append(
            f"There is no column 'text'; {guess!r} has the longest texts and was read (--text names another)."
        )
    return Documents(
        list(texts()) if in_memory else TextStream(texts, len(places), pieces),
        list(map(_shown, places)),
        _table_of(metadata, is_typed),
        hygiene.are_tokens is True,
        notes=tuple(notes),
        doubts=tuple(hygiene.doubts()),
        sample=tuple(hygiene.sample),
    )


def _table_of(rows: list[dict[str, Any]], is_typed: bool) -> pd.DataFrame:
    if is_typed:
        return pd.DataFrame(rows, index=range(len(rows)))
    columns = {name: _as_numbers([row[name] for row in rows]) for name in rows[0]}
    return pd.DataFrame(columns, index=range(len(rows)))


@dataclass
class Hygiene:
    """What is wrong with texts, counted while they are read."""

    hashes: set[int] = field(default_factory=set)
    are_tokens: bool | None = None
    n_seen: int = 0
    n_texts: int = 0
    n_again: int = 0
    n_broken: int = 0
    longest: int = 0
    n_characters: int = 0
    sample: list[tuple[int, str]] = field(default_factory=list)
    step: int = 1

    def look(self, value: Any, place: str) -> None:
        """Take account of a text or a list of tokens; 200 to 400 texts, evenly spread, are kept as a sample."""
        if self.are_tokens is None:
            self.are_tokens = isinstance(value, list)
        if self.are_tokens != isinstance(value, list):
            raise InputError(
                f"{place}, differs in kind from those before it; give all as text or all as tokens."
            )
        if not self.are_tokens and self.n_seen % self.step == 0:
            self.sample.append((self.n_seen, value[:LONGEST_SAMPLE]))
            if len(self.sample) > 2 * SAMPLED:
                self.sample, self.step = self.sample[::2], 2 * self.step
        self.n_seen += 1
        if not self.are_tokens and value.strip():
            self.n_texts += 1
            self.n_again += hash(value.strip()) in self.hashes
            self.hashes.add(hash(value.strip()))
            self.n_broken += has_surrogates(value)
            self.longest, self.n_characters = max(self.longest, len(value)), self.n_characters + len(value)

    def doubts(self) -> list[str]:
        """Return a sentence for each problem."""
        found = []
        if self.n_again:
            found.append(
                f"{self.n_again:,} of {self.n_texts:,} texts repeat another one word for word; each counts as a "
                "document of its own, so remove repeated ones unless that is meant."
            )
        if self.n_texts >= SOME_TEXTS and self.longest > DOMINATES * self.n_characters:
            found.append(
                f"One document has {self.longest / self.n_characters:.0%} of all text, so the concepts will be its "
                "own; cut it into several, or leave it out."
            )
        if self.n_broken:
            found.append(
                f"{self.n_broken:,} texts hold half of a character (a lone surrogate), which was replaced by \ufffd."
            )
        return found


def _shown(name: str) -> str:
    """Return a name without undecodable bytes, which neither a file nor a screen takes."""
    return (
        name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if has_surrogates(name) else name
    )


def _longest_column(rows: list[Row]) -> str | None:
    """Return the column with the longest texts; None if no column holds texts, or one is called "text"."""
    known = [row.values for row in rows if row.values is not None]
    if not known or "text" in known[0] or len(known[0]) == 1:
        return None
    mean = {}
    for name in known[0]:
        values = [value for row in known if isinstance(value := row.get(name), str)]
        if len(values) == len(known) and any(" " in value.strip() for value in values):
            mean[name] = sum(map(len, values)) / len(values)
    best = max(mean, key=mean.__getitem__, default=None)
    return best if best is not None and mean[best] >= LEAST_TEXT else None


def _choose_columns(
    columns: list[str], place: str, text: str | None, id: str | None, guess: str | None = None
) -> tuple[str, str | None]:
    more = len(columns) - SHOWN_COLUMNS
    there = ", ".join(map(repr, columns[:SHOWN_COLUMNS])) + (f" and {more:,} more" if more > 0 else "")
    if text is None:
        if guess is None and "text" not in columns and len(columns) != 1:
            raise InputError(
                f"{place}, has no column 'text' but {there}; name the one that holds the text (--text NAME, "
                "text='NAME' in Python)."
            )
        text = "text" if "text" in columns else guess or columns[0]
    if id == NO_ID and id not in columns:
        return text, None
    for column, role in ((text, "text"), (id, "id")):
        if column is not None and column not in columns:
            raise InputError(f"{place}, has no {role} column {column!r}; the columns are {there}.")
    return text, id if id is not None or "id" not in columns else "id"


def _id_of(row: Row, column: str) -> str:
    value = (row.values or {}).get(column)
    if value is None or str(value) == "":
        raise InputError(f"{row.place}, has no {column!r}; give every document an id.")
    return str(value)


def _as_numbers(values: list[str]) -> list[Any]:
    """Return numbers where all of a CSV column are; codes such as "007" stay text."""
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
    rows = [
        Row(f"the table, row {n}", dict(zip(columns, values)))
        for n, values in enumerate(frame.itertuples(index=False, name=None))
    ]
    read = _from_rows(lambda: iter(rows), "the table", text, id, in_memory=True)
    others = [n for n, column in enumerate(columns) if column in read.metadata.columns]
    return replace(read, metadata=frame.iloc[:, others].reset_index(drop=True))


def _read_folder(folder: Path, encoding: str) -> Documents:
    paths = sorted(
        path for path in folder.rglob("*") if path.suffix.lower() in DOCUMENT_FILES and path.is_file()
    )
    if not paths:
        kinds = ", ".join(DOCUMENT_FILES)
        raise InputError(
            f"{folder} holds no file of the kinds {kinds}; give a folder of text files, one document each."
        )

    bare = Counter(path.relative_to(folder).with_suffix("") for path in paths)
    ids = {path: _folder_id(path.relative_to(folder), bare) for path in paths}

    def rows() -> Iterator[Row]:
        for path in paths:
            inside = path.relative_to(folder)
            yield Row(
                str(path),
                {
                    "id": ids[path],
                    "text": whole_text(path, encoding),
                    "file": _shown(path.name),
                    "folder": _shown(inside.parent.as_posix()) if inside.parent != Path() else "",
                },
            )

    found = _from_rows(rows, str(folder), "text", "id", cut=lambda column: file_pieces(paths, encoding))
    n_others = sum(path.is_file() for path in folder.rglob("*")) - len(paths)
    if n_others == 0:
        return found
    one = n_others == 1
    note = f"{n_others:,} file{'' if one else 's'} of other kinds {'was' if one else 'were'} left out."
    return replace(found, notes=(note,))


def _folder_id(inside: Path, bare: Counter[Path]) -> str:
    """Return the path of a file without its ending, unless two files differ in that alone."""
    return _shown((inside.with_suffix("") if bare[inside.with_suffix("")] == 1 else inside).as_posix())


def _read_lines(stream: Any, name: str, text: str | None, id: str | None, encoding: str) -> Documents:
    """Read JSON lines, a table or one document per line from a stream that can be read only once."""
    wrapped = TextIOWrapper(stream, encoding=encoding, errors="surrogateescape")
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
        lines = file_lines(Path(vocabulary), encoding)
        words = [line.strip() for line in lines if line.strip()]
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
