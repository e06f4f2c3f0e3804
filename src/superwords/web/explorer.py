"""The explorer's web application: a page, and a model's tables as JSON or CSV."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
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
from superwords.web.catalog import Catalog
from superwords.web.explorer_choices import Decider
from superwords.web.explorer_texts import TextIndex
from superwords.web.explorer_views import Views
from superwords.web.json_tables import read_query
from superwords.web.serving import LOOPBACK

STATIC_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
MOST_BYTES = 65_536
NO_TOKEN = "Open this page with the whole address that `superwords explore` printed, and allow cookies."


class Explorer:
    """One model, as the handlers of the web application."""

    def __init__(self, model: ConceptModel, path: Path | None = None) -> None:
        self.views = Views(Catalog(model), TextIndex(model.corpus_))
        self.decider = Decider(path)
        folder = Path(__file__).parent / "static"
        self.static = {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix in STATIC_TYPES}

    def warm_up(self) -> None:
        """Compute what the views share, so that none of them waits for it."""
        views = self.views
        for step in views.steps():
            if views is not self.views:  # somebody decided something: others compute for the views of now
                return
            try:
                step()
            except InputError:  # there is nothing of that kind; the view that needs it will say so
                continue

    def traces(self, request: Request) -> Response:
        return Response(self.views.chains.traces, media_type=STATIC_TYPES[".svg"])

    def part(self, request: Request) -> Response:
        """Something of the model, as JSON."""
        answer = self.views.parts.get(request.path_params["name"])
        if answer is None:
            raise HTTPException(404)
        return JSONResponse(answer(request.query_params))

    def model_facts(self, request: Request) -> Response:
        return JSONResponse(self._facts())

    def _facts(self) -> dict[str, Any]:
        return {**self.views.catalog.facts(), "decides": self.decider.file is not None}

    def table(self, request: Request) -> Response:
        """A page of a table as JSON, or all its pages as CSV."""
        name = request.path_params["name"]
        make = self.views.tables.get(name)
        if make is None or request.path_params["kind"] not in ("json", "csv"):
            raise HTTPException(404)
        given = request.query_params
        query = read_query(given)
        if request.path_params["kind"] == "json":
            return JSONResponse(make(given).page(query))
        content = make(given).csv(query).encode("utf-8-sig")  # spreadsheets read UTF-8 only with the mark
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    async def decide(self, request: Request) -> Response:
        """Take in what a person decided about concepts."""
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
            self.views = self.views.renamed(model) if is_same else Views(Catalog(model), self.views.index)
        if not is_same:
            threading.Thread(target=self.warm_up, daemon=True).start()
        return self._facts()

    def static_file(self, request: Request) -> Response:
        name = request.path_params.get("name", "explorer.html")
        if name not in self.static:
            raise HTTPException(404)
        return Response(self.static[name], media_type=STATIC_TYPES[Path(name).suffix])


def plain_input_error(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 400)


def create_app(explorer: Explorer, hosts: Sequence[str] = LOOPBACK, token: str | None = None) -> Starlette:
    """The application; `hosts` are the host names it answers for, `token` what its address must hold once."""
    return Starlette(
        routes=[
            Route("/", explorer.static_file),
            Route("/static/{name}", explorer.static_file),
            Route("/api/model.json", explorer.model_facts),
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
