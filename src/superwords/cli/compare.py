"""`superwords compare`: our concepts against topic models on one preprocessing."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli import options as o
from superwords.cli.printing import print_json, print_line, print_texts, say, warnings_as_notices
from superwords.errors import InputError
from superwords.fitting import defaults

if TYPE_CHECKING:
    from superwords.compare.contest import Comparison

_run = partial(o.option, panel="Runs")
# The page has the other columns; seconds were printed run by run.
_OF_CONTESTS = ("against", "on windows", "on sentences", "NPMI", "p")
_OF_MODELS = ("model", "concepts", "NPMI", "judge", "diversity", "stability", "perplexity", "ours ahead")


def compare(
    ctx: typer.Context,
    file: str = typer.Argument(metavar="FILE", help="Documents, as for `superwords fit`; raw text is needed."),
    output: Path = o.option("Folder for the tables and the page.", ..., "--output", "-o"),
    text: str | None = o.TEXT_COLUMN,
    id: str | None = o.ID_COLUMN,
    encoding: str | None = o.ENCODING,
    language: str = o.LANGUAGE,
    words: str | None = o.WORDS,
    min_df: Any = o.MIN_DF,
    max_df: Any = o.MAX_DF,
    drop: Path | None = o.DROP,
    drop_procedural: bool = o.DROP_PROCEDURAL,
    lemmas: bool | None = o.LEMMAS,
    tagger: str | None = o.TAGGER,
    models: str | None = _run(
        "Models to compare with, separated by commas: without, shuffled (features); hdp, lda; "
        "topica-hdp, stm, corex, bertopic.",
        shown="all that are installed",
        metavar="NAMES",
    ),
    labels: list[str] | None = _run(
        "Column of labels that people gave (several allowed): agreement, reliability and effects.", metavar="COLUMN"
    ),
    judge: Path | None = _run(
        "Word vectors (.npz with words and vectors, or GloVe's text) for a judge fitted to people's ratings.",
        metavar="FILE",
    ),
    seeds: int = _run("How many times every model is run, each time with another seed.", 5, least=1),
    seed: int = _run(
        "The seed that the peers' settings are chosen with; the seeds after it are for comparing.", 0, least=0
    ),
    chains: int = _run("Chains of superwords' model.", defaults.N_CHAINS, least=1),
    sweeps: int = _run("Sweeps of each chain.", defaults.N_SWEEPS, least=2),
    iterations: int = _run("Iterations of the peers.", 1000, least=1),
    salient: int = _run("How many salient words to compare by.", 60, least=1),
    jobs: int | None = _run("Processor cores to use.", shown="all", least=1),
    cluster: str | None = o.CLUSTER,
    quiet: bool = o.QUIET,
    as_json: bool = o.AS_JSON,
) -> None:
    """Judge concepts against topic models on held-out text, over several seeds.

    Example: superwords compare speeches.csv --text speech --seeds 5 -o out/compare

    With --labels all models are also fitted to the whole texts and judged by the labels; docs/evidence.md explains it.
    Writes compare.html, compare.json and the tables as CSV to the folder. HDP and LDA need the extra `compare`,
    others `peers`. Finished runs are kept in the folder: the same command continues an interrupted one.
    """
    from superwords.cluster import check_cluster, joined
    from superwords.compare import contest, writing
    from superwords.compare.judging import read_judge_vectors
    from superwords.compare.labels import GRIDS, compare_labels
    from superwords.compare.peers import PEERS
    from superwords.compare.splitting import make_split
    from superwords.text.corpus import Corpus
    from superwords.text.read import WORD_OPTIONS, are_long, check_options, warn_about
    from superwords.text.sources import open_documents

    named = {name: ctx.params[name] for name in WORD_OPTIONS}
    with o.wrong_use():
        check_options(language, **named)
        check_cluster(cluster)
    lineup = contest.make_lineup(None if models is None else [name.strip() for name in models.split(",")])
    if output.exists() and not output.is_dir():
        raise InputError(f"{str(output)!r} is a file; give the name of a folder.")
    documents = open_documents(file, text, id, encoding)
    if documents.counts is not None or documents.are_tokens:
        raise InputError("A comparison holds out sentences, so it needs raw text, not counts or tokens.")
    tell = partial(say, quiet=quiet)
    runs = contest.Runs(contest.Effort(chains, sweeps, iterations, jobs), output / "runs")
    options = {name: value for name, value in named.items() if value is not None} | {"n_jobs": jobs}
    with joined(cluster, jobs, tell):
        texts = list(documents.texts)
        with warnings_as_notices(quiet):
            languages = warn_about(documents, language)
        split, is_long = make_split(texts, documents.ids, languages, options), are_long(texts)
        tell(
            f"{split.documents.n_documents:,} documents, {split.windows.n_documents:,} windows to train on, "
            f"{split.held_out.n_documents:,} held out; {split.windows.n_words:,} different words. "
            f"superwords takes {'windows' if is_long else 'documents'} as its rows."
        )
        for line in lineup.left_out:
            tell(line)
        vectors, by_labels = None if judge is None else read_judge_vectors(judge), {}
        if labels:
            known: dict[str, Any] = {"language": languages, "keep_texts": True, **options}
            unit = "passages:5" if is_long else "document"
            whole = Corpus.from_texts(texts, documents.ids, documents.metadata, unit=unit, **known)
            peers = [name for name in GRIDS if PEERS[name] in lineup.peers.values()]
            by_labels = compare_labels(whole, labels, peers, runs, seeds, seed, tell)
        found = contest.compare(split, is_long, lineup, runs, seeds, seed, salient, tell, vectors)
    found.tables.update({name: table for name, table in by_labels.items() if len(table)})
    written = writing.write_all(found, output)
    if as_json:
        print_json(writing.as_json(found))
    elif not quiet:
        print_comparison(found)
        print_line(f"Wrote {', '.join(path.name for path in written)} to {output}.")


def print_comparison(comparison: Comparison) -> None:
    """Print ours against all others, and each model for itself; the other contests are in the files."""
    from superwords.compare import contest, writing
    from superwords.compare.judging import OURS

    contests = comparison.tables["contests"]
    contests = contests[contests["first"] == OURS]
    tables = {
        "How often superwords wins by salient words (95%); NPMI and p on windows": [
            {name: row[name] for name in _OF_CONTESTS} for row in writing.contest_rows(contests)
        ],
        "Each model for itself, means over seeds": [
            {name: row[name] for name in _OF_MODELS if name in row}
            for row in writing.model_rows(comparison.tables["models"])
        ],
    }
    for name, title in writing.LABEL_TABLES.items():
        if name in comparison.tables:
            spread = " (± 95% over seeds)" if name == "labels" else ""
            tables[title + spread] = writing.label_rows(comparison.tables[name])
    for title, rows in tables.items():
        print_texts(rows, title)
    if warning := contest.caution(comparison.facts):
        print_line(warning)
