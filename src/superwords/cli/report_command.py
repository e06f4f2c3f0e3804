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
    out: Annotated[Path, typer.Option("-o", "--output", "--out", help="The HTML file to write.")],
    groups: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to compare, such as party. Can be given again.",
            show_default="those given to `fit`, or else the first with a few groups",
        ),
    ] = None,
    over_time: Annotated[
        str | None,
        typer.Option(help="A column of dates, years or numbers.", show_default="the first of dates or years"),
    ] = None,
    effects: Annotated[str | None, typer.Option(help='Effects of columns, such as "party + date".')] = None,
    title: Annotated[str, typer.Option(help="The heading of the page.")] = "Concepts",
    quiet: Quiet = False,
) -> None:
    """Write one HTML page to mail to a colleague: the concepts, who speaks of them, and how they were found.

    The page needs no other file and no network.

    \b
    superwords report model.sw -o report.html
    superwords report model.sw --groups party --groups chamber -o report.html
    """
    from superwords.fitting.estimator import load
    from superwords.web.report import write_report

    written = write_report(load(model_file), out, groups, title, over_time, effects)
    say(f"The report is {written} ({written.stat().st_size / 1e6:.1f} MB).", quiet)
