"""`superwords transform`: new documents on the concepts of a saved model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli.common import busy, check_output, load_model, say, warnings_as_notices, write_text
from superwords.cli.options import (
    AS_JSON,
    CLUSTER,
    ENCODING,
    ID_COLUMN,
    JOBS,
    MODEL_FILE,
    QUIET,
    TEXT_COLUMN,
    option,
    wrong_use,
)
from superwords.cli.printing import print_csv, print_json
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel
    from superwords.text.corpus import Corpus
    from superwords.text.sources import Documents

app = typer.Typer(add_completion=False)

_EXAMPLES = 8


@app.command()
def transform(
    model_file: Path = MODEL_FILE,
    file: str = typer.Argument(metavar="FILE", help="New documents, of any kind that `fit` reads."),
    text: str | None = TEXT_COLUMN,
    id: str | None = ID_COLUMN,
    encoding: str | None = ENCODING,
    language: str | None = option("Language of the text, or column:NAME.", shown="the model's"),
    output: Path | None = option("The CSV file to write.", None, "--output", "-o", shown="standard output"),
    unit: str | None = option(
        "Read documents whole (document), or in passages (passages:5 for five sentences) whose concepts "
        "are summed per document.",
        shown="as the model's were",
    ),
    parts: Path | None = option(
        "A folder to write Parquet files to, part by part, for any number of documents. The same command "
        "continues an interrupted one.",
        metavar="FOLDER",
    ),
    jobs: int | None = JOBS,
    cluster: str | None = CLUSTER,
    quiet: bool = QUIET,
    as_json: bool = AS_JSON,
) -> None:
    """Find the concepts of a saved model in new documents; the concepts stay as they are.

    The result has one row per document and one column of weights per concept (concept_1, …, as `superwords show`
    numbers them). A document's weights sum to 1; a weight of 0 means that it does not use the concept. With --json,
    only the concepts a document uses are listed, with their names. If the model's documents were cut into passages,
    so are the new ones; a document's weights are those of its passages, each counting by its words.

    \b
    superwords transform model.sw new.csv --text speech -o weights.csv
    superwords transform model.sw tweets.csv --unit document -o weights.csv
    superwords transform model.sw archive.parquet --parts weights --cluster auto
    """
    from superwords.analysis.tables import sources
    from superwords.cluster import check_cluster, joined
    from superwords.fitting.weighing import weight_table
    from superwords.tabular import csv_text
    from superwords.text.checks import passage_length
    from superwords.text.files import digest
    from superwords.text.sources import open_documents

    with wrong_use():
        passage_length(unit or "document")
        check_cluster(cluster)
    if parts is not None and (output is not None or as_json):
        raise typer.BadParameter("--parts cannot be used with --output or --json; give one of them.")
    if output is not None:
        check_output(output)
    model = load_model(model_file)
    if parts is not None:
        key = {"model": digest(model_file), "documents": digest(file), "language": language, "unit": unit}
        with joined(cluster, jobs, lambda line: say(line, quiet)), warnings_as_notices(quiet):
            write_parts(model, open_documents(file, text, id, encoding), key, parts, jobs, quiet)
        return
    with busy("finding concepts", quiet), joined(cluster, jobs), warnings_as_notices(quiet):
        corpus = new_corpus(model, open_documents(file, text, id, encoding), language, unit, jobs)
        model.n_jobs = jobs
        weights = weigh(model, corpus, quiet)
    ids = corpus.ids if corpus.parent is None else sources(corpus)[0]
    if as_json:
        print_json(held_concepts(model, ids, weights))
    if output is not None:
        write_text(output, csv_text(weight_table(ids, weights, model.result_.shown)))
        say(f"Wrote the weights of {len(ids):,} documents to {output}.", quiet)
    elif not as_json:
        print_csv(weight_table(ids, weights, model.result_.shown))


def write_parts(
    model: ConceptModel, documents: Documents, key: dict[str, Any], folder: Path, jobs: int | None, quiet: bool
) -> None:
    """Write a folder of Parquet files, and report progress."""
    from superwords import __version__
    from superwords.fitting import weighing
    from superwords.text.read import warn_about

    if documents.counts is not None or documents.are_tokens:
        raise InputError("--parts is for texts; counts and tokens do not need it.")
    languages = warn_about(documents, text_language(model, key["language"]))
    unit = key["unit"] or model.corpus_.unit
    total, started = weighing.Weighed(0, 0, 0), key | {"superwords": __version__}
    say(f"Finding the concepts of {len(documents.ids):,} documents.", quiet)
    try:
        for part in weighing.write_parts(model, documents, languages, unit, folder, started, jobs):
            total = weighing.Weighed(*map(sum, zip(total, part)))
            say(f"{total.n_documents:,} documents are done.", quiet)
    except KeyboardInterrupt:
        raise InputError(
            f"Stopped; the parts that are finished are kept in {folder}, and the same command continues from there."
        ) from None
    say(
        f"Wrote the weights of {len(documents.ids):,} documents to {folder}; {total.n_empty:,} of those done now "
        f"have no word that the model knows, and {total.n_unknown:,} words were unknown to it.",
        quiet,
    )


def text_language(model: ConceptModel, language: str | None) -> str:
    """Return the language in which raw texts are read: the one given, or the model's."""
    recipe = model.corpus_.notes.get("recipe")
    if recipe is None or recipe.get("words", "tokens") == "tokens":
        raise InputError(
            "The model was not fitted to raw texts, so it cannot tell how to find words in them; give counts or tokens."
        )
    found = language or recipe.get("language")
    if found is None:
        raise InputError("The model has texts of several languages; give --language, or column:NAME.")
    return str(found)


