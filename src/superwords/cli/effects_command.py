"""`superwords effects`: how the concepts of a saved model depend on several columns at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from superwords.cli.common import (
    AsJson,
    ModelFile,
    only_one,
    percent,
    print_csv,
    print_json,
    print_line,
    print_table,
    say,
)
from superwords.cli.common import busy as working
from superwords.cli.show_command import load_model, points
from superwords.cli.trends_command import AsCsv, Picture
from superwords.corpus.corpus import row_name

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(add_completion=False)

_MOST = 12


@app.command()
def effects(
    model_file: ModelFile,
    formula: Annotated[str, typer.Argument(help='Columns joined by +, such as "party + chamber + date".')],
    of: Annotated[str, typer.Option(help="prevalence or strength.")] = "prevalence",
    concept: Annotated[int | None, typer.Option(help="One concept only.")] = None,
    picture: Picture = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """How prevalence or strength depends on several columns at once, with documents as the cases.

    \b
    superwords effects model.sw "party + chamber + date"
    superwords effects model.sw "party + date" --concept 3
    superwords effects model.sw "party" --of strength --csv > effects.csv
    """
    from superwords.concepts.tables import concept_index
    from superwords.tabular import records

    only_one({"--json": as_json, "--csv": as_csv})
    model = load_model(model_file)
    if concept is not None:
        concept_index(model.result_, concept)
    with working("fitting the regressions"):
        table = model.effects(formula, of)
    if concept is not None:
        table = table[table["concept"] == concept]
    if picture is not None:
        from superwords.plots.figures import save_figure
        from superwords.plots.relation_plots import effect_intervals

        say(f"The picture is {save_figure(effect_intervals(model, table, of), picture)}.")
    if as_json:
        print_json({"formula": formula, "of": of, "effects": records(table)})
    elif as_csv:
        print_csv(table)
    else:
        _print(table, of, row_name(model.corpus_))


def _print(table: pd.DataFrame, of: str, rows: str) -> None:
    for term, own in table.groupby("term", sort=False):
        clear = own["effect"].abs() / (own["high"] - own["low"])
        order = clear.sort_values(ascending=False, kind="stable").index[:_MOST]
        lines = [
            (
                one["concept"],
                one["name"],
                points(one["effect"]),
                f"{points(one['low'])} to {points(one['high'])}",
                percent(one["probability_positive"]),
                points(one["unadjusted"]),
            )
            for one in own.loc[order].to_dict("records")
        ]
        columns = {"": "right", f"{term}": "words", "points": "right", "interval": "right"}
        print_table({**columns, "positive": "right", "alone": "right"}, lines)
        if len(own) > len(lines):
            print_line(f"… and {len(own) - len(lines)} less sure.")
    what = (
        f"share of {rows} that hold the concept" if of == "prevalence" else "weight where the concept is held"
    )
    n_documents = int(table["documents"].iloc[0]) if len(table) else 0
    print_line(
        f"Points: what the term adds to the {what}, in percentage points, the other columns held fixed; alone: without "
        f"the other columns. Positive: the probability that it adds. Dates count in years. "
        f"{n_documents:,} documents have every column."
    )
