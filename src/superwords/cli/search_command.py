"""`superwords search`: the documents of a saved model that answer a query, and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from superwords.cli.common import AsJson, ModelFile, at_least, busy, print_json, print_line, print_table
from superwords.cli.show_command import load_model
from superwords.errors import InputError

app = typer.Typer(add_completion=False)

_PASSAGE = 160


@app.command()
def search(
    model_file: ModelFile,
    query: Annotated[list[str] | None, typer.Argument(metavar="QUERY", help="What to look for.")] = None,
    n: Annotated[
        int, typer.Option("-n", "--number", help="How many documents to show.", callback=at_least(1))
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Find the documents that speak of something, also in other words, and see what links them to the query.

    A document scores by the query's words that it has, by the probability of those words under its concepts, and by
    the scores of the documents most like it. `superwords search` needs no quotes around a query of several words.

    \b
    superwords search model.sw "rising premiums"
    superwords search model.sw rising premiums -n 20 --json
    """
    text = " ".join(query or [])
    if not text.strip():
        raise InputError(
            'The query is empty; give a few words to look for: superwords search MODEL "some words".'
        )
    from superwords.concepts.searching import search_page

    model = load_model(model_file)
    with busy("reading the documents"):
        page = search_page(model.result_, text, n)
    if as_json:
        print_json(page)
    else:
        _print(page)


def _print(page: dict[str, Any]) -> None:
    if page["unknown"]:
        print_line(f"In no document: {', '.join(page['unknown'])}.")
    if not page["hits"]:
        print_line("No document answers this query; try other words.")
        return
    if page["concepts"]:
        spoken = "; ".join(f"{one['concept']} {one['name']}" for one in page["concepts"])
        print_line(f"Documents that match speak of: {spoken}.")
    rows = [
        (k, one["document"], f"{one['score']:.2f}", _shortened(one["passage"] or one["title"]), _why(one))
        for k, one in enumerate(page["hits"], start=1)
    ]
    print_table(
        {"": "right", "document": "name", "score": "right", "text": "words", "because of": "words"}, rows
    )


def _why(hit: dict[str, Any]) -> str:
    parts = [", ".join(hit["words"])] if hit["words"] else []
    parts += [f"concept {j} ({name})" for j, name in zip(hit["concepts"], hit["concept_names"])]
    if not hit["words"] and hit["near"]:
        parts.append(f"like {' and '.join(hit['near'])}")
    return "; ".join(parts)


def _shortened(text: str) -> str:
    return text if len(text) <= _PASSAGE else text[: text.rfind(" ", 0, _PASSAGE)] + " …"
