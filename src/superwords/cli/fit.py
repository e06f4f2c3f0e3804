"""`superwords fit`: from documents to a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from superwords.cli import options as o
from superwords.fitting import defaults

app = typer.Typer(add_completion=False)

_sampling, _saving = o.in_panel("Sampling"), o.in_panel("Output")
_prior = o.in_panel("Hyperparameters (the paper's symbols)")


@app.command()
def fit(
    ctx: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Documents: .csv, .tsv, .jsonl, .json (also .gz), .xlsx, .parquet, .rds, .txt (one per line), counts "
            "(.npz, .mtx), a folder of .txt, .md, .html, .docx or .pdf files, or - for standard input (JSON lines, "
            "CSV, or one document per line).",
        ),
    ],
    text: o.TextColumn = None,
    id: o.IdColumn = None,
    groups: Annotated[
        list[str] | None, o.general("A column to compare, such as party. Can be given again.")
    ] = None,
    language: o.Language = "en",
    encoding: o.Encoding = None,
    date_format: o.DateFormat = None,
    words: o.Words = None,
    min_df: o.MinDf = None,
    max_df: o.MaxDf = None,
    unit: Annotated[
        str | None,
        o.of_words(
            "What a row is: document, or passages:5 for five sentences.", "passages:5 if documents are long"
        ),
    ] = None,
    drop: o.Drop = None,
    drop_procedural: o.DropProcedural = False,
    lemmas: o.Lemmas = None,
    tagger: o.Tagger = None,
    features: Annotated[
        list[str] | None,
        o.of_words(
            "What is known about the words, separated by commas: cooccurrence (or cooccurrence:log), "
            "embeddings:NAME_OR_FOLDER, pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE; or none.",
            f"{defaults.FEATURES}: cooccurrence",
        ),
    ] = None,
    chains: Annotated[
        int | None, _sampling("How many chains to run.", str(defaults.N_CHAINS), least=1)
    ] = None,
    sweeps: Annotated[
        int | None, _sampling("How many sweeps each chain makes.", str(defaults.N_SWEEPS), least=1)
    ] = None,
    burn_in: Annotated[
        int | None, _sampling("Sweeps before the first draw is kept.", "half of them", least=0)
    ] = None,
    thin: Annotated[
        int | None, _sampling("Keep the draw of every Nth sweep.", "so that about 100 are kept", least=1)
    ] = None,
    concepts: Annotated[
        int | None, _sampling("Roughly how many concepts to find.", "chosen by pilots", least=1)
    ] = None,
    pilots: Annotated[
        int | None,
        _sampling(
            "Short fits on random 80% samples of the documents, which tell how often each concept is found again; "
            "0: none.",
            str(defaults.N_PILOTS),
            least=0,
        ),
    ] = None,
    init: Annotated[
        str | None,
        _sampling(
            "Where the chains start: rows, rows:30, topics, kmeans (clusters of the words' features), kmeans:60, "
            "random, single or prior.",
            defaults.INIT,
        ),
    ] = None,
    row_vectors: Annotated[
        str | None,
        _sampling(
            "Place rows for the start also by vectors of their texts: wordllama, for short texts in English.",
            metavar="wordllama",
        ),
    ] = None,
    seed: Annotated[int | None, _sampling("The same seed gives the same concepts.", least=0)] = None,
    jobs: Annotated[int | None, _sampling("Processor cores to use.", "all", least=1)] = None,
    cluster: o.Cluster = None,
    approximate: Annotated[
        str | None,
        _sampling(
            "For a corpus too large for one chain: shards:8 samples eight parts of it separately and joins "
            "their concepts. This is an approximation, and every result says so.",
            metavar="shards:N",
        ),
    ] = None,
    alpha_omega: Annotated[
        Any,
        _prior(
            "How readily new concepts appear (α_ω): a larger number gives more; or sample.",
            parser=o.number_or_name,
            metavar="NUMBER",
        ),
    ] = None,
    b1: Annotated[
        Any,
        _prior(
            "Concentration of concepts in documents (b₁); auto: three per document; or sample.",
            defaults.B1,
            parser=o.number_or_name,
            metavar="NUMBER",
        ),
    ] = None,
    b2: Annotated[
        Any,
        _prior(
            "Concentration of words in concepts (b₂); auto: by the number of documents; or sample.",
            defaults.B2,
            parser=o.number_or_name,
            metavar="NUMBER",
        ),
    ] = None,
    lam: Annotated[
        float | None, _prior("Prior share of words in a concept (λ).", "by how many documents use a word")
    ] = None,
    theta: Annotated[
        Any,
        _prior(
            "Importance of words (θ): uniform, frequency, root or sample.",
            parser=o.number_or_name,
            metavar="NAME",
        ),
    ] = None,
    alpha_pi: Annotated[float | None, _prior("Evenness of a document's weights (α_π).")] = None,
    k: Annotated[float | None, _prior("Precision of concepts' features (K).", True, "--k")] = None,
    alpha_sigma: Annotated[float | None, _prior("Shape of the features' noise (α_σ).")] = None,
    beta_sigma: Annotated[float | None, _prior("Scale of the features' noise (β_σ).")] = None,
    output: Annotated[Path, _saving("Where the model is saved.", True, "--output", "-o")] = Path("model.sw"),
    save_draws: Annotated[
        bool, _saving("Save every kept draw, not only those that tables use.", True, "--save-draws")
    ] = False,
    keep_texts: Annotated[
        bool | None,
        _saving(
            "Keep the texts in the model, to quote from.",
            "kept if the input is under 20 MB",
            "--keep-texts/--no-texts",
        ),
    ] = None,
    checkpoint_every: Annotated[float, _saving("Seconds between checkpoints.", min=0.0)] = 60.0,
    resume: Annotated[
        bool, _saving("Continue an interrupted run; give the same options.", True, "--resume")
    ] = False,
    more: Annotated[
        int | None,
        _sampling(
            "Continue a finished model, given as FILE, for this many sweeps. Burn-in and thinning stay as they were.",
            least=1,
        ),
    ] = None,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
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
