"""Protect a served page: strict headers, known hosts, a token, bounded bodies and work, short plain answers."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from superwords.errors import InputError
from superwords.web.serving import bracketed

BODY_SECONDS = 20.0
PIECE_BYTES = 65_536
MOST_WAITING = 64  # for each request that is being computed
BUSY = "The server is busy with other requests of this kind; try again in a few seconds."
TOKEN_SECONDS = 30 * 24 * 3600
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer" a browser would send `Origin: null` with our own form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATIC_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
Result = TypeVar("Result")
REASONS = {
    400: "This request cannot be understood.",
    404: "There is no such page.",
    405: "This page does not take that kind of request.",
}


class SafeHeaders:
    """Put the headers above on every answer, and `no-store` on those without a lifetime of their own.

    Large answers are sent in pieces, so that the one who reads slowly holds one piece in the server's buffer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            body = message.get("body", b"")
            if len(body) <= PIECE_BYTES:
                await send(message)
                return
            for start in range(0, len(body), PIECE_BYTES):
                more = start + PIECE_BYTES < len(body) or message.get("more_body", False)
                await send({**message, "body": body[start : start + PIECE_BYTES], "more_body": more})

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class Turnstile:
    """Run costly requests in threads of their own, a few at a time; refuse those that would wait too long.

    Other requests are answered meanwhile, since they do not share these threads.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once, self._most = at_once, at_once * MOST_WAITING
        self._n = 0
        self._limiter: CapacityLimiter | None = None

    async def run(self, function: Callable[..., Result], *given: Any) -> Result:
        """Return what the function returns, or raise 503 when too many requests wait already."""
        if self._n >= self._most:
            raise HTTPException(503, BUSY, {"Retry-After": "5"})
        if self._limiter is None:  # an event loop must run
            self._limiter = CapacityLimiter(self._at_once)
        self._n += 1
        try:
            return await to_thread.run_sync(function, *given, limiter=self._limiter)
        finally:
            self._n -= 1


class TokenGate:
    """Admit whoever opens the address with its token, and recognise them by a cookie from then on."""

    def __init__(self, app: ASGIApp, token: str, refusal: str) -> None:
        self.app = app
        self.token = token
        self.refusal = refusal
        self.pass_word = hashlib.sha256(f"cookie {token}".encode()).hexdigest()
        # Cookies do not know of ports: two servers of one machine each need a name of their own.
        self.cookie = f"superwords_{self.pass_word[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or same(Request(scope).cookies.get(self.cookie, ""), self.pass_word):
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        answer: Response
        if request.method != "GET" or not same(request.query_params.get("token", ""), self.token):
            answer = PlainTextResponse(f"{self.refusal}\n", 401)
        else:
            answer = RedirectResponse("/", 303)
            set_cookie(answer, request, self.cookie, self.pass_word, TOKEN_SECONDS)
        await answer(scope, receive, send)


def same(given: str, expected: str) -> bool:
    """Return whether two secrets are equal, in a time that does not tell how far they are."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def set_cookie(answer: Response, request: Request, name: str, value: str, seconds: int) -> None:
    """Give the browser a cookie that no script can read."""
    # Lax, not strict: a strict cookie is not sent when a person comes from a link in a letter.
    secure = request.url.scheme == "https"
    answer.set_cookie(name, value, seconds, httponly=True, samesite="lax", secure=secure)


def application(routes: Sequence[Route], hosts: Sequence[str], gate: tuple[str, str] | None = None) -> Starlette:
    """Return an application for these host names; the gate is a token with the message of its refusal."""
    allowed = [bracketed(host) for host in hosts]
    layers = [Middleware(SafeHeaders), Middleware(TrustedHostMiddleware, allowed_hosts=allowed, www_redirect=False)]
    if gate is not None:
        layers.append(Middleware(TokenGate, token=gate[0], refusal=gate[1]))
    handlers = {HTTPException: _http_error, InputError: _input_error, Exception: _failure}
    return Starlette(routes=routes, middleware=layers, exception_handlers=handlers)


def static_files(folder: Path, headers: Mapping[str, str] | None = None) -> Callable[[Request], Response]:
    """Return what answers with a file of a folder by the name in the address; the files are read once, now."""
    known = {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix in STATIC_TYPES}

    def answer(request: Request) -> Response:
        name = request.path_params.get("name", "explorer.html")
        if name not in known:
            raise HTTPException(404)
        return Response(known[name], media_type=STATIC_TYPES[Path(name).suffix], headers=headers)

    return answer


def refuse_cross_site(request: Request) -> None:
    """Raise 403 when the browser reports that another site's page made the request."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign_origin = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if foreign_origin or site not in (None, "same-origin", "none"):
        raise HTTPException(403, "Requests from another site are refused; open this page itself.")


async def posted(request: Request, kind: str, refusal: str, most_bytes: int) -> bytes:
    """Return what this site's own page sends; raise 415 with the refusal if it is of another kind."""
    refuse_cross_site(request)
    body = await bounded_body(request, most_bytes)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise HTTPException(415, refusal)
    return body


async def bounded_body(request: Request, most_bytes: int) -> bytes:
    """Return the whole body; raise 413 when it is too large and 408 when it does not arrive."""
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
    except ClientDisconnect:  # nobody reads the answer, and nothing is wrong here
        raise HTTPException(400) from None
    return bytes(body)


def _http_error(request: Request, error: Any) -> Response:
    """Answer a refusal with one short sentence that reveals nothing of the machine."""
    given = REASONS.get(error.status_code, error.detail)
    # The rest of a body that was refused is not read, so the connection cannot be used again.
    headers = {**(error.headers or {}), **({"Connection": "close"} if error.status_code in (408, 413) else {})}
    return PlainTextResponse(f"{given}\n", error.status_code, headers)


def _input_error(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 400)


def _failure(request: Request, error: Exception) -> Response:
    # The server ends a connection on which something failed.
    headers = {"Connection": "close"}
    return PlainTextResponse("Something went wrong here; please try again.\n", 500, headers)
