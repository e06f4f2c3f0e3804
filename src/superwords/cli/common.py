"""What commands share: messages, checks of where results go, and opening a saved model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli.printing import print_on
from superwords.errors import InputError, ReadingWarning
from superwords.progress import messages

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel
    from superwords.posterior.result import Result


@contextmanager
def warnings_as_notices(quiet: bool) -> Iterator[None]:
    """Print warnings about the documents as notices, each once."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, category: Any, *rest: Any, **named: Any) -> None:
            if issubclass(category, ReadingWarning):
                say(f"Warning: {message}", quiet)
            else:
                shown(message, category, *rest, **named)

        warnings.simplefilter("always", ReadingWarning)
        warnings.showwarning = show
        yield


def say(text: str = "", quiet: bool = False) -> None:
    """Print a message on standard error, without markup."""
    if not quiet:
        print_on(messages, text)


@contextmanager
def busy(what: str, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal that something takes its time."""
    if quiet or not messages.is_terminal:
        yield
        return
    with messages.status(what):
        yield


def check_output(path: Path) -> None:
    """Raise before the work if its result could not be written."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"There is no folder {str(folder)!r} to write {path.name!r} in.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{str(path)!r} cannot be written: permission denied.")


def check_whole_file(path: Path) -> None:
    """Check a file that is replaced as a whole, which needs a new file beside it."""
    check_output(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{str(path)!r} is not a file; give the name of a file.")
    trial = path.parent / f".{path.name}.checkpoint.{'0' * 16}.tmp"  # no longer name is needed
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error


def write_text(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error


def only_one(options: Mapping[str, Any]) -> str | None:
    """Return the name of the one option that was given, or None; more than one is wrong use."""
    given = [name for name, value in options.items() if value not in (None, False)]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} cannot be used together; give one of them.")
    return given[0] if given else None


def load_model(path: Path) -> ConceptModel:
    """Return a saved model that has something to show."""
    from superwords.fitting.estimator import load

    model = load(path)
    _with_draws(model.result_, path)
    return model


def _with_draws(result: Result, path: Path) -> Result:
    if not result.has_concepts:
        raise InputError(f"{str(path)!r} holds no draw yet; sample it further before looking at it.")
    return result


def load_result(path: Path) -> Result:
    """Return what a saved model found, without what only sampling needs."""
    from superwords.storage.model import read_result

    return _with_draws(read_result(path), path)


def open_model(path: Path, as_json: bool, as_csv: bool) -> ConceptModel:
    """Load the model of a command that prints its table in one form at a time."""
    only_one({"--json": as_json, "--csv": as_csv})
    return load_model(path)


def save_picture(plot: str, *asked: Any, picture: Path | None, width: float = 170) -> None:
    """Draw with a function of plots/relation_plots.py, if a file was named."""
    if picture is not None:
        from superwords.plots import relation_plots
        from superwords.plots.style import save_figure

        figure = getattr(relation_plots, plot)(*asked, width=width)
        say(f"The picture is {save_figure(figure, picture)}.")
