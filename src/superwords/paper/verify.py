"""Fit a paper's model again from its manifest and its data, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.fit import fit
from superwords.paper.manifest import data_facts, read_manifest, results, versions
from superwords.storage.model_file import Choice
from superwords.text.corpus import Corpus
from superwords.text.files import digest

_FOUND_AGAIN = 0.5  # share of a concept's words that the new one must have


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
        out = [
            "The data are the same." if self.same_data else "The data differ from those of the manifest.",
            *(
                f"{name} was {then or 'not installed'} and is {now or 'not installed'}."
                for name, (then, now) in self.versions.items()
            ),
        ]
        if self.same_bits:
            return [*out, "The new fit has the same bits as the paper's."]
        then, now = self.n_concepts
        return [
            *out,
            f"The new fit differs: {now} concepts instead of {then}; {self.n_found_again} of the {then} are found "
            f"again, with prevalences that differ by at most {100 * self.largest_change:.1f} percentage points.",
        ]


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
    settings = _settings(recorded, reading, features)
    model = fit(documents, **settings, n_jobs=n_jobs, progress=progress)
    try:
        model.choose([Choice(**one) for one in recorded["decisions"]])
    except InputError as error:
        if _same_data(recorded, model, documents):
            raise
        raise InputError(
            "The data differ from those of the manifest, and its decisions do not apply to the concepts found in them: "
            f"{error}"
        ) from error
    return _compare(recorded, model, documents)


def _same_data(recorded: dict[str, Any], model: ConceptModel, documents: Any) -> bool:
    then = recorded["data"]
    if then["fingerprint"] == data_facts(model.corpus_)["fingerprint"]:
        return True
    is_file = isinstance(documents, str | Path) and then["sha256"] is not None
    return is_file and digest(documents) == then["sha256"]


def _settings(recorded: dict[str, Any], reading: dict[str, Any], features: Any) -> dict[str, Any]:
    """Return the arguments of `superwords.fit`."""
    for name in ("file", "sha256"):
        reading.pop(name, None)
    spec = reading.pop("features", "auto")
    if spec == "array":
        if features is None:
            raise InputError(
                "The model was fitted with an array of features, which is not in the data; give it to "
                "superwords.paper.verify(manifest, documents, features=…)."
            )
        spec = features
    return {
        **recorded["settings"],
        **recorded["schedule"],
        **reading,
        "random_state": recorded["seed"],
        "features": spec,
    }


def _compare(recorded: dict[str, Any], model: ConceptModel, documents: Any) -> Verification:
    new = results(model)
    n_found, change = _found_again(recorded["results"]["concepts"], new["concepts"])
    current = versions()
    differing = {
        name: (recorded["versions"].get(name), current.get(name))
        for name in {**recorded["versions"], **current}
        if recorded["versions"].get(name) != current.get(name)
    }
    return Verification(
        _same_data(recorded, model, documents),
        new["digest"] == recorded["results"]["digest"],
        differing,
        (recorded["results"]["n_concepts"], new["n_concepts"]),
        n_found,
        change,
    )


def _found_again(then: list[dict[str, Any]], now: list[dict[str, Any]]) -> tuple[int, float]:
    """Return how many concepts have a partner by words, and their largest change.

    The change is that of the prevalence.
    """
    n_found, change = 0, 0.0
    for one in then:
        words = set(one["words"])
        shared = [(len(words & set(other["words"])) / max(len(words), 1), other["prevalence"]) for other in now]
        overlap, prevalence = max(shared, default=(0.0, 0.0))
        if overlap >= _FOUND_AGAIN:
            n_found += 1
            change = max(change, abs(prevalence - one["prevalence"]))
    return n_found, change
