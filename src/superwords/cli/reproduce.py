"""`superwords reproduce`: the paper's experiments, each writing its figures and a table under one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from superwords.reproduce import synthetic as synthetic_experiment

app = typer.Typer(no_args_is_help=True)

Folder = Annotated[Path, typer.Option("-o", "--out", help="Folder for the figures and tables.")]


@app.callback()
def reproduce() -> None:
    """Run the paper's experiments again. Example: superwords reproduce synthetic -o out"""


@app.command()
def synthetic(
    out: Folder = Path("out/synthetic"),
    seeds: Annotated[int, typer.Option(min=1, help="How many generated corpora.")] = 10,
    sweeps: Annotated[int, typer.Option(min=10, help="Sweeps per fit (the paper: 1,000).")] = 1000,
    published: Annotated[
        bool, typer.Option("--published", help="The paper's inexact steps, for comparison.")
    ] = False,
) -> None:
    """100 documents from five concepts (words 11–15 the hard one), with and without features."""
    synthetic_experiment.reproduce(out, seeds, sweeps, "published" if published else "exact", typer.echo)
    typer.echo(f"Wrote {out / 'synthetic.csv'} and {out / 'synthetic.png'}.")
