"""Where a local server listens."""

from __future__ import annotations

import contextlib
import socket

from superwords.errors import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that a busy port is told before anything is served."""
    try:
        if not 0 <= port <= 65_535:
            raise OSError("ports go from 0 to 65535")
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with contextlib.ExitStack() as undo:
            listener = undo.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            undo.pop_all()
    except OSError as error:
        raise InputError(
            f"The server cannot listen on {host} port {port} ({error.strerror or error}); "
            "give another --host or --port."
        ) from None
    return listener
