"""`superwords bench`: how fast the sampler is on this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from superwords.lab.benchmark import run_bench

app = typer.Typer()


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, and no cold start.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON, for scripts.")] = False,
) -> None:
    """Measure time per sweep by move, f flips against the formula from scratch, and HDP on the same counts.

    Example: superwords bench --quick
    """
    figures = run_bench(lambda line: typer.echo(line, err=as_json), quick)
    if as_json:
        typer.echo(json.dumps(figures, indent=2))
