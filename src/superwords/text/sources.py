"""Documents from wherever they are, not yet counted: lists, tables, files, folders, standard input, ready counts."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from io import BufferedReader, TextIOWrapper
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_object_dtype
from scipy import sparse

from superwords.errors import InputError
from superwords.text.cleaning import without_surrogates
from superwords.text.files import (
    COUNT_FILES,
    DOCUMENT_FILES,
    LINE_FILES,
    Row,
    TextStream,
    check_columns,
    checked_lines,
    excel_table,
    few,
    file_lines,
    file_pieces,
    files_of,
    guessed_encoding,
    is_missing,
    json_items,
    parquet_pieces,
    parquet_rows,
    r_contents,
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
UNTYPED = (".csv", ".tsv")  # all values are texts
R_FILES = (".rds", ".rda", ".rdata")
UTF8 = "utf-8"
NO_ID = "none"  # ids are running numbers
LOOKED_AT = 50  # rows by which the text column is guessed
SAMPLED, LONGEST_SAMPLE = 200, 20_000  # texts that show length and language, and characters of each
LEAST_TEXT = 20  # characters that texts have on average at least, if they are guessed
SOME_TEXTS = 5  # of fewer, one is often most of the text
DOMINATES = 0.5  # share of all characters in one document that is worth a warning


@dataclass(frozen=True)
class Documents:
    """Documents as read: texts (a list, or a stream that can be read again), ids and everything else known.

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
    """Return the documents of a source of any kind; parameters as in `read_documents`."""
    if isinstance(source, str | Path):
        if str(source) == "-":
            return _read_stream(sys.stdin.buffer, "standard input", text, id, encoding or UTF8)
        path = Path(source)
        guess = guessed_encoding(path) if encoding is None else None
        found = _read_path(path, text, id, encoding or guess or UTF8, vocabulary)
        if guess is not None:
            how = f"it was read as {guess}, which is a guess (--encoding NAME names another)."
            found = replace(found, notes=(f"{path} is not UTF-8; {how}", *found.notes))
        return found
    if isinstance(source, pd.DataFrame):
        return _read_frame(source, text, id)
    if sparse.issparse(source):
        return _read_counts(source, vocabulary, encoding or UTF8, "the counts")
    if not isinstance(source, Iterable):
        raise InputError(f"Documents cannot be read from {type(source).__name__}; give a list of texts, {FILE_KINDS}.")
    rows = (Row(f"document {n}", {"text": value}) for n, value in enumerate(source))
    return _in_memory(rows, "the list", "text")


def _read_path(
    path: Path, text: str | None, id: str | None, encoding: str, vocabulary: Sequence[str] | str | Path | None
) -> Documents:
    if not path.exists():
        raise InputError(f"{path} does not exist; give {FILE_KINDS}.")
    if path.is_dir():
        return _read_folder(path, encoding)
    kind = Path(path.stem).suffix.lower() if path.suffix == ".gz" else path.suffix.lower()
    name = str(path)
    if path.is_fifo() or path.is_char_device():
        with path.open("rb") as stream:
            return _read_stream(stream, name, text, id, encoding, kind)
    if kind in LINE_FILES:
        read_lines = LINE_FILES[kind]
        is_typed = kind not in UNTYPED
        return _from_rows(lambda: read_lines(file_lines(path, encoding), name), name, text, id, is_typed)
    if kind == ".parquet":
        return _from_rows(partial(parquet_rows, path), name, text, id, cut=partial(parquet_pieces, path))
    if kind in COUNT_FILES:
        beside = path.with_suffix(".txt")
        words = beside if vocabulary is None and beside.exists() else vocabulary
        return _read_counts(COUNT_FILES[kind](path), words, encoding, name)
    if kind == ".json":
        return _in_memory(json_items(path, "".join(file_lines(path, encoding))), name, text, id)
    if kind == ".xlsx":
        return _read_frame(excel_table(path), text, id)
    if kind in R_FILES:
        found = r_contents(path)
        if isinstance(found, pd.DataFrame):
            return _read_frame(found, text, id)
        counts, words, ids, metadata = found
        return replace(_read_counts(counts, words, encoding, name), ids=ids, metadata=metadata)
    if kind in DOCUMENT_FILES:
        row = Row(name, {"id": path.stem, "text": whole_text(path, encoding)})
        return _in_memory([row], name, "text", "id")
    raise InputError(f"{path} is of an unknown kind; give {FILE_KINDS}.")


