"""`superwords report`: one page about a model, to mail to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def report(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="The model that `fit` wrote.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The HTML file to write.")],
    groups: Annotated[
        str | None, typer.Option(help="A column of the metadata; the first with a few groups if not given.")
    ] = None,
    title: Annotated[str, typer.Option(help="The heading of the page.")] = "Concepts",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Write one self-contained HTML page: corpus, settings, convergence, and every concept."""
    from superwords.report import write_report
    from superwords.storage import load

    written = write_report(load(model_file), out, groups, title)
    if not quiet:
        print(f"The report is {written} ({written.stat().st_size / 1e6:.1f} MB).")
