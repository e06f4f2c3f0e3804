"""Serve the explorer: a page, and a model's tables and parts as JSON or CSV, with the decisions made so far."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
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
from superwords.web import concepts, documents, guard, relations
from superwords.web.bounded import BoundedModel
from superwords.web.catalog import FORMULAS, Catalog
from superwords.web.decider import Decider
from superwords.web.serving import LOOPBACK, set_aside
from superwords.web.tables import PAGES, Table, call, read_query

MOST_BYTES = 65_536
# What is computed anew for each request, or for each of many possible ones.
COSTLY = frozenset(
    {"search", "diverse", "recommend", "said", "said-by", "word-neighbours", "word-changes", "traces"}
    | {"cloud", "time", "trends", "map", "document-map", "nearest", "tree", "themes", "group-differences"}
)
ANSWER_BYTES, ANSWERS_BYTES = 2**20, 2**26  # of one cached answer, and of all
ENTRY_BYTES = 4_000  # of an address and headers, at most
# Rows: of more, the index of a search takes minutes and gigabytes, and is made if somebody searches.
_MOST_INDEXED = 20_000
NO_TOKEN = "Open this page with the whole address that `superwords explore` printed, and allow cookies."


class Answers:
    """Compute the answers about one catalog, each once for all who ask; keep the latest, up to a number of bytes."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._coming: dict[str, asyncio.Task[Response]] = {}  # by address
        self._known: OrderedDict[str, Response] = OrderedDict()
        self._n_bytes = 0

    async def get(self, address: str, turnstile: guard.Turnstile, make: Callable[[Catalog], Response]) -> Response:
        """Return the answer to an address: one given before, or a new one in its turn."""
        if address in self._known:
            self._known.move_to_end(address)
            answer = self._known[address]
        else:
            if address not in self._coming:
                self._coming[address] = asyncio.create_task(turnstile.run(make, self.catalog))
                self._coming[address].add_done_callback(partial(self._keep, address))
            answer = await asyncio.shield(self._coming[address])
        return Response(answer.body, answer.status_code, dict(answer.headers))

    def _keep(self, address: str, done: asyncio.Task[Response]) -> None:
        del self._coming[address]
        if done.cancelled() or done.exception() is not None or len(done.result().body) > ANSWER_BYTES:
            return
        self._known[address] = done.result()
        self._n_bytes += len(done.result().body) + ENTRY_BYTES
        while self._n_bytes > ANSWERS_BYTES:
            self._n_bytes -= len(self._known.popitem(last=False)[1].body) + ENTRY_BYTES


def steps(catalog: Catalog) -> Iterator[Callable[[], Any]]:
    """Return what takes long and is asked for again and again, what is looked at first coming first."""
    for first in (concepts.concepts, documents.documents, documents.rows, concepts.words):
        yield partial(first, catalog)
    yield lambda: catalog.holders(1)
    yield lambda: documents.text(catalog, 0, 1)
    for name, labels in catalog.group_columns.items():
        yield partial(catalog.called, "by_group", catalog.column(name), 0)
        yield partial(concepts.group_differences, catalog, name, *labels[:2])
    yield lambda: catalog.alike
    yield catalog.index.make
    for name in catalog.time_columns:
        yield partial(relations.time, catalog, name)
    yield partial(relations.themes, catalog)
    if catalog.corpus.n_documents <= _MOST_INDEXED:
        yield partial(search_index, catalog.model.result_)
        yield partial(taste_views, catalog.model.result_)


class Explorer:
    """Handle the requests of the web application for one model."""

    def __init__(self, model: ConceptModel, path: Path | None = None, read_only: bool = False) -> None:
        self.decider = Decider(None if read_only else path)
        worker = None if path is None else BoundedModel(path)
        self.answers = Answers(Catalog(model, worker, self.decider.path is not None))
        # Few at a time: threads that compute take the interpreter from the one that answers.
        self._formulas, self._costly, self._others = (guard.Turnstile(n) for n in (1, 1, 2))
        self.static = guard.static_files(Path(__file__).parent / "static")

    @property
    def catalog(self) -> Catalog:
        return self.answers.catalog

    def warm_up(self) -> None:
        """Compute what the pages share, so that none of them waits for it."""
        catalog = self.catalog
        for step in steps(catalog):
            if catalog is not self.catalog:  # somebody decided something: others compute for the catalog of now
                return
            try:
                step()
            except InputError:  # there is nothing of that kind; the page that needs it reports it
                continue
        set_aside()

    async def page(self, request: Request) -> Response:
        """Answer with a part of the model as JSON, a page of a table as JSON, all its pages as CSV, or a picture.

        Requests that another site's page makes are refused, since each would cost work.
        """
        name, kind, given = request.path_params["name"], request.path_params["kind"], request.query_params
        bare = name.removeprefix("tables/")
        kinds = {"json", "csv"} if name != bare else {"svg" if name == "traces" else "json"}
        if name not in PAGES or kind not in kinds:
            raise HTTPException(404)
        guard.refuse_cross_site(request)
        turnstile = self._costly if bare in COSTLY or kind == "csv" else self._others
        turnstile = self._formulas if bare in FORMULAS else turnstile

        def make(catalog: Catalog) -> Response:
            query = read_query(given) if name != bare else {}
            found = call(PAGES[name], catalog, given)
            if isinstance(found, bytes):
                return Response(found, media_type="image/svg+xml")
            if kind == "json":
                return JSONResponse(found.page(**query) if isinstance(found, Table) else found)
            headers = {"Content-Disposition": f'attachment; filename="{bare}.csv"'}
            # Spreadsheets read UTF-8 only with its mark.
            return Response(found.csv(**query).encode("utf-8-sig"), media_type="text/csv", headers=headers)

        return await self.answers.get(f"{request.url.path}?{request.url.query}", turnstile, make)

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
            before = self.catalog
            model = self.decider.decide(before.model, given)
            is_same = model.result_.away == before.model.result_.away
            catalog = before.renamed(model) if is_same else Catalog(model, before.worker, before.decides, before.index)
            self.answers = Answers(catalog)
        if not is_same:
            threading.Thread(target=self.warm_up, daemon=True).start()
        return concepts.model(catalog)

    async def static_file(self, request: Request) -> Response:
        return self.static(request.path_params.get("name", "explorer.html"))


def plain_input_error(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 400)


def create_app(explorer: Explorer, hosts: Sequence[str] = LOOPBACK, token: str | None = None) -> Starlette:
    """Return the application for these host names; `token` is needed once, in the address."""
    return Starlette(
        routes=[
            Route("/", explorer.static_file),
            Route("/static/{name}", explorer.static_file),
            Route("/api/choices", explorer.decide, methods=["POST"]),
            Route("/api/{name:path}.{kind}", explorer.page),
        ],
        middleware=guard.protections(hosts, None if token is None else (token, NO_TOKEN)),
        exception_handlers={
            HTTPException: guard.plain_http_error,
            InputError: plain_input_error,
            Exception: guard.plain_failure,
        },
    )
