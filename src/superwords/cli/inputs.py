"""From what is asked for on the command line to a corpus and the features of its words."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from superwords import features
from superwords.cli.common import messages, say
from superwords.corpus.corpus import Corpus, n_sources
from superwords.corpus.reading import Documents, read_documents
from superwords.errors import InputError

FEATURE_KINDS = ("cooccurrence", "pictures", "vectors", "table")
_NEXT_BLOCK = re.compile(rf",(?=(?:{'|'.join(FEATURE_KINDS)}|none)(?:[:,]|$))")
_LANGUAGE_COLUMN = "column:"
_TEXTS_KEPT_BELOW = 20_000_000  # bytes of input
_EXAMPLES = 8
PASSAGES = "passages:5"
_FEW = 20  # documents
_LONG, _LOOKED_AT = 100, 200  # words in a document on average, over the first so many


def number(text: str) -> int | float:
    """A whole number stays one: 10 is a number of documents, 0.1 a share of them."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None


def number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def read_corpus(given: Mapping[str, Any], quiet: bool) -> Corpus:
    """Read and tag the documents of `fit`, showing how far it is."""
    documents = read_documents(given["file"], given["text"], given["id"])
    check_groups(given["groups"], documents.metadata)
    options: dict[str, Any] = {}
    if documents.counts is None:
        options = _options_of_words(given, documents)
    corpus = with_progress(documents, options, "reading and tagging", quiet)
    if given["groups"]:
        corpus = replace(corpus, notes={**corpus.notes, "groups": list(given["groups"])})
    _describe(corpus, quiet)
    return corpus


def check_groups(groups: Sequence[str] | None, metadata: pd.DataFrame) -> None:
    """Say before the work that there is no such column to group by."""
    for column in groups or []:
        if column not in metadata.columns:
            known = ", ".join(repr(name) for name in metadata.columns) or "none"
            raise InputError(f"There is no column {column!r} to group by; the columns are {known}.")


def _options_of_words(given: Mapping[str, Any], documents: Documents) -> dict[str, Any]:
    names = ("min_df", "max_df", "unit", "drop")
    options = {name: given[name] for name in names if given[name] is not None}
    if documents.are_tokens:
        return options
    if given["unit"] is None and are_long(documents.texts):
        options["unit"] = PASSAGES
    keep_texts = given["keep_texts"]
    if keep_texts is None:
        keep_texts = size_of(given["file"]) < _TEXTS_KEPT_BELOW
    return options | {
        "language": languages(given["language"], documents),
        "words": given["words"],
        "tagger": given["tagger"],
        "lemmas": given["lemmas"],
        "drop_procedural": given["drop_procedural"],
        "keep_texts": keep_texts,
        "n_jobs": given["jobs"],
    }


def are_long(texts: Iterable[str]) -> bool:
    """Whether documents speak of so much that every concept would end up in every one of them."""
    lengths = [len(text.split()) for text in islice(texts, _LOOKED_AT)]
    return bool(lengths) and sum(lengths) / len(lengths) > _LONG


def languages(asked: str, documents: Documents) -> str | list[str]:
    """One language, or with column:NAME that of each document."""
    column = asked.removeprefix(_LANGUAGE_COLUMN)
    if column == asked:
        return asked
    if column not in documents.metadata.columns:
        raise InputError(f"There is no column {column!r} to take each document's language from.")
    return [str(code) for code in documents.metadata[column]]


def with_progress(documents: Documents, options: dict[str, Any], what: str, quiet: bool) -> Corpus:
    """`Corpus.from_documents` with a bar on a terminal."""
    if quiet or not messages.is_terminal or documents.counts is not None or documents.are_tokens:
        return Corpus.from_documents(documents, **options)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("documents"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=messages, transient=True) as bar:
        task = bar.add_task(what, total=len(documents.ids))
        return Corpus.from_documents(
            documents, progress=lambda done, total: bar.update(task, completed=done, total=total), **options
        )


