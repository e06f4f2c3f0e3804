"""`superwords fit`: from documents to a saved model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import typer

from superwords.cli import options as o
from superwords.fitting import defaults

_sampling, _saving = partial(o.option, panel="Sampling"), partial(o.option, panel="Output")
_prior = partial(o.option, panel="Hyperparameters (the paper's symbols)")
_number = partial(_prior, parser=o.number_or_name, metavar="NUMBER")


def fit(
    ctx: typer.Context,
    file: str = typer.Argument(
        metavar="FILE",
        help="Documents: .csv, .tsv, .jsonl, .json (also .gz), .xlsx, .parquet, .rds, .txt (one per line), counts "
        "(.npz, .mtx), a folder of .txt, .md, .html, .docx or .pdf files, or - for standard input (JSON lines, "
        "CSV, or one document per line).",
    ),
    text: str | None = o.TEXT_COLUMN,
    id: str | None = o.ID_COLUMN,
    groups: list[str] | None = o.option("A column to compare, such as party. Can be given again."),
    language: str = o.LANGUAGE,
    encoding: str | None = o.ENCODING,
    date_format: str | None = o.DATE_FORMAT,
    words: str | None = o.WORDS,
    min_df: Any = o.MIN_DF,
    max_df: Any = o.MAX_DF,
    unit: str | None = o.of_words(
        "Unit of analysis: document, or passages:5 to split documents into passages of five sentences.",
        shown="passages:5 if documents are long",
    ),
    drop: Path | None = o.DROP,
    drop_procedural: bool = o.DROP_PROCEDURAL,
    lemmas: bool | None = o.LEMMAS,
    tagger: str | None = o.TAGGER,
    features: list[str] | None = o.of_words(
        "Word features to use, comma-separated: cooccurrence (or cooccurrence:log), "
        "embeddings:NAME_OR_FOLDER, pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE; or none.",
        shown=f"{defaults.FEATURES}: cooccurrence",
    ),
    chains: int | None = _sampling("How many chains to run.", shown=str(defaults.N_CHAINS), least=1),
    sweeps: int | None = _sampling("How many sweeps each chain makes.", shown=str(defaults.N_SWEEPS), least=1),
    burn_in: int | None = _sampling("Sweeps before the first draw is kept.", shown="half of them", least=0),
    thin: int | None = _sampling("Keep the draw of every Nth sweep.", shown="so that about 100 are kept", least=1),
    concepts: int | None = _sampling("Roughly how many concepts to find.", shown="chosen by pilots", least=1),
    pilots: int | None = _sampling(
        "Short fits on random 80% samples of the documents, which show how often each concept is found again; 0: none.",
        shown=str(defaults.N_PILOTS),
        least=0,
    ),
    init: str | None = _sampling(
        "Where the chains start: rows, rows:30, topics, kmeans (clusters of the words' features), kmeans:60, "
        "random, single or prior.",
        shown=defaults.INIT,
    ),
    row_vectors: str | None = _sampling(
        "Place rows for the start also by vectors of their texts: wordllama, for short texts in English.",
        metavar="wordllama",
    ),
    seed: int | None = _sampling("The same seed gives the same concepts.", least=0),
    jobs: int | None = _sampling("Processor cores to use.", shown="all", least=1),
    cluster: str | None = o.CLUSTER,
    approximate: str | None = _sampling(
        "For a corpus too large for one chain: shards:8 samples eight parts of it separately and joins "
        "their concepts. This is an approximation, and every result says so.",
        metavar="shards:N",
    ),
    alpha_omega: Any = _number("How readily new concepts appear (α_ω): a larger number gives more; or sample."),
    b1: Any = _number(
        "Concentration of concepts in documents (b₁); auto: 0.3 × the number of documents; or sample.",
        shown=defaults.B1,
    ),
    b2: Any = _number(
        "Concentration of words in concepts (b₂); auto: by the number of documents; or sample.", shown=defaults.B2
    ),
    lam: float | None = _prior("Prior share of words in a concept (λ).", shown="by how many documents use a word"),
    theta: Any = _number("Importance of words (θ): uniform, frequency, root or sample.", metavar="NAME"),
    alpha_pi: float | None = _prior("Evenness of a document's weights (α_π)."),
    k: float | None = _prior("Precision of concepts' features (K).", None, "--k"),
    alpha_sigma: float | None = _prior("Shape of the features' noise (α_σ)."),
    beta_sigma: float | None = _prior("Scale of the features' noise (β_σ)."),
    output: Path = _saving("Where the model is saved.", Path("model.sw"), "--output", "-o"),
    save_draws: bool = _saving("Save every kept draw, not only those that tables use.", False, "--save-draws"),
    keep_texts: bool | None = _saving(
        "Keep the texts in the model, to quote from.",
        None,
        "--keep-texts/--no-texts",
        shown="kept if the input is under 20 MB",
    ),
    checkpoint_every: float = _saving("Seconds between checkpoints.", 60.0, min=0.0),
    resume: bool = _saving("Continue an interrupted run; give the same options.", False, "--resume"),
    more: int | None = _sampling(
        "Continue a finished model, given as FILE, for this many sweeps. Burn-in and thinning stay as they were.",
        least=1,
    ),
    quiet: bool = o.QUIET,
    as_json: bool = o.AS_JSON,
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

    if more is None and resume and approximate is not None:
        raise typer.BadParameter("--approximate leaves no checkpoint to resume from; leave --resume out.")
    (fit_and_save if more is None else sample_more)(ctx)
