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
    """For an option: a number that is not below the least."""

    def check(value: int | None) -> int | None:
        if value is not None and value < least:
            raise typer.BadParameter(f"{value} is too small; give at least {least}.")
        return value

    return check


def at_least_one_core(value: int | None) -> int | None:
    if value is not None and value < 1:
        raise typer.BadParameter(
            f"{value} cores cannot do the work; give at least 1, or leave --jobs out to use all."
        )
    return value


def jobs_option(panel: str | None = None) -> Any:
    return typer.Option(
        help="Processor cores to use.", show_default="all", callback=at_least_one_core, rich_help_panel=panel
    )


WORDS = "Words"

TextColumn = Annotated[str | None, typer.Option(help="The column with the text.", show_default="text")]
IdColumn = Annotated[str | None, typer.Option(help="The column that names a document.", show_default="id")]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of text files, such as latin-1.", show_default="utf-8, or a guess that is printed"
    ),
]
DateFormat = Annotated[
    str | None, typer.Option(help="How dates are written, such as %d.%m.%Y.", show_default="YYYY-MM-DD")
]
Language = Annotated[
    str, typer.Option(help="Language of the text (en, de, nl, fr, …), or column:NAME.", rich_help_panel=WORDS)
]
Words = Annotated[
    str | None,
    typer.Option(
        help="content (noun phrases, names, verbs, adjectives), phrases (noun phrases, names), plain or ngrams:2.",
        rich_help_panel=WORDS,
        show_default="content where the language can be tagged",
    ),
]
MinDf = Annotated[
    Any,
    typer.Option(
        help="Leave out words in fewer documents than this: a number (10), a share of the documents (0.1) or auto.",
        parser=number_or_auto,
        metavar="N",
        rich_help_panel=WORDS,
        show_default="auto",
    ),
]
MaxDf = Annotated[
    Any,
    typer.Option(
        help="Leave out words in more documents than this.", parser=number, metavar="N", rich_help_panel=WORDS
    ),
]
Drop = Annotated[
    Path | None, typer.Option(help="A file of words to leave out, one per line.", rich_help_panel=WORDS)
]
DropProcedural = Annotated[
    bool,
    typer.Option(
        "--drop-procedural", help="Leave out words of routine, such as mr president.", rich_help_panel=WORDS
    ),
]
Lemmas = Annotated[
    bool | None,
    typer.Option(
        "--lemmas/--no-lemmas",
        help="Reduce words to their base form.",
        rich_help_panel=WORDS,
        show_default="for German and Dutch",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Run on a cluster: auto starts one on this machine, HOST:PORT joins one. "
        "The results are the same, bit for bit.",
        metavar="auto|HOST:PORT",
    ),
]
Tagger = Annotated[
    str | None, typer.Option(help="An installed spaCy pipeline to tag with.", rich_help_panel=WORDS)
]
Jobs = Annotated[int | None, jobs_option()]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `superwords fit` saved.")]
PublicHost = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The host name others use to reach this machine, or https://NAME if it is behind your own web server.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something goes wrong.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, for scripts.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print the whole table as CSV.")]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also draw a picture, in a .png, .svg or .pdf file.")
]
Width = Annotated[
    float, typer.Option(min=60, max=400, help="Width of the picture in mm: 85 for a column, 170 for a page.")
]
# Of the tables of a paper.
GroupColumns = Annotated[
    list[str] | None, typer.Option("--groups", help="Columns of groups.", show_default="those of the fit")
]
TimeColumn = Annotated[
    str | None, typer.Option("--time", help="A column of dates or years.", show_default="the first")
]
Formula = Annotated[
    str | None, typer.Option("--formula", metavar="FORMULA", help='Of the effects, such as "party + date".')
]
AuthorColumn = Annotated[
    str | None, typer.Option("--cluster", help="The column of authors, for the effects.")
]
