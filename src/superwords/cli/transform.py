"""`superwords transform`: new documents on the concepts of a saved model."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli import options as o
from superwords.cli.options import option
from superwords.cli.printing import busy, print_json, say, warnings_as_notices
from superwords.errors import InputError
from superwords.tabular import csv_text

if TYPE_CHECKING:
    from superwords import ConceptModel, Corpus
    from superwords.text.sources import Documents

_EXAMPLES = 8


def transform(
    model_file: Path = o.MODEL_FILE,
    file: str = typer.Argument(metavar="FILE", help="New documents, of any kind that `fit` reads."),
    text: str | None = o.TEXT_COLUMN,
    id: str | None = o.ID_COLUMN,
    encoding: str | None = o.ENCODING,
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
    jobs: int | None = o.JOBS,
    cluster: str | None = o.CLUSTER,
    quiet: bool = o.QUIET,
    as_json: bool = o.AS_JSON,
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
    from superwords.fitting.folding import reading, weight_table
    from superwords.text.checks import passage_length
    from superwords.text.files import digest
    from superwords.text.read import count_documents, warn_about
    from superwords.text.sources import open_documents

    with o.wrong_use():
        passage_length(unit or "document")
        check_cluster(cluster)
    if parts is not None and (output is not None or as_json):
        raise typer.BadParameter("--parts cannot be used with --output or --json; give one of them.")
    if output is not None:
        o.check_output(output)
    model, tell = o.load_model(model_file), partial(say, quiet=quiet)
    model.n_jobs = jobs
    with busy("finding concepts", quiet or parts is not None), joined(cluster, jobs, tell), warnings_as_notices(quiet):
        documents = open_documents(file, text, id, encoding)
        are_texts = documents.counts is None and not documents.are_tokens
        how: dict[str, Any] = {"vocabulary": model.corpus_.vocabulary}
        if are_texts:
            how = reading(model.corpus_, language) | {"n_jobs": jobs}
            how["language"] = warn_about(documents, how["language"])
        how["unit"] = unit or model.corpus_.unit
        if parts is not None:
            if not are_texts:
                raise InputError("--parts is for texts; counts and tokens do not need it.")
            key = {"model": digest(model_file), "documents": digest(file), "language": language, "unit": unit}
            _write_parts(model, documents, how, parts, key, tell)
            return
        if documents.counts is not None:
            if unit is not None:
                raise InputError("--unit is for texts; counts cannot be cut into passages.")
            how = {}
        corpus = count_documents(documents, **how)
        weights = _weigh(model, corpus, tell)
    ids = corpus.ids if corpus.parent is None else sources(corpus)[0]
    if as_json:
        print_json(_used_concepts(model, ids, weights))
        if output is None:
            return
    table = csv_text(weight_table(ids, weights, model.result_.shown))
    if output is None:
        print(table, end="")
    else:
        output.write_text(table, encoding="utf-8")
        tell(f"Wrote the weights of {len(ids):,} documents to {output}.")


def _write_parts(model: ConceptModel, documents: Documents, how: Any, folder: Path, key: Any, tell: Any) -> None:
    """Write a folder of Parquet files, and report progress."""
    from superwords import __version__
    from superwords.fitting.folding import write_parts

    n_documents = n_empty = n_unknown = 0
    tell(f"Finding the concepts of {len(documents.ids):,} documents.")
    key |= {"superwords": __version__}
    try:
        for part in write_parts(model, documents, how, folder, key):
            n_documents, n_empty, n_unknown = map(sum, zip((n_documents, n_empty, n_unknown), part))
            tell(f"{n_documents:,} documents are done.")
    except KeyboardInterrupt:
        raise InputError(
            f"Stopped; the parts that are finished are kept in {folder}, and the same command continues from there."
        ) from None
    tell(
        f"Wrote the weights of {len(documents.ids):,} documents to {folder}; {n_empty:,} of those done now "
        f"have no word that the model knows, and {n_unknown:,} words were unknown to it."
    )


def _weigh(model: ConceptModel, corpus: Corpus, tell: Any) -> Any:
    """Return the weights of documents, summed over their passages; report unknown words."""
    from superwords.analysis.tables import source_shares
    from superwords.text.corpus import counted_rows

    with warnings.catch_warnings():
        # Its warnings are printed below.
        warnings.simplefilter("ignore", UserWarning)
        weights = model.transform(corpus)
    unknown = model.unknown_words_
    if unknown.n_tokens:
        examples = ", ".join(unknown.examples[:_EXAMPLES])
        tell(f"Words unknown to the model, not counted: {unknown.n_tokens:,} ({examples}, …).")
    if corpus.parent is not None:
        weights = source_shares(corpus) @ weights
        tell(f"Read as {counted_rows(corpus)} (--unit document reads documents whole).")
    if n_empty := int((weights.sum(axis=1) == 0).sum()):
        tell(f"Documents without any word that the model knows (all weights 0): {n_empty:,}.")
    return weights


def _used_concepts(model: ConceptModel, ids: list[str], weights: Any) -> dict[str, Any]:
    from scipy import sparse

    from superwords.analysis.tables import concept_names

    names, shown, rows = concept_names(model.result_), model.result_.shown, sparse.csr_array(weights)
    documents = []
    for name, start, end in zip(ids, rows.indptr, rows.indptr[1:]):
        used = sorted(zip(rows.data[start:end].tolist(), rows.indices[start:end].tolist()), reverse=True)
        concepts = [{"concept": shown[k], "name": names[shown[k] - 1], "weight": weight} for weight, k in used]
        documents.append({"document": name, "concepts": concepts})
    return {"unknown_words": model.unknown_words_.n_tokens, "documents": documents}
