"""Serve the explorer: a page, and a model's tables and parts as JSON or CSV, with the decisions made so far."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.search.discovery import taste_views
from superwords.search.index import search_index
from superwords.tabular import records
from superwords.web import guard
from superwords.web.bounded import BoundedModel
from superwords.web.catalog import Catalog
from superwords.web.cloud_pictures import cloud_words
from superwords.web.documents import DocumentPages
from superwords.web.explorer_choices import Decider
from superwords.web.finding import SearchPages, TextIndex, WordPages
from superwords.web.json_tables import Table, call, read_query
from superwords.web.relations import ChainPages, Landscape, RelationPages
from superwords.web.serving import LOOPBACK, set_aside

MOST_BYTES = 65_536
FORMULAS = frozenset({"effects", "predicted"})
# What is computed anew for each request, or for each of many possible ones.
COSTLY = frozenset(
    {"search", "diverse", "recommend", "said", "said-by", "word-neighbours", "word-changes"}
    | {"cloud", "time", "trends", "map", "document-map", "nearest", "tree", "themes", "group-differences"}
)
ANSWER_BYTES, ANSWERS_BYTES = 2**20, 2**26  # of one cached answer, and of all
# Rows: of more, the index of a search takes minutes and gigabytes, and is made if somebody searches.
_MOST_INDEXED = 20_000
WITH_NAMES = ("verdict", "_themes", "document_map")  # properties that are computed anew for other names
NO_TOKEN = "Open this page with the whole address that `superwords explore` printed, and allow cookies."


class Answers:
    """Cache the latest answers by address, up to a number of bytes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Response, int]] = OrderedDict()
        self._size = 0
        self._turn = threading.Lock()

    def get(self, address: str) -> Response | None:
        """Return the cached answer to an address, or None."""
        with self._turn:
            if address not in self._known:
                return None
            self._known.move_to_end(address)
            return self._known[address][0]

    def put(self, address: str, answer: Response) -> None:
        """Cache an answer, and evict the least recently used ones."""
        size = len(answer.body) + len(address) + 1_000
        if size > ANSWER_BYTES:
            return
        with self._turn:
            _, before = self._known.pop(address, (answer, 0))
            self._known[address] = answer, size
            self._size += size - before
            while self._size > ANSWERS_BYTES:
                self._size -= self._known.popitem(last=False)[1][1]


