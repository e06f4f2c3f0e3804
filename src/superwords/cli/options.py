"""What commands share about their options: the options, how they are parsed and refused, and opening a saved model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.errors import NO_VALUE, InputError

if TYPE_CHECKING:
    from superwords import ConceptModel
    from superwords.posterior.result import Result

# Options whose names differ from those of Python's parameters.
PARAMETERS = {name: f"n_{name}" for name in ("chains", "concepts", "pilots", "sweeps", "burn_in", "jobs")}
PARAMETERS |= {"seed": "random_state", "k": "K"}
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
    """Return a number; a whole one stays one: 10 is a number of documents, 0.1 a share of them."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise typer.BadParameter(f"{text!r} is not a number.")


def number_or_auto(text: str) -> int | float | str:
    return text if text == "auto" else number(text)


def number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def option(
    text: str,
    default: Any = None,
    *names: str,
    shown: str | bool = True,
    least: int | None = None,
    panel: str | None = None,
    **more: Any,
) -> Any:
    """Return an option: its text, its default (`...` if it must be given) and the one the help shows, its names."""

    def check(value: int | None) -> int | None:
        # typer's own `min` loads a validation library and does not quote the value.
        if value is not None and least is not None and value < least:
            raise typer.BadParameter(f"{value} is too small; give at least {least}.")
        return value

    more["callback"] = None if least is None else check
    return typer.Option(default, *names, help=text, show_default=shown, rich_help_panel=panel, **more)


of_words = partial(option, panel="Words")

TEXT_COLUMN = option("The column with the text.", shown="text")
ID_COLUMN = option("The column that names a document.", shown="id")
ENCODING = option("Encoding of text files, such as latin-1.", shown="utf-8, or a guess that is printed")
DATE_FORMAT = option("How dates are written, such as %d.%m.%Y.", shown="YYYY-MM-DD")
LANGUAGE = of_words("Language of the text (en, de, nl, fr, …), or column:NAME.", "en")
WORDS = of_words(
    "Words to use: content (noun phrases, names, verbs, adjectives), phrases (noun phrases, names), plain or ngrams:2.",
    shown="content where the language can be tagged",
)
_FEWER = "Leave out words in fewer documents than this: a number (10), a share of the documents (0.1) or auto."
MIN_DF = of_words(_FEWER, shown="auto", parser=number_or_auto, metavar="N")
MAX_DF = of_words("Leave out words in more documents than this.", parser=number, metavar="N")
DROP = of_words("A file of words to leave out, one per line.")
DROP_PROCEDURAL = of_words("Leave out words of routine, such as mr president.", False, "--drop-procedural")
_BASE, _WHERE = "Reduce words to their base form.", "where possible, except in English"
LEMMAS = of_words(_BASE, None, "--lemmas/--no-lemmas", shown=_WHERE)
TAGGER = of_words("An installed spaCy pipeline to tag with.")
CLUSTER = option(
    "Run on a cluster: auto starts one on this machine, HOST:PORT joins one. The results are the same, bit for bit.",
    metavar="auto|HOST:PORT",
)
JOBS = option("Processor cores to use.", shown="all", least=1)
MODEL_FILE = typer.Argument(metavar="MODEL", help="A model that `superwords fit` saved.")
PUBLIC_HOST = option(
    "The host name others use to reach this machine, or https://NAME if it is behind your own web server.",
    metavar="NAME",
)
QUIET = option("Print nothing but errors.", False, "--quiet", "-q")
AS_JSON = option("Print JSON on standard output, for scripts.", False, "--json")
AS_CSV = option("Print the whole table as CSV.", False, "--csv")
PICTURE = option("Also draw a picture, in a .png, .svg or .pdf file.", metavar="FILE")
WIDTH = option("Width of the picture in mm: 85 for a column, 170 for a page.", 170, min=60, max=400)
GROUP_COLUMNS = option("Columns of groups.", None, "--groups", shown="those of the fit")
TIME_COLUMN = option("A column of dates or years.", None, "--time", shown="the first")
FORMULA = option('Of the effects, such as "party + date".', None, "--formula", metavar="FORMULA")
_AUTHORS = "A column of authors or sources, whose documents are not independent."
AUTHOR_COLUMN = option(_AUTHORS, None, "--cluster-by", metavar="COLUMN")
AUTHOR_COLUMN_TOO = option(_AUTHORS, None, "--cluster-by", "--cluster", metavar="COLUMN")  # as it was called first


def only_one(options: Mapping[str, Any]) -> str | None:
    """Return the name of the one option that was given, or None; more than one is wrong use."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} cannot be used together; give one of them.")
    return given[0] if given else None


def form_of(as_json: bool, as_csv: bool) -> str | None:
    return only_one({"--json": as_json, "--csv": as_csv})


def check_output(path: Path, whole: bool = False) -> None:
    """Raise before the work if its result could not be written; a file replaced as a whole needs one beside it."""
    folder = path.parent
    if path.is_dir() or (whole and path.exists() and not path.is_file()):
        raise InputError(f"{str(path)!r} is {'a folder' if path.is_dir() else 'not a file'}; give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"There is no folder {str(folder)!r} to write {path.name!r} in.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{str(path)!r} cannot be written: permission denied.")
    if not whole:
        return
    from superwords.files import writing

    trial = folder / f".{path.name}.checkpoint.{'0' * 16}.tmp"  # no longer name is needed
    with writing("The model", path):
        trial.touch()
        trial.unlink()


def load_result(path: Path) -> Result:
    """Return what a saved model found, without what only sampling needs."""
    from superwords.storage.model import read_result

    return _with_draws(read_result(path), path)


def load_model(path: Path) -> ConceptModel:
    """Return a saved model that has something to show."""
    import superwords

    model = superwords.load(path)
    _with_draws(model.result_, path)
    return model


def _with_draws(result: Result, path: Path) -> Result:
    if not result.has_concepts:
        raise InputError(f"{str(path)!r} holds no draw yet; sample it further before looking at it.")
    return result
