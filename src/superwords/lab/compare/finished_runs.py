"""Finished runs kept in a folder, so that an interrupted comparison goes on, and one with more seeds adds to it."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import superwords
from superwords.files import whole_file
from superwords.lab.compare.contenders import Found
from superwords.lab.compare.splitting import Split


class Keeper:
    """Runs by all they depend on: the counts, this program's sources, the peer's version, and the settings."""

    def __init__(self, folder: Path | None, split: Split):
        self.folder = folder
        self.fingerprint = _of_split(split) + _of_sources() if folder else ""

    def get(self, what: Mapping[str, Any], library: str | None, make: Callable[[], Found]) -> Found:
        """The kept run, or a new one, which is then kept."""
        if self.folder is None:
            return make()
        version = metadata.version(library) if library else ""
        key = json.dumps([self.fingerprint, version, what], sort_keys=True)
        path = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"
        kept = _read(path)
        if kept is None:
            kept = make()
            _write(path, kept)
        return kept


def _read(path: Path) -> Found | None:
    try:
        with np.load(path, allow_pickle=False) as stored:
            predicted = stored.get("predicted")
            seconds, peak_mb = stored["took"].tolist()
            return Found(stored["weights"], stored["holds"], seconds, peak_mb, predicted)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _write(path: Path, found: Found) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        "weights": found.weights,
        "holds": found.holds,
        "took": np.array([found.seconds, found.peak_mb]),
    }
    if found.predicted is not None:
        arrays["predicted"] = found.predicted
    with whole_file(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _of_split(split: Split) -> str:
    digest = hashlib.sha256("\n".join(split.windows.vocabulary).encode())
    for corpus in (split.documents, split.windows, split.held_out):
        sentences = corpus.sentences
        for matrix in (corpus.counts, *(() if sentences is None else (sentences,))):
            for array in (matrix.indptr, matrix.indices, matrix.data):
                digest.update(np.ascontiguousarray(array).astype(np.int64).tobytes())
    return digest.hexdigest()


@cache
def _of_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(superwords.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
