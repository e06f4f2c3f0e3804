"""Read rows of the files that people have, one at a time, with the place of each for messages."""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import importlib
import json
import logging
import lzma
import os
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from io import TextIOWrapper
from itertools import accumulate, chain, count
from pathlib import Path
from socket import gethostname
from typing import Any, TypeVar

import pandas as pd
from pandas.api.types import is_scalar
from scipy import sparse
from scipy.io import mminfo, mmread

from superwords.errors import InputError, import_extra

Item = TypeVar("Item")
Row = tuple[str, dict[str, Any] | None]  # the place of a row and its values; an empty line has none

DOCUMENT_FILES = (".txt", ".md", ".html", ".htm", ".docx", ".pdf")  # one document each, in a folder
LONGEST_LINE = 50_000_000  # characters of a line, or of a field of a CSV file
MOST_UNPACKED = 100_000_000  # bytes of an archive, if it unpacks to more than
LARGEST_RATIO = 200  # times its size
_SAMPLE = 1 << 18  # bytes from which an encoding is guessed
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_KNOWN = "utf_16 cp1252 cp1250 iso8859_2 cp1251 koi8_r cp1253 cp1254 cp1255 cp1256 cp1257 cp874"
_ENCODINGS = f"{_KNOWN} cp932 euc_jp gb18030 big5 cp949".split()
_CENTRAL = ("Polish", "Czech", "Slovak", "Hungarian", "Slovene", "Croatian", "Romanian")  # cp1250, not cp1252
_UNDECODED = re.compile("[\udc80-\udcff]")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_MARKDOWN = [
    (re.compile(r"^(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,1000}\)"), r"\1"),
    (re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]|>[ \t]?)", re.MULTILINE), ""),
    (re.compile(r"(\*\*|__|`)"), ""),
]


@dataclass(frozen=True)
class TextStream:
    """A column of rows, read from its source each time, so that texts need not be in memory.

    `parts` are readers of rows and the number of documents of each; workers can read them by themselves.
    """

    parts: Sequence[tuple[Callable[[], Iterable[Row]], int]]
    column: str

    def __iter__(self) -> Iterator[Any]:
        return (text_of(row, self.column) for read, _ in self.parts for row in read() if row[1] is not None)

    def __len__(self) -> int:
        return sum(length for _, length in self.parts)

    @property
    def pieces(self) -> list[TextStream]:
        return [TextStream([part], self.column) for part in self.parts]


