"""Finished runs in a folder: an interrupted comparison continues, and one with more seeds adds to it."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import superwords
from superwords.compare.contenders import Found
from superwords.files import atomic_file
from superwords.text.corpus import Corpus

PACKAGE = Path(superwords.__file__).parent
ADAPTERS = (PACKAGE / "compare" / "peers", PACKAGE / "compare" / "baselines.py")


class Keeper:
    """Runs by all they depend on: the counts, the settings, and the sources (of a peer: its adapter and version)."""

    def __init__(self, folder: Path | None, corpora: Sequence[Corpus]):
        self.folder = folder
        self.fingerprint = _of_corpora(corpora) if folder else ""

    def get(self, what: Mapping[str, Any], library: str | None, make: Callable[[], Found]) -> Found:
        """Return the kept run, or a new one, which is then kept."""

        def to_arrays() -> dict[str, np.ndarray]:
            found = make()._asdict()
            return {name: np.asarray(value) for name, value in found.items() if value is not None}

        arrays = self.get_arrays(what, library, to_arrays)
        return Found(arrays["weights"], arrays["holds"], float(arrays["seconds"]), arrays.get("predicted"))

    def get_arrays(
        self, what: Mapping[str, Any], library: str | None, make: Callable[[], dict[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """Return the kept arrays of a run, or new ones, which are then kept."""
        if self.folder is None:
            return make()
        made_by = metadata.version(library) + _of_sources(*ADAPTERS) if library else _of_sources(PACKAGE)
        key = json.dumps([self.fingerprint, made_by, what], sort_keys=True)
        path = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"
        try:
            with np.load(path, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):  # none yet, or half of one
            arrays = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        return arrays


def _of_corpora(corpora: Sequence[Corpus]) -> str:
    digest = hashlib.sha256("\n".join(corpora[0].vocabulary).encode())
    for corpus in corpora:
        sentences = corpus.sentences
        for matrix in (corpus.counts, *(() if sentences is None else (sentences,))):
            for array in (matrix.indptr, matrix.indices, matrix.data):
                digest.update(np.ascontiguousarray(array).astype(np.int64).tobytes())
    return digest.hexdigest()


@cache
def _of_sources(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
