"""Whatever is typed, asked for or sent gets an answer or one clear message (Hypothesis).

`past_failures.json` keeps what went wrong before; it is tried first.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer_for_tests import large_model, served
from superwords.analysis.design import make_design
from superwords.errors import InputError
from superwords.web.explorer import Explorer
from superwords.web.tables import PAGES

PAST = json.loads((Path(__file__).with_name("past_failures.json")).read_text(encoding="utf-8"))
GENTLE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MOST_SECONDS = 10.0
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = ["party", "year", "date", "few", "nothing"]
ATOMS = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(["1", "0", "-1", "1e9", "(", ")", "`party`", '"A"']),
    st.builds(
        "{}({})".format, st.sampled_from(["log", "sqrt", "poly", "bs", "C", "exp", "eval"]), st.sampled_from(NAMES)
    ),
    st.builds("{}({}, {})".format, st.sampled_from(["poly", "bs"]), st.sampled_from(NAMES), st.integers(-3, 10**6)),
)
FORMULAS = st.lists(
    st.tuples(ATOMS, st.sampled_from([" + ", " - ", "*", ":", "**", "/", "|", "~", " "])), max_size=8
).map(lambda parts: "".join(atom + sign for atom, sign in parts).rstrip(" +-*:/|~"))


def metadata() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "party": rng.choice(["A", "B", "C"], 60),
            "year": 2000 + np.arange(60) % 7,
            "date": pd.date_range("2020-01-01", periods=60),
            "few": [None] * 50 + ["x"] * 10,
        }
    )


def design_or_sentence(formula: str) -> None:
    start = time.process_time()
    refusal = ""
    try:
        assert make_design(metadata(), formula).matrix.shape[1] <= 600
    except InputError as error:
        refusal = str(error)
    assert refusal == "" or 10 < len(refusal) < 600
    assert time.process_time() - start < MOST_SECONDS


@pytest.mark.parametrize("formula", PAST["formulas"])
def test_formulas_that_failed_before(formula: str) -> None:
    design_or_sentence(formula)


@given(st.one_of(FORMULAS, TEXTS))
@GENTLE
def test_any_formula_is_a_design_or_one_sentence(formula: str) -> None:
    design_or_sentence(formula)


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return Explorer(large_model(40, 8))


@pytest.fixture(scope="module")
def address(explorer: Explorer) -> Iterator[str]:
    with served(explorer) as found:
        yield found


def check(answer: httpx.Response) -> None:
    assert answer.status_code in (200, 400, 404, 405, 413, 415), answer.text[:300]
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.status_code != 200:
        assert 0 < len(answer.text) < 1_000
        assert "Traceback" not in answer.text


KEYS = ["query", "concept", "document", "row", "word", "column", "first", "second", "by", "sort", "order", "page"]
KEYS += ["rows", "search", "part", "liked", "disliked", "n", "concepts", "term", "of"]
VALUES = st.one_of(st.sampled_from(PAST["queries"] + PAST["numbers"]), TEXTS, st.integers(-5, 10**10).map(str))


@given(st.integers(0, 10**6), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5))
@GENTLE
def test_any_address_of_the_explorer_is_answered(explorer, address: str, number: int, query: dict) -> None:
    """All but effects, whose formulas are tried above."""
    names = [one for one in PAGES if not one.endswith("effects")]
    pages = [f"api/{one}.{kind}" for one in names for kind in ("json", "csv")]
    check(httpx.get(address + pages[number % len(pages)], params=query, timeout=60))


@pytest.mark.parametrize("query", PAST["queries"])
@pytest.mark.parametrize("page", ["search", "diverse", "tables/said", "tables/said-by"])
def test_queries_that_failed_before(address: str, page: str, query: str) -> None:
    check(httpx.get(f"{address}api/{page}.json", params={"query": query}, timeout=60))


@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | TEXTS,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["do", "concepts", "name", "themes"]) | TEXTS,
                    inner | st.sampled_from(["merge", "hide"]),
                    max_size=3,
                )
            ),
            max_leaves=6,
        ).map(lambda value: json.dumps(value).encode()),
    )
)
@GENTLE
def test_any_decision_is_refused_or_taken(address: str, body: bytes) -> None:
    answer = httpx.post(f"{address}api/choices", content=body, headers={"Content-Type": "application/json"}, timeout=60)
    assert answer.status_code in (400, 403)
    assert len(answer.text) < 1_000


def sent(address: str, content: bytes) -> bytes:
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as one:
        one.sendall(content)
        one.shutdown(socket.SHUT_WR)
        try:
            return one.recv(4096)
        except ConnectionError:
            return b""


@pytest.mark.parametrize("content", PAST["raw"])
def test_requests_that_failed_before(address: str, content: str) -> None:
    assert b" 500 " not in sent(address, content.encode("utf-8"))[:20]
    assert httpx.get(address, timeout=30).status_code == 200


@given(st.binary(max_size=300))
@GENTLE
def test_any_bytes_leave_the_server_standing(address: str, content: bytes) -> None:
    assert b" 500 " not in sent(address, content)[:20]
    assert httpx.get(address, timeout=30).status_code == 200
