"""How the words of options are read, and how those that are wrong are told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from superwords.errors import InputError

# Options whose names differ from those of Python's parameters.
PARAMETERS = {
    "chains": "n_chains",
    "sweeps": "n_sweeps",
    "burn_in": "n_burn_in",
    "jobs": "n_jobs",
    "seed": "random_state",
    "k": "K",
}


@contextmanager
def wrong_use() -> Iterator[None]:
    """A parameter that is refused here is an option that was used wrongly: n_sweeps=3 is --sweeps 3."""
    options = {name: f"--{option.replace('_', '-')}" for option, name in PARAMETERS.items()}

    def option(found: re.Match[str]) -> str:
        return options.get(found[1], f"--{found[1].replace('_', '-')}")

    try:
        yield
    except InputError as error:
        sentence = re.sub(r"\b([A-Za-z]\w*)=", lambda found: f"{option(found)} ", str(error))
        raise typer.BadParameter(re.sub(r"\b(n_\w+)\b", option, sentence)) from None


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
