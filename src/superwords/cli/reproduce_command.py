"""`superwords reproduce`: the paper's experiments, each writing its figures and a table under one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from superwords.cli.common import Jobs
from superwords.errors import InputError
from superwords.fitting import defaults
from superwords.lab.reproduce import synthetic as synthetic_experiment

app = typer.Typer(no_args_is_help=True, add_completion=False)

Folder = Annotated[Path, typer.Option("-o", "--output", "--out", help="Folder for the figures and tables.")]
Data = Annotated[
    Path, typer.Option(help="Folder with the experiments' data; docs/lab/results.md says which files.")
]


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


@app.command()
def recipes(
    data: Data,
    out: Folder = Path("out/recipes"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds the intervals are over.")] = 5,
    sweeps: Annotated[int, typer.Option(min=4, help="Sweeps per fit.")] = 200,
    jobs: Jobs = None,
) -> None:
    """English and German recipes joined by pictures: are translations found?"""
    from superwords.lab.reproduce.recipes import reproduce as run

    run(data, out, seeds, sweeps, jobs, typer.echo)
    typer.echo(f"Wrote tables and figures to {out}.")


@app.command()
def lee(
    data: Data,
    out: Folder = Path("out/lee"),
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds the intervals are over.", show_default="3")
    ] = None,
    sweeps: Annotated[int, typer.Option(min=2, help="Sweeps of each chain.")] = 200,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations of each chain of LDA and HDP.")] = 300,
    chains: Annotated[int, typer.Option(min=1, help="Chains of every model.")] = 6,
    jobs: Jobs = None,
    halves: Annotated[
        bool,
        typer.Option("--halves", help="Match halves of the other items instead, as settings were chosen."),
    ] = False,
) -> None:
    """Similarity of 50 news items from their concepts, against people's judgements."""
    from superwords.lab.reproduce.lee import N_SEEDS, match_halves
    from superwords.lab.reproduce.lee import reproduce as run

    if halves:
        if seeds is not None:
            raise InputError("Halves are matched with one seed; leave out --seeds or --halves.")
        match_halves(data, out, sweeps, iterations, chains, jobs, typer.echo)
        typer.echo(f"Wrote {out / 'halves.csv'}.")
        return
    run(data, out, seeds or N_SEEDS, sweeps, iterations, chains, jobs, typer.echo)
    typer.echo(f"Wrote tables and figures to {out}.")


@app.command()
def congress(
    data: Data,
    out: Folder = Path("out/congress"),
    sweeps: Annotated[int, typer.Option(min=2, help="Sweeps of each of two chains by member.")] = 1000,
    passage_sweeps: Annotated[
        int, typer.Option(min=2, help="Sweeps of each chain by passage.")
    ] = defaults.N_SWEEPS,
    hdp_iterations: Annotated[
        int, typer.Option(min=1, help="Iterations of each of HDP's two chains.")
    ] = 5000,
    min_df: Annotated[int, typer.Option(min=1, help="Members that must use a word.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same concepts.")] = 0,
    jobs: Jobs = None,
) -> None:
    """100 members of Congress on health care: concepts against HDP's topics, and who says what how."""
    from superwords.lab.reproduce.congress import reproduce as run

    run(data, out, sweeps, hdp_iterations, min_df, seed, jobs, typer.echo, passage_sweeps)
    typer.echo(f"Wrote tables and figures to {out}.")


@app.command()
def shards(
    data: Data,
    out: Folder = Path("out/shards"),
    rows: Annotated[int, typer.Option(min=200, help="Packages, picked at random.")] = 8000,
    ways: Annotated[str, typer.Option(help="Approximations, with commas between.")] = "shards:4,shards:8",
    chains: Annotated[int, typer.Option(min=1, help="Chains of each fit.")] = 1,
    sweeps: Annotated[int, typer.Option(min=10, help="Sweeps of each chain.")] = defaults.N_SWEEPS,
    jobs: Jobs = None,
) -> None:
    """What --approximate costs: concepts, weights and held-out words beside the exact chain, on Debian packages."""
    from superwords.lab.reproduce.shards_study import reproduce as run

    run(data, out, rows, ways.split(","), chains, sweeps, jobs, typer.echo)
    typer.echo(f"Wrote {out / 'shards.csv'}.")


