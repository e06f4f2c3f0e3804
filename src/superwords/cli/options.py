"""Options that commands share: each declared once, how they are parsed, and how a wrong one is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from superwords.errors import NO_VALUE, InputError

# Options whose names differ from those of Python's parameters.
PARAMETERS = {
    "chains": "n_chains",
    "concepts": "n_concepts",
    "pilots": "n_pilots",
    "sweeps": "n_sweeps",
    "burn_in": "n_burn_in",
    "jobs": "n_jobs",
    "seed": "random_state",
    "k": "K",
}


_OPTIONS = {parameter: option for option, parameter in PARAMETERS.items()}


def as_option(parameter: str, value: Any = NO_VALUE) -> str:
    """Return a parameter as the command line spells it: ``--sweeps 3`` for ``n_sweeps=3``."""
    option = f"--{_OPTIONS.get(parameter, parameter).replace('_', '-')}"
    return option if value is NO_VALUE else f"{option} {value!r}"


@contextmanager
def wrong_use() -> Iterator[None]:
    """Turn a refused parameter into a usage error about its option."""
    try:
        yield
    except InputError as error:
        raise typer.BadParameter(error.worded(as_option)) from None


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


def at_least(least: int) -> Callable[[int | None], int | None]:
    """Return an option's callback: typer's own `min` loads a validation library and does not quote the value."""

    def check(value: int | None) -> int | None:
        if value is not None and value < least:
            raise typer.BadParameter(f"{value} is too small; give at least {least}.")
        return value

    return check


def in_panel(panel: str | None) -> Callable[..., Any]:
    """Return a maker of options of one panel of the help: its text, the default it shows, its names."""

    def option(
        text: str, default: str | bool = True, *names: str, least: int | None = None, **more: Any
    ) -> Any:
        check = None if least is None else at_least(least)
        return typer.Option(
            *names, help=text, show_default=default, rich_help_panel=panel, callback=check, **more
        )

    return option


general, of_words = in_panel(None), in_panel("Words")

TextColumn = Annotated[str | None, general("The column with the text.", "text")]
IdColumn = Annotated[str | None, general("The column that names a document.", "id")]
Encoding = Annotated[
    str | None, general("Encoding of text files, such as latin-1.", "utf-8, or a guess that is printed")
]
DateFormat = Annotated[str | None, general("How dates are written, such as %d.%m.%Y.", "YYYY-MM-DD")]
Language = Annotated[str, of_words("Language of the text (en, de, nl, fr, …), or column:NAME.")]
Words = Annotated[
    str | None,
    of_words(
        "content (noun phrases, names, verbs, adjectives), phrases (noun phrases, names), plain or ngrams:2.",
        "content where the language can be tagged",
    ),
]
MinDf = Annotated[
    Any,
    of_words(
        "Leave out words in fewer documents than this: a number (10), a share of the documents (0.1) or auto.",
        "auto",
        parser=number_or_auto,
        metavar="N",
    ),
]
MaxDf = Annotated[Any, of_words("Leave out words in more documents than this.", parser=number, metavar="N")]
Drop = Annotated[Path | None, of_words("A file of words to leave out, one per line.")]
DropProcedural = Annotated[
    bool, of_words("Leave out words of routine, such as mr president.", True, "--drop-procedural")
]
Lemmas = Annotated[
    bool | None,
    of_words("Reduce words to their base form.", "where possible, except in English", "--lemmas/--no-lemmas"),
]
Cluster = Annotated[
    str | None,
    general(
        "Run on a cluster: auto starts one on this machine, HOST:PORT joins one. "
        "The results are the same, bit for bit.",
        metavar="auto|HOST:PORT",
    ),
]
Tagger = Annotated[str | None, of_words("An installed spaCy pipeline to tag with.")]
Jobs = Annotated[int | None, general("Processor cores to use.", "all", least=1)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `superwords fit` saved.")]
PublicHost = Annotated[
    str | None,
    general(
        "The host name others use to reach this machine, or https://NAME if it is behind your own web server.",
        metavar="NAME",
    ),
]
Quiet = Annotated[bool, general("Say nothing unless something goes wrong.", True, "--quiet", "-q")]
AsJson = Annotated[bool, general("Print JSON on standard output, for scripts.", True, "--json")]
AsCsv = Annotated[bool, general("Print the whole table as CSV.", True, "--csv")]
Picture = Annotated[
    Path | None, general("Also draw a picture, in a .png, .svg or .pdf file.", metavar="FILE")
]
Width = Annotated[
    float, general("Width of the picture in mm: 85 for a column, 170 for a page.", min=60, max=400)
]
# Of the tables of a paper.
GroupColumns = Annotated[list[str] | None, general("Columns of groups.", "those of the fit", "--groups")]
TimeColumn = Annotated[str | None, general("A column of dates or years.", "the first", "--time")]
Formula = Annotated[
    str | None, general('Of the effects, such as "party + date".', True, "--formula", metavar="FORMULA")
]
AuthorColumn = Annotated[str | None, general("The column of authors, for the effects.", True, "--cluster")]
