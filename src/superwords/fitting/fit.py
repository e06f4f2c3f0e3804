"""`superwords.fit`: from documents of any kind to their concepts."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from superwords.cluster import joined
from superwords.errors import InputError
from superwords.features.word_vectors import WORDLLAMA
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.settings import check_model
from superwords.progress import make_watcher
from superwords.text.corpus import Corpus
from superwords.text.files import digest
from superwords.text.read import WORD_OPTIONS, check_options, read_documents

READING = ("language", "unit", "keep_texts", "vocabulary", "tokenizer", "encoding", "date_format", *WORD_OPTIONS)
_OWN = ("features", "row_vectors")


def fit(
    documents: Any,
    text: str | None = None,
    id: str | None = None,
    groups: str | Sequence[str] | None = None,
    language: str | Sequence[str] = "en",
    n_chains: int = defaults.N_CHAINS,
    n_sweeps: int = defaults.N_SWEEPS,
    random_state: Any = None,
    cluster: str | None = None,
    *,
    features: Any = defaults.FEATURES,
    n_jobs: int | None = None,
    progress: Any = defaults.PROGRESS,
    **options: Any,
) -> ConceptModel:
    """Find the concepts of documents: all that the command `superwords fit` does, with the same defaults.

    Parameters
    ----------
    documents : list of str, Series, DataFrame, path or Corpus
        Texts; or the path of a .csv, .tsv, .jsonl (each also .gz), .parquet, .txt (a document per line) or .npz file,
        or of a folder of .txt files.
    text, id : str, optional
        The columns that hold the text ("text", or the only column, if not given) and the name ("id") of each document.
    groups : str or list of str, optional
        Columns to compare later, such as party.
    language : str or list of str
        A code such as "en", one code per document, or "column:NAME" for the column that holds them.
    n_chains, n_sweeps, random_state, cluster, n_jobs, progress
        As of `ConceptModel`.
    features
        As of `ConceptModel.fit`; also names as in "cooccurrence,seeds:FILE".
    **options
        How rows and words are found (`unit`, `min_df`, `max_df`, `words`, `tagger`, `lemmas`, `drop`,
        `drop_procedural`, `tokenizer`, `encoding`, `date_format`, `keep_texts` and, for ready counts, `vocabulary`;
        see `Corpus.from_texts`), every other parameter of `ConceptModel`, and `row_vectors` of its `fit`. If `unit` is
        not given, long documents are read as passages of five sentences.

    Returns
    -------
    ConceptModel

    Examples
    --------
    >>> import superwords
    >>> texts = ["Milk and sugar for the coffee.", "The boat left the harbour at high tide."] * 10
    >>> model = superwords.fit(texts, min_df=2, n_sweeps=20, random_state=1, n_jobs=1)
    >>> sorted(model.corpus_.vocabulary)[:2]
    ['boat', 'coffee']
    """
    asked = {"language": language, "n_chains": n_chains, "n_sweeps": n_sweeps, "random_state": random_state}
    asked |= {"cluster": cluster, "features": features, "n_jobs": n_jobs, "progress": progress, **options}
    model, reading = checked(asked)
    reading |= {"text": text, "id": id, "groups": groups}
    return fit_documents(model, documents, reading, features, asked.get("row_vectors"))


def fit_documents(
    model: ConceptModel, documents: Any, reading: Mapping[str, Any], features: Any, row_vectors: Any = None
) -> ConceptModel:
    """Read documents as `reading` says and fit a model, both as `checked` returned them."""
    watcher = make_watcher(model.progress)
    with joined(model.cluster, model.n_jobs, watcher.say):
        with watcher.reading() as read:
            corpus = read_documents(documents, n_jobs=model.n_jobs, progress=read, say=watcher.say, **reading)
        if not isinstance(documents, Corpus):
            # A note of where the documents come from and how they were read (`paper.verify`).
            vectors = row_vectors if isinstance(row_vectors, str) else None
            asked = {**reading, "features": features, "row_vectors": vectors}
            note = {name: _recorded(value) for name, value in asked.items() if value is not None}
            if isinstance(documents, str | Path):
                note |= {"file": Path(documents).name, "sha256": digest(documents)}
            corpus = replace(corpus, notes={**corpus.notes, "source": note | {"features": _recorded(features)}})
        return model._fit_checked(corpus, features, row_vectors)


def _recorded(value: Any) -> Any:
    """Return an argument as JSON has it; numbers of words are not repeated, and files are named."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _recorded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_recorded(one) for one in value]
    return str(value) if isinstance(value, Path) else "array"


def checked(asked: Mapping[str, Any]) -> tuple[ConceptModel, dict[str, Any]]:
    """Return the model that is asked for, not fitted yet, and how documents are to be read for it.

    Whatever can be known to be wrong before any text is read is refused here. Kernels are compiled meanwhile.
    """
    reading = {name: value for name, value in asked.items() if name in READING}
    settings = {name: value for name, value in asked.items() if name not in (*READING, *_OWN)}
    known = inspect.signature(ConceptModel).parameters
    for name in settings:
        if name not in known:
            options = ", ".join(sorted({*READING, *known}))
            raise InputError("is not known", name, settings[name], f"the options are {options}")
    model = ConceptModel(**settings)
    check_options(**reading)
    vectors = asked.get("row_vectors")
    if isinstance(vectors, str) and vectors != WORDLLAMA:
        raise InputError("is not known", "row_vectors", vectors, f"give {WORDLLAMA!r}")
    check_model(model.get_params(), asked.get("features", defaults.FEATURES))
    return model, reading
