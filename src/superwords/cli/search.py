"""`superwords search`: the documents of a saved model that answer a query, and why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer

from superwords.cli import printing as p
from superwords.cli.options import AS_JSON, MODEL_FILE, load_model, option
from superwords.errors import InputError
from superwords.tabular import shortened

_PASSAGE = 160
_AMONG = 100
_SURE, _MOST_TASTES = 0.8, 5


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
    asked, is_judged = " ".join(query or []).strip(), bool(like or dislike)
    if is_judged and (diverse or asked):
        raise InputError("--like and --dislike cannot be used with a query or with --diverse; leave one of them out.")
    if not (asked or diverse or is_judged):
        raise InputError('The query is empty; give a few words to look for: superwords search MODEL "some words".')
    model = load_model(model_file)
    columns: dict[str, p.Column] = {"document": p.left("document")}
    with p.busy("reading the documents"):
        if is_judged:
            tastes = model.tastes(like or [], dislike or []).to_dict("records")
            hits = model.recommend(like or [], dislike or [], n).to_dict("records")
            page, lines = {"documents": hits, "tastes": tastes}, [_liked(tastes)]
            columns |= {"liked": p.share("score"), "called": _TITLE, "because of": _CONCEPTS}
        elif diverse:
            among = model.search(asked, _AMONG) if asked else None
            if among is not None and among.empty:
                raise InputError(f"No document answers the query {asked!r}; try other words.")
            hits = model.diverse(n, among).to_dict("records")
            lines = ["Documents that together cover what is spoken of, each with the concepts it adds:"]
            page, columns = {"documents": hits}, columns | {"covered": p.share("covered"), "called": _TITLE}
            columns["adds"] = _CONCEPTS
        else:
            from superwords.analysis.documents import document_labels
            from superwords.analysis.tables import sources
            from superwords.search.index import search_page

            page = search_page(model.result_, asked, n)
            hits, lines = page["hits"], list(_answered(page))
            labels = dict(zip(sources(model.corpus_)[0], document_labels(model.corpus_)))
            columns = {"document": p.left("document", text=lambda name: p.called(name, labels))}
            columns["score"] = p.right("score", text=p.figure)
            columns["text"] = p.left("passage", "title", text=lambda passage, title: _short(passage or title))
            columns["because of"] = p.Column(False, _why)
    if as_json:
        p.print_json(page)
        return
    for line in lines:
        p.print_line(line)
    if hits:
        ranked = [{**one, "rank": rank} for rank, one in enumerate(hits, start=1)]
        p.print_table(ranked, {"": p.right("rank"), **columns})


def _liked(tastes: list[dict[Any, Any]]) -> str:
    sure = [one for one in tastes if one["sure"] > _SURE and one["taste"] > 0][:_MOST_TASTES]
    liked = "; ".join(f"{one['concept']} {one['name']} ({one['sure']:.0%} sure)" for one in sure)
    return f"You seem to like: {liked}." if liked else "Not sure yet what you like; judge a few more documents."


def _answered(page: dict[str, Any]) -> Iterator[str]:
    if page["unknown"]:
        yield f"In no document: {', '.join(page['unknown'])}."
    if not page["hits"]:
        yield "No document answers this query; try other words."
    elif page["concepts"]:
        spoken = "; ".join(f"{one['concept']} {one['name']}" for one in page["concepts"])
        yield f"The documents that match speak of: {spoken}."


def _why(hit: dict[str, Any]) -> str:
    parts = [", ".join(hit["words"])] if hit["words"] else []
    parts += [f"concept {j} ({name})" for j, name in zip(hit["concepts"], hit["concept_names"])]
    if not hit["words"] and hit["near"]:
        parts.append(f"like {' and '.join(hit['near'])}")
    return "; ".join(parts)


_short = partial(shortened, most=_PASSAGE)
_TITLE, _CONCEPTS = p.left("title", text=_short), p.left("concepts", "concept_names", text=p.numbered)
