"""`superwords show`: what a saved model holds, for people, as JSON or as CSV."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superwords.cli.common import AsJson, ModelFile, only_one
from superwords.cli.opening import AsCsv, open_model
from superwords.cli.printing import print_csv, print_json
from superwords.cli.show_groups import GroupsView
from superwords.cli.show_views import (
    ConceptsView,
    ConceptView,
    ConvergenceView,
    DocumentView,
    ModelView,
    WordsView,
    WordView,
)

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

app = typer.Typer(add_completion=False)


class Sort(StrEnum):
    """What concepts can be sorted by."""

    rows = "rows"
    strength = "strength"
    coherence = "coherence"
    stability = "stability"


@app.command()
def show(
    model_file: ModelFile,
    concept: Annotated[int | None, typer.Option(help="One concept: its words and documents.")] = None,
    document: Annotated[str | None, typer.Option(help="One document: the concepts it holds.")] = None,
    word: Annotated[
        str | None,
        typer.Option(
            help="One word: its concepts, and the words used for the same ones. Several with commas between: the words "
            "that belong with them."
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            help="A column such as party: which groups speak of what, and with which words. Can be given again."
        ),
    ] = None,
    convergence: Annotated[
        bool, typer.Option("--convergence", help="Whether the chains agree, in figures.")
    ] = False,
    sort: Annotated[
        Sort,
        typer.Option(
            help="Sort the list of all concepts by this; rows: by the documents or passages that hold it."
        ),
    ] = Sort.rows,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
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
    }
    chosen = only_one({name: value is not None and value is not False for name, value in views.items()})
    model = open_model(model_file, as_json, as_csv)
    view = _view(model, chosen, views[chosen] if chosen else sort.value)
    if as_json:
        print_json(view.as_json())
    elif as_csv:
        print_csv(view.table)
    else:
        view.print()


def _view(model: ConceptModel, chosen: str | None, asked: Any) -> ModelView:
    if chosen == "--word":
        from superwords.concepts.examples import named_words

        words = named_words(model.result_, asked)
        return WordView(model, words[0]) if len(words) == 1 else WordsView(model, words)
    return VIEWS[chosen](model, asked)


VIEWS: dict[str | None, type[ModelView]] = {
    None: ConceptsView,
    "--concept": ConceptView,
    "--document": DocumentView,
    "--groups": GroupsView,
    "--convergence": ConvergenceView,
}
