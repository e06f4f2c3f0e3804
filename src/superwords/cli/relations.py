"""`superwords trends`, `effects` and `themes`: concepts over time, by columns, and gathered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli.common import busy, open_model, save_picture
from superwords.cli.options import AS_CSV, AS_JSON, MODEL_FILE, PICTURE, WIDTH, number_or_name, option
from superwords.cli.printing import (
    Column,
    between,
    interval,
    percent,
    points_between,
    print_csv,
    print_json,
    print_line,
    print_table,
    share,
)
from superwords.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from superwords.fitting.estimator import ConceptModel
    from superwords.text.corpus import Corpus

app = typer.Typer(add_completion=False)

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_WORDS = 12
_SURE = 0.8  # what is less sure is only counted


@app.command()
def trends(
    model_file: Path = MODEL_FILE,
    column: str = typer.Argument(metavar="COLUMN", help="A column of dates, years or numbers."),
    by: Any = option(
        "Length of a period: day, week, month, quarter, year or decade; of numbers, how many.",
        shown="chosen from the time covered",
        parser=number_or_name,
        metavar="PERIOD",
    ),
    concept: int | None = option("One concept: each period, and its words early and late."),
    picture: Path | None = PICTURE,
    width: float = WIDTH,
    as_json: bool = AS_JSON,
    as_csv: bool = AS_CSV,
) -> None:
    """See which concepts rise and which fall over time, and how sure that is.

    \b
    superwords trends model.sw date --by month
    superwords trends model.sw year --concept 3
    superwords trends model.sw date --by month --csv > months.csv
    """
    from superwords.analysis.over_time import time_page

    model = open_model(model_file, as_json, as_csv)
    chosen = None if concept is None else [concept]
    save_picture("small_multiples", model, column, by, chosen, picture=picture, width=width)
    if as_csv:
        table = model.over_time(column, by)
        print_csv(table if concept is None else table[table["concept"] == concept])
    elif concept is not None:
        _print_concept(model, column, by, concept, as_json)
    elif as_json:
        print_json(time_page(model.result_, column, by))
    else:
        _print_trends(model, column, by)


def bars(shares: pd.Series) -> str:
    """Return a line of bars as high as the shares; a period without documents is a dot."""
    heights = (shares / max(shares.max(), 1e-12) * len(_BARS)).clip(upper=len(_BARS) - 1)
    return "".join(_GAP if isnan(one) else _BARS[int(one)] for one in heights)


def _print_trends(model: ConceptModel, column: str, by: Any) -> None:
    from superwords.tabular import points
    from superwords.text.corpus import row_name

    periods = model.over_time(column, by)
    table = model.trends(column, by)
    sure = table[(table["probability_rises"] - 0.5).abs() >= _SURE - 0.5]
    by_concept = dict(iter(periods.groupby("concept")["prevalence"]))
    print_table(
        sure,
        {
            "": ("right", "concept"),
            "concept": ("words", "name"),
            "by period": ("left", lambda one: bars(by_concept[one["concept"]])),
            "highest": ("right", lambda one: percent(by_concept[one["concept"]].max())),
            "change in points": (
                "right",
                lambda one: f"{points(one['change'])} ({points_between(one['low'], one['high'])})",
            ),
            "rises": share("probability_rises"),
        },
    )
    if len(table) > len(sure):
        print_line(f"… and {len(table) - len(sure)} that rise or fall with less than {_SURE:.0%} probability.")
    first, last = table[["first", "last"]].iloc[0] if len(table) else ("", "")
    rows = row_name(model.corpus_)
    print_line(
        f"By period: the share of {rows} that use the concept, from {first} to {last}; each line is scaled to its own "
        f"highest share, given beside it. {_GAP} marks a period without {rows}."
    )
    print_line(
        "Change in points: how far the prevalence rises or falls along a straight line from the first document to the "
        "last, in percentage points, with a 95% interval; the regression of `superwords effects` on this column alone, "
        "whatever the periods. Rises: the probability that it rises."
    )


def _print_concept(model: ConceptModel, column: str, by: Any, concept: int, as_json: bool) -> None:
    from superwords.tabular import points, records
    from superwords.text.corpus import row_name

    words = model.words_over_time(column, concept)
    table = model.over_time(column, by)
    own = table[table["concept"] == concept]
    if as_json:
        print_json({"periods": records(own), "words": records(words)})
        return
    name, rows = own["name"].iloc[0], row_name(model.corpus_)
    print_line(f"Concept {concept}: {name}")

    def where_any(column: Callable[[Any], str]) -> Column:
        return "right", lambda one: column(one) if one["n_rows"] else ""

    print_table(
        own,
        {
            "period": "left",
            rows: ("right", "n_rows"),
            "used by": where_any(lambda one: percent(one["prevalence"])),
            "interval": where_any(lambda one: interval(one["prevalence_low"], one["prevalence_high"])),
            "strength": where_any(lambda one: percent(one["strength"])),
        },
    )
    print_line(
        f"Used by: share of the period's {rows} that use the concept, with a 95% interval; strength: its mean "
        "weight in those that use it."
    )
    change: Column = "right", lambda one: points(one["change"])
    print_table(
        words.head(_WORDS), {"word": "left", "early": share("early"), "late": share("late"), "change in points": change}
    )
    print_line(
        f"Early, late: of the {rows} that use the concept, the share that use the word for it, in the earlier "
        f"and in the later half of all {rows}."
    )


_MOST = 12
_MIN_GROUP = 5


@app.command()
def effects(
    model_file: Path = MODEL_FILE,
    formula: str = typer.Argument(metavar="FORMULA", help='Columns joined by +, such as "party + chamber + date".'),
    of: str = option("Effects on prevalence, or on strength.", "prevalence"),
    predict: str | None = option(
        "Print predicted values by these columns of the formula, such as party or date,party.",
        metavar="COLUMN[,COLUMN]",
    ),
    reference: list[str] | None = option(
        "The group that the others of a column are compared with.", metavar="COLUMN=GROUP"
    ),
    only: list[str] | None = option("Use the documents of these groups only.", metavar="COLUMN=GROUP,GROUP"),
    min_group: int = option("Groups of fewer documents are pooled as other.", _MIN_GROUP),
    cluster_by: str | None = option("Authors or sources, whose documents are not independent.", metavar="COLUMN"),
    concept: int | None = option("One concept only."),
    picture: Path | None = PICTURE,
    width: float = WIDTH,
    as_json: bool = AS_JSON,
    as_csv: bool = AS_CSV,
) -> None:
    """See how prevalence (or strength) depends on several columns at once, document by document.

    \b
    superwords effects model.sw "party + chamber + date"
    superwords effects model.sw "party + date" --cluster-by speaker --reference party=D
    superwords effects model.sw "party * bs(date, df=4)" --predict date,party --picture trends.pdf
    superwords effects model.sw "party" --of strength --csv > effects.csv
    """
    from superwords.analysis.tables import concept_index
    from superwords.tabular import records

    model = open_model(model_file, as_json, as_csv)
    if concept is not None:
        concept_index(model.result_, concept)
    options: dict[str, Any] = {
        "reference": {name: group for name, group in _pairs("--reference", reference)},
        "groups": {name: groups.split(",") for name, groups in _pairs("--only", only)},
        "min_group": min_group,
        "cluster": cluster_by,
    }
    by = None if predict is None else [name.strip() for name in predict.split(",")]
    with busy("fitting the regressions"):
        table = model.effects(formula, of, **options) if by is None else model.predicted(formula, by, of, **options)
    if concept is not None:
        table = table[table["concept"] == concept]
    save_picture(
        "effect_intervals" if by is None else "predicted_values", model, table, of, picture=picture, width=width
    )
    if as_json:
        name = "effects" if by is None else "predicted"
        print_json({"formula": formula, "of": of, "notes": table.attrs["notes"], name: records(table)})
    elif as_csv:
        print_csv(table)
    elif by is None:
        _print_effects(table, of, model.corpus_)
    else:
        _print_predicted(table, by, of, model.corpus_)


def _pairs(option: str, given: list[str] | None) -> list[tuple[str, str]]:
    pairs = [one.partition("=") for one in given or []]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise InputError(f"{option} {name}{sign}{value} is not COLUMN=GROUP, such as party=D.")
    return [(name, value) for name, _, value in pairs]


def _print_effects(table: pd.DataFrame, of: str, corpus: Corpus) -> None:
    from superwords.tabular import point_decimals
    from superwords.text.corpus import row_name

    for label, own in table.groupby("label", sort=False):
        clear = own["effect"].abs() / (own["high"] - own["low"])
        order = clear.sort_values(ascending=False, kind="stable").index[:_MOST]
        digits = point_decimals(own.loc[order, "effect"])
        print_line(f"Effect of {label}:")
        print_table(
            own.loc[order],
            {
                "": ("right", "concept"),
                "concept": ("words", "name"),
                "points": _points("effect", digits),
                "interval": between("low", "high", partial(points_between, decimals=digits)),
                "positive": share("probability_positive"),
                "alone": _points("unadjusted", digits),
            },
        )
        if len(own) > len(order):
            print_line(f"… and {len(own) - len(order)} that are less sure.")
    print_line(
        f"Points: the effect on {_outcome(of, row_name(corpus))}, in percentage points, with a 95% interval and the "
        "other columns held fixed. Positive: the probability that the effect is positive. Alone: the effect without "
        "the other columns."
        + ("" if corpus.parent is None else " `show --groups` counts passages in place of documents.")
    )
    _print_notes(table, corpus)


def _print_predicted(table: pd.DataFrame, by: list[str], of: str, corpus: Corpus) -> None:
    from superwords.text.corpus import row_name

    for concept, own in table.groupby("concept", sort=False):
        print_line(f"Concept {concept}: {own['name'].iloc[0]}")
        step = max(1, own[by[0]].nunique() // _MOST)
        shown = own[own[by[0]].isin(own[by[0]].drop_duplicates().iloc[::step])]
        columns: dict[str, Column] = {name: ("left", partial(_plain, name)) for name in by}
        print_table(shown, columns | {"predicted": share("predicted"), "interval": between("low", "high")})
    print_line(
        f"Predicted: {_outcome(of, row_name(corpus))}, with a 95% interval, averaged over the other columns of the "
        "formula as the documents have them."
    )
    _print_notes(table, corpus)


def _points(field: str, decimals: int) -> Column:
    from superwords.tabular import points

    return "right", lambda one: points(one[field], decimals)


def _plain(field: str, one: Any) -> str:
    value = one[field]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _print_notes(table: pd.DataFrame, corpus: Corpus) -> None:
    from superwords.text.corpus import n_sources

    for note in table.attrs["notes"]:
        print_line(note)
    n_cases, n_documents = int(table["documents"].iloc[0]) if len(table) else 0, n_sources(corpus)
    if n_cases < n_documents:
        print_line(f"Based on {n_cases:,} of {n_documents:,} documents; the others lack a value or were excluded.")


def _outcome(of: str, rows: str) -> str:
    if of == "strength":
        return "the concept's weight in the documents that use it"
    from superwords.analysis.effects import outcome

    return outcome(rows)


@app.command()
def themes(
    model_file: Path = MODEL_FILE,
    picture: Path | None = PICTURE,
    width: float = WIDTH,
    as_json: bool = AS_JSON,
    as_csv: bool = AS_CSV,
) -> None:
    """See concepts gathered into themes: your own (`superwords edit --theme`), or else proposed ones.

    \b
    superwords themes model.sw
    superwords themes model.sw --picture tree.png
    """
    from superwords.tabular import records
    from superwords.text.corpus import row_name

    model = open_model(model_file, as_json, as_csv)
    table = model.themes()
    save_picture("concept_tree", model, picture=picture, width=width)
    if as_json:
        print_json({"themes": records(table), **model.tree().as_json()})
        return
    if as_csv:
        print_csv(table)
        return
    print_table(
        table,
        {
            "theme": "name",
            "used by": share("prevalence"),
            "interval": between("prevalence_low", "prevalence_high"),
            "concepts": (
                "words",
                lambda one: "; ".join(f"{j} {name}" for j, name in zip(one["concepts"], one["names"])),
            ),
        },
    )
    print_line(
        f"Used by: share of {row_name(model.corpus_)} that use any concept of the theme, mean over the draws "
        "that find all of them, with a 95% interval."
    )
    if len(table) and table["proposed"].all():
        print_line(
            "These themes are proposed, from the words and documents that concepts share; "
            "`superwords edit --theme` makes your own."
        )
