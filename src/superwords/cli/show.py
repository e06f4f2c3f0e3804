"""`superwords show`: what a saved model holds, for people, as JSON or as CSV."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from superwords.cli import options as o
from superwords.cli.options import option


class Sort(StrEnum):
    """What concepts can be sorted by."""

    rows = "rows"
    strength = "strength"
    coherence = "coherence"
    stability = "stability"


def show(
    model_file: Path = o.MODEL_FILE,
    concept: int | None = option("One concept: its words and documents."),
    document: str | None = option("One document: the concepts it uses."),
    word: str | None = option(
        "One word: its concepts, and the words used for the same ones. Several with commas between: the words "
        "that belong with them."
    ),
    groups: list[str] | None = option(
        "A column such as party: which groups speak of what, and with which words. Can be given again."
    ),
    convergence: bool = option("Whether the chains agree, in figures.", False, "--convergence"),
    methods: bool = option("The methods paragraph for a paper, with this run's figures.", False, "--methods"),
    sort: Sort = option(
        "Sort the list of all concepts by this; rows: by the documents or passages that use it.", Sort.rows
    ),
    as_json: bool = o.AS_JSON,
    as_csv: bool = o.AS_CSV,
) -> None:
    """Look at a saved model: all its concepts, or one concept, document or word, or its groups.

    \b
    superwords show model.sw
    superwords show model.sw --concept 3
    superwords show model.sw --word insurance
    superwords show model.sw --word premiums,deductibles
    superwords show model.sw --groups party --csv > party.csv
    """
    asked = {"--concept": concept, "--document": document, "--word": word, "--groups": groups or None}
    chosen = o.only_one({**asked, "--convergence": convergence, "--methods": methods})
    form = o.form_of(as_json, as_csv)
    from superwords.cli import views

    table: dict[str | None, tuple[Any, Any]] = {
        None: (views.all_concepts, sort.value),
        "--concept": (views.one_concept, concept),
        "--document": (views.one_document, document),
        "--word": (views.named_words, word),
        "--groups": (views.by_groups, groups),
        "--convergence": (views.convergence, None),
        "--methods": (views.methods, model_file),
    }
    view, of = table[chosen]
    view(o.load_result(model_file), of, form)
