"""`superwords trends`: the concepts of a saved model over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from superwords.cli.common import AsJson, ModelFile
from superwords.cli.opening import AsCsv, Picture, open_model, save_picture
from superwords.cli.printing import (
    interval,
    percent,
    points_between,
    print_csv,
    print_json,
    print_line,
    print_table,
)
from superwords.corpus.corpus import row_name
from superwords.tabular import points, records

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

app = typer.Typer(add_completion=False)

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_WORDS = 12
_SURE = 0.8  # what is less sure is only counted


@app.command()
def trends(
    model_file: ModelFile,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="A column of dates, years or numbers.")],
    by: Annotated[
        str | None,
        typer.Option(
            help="Length of a period: day, week, month, quarter, year or decade; of numbers, how many.",
            show_default="chosen from the time covered",
        ),
    ] = None,
    concept: Annotated[
        int | None, typer.Option(help="One concept: each period, and its words early and late.")
    ] = None,
    picture: Picture = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """See which concepts rise and which fall over time, and how sure that is.

    \b
    superwords trends model.sw date --by month
    superwords trends model.sw year --concept 3
    superwords trends model.sw date --by month --csv > months.csv
    """
    from superwords.concepts.over_time import time_page

    model = open_model(model_file, as_json, as_csv)
    width, chosen = _width(by), None if concept is None else [concept]
    save_picture("small_multiples", model, column, width, chosen, picture=picture)
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
        change = f"{points(one['change'])} ({points_between(one['low'], one['high'])})"
        line = (one["concept"], one["name"], bars(own, own.max()), percent(own.max()))
        lines.append((*line, change, percent(one["probability_rises"])))
    columns = {"": "right", "concept": "words", "by period": "left", "highest": "right"}
    print_table({**columns, "change in points": "right", "rises": "right"}, lines)
    if len(told) > len(sure):
        print_line(f"… and {len(told) - len(sure)} that rise or fall with less than {_SURE:.0%} probability.")
    first, last = told[["first", "last"]].iloc[0] if len(told) else ("", "")
    rows = row_name(model.corpus_)
    print_line(
        f"By period: the share of {rows} that hold the concept, from {first} to {last}; each line is scaled to its own "
        f"highest share, which stands beside it. {_GAP} marks a period without {rows}."
    )
    print_line(
        "Change in points: how far a straight line through these shares rises or falls from the first period to the "
        "last, in percentage points, with a 95% interval. Rises: the probability that it rises."
    )


def _print_concept(model: ConceptModel, column: str, by: Any, concept: int, as_json: bool) -> None:
    words = model.words_over_time(column, concept)
    table = model.over_time(column, by)
    own = table[table["concept"] == concept]
    if as_json:
        print_json({"periods": records(own), "words": records(words)})
        return
    name, rows = own["name"].iloc[0], row_name(model.corpus_)
    print_line(f"Concept {concept}: {name}")
    lines = []
    for one in own.to_dict("records"):
        held = interval(one["prevalence_low"], one["prevalence_high"])
        shown = (percent(one["prevalence"]), held, percent(one["strength"]))
        lines.append((one["period"], one["n_rows"], *(shown if one["n_rows"] else ("", "", ""))))
    columns = {"period": "left", rows: "right", "held by": "right", "interval": "right"}
    print_table({**columns, "strength": "right"}, lines)
    print_line(
        f"Held by: share of the period's {rows} that hold the concept, with a 95% interval; strength: its mean "
        "weight in those that hold it."
    )
    changed = words.head(_WORDS).to_dict("records")
    print_table(
        {"word": "left", "early": "right", "late": "right", "change in points": "right"},
        [
            (one["word"], percent(one["early"]), percent(one["late"]), points(one["change"]))
            for one in changed
        ],
    )
    print_line(
        f"Early, late: of the {rows} that hold the concept, the share that use the word for it, in the earlier "
        f"and in the later half of all {rows}."
    )
