"""Where a server listens, which host names it answers for, and how long it waits for a client."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from superwords.errors import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
HEADER_SECONDS = 15.0  # for a request to begin, and for its headers to be whole
WORK_SECONDS = 120.0  # for its answer to be read
KEEP_ALIVE_SECONDS = 5
MOST_CONNECTIONS = 400
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+:[0-9A-Fa-f:.]*")


class Access(NamedTuple):
    """Who is answered: the host names, the address to open, and whether it needs a token."""

    hosts: tuple[str, ...]
    address: str
    needs_token: bool

    def link(self, token: str | None) -> str:
        """The address to open, with the token that it needs."""
        return self.address if token is None else f"{self.address}?token={token}"


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that a busy port is told before anything is served."""
    try:
        if not 0 <= port <= 65_535:
            raise OSError("ports go from 0 to 65535")
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with contextlib.ExitStack() as undo:
            # asyncio sets TCP_NODELAY only on sockets that name their protocol; without it each answer of two
            # packets waits 40 ms for the client's acknowledgement of the first.
            listener = undo.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            undo.pop_all()
    except OSError as error:
        raise InputError(
            f"The server cannot listen on {host} port {port} ({error.strerror or error}); "
            "give another --host or --port."
        ) from None
    return listener


def access(host: str, port: int, public_host: str | None = None) -> Access:
    """Whom a server on `host` answers; `public_host` is the name or address by which others reach it.

    A server that others can reach needs a token; one of this machine alone does not.
    """
    hosts = [*LOOPBACK, host]
    public = None if public_host is None else _public_address(public_host, port)
    if public is not None:
        hosts.append(str(urlsplit(public).hostname))
    elif host in EVERYWHERE:
        hosts += _own_names()
    shown = _own_address() if host in EVERYWHERE else host
    address = public or f"http://{bracketed(shown)}:{port}/"
    known = dict.fromkeys(name.lower() for name in hosts if name not in EVERYWHERE)
    return Access(tuple(known), address, public is not None or host not in LOOPBACK)


def bracketed(host: str) -> str:
    """A host as addresses have it: an IPv6 address stands in brackets."""
    return f"[{host}]" if ":" in host else host


def _public_address(given: str, port: int) -> str:
    """The address of a host that is given by its name, or with a scheme if another server stands before this one."""
    wrong = InputError(
        f"The public host {given!r} is not understood; give a name such as study.example.org, "
        "or https://study.example.org if another server speaks HTTPS for it."
    )
    scheme, _, rest = given.rpartition("://")
    try:
        parts = urlsplit(f"//{rest or given}")
        name, own_port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if scheme not in ("", "http", "https") or name is None or not _HOST.fullmatch(name):
        raise wrong
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username is not None:
        raise wrong
    shown_port = own_port or (None if scheme else port)
    return f"{scheme or 'http'}://{bracketed(name)}{f':{shown_port}' if shown_port else ''}/"


def _own_address() -> str:
    """The address of this machine in its network; no packet is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "localhost"
        return str(probe.getsockname()[0])


def _own_names() -> list[str]:
    names = [socket.gethostname(), _own_address()]
    with contextlib.suppress(OSError):
        names += [str(one[4][0]).partition("%")[0] for one in socket.getaddrinfo(names[0], None)]
    return names


class PatientProtocol(H11Protocol):
    """HTTP for clients that may be slow or silent: each has a time limit, and a crowd of them a place limit.

    A connection waits (for a request, or the rest of its headers) or works (on an answer). When there are too many
    connections, the one that has waited longest is closed, so that idle ones lock nobody out.
    """

    _deadline: asyncio.TimerHandle | None = None
    _waiting_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def _make_room(self) -> None:
        waiting = [one for one in self.connections if isinstance(one, PatientProtocol) and one.is_waiting]
        if waiting:
            min(waiting, key=lambda one: one._waiting_since).give_up()

    @property
    def is_waiting(self) -> bool:
        return not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.is_waiting:
            self._allow(WORK_SECONDS)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.is_waiting:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _wait(self) -> None:
        self._waiting_since = self.loop.time()
        self._allow(HEADER_SECONDS)

    def _allow(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.give_up)

    def give_up(self) -> None:
        self.transport.abort()


def make_server(app: ASGIApp) -> uvicorn.Server:
    """The server of an application, to be run on a socket of `listen`. It logs failures, but no requests."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        log_level="error",
        access_log=False,
        server_header=False,
        # More only when every one of them is being answered.
        limit_concurrency=MOST_CONNECTIONS + 2,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        lifespan="off",
        ws="none",
    )
    return uvicorn.Server(config)
