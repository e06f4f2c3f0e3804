"""Documents from wherever they are, not yet counted: lists, tables, files, folders, standard input, ready counts."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_object_dtype
from scipy import sparse

from superwords.errors import InputError
from superwords.text import files
from superwords.text.files import Row, TextStream
from superwords.text.sentences import without_surrogates

_NUMBER = re.compile(r"[-+]?(?!0\d)(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_WHOLE = re.compile(r"[-+]?\d{1,18}")
SHOWN_COLUMNS = 20
FILE_KINDS = (
    ".csv, .tsv, .jsonl, .json (each also .gz), .txt, .md, .html, .docx, .pdf, .xlsx, .parquet, .npz, .mtx, .rds, "
    ".rda, or a folder of text files"
)
UNTYPED = (".csv", ".tsv")  # all values are texts
UTF8 = "utf-8"
NO_ID = "none"  # ids are running numbers
LOOKED_AT = 50  # rows by which the text column is guessed
SAMPLED, LONGEST_SAMPLE = 200, 20_000  # texts that show length and language, and characters of each
LEAST_TEXT = 20  # characters that texts have on average at least, if they are guessed
SOME_TEXTS = 5  # of fewer, one is often most of the text
DOMINATES = 0.5  # share of all characters in one document that is worth a warning
PIECE_BYTES = 400_000  # of files that one task reads


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
    if isinstance(source, str | Path) and str(source) != "-":
        path = Path(source)
        guess = files.guessed_encoding(path) if encoding is None else None
        found = _read_path(path, text, id, encoding or guess or UTF8, vocabulary)
        if guess is not None:
            how = f"it was read as {guess}, which is a guess (--encoding NAME names another)."
            found = replace(found, notes=(f"{path} is not UTF-8; {how}", *found.notes))
        return found
    if isinstance(source, str | Path):
        return _read_stream(sys.stdin.buffer, "standard input", text, id, encoding or UTF8)
    if isinstance(source, pd.DataFrame):
        return _read_frame(source, text, id)
    if sparse.issparse(source):
        return _read_counts(source, vocabulary, encoding or UTF8, "the counts")
    if not isinstance(source, Iterable):
        raise InputError(f"Documents cannot be read from {type(source).__name__}; give a list of texts, {FILE_KINDS}.")
    rows: list[Row] = [(f"document {n}", {"text": value}) for n, value in enumerate(source)]
    return _from_rows([lambda: rows], "the list", are_kept=True)


def _read_path(
    path: Path, text: str | None, id: str | None, encoding: str, vocabulary: Sequence[str] | str | Path | None
) -> Documents:
    if not path.exists():
        raise InputError(f"{path} does not exist; give {FILE_KINDS}.")
    if path.is_dir():
        return _read_folder(path.absolute(), encoding)
    name, kind = str(path), files.kind_of(path)
    if path.is_fifo() or path.is_char_device():
        with path.open("rb") as stream:
            return _read_stream(stream, name, text, id, encoding, kind)
    if kind in files.DOCUMENT_FILES and kind != ".txt":
        return _from_rows([partial(files.document_rows, path, encoding)], name)
    if kind in files.LINE_FILES:
        read = files.LINE_FILES[kind]
        return _from_rows([lambda: read(files.file_lines(path, encoding), name)], name, text, id, kind not in UNTYPED)
    if kind == ".parquet":
        return _from_rows(files.parquet_parts(path), name, text, id)
    if kind not in files.PACKED_FILES:
        raise InputError(f"{path} is of an unknown kind; give {FILE_KINDS}.")
    found = files.packed_contents(path, kind)
    if isinstance(found, pd.DataFrame):
        return _read_frame(found, text, id)
    if isinstance(found, tuple):
        counts, words, ids, metadata = found
        return replace(_read_counts(counts, words, encoding, name), ids=ids, metadata=metadata)
    beside = path.with_suffix(".txt")
    return _read_counts(found, beside if vocabulary is None and beside.exists() else vocabulary, encoding, name)


def _from_rows(
    parts: Sequence[Callable[[], Iterable[Row]]],
    name: str,
    text: str | None = None,
    id: str | None = None,
    is_typed: bool = True,
    are_kept: bool = False,
) -> Documents:
    """Check every row of all parts in one pass and keep its metadata; texts are read again when needed, or kept."""
    metadata: list[dict[str, Any]] = []
    places: dict[str, str] = {}
    sizes = [0] * len(parts)
    text_column, id_column, is_guess, are_tokens = "", None, False, False
    n_blank = n_broken = 0
    hashes, lengths = [], []  # of texts that are not blank
    sample: list[tuple[int, str]] = []  # 200 to 400 texts, evenly spread
    step = 1
    rows = ((part, row) for part, read in enumerate(parts) for row in read())
    first = list(islice(rows, LOOKED_AT))
    for part, row in chain(first, rows):
        place, values = row
        if values is None:
            n_blank += 1
            continue
        n = len(places)
        if n == 0:
            known = [one for _, (_, one) in first if one is not None] or [values]
            text_column, id_column, is_guess = _choose_columns(known, place, text, id)
        value = files.text_of(row, text_column)
        if n and are_tokens != isinstance(value, list):
            raise InputError(f"{place}, differs in kind from those before it; give all as text or all as tokens.")
        are_tokens = isinstance(value, list)
        if not are_tokens:
            if n % step == 0:
                sample.append((n, value[:LONGEST_SAMPLE]))
                if len(sample) > 2 * SAMPLED:
                    sample, step = sample[::2], 2 * step
            if bare := value.strip():
                hashes.append(hash(bare))
                lengths.append(len(value))
                n_broken += without_surrogates(bare) != bare
        identity = str(n) if id_column is None else values.get(id_column)
        if files.is_missing(identity) or str(identity) == "":
            raise InputError(f"{place}, has no {id_column!r}; give every document an id.")
        if str(identity) in places:
            raise InputError(
                f"{place}, has the id {str(identity)!r} that {places[str(identity)]}, has too; "
                'give each its own, name another column (--id NAME), or give "none" for running numbers.'
            )
        places[str(identity)] = place
        sizes[part] += 1
        others = (item for item in values.items() if item[0] not in (text_column, id_column))
        metadata.append({without_surrogates(column): without_surrogates(one) for column, one in others})
    if not places:
        raise InputError(f"{name} is empty: it holds no document; give at least one.")
    notes = []
    if n_blank:
        notes.append(f"{n_blank:,} empty {'line was' if n_blank == 1 else 'lines were'} skipped.")
    if is_guess:
        how = "has the longest texts and was read (--text names another)."
        notes.append(f"There is no column 'text'; {text_column!r} {how}")
    columns: Any = metadata
    if not is_typed:
        columns = {column: _as_numbers([row[column] for row in metadata]) for column in metadata[0]}
    texts = TextStream(list(zip(parts, sizes)), text_column)
    return Documents(
        list(texts) if are_kept else texts,
        list(map(without_surrogates, places)),
        pd.DataFrame(columns, index=range(len(places))),
        are_tokens,
        notes=tuple(notes),
        doubts=tuple(_doubts(hashes, lengths, n_broken)),
        sample=tuple(sample),
    )


def _doubts(hashes: list[int], lengths: list[int], n_broken: int) -> Iterator[str]:
    if n_again := len(hashes) - len(set(hashes)):
        yield (
            f"{n_again:,} of {len(hashes):,} texts repeat another one word for word; each counts as a "
            "document of its own, so remove repeated ones unless that is meant."
        )
    if len(lengths) >= SOME_TEXTS and max(lengths) > DOMINATES * sum(lengths):
        yield (
            f"One document has {max(lengths) / sum(lengths):.0%} of all text, so the concepts will be its "
            "own; cut it into several, or leave it out."
        )
    if n_broken:
        yield f"{n_broken:,} texts hold half of a character (a lone surrogate), which was replaced by \ufffd."


def _choose_columns(
    rows: list[dict[str, Any]], place: str, text: str | None, id: str | None
) -> tuple[str, str | None, bool]:
    """Return the columns of texts and ids, and whether the first is a guess: the column with the longest texts."""
    columns, is_guess = list(rows[0]), False
    there = files.few(list(map(repr, columns)), SHOWN_COLUMNS)
    if text is None and "text" not in columns and len(columns) > 1:
        is_guess, mean = True, {"": 0.0}
        for name in columns:
            texts = [value for row in rows if isinstance(value := row.get(name), str)]
            if len(texts) == len(rows) and any(" " in value.strip() for value in texts):
                mean[name] = sum(map(len, texts)) / len(texts)
        text = max(mean, key=mean.__getitem__)
        if mean[text] < LEAST_TEXT:
            raise InputError(
                f"{place}, has no column 'text' but {there}; name the one that holds the text (--text NAME, "
                "text='NAME' in Python)."
            )
    elif text is None:
        text = "text" if "text" in columns else columns[0]
    if id == NO_ID and id not in columns:
        return text, None, is_guess
    for column, role in ((text, "text"), (id, "id")):
        if column is not None and column not in columns:
            raise InputError(f"{place}, has no {role} column {column!r}; the columns are {there}.")
    return text, id if id is not None or "id" not in columns else "id", is_guess


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
    files.check_columns(columns, "The table")
    values = enumerate(frame.itertuples(index=False, name=None))
    rows: list[Row] = [(f"the table, row {n}", dict(zip(columns, row))) for n, row in values]
    read = _from_rows([lambda: rows], "the table", text, id, are_kept=True)
    others = [n for n, column in enumerate(columns) if column in read.metadata.columns]
    metadata = frame.iloc[:, others].reset_index(drop=True)
    for name in metadata.columns:
        if is_object_dtype(metadata[name]):
            metadata[name] = metadata[name].map(without_surrogates)
    return replace(read, metadata=metadata)


def _read_folder(folder: Path, encoding: str) -> Documents:
    found = files.files_of(folder)
    paths = [path for path in found if path.suffix.lower() in files.DOCUMENT_FILES]
    if not paths:
        kinds = ", ".join(files.DOCUMENT_FILES)
        raise InputError(
            f"{folder} holds no file of the kinds {kinds}; give a folder of text files, one document each."
        )
    times = Counter(path.with_suffix("") for path in paths)
    # A document's id is its path without the ending, unless two files differ in that alone.
    bare = ((path, path.with_suffix("")) for path in paths)
    named = [(path, (short if times[short] == 1 else path).relative_to(folder).as_posix()) for path, short in bare]
    batches = files.batches(named, lambda one: one[0].stat().st_size, PIECE_BYTES)
    documents = _from_rows([partial(_folder_rows, batch, folder, encoding) for batch in batches], str(folder))
    if n_others := len(found) - len(paths):
        some = "1 file of other kinds was" if n_others == 1 else f"{n_others:,} files of other kinds were"
        documents = replace(documents, notes=(f"{some} left out.",))
    return documents


def _folder_rows(named: list[tuple[Path, str]], folder: Path, encoding: str) -> Iterator[Row]:
    for path, name in named:
        inside = path.parent.relative_to(folder).as_posix()
        where = {"id": name, "file": path.name, "folder": "" if inside == "." else inside}
        for place, values in files.document_rows(path, encoding):
            yield place, {**(values or {}), **where}


def _read_stream(stream: Any, name: str, text: str | None, id: str | None, encoding: str, kind: str = "") -> Documents:
    """Read JSON lines, a table or one document per line from a stream that can be read only once."""
    buffered = BufferedReader(stream)
    if buffered.peek(2)[:2] == b"\x1f\x8b":
        raise InputError(f"{name} is compressed; unpack it on the way, as in: zcat FILE | superwords fit -")
    lines = list(files.stream_lines(buffered, name, encoding))
    buffered.detach()
    first = next((line for line in lines if line.strip()), "").strip()
    heads = [head.strip(' "') for head in re.split(r"[,;\t]", first)]
    if kind not in files.LINE_FILES:
        is_table = len(heads) > 1 and (text or "text") in heads  # a header, not a document
        kind = ".csv" if is_table else ".jsonl" if first.startswith("{") else ".txt"
    rows = list(files.LINE_FILES[kind](lines, name))
    return _from_rows([lambda: rows], name, text, id, kind not in UNTYPED, are_kept=True)


def _read_counts(counts: Any, vocabulary: Sequence[str] | str | Path | None, encoding: str, name: str) -> Documents:
    if vocabulary is None:
        raise InputError(f"{name} come without words; give the vocabulary, a list or a file with one word per line.")
    if isinstance(vocabulary, str | Path):
        source = str(vocabulary)
        words = [line.strip() for line in files.file_lines(Path(vocabulary), encoding) if line.strip()]
    else:
        source, words = "The vocabulary", list(map(str, vocabulary))
    if len(words) != counts.shape[1]:
        raise InputError(
            f"{source} has {len(words)} words but {name} have {counts.shape[1]} columns; give one word per column."
        )
    every = range(counts.shape[0])
    return Documents([], [str(d) for d in every], pd.DataFrame(index=every), False, counts, words)