def _describe(corpus: Corpus, quiet: bool) -> None:
    rows = f"{corpus.n_documents:,} documents"
    if corpus.parent is not None:
        rows = f"{corpus.n_documents:,} passages of {n_sources(corpus):,} documents"
        rows += " (--unit document keeps documents whole)"
    say(f"{rows}, {corpus.n_words:,} different words, {corpus.n_tokens:,} in all.", quiet)
    if n_sources(corpus) < _FEW:
        say(f"So few documents say little: {_FEW} or more would tell concepts from chance.", quiet)
    empty = corpus.notes.get("empty_documents", [])
    if empty:
        say(f"Documents without any of these words (kept): {len(empty):,} ({_few(empty)}).", quiet)
    procedural = corpus.notes.get("procedural", [])
    if procedural and not corpus.notes["pruned"]["procedural"]:
        say(
            f"Words that look merely procedural: {_few(procedural)}; --drop-procedural leaves them out.",
            quiet,
        )
    elif procedural:
        say(f"Procedural words left out: {_few(procedural)}.", quiet)


def _few(words: list[str]) -> str:
    more = len(words) - _EXAMPLES
    return ", ".join(words[:_EXAMPLES]) + (f" and {more} more" if more > 0 else "")


def make_features(asked: Sequence[str], corpus: Corpus, quiet: bool) -> tuple[np.ndarray | None, bool]:
    """The features asked for, and whether they are still to be standardised (combined blocks are not)."""
    if not asked:
        try:
            return _cooccurrence(corpus, "ppmi", quiet), True
        except InputError as error:
            say(f"No word features are used: {error}", quiet)
            return None, True
    wanted = split_features(asked)
    if wanted == ["none"]:
        return None, True
    blocks = [_block(one, corpus, quiet) for one in wanted]
    return (blocks[0], True) if len(blocks) == 1 else (features.combine(*blocks), False)


def split_features(asked: Sequence[str]) -> list[str]:
    """The single blocks of `--features cooccurrence,pictures:FOLDER`; a path may hold a comma."""
    wanted = [one for text in asked for one in _NEXT_BLOCK.split(text)]
    for one in wanted:
        kind, _, source = one.partition(":")
        if one == "none" and len(wanted) > 1:
            raise typer.BadParameter("--features none cannot be joined with other features.")
        if one != "none" and kind not in FEATURE_KINDS:
            raise typer.BadParameter(
                f"--features {one!r} is not known; give cooccurrence, pictures:FOLDER, vectors:FILE, "
                "table:FILE, several of them with commas between, or none."
            )
        if kind in FEATURE_KINDS[1:] and not source:
            raise typer.BadParameter(f"--features {kind} needs a file or folder, as in {kind}:PATH.")
    return wanted


def _block(asked: str, corpus: Corpus, quiet: bool) -> np.ndarray:
    kind, _, source = asked.partition(":")
    if kind == "cooccurrence":
        return _cooccurrence(corpus, source or "ppmi", quiet)
    if kind == "pictures":
        found = features.picture_components(source, corpus.vocabulary)
        _say_known(found.values, "pictures", quiet, found.total_explained)
        return found.values
    make = features.vectors if kind == "vectors" else features.table
    values = make(source, corpus.vocabulary)
    _say_known(values, source, quiet)
    return values


def _cooccurrence(corpus: Corpus, weighting: str, quiet: bool) -> np.ndarray:
    found = features.cooccurrence_components(corpus, weighting=weighting)
    _say_known(found.values, "co-occurrence", quiet, found.total_explained)
    return found.values


def _say_known(values: np.ndarray, source: str, quiet: bool, explained: float | None = None) -> None:
    known = int((~np.isnan(values).any(axis=1)).sum())
    line = f"Word features from {source}: {values.shape[1]} columns for {known:,} of {len(values):,} words"
    say(line + (f", {explained:.0%} of the variance." if explained is not None else "."), quiet)


def size_of(file: str) -> int:
    return sum(path.stat().st_size for path in _files(file))


def digest(file: str) -> str | None:
    """A fingerprint of a file or folder, None of what is neither (standard input, the name of a pipeline)."""
    found = hashlib.sha256()
    files = _files(file)
    for path in files:
        found.update(f"{os.path.relpath(path, file)}\0".encode())
        with path.open("rb") as stream:
            for part in iter(lambda: stream.read(1 << 20), b""):
                found.update(part)
    return found.hexdigest() if files else None


def _files(file: str) -> list[Path]:
    path = Path(file)
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.is_file())
    return [path] if path.is_file() else []
