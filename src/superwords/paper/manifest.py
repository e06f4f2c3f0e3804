"""Manifest of a paper: what is needed to fit its model again from its data, and to compare the results."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.fit import fit
from superwords.storage.model import plain_settings
from superwords.storage.model_file import Choice
from superwords.tabular import plain, records
from superwords.text.corpus import Corpus
from superwords.text.files import digest

FORMAT = 1
_PACKAGES = ("superwords", "numpy", "scipy", "numba", "scikit-learn", "pandas", "HanTa")
_WORDS = 10
# Seed and schedule are recorded separately.
_NOT_OURS = ("n_jobs", "random_state", "n_sweeps", "n_burn_in", "thin")
_FOUND_AGAIN = 0.5  # share of a concept's words that the new one must have


def make_manifest(model: ConceptModel, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return what is needed to repeat the fit from its data and compare results."""
    sampled = model.sampled_
    settings = {name: one for name, one in plain_settings(model.get_params()).items() if name not in _NOT_OURS}
    table = model.concepts(_WORDS).rename(columns={"top_words": "words"})
    bits = (np.ascontiguousarray(one, "<f8") for one in (sampled.concept_word, sampled.trace_values["log_joint"]))
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
        "results": {
            "digest": _digest(*bits),
            "n_concepts": len(table),
            "concepts": records(table[["concept", "name", "prevalence", "words"]]),
        },
        "files": dict(files or {}),
    }


def data_facts(corpus: Corpus) -> dict[str, Any]:
    """Return the source of a corpus, its sizes, and a fingerprint of ids, words and counts, whatever their source."""
    source, counts = corpus.notes.get("source") or {}, corpus.counts
    return {
        "file": source.get("file"),
        "sha256": source.get("sha256"),
        "rows": corpus.n_documents,
        "words": corpus.n_words,
        "tokens": int(counts.sum()),
        "fingerprint": _digest(
            *(json.dumps(texts).encode() for texts in (corpus.ids, corpus.vocabulary)),
            *(np.ascontiguousarray(one, "<i8") for one in (counts.indptr, counts.indices, counts.data)),
        ),
    }


def _digest(*contents: Any) -> str:
    found = hashlib.sha256()
    for one in contents:
        found.update(one)
    return found.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of all that decides the bits of a run."""
    out = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            out[name] = version(name)
    return out


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


class Verification(NamedTuple):
    """Compare a new fit with the manifest's."""

    same_data: bool
    same_bits: bool
    versions: dict[str, tuple[str | None, str | None]]  # those that differ: recorded and installed
    n_concepts: tuple[int, int]  # recorded and new
    n_found_again: int  # concepts of the manifest with a partner in the new fit
    largest_change: float  # in the prevalence of these

    @property
    def passed(self) -> bool:
        """Whether the bits agree, or versions differ and all concepts are found again."""
        again = self.n_found_again == self.n_concepts[0]
        return self.same_bits or (self.same_data and bool(self.versions) and again)

    def lines(self) -> list[str]:
        """Return the comparison as sentences."""
        out = ["The data are the same." if self.same_data else "The data differ from those of the manifest."]
        for name, (before, installed) in self.versions.items():
            out.append(f"{name} was {before or 'not installed'} and is {installed or 'not installed'}.")
        if self.same_bits:
            return [*out, "The new fit has the same bits as the paper's."]
        then, now = self.n_concepts
        again = f"{self.n_found_again} of the {then} are found again, with prevalences that differ by at most"
        change = f"{100 * self.largest_change:.1f} percentage points"
        return [*out, f"The new fit differs: {now} concepts instead of {then}; {again} {change}."]


def verify(
    manifest: str | Path, documents: Any, *, features: Any = None, n_jobs: int | None = None, progress: Any = False
) -> Verification:
    """Fit the model of a manifest again and compare the results.

    Parameters
    ----------
    manifest : str or Path
        The manifest.json that `superwords write` made.
    documents : path, DataFrame, list of str or Corpus
        The data.
    features : array, optional
        The features of words, where the model was fitted with an array of them.
    n_jobs, progress
        As in `superwords.fit`.
    """
    recorded = read_manifest(manifest)
    reading = dict(recorded.get("reading") or {})
    if not reading and not isinstance(documents, Corpus):
        raise InputError(
            "The model was fitted from counts or from a Corpus in Python, so the manifest does not record how texts "
            "are read; give the same Corpus to superwords.paper.verify."
        )
    spec = reading.get("features", "auto")
    if spec == "array" and features is None:
        raise InputError(
            "The model was fitted with an array of features, which is not in the data; give it to "
            "superwords.paper.verify(manifest, documents, features=…)."
        )
    settings = recorded["settings"] | recorded["schedule"] | reading
    settings |= {"random_state": recorded["seed"], "features": features if spec == "array" else spec}
    settings = {name: value for name, value in settings.items() if name not in ("file", "sha256")}
    model = fit(documents, **settings, n_jobs=n_jobs, progress=progress)
    then, now = recorded["data"], data_facts(model.corpus_)
    is_file = isinstance(documents, str | Path) and then["sha256"] is not None
    same_data = then["fingerprint"] == now["fingerprint"] or (is_file and digest(documents) == then["sha256"])
    try:
        model.choose([Choice(**one) for one in recorded["decisions"]])
    except InputError as error:
        if same_data:
            raise
        problem = "The data differ from those of the manifest, and its decisions do not apply to the concepts found"
        raise InputError(f"{problem} in them: {error}") from error
    old, new, current = recorded["results"], make_manifest(model)["results"], versions()
    pairs = {name: (recorded["versions"].get(name), current.get(name)) for name in {**recorded["versions"], **current}}
    changes = []  # in prevalence, of the concepts that have a partner by words
    for one in old["concepts"]:
        words = set(one["words"])
        shared = [(len(words & set(b["words"])) / max(len(words), 1), b["prevalence"]) for b in new["concepts"]]
        overlap, prevalence = max(shared, default=(0.0, 0.0))
        if overlap >= _FOUND_AGAIN:
            changes.append(abs(prevalence - one["prevalence"]))
    return Verification(
        same_data,
        new["digest"] == old["digest"],
        {name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
        (old["n_concepts"], new["n_concepts"]),
        len(changes),
        max(changes, default=0.0),
    )
