"""How the words of options are read."""

from __future__ import annotations

import typer


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
