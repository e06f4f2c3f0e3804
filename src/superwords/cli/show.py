"""`superwords show`: what a saved model holds, for people, as JSON or as CSV."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli.common import load_result, only_one
from superwords.cli.options import AS_CSV, AS_JSON, MODEL_FILE, option
from superwords.cli.printing import print_csv, print_json

if TYPE_CHECKING:
    from superwords.cli.views import ModelView

app = typer.Typer(add_completion=False)


class Sort(StrEnum):
    """What concepts can be sorted by."""

    rows = "rows"
    strength = "strength"
    coherence = "coherence"
    stability = "stability"


@app.command()
def show(
    model_file: Path = MODEL_FILE,
    concept: int | None = option("One concept: its words and documents."),
    document: str | None = option("One document: the concepts it uses."),
    word: str | None = option(
        "One word: its concepts, and the words used for the same ones. Several with commas between: the words "
        "that belong with them.",
        None,
    ),
    groups: list[str] | None = option(
        "A column such as party: which groups speak of what, and with which words. Can be given again.", None
    ),
    convergence: bool = option("Whether the chains agree, in figures.", False, "--convergence"),
    methods: bool = option("The methods paragraph for a paper, with this run's figures.", False, "--methods"),
    sort: Sort = option(
        "Sort the list of all concepts by this; rows: by the documents or passages that use it.", Sort.rows
    ),
    as_json: bool = AS_JSON,
    as_csv: bool = AS_CSV,
) -> None:
    """Look at a saved model: all its concepts, or one concept, document or word, or its groups.

    \b
    superwords show model.sw
    superwords show model.sw --concept 3
    superwords show model.sw --word insurance
    superwords show model.sw --word premiums,deductibles
    superwords show model.sw --groups party --csv > party.csv
    """
    views = {
        "--concept": concept,
        "--document": document,
        "--word": word,
        "--groups": groups or None,
        "--convergence": convergence,
        "--methods": methods,
    }
    chosen = only_one({name: value is not None and value is not False for name, value in views.items()})
    only_one({"--json": as_json, "--csv": as_csv})
    view = _view(model_file, chosen, views[chosen] if chosen else sort.value)
    if as_json:
        print_json(view.as_json())
    elif as_csv:
        print_csv(view.table)
    else:
        view.print()


def _view(path: Path, chosen: str | None, asked: Any) -> ModelView:
    from superwords.analysis.words import named_words
    from superwords.cli import views

    result = load_result(path)
    if chosen == "--word":
        words = named_words(result, asked)
        return views.WordView(result, words[0]) if len(words) == 1 else views.WordsView(result, words)
    kinds: dict[str | None, type[ModelView]] = {
        None: views.ConceptsView,
        "--concept": views.ConceptView,
        "--document": views.DocumentView,
        "--groups": views.GroupsView,
        "--convergence": views.ConvergenceView,
        "--methods": views.MethodsView,
    }
    return kinds[chosen](result, path if chosen == "--methods" else asked)