class Views:
    """Map names in an address to tables and parts; immutable, a decision makes new ones."""

    def __init__(self, catalog: Catalog, index: TextIndex, bounded: BoundedModel | None = None) -> None:
        self.catalog = catalog
        self.index = index
        self.bounded = bounded
        self.documents = DocumentPages(catalog)
        self.words = WordPages(catalog)
        self.chains = ChainPages(catalog)
        self.relations = RelationPages(catalog, bounded)
        self.answers = Answers()
        self._connect()

    def _connect(self) -> None:
        catalog, documents, relations = self.catalog, self.documents, self.relations
        finder, words = SearchPages(catalog, self.index), self.words
        # A function's parameters are read from the address (`json_tables.call`).
        self.tables: dict[str, Callable[..., Table]] = {
            "concepts": catalog.concepts,
            "concept-words": catalog.concept_words,
            "concept-documents": catalog.concept_documents,
            "concept-groups": catalog.concept_groups,
            "documents": documents.documents,
            "document-concepts": documents.whole_concepts,
            "document-passages": documents.document_passages,
            "rows": documents.rows,
            "row-concepts": documents.concepts,
            "said": finder.said,
            "said-by": finder.said_by,
            "words": words.words,
            "word-concepts": words.concepts,
            "word-neighbours": words.neighbours,
            "group-differences": catalog.group_differences,
            "trends": relations.trend_table,
            "word-changes": relations.change_table,
            "effects": relations.effect_table,
            "themes": relations.theme_list,
            "convergence": catalog.convergence,
            "agreement": self.chains.agreement,
            "others": self.chains.others,
            "moves": self.chains.moves,
            "nearest": lambda: self.landscape.nearest(),
            "quality": lambda: self.landscape.quality(),
        }
        self.parts: dict[str, Callable[..., Any]] = {
            "concept": catalog.concept,
            "document": documents.document,
            "row": documents.row,
            "text": documents.text,
            "word": words.word,
            "names": lambda: {"prompt": catalog.model.name_prompt()},
            "map": lambda: {"points": self.landscape.points()},
            "document-map": lambda: self.landscape.document_map,
            "quality": lambda: records(self.landscape.quality().rows),
            "predicted": relations.predicted_page,
            "tree": relations.tree_page,
            "time": relations.time,
            "effects": relations.effect_page,
            "cloud": self._cloud,
            "search": finder.search,
            "diverse": finder.diverse,
            "recommend": finder.recommend,
        }

    def renamed(self, model: ConceptModel) -> Views:
        """Return a copy with other names and themes that shares what was computed."""
        other = copy.copy(self)
        other.answers = Answers()
        other.catalog = _with(self.catalog, model=model)
        other.documents, other.words, other.chains, other.relations = (
            _with(part, catalog=other.catalog) for part in (self.documents, self.words, self.chains, self.relations)
        )
        if "landscape" in self.__dict__:
            other.landscape = _with(self.landscape, catalog=other.catalog)
        other._connect()
        return other

    @cached_property
    def landscape(self) -> Landscape:
        return Landscape(self.catalog)

    def steps(self) -> Iterator[Callable[[], Any]]:
        """Return what takes long and is asked for again and again, what is looked at first coming first."""
        catalog, documents, relations = self.catalog, self.documents, self.relations
        columns = list(catalog.group_columns)
        yield catalog.concepts
        yield lambda: catalog.holders(1)
        yield documents.documents
        yield documents.rows
        yield self.words.words
        yield lambda: documents.text(0, 1)
        for name in columns:
            yield partial(catalog.by_group, catalog.column(name))
            yield partial(catalog.group_differences, name, *catalog.group_columns[name][:2])
        yield lambda: self.landscape
        yield self.index.make
        for name in catalog.time_columns:
            yield partial(relations.time, {"column": name})
        yield lambda: relations.tree
        yield relations.theme_list
        if catalog.model.corpus_.n_documents <= _MOST_INDEXED:
            yield lambda: search_index(catalog.model.result_)
            yield lambda: taste_views(catalog.model.result_)

    def _cloud(self, concept: int, column: str | None = None, first: str = "", second: str = "") -> dict[str, Any]:
        if column is not None:
            clouds = shares = [self.catalog.group_shares(concept, column, one) for one in (first, second)]
        else:
            words = self.catalog.words_of(concept)
            clouds = [self.catalog.scores(concept)]
            shares = [dict(zip(words["word"], words["share_used"].astype(float)))]
        return cloud_words(clouds, shares=shares)


def _with(part: Any, **changed: Any) -> Any:
    """Return a copy with other attributes, and with what it has computed unless names are in it."""
    other = copy.copy(part)
    for name in WITH_NAMES:
        other.__dict__.pop(name, None)
    other.__dict__.update(changed)
    return other


