"""Servers in a thread of the test's own process, and connections to them."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import uvicorn.server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from superwords.web import guard
from superwords.web.serving import LOOPBACK, listen, make_server


def sleep_less(seconds: float):
    return asyncio.sleep(seconds / 10)


# uvicorn asks ten times a second whether it should stop, and so would each of some two hundred tests.
uvicorn.server.asyncio = SimpleNamespace(**{**vars(asyncio), "sleep": sleep_less})


@contextmanager
def serving_app(app: ASGIApp) -> Iterator[str]:
    """An application served by a thread of this process: its address."""
    listener = listen("127.0.0.1", 0)
    server = make_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def small_app(hosts=LOOPBACK, gate=None) -> Starlette:
    async def take(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await guard.bounded_body(request, 10_000))))

    def large(request: Request) -> PlainTextResponse:
        return PlainTextResponse("x" * 20_000_000)

    routes = [
        Route("/", lambda request: PlainTextResponse("hello")),
        Route("/large", large),
        Route("/take", take, methods=["POST"]),
    ]
    return guard.application(routes, hosts, gate)


@contextmanager
def port_of(app: Starlette) -> Iterator[int]:
    with serving_app(app) as address:
        yield int(address.rpartition(":")[2])


def connect(port: int, sent: bytes = b"") -> socket.socket:
    one = socket.create_connection(("127.0.0.1", port), timeout=30)
    one.sendall(sent)
    return one
