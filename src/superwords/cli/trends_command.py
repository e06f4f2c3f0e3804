"""`superwords trends`: the concepts of a saved model over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
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
from superwords.cli.show_command import load_model, points
from superwords.corpus.corpus import row_name
from superwords.tabular import records

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

app = typer.Typer(add_completion=False)

AsCsv = Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")]
Picture = Annotated[Path | None, typer.Option(help="Draw it too: the name of a .png or .svg file.")]

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_WORDS = 12
_SURE = 0.8  # what is less sure is only counted


@app.command()
def trends(
    model_file: ModelFile,
    column: Annotated[str, typer.Argument(help="A column of dates, years or numbers.")],
    by: Annotated[
        str | None,
        typer.Option(
            help="day, week, month, quarter, year or decade of dates; a width of numbers.",
            show_default="by the length of time",
        ),
    ] = None,
    concept: Annotated[
        int | None, typer.Option(help="One concept: its periods, and its words early and late.")
    ] = None,
    picture: Picture = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """What rises and what falls over time, with the probability that it does.

    \b
    superwords trends model.sw date --by month
    superwords trends model.sw year --concept 3
    superwords trends model.sw date --by month --csv > months.csv
    """
    from superwords.concepts.over_time import time_page

    only_one({"--json": as_json, "--csv": as_csv})
    model = load_model(model_file)
    width = _width(by)
    if picture is not None:
        from superwords.plots.figures import save_figure
        from superwords.plots.relation_plots import small_multiples

        chosen = None if concept is None else [concept]
        say(f"The picture is {save_figure(small_multiples(model, column, width, chosen), picture)}.")
    if as_csv:
        table = model.over_time(column, width)
        print_csv(table if concept is None else table[table["concept"] == concept])
    elif concept is not None:
        _print_concept(model, column, width, concept, as_json)
    elif as_json:
        print_json(time_page(model.result_, column, width))
    else:
        _print_trends(model, column, width)


def _width(by: str | None) -> Any:
    """A period's name, or a number."""
    try:
        return None if by is None else float(by)
    except ValueError:
        return by


def bars(shares: pd.Series, most: float) -> str:
    """A line of text as high as the shares; a period without documents is a dot."""
    return "".join(
        _GAP if np.isnan(one) else _BARS[min(int(one / max(most, 1e-12) * len(_BARS)), len(_BARS) - 1)]
        for one in shares
    )


def _print_trends(model: ConceptModel, column: str, by: Any) -> None:
    periods = model.over_time(column, by)
    told = model.trends(column, by)
    sure = told[(told["probability_rises"] - 0.5).abs() >= _SURE - 0.5]
    lines = []
    for one in sure.to_dict("records"):
        own = periods.loc[periods["concept"] == one["concept"], "prevalence"]
        change = f"{points(one['change'])} ({points(one['low'])} to {points(one['high'])})"
        line = (one["concept"], one["name"], bars(own, own.max()), percent(own.max()))
        lines.append((*line, change, percent(one["probability_rises"])))
    columns = {"": "right", "concept": "words", "by period": "left", "highest": "right"}
    print_table({**columns, "change in points": "right", "rises": "right"}, lines)
    if len(told) > len(sure):
        print_line(f"… and {len(told) - len(sure)} that rise or fall with less than {_SURE:.0%} probability.")
    first, last = told[["first", "last"]].iloc[0] if len(told) else ("", "")
    rows = row_name(model.corpus_)
    print_line(
        f"By period: the share of {rows} that hold the concept from {first} to {last}, as high as its highest; "
        f"{_GAP} is a period without {rows}."
    )
    print_line(
        "Change: of that share along a straight line from the first period to the last, in percentage points, with a "
        "95% interval; rises: the probability that the line goes up."
    )


def _print_concept(model: ConceptModel, column: str, by: Any, concept: int, as_json: bool) -> None:
    words = model.words_over_time(column, concept)
    table = model.over_time(column, by)
    own = table[table["concept"] == concept]
    if as_json:
        print_json({"periods": records(own), "words": records(words)})
        return
    name = own["name"].iloc[0]
    print_line(f"Concept {concept}: {name}")
    lines = []
    for one in own.to_dict("records"):
        held = (
            f"{percent(one['prevalence_low'])}–{percent(one['prevalence_high'])}"
            if one["n_documents"]
            else ""
        )
        shown = (
            (percent(one["prevalence"]), held, percent(one["strength"]))
            if one["n_documents"]
            else ("", "", "")
        )
        lines.append((one["period"], one["n_documents"], *shown))
    columns = {"period": "left", row_name(model.corpus_): "right", "held by": "right", "interval": "right"}
    print_table({**columns, "strength": "right"}, lines)
    changed = words.head(_WORDS).to_dict("records")
    print_table(
        {"word": "left", "early": "right", "late": "right", "change in points": "right"},
        [
            (one["word"], percent(one["early"]), percent(one["late"]), points(one["change"]))
            for one in changed
        ],
    )
    rows = row_name(model.corpus_)
    print_line(
        f"Early and late: of the {rows} that hold the concept, the share that use the word for it, in the earlier and "
        f"the later half of all {rows}."
    )
