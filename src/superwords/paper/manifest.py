"""Manifest of a paper: the data's fingerprint, settings, versions and results."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superwords.errors import InputError
from superwords.storage.model import plain_settings
from superwords.tabular import plain

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel
    from superwords.text.corpus import Corpus

FORMAT = 1
_PACKAGES = ("superwords", "numpy", "scipy", "numba", "scikit-learn", "pandas", "HanTa")
_WORDS = 10
# Seed and schedule are recorded separately.
_NOT_OURS = ("n_jobs", "random_state", "n_sweeps", "n_burn_in", "thin")


def make_manifest(model: ConceptModel, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return what is needed to repeat the fit from its data and compare results."""
    settings = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in plain_settings(model.get_params()).items()
        if name not in _NOT_OURS
    }
    return {
        "manifest": FORMAT,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "data": data_facts(model.corpus_),
        "reading": model.corpus_.notes.get("source"),
        "settings": plain(settings),
        "seed": model.seed_,
        "schedule": model.schedule_._asdict(),
        "decisions": [one._asdict() for one in model.choices_],
        "results": results(model),
        "files": dict(files or {}),
    }


def versions() -> dict[str, str]:
    """Return the versions of all that decides the bits of a run."""
    out = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _PACKAGES:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    return out


def data_facts(corpus: Corpus) -> dict[str, Any]:
    source = corpus.notes.get("source") or {}
    return {
        "file": source.get("file"),
        "sha256": source.get("sha256"),
        "rows": corpus.n_documents,
        "words": corpus.n_words,
        "tokens": int(corpus.counts.sum()),
        "fingerprint": fingerprint(corpus),
    }


def fingerprint(corpus: Corpus) -> str:
    """Return a digest of ids, words and counts, independent of the source file."""
    found = hashlib.sha256()
    for texts in (corpus.ids, corpus.vocabulary):
        found.update(json.dumps(texts).encode())
    counts = corpus.counts
    for values in (counts.indptr, counts.indices, counts.data):
        found.update(np.ascontiguousarray(values, "<i8").tobytes())
    return found.hexdigest()


def results(model: ConceptModel) -> dict[str, Any]:
    """Return a digest of the draws, and the concepts to compare if it differs."""
    sampled = model.sampled_
    found = hashlib.sha256()
    for values in (np.asarray(sampled.concept_word), sampled.trace_values["log_joint"]):
        found.update(np.ascontiguousarray(values, "<f8").tobytes())
    table = model.concepts(_WORDS)
    rows = zip(table["concept"], table["name"], table["prevalence"], table["top_words"])
    concepts = [
        {"concept": int(j), "name": name, "prevalence": float(share), "words": list(words)}
        for j, name, share, words in rows
    ]
    return {"digest": found.hexdigest(), "n_concepts": len(concepts), "concepts": concepts}


def read_manifest(path: str | Path) -> dict[str, Any]:
    """Read a manifest, or raise an error that names what is wrong with it."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The manifest {str(path)!r} cannot be read: {error.strerror or error}.") from None
    except ValueError:
        raise InputError(f"{str(path)!r} is not JSON; give the manifest.json that `superwords write` made.") from None
    if not isinstance(content, dict) or content.get("manifest") != FORMAT:
        raise InputError(f"{str(path)!r} is not a manifest of this version; give one that `superwords write` made.")
    missing = {"versions", "data", "settings", "seed", "schedule", "decisions", "results"} - set(content)
    if missing:
        raise InputError(f"The manifest {str(path)!r} lacks {', '.join(sorted(missing))}.")
    return content
