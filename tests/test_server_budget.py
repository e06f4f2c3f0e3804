"""The budgets of a server: slow clients, costly requests, requests of other sites, and signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pandas as pd
import pytest
from scipy import sparse
from starlette.exceptions import HTTPException

from explorer_for_tests import large_model, served
from models_for_tests import planted_model
from servers_for_tests import connect, port_of, small_app
from superwords.errors import InputError
from superwords.web import bounded, guard, serving
from superwords.web.bounded import BoundedModel
from superwords.web.explorer import Explorer
from superwords.web.tables import PAGES

HEAVY = b"POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\na"


@pytest.fixture
def path(tmp_path) -> Path:
    return planted_model().save(tmp_path / "model.sw")


def seconds_of_answer(port: int) -> float:
    start = time.monotonic()
    assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "hello"
    return time.monotonic() - start


def test_bodies_that_do_not_arrive_lock_nobody_out(monkeypatch) -> None:
    """410 posts that announced a body and sent one byte kept everybody else out for 20 seconds."""
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 400)
    with port_of(small_app()) as port, ExitStack() as stack:
        for _ in range(410):
            stack.enter_context(connect(port, HEAVY))
        assert seconds_of_answer(port) < 10


def test_answers_that_are_not_read_lock_nobody_out(monkeypatch) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 20)
    with port_of(small_app()) as port, ExitStack() as stack:
        slow = [
            stack.enter_context(connect(port, b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")) for _ in range(30)
        ]
        assert seconds_of_answer(port) < 10
        # Which ones are cut depends on the order in which they were accepted; ten must make room for the others.
        cut = [is_cut(one, 20_000_000) for one in slow]
        assert sum(cut) >= 10


def is_cut(one, whole: int) -> bool:
    """Return whether a connection is closed before so much was read; does not wait for one that is kept alive."""
    read = 0
    try:
        while read < whole and (part := one.recv(1_000_000)):
            read += len(part)
    except ConnectionError:
        pass
    return read < whole


def test_a_body_has_a_deadline_that_further_bytes_do_not_move(monkeypatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.5)
    with port_of(small_app()) as port, connect(port, HEAVY) as one:
        start = time.monotonic()
        dripping = threading.Thread(target=drip, args=(one,), daemon=True)
        dripping.start()
        assert b" 408 " in one.recv(1000)
        assert time.monotonic() - start < 10
        dripping.join()


def drip(one) -> None:
    try:
        for _ in range(40):
            one.sendall(b"a")
            time.sleep(0.05)
    except OSError:
        pass


def test_a_large_answer_is_whole_though_it_is_sent_in_pieces() -> None:
    with port_of(small_app()) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/large", timeout=60).text == "x" * 20_000_000


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},  # another port of this machine
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_other_sites_cannot_make_the_explorer_work(headers: dict[str, str]) -> None:
    with served(Explorer(large_model(40, 8))) as address:
        for page in ("api/model.json", "api/effects.json?formula=party", "api/tables/words.csv"):
            answer = httpx.get(address + page, headers=headers, timeout=60)
            assert (answer.status_code, answer.text[:27]) == (403, "Requests from another site ")
        # A link from elsewhere to the page itself is followed, and the page may ask for everything.
        assert httpx.get(address, headers={"Sec-Fetch-Site": "cross-site"}, timeout=60).status_code == 200
        for site in ("same-origin", "none"):
            own = httpx.get(f"{address}api/model.json", headers={"Sec-Fetch-Site": site}, timeout=60)
            assert own.status_code == 200


@pytest.mark.parametrize("page", ["search", "diverse", "tables/said"])
def test_a_query_has_a_length(page: str) -> None:
    with served(Explorer(large_model(40, 8))) as address:
        answer = httpx.get(f"{address}api/{page}.json", params={"query": "word " * 200}, timeout=60)
        assert (answer.status_code, answer.text) == (400, "The search has 1000 characters; give at most 500.\n")


def test_whoever_would_wait_too_long_is_refused_and_others_are_answered(monkeypatch) -> None:
    monkeypatch.setattr(guard, "MOST_WAITING", 9)
    explorer = Explorer(large_model(40, 8))
    held, asked = threading.Event(), threading.Event()

    def slow(catalog) -> dict[str, bool]:
        asked.set()
        assert held.wait(60)
        return {"is_done": True}

    monkeypatch.setitem(PAGES, "effects", slow)
    with served(explorer) as address, httpx.Client(base_url=address, timeout=60) as client:
        codes: list[int] = []
        threads = [
            threading.Thread(target=lambda n=n: codes.append(asked_of(f"{address}api/effects.json?n={n}")))
            for n in range(12)
        ]
        for one in threads:
            one.start()
        assert asked.wait(30)
        while len(codes) < 3:
            time.sleep(0.05)
        assert codes == [503, 503, 503]
        assert client.get("/api/tables/concepts.json").status_code == 200
        assert client.get("/api/search.json", params={"query": "w1"}).status_code in (200, 400)
        held.set()
        for one in threads:
            one.join()
        assert sorted(codes) == [200] * 9 + [503] * 3


def test_effects_come_from_a_process_of_their_own_with_the_same_numbers(path) -> None:
    model = planted_model()
    worker = BoundedModel(path)
    try:
        found = worker.call(model.choices_, "effects", "party", "prevalence")
        pd.testing.assert_frame_equal(found, model.effects("party"))
        with pytest.raises(InputError, match="nowhere"):
            worker.call(model.choices_, "effects", "nowhere", "prevalence")
    finally:
        worker.stop()


def test_what_exceeds_its_budget_is_stopped_and_the_next_request_is_answered(path, monkeypatch) -> None:
    monkeypatch.setattr(bounded, "SECONDS", 1.0)
    worker = BoundedModel(path)
    try:
        with pytest.raises(HTTPException, match="took more than 1 seconds or 2 GB") as refused:
            worker.call([], "advance", 10**6)
        assert refused.value.status_code == 503
        monkeypatch.setattr(bounded, "SECONDS", 60.0)
        assert len(worker.call([], "concepts"))
    finally:
        worker.stop()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited on Linux only")
def test_what_exceeds_its_memory_is_stopped(path, monkeypatch) -> None:
    monkeypatch.setattr(bounded, "BYTES", 2**27)
    many = sparse.csr_array((4_000_000, planted_model().corpus_.n_words), dtype=int)
    worker = BoundedModel(path)
    try:
        with pytest.raises(HTTPException, match="GB of memory"):
            worker.call([], "transform", many)
    finally:
        worker.stop()


def test_a_file_that_is_gone_is_one_sentence(tmp_path) -> None:
    with pytest.raises(HTTPException, match="cannot be read any more"):
        BoundedModel(tmp_path / "gone.sw").call([], "concepts")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_explorer_while_it_computes(path, sent) -> None:
    program = (
        "import sys, time; from superwords.web import explorer; from superwords.cli.main import main\n"
        "explorer.steps = lambda catalog: iter(())\n"
        "explorer.PAGES['tables/documents'] = lambda catalog: time.sleep(600)\n"
        "sys.argv = ['superwords', 'explore', sys.argv[1], '--no-browser']; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        address = re.search(r"http://\S+/", process.stdout.readline())[0]
        page = f"{address}api/tables/documents.json"
        asking = threading.Thread(target=ask, args=(page,), daemon=True)
        asking.start()
        time.sleep(1)
        assert httpx.get(address, timeout=60).status_code == 200
        process.send_signal(sent)
        process.wait(60)  # the page would take ten minutes
        asking.join(10)


def asked_of(page: str) -> int:
    return httpx.get(page, timeout=60).status_code


def ask(page: str) -> None:
    with suppress(httpx.HTTPError):
        httpx.get(page, timeout=60)
