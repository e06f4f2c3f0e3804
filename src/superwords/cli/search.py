"""`superwords search`: the documents of a saved model that answer a query, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli.options import AS_JSON, MODEL_FILE, load_model, option
from superwords.cli.printing import Column, busy, called, print_json, print_line, print_table, share
from superwords.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(add_completion=False)

_PASSAGE = 160
_AMONG = 100
_SURE, _MOST_TASTES = 0.8, 5


@app.command()
def search(
    model_file: Path = MODEL_FILE,
    query: list[str] | None = typer.Argument(None, metavar="QUERY", help="What to look for."),
    n: int = option("How many documents to show.", 10, "-n", "--number", least=1),
    diverse: bool = option(
        "Documents that together cover what the collection speaks of (with a query: what its first "
        f"{_AMONG} hits speak of).",
        False,
        "--diverse",
    ),
    like: list[str] | None = option("A document you like. Can be given again.", metavar="ID"),
    dislike: list[str] | None = option("A document you do not like. Can be given again.", metavar="ID"),
    as_json: bool = AS_JSON,
) -> None:
    """Find the documents that speak of something, even in other words, and see what links them to the query.

    A document scores by the query's words that it has, by the probability of those words under its concepts, and by
    the scores of the documents most like it. `superwords search` needs no quotes around a query of several words.
    Without a query, --diverse chooses documents that cover the whole collection, and --like and --dislike find more
    of what you like.

    \b
    superwords search model.sw "rising premiums"
    superwords search model.sw rising premiums -n 20 --json
    superwords search model.sw --diverse -n 10
    superwords search model.sw --like speech-12 --like speech-40 --dislike speech-3
    """
    from superwords.analysis.documents import document_labels
    from superwords.analysis.tables import sources

    text = " ".join(query or [])
    judged = bool(like or dislike)
    if judged and (diverse or text.strip()):
        raise InputError("--like and --dislike cannot be used with a query or with --diverse; leave one of them out.")
    if not text.strip() and not diverse and not judged:
        raise InputError('The query is empty; give a few words to look for: superwords search MODEL "some words".')
    model = load_model(model_file)
    with busy("reading the documents"):
        if judged:
            found = model.recommend(like or [], dislike or [], n)
            taste = model.tastes(like or [], dislike or [])
        elif diverse:
            among = model.search(text, _AMONG) if text.strip() else None
            if among is not None and among.empty:
                raise InputError(f"No document answers the query {text!r}; try other words.")
            found = model.diverse(n, among)
        else:
            from superwords.search.index import search_page

            page = search_page(model.result_, text, n)
    if judged:
        _show_recommended(found, taste, as_json)
    elif diverse:
        _show_diverse(found, as_json)
    elif as_json:
        print_json(page)
    else:
        _print(page, dict(zip(sources(model.corpus_)[0], document_labels(model.corpus_))))


def _show_diverse(found: pd.DataFrame, as_json: bool) -> None:
    if as_json:
        print_json({"documents": found.to_dict("records")})
        return
    print_line("Documents that together cover what is spoken of, each with the concepts it adds:")
    columns: dict[str, Column] = {"document": "name", "covered": share("covered"), "called": _TITLE}
    _print_ranked(found.to_dict("records"), columns | {"adds": _CONCEPTS})


def _show_recommended(found: pd.DataFrame, taste: pd.DataFrame, as_json: bool) -> None:
    if as_json:
        print_json({"documents": found.to_dict("records"), "tastes": taste.to_dict("records")})
        return
    learnt = taste[(taste["sure"] > _SURE) & (taste["taste"] > 0)].head(_MOST_TASTES).to_dict("records")
    said = "; ".join(f"{one['concept']} {one['name']} ({one['sure']:.0%} sure)" for one in learnt)
    print_line(f"You seem to like: {said}." if said else "Not sure yet what you like; judge a few more documents.")
    columns: dict[str, Column] = {"document": "name", "liked": share("score"), "called": _TITLE}
    _print_ranked(found.to_dict("records"), columns | {"because of": _CONCEPTS})


def _print_ranked(records: list[dict[Any, Any]], columns: Mapping[str, Column]) -> None:
    ranked = [{**one, "rank": k} for k, one in enumerate(records, start=1)]
    print_table(ranked, {"": ("right", "rank"), **columns})


def _print(page: dict[str, Any], labels: Mapping[str, str]) -> None:
    if page["unknown"]:
        print_line(f"In no document: {', '.join(page['unknown'])}.")
    if not page["hits"]:
        print_line("No document answers this query; try other words.")
        return
    if page["concepts"]:
        spoken = "; ".join(f"{one['concept']} {one['name']}" for one in page["concepts"])
        print_line(f"The documents that match speak of: {spoken}.")
    columns: dict[str, Column] = {
        "document": ("name", lambda one: called(one["document"], labels)),
        "score": ("right", lambda one: f"{one['score']:.2f}"),
        "text": ("words", lambda one: _shortened(one["passage"] or one["title"])),
        "because of": ("words", _why),
    }
    _print_ranked(page["hits"], columns)


def _why(hit: dict[str, Any]) -> str:
    parts = [", ".join(hit["words"])] if hit["words"] else []
    parts += [f"concept {j} ({name})" for j, name in zip(hit["concepts"], hit["concept_names"])]
    if not hit["words"] and hit["near"]:
        parts.append(f"like {' and '.join(hit['near'])}")
    return "; ".join(parts)


def _shortened(text: str) -> str:
    return text if len(text) <= _PASSAGE else text[: text.rfind(" ", 0, _PASSAGE)] + " …"


_TITLE: Column = "words", lambda one: _shortened(one["title"])
_CONCEPTS: Column = (
    "words",
    lambda one: "; ".join(f"{j} {name}" for j, name in zip(one["concepts"], one["concept_names"])),
)