def new_corpus(
    model: ConceptModel, documents: Documents, language: str | None, unit: str | None, jobs: int | None
) -> Corpus:
    """Return the corpus of new documents, read as the model's were."""
    from superwords.text.corpus import Corpus
    from superwords.text.read import warn_about

    options: dict[str, Any] = {}
    if documents.counts is None:
        options |= {"vocabulary": model.corpus_.vocabulary, "unit": unit or model.corpus_.unit}
    elif unit is not None:
        raise InputError("--unit is for texts; counts cannot be cut into passages.")
    if documents.counts is None and not documents.are_tokens:
        languages = warn_about(documents, text_language(model, language))
        options |= {"recipe": model.corpus_.notes["recipe"], "language": languages, "n_jobs": jobs}
    return Corpus.from_documents(documents, **options)


def weigh(model: ConceptModel, corpus: Corpus, quiet: bool) -> Any:
    """Return the weights of documents, summed over their passages; report unknown words."""
    from superwords.analysis.tables import source_shares

    with warnings.catch_warnings():
        # Its warnings are printed below.
        warnings.simplefilter("ignore", UserWarning)
        weights = model.transform(corpus)
    unknown = model.unknown_words_
    if unknown.n_tokens:
        examples = ", ".join(unknown.examples[:_EXAMPLES])
        say(f"Words unknown to the model, not counted: {unknown.n_tokens:,} ({examples}, …).", quiet)
    if corpus.parent is not None:
        weights = source_shares(corpus) @ weights
        rows = f"{corpus.n_documents:,} passages of {weights.shape[0]:,} documents"
        say(f"Read as {rows} (--unit document reads documents whole).", quiet)
    n_empty = int((weights.sum(axis=1) == 0).sum())
    if n_empty:
        say(f"Documents without any word that the model knows (all weights 0): {n_empty:,}.", quiet)
    return weights


def held_concepts(model: ConceptModel, ids: list[str], weights: Any) -> dict[str, Any]:
    from scipy import sparse

    from superwords.analysis.tables import concept_names

    names, shown = concept_names(model.result_), model.result_.shown
    rows = sparse.csr_array(weights)
    documents = []
    for d, name in enumerate(ids):
        part = slice(rows.indptr[d], rows.indptr[d + 1])
        held = sorted(zip(rows.data[part].tolist(), rows.indices[part].tolist()), reverse=True)
        concepts = [{"concept": shown[k], "name": names[shown[k] - 1], "weight": weight} for weight, k in held]
        documents.append({"document": name, "concepts": concepts})
    return {"unknown_words": model.unknown_words_.n_tokens, "documents": documents}
