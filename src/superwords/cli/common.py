"""What the commands share: options, messages, and checks of where results go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from superwords.cli.printing import print_on
from superwords.errors import InputError
from superwords.progress import messages


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
        help="Processor cores to use.",
        show_default="all",
        callback=at_least_one_core,
        rich_help_panel=panel,
    )


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


def say(text: str = "", quiet: bool = False) -> None:
    """A message to the person at the terminal, in plain words (no markup)."""
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
    """Say before the work, not after it, that its result could not be written."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"There is no folder {str(folder)!r} to write {path.name!r} in.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{str(path)!r} cannot be written: permission denied.")


def check_whole_file(path: Path) -> None:
    """The same for a file that takes the place of another as a whole, which needs a new file beside it."""
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
    """The name of the one option that was given, or None; more than one is wrong use."""
    given = [name for name, value in options.items() if value not in (None, False)]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} cannot be used together; give one of them.")
    return given[0] if given else None