def file_lines(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text file, also gzipped."""
    is_packed = path.suffix == ".gz"
    opener: Any = gzip.open if is_packed else open
    size = 0
    try:
        with opener(path, "rb") as file:
            for line in stream_lines(file, str(path), encoding):
                size += len(line)
                if is_packed and size > MOST_UNPACKED:
                    _check_unpacked(path, size)
                yield line
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{path} is not a complete gzip file; compress it again or give the plain file.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None


def stream_lines(stream: Any, name: str, encoding: str) -> Iterator[str]:
    """Yield lines of bounded length, so that a file without line breaks does not fill the memory."""
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        file = TextIOWrapper(stream, codec, "surrogateescape", newline="")
    except LookupError:
        raise InputError(f'The encoding {encoding!r} is not known; give one such as "utf-8" or "latin-1".') from None
    try:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), start=1):
            if len(line) == LONGEST_LINE and not line.endswith("\n"):
                raise InputError(
                    f"{name}, line {number}, is longer than {LONGEST_LINE:,} characters; "
                    "give one document per line, or cut it into smaller documents."
                )
            if undecoded := _UNDECODED.search(line):
                raise InputError(
                    f"{name}, line {number}, is not valid {encoding}: byte 0x{ord(undecoded.group()) - 0xDC00:02x} at "
                    f"column {undecoded.start() + 1}; save it as UTF-8, or name its encoding (--encoding latin-1)."
                )
            yield line
    except UnicodeError:
        raise InputError(f"{name} is not written in {encoding}; name its encoding.") from None
    finally:
        file.detach()  # or it would close the stream


def kind_of(path: Path) -> str:
    """Return the ending of a file's name, without that of gzip."""
    return (Path(path.stem) if path.suffix == ".gz" else path).suffix.lower()


def line_rows(lines: Iterable[str], name: str, is_json: bool = False) -> Iterator[Row]:
    """Yield one document per line, as it is or as a JSON object; empty lines are no documents."""
    for number, line in enumerate(lines, start=1):
        place, bare = f"{name}, line {number}", line.strip()
        values: Any = {"text": bare} if bare else None
        if bare and is_json:
            values = _from_json(line.rstrip(), place, "one JSON object per line")
        if not isinstance(values, dict | None):
            raise InputError(f'{place}, is JSON but not an object; give one object such as {{"text": …}} per line.')
        yield place, values


def json_rows(lines: Iterable[str], name: str) -> Iterator[Row]:
    """Yield the documents of a JSON file: a list of objects or of texts, or an object that holds such a list."""
    found = _from_json("".join(lines), name, "a list of objects")
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else [found]
    if not isinstance(found, list):
        raise InputError(f"{name} holds no list of documents; give a list of objects or of texts.")
    for n, value in enumerate(found, start=1):
        values = {"text": value} if isinstance(value, str) else value
        if not isinstance(values, dict):
            raise InputError(f"{name}, item {n}, is {type(value).__name__}; give objects or texts.")
        yield f"{name}, item {n}", values


def _from_json(text: str, place: str, remedy: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON ({error.msg}, column {error.colno})"
    except RecursionError:
        problem = "is JSON nested too deeply to be read"
    except ValueError:
        problem = "holds a number of more digits than can be read"
    raise InputError(f"{place}, {problem}; give {remedy}.") from None


def csv_rows(lines: Iterable[str], name: str, delimiter: str | None = None) -> Iterator[Row]:
    """Yield rows of a delimited file with a header; the delimiter is by default the header's most frequent one."""
    source = iter(lines)
    first = next(source, "")
    if not first.strip():
        return
    usual_limit = csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(chain([first], source), delimiter=delimiter or max(",;\t", key=first.count), strict=True)
    start = 1
    try:
        header = [column.strip() for column in next(reader)]
        check_columns(header, f"{name}, line 1,")
        start = reader.line_num + 1
        for fields in reader:
            place, start = f"{name}, line {start}", reader.line_num + 1
            if fields and len(fields) != len(header):
                raise InputError(
                    f"{place}, has {len(fields)} fields but the header has {len(header)}; "
                    "put a field that holds the delimiter or a line break in double quotes."
                )
            yield place, dict(zip(header, fields)) if fields else None
    except csv.Error as error:
        problem = f"line {reader.line_num}, is malformed ({error}); check the double quotes near it."
        if "field limit" in str(error):
            problem = (
                f"line {start}, has a field longer than {LONGEST_LINE:,} characters; "
                "check the double quotes near it, or cut the document into smaller ones."
            )
        raise InputError(f"{name}, {problem}") from None
    finally:
        csv.field_size_limit(usual_limit)


def check_columns(columns: Sequence[str], place: str) -> None:
    name, times = Counter(columns).most_common(1)[0]
    if times > 1:
        raise InputError(f"{place} has two columns named {name!r}; give each column its own name.")


def whole_rows(lines: Iterable[str], name: str, is_markdown: bool = False) -> Iterator[Row]:
    """Yield the one document of a file."""
    kept: list[str] = []
    length = 0
    for line in lines:
        length += len(line)
        if length > LONGEST_LINE:
            raise InputError(f"{name} is longer than {LONGEST_LINE:,} characters; cut it into smaller documents.")
        kept.append(line)
    text = "".join(kept)
    for pattern, replacement in _MARKDOWN if is_markdown else ():
        text = pattern.sub(replacement, text)
    yield name, {"id": Path(name).stem, "text": text}


LINE_FILES: dict[str, Callable[[Iterable[str], str], Iterator[Row]]] = {
    ".csv": csv_rows,
    ".tsv": partial(csv_rows, delimiter="\t"),
    **dict.fromkeys((".jsonl", ".ndjson"), partial(line_rows, is_json=True)),
    ".txt": line_rows,
    ".json": json_rows,
    ".md": partial(whole_rows, is_markdown=True),
    **dict.fromkeys((".html", ".htm"), whole_rows),
}


def document_rows(path: Path, encoding: str) -> Iterator[Row]:
    """Yield the one row of a file of a folder, where a text file is one document too."""
    _check_here(path)
    kind, name = kind_of(path), str(path)
    if kind in PACKED_FILES:
        return whole_rows([packed_contents(path, kind)], name)
    read = whole_rows if kind == ".txt" else LINE_FILES[kind]
    return read(file_lines(path, encoding), name)


def parquet_parts(path: Path) -> list[Callable[[], Iterator[Row]]]:
    """Return a reader of each row group of a Parquet file."""
    with readable(path), _parquet(path) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
    starts = accumulate(sizes[:-1], initial=0) if sizes else ()
    return [partial(parquet_rows, path.absolute(), group, start) for group, start in enumerate(starts)]


def parquet_rows(path: Path, group: int, start: int) -> Iterator[Row]:
    """Yield the rows of a row group."""
    _check_here(path)
    number = count(start + 1)
    with readable(path), _parquet(path) as file:
        for batch in file.iter_batches(batch_size=1000, row_groups=[group]):
            yield from ((f"{path}, row {next(number)}", values) for values in batch.to_pylist())


def _parquet(path: Path) -> Any:
    return import_extra("pyarrow.parquet", f"Reading {path.name}", "parquet").ParquetFile(path)


@contextmanager
def readable(path: Path, remedy: str = "save it again") -> Iterator[None]:
    """Turn whatever a library raises for a damaged file into one message."""
    try:
        yield
    except InputError:
        raise
    except UnicodeDecodeError as error:
        byte = f"{error.reason}, byte 0x{error.object[error.start]:02x}"
        raise InputError(f"{path} has text that is not UTF-8 ({byte}); write the file again with valid text.") from None
    except Exception as error:
        reason = " ".join(str(error).split())[:120].rstrip(".")
        raise InputError(f"{path} cannot be read ({type(error).__name__}: {reason}); {remedy}.") from None


def _check_here(path: Path) -> None:
    if not path.exists():
        raise InputError(
            f"{path} is not there on {gethostname()}; put it in a folder that all machines of the cluster share."
        )


def batches(items: Iterable[Item], size: Callable[[Item], int], enough: int) -> Iterator[list[Item]]:
    """Yield the items in order, in lists that end where the sizes of their items sum to enough."""
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= enough:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def few(names: Sequence[Any], most: int = 8) -> str:
    """Return the first few names and how many more there are."""
    more = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def is_missing(value: Any) -> bool:
    """Return whether a cell has no value: None, NaN, or pandas' NA or NaT."""
    return not isinstance(value, str) and bool(is_scalar(value) and pd.isna(value))


def text_of(row: Row, column: str) -> Any:
    """Return the text of a row, or its tokens."""
    place, values = row
    if values is None or column not in values:
        raise InputError(f"{place}, has no {column!r}; give every document its text.")
    value = values[column]
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple) and all(isinstance(token, str) for token in value):
        return list(value)
    raise InputError(
        f"{place}, holds {type(value).__name__} {str(value)[:40]!r} in {column!r}; give text, or a list of tokens."
    )


def packed_contents(path: Path, kind: str) -> Any:
    """Return the text, the table or the counts of a file of a packed format; refuse a decompression bomb."""
    package, read = PACKED_FILES[kind]
    remedy = "save the counts with scipy.sparse.save_npz" if kind == ".npz" else "save it again"
    with readable(path, remedy), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = import_extra(package, f"Reading {path.name}", "files") if package else None
        return read(path, library, _unpacked_size(path))


def _word_text(path: Path, docx: Any, size: int) -> str:
    document = docx.Document(str(path))
    cells = (cell.text for table in document.tables for row in table.rows for cell in row.cells)
    return "\n\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])


def _pdf_text(path: Path, pypdf: Any, size: int) -> str:
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it cannot read is raised, too
    text = _HYPHENATED.sub("", "\n".join(page.extract_text() or "" for page in pypdf.PdfReader(str(path)).pages))
    if text.strip():
        return text
    raise InputError(f"{path} holds no text, only pictures; give it to a text recognition (OCR) first.")


def _excel_table(path: Path, openpyxl: Any, size: int) -> pd.DataFrame:
    return pd.read_excel(path, engine="openpyxl")


def _r_contents(path: Path, rdata: Any, size: int) -> Any:
    """Return a data frame, or what `_dfm` returns."""
    kinds = {**rdata.conversion.DEFAULT_CLASS_MAP, "dfm": _dfm}
    found = rdata.conversion.convert(rdata.parser.parse_file(path), kinds)
    for value in found.values() if isinstance(found, dict) else [found]:
        if isinstance(value, pd.DataFrame | tuple):
            return value
    raise InputError(f"{path} holds neither a data frame nor a quanteda dfm; save one of these.")


def _dfm(value: Any, slots: Any) -> Any:
    """Return counts, words, names and variables of the documents from the slots of quanteda's dfm."""
    shape = tuple(int(n) for n in slots["Dim"])
    counts = sparse.csc_array((slots["x"], slots["i"], slots["p"]), shape=shape)
    names = slots["Dimnames"]
    documents, words = names.values() if isinstance(names, dict) else names
    known = slots.get("docvars")
    if not isinstance(known, pd.DataFrame) or len(known) != len(documents):
        known = pd.DataFrame(index=range(len(documents)))
    metadata = known.drop(columns=["docname_", "docid_", "segid_"], errors="ignore").reset_index(drop=True)
    return counts, [str(word) for word in words], [str(name) for name in documents], metadata


def _matrix_market(path: Path, library: None, size: int) -> Any:
    if (n_rows := mminfo(path)[0]) > size:  # a file has at least a byte for every row
        raise ValueError(f"it announces {n_rows:,} rows in {size:,} bytes")
    return sparse.csr_array(mmread(path))


def _saved_counts(path: Path, library: None, size: int) -> Any:
    with path.open("rb") as file:
        counts = sparse.csr_array(sparse.load_npz(file))
    counts.check_format(full_check=True)  # places are within the bounds
    return counts


# The package that reads a kind of file, and how.
PACKED_FILES: dict[str, tuple[str, Callable[[Path, Any, int], Any]]] = {
    ".docx": ("docx", _word_text),
    ".pdf": ("pypdf", _pdf_text),
    ".xlsx": ("openpyxl", _excel_table),
    ".npz": ("", _saved_counts),
    ".mtx": ("", _matrix_market),
    **dict.fromkeys((".rds", ".rda", ".rdata"), ("rdata", _r_contents)),
}


def _unpacked_size(path: Path) -> int:
    size = 0
    if path.suffix.lower() in (".docx", ".xlsx", ".npz"):
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        _check_unpacked(path, size)
        return size
    with path.open("rb") as file:
        head = file.read(3)
        file.seek(0)
        packed: Any = {b"\x1f\x8b\x08": gzip, b"BZh": bz2, b"\xfd7z": lzma}.get(head)
        with packed.open(file) if packed else nullcontext(file) as unpacked:
            while part := unpacked.read(1 << 20):
                size += len(part)
                _check_unpacked(path, size)
    return size


def _check_unpacked(path: Path, size: int) -> None:
    if size > MOST_UNPACKED and size > LARGEST_RATIO * path.stat().st_size:
        raise InputError(
            f"{path} unpacks to more than {size / 1e6:,.0f} MB, {LARGEST_RATIO} times its size, which looks like a "
            "decompression bomb; give the plain file if it is not."
        )


def guessed_encoding(path: Path) -> str | None:
    """Return the likely encoding of a text file that is not UTF-8; None if it is, or nothing is likely.

    A file with UTF-8 sequences of several bytes is taken for a damaged UTF-8 file.
    """
    if path.suffix.lower() not in (".csv", ".tsv", ".txt", ".md", ".html", ".htm") or not path.is_file():
        return None
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    try:
        sample.decode("utf-8")
        return None
    except UnicodeDecodeError as error:
        n_high = sum(byte >= 0x80 for byte in sample)
        if error.start >= len(sample) - 4 or sum(map(len, _MULTIBYTE.findall(sample))) > n_high / 2:
            return None
    try:
        normalizer = importlib.import_module("charset_normalizer")
    except ImportError:
        return None
    best = normalizer.from_bytes(sample, cp_isolation=_ENCODINGS).best()
    if best is None:
        return None
    return "cp1252" if best.encoding == "cp1250" and best.language not in _CENTRAL else str(best.encoding)


def files_of(path: Path) -> list[Path]:
    return sorted(one for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())


def digest(source: str | Path) -> str | None:
    """Return a fingerprint of a file or folder, None of what is neither (standard input, the name of a pipeline)."""
    stats = [(path, path.stat()) for path in files_of(Path(source))]
    files = tuple((path, one.st_size, one.st_mtime_ns) for path, one in stats)
    return _content(str(source), files) if files else None


@lru_cache(maxsize=16)
def _content(source: str, files: tuple[tuple[Path, int, int], ...]) -> str:
    """Read the files, once in a process while their sizes and times stay the same."""
    found = hashlib.sha256()
    for path, *_ in files:
        found.update(f"{os.path.relpath(path, source)}\0".encode())
        with path.open("rb") as stream:
            hashlib.file_digest(stream, lambda: found)
    return found.hexdigest()
