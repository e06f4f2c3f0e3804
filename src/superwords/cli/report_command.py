"""`superwords report`: one page about a model, to mail to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from superwords.cli.common import ModelFile, Quiet, say

app = typer.Typer(add_completion=False)


@app.command()
def report(
    model_file: ModelFile,
    out: Annotated[Path, typer.Option("-o", "--out", help="The HTML file to write.")],
    groups: Annotated[
        str | None, typer.Option(help="A column of the metadata; the first with a few groups if not given.")
    ] = None,
    over_time: Annotated[
        str | None,
        typer.Option(help="A column of dates, years or numbers; the first of dates or years if not given."),
    ] = None,
    effects: Annotated[str | None, typer.Option(help='Effects of columns, such as "party + date".')] = None,
    title: Annotated[str, typer.Option(help="The heading of the page.")] = "Concepts",
    quiet: Quiet = False,
) -> None:
    """Write one self-contained HTML page: corpus, settings, convergence, and every concept."""
    from superwords.fitting.estimator import load
    from superwords.web.report import write_report

    written = write_report(load(model_file), out, groups, title, over_time, effects)
    say(f"The report is {written} ({written.stat().st_size / 1e6:.1f} MB).", quiet)
