"""`superwords fit`: from documents to a saved model."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

import superwords
from superwords.cli.common import AsJson, Quiet, at_least, busy, check_whole_file, jobs_option
from superwords.cli.fit_more import sample_more
from superwords.cli.fit_run import (
    CheckpointedRun,
    asked_for,
    check_asked,
    check_replaced,
    how_to_go_on,
    resumed,
    run_key,
    say_replaced_checkpoint,
)
from superwords.cli.fit_summary import outcome_as_json, print_outcome
from superwords.cli.inputs import number_or_name
from superwords.cli.options import (
    WORDS,
    Cluster,
    Drop,
    DropProcedural,
    IdColumn,
    Language,
    Lemmas,
    MaxDf,
    MinDf,
    Tagger,
    TextColumn,
    Words,
)
from superwords.cli.printing import print_json
from superwords.errors import InputError
from superwords.fitting import defaults

app = typer.Typer(add_completion=False)

SAMPLING, PRIOR, OUTPUT = "Sampling", "Hyperparameters (the paper's symbols)", "Output"


@app.command()
def fit(
    ctx: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Documents: .csv, .tsv, .jsonl (also .gz), .parquet, .txt (one per line), .npz counts, "
            "a folder of .txt files, or - for standard input (JSON lines, CSV, or one document per line).",
        ),
    ],
    text: TextColumn = None,
    id: IdColumn = None,
    groups: Annotated[
        list[str] | None, typer.Option(help="A column to compare, such as party. Can be given again.")
    ] = None,
    language: Language = "en",
    words: Words = None,
    min_df: MinDf = None,
    max_df: MaxDf = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="What a row is: document, or passages:5 for five sentences.",
            rich_help_panel=WORDS,
            show_default="passages:5 if documents are long",
        ),
    ] = None,
    drop: Drop = None,
    drop_procedural: DropProcedural = False,
    lemmas: Lemmas = None,
    tagger: Tagger = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="What is known about the words, separated by commas: cooccurrence (or cooccurrence:log), "
            "embeddings:NAME_OR_FOLDER, pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE; or none.",
            rich_help_panel=WORDS,
            show_default=f"{defaults.FEATURES}: cooccurrence",
        ),
    ] = None,
    chains: Annotated[
        int | None,
        typer.Option(
            help="How many chains to run.",
            show_default=str(defaults.N_CHAINS),
            callback=at_least(1),
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            help="How many sweeps each chain makes.",
            show_default=str(defaults.N_SWEEPS),
            callback=at_least(1),
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    burn_in: Annotated[
        int | None,
        typer.Option(
            help="Sweeps before the first draw is kept.",
            show_default="half of them",
            callback=at_least(0),
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    thin: Annotated[
        int | None,
        typer.Option(
            help="Keep the draw of every Nth sweep.",
            show_default="so that about 100 are kept",
            callback=at_least(1),
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            help="Where the chains start: topics, topics:30, kmeans (the default with features from outside the text), "
            "kmeans:60, random, single or prior.",
            show_default=defaults.INIT,
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="The same seed gives the same concepts.", callback=at_least(0), rich_help_panel=SAMPLING
        ),
    ] = None,
    jobs: Annotated[int | None, jobs_option(SAMPLING)] = None,
    cluster: Cluster = None,
    approximate: Annotated[
        str | None,
        typer.Option(
            help="For a corpus too large for one chain: shards:8 samples eight parts of it separately and joins "
            "their concepts. This is an approximation, and every result says so.",
            metavar="shards:N",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    alpha_omega: Annotated[
        Any,
        typer.Option(
            help="How readily new concepts appear (α_ω): a larger number gives more; or sample.",
            parser=number_or_name,
            metavar="NUMBER",
            rich_help_panel=PRIOR,
        ),
    ] = None,
    b1: Annotated[
        Any,
        typer.Option(
            help="Concentration of concepts in documents (b₁); auto: three per document; or sample.",
            parser=number_or_name,
            metavar="NUMBER",
            show_default=defaults.B1,
            rich_help_panel=PRIOR,
        ),
    ] = None,
    b2: Annotated[
        Any,
        typer.Option(
            help="Concentration of words in concepts (b₂); auto: by the number of documents; or sample.",
            parser=number_or_name,
            metavar="NUMBER",
            show_default=defaults.B2,
            rich_help_panel=PRIOR,
        ),
    ] = None,
    lam: Annotated[
        float | None,
        typer.Option(
            help="Prior share of words in a concept (λ).",
            show_default="by how many documents use a word",
            rich_help_panel=PRIOR,
        ),
    ] = None,
    theta: Annotated[
        Any,
        typer.Option(
            help="Importance of words (θ): uniform, frequency, root or sample.",
            parser=number_or_name,
            metavar="NAME",
            rich_help_panel=PRIOR,
        ),
    ] = None,
    alpha_pi: Annotated[
        float | None, typer.Option(help="Evenness of a document's weights (α_π).", rich_help_panel=PRIOR)
    ] = None,
    k: Annotated[
        float | None, typer.Option("--k", help="Precision of concepts' features (K).", rich_help_panel=PRIOR)
    ] = None,
    alpha_sigma: Annotated[
        float | None, typer.Option(help="Shape of the features' noise (α_σ).", rich_help_panel=PRIOR)
    ] = None,
    beta_sigma: Annotated[
        float | None, typer.Option(help="Scale of the features' noise (β_σ).", rich_help_panel=PRIOR)
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the model is saved.", rich_help_panel=OUTPUT)
    ] = Path("model.sw"),
    save_draws: Annotated[
        bool,
        typer.Option(
            "--save-draws", help="Save every kept draw, not only the summaries.", rich_help_panel=OUTPUT
        ),
    ] = False,
    keep_texts: Annotated[
        bool | None,
        typer.Option(
            "--keep-texts/--no-texts",
            help="Keep the texts in the model, to quote from.",
            rich_help_panel=OUTPUT,
            show_default="kept if the input is under 20 MB",
        ),
    ] = None,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache",
            help="Keep the counts of large texts, so that the next fit is quicker.",
            rich_help_panel=WORDS,
        ),
    ] = True,
    checkpoint_every: Annotated[
        float, typer.Option(min=0.0, help="Seconds between checkpoints.", rich_help_panel=OUTPUT)
    ] = 60.0,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue an interrupted run; give the same options.", rich_help_panel=OUTPUT
        ),
    ] = False,
    more: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Continue a finished model, given as FILE, for this many sweeps. Burn-in and thinning stay as they "
            "were. If the model was saved without its draws (--save-draws), all sweeps so far count as burn-in.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the concepts of your documents and save them in one file.

    Only the file is needed; every option has a sensible default.

    \b
    superwords fit speeches.csv --text speech --groups party -o model.sw
    superwords fit notes/ --language de -o notes.sw
    superwords fit notes/ --language de -o notes.sw --resume
    superwords fit --more 1000 notes.sw

    Ctrl-C stops cleanly and keeps what was sampled; the same command with --resume continues from there.
    """
    if more is not None:
        sample_more(ctx)
        return
    if resume and approximate is not None:
        raise typer.BadParameter("--approximate leaves no checkpoint to resume from; leave --resume out.")
    start = perf_counter()
    given = ctx.params
    asked = asked_for(given)
    check_asked(asked)
    check_whole_file(output)
    check_replaced(output, file, resume, quiet)
    checkpoint = output.parent / f"{output.name}.checkpoint"
    key = run_key(given)
    run = CheckpointedRun(checkpoint, key, given)
    if resume:
        model = resumed(checkpoint, key, given).set_params(progress=run).resume()
    else:
        say_replaced_checkpoint(checkpoint, quiet)
        model = superwords.fit(file, **asked, progress=run)
    if len(model.draws_) == 0:
        raise InputError(
            f"Stopped before the first draw was kept, so there is no model yet; {how_to_go_on(checkpoint)}"
        )
    with busy("summing up the draws and saving", quiet):
        model.save(output, draws="all" if save_draws else "best")
    seconds = perf_counter() - start
    if as_json:
        print_json(outcome_as_json(model, output, seconds, run.is_interrupted))
    elif not quiet:
        print_outcome(model, output, groups or [], seconds)
    if run.is_interrupted:
        reached = min(chain.sweep for chain in model.chains_)
        raise InputError(
            f"Stopped after {reached:,} of {model.schedule_.n_sweeps:,} sweeps; the model in {output} is "
            f"made of the {len(model.draws_)} draws so far; {how_to_go_on(checkpoint)}"
        )
    run.end()
