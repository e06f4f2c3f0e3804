"""Documents in the files that people have: Word, PDF, HTML, Markdown, Excel, JSON, R; and guesses of encodings.

What needs a package of the extra `files` says so where it is missing.
"""

from __future__ import annotations

import importlib
import logging
import re
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import sparse
from scipy.io import mmread

from superwords.errors import InputError

DOCUMENT_FILES = (".txt", ".md", ".html", ".htm", ".docx", ".pdf")  # one document each, in a folder
R_FILES = (".rds", ".rda", ".rdata")
MOST_UNPACKED = 500_000_000  # bytes of an archive, if it unpacks to more than
LARGEST_RATIO = 200  # times its size
_SAMPLE = 1 << 18  # bytes from which an encoding is guessed
_MULTIBYTE = re.compile(rb"[\xc3-\xf4][\x80-\xbf]")
_PACKAGES = {"docx": "python-docx", "pypdf": "pypdf", "openpyxl": "openpyxl", "rdata": "rdata"}
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_MARKDOWN = [
    (re.compile(r"^(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,1000}\)"), r"\1"),
    (re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]|>[ \t]?)", re.MULTILINE), ""),
    (re.compile(r"(\*\*|__|`)"), ""),
]


def _package(name: str, path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        raise InputError(
            f"Reading {path.name} needs {_PACKAGES[name]}; install the extra superwords[files]."
        ) from None


def document_text(path: Path, raw: Any) -> str:
    """Return the text of a file that is one document; `raw` reads it as plain text."""
    kind = path.suffix.lower()
    if kind not in (".docx", ".pdf"):
        text = str(raw())
        for pattern, replacement in _MARKDOWN if kind == ".md" else ():
            text = pattern.sub(replacement, text)
        return text
    try:
        return _word_text(path) if kind == ".docx" else _pdf_text(path)
    except (InputError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # the readers raise many kinds for damaged files
        raise _damaged(path, error) from None


def _word_text(path: Path) -> str:
    package = _package("docx", path)
    check_archive(path)
    document = package.Document(str(path))
    cells = (cell.text for table in document.tables for row in table.rows for cell in row.cells)
    return "\n\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])


def _pdf_text(path: Path) -> str:
    package = _package("pypdf", path)
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it cannot read is raised, too
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = package.PdfReader(str(path))
        pages = [page.extract_text() or "" for page in reader.pages]
    text = _HYPHENATED.sub("", "\n".join(pages))
    if not text.strip():
        raise InputError(f"{path} holds no text, only pictures; give it to a text recognition (OCR) first.")
    return text


def excel_table(path: Path) -> pd.DataFrame:
    """Return the first sheet of an Excel file, whose first row names the columns."""
    _package("openpyxl", path)
    check_archive(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pd.read_excel(path, engine="openpyxl")
    except Exception as error:
        raise _damaged(path, error) from None


def r_contents(path: Path) -> Any:
    """Return a data frame, or what `_dfm` returns, from an R file."""
    rdata = _package("rdata", path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = rdata.parser.parse_file(path)
            found = rdata.conversion.convert(parsed, {**rdata.conversion.DEFAULT_CLASS_MAP, "dfm": _dfm})
    except InputError:
        raise
    except Exception as error:
        raise _damaged(path, error) from None
    values = list(found.values()) if isinstance(found, dict) else [found]
    for value in values:
        if isinstance(value, pd.DataFrame | tuple):
            return value
    raise InputError(f"{path} holds neither a data frame nor a quanteda dfm; save one of these.")


def _dfm(value: Any, attributes: Any) -> Any:
    """Return counts, words, names and variables of the documents from the slots of quanteda's dfm."""
    get = attributes.__getitem__
    shape = tuple(int(n) for n in get("Dim"))
    counts = sparse.csc_array((get("x"), get("i"), get("p")), shape=shape)
    documents, words = get("Dimnames").values() if isinstance(get("Dimnames"), dict) else get("Dimnames")
    known = attributes.get("docvars")
    if not isinstance(known, pd.DataFrame) or len(known) != len(documents):
        known = pd.DataFrame(index=range(len(documents)))
    own = [name for name in known.columns if name not in ("docname_", "docid_", "segid_")]
    metadata = known[own].reset_index(drop=True)
    return counts, [str(word) for word in words], [str(name) for name in documents], metadata


def matrix_market(path: Path) -> Any:
    """Return the counts of a Matrix Market file."""
    try:
        return sparse.csr_array(mmread(path))
    except Exception as error:
        raise _damaged(path, error) from None


def saved_counts(path: Path) -> Any:
    """Return the counts of a file of `scipy.sparse.save_npz`, whose places are within its bounds."""
    try:
        with path.open("rb") as file:
            counts = sparse.csr_array(sparse.load_npz(file))
        counts.check_format(full_check=True)
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; save the counts with it.") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, MemoryError):
        raise InputError(f"{path} is damaged; save the counts again with scipy.sparse.save_npz.") from None
    except Exception:
        raise InputError(
            f"{path} is not a matrix saved by scipy.sparse.save_npz; save the counts with it."
        ) from None
    return counts


def check_archive(path: Path) -> None:
    """Refuse a zip archive (.docx, .xlsx) that would unpack to far more than a document has."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise _damaged(path, error) from None
    check_unpacked(path, size)


def check_unpacked(path: Path, size: int) -> None:
    """Refuse decompression bombs."""
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
        if error.start >= len(sample) - 4 or (
            _MULTIBYTE.search(sample) and not sample.startswith(b"\xff\xfe")
        ):
            return None
    try:
        normalizer = importlib.import_module("charset_normalizer")
    except ImportError:
        return None
    best = normalizer.from_bytes(sample).best()
    return None if best is None else str(best.encoding)


def _damaged(path: Path, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:120]
    return InputError(f"{path} cannot be read ({type(error).__name__}: {reason}); save it again.")
