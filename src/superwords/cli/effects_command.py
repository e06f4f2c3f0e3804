"""`superwords effects`: how the concepts of a saved model depend on several columns at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from superwords.cli.common import AsJson, ModelFile, busy
from superwords.cli.opening import AsCsv, Picture, open_model, save_picture
from superwords.cli.printing import (
    percent,
    points_between,
    print_csv,
    print_json,
    print_line,
    print_table,
)
from superwords.corpus.corpus import Corpus, n_sources, row_name
from superwords.tabular import points, records

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(add_completion=False)

_MOST = 12
_GROUP = re.compile(r"(.+)\[T\.(.+)\]")  # how formulaic names a group of a column


@app.command()
def effects(
    model_file: ModelFile,
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", help='Columns joined by +, such as "party + chamber + date".')
    ],
    of: Annotated[str, typer.Option(help="Effects on prevalence, or on strength.")] = "prevalence",
    concept: Annotated[int | None, typer.Option(help="One concept only.")] = None,
    picture: Picture = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """See how prevalence (or strength) depends on several columns at once, document by document.

    \b
    superwords effects model.sw "party + chamber + date"
    superwords effects model.sw "party + date" --concept 3
    superwords effects model.sw "party" --of strength --csv > effects.csv
    """
    from superwords.concepts.tables import concept_index

    model = open_model(model_file, as_json, as_csv)
    if concept is not None:
        concept_index(model.result_, concept)
    with busy("fitting the regressions"):
        table = model.effects(formula, of)
    if concept is not None:
        table = table[table["concept"] == concept]
    save_picture("effect_intervals", model, table, of, picture=picture)
    if as_json:
        print_json({"formula": formula, "of": of, "effects": records(table)})
    elif as_csv:
        print_csv(table)
    else:
        _print(table, of, model.corpus_)


def _print(table: pd.DataFrame, of: str, corpus: Corpus) -> None:
    metadata, rows = corpus.metadata, row_name(corpus)
    for term, own in table.groupby("term", sort=False):
        clear = own["effect"].abs() / (own["high"] - own["low"])
        order = clear.sort_values(ascending=False, kind="stable").index[:_MOST]
        lines = [
            (
                *(
                    one["concept"],
                    one["name"],
                    points(one["effect"]),
                    points_between(one["low"], one["high"]),
                ),
                *(percent(one["probability_positive"]), points(one["unadjusted"])),
            )
            for one in own.loc[order].to_dict("records")
        ]
        print_line(f"{_term(str(term), table, metadata)}:")
        columns = {"": "right", "concept": "words", "points": "right", "interval": "right"}
        print_table({**columns, "positive": "right", "alone": "right"}, lines)
        if len(own) > len(lines):
            print_line(f"… and {len(own) - len(lines)} that are less sure.")
    n_cases, n_documents = int(table["documents"].iloc[0]) if len(table) else 0, n_sources(corpus)
    left_out = (
        f" {n_cases:,} of {n_documents:,} documents have a value in every column; the others are left out."
        if n_cases < n_documents
        else ""
    )
    print_line(
        f"Points: the effect on {_outcome(of, rows)}, in percentage points, with a 95% interval and the other "
        "columns held fixed. Positive: the probability that the effect is positive. Alone: the effect without the "
        "other columns. Dates count in years. Every document counts the same, however long it is, and where a text "
        "leaves open whether it holds a concept, the columns help to decide: effects can be larger than the "
        f"differences that `show --groups` prints.{left_out}"
    )


def _outcome(of: str, rows: str) -> str:
    if of == "strength":
        return "the concept's weight in the documents that hold it"
    return (
        "the prevalence" if rows == "documents" else f"the share of a document's {rows} that hold the concept"
    )


def _term(term: str, table: pd.DataFrame, metadata: pd.DataFrame) -> str:
    """`party[T.R]` in plain words: R compared with the group that no term names."""
    found = _GROUP.fullmatch(term)
    if found is None or found[1] not in metadata.columns:
        return f"Effect of {term}"
    column = found[1]
    named = {
        match[2] for one in table["term"].unique() if (match := _GROUP.fullmatch(one)) and match[1] == column
    }
    others = sorted({str(value) for value in metadata[column].dropna()} - named)
    compared = f" compared with {others[0]}" if len(others) == 1 else ""
    return f"Effect of {column} {found[2]}{compared}"
