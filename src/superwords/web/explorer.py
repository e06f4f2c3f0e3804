"""Serve the explorer: a page, a model's tables and parts as JSON or CSV, and decisions about its concepts."""

from __future__ import annotations

import asyncio
import copy
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
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from superwords.analysis import curation
from superwords.analysis.naming import checked_name, pasted
from superwords.analysis.tables import automatic_names, concept_index
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.search.discovery import taste_views
from superwords.search.index import search_index
from superwords.storage.model_file import Choice
from superwords.web import concepts, documents, guard, relations
from superwords.web.bounded import BoundedModel
from superwords.web.catalog import FORMULAS, Catalog
from superwords.web.serving import LOOPBACK, set_aside
from superwords.web.tables import PAGES, Table, call

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
MOST_CONCEPTS = 2_000  # of one decision
LONGEST_REPLY = 1_000_000  # characters of pasted names
CHANGED = "The model file has changed since it was opened, so nothing was saved; open the model again."
UNWRITABLE = "This could not be saved: the model file cannot be written."
READ_ONLY = "Nothing is decided here: the model was opened to be read only."
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
    yield partial(catalog.index.rows, "a")
    for name in catalog.time_columns:
        yield partial(relations.time, catalog, name)
    yield partial(relations.themes, catalog)
    if catalog.corpus.n_documents <= _MOST_INDEXED:
        yield partial(search_index, catalog.model.result_)
        yield partial(taste_views, catalog.model.result_)


class Explorer:
    """Handle the requests of the web application for one model."""

    def __init__(self, model: ConceptModel, path: Path | None = None, read_only: bool = False) -> None:
        self.path = None if read_only else path  # of the file that keeps decisions
        self._turn, self._seen = threading.Lock(), self._mark()
        worker = None if path is None else BoundedModel(path)
        self.answers = Answers(Catalog(model, worker, self.path is not None))
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
            found = call(PAGES[name], catalog, given)
            if isinstance(found, bytes):
                return Response(found, media_type="image/svg+xml")
            if kind == "json":
                return JSONResponse(found.page(given) if isinstance(found, Table) else found)
            headers = {"Content-Disposition": f'attachment; filename="{bare}.csv"'}
            # Spreadsheets read UTF-8 only with its mark.
            return Response(found.csv(given).encode("utf-8-sig"), media_type="text/csv", headers=headers)

        return await self.answers.get(f"{request.url.path}?{request.url.query}", turnstile, make)

    async def decide(self, request: Request) -> Response:
        """Store what a person decided about concepts."""
        body = await guard.posted(request, "application/json", "A decision is taken as JSON only.", MOST_BYTES)
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            raise HTTPException(400) from None
        if not isinstance(given, dict):
            raise HTTPException(400)
        return JSONResponse(await run_in_threadpool(self._decide, given))

    def _decide(self, given: Mapping[str, Any]) -> dict[str, Any]:
        with self._turn:
            before = self.catalog
            model = self._decided(before.model, given)
            is_same = model.result_.excluded == before.model.result_.excluded
            catalog = before.renamed(model) if is_same else Catalog(model, before.worker, before.decides, before.index)
            self.answers = Answers(catalog)
        if not is_same:
            threading.Thread(target=self.warm_up, daemon=True).start()
        return concepts.model(catalog)

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            known = None if self.path is None else self.path.stat()
        except OSError:
            return None
        return None if known is None else (known.st_ino, known.st_size, known.st_mtime_ns)

    def _decided(self, model: ConceptModel, given: Mapping[str, Any]) -> ConceptModel:
        """Return a model like this one that follows the decision as well, which its file now holds.

        Nothing is written if somebody else has written another model there.
        """
        if self.path is None:
            raise HTTPException(403, READ_ONLY)
        made = None if given.get("do") == "undo" else _made(model, given)
        # Before it is stored, so that an invalid decision is refused.
        choices = curation.undone(model.choices_) if made is None else [*model.choices_, *made]
        decided = copy.copy(model).choose(choices)
        if not decided.result_.shown:
            raise InputError("No concept would be left to show.")
        if self._seen is None or self._mark() != self._seen:
            raise HTTPException(409, CHANGED)
        try:
            curation.undo_choices(self.path) if made is None else curation.add_choices(self.path, made)
        except InputError:
            # Its sentence names the file; the browser need not know where it is.
            raise HTTPException(503, UNWRITABLE) from None
        self._seen = self._mark()
        return decided


def _made(model: ConceptModel, given: Mapping[str, Any]) -> list[Choice]:
    """Return the choices that a request asks for."""
    result = model.result_
    match given.get("do"):
        case "themes":  # several, as one decision
            themes = given.get("themes")
            if not isinstance(themes, list) or not themes or not all(isinstance(one, dict) for one in themes):
                raise HTTPException(400)
            made = [choice for one in themes for choice in curation.gather(result, _text(one, "name"), _concepts(one))]
            return [one._replace(made=made[0].made) for one in made]
        case "propose":
            reply = _text(given, "text")[:LONGEST_REPLY]
            return curation.propose(result, pasted(result, reply, curation.decisions(model.choices_).taken()))
        case "accept" if given.get("concepts") is None:
            return curation.accept(result)
        case "rename":
            name, concept = checked_name(_text(given, "name")), _concepts(given)[0]
            is_automatic = name == automatic_names(result)[concept_index(result, concept)]
            return curation.rename(result, {concept: "" if is_automatic else name})
        case "gather":
            return curation.gather(result, _text(given, "name"), _concepts(given))
        case "merge" | "hide" | "restore" | "accept" as act:
            return getattr(curation, act)(result, _concepts(given))
    raise HTTPException(400)


def _concepts(given: Mapping[str, Any]) -> list[int]:
    concepts = given.get("concepts")
    if not isinstance(concepts, list) or not 1 <= len(concepts) <= MOST_CONCEPTS:
        raise HTTPException(400)
    if not all(type(one) is int for one in concepts):
        raise HTTPException(400)
    return concepts


def _text(given: Mapping[str, Any], name: str) -> str:
    text = given.get(name)
    if not isinstance(text, str):
        raise HTTPException(400)
    return text


def create_app(explorer: Explorer, hosts: Sequence[str] = LOOPBACK, token: str | None = None) -> Starlette:
    """Return the application for these host names; `token` is needed once, in the address."""
    routes = [
        Route("/", explorer.static),
        Route("/static/{name}", explorer.static),
        Route("/api/choices", explorer.decide, methods=["POST"]),
        Route("/api/{name:path}.{kind}", explorer.page),
    ]
    return guard.application(routes, hosts, None if token is None else (token, NO_TOKEN))
