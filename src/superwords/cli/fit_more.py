"""`superwords fit --more`: sampling on from a finished model."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from superwords.cli.common import busy, check_whole_file, say
from superwords.cli.concept_list import fitted_groups
from superwords.cli.fit_run import CheckpointedRun, model_key, resumed, say_replaced_checkpoint
from superwords.cli.fit_summary import outcome_as_json, print_outcome
from superwords.cli.printing import print_json
from superwords.corpus.reading import check_groups
from superwords.errors import InputError

# What may be given with --more; the rest is as the model was fitted with.
_FREE = {
    *("file", "more", "output", "save_draws", "checkpoint_every", "resume"),
    *("jobs", "cluster", "groups", "quiet", "as_json"),
}


def sample_more(ctx: typer.Context) -> None:
    """Sample on from the model in FILE, and save it there or where it is asked for."""
    start, given = perf_counter(), ctx.params
    _check_options(ctx)
    file, quiet = Path(given["file"]), given["quiet"]
    output = given["output"] if _is_given(ctx, "output") else file
    check_whole_file(output)
    checkpoint = output.parent / f"{output.name}.checkpoint"
    key = model_key(given)
    run = CheckpointedRun(checkpoint, key, given)
    from superwords.fitting.estimator import load

    earlier = load(file)
    check_groups(given["groups"], earlier.corpus_.metadata)
    has_draws = len(earlier.draws_) > 0
    if not has_draws:
        say(f"{file} holds no draws: its concepts will be those of the draws kept from now on.", quiet)
    with warnings.catch_warnings(record=True) as lost:
        if given["resume"]:
            model = resumed(checkpoint, key, given).set_params(progress=run).resume()
        else:
            say_replaced_checkpoint(checkpoint, quiet)
            model = earlier.set_params(progress=run, n_jobs=given["jobs"], cluster=given["cluster"]).advance(
                given["more"]
            )
    for one in lost:
        say(str(one.message), quiet)
    if run.is_interrupted:
        reached = min(chain.sweep for chain in model.chains_)
        raise InputError(
            f"Stopped after {reached:,} of {model.schedule_.n_sweeps:,} sweeps; {file} is as it was; "
            f"run the same command with --resume to continue (from {checkpoint})."
        )
    with busy("summing up the draws and saving", quiet):
        model.save(output, draws="all" if given["save_draws"] or has_draws else "best")
    seconds = perf_counter() - start
    if given["as_json"]:
        print_json(outcome_as_json(model, output, seconds, False))
    elif not quiet:
        print_outcome(model, output, given["groups"] or fitted_groups(model.corpus_), seconds)
    run.end()


def _check_options(ctx: typer.Context) -> None:
    for name in ctx.params:
        if name not in _FREE and _is_given(ctx, name):
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"--more keeps the model's own settings; leave {option} out.")


def _is_given(ctx: typer.Context, name: str) -> bool:
    source: Any = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
