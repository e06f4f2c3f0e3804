"""`superwords export`: a model's results in other programs' formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from superwords.cli.common import AsJson, ModelFile, Quiet
from superwords.cli.opening import load_model
from superwords.cli.printing import print_json, print_line

app = typer.Typer(add_completion=False)

# As in superwords.export, which takes too long to load for a help text.
FORMATS = ("csv", "json", "netcdf", "pyldavis")


@app.command()
def export(
    model_file: ModelFile,
    format: Annotated[str, typer.Option("--format", "-f", help=f"One of {', '.join(FORMATS)}.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write; for csv, the folder of three tables.")
    ],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a model's tables for other programs.

    csv: concepts.csv, documents.csv and words.csv in a folder; json: the same in one file;
    netcdf: the traces, for ArviZ; pyldavis: the input of pyLDAvis.

    \b
    superwords export model.sw --format csv -o tables
    superwords export model.sw --format netcdf -o traces.nc
    """
    if format not in FORMATS:
        raise typer.BadParameter(f"--format {format!r} is not known; choose one of {', '.join(FORMATS)}.")
    from superwords.concepts.exporting import export as write_results

    model = load_model(model_file)
    written = write_results(model, output, format)
    if as_json:
        print_json({"files": [str(path) for path in written]})
    elif not quiet:
        print_line("Wrote " + ", ".join(str(path) for path in written) + ".")
