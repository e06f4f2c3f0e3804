"""How commands that look at a saved model begin: the model, and the form of what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superwords.cli.common import only_one, say
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

AsCsv = Annotated[bool, typer.Option("--csv", help="Print the whole table as CSV.")]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also draw a picture, in a .png or .svg file.")
]


def load_model(path: Path) -> ConceptModel:
    """A saved model that has something to show."""
    from superwords.fitting.estimator import load

    model = load(path)
    if not model.result_.has_concepts:
        raise InputError(f"{str(path)!r} holds no draw yet; sample it further before looking at it.")
    return model


def open_model(path: Path, as_json: bool, as_csv: bool) -> ConceptModel:
    """The same, for a command whose table can be had in one form at a time."""
    only_one({"--json": as_json, "--csv": as_csv})
    return load_model(path)


def save_picture(plot: str, *asked: Any, picture: Path | None) -> None:
    """Draw what was asked for with a function of plots/relation_plots.py, if a file was named."""
    if picture is not None:
        from superwords.plots import relation_plots
        from superwords.plots.figures import save_figure

        say(f"The picture is {save_figure(getattr(relation_plots, plot)(*asked), picture)}.")
