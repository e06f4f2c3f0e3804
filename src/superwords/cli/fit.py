"""`superwords fit`: from documents to a saved model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from superwords.cli.options import (
    WORDS,
    AsJson,
    Cluster,
    DateFormat,
    Drop,
    DropProcedural,
    Encoding,
    IdColumn,
    Language,
    Lemmas,
    MaxDf,
    MinDf,
    Quiet,
    Tagger,
    TextColumn,
    Words,
    at_least,
    jobs_option,
    number_or_name,
)
from superwords.fitting import defaults

app = typer.Typer(add_completion=False)

SAMPLING, PRIOR, OUTPUT = "Sampling", "Hyperparameters (the paper's symbols)", "Output"
_sampling, _prior, _saving, _words_option = (
    partial(typer.Option, rich_help_panel=panel) for panel in (SAMPLING, PRIOR, OUTPUT, WORDS)
)


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
    encoding: Encoding = None,
    date_format: DateFormat = None,
    words: Words = None,
    min_df: MinDf = None,
    max_df: MaxDf = None,
    unit: Annotated[
        str | None,
        _words_option(
            help="What a row is: document, or passages:5 for five sentences.",
            show_default="passages:5 if documents are long",
        ),
    ] = None,
    drop: Drop = None,
    drop_procedural: DropProcedural = False,
    lemmas: Lemmas = None,
    tagger: Tagger = None,
    features: Annotated[
        list[str] | None,
        _words_option(
            help="What is known about the words, separated by commas: cooccurrence (or cooccurrence:log), "
            "embeddings:NAME_OR_FOLDER, pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE; or none.",
            show_default=f"{defaults.FEATURES}: cooccurrence",
        ),
    ] = None,
    chains: Annotated[
        int | None,
        _sampling(help="How many chains to run.", show_default=str(defaults.N_CHAINS), callback=at_least(1)),
    ] = None,
    sweeps: Annotated[
        int | None,
        _sampling(
            help="How many sweeps each chain makes.",
            show_default=str(defaults.N_SWEEPS),
            callback=at_least(1),
        ),
    ] = None,
    burn_in: Annotated[
        int | None,
        _sampling(
            help="Sweeps before the first draw is kept.", show_default="half of them", callback=at_least(0)
        ),
    ] = None,
    thin: Annotated[
        int | None,
        _sampling(
            help="Keep the draw of every Nth sweep.",
            show_default="so that about 100 are kept",
            callback=at_least(1),
        ),
    ] = None,
    concepts: Annotated[
        int | None,
        _sampling(
            help="Roughly how many concepts to find.", show_default="chosen by pilots", callback=at_least(1)
        ),
    ] = None,
    pilots: Annotated[
        int | None,
        _sampling(
            help="Short fits on random 80% samples of the documents, which tell how often each concept is found again; "
            "0: none.",
            show_default=str(defaults.N_PILOTS),
            callback=at_least(0),
        ),
    ] = None,
    init: Annotated[
        str | None,
        _sampling(
            help="Where the chains start: rows, rows:30, topics, kmeans (clusters of the words' features), kmeans:60, "
            "random, single or prior.",
            show_default=defaults.INIT,
        ),
    ] = None,
    row_vectors: Annotated[
        str | None,
        _sampling(
            help="Place rows for the start also by vectors of their texts: wordllama, for short texts in English.",
            metavar="wordllama",
        ),
    ] = None,
    seed: Annotated[
        int | None, _sampling(help="The same seed gives the same concepts.", callback=at_least(0))
    ] = None,
    jobs: Annotated[int | None, jobs_option(SAMPLING)] = None,
    cluster: Cluster = None,
    approximate: Annotated[
        str | None,
        _sampling(
            help="For a corpus too large for one chain: shards:8 samples eight parts of it separately and joins "
            "their concepts. This is an approximation, and every result says so.",
            metavar="shards:N",
        ),
    ] = None,
    alpha_omega: Annotated[
        Any,
        _prior(
            help="How readily new concepts appear (α_ω): a larger number gives more; or sample.",
            parser=number_or_name,
            metavar="NUMBER",
        ),
    ] = None,
    b1: Annotated[
        Any,
        _prior(
            help="Concentration of concepts in documents (b₁); auto: three per document; or sample.",
            parser=number_or_name,
            metavar="NUMBER",
            show_default=defaults.B1,
        ),
    ] = None,
    b2: Annotated[
        Any,
        _prior(
            help="Concentration of words in concepts (b₂); auto: by the number of documents; or sample.",
            parser=number_or_name,
            metavar="NUMBER",
            show_default=defaults.B2,
        ),
    ] = None,
    lam: Annotated[
        float | None,
        _prior(
            help="Prior share of words in a concept (λ).", show_default="by how many documents use a word"
        ),
    ] = None,
    theta: Annotated[
        Any,
        _prior(
            help="Importance of words (θ): uniform, frequency, root or sample.",
            parser=number_or_name,
            metavar="NAME",
        ),
    ] = None,
    alpha_pi: Annotated[float | None, _prior(help="Evenness of a document's weights (α_π).")] = None,
    k: Annotated[float | None, _prior("--k", help="Precision of concepts' features (K).")] = None,
    alpha_sigma: Annotated[float | None, _prior(help="Shape of the features' noise (α_σ).")] = None,
    beta_sigma: Annotated[float | None, _prior(help="Scale of the features' noise (β_σ).")] = None,
    output: Annotated[Path, _saving("--output", "-o", help="Where the model is saved.")] = Path("model.sw"),
    save_draws: Annotated[
        bool, _saving("--save-draws", help="Save every kept draw, not only those that tables use.")
    ] = False,
    keep_texts: Annotated[
        bool | None,
        _saving(
            "--keep-texts/--no-texts",
            help="Keep the texts in the model, to quote from.",
            show_default="kept if the input is under 20 MB",
        ),
    ] = None,
    checkpoint_every: Annotated[float, _saving(min=0.0, help="Seconds between checkpoints.")] = 60.0,
    resume: Annotated[
        bool, _saving("--resume", help="Continue an interrupted run; give the same options.")
    ] = False,
    more: Annotated[
        int | None,
        _sampling(
            callback=at_least(1),
            help="Continue a finished model, given as FILE, for this many sweeps. Burn-in and thinning stay as they "
            "were.",
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
    from superwords.cli.fit_run import fit_and_save, sample_more

    if more is not None:
        sample_more(ctx)
        return
    if resume and approximate is not None:
        raise typer.BadParameter("--approximate leaves no checkpoint to resume from; leave --resume out.")
    fit_and_save(ctx)