def _in_memory(
    rows: Iterable[Row], name: str, text: str | None = None, id: str | None = None, is_typed: bool = True
) -> Documents:
    """Return the documents of rows that can be read only once."""
    kept = list(rows)
    found = _from_rows(lambda: iter(kept), name, text, id, is_typed)
    return replace(found, texts=list(found.texts))


def _from_rows(
    read_rows: Callable[[], Iterator[Row]],
    name: str,
    text: str | None,
    id: str | None,
    is_typed: bool = True,
    cut: Callable[[str], Sequence[TextStream]] | None = None,
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
        identity = str(n)
        if id_column is not None:
            value = row.values.get(id_column)
            if is_missing(value) or str(value) == "":
                raise InputError(f"{row.place}, has no {id_column!r}; give every document an id.")
            identity = str(value)
        if identity in places:
            raise InputError(
                f"{row.place}, has the id {identity!r} that {places[identity]}, has too; "
                'give each its own, name another column (--id NAME), or give "none" for running numbers.'
            )
        places[identity] = row.place
        metadata.append(
            {
                without_surrogates(name): without_surrogates(value)
                for name, value in row.values.items()
                if name not in (text_column, id_column)
            }
        )
    if not places:
        raise InputError(f"{name} is empty: it holds no document; give at least one.")

    def texts() -> Iterator[Any]:
        return (text_of(row, text_column) for row in read_rows() if row.values is not None)

    notes = []
    if n_blank:
        notes.append(f"{n_blank:,} empty {'line was' if n_blank == 1 else 'lines were'} skipped.")
    if guess is not None:
        notes.append(f"There is no column 'text'; {guess!r} has the longest texts and was read (--text names another).")
    columns: Any = metadata
    if not is_typed:
        columns = {column: _as_numbers([row[column] for row in metadata]) for column in metadata[0]}
    return Documents(
        TextStream(texts, len(places), () if cut is None else cut(text_column)),
        list(map(without_surrogates, places)),
        pd.DataFrame(columns, index=range(len(places))),
        hygiene.are_tokens is True,
        notes=tuple(notes),
        doubts=tuple(hygiene.doubts()),
        sample=tuple(hygiene.sample),
    )


@dataclass
class Hygiene:
    """What is wrong with texts, counted while they are read, and a sample of 200 to 400 of them, evenly spread."""

    are_tokens: bool | None = None
    n_seen: int = 0
    hashes: list[int] = field(default_factory=list)  # of texts that are not blank
    n_broken: int = 0
    longest: int = 0
    n_characters: int = 0
    sample: list[tuple[int, str]] = field(default_factory=list)
    step: int = 1

    def look(self, value: Any, place: str) -> None:
        """Take account of a text or a list of tokens."""
        if self.are_tokens not in (None, isinstance(value, list)):
            raise InputError(f"{place}, differs in kind from those before it; give all as text or all as tokens.")
        self.are_tokens = isinstance(value, list)
        if self.are_tokens:
            return
        if self.n_seen % self.step == 0:
            self.sample.append((self.n_seen, value[:LONGEST_SAMPLE]))
            if len(self.sample) > 2 * SAMPLED:
                self.sample, self.step = self.sample[::2], 2 * self.step
        self.n_seen += 1
        if bare := value.strip():
            self.hashes.append(hash(bare))
            self.n_broken += without_surrogates(bare) != bare
            self.longest, self.n_characters = max(self.longest, len(value)), self.n_characters + len(value)

    def doubts(self) -> Iterator[str]:
        """Yield a sentence for each problem."""
        n_texts = len(self.hashes)
        if n_again := n_texts - len(set(self.hashes)):
            yield (
                f"{n_again:,} of {n_texts:,} texts repeat another one word for word; each counts as a "
                "document of its own, so remove repeated ones unless that is meant."
            )
        if n_texts >= SOME_TEXTS and self.longest > DOMINATES * self.n_characters:
            yield (
                f"One document has {self.longest / self.n_characters:.0%} of all text, so the concepts will be its "
                "own; cut it into several, or leave it out."
            )
        if self.n_broken:
            yield (
                f"{self.n_broken:,} texts hold half of a character (a lone surrogate), which was replaced by \ufffd."
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
    there = few(list(map(repr, columns)), SHOWN_COLUMNS)
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
    check_columns(columns, "The table")
    values = enumerate(frame.itertuples(index=False, name=None))
    rows = (Row(f"the table, row {n}", dict(zip(columns, row))) for n, row in values)
    read = _in_memory(rows, "the table", text, id)
    others = [n for n, column in enumerate(columns) if column in read.metadata.columns]
    metadata = frame.iloc[:, others].reset_index(drop=True)
    for name in metadata.columns:
        if is_object_dtype(metadata[name]):
            metadata[name] = metadata[name].map(without_surrogates)
    return replace(read, metadata=metadata)


def _read_folder(folder: Path, encoding: str) -> Documents:
    files = files_of(folder)
    paths = [path for path in files if path.suffix.lower() in DOCUMENT_FILES]
    if not paths:
        kinds = ", ".join(DOCUMENT_FILES)
        raise InputError(
            f"{folder} holds no file of the kinds {kinds}; give a folder of text files, one document each."
        )
    inside = {path: path.relative_to(folder) for path in paths}
    times = Counter(path.with_suffix("") for path in inside.values())

    def rows() -> Iterator[Row]:
        for path in paths:
            bare = inside[path].with_suffix("")  # its id, unless two files differ in their endings alone
            parent = inside[path].parent
            values = {
                "id": (bare if times[bare] == 1 else inside[path]).as_posix(),
                "text": whole_text(path, encoding),
                "file": path.name,
                "folder": parent.as_posix() if parent != Path() else "",
            }
            yield Row(str(path), values)

    found = _from_rows(rows, str(folder), "text", "id", cut=lambda column: file_pieces(paths, encoding))
    if n_others := len(files) - len(paths):
        some = "1 file of other kinds was" if n_others == 1 else f"{n_others:,} files of other kinds were"
        found = replace(found, notes=(f"{some} left out.",))
    return found


def _read_stream(stream: Any, name: str, text: str | None, id: str | None, encoding: str, kind: str = "") -> Documents:
    """Read JSON lines, a table or one document per line from a stream that can be read only once."""
    buffered = BufferedReader(stream)
    if buffered.peek(2)[:2] == b"\x1f\x8b":
        raise InputError(f"{name} is compressed; unpack it on the way, as in: zcat FILE | superwords fit -")
    wrapped = TextIOWrapper(buffered, encoding=encoding, errors="surrogateescape")
    lines = list(checked_lines(wrapped, name, encoding))
    wrapped.detach().detach()
    first = next((line for line in lines if line.strip()), "").strip()
    heads = [head.strip(' "\ufeff') for head in re.split(r"[,;\t]", first)]
    if kind not in LINE_FILES:
        is_table = len(heads) > 1 and (text or "text") in heads  # a header, not a document
        kind = ".csv" if is_table else ".jsonl" if first.startswith("{") else ".txt"
    return _in_memory(LINE_FILES[kind](lines, name), name, text, id, kind not in UNTYPED)


def _read_counts(counts: Any, vocabulary: Sequence[str] | str | Path | None, encoding: str, name: str) -> Documents:
    if vocabulary is None:
        raise InputError(f"{name} come without words; give the vocabulary, a list or a file with one word per line.")
    source = "The vocabulary"
    if isinstance(vocabulary, str | Path):
        source = str(vocabulary)
        words = [line.strip() for line in file_lines(Path(vocabulary), encoding) if line.strip()]
    else:
        words = [str(word) for word in vocabulary]
    if len(words) != counts.shape[1]:
        raise InputError(
            f"{source} has {len(words)} words but {name} have {counts.shape[1]} columns; give one word per column."
        )
    every = range(counts.shape[0])
    return Documents([], [str(d) for d in every], pd.DataFrame(index=every), False, counts, words)
