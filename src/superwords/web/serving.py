"""Decide where a server listens, which host names it answers for, and how long it waits for a client."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
import os
import re
import socket
import sys
import threading
from types import FrameType
from typing import NamedTuple
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from superwords.errors import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
HEADER_SECONDS = 15.0  # for a request to begin, and for its headers to be complete
WORK_SECONDS = 120.0  # for a request to arrive, be answered and its answer be read
BACKLOG = 2048  # connections that wait to be accepted
ACCEPTED_AT_ONCE = 8  # before requests of others have their turn; accepting one takes about a millisecond
STOP_SECONDS = 2.0
SWITCH_SECONDS = 0.0005  # after which a thread that computes lets the one that answers run
KEEP_ALIVE_SECONDS = 5
MOST_CONNECTIONS = 800  # below the 1,024 files that a process usually may open
# A host by its name, or with a scheme if it is behind a proxy.
_PUBLIC = re.compile(r"(?:(https?)://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?/?")


class Access(NamedTuple):
    """The host names that are answered, the address to open, and whether it needs a token."""

    hosts: tuple[str, ...]
    address: str
    needs_token: bool

    def link(self, token: str | None) -> str:
        """Return the address to open, with its token."""
        return self.address if token is None else f"{self.address}?token={token}"


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket: a busy port is reported before, and early requests wait for the server."""
    try:
        if not 0 <= port <= 65_535:
            raise OSError("ports go from 0 to 65535")
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listener = socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=is_dual)
    except OSError as error:
        raise InputError(
            f"The server cannot listen on {host} port {port} ({error.strerror or error}); "
            "give another --host or --port."
        ) from None
    # asyncio sets TCP_NODELAY only on sockets that name their protocol; without it each answer of two packets waits
    # 40 ms for the client's acknowledgement of the first.
    return socket.socket(family, kind, protocol, listener.detach())


def access(host: str, port: int, public_host: str | None = None) -> Access:
    """Decide whom a server on `host` answers; `public_host` is the name by which others reach it.

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
    """Return a host as in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def _public_address(given: str, port: int) -> str:
    found = _PUBLIC.fullmatch(given)
    if found is None or int(found[3] or 0) > 65_535:
        raise InputError(
            f"The public host {given!r} is not understood; give a name such as study.example.org, "
            "or https://study.example.org if another server speaks HTTPS for it."
        )
    scheme, name, own_port = found.groups()
    shown_port = own_port or ("" if scheme else port)
    return f"{scheme or 'http'}://{name.lower()}{f':{shown_port}' if shown_port else ''}/"


def _own_address() -> str:
    """Return the address of this machine in its network, without sending a packet."""
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
    """Serve HTTP to clients that may be slow or silent.

    Each phase of a connection has a time limit. When there are too many connections, the one whose client has kept
    the server waiting longest (for a request, its body, or the reading of its answer) is closed, so that slow clients
    lock nobody out.
    """

    _deadline: asyncio.TimerHandle | None = None
    _waiting_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(HEADER_SECONDS)
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def _make_room(self) -> None:
        """Close the longest-waiting connections, several at a time since finding them takes time."""
        live = [one for one in self.connections if not one.transport.is_closing()]
        excess = len(live) - MOST_CONNECTIONS
        if excess > 0:
            waiting = [one for one in live if isinstance(one, PatientProtocol) and one.is_waiting]
            waiting.sort(key=lambda one: one._waiting_since)
            for one in waiting[: excess + MOST_CONNECTIONS // 10]:
                one.transport.abort()

    @property
    def is_idle(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def is_waiting(self) -> bool:
        """Return whether the server waits for this client."""
        return self.is_idle or self.cycle.more_body or self.flow.write_paused

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before and not self.is_idle:
            self._wait(WORK_SECONDS)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._waiting_since = self.loop.time()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            # A pipelined request may have begun already.
            self._wait(HEADER_SECONDS if self.is_idle else WORK_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _wait(self, seconds: float) -> None:
        self._waiting_since = self.loop.time()
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)


class Server(uvicorn.Server):
    """Answer while other threads compute; stop within `STOP_SECONDS` of a signal whatever they do."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio accepts as many at once as may wait, so it got the small number; this sets only how many may wait.
        for one in sockets or ():
            one.listen(BACKLOG)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            await super().serve(sockets)
        finally:
            sys.setswitchinterval(before)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)

        def end_process() -> None:
            """End this process and its workers at once; nothing that was stored is lost."""
            for one in multiprocessing.active_children():
                one.kill()
            os._exit(128 + sig)

        end = threading.Timer(STOP_SECONDS, end_process)
        end.daemon = True
        end.start()


def set_aside() -> None:
    """Exclude everything loaded so far from garbage collection, which stops every thread."""
    gc.collect()
    gc.freeze()


def make_server(app: ASGIApp) -> Server:
    """Return the server of an application, to be run on a socket of `listen`. It logs failures, but no requests."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        log_level="error",
        access_log=False,
        server_header=False,
        # The protocol closes others; it only counts connections that are being closed a moment too long.
        limit_concurrency=3 * MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
        backlog=ACCEPTED_AT_ONCE,
        lifespan="off",
        ws="none",
    )
    return Server(config)
