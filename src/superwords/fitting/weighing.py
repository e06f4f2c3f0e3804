"""Any number of new documents weighed, part by part, by all cores or the cluster: each part a Parquet file of its own.

A part appears whole or not at all, so an interrupted run continues with the missing parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.curation import merged
from superwords.analysis.tables import source_shares, sources
from superwords.cluster import packed, spread, unpacked
from superwords.errors import InputError
from superwords.files import atomic_path, write_atomic
from superwords.fitting.folding import fold, fold_elsewhere, kept_concepts
from superwords.text.corpus import Corpus
from superwords.text.files import TextStream, batches
from superwords.text.sources import Documents

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

KEY_FILE = "parts.json"
_PART_CHARACTERS = 2_000_000
_Part = tuple[Path, list[str], list[str], list[str] | TextStream]  # file, ids, languages, texts or where they are


class Weighed(NamedTuple):
    n_documents: int
    n_empty: int  # without any word that the model knows
    n_unknown: int  # tokens of words that it does not know


def weight_table(ids: list[str], weights: Any, concepts: Sequence[int]) -> pd.DataFrame:
    """Return a row per document, and a column per concept, whose numbers are given."""
    dense = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
    table = pd.DataFrame(dense, columns=pd.Index([f"concept_{j}" for j in concepts]))
    table.insert(0, "document", ids)
    return table


def write_parts(
    model: ConceptModel,
    documents: Documents,
    languages: str | Sequence[str],
    unit: str,
    folder: Path,
    key: Mapping[str, Any],
    n_jobs: int | None = None,
) -> Iterator[Weighed]:
    """Weigh documents into a folder of Parquet files; yield what each part held, as it is finished.

    `key` identifies the weights: parts that a run with the same key left in the folder are not made again.
    """
    if find_spec("pyarrow") is None:
        raise InputError("Parquet files need pyarrow; install the extra superwords[parquet].")
    recorded, file = json.dumps(dict(key), sort_keys=True).encode(), folder / KEY_FILE
    try:
        folder.mkdir(exist_ok=True)
        if not (file.exists() and file.read_bytes() == recorded):
            if any(folder.iterdir()):
                raise InputError(f"{folder} is not empty and holds no parts of these weights; give another folder.")
            write_atomic(file, recorded)
    except OSError as error:
        raise InputError(f"Parts cannot be written to {folder}: {error.strerror or error}.") from error
    corpus = model.corpus_
    reading = {"unit": unit, "recipe": corpus.notes["recipe"], "vocabulary": corpus.vocabulary, "keep_texts": False}
    # Packed: joblib would share its arrays read-only, for which kernels are compiled anew.
    given = packed((kept_concepts(model), model.seed_, model.choices_, model.result_.shown, reading))
    write = partial(fold_elsewhere, partial(_write_part, given))
    return spread(write, _missing(documents, languages, folder.resolve()), n_jobs)


def _missing(documents: Documents, languages: str | Sequence[str], folder: Path) -> Iterator[_Part]:
    ids = iter(documents.ids)
    codes: Iterator[str] = repeat(languages) if isinstance(languages, str) else iter(languages)
    pieces = getattr(documents.texts, "pieces", ())
    cut = pieces if len(pieces) > 1 else batches(documents.texts, len, _PART_CHARACTERS)
    for number, texts in enumerate(cut):
        part = list(islice(ids, len(texts))), list(islice(codes, len(texts))), texts
        path = folder / f"part-{number:05}.parquet"
        if not path.exists():
            yield path, *part


def _write_part(given: bytes, part: _Part) -> Weighed:
    """Weigh one part, in a worker."""
    concepts, seed, choices, shown, reading = unpacked(given)
    path, ids, languages, texts = part
    new = Corpus.from_texts(texts, ids, language=languages, n_jobs=1, **reading)
    weights = merged(fold(concepts, new.counts, seed, n_jobs=1).weight, choices)
    ids = new.ids
    if new.parent is not None:
        weights, ids = source_shares(new) @ weights, sources(new)[0]
    with atomic_path(path) as temporary:
        weight_table(ids, weights, shown).to_parquet(temporary, index=False)
    n_empty = int((weights.sum(axis=1) == 0).sum())
    return Weighed(len(ids), n_empty, int(new.notes.get("unknown_words", 0)))