class Explorer:
    """Handle the requests of the web application for one model."""

    def __init__(self, model: ConceptModel, path: Path | None = None, read_only: bool = False) -> None:
        bounded = None if path is None else BoundedModel(path)
        self.views = Views(Catalog(model), TextIndex(model.corpus_), bounded)
        self.decider = Decider(None if read_only else path)
        # Few at a time: threads that compute take the interpreter from the one that answers.
        self._formulas, self._costly, self._others = (guard.Turnstile(n) for n in (1, 1, 2))
        self._coming: dict[tuple[Views, str], asyncio.Task[Response]] = {}
        self.static = guard.static_files(Path(__file__).parent / "static")

    def warm_up(self) -> None:
        """Compute what the views share, so that none of them waits for it."""
        views = self.views
        for step in views.steps():
            if views is not self.views:  # somebody decided something: others compute for the views of now
                return
            try:
                step()
            except InputError:  # there is nothing of that kind; the view that needs it reports it
                continue
        set_aside()

    def _turnstile(self, name: str, kind: str = "json") -> guard.Turnstile:
        if name in FORMULAS:
            return self._formulas
        return self._costly if name in COSTLY or kind == "csv" else self._others

    async def _answer(
        self, request: Request, turnstile: guard.Turnstile, make: Callable[[Views], Response]
    ) -> Response:
        """Return the answer to an address: one given before, or a new one in its turn, computed once for all who ask.

        Requests that another site's page makes are refused, since each would cost work.
        """
        guard.refuse_cross_site(request)
        views, address = self.views, f"{request.url.path}?{request.url.query}"
        known = views.answers.get(address)
        if known is None:
            key = views, address
            if key not in self._coming:
                self._coming[key] = asyncio.create_task(turnstile.run(make, views))
                self._coming[key].add_done_callback(partial(self._keep, key))
            known = await asyncio.shield(self._coming[key])
        return Response(known.body, known.status_code, dict(known.headers))

    def _keep(self, key: tuple[Views, str], done: asyncio.Task[Response]) -> None:
        del self._coming[key]
        if not done.cancelled() and done.exception() is None:
            views, address = key
            views.answers.put(address, done.result())

    async def traces(self, request: Request) -> Response:
        """Answer with the traces as a picture."""
        return await self._answer(
            request, self._costly, lambda views: Response(views.chains.traces, media_type="image/svg+xml")
        )

    async def part(self, request: Request) -> Response:
        """Answer with one part of the model as JSON."""
        name, given = request.path_params["name"], request.query_params
        if name not in self.views.parts:
            raise HTTPException(404)
        return await self._answer(
            request, self._turnstile(name), lambda views: JSONResponse(call(views.parts[name], given))
        )

    async def facts(self, request: Request) -> Response:
        """Answer with what the page shows before any table."""
        return await self._answer(request, self._others, lambda views: JSONResponse(self._facts(views)))

    def _facts(self, views: Views) -> dict[str, Any]:
        return {**views.catalog.facts(), "decides": self.decider.path is not None}

    async def table(self, request: Request) -> Response:
        """Answer with a page of a table as JSON, or all its pages as CSV."""
        name, kind, given = request.path_params["name"], request.path_params["kind"], request.query_params
        if name not in self.views.tables or kind not in ("json", "csv"):
            raise HTTPException(404)
        return await self._answer(
            request, self._turnstile(name, kind), lambda views: _table_answer(views.tables[name], given, name, kind)
        )

    async def decide(self, request: Request) -> Response:
        """Store what a person decided about concepts."""
        guard.refuse_cross_site(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "A decision is taken as JSON only.")
        body = await guard.bounded_body(request, MOST_BYTES)
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            raise HTTPException(400) from None
        if not isinstance(given, dict):
            raise HTTPException(400)
        return JSONResponse(await run_in_threadpool(self._decide, given))

    def _decide(self, given: Mapping[str, Any]) -> dict[str, Any]:
        with self.decider.turn:
            before = self.views.catalog.model
            model = self.decider.decide(before, given)
            is_same = model.result_.away == before.result_.away
            views = self.views
            self.views = views.renamed(model) if is_same else Views(Catalog(model), views.index, views.bounded)
        if not is_same:
            threading.Thread(target=self.warm_up, daemon=True).start()
        return self._facts(self.views)

    async def static_file(self, request: Request) -> Response:
        return self.static(request.path_params.get("name", "explorer.html"))


def _table_answer(make: Callable[..., Table], given: Mapping[str, str], name: str, kind: str) -> Response:
    query = read_query(given)
    if kind == "json":
        return JSONResponse(call(make, given).page(query))
    content = call(make, given).csv(query).encode("utf-8-sig")  # spreadsheets read UTF-8 only with the mark
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)


def plain_input_error(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 400)


def create_app(explorer: Explorer, hosts: Sequence[str] = LOOPBACK, token: str | None = None) -> Starlette:
    """Return the application for these host names; `token` is needed once, in the address."""
    return Starlette(
        routes=[
            Route("/", explorer.static_file),
            Route("/static/{name}", explorer.static_file),
            Route("/api/model.json", explorer.facts),
            Route("/api/{name}.json", explorer.part),
            Route("/api/traces.svg", explorer.traces),
            Route("/api/tables/{name}.{kind}", explorer.table),
            Route("/api/choices", explorer.decide, methods=["POST"]),
        ],
        middleware=guard.protections(hosts, None if token is None else (token, NO_TOKEN)),
        exception_handlers={
            HTTPException: guard.plain_http_error,
            InputError: plain_input_error,
            Exception: guard.plain_failure,
        },
    )
