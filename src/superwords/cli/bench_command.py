"""`superwords bench`: how fast the sampler is on this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from superwords.lab.benchmark import run_bench
from superwords.lab.scale import MEASURED, N_SWEEPS, SIZES, run_scale, run_threads

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, and no cold start.")] = False,
    scale: Annotated[
        bool,
        typer.Option("--scale", help="How time and memory grow with the documents (hours at full length)."),
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="With --scale or --threads: numbers of documents.", show_default="1000,4000,…,100000"
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(min=1, help="With --scale or --threads: sweeps of each chain.", show_default="200"),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=2, help="How much faster one chain is with so many threads."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON, for scripts.")] = False,
) -> None:
    """Measure time per sweep by move, f flips against the formula from scratch, and HDP on the same counts.

    \b
    superwords bench --quick
    superwords bench --scale --sizes 1000,4000,16000 --sweeps 50
    superwords bench --threads 2
    """

    def tell(line: str) -> None:
        typer.echo(line, err=as_json)

    if threads:
        figures = run_threads(_whole_numbers(sizes or "16000")[0], sweeps or MEASURED, threads, tell)
    elif scale:
        figures = run_scale(_whole_numbers(sizes), sweeps or N_SWEEPS, tell)
    elif sizes or sweeps:
        raise typer.BadParameter("--sizes and --sweeps belong to --scale or --threads; give one of them too.")
    else:
        figures = run_bench(tell, quick)
    if as_json:
        typer.echo(json.dumps(figures, indent=2))


def _whole_numbers(sizes: str | None) -> list[int]:
    if sizes is None:
        return list(SIZES)
    numbers = sizes.split(",")
    if not all(one.strip().isdigit() and int(one) > 0 for one in numbers):
        raise typer.BadParameter(f"--sizes {sizes} is not a list of numbers; give e.g. --sizes 1000,4000.")
    return [int(one) for one in numbers]
