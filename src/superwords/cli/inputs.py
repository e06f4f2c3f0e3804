"""From what is asked for on the command line to a corpus and the features of its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from superwords.cli.common import messages, say
from superwords.corpus.corpus import Corpus
from superwords.corpus.reading import read_documents
from superwords.errors import InputError
from superwords.features.specs import split_features


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


def number_or_auto(text: str) -> int | float | str:
    return text if text == "auto" else number(text)


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


def check_features(asked: Sequence[str]) -> list[str]:
    """The single blocks of features that `--features` asks for; wrong use where there is no such kind."""
    try:
        return split_features(asked)
    except InputError as error:
        raise typer.BadParameter(f"--features: {error}") from None
