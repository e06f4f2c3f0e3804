"""The server under the explorer and the study: idle crowds, strange hosts, tokens, and clients that hang up."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack
from time import sleep

import httpx
import pytest

from servers_for_tests import connect, port_of, serving_app, small_app
from superwords.errors import InputError
from superwords.web import serving
from superwords.web.serving import access, listen

TOKEN = "a-token-of-this-test"


def is_closed(one: socket.socket) -> bool:
    """Waits until the server ends the connection."""
    try:
        return one.recv(1000) == b""
    except ConnectionError:
        return True


def bytes_until_closed(one: socket.socket) -> int:
    read = 0
    try:
        while part := one.recv(100_000):
            read += len(part)
    except ConnectionError:
        pass
    return read


def test_two_hundred_idle_sockets_lock_nobody_out() -> None:
    with port_of(small_app()) as port, ExitStack() as stack:
        for number in range(260):
            stack.enter_context(connect(port, b"GET / HTTP/1.1\r\nHost: " if number % 2 else b""))
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "hello"


def test_of_too_many_connections_the_one_that_waited_longest_goes(monkeypatch) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 20)
    with port_of(small_app()) as port, ExitStack() as stack:
        idle = [stack.enter_context(connect(port, b"GET /")) for _ in range(40)]
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "hello"
        assert all(is_closed(one) for one in idle[:20])


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nA", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nG"]
)
def test_whoever_says_nothing_more_is_sent_away(monkeypatch, sent: bytes) -> None:
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.2)
    with port_of(small_app()) as port, connect(port, sent) as one:
        while not is_closed(one):
            pass
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "hello"


def test_whoever_does_not_read_the_answer_is_sent_away(monkeypatch) -> None:
    monkeypatch.setattr(serving, "WORK_SECONDS", 0.2)
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.2)
    with port_of(small_app()) as port, connect(port, b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n") as one:
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "hello"
        sleep(2)  # on a busy machine the server notices late
        assert bytes_until_closed(one) < 20_000_000


def test_answers_go_out_at_once() -> None:
    """TCP_NODELAY is inherited by the connections of a listening socket that names its protocol."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_client_that_hangs_up_leaves_no_traceback(caplog, capfd) -> None:
    with caplog.at_level(logging.WARNING), port_of(small_app()) as port:
        for sent in (
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc",
        ):
            for _ in range(3):
                connect(port, sent).close()
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "hello"
    assert [record.getMessage() for record in caplog.records] == []
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "[", "", "a b", "[::2]"])
def test_a_host_that_is_not_ours_is_refused(host: str) -> None:
    with serving_app(small_app(access("0.0.0.0", 1).hosts)) as address:
        assert httpx.get(address, headers={"Host": host}, timeout=60).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1", "[::1]", "study.example.org"])
def test_our_own_hosts_are_answered(host: str) -> None:
    with serving_app(small_app(access("127.0.0.1", 1, "study.example.org").hosts)) as address:
        assert httpx.get(address, headers={"Host": host}, timeout=60).text == "hello"


@pytest.mark.parametrize(
    ("host", "public", "address", "needs_token"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:80/", False),
        ("localhost", None, "http://localhost:80/", False),
        ("::1", None, "http://[::1]:80/", False),
        ("192.168.1.7", None, "http://192.168.1.7:80/", True),
        ("0.0.0.0", "study.example.org", "http://study.example.org:80/", True),
        ("127.0.0.1", "https://study.example.org", "https://study.example.org/", True),
        ("127.0.0.1", "https://study.example.org:8443/", "https://study.example.org:8443/", True),
    ],
)
def test_others_need_a_token_and_this_machine_does_not(host, public, address, needs_token) -> None:
    found = access(host, 80, public)
    assert (found.address, found.needs_token) == (address, needs_token)
    assert found.link("x") == f"{address}?token=x"
    assert "*" not in found.hosts


@pytest.mark.parametrize(
    "public", ["", "*", "*.example.org", "ftp://a", "https://a/b", "a b", "u@a", "https://", "a?b"]
)
def test_a_public_host_that_is_none_is_one_sentence(public: str) -> None:
    with pytest.raises(InputError, match="is not understood"):
        access("127.0.0.1", 80, public)


def test_a_token_is_asked_for_once() -> None:
    with serving_app(small_app(gate=(TOKEN, "Open the whole address."))) as address:
        for asked in ("", "?token=", "?token=wrong", "?token=%ff", "large"):
            answer = httpx.get(f"{address}/{asked}", timeout=60)
            assert (answer.status_code, answer.text) == (401, "Open the whole address.\n")
        assert httpx.post(f"{address}/take?token={TOKEN}", timeout=60).status_code == 401
        with httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client:
            first = client.get(f"/?token={TOKEN}")
            assert (first.text, first.url.query) == ("hello", b"")
            (cookie,) = first.history[0].headers.get_list("set-cookie")
            assert TOKEN not in cookie
            assert {"httponly", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}
            assert client.post("/take", content=b"abc").text == "3"
        name = cookie.partition("=")[0]
        assert httpx.get(address, headers={"Cookie": f"{name}=0"}, timeout=60).status_code == 401