@app.command()
def settings(
    data: Data,
    out: Folder = Path("out/settings"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds for every setting.")] = 1,
    sweeps: Annotated[int, typer.Option(min=2, help="Sweeps per fit.")] = 60,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations of LDA.")] = 1000,
    quick: Annotated[bool, typer.Option("--quick", help="A few settings on a part of each corpus.")] = False,
    jobs: Jobs = None,
) -> None:
    """How the defaults were chosen: one setting at a time changed on four corpora, judged on held-out text."""
    from superwords.lab.reproduce.settings_study import reproduce as run

    run(data, out, seeds, sweeps, iterations, quick, jobs, typer.echo)
    typer.echo(f"Wrote tables to {out}.")


@app.command()
def vocabularies(data: Data, out: Folder = Path("out/vocabularies"), jobs: Jobs = None) -> None:
    """Which min_df is chosen on ten collections, whole and in samples, and what it leaves."""
    from superwords.lab.reproduce.vocabularies import reproduce as run

    run(data, out, jobs, typer.echo)
    typer.echo(f"Wrote {out / 'vocabularies.csv'}.")


@app.command()
def mixing(
    data: Data,
    out: Folder = Path("out/mixing"),
    sweeps: Annotated[
        int, typer.Option(min=8, help="Sweeps of each chain; the second half counts.")
    ] = defaults.N_SWEEPS,
    unit: Annotated[str, typer.Option(help="What a row is: 'passages:5' or 'document'.")] = "passages:5",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same chains.")] = 0,
    part: Annotated[int, typer.Option(min=1, help="Take every N-th row only.")] = 1,
    jobs: Jobs = None,
) -> None:
    """Do chains agree that start far apart? Six starts on the debate of Congress, with the usual settings."""
    from superwords.lab.reproduce.mixing import reproduce as run

    run(data, out, sweeps, unit, seed, part, jobs, typer.echo)
    typer.echo(f"Wrote tables and figures to {out}.")


@app.command()
def effects(
    out: Folder = Path("out/effects"),
    corpora: Annotated[int, typer.Option(min=1, help="Generated corpora, eight effects each.")] = 50,
    tokens: Annotated[list[int] | None, typer.Option(min=1, help="Tokens of a document.")] = None,
    sweeps: Annotated[int, typer.Option(min=20, help="Sweeps per fit.")] = 200,
    first: Annotated[
        int, typer.Option(min=0, help="The first corpus's seed; those below 1,000 were looked at before.")
    ] = 1000,
) -> None:
    """Do intervals of effects cover the truth? Corpora generated with known effects of two columns."""
    from superwords.lab.reproduce.effects_study import reproduce as run

    run(out, corpora, tuple(tokens or (12, 40)), sweeps, typer.echo, first=first)
    typer.echo(f"Wrote {out / 'coverage.csv'} and {out / 'cases.csv'}.")


@app.command()
def arrival(
    data: Data,
    out: Folder = Path("out/arrival"),
    level: Annotated[float | None, typer.Option(help="End at this log joint.")] = None,
    then: Annotated[
        bool, typer.Option("--then", help="With the b₁ and b₂ of version 56e1e23: 3 D and 10 + D/30.")
    ] = False,
    init: Annotated[str, typer.Option(help="Where to start.")] = defaults.INIT,
    sweeps: Annotated[int, typer.Option(min=1, help="Sweeps at most.")] = defaults.N_SWEEPS,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same chain.")] = 0,
    part: Annotated[int, typer.Option(min=1, help="Take every N-th row only.")] = 1,
    jobs: Jobs = None,
) -> None:
    """How soon does a chain arrive, and how does it mix? CPU seconds on the debate of Congress by passages."""
    from superwords.lab.reproduce.arrival import Run
    from superwords.lab.reproduce.arrival import reproduce as run

    run(data, out, Run(init, sweeps, level, then, seed), part, jobs, typer.echo)
    typer.echo(f"Wrote {out / 'arrival.csv'}.")


@app.command()
def search(
    data: Data,
    out: Folder = Path("out/search"),
    seeds: Annotated[int, typer.Option(min=1, help="Fits that ours is the mean over.")] = 2,
    sweeps: Annotated[
        int | None, typer.Option(min=4, help="Sweeps per fit; by default those of fit.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Search of 1,400 abstracts (Cranfield): concepts and words against BM25, LDA smoothing and LSA."""
    from superwords.lab.reproduce.search_study import reproduce as run

    run(data, out, seeds, sweeps, jobs, typer.echo)
    typer.echo(f"Wrote {out / 'search.csv'}.")


@app.command()
def seeds(
    data: Data,
    out: Folder = Path("out/seeds"),
    corpora: Annotated[
        list[str] | None,
        typer.Option("--corpus", help="recipes, Rezepte, packages or debate.", show_default="all"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Ways to cut the lists in halves.")] = 3,
    chains: Annotated[int, typer.Option(min=1, help="Chains per fit.")] = defaults.N_CHAINS,
    sweeps: Annotated[int, typer.Option(min=4, help="Sweeps per fit.")] = defaults.N_SWEEPS,
    first: Annotated[
        int, typer.Option(min=0, help="The first seed; seed 0 was looked at before, on the packages.")
    ] = 1,
    jobs: Jobs = None,
) -> None:
    """Half of the words of people's lists are given, the other half is to be found: against CorEx and seeded LDA."""
    from superwords.lab.reproduce.seed_lists import TASKS
    from superwords.lab.reproduce.seeds_study import reproduce as run

    run(data, out, tuple(corpora or TASKS), seeds, chains, sweeps, jobs, typer.echo, first)
    typer.echo(f"Wrote {out / 'seeds.csv'} and {out / 'cases.csv'}.")


@app.command()
def discovery(
    data: Data,
    out: Folder = Path("out/discovery"),
    seeds: Annotated[int, typer.Option(min=1, help="Divisions of the members in two halves.")] = 2,
    sweeps: Annotated[
        int | None, typer.Option(min=4, help="Sweeps per fit; by default those of fit.")
    ] = None,
    first: Annotated[
        int, typer.Option(min=0, help="The first division's seed; those below 100 were looked at before.")
    ] = 100,
    jobs: Jobs = None,
) -> None:
    """Ten speeches that cover a debate, and readers served after a few judgements, against TF-IDF."""
    from superwords.lab.reproduce.discovery_study import reproduce as run

    run(data, out, seeds, sweeps, jobs, typer.echo, first)
    typer.echo(f"Wrote coverage.csv, readers.csv and differences.csv to {out}.")


@app.command()
def calibration(
    data: Data,
    out: Folder = Path("out/calibration"),
    seeds: Annotated[int, typer.Option(min=2, help="Fits of each corpus.")] = 2,
    chains: Annotated[int, typer.Option(min=1, help="Chains of each fit.")] = 4,
    sweeps: Annotated[int, typer.Option(min=10, help="Sweeps of each chain.")] = 200,
    jobs: Jobs = None,
) -> None:
    """Does stability say what another run finds? News items and convention speeches, each with several seeds."""
    from superwords.lab.reproduce.calibration import reproduce as run

    run(data, out, seeds, chains, sweeps, jobs, typer.echo)
    typer.echo(f"Wrote {out / 'calibration.csv'} and {out / 'cases.csv'}.")
