"""The explorer's web application: a page, and a model's tables as JSON or CSV."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from superwords.concepts.choices import add_choices
from superwords.concepts.curating import rename
from superwords.concepts.discovery import catalogue as discovery_catalogue
from superwords.concepts.naming import checked_name
from superwords.concepts.searching import search_index
from superwords.concepts.tables import concept_index
from superwords.container import Choice
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.plots.figures import figure_bytes
from superwords.plots.model_plots import chain_traces
from superwords.web import guard
from superwords.web.catalog import Catalog
from superwords.web.cloud_pictures import cloud_words, drawing
from superwords.web.document_pages import DocumentPages
from superwords.web.finder import Finder
from superwords.web.json_tables import Table, read_query, whole_number
from superwords.web.landscape import Landscape
from superwords.web.serving import LOOPBACK

STATIC_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
MOST_BYTES = 8_192
KEPT_CLOUDS = 512
CHANGED = "The model file has changed since it was opened, so the name was not kept; open the model anew."
NO_TOKEN = "Open this page with the whole address that `superwords explore` printed, and allow cookies."
UNWRITABLE = "The name could not be kept, because the model file cannot be written."

Given = Mapping[str, str]


class ModelFile:
    """The file a model came from, which the names that people give are kept in."""

    def __init__(self, path: Path):
        self.path = path
        self.seen = self._mark()

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            known = self.path.stat()
        except OSError:
            return None
        return known.st_ino, known.st_size, known.st_mtime_ns

    def keep(self, choices: Sequence[Choice]) -> None:
        """Write choices, unless somebody else has written another model there."""
        if self.seen is None or self._mark() != self.seen:
            raise HTTPException(409, CHANGED)
        try:
            add_choices(self.path, choices)
        except InputError:
            # Its sentence names the file; the browser need not know where it is.
            raise HTTPException(503, UNWRITABLE) from None
        self.seen = self._mark()


class Explorer:
    """One model, as the handlers of the web application."""

    def __init__(self, model: ConceptModel, path: Path | None = None) -> None:
        self.catalog = Catalog(model)
        self.documents = DocumentPages(self.catalog)
        self.finder = Finder(model)
        self.file = None if path is None else ModelFile(path)
        self._renaming = threading.Lock()
        self._clouds: OrderedDict[tuple[str, ...], dict[str, Any]] = OrderedDict()
        folder = Path(__file__).parent / "static"
        self.static = {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix in STATIC_TYPES}
        self.tables: dict[str, Callable[[Given], Table]] = {
            "concepts": lambda given: self.catalog.concepts(),
            "concept-words": lambda given: self.catalog.concept_words(concept_of(given)),
            "concept-documents": lambda given: self.catalog.concept_documents(concept_of(given)),
            "concept-groups": lambda given: self.catalog.concept_groups(
                concept_of(given), text_of(given, "column")
            ),
            "documents": lambda given: self.documents.documents(),
            "document-concepts": lambda given: self.documents.concepts(document_of(given)),
            "words": lambda given: self.catalog.words(),
            "word-concepts": lambda given: self.catalog.word_concepts(text_of(given, "word")),
            "word-neighbours": lambda given: self.catalog.word_neighbours(text_of(given, "word")),
            "group-differences": self._differences,
            "convergence": lambda given: self.catalog.convergence(),
            "agreement": lambda given: self.catalog.agreement(),
            "nearest": lambda given: self.landscape.nearest(),
        }
        self.parts: dict[str, Callable[[Given], Any]] = {
            "model": lambda given: {**self.catalog.facts(), "renames": self.file is not None},
            "concept": lambda given: self.catalog.concept(concept_of(given)),
            "document": lambda given: self.documents.document(document_of(given)),
            "text": lambda given: self.documents.text(document_of(given), whole_number(given, "part", 1)),
            "word": lambda given: self.catalog.word(text_of(given, "word")),
            "map": lambda given: {"points": self.landscape.points()},
            "cloud": self._cloud,
            "search": self.finder.search,
            "diverse": self.finder.diverse,
            "recommend": self.finder.recommend,
        }

    @cached_property
    def _traces(self) -> bytes:
        with drawing:
            return figure_bytes(chain_traces(self.catalog.model), "svg")

    def traces(self, request: Request) -> Response:
        return Response(self._traces, media_type=STATIC_TYPES[".svg"])

    @cached_property
    def landscape(self) -> Landscape:
        return Landscape(self.catalog)

    def warm_up(self) -> None:
        """Compute what the views share, so that none of them waits for it."""
        columns = list(self.catalog.group_columns)
        steps: list[Callable[[], Any]] = [
            self.catalog.concepts,
            self.documents.documents,
            lambda: self.catalog.holders(1) if self.catalog.model.n_concepts_ else None,
            self.catalog.words,
            lambda: self.documents.text(0, 1),
            *(lambda name=name: self.catalog.by_group(self.catalog.column(name)) for name in columns),
            *(
                lambda name=name: self.catalog.group_differences(name, *self.catalog.group_columns[name][:2])
                for name in columns
            ),
            lambda: self.landscape,
            lambda: search_index(self.catalog.model.result_),
            lambda: discovery_catalogue(self.catalog.model.result_),
        ]
        for step in steps:
            try:
                step()
            except InputError:  # there is nothing of that kind; the view that needs it will say so
                continue

    def _differences(self, given: Given) -> Table:
        column, first, second = (text_of(given, name) for name in ("column", "first", "second"))
        return self.catalog.group_differences(column, first, second)

    def _cloud(self, given: Given) -> dict[str, Any]:
        concept = concept_of(given)
        key = tuple(given.get(name, "") for name in ("concept", "column", "first", "second"))
        if key in self._clouds:
            return self._clouds[key]
        if "column" in given:
            column = text_of(given, "column")
            clouds = shares = [
                self.catalog.group_shares(concept, column, text_of(given, name))
                for name in ("first", "second")
            ]
        else:
            words = self.catalog.words_of(concept)
            clouds = [self.catalog.scores(concept)]
            shares = [dict(zip(words["word"], words["share_used"].astype(float)))]
        self._clouds[key] = cloud_words(clouds, shares=shares)
        if len(self._clouds) > KEPT_CLOUDS:
            self._clouds.popitem(last=False)
        return self._clouds[key]

    def part(self, request: Request) -> Response:
        """Something of the model, as JSON."""
        answer = self.parts.get(request.path_params["name"])
        if answer is None:
            raise HTTPException(404)
        return JSONResponse(answer(request.query_params))

    def table(self, request: Request) -> Response:
        """A page of a table as JSON, or all its pages as CSV."""
        name = request.path_params["name"]
        make = self.tables.get(name)
        if make is None or request.path_params["kind"] not in ("json", "csv"):
            raise HTTPException(404)
        given = request.query_params
        query = read_query(given)
        if request.path_params["kind"] == "json":
            return JSONResponse(make(given).page(query))
        content = make(given).csv(query).encode("utf-8-sig")  # spreadsheets read UTF-8 only with the mark
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    async def rename(self, request: Request) -> Response:
        guard.refuse_cross_site(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "A name is taken as JSON only.")
        body = await guard.bounded_body(request, MOST_BYTES)
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            raise HTTPException(400) from None
        if not isinstance(given, dict) or not isinstance(given.get("name"), str):
            raise HTTPException(400)
        concept = request.path_params["concept"]
        return JSONResponse(await run_in_threadpool(self._keep_name, concept, given["name"]))

    def _keep_name(self, concept: int, name: str) -> dict[str, Any]:
        model = self.catalog.model
        concept_index(model.result_, concept)
        if self.file is None:
            raise HTTPException(403, "This model was opened without its file, so names cannot be kept.")
        wanted = checked_name(name)
        with self._renaming:
            is_automatic = wanted == self.catalog.automatic_name(concept)
            made = rename(model.result_, {concept: "" if is_automatic else wanted})
            self.file.keep(made)
            model.choose([*model.choices_, *made])
        return self.catalog.concept(concept)

    def static_file(self, request: Request) -> Response:
        name = request.path_params.get("name", "explorer.html")
        if name not in self.static:
            raise HTTPException(404)
        return Response(self.static[name], media_type=STATIC_TYPES[Path(name).suffix])


def concept_of(given: Given) -> int:
    return whole_number(given, "concept")


def document_of(given: Given) -> int:
    """The row of a document; addresses count from 1."""
    return whole_number(given, "document") - 1


def text_of(given: Given, name: str) -> str:
    if name not in given:
        raise InputError(f"The address needs a value for {name!r}.")
    return given[name]


def plain_input_error(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 400)


def create_app(explorer: Explorer, hosts: Sequence[str] = LOOPBACK, token: str | None = None) -> Starlette:
    """The application; `hosts` are the host names it answers for, `token` what its address must hold once."""
    return Starlette(
        routes=[
            Route("/", explorer.static_file),
            Route("/static/{name}", explorer.static_file),
            Route("/api/{name}.json", explorer.part),
            Route("/api/traces.svg", explorer.traces),
            Route("/api/tables/{name}.{kind}", explorer.table),
            Route("/api/concepts/{concept:int}/name", explorer.rename, methods=["POST"]),
        ],
        middleware=guard.protections(hosts, None if token is None else (token, NO_TOKEN)),
        exception_handlers={
            HTTPException: guard.plain_http_error,
            InputError: plain_input_error,
            Exception: guard.plain_failure,
        },
    )
