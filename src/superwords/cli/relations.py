"""`superwords trends`, `effects` and `themes`: concepts over time, by columns, and gathered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli import options as o
from superwords.cli import printing as p
from superwords.cli.options import option
from superwords.cli.printing import between, left, percent, print_line, print_table, printed, right, share
from superwords.errors import InputError
from superwords.tabular import point_decimals, points, records

if TYPE_CHECKING:
    import pandas as pd

    from superwords import ConceptModel

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_WORDS = 12
_SURE = 0.8  # what is less sure is only counted
_MOST = 12
_MIN_GROUP = 5


def _rows(model: ConceptModel) -> str:
    from superwords.text.corpus import row_name

    return row_name(model.corpus_)


def _draw(plot: str, *asked: Any, picture: Path | None, width: float) -> None:
    """Draw with a function of plots/model_plots.py, if a file was named."""
    if picture is not None:
        from superwords.plots import model_plots
        from superwords.plots.style import save_figure

        figure = getattr(model_plots, plot)(*asked, width=width)
        p.say(f"The picture is {save_figure(figure, picture)}.")


def trends(
    model_file: Path = o.MODEL_FILE,
    column: str = typer.Argument(metavar="COLUMN", help="A column of dates, years or numbers."),
    by: Any = option(
        "Length of a period: day, week, month, quarter, year or decade; of numbers, how many.",
        shown="chosen from the time covered",
        parser=o.number_or_name,
        metavar="PERIOD",
    ),
    concept: int | None = option("One concept: each period, and its words early and late."),
    picture: Path | None = o.PICTURE,
    width: float = o.WIDTH,
    as_json: bool = o.AS_JSON,
    as_csv: bool = o.AS_CSV,
) -> None:
    """See which concepts rise and which fall over time, and how sure that is.

    \b
    superwords trends model.sw date --by month
    superwords trends model.sw year --concept 3
    superwords trends model.sw date --by month --csv > months.csv
    """
    from superwords.analysis.over_time import time_page

    form, model = o.form_of(as_json, as_csv), o.load_model(model_file)
    _draw("small_multiples", model, column, by, None if concept is None else [concept], picture=picture, width=width)
    periods = model.over_time(column, by)
    if concept is not None:
        own, changes = periods[periods["concept"] == concept], partial(model.words_over_time, column, concept)
        if not printed(form, own, lambda: {"periods": records(own), "words": records(changes())}):
            _print_concept(concept, own, changes().head(_WORDS), _rows(model))
    elif not printed(form, periods, lambda: time_page(model.result_, column, by)):
        _print_trends(periods, model.trends(column, by), _rows(model))


def _print_trends(periods: pd.DataFrame, table: pd.DataFrame, rows: str) -> None:
    sure = table[(table["probability_rises"] - 0.5).abs() >= _SURE - 0.5]
    by_concept = dict(iter(periods.groupby("concept")["prevalence"]))

    def bars(concept: int) -> str:
        """Return a line of bars as high as the shares; a period without documents is a dot."""
        shares = by_concept[concept]
        heights = (shares / max(shares.max(), 1e-12) * len(_BARS)).clip(upper=len(_BARS) - 1)
        return "".join(_GAP if isnan(height) else _BARS[int(height)] for height in heights)

    def change(mean: float, low: float, high: float) -> str:
        return f"{points(mean)} ({p.points_between(low, high)})"

    columns = {"": right("concept"), "concept": left("name"), "by period": left("concept", text=bars)}
    columns["highest"] = right("concept", text=lambda concept: percent(by_concept[concept].max()))
    columns["change in points"] = right("change", "low", "high", text=change)
    print_table(sure, columns | {"rises": share("probability_rises")})
    if len(table) > len(sure):
        print_line(f"… and {len(table) - len(sure)} that rise or fall with less than {_SURE:.0%} probability.")
    first, last = table[["first", "last"]].iloc[0] if len(table) else ("", "")
    print_line(
        f"By period: share of {rows} that use the concept, from {first} to {last}, each line scaled to its own highest "
        f"({_GAP}: no {rows}). Change in points: the slope of the regression of `superwords effects` on this column "
        "alone, from the first document to the last, with a 95% interval. Rises: the probability that it rises."
    )


def _print_concept(concept: int, periods: pd.DataFrame, changes: pd.DataFrame, rows: str) -> None:
    print_line(f"Concept {concept}: {periods['name'].iloc[0]}")

    def where_any(text: Callable[..., str], *fields: str) -> p.Column:
        return right("n_rows", *fields, text=lambda n_rows, *values: text(*values) if n_rows else "")

    columns = {"period": left("period"), rows: right("n_rows"), "used by": where_any(percent, "prevalence")}
    columns["interval"] = where_any(p.interval, "prevalence_low", "prevalence_high")
    print_table(periods, columns | {"strength": where_any(percent, "strength")})
    print_line(f"Used by: share of the period's {rows} that use the concept; strength: its mean weight in those.")
    halves = {"word": left("word"), "early": share("early"), "late": share("late")}
    print_table(changes, halves | {"change in points": right("change", text=points)})
    print_line(f"Early, late: share of the {rows} using the concept that use the word for it, by half of all {rows}.")


def effects(
    model_file: Path = o.MODEL_FILE,
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
    cluster_by: str | None = o.AUTHOR_COLUMN,
    concept: int | None = option("One concept only."),
    picture: Path | None = o.PICTURE,
    width: float = o.WIDTH,
    as_json: bool = o.AS_JSON,
    as_csv: bool = o.AS_CSV,
) -> None:
    """See how prevalence (or strength) depends on several columns at once, document by document.

    \b
    superwords effects model.sw "party + chamber + date"
    superwords effects model.sw "party + date" --cluster-by speaker --reference party=D
    superwords effects model.sw "party * bs(date, df=4)" --predict date,party --picture trends.pdf
    superwords effects model.sw "party" --of strength --csv > effects.csv
    """
    from superwords.analysis.effects import outcome
    from superwords.analysis.tables import concept_index
    from superwords.text.corpus import n_sources

    form, model = o.form_of(as_json, as_csv), o.load_model(model_file)
    if concept is not None:
        concept_index(model.result_, concept)
    options: dict[str, Any] = {"min_group": min_group, "cluster": cluster_by}
    options["reference"] = _pairs("--reference", reference)
    options["groups"] = {name: groups.split(",") for name, groups in _pairs("--only", only).items()}
    by = None if predict is None else [name.strip() for name in predict.split(",")]
    with p.busy("fitting the regressions"):
        table = model.effects(formula, of, **options) if by is None else model.predicted(formula, by, of, **options)
    if concept is not None:
        table = table[table["concept"] == concept]
    kind, plot = ("effects", "effect_intervals") if by is None else ("predicted", "predicted_values")
    _draw(plot, model, table, of, picture=picture, width=width)
    notes = table.attrs["notes"]
    if printed(form, table, lambda: {"formula": formula, "of": of, "notes": notes, kind: records(table)}):
        return
    what = "the concept's weight in the documents that use it" if of == "strength" else outcome(_rows(model))
    if by is None:
        _print_effects(table)
        print_line(
            f"Points: the effect on {what}, in percentage points, with a 95% interval and the other columns held "
            "fixed. Positive: the probability that the effect is positive. Alone: the effect without the other columns."
            + ("" if model.corpus_.parent is None else " `show --groups` counts passages in place of documents.")
        )
    else:
        _print_predicted(table, by)
        print_line(f"Predicted: {what}, with a 95% interval, averaged over the other columns of the formula.")
    for note in notes:
        print_line(note)
    n_cases, n_documents = int(table["documents"].iloc[0]) if len(table) else 0, n_sources(model.corpus_)
    if n_cases < n_documents:
        print_line(f"Based on {n_cases:,} of {n_documents:,} documents; the others lack a value or were excluded.")


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    pairs = [one.partition("=") for one in given or []]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise InputError(f"{option} {name}{sign}{value} is not COLUMN=GROUP, such as party=D.")
    return {name: value for name, _, value in pairs}


def _print_effects(table: pd.DataFrame) -> None:
    for label, own in table.groupby("label", sort=False):
        clear = own["effect"].abs() / (own["high"] - own["low"])
        order = clear.sort_values(ascending=False, kind="stable").index[:_MOST]
        digits = point_decimals(own.loc[order, "effect"])
        in_points = partial(points, decimals=digits)
        columns = {
            "": right("concept"),
            "concept": left("name"),
            "points": right("effect", text=in_points),
            "interval": between("low", "high", text=partial(p.points_between, decimals=digits)),
            "positive": share("probability_positive"),
            "alone": right("unadjusted", text=in_points),
        }
        print_line(f"Effect of {label}:")
        print_table(own.loc[order], columns)
        if len(own) > len(order):
            print_line(f"… and {len(own) - len(order)} that are less sure.")


def _print_predicted(table: pd.DataFrame, by: list[str]) -> None:
    columns = {name: left(name, text=lambda value: f"{value:g}" if isinstance(value, float) else value) for name in by}
    columns |= {"predicted": share("predicted"), "interval": between("low", "high")}
    for concept, own in table.groupby("concept", sort=False):
        print_line(f"Concept {concept}: {own['name'].iloc[0]}")
        values = own[by[0]].drop_duplicates()
        print_table(own[own[by[0]].isin(values.iloc[:: max(1, len(values) // _MOST)])], columns)


def themes(
    model_file: Path = o.MODEL_FILE,
    picture: Path | None = o.PICTURE,
    width: float = o.WIDTH,
    as_json: bool = o.AS_JSON,
    as_csv: bool = o.AS_CSV,
) -> None:
    """See concepts gathered into themes: your own (`superwords edit --theme`), or else proposed ones.

    \b
    superwords themes model.sw
    superwords themes model.sw --picture tree.png
    """
    form, model = o.form_of(as_json, as_csv), o.load_model(model_file)
    table = model.themes()
    _draw("concept_tree", model, picture=picture, width=width)
    if printed(form, table, lambda: {"themes": records(table), **model.tree().as_json()}):
        return
    used = {"used by": share("prevalence"), "interval": between("prevalence_low", "prevalence_high")}
    concepts = left("concepts", "names", text=p.numbered)
    print_table(table, {"theme": left("theme")} | used | {"concepts": concepts})
    print_line(
        f"Used by: share of {_rows(model)} that use any concept of the theme, in the draws that find all of them."
    )
    if len(table) and table["proposed"].all():
        print_line(
            "These themes are proposed, from shared words and documents; `superwords edit --theme` makes your own."
        )
