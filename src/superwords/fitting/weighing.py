"""Any number of new documents weighed, part by part, by all cores or the cluster: each part a Parquet file of its own.

A part appears whole or not at all, so an interrupted run continues with the missing parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.curation import merged_weights
from superwords.analysis.tables import source_shares, sources
from superwords.cluster import packed, spread, unpacked
from superwords.errors import InputError
from superwords.files import atomic_path, write_atomic
from superwords.fitting.folding import fold, fold_elsewhere, kept_concepts
from superwords.sampler.leave_one_out import LeaveOneOutCounts
from superwords.storage.model_file import Choice
from superwords.text.corpus import Corpus
from superwords.text.files import TextStream, batches
from superwords.text.sources import Documents

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

KEY_FILE = "parts.json"
_PART_CHARACTERS = 2_000_000


class Part(NamedTuple):
    """Some documents: their texts, or where a worker finds them."""

    number: int
    ids: list[str]
    languages: list[str]
    texts: list[str] | TextStream


class Weighed(NamedTuple):
    n_documents: int
    n_empty: int  # without any word that the model knows
    n_unknown: int  # tokens of words that it does not know


@dataclass(frozen=True)
class Weigher:
    """All that a worker needs of a model."""

    concepts: LeaveOneOutCounts
    seed: int
    vocabulary: list[str]
    recipe: Mapping[str, Any]
    unit: str
    choices: Sequence[Choice]
    shown: Sequence[int]
    folder: Path

    def write(self, part: Part) -> Weighed:
        new = Corpus.from_texts(
            part.texts,
            part.ids,
            language=part.languages,
            unit=self.unit,
            recipe=self.recipe,
            vocabulary=self.vocabulary,
            keep_texts=False,
            n_jobs=1,
        )
        weights = merged_weights(fold(self.concepts, new.counts, self.seed, n_jobs=1).weight, self.choices)
        ids = new.ids
        if new.parent is not None:
            weights, ids = source_shares(new) @ weights, sources(new)[0]
        with atomic_path(part_path(self.folder, part.number)) as path:
            weight_table(ids, weights, self.shown).to_parquet(path, index=False)
        n_empty = int((weights.sum(axis=1) == 0).sum())
        return Weighed(len(ids), n_empty, int(new.notes.get("unknown_words", 0)))


def weight_table(ids: list[str], weights: Any, concepts: Sequence[int]) -> pd.DataFrame:
    """Return a row per document, and a column per concept, whose numbers are given."""
    dense = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
    names = [f"concept_{j}" for j in concepts]
    table = pd.DataFrame(dense, columns=pd.Index(names))
    table.insert(0, "document", ids)
    return table


def part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05}.parquet"


def write_parts(
    model: ConceptModel,
    documents: Documents,
    languages: str | Sequence[str],
    unit: str,
    folder: Path,
    key: Mapping[str, Any],
    n_jobs: int | None = None,
) -> Iterator[Weighed]:
    """Weigh documents into a folder of Parquet files; gives what each part held, as it is finished.

    `key` identifies the weights: parts that a run with the same key left in the folder are not made again.
    """
    if find_spec("pyarrow") is None:
        raise InputError("Parquet files need pyarrow; install the extra superwords[parquet].")
    _begin(folder, key)
    weigher = Weigher(
        kept_concepts(model),
        model.seed_,
        model.corpus_.vocabulary,
        model.corpus_.notes["recipe"],
        unit,
        model.choices_,
        model.result_.shown,
        folder.resolve(),
    )
    # Packed: joblib would share its arrays read-only, for which kernels are compiled anew.
    work = partial(_write, packed(weigher))
    missing = (part for part in _parts(documents, languages) if not part_path(folder, part.number).exists())
    return spread(work, missing, n_jobs)


def _write(weigher: bytes, part: Part) -> Weighed:
    return fold_elsewhere(unpacked(weigher).write, part)


def _begin(folder: Path, key: Mapping[str, Any]) -> None:
    recorded = json.dumps(dict(key), sort_keys=True).encode()
    try:
        folder.mkdir(exist_ok=True)
        file = folder / KEY_FILE
        if file.exists() and file.read_bytes() == recorded:
            return
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty and holds no parts of these weights; give another folder.")
        write_atomic(file, recorded)
    except OSError as error:
        raise InputError(f"Parts cannot be written to {folder}: {error.strerror or error}.") from error


def _parts(documents: Documents, languages: str | Sequence[str]) -> Iterator[Part]:
    ids = iter(documents.ids)
    codes: Iterator[str] = repeat(languages) if isinstance(languages, str) else iter(languages)
    cut: Iterable[list[str] | TextStream] = getattr(documents.texts, "pieces", ())
    if len(getattr(documents.texts, "pieces", ())) < 2:
        cut = batches(documents.texts, len, _PART_CHARACTERS)
    for number, texts in enumerate(cut):
        yield Part(number, list(islice(ids, len(texts))), list(islice(codes, len(texts))), texts)
