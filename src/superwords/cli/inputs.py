"""From what is asked for on the command line to a corpus and the features of its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from superwords import features
from superwords.cli.common import messages, say
from superwords.corpus.corpus import Corpus
from superwords.corpus.reading import read_documents
from superwords.errors import InputError

FEATURE_KINDS = ("cooccurrence", "pictures", "vectors", "table")
_NEXT_BLOCK = re.compile(rf",(?=(?:{'|'.join(FEATURE_KINDS)}|none)(?:[:,]|$))")


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


WORD_OPTIONS = (
    *("text", "id", "groups", "language", "unit", "min_df", "max_df", "words", "tagger", "lemmas"),
    *("drop", "drop_procedural", "keep_texts"),
)


def read_corpus(given: Mapping[str, Any], quiet: bool) -> Corpus:
    """Read and tag the documents of `fit`, showing how far it is."""
    with reading_bar("reading and tagging", quiet) as progress:
        return read_documents(
            given["file"],
            **{name: given[name] for name in WORD_OPTIONS},
            n_jobs=given["jobs"],
            progress=progress,
            say=lambda line: say(line, quiet),
        )


@contextmanager
def reading_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """On a terminal, a bar of the documents read so far."""
    if quiet or not messages.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("documents"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=messages, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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
