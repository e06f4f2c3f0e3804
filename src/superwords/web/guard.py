"""What keeps a local page safe: strict headers, no cross-site posts, bounded bodies, short plain answers."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_SECONDS = 20.0
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer" a browser would send `Origin: null` with our own form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
REASONS = {
    400: "This request cannot be understood.",
    404: "There is no such page.",
    405: "This page does not take that kind of request.",
}


class SafeHeaders:
    """Puts the headers above on every answer, and `no-store` on those that do not say how long they keep."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class KnownHosts:
    """Refuses requests for any other host name: a name that an attacker points at loopback is not ours."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and host_name(Request(scope).headers.get("host", "")) not in self.hosts:
            answer = PlainTextResponse("This server does not answer for that host name.\n", 400)
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)


def host_name(host_header: str) -> str | None:
    try:
        return urlsplit(f"//{host_header}").hostname
    except ValueError:
        return None


def refuse_cross_site(request: Request) -> None:
    """Raises 403 when the browser says that the post comes from a page of another site."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign_origin = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if foreign_origin or site not in (None, "same-origin", "none"):
        raise HTTPException(403, "Posts from another site are refused; open this page itself.")


async def bounded_body(request: Request, most_bytes: int) -> bytes:
    """The whole body, or 413 when it is too large and 408 when it does not arrive."""
    too_large = HTTPException(413, f"The request is larger than {most_bytes:,} bytes.")
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > most_bytes:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most_bytes:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, "The request did not arrive in time.") from None
    return bytes(body)


def plain_http_error(request: Request, error: Exception) -> Response:
    """A short sentence of our own for every refusal; nothing of the machine is in it."""
    assert isinstance(error, HTTPException)
    given = REASONS.get(error.status_code, error.detail)
    # The rest of a body that was refused is not read, so the connection cannot be used again.
    headers = {
        **(error.headers or {}),
        **({"Connection": "close"} if error.status_code in (408, 413) else {}),
    }
    return PlainTextResponse(f"{given}\n", error.status_code, headers)


def plain_failure(request: Request, error: Exception) -> Response:
    return PlainTextResponse("Something went wrong here; please try again.\n", 500)
