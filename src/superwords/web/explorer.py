"""Serve the explorer: a page, and a model's tables as JSON or CSV."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
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
from superwords.web import guard
from superwords.web.bounded import BoundedModel
from superwords.web.catalog import Catalog
from superwords.web.explorer_choices import Decider
from superwords.web.finding import TextIndex
from superwords.web.json_tables import Table, call, read_query
from superwords.web.serving import LOOPBACK, set_aside
from superwords.web.views import Views

MOST_BYTES = 65_536
FORMULAS = frozenset({"effects", "predicted"})
# What is computed anew for each request, or for each of many possible ones.
COSTLY = frozenset(
    {"search", "diverse", "recommend", "said", "said-by", "word-neighbours", "words-beside", "word-changes"}
    | {"cloud", "time", "trends", "map", "document-map", "nearest", "tree", "themes", "group-differences"}
)
NO_TOKEN = "Open this page with the whole address that `superwords explore` printed, and allow cookies."


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
            request,
            self._costly,
            lambda views: Response(views.chains.traces, media_type="image/svg+xml"),
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
            request,
            self._turnstile(name, kind),
            lambda views: _table_answer(views.tables[name], given, name, kind),
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
            self.views = (
                views.renamed(model) if is_same else Views(Catalog(model), views.index, views.bounded)
            )
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
