"""The explorer under load on two cores: 200 requests a second beside attackers, and 50,000 requests in flat memory."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest

import server_load
import superwords

RATE, MOST_SECONDS = 200.0, 0.1
HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read as Linux reports it"),
]


@pytest.fixture
def explorer(tmp_path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`superwords explore` as a process of its own."""
    path = fitted().save(tmp_path / "model.sw")
    command = [sys.executable, "-m", "superwords.cli.main", "explore", str(path), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127.0.0.1:(\d+)/", process.stdout.readline())
        assert found is not None
        yield process, int(found[1])
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)


def fitted() -> superwords.ConceptModel:
    """A model of 600 documents with texts, of fifteen themes of twenty words."""
    rng = np.random.default_rng(2)
    themes = [[f"w{20 * k + n}" for n in range(20)] for k in range(15)]
    texts = [" ".join(". ".join(rng.choice(themes[k], 30)) for k in rng.integers(15, size=3)) for _ in range(600)]
    known = pd.DataFrame(
        {"text": texts, "party": rng.choice(["A", "B"], 600), "year": 2000 + rng.integers(20, size=600)}
    )
    return superwords.fit(
        known,
        text="text",
        groups=["party", "year"],
        n_chains=2,
        n_sweeps=12,
        n_burn_in=6,
        random_state=1,
        words="plain",
    )


def pages_of(port: int) -> list[str]:
    """Return pages that people open, each asked for once before they are counted on."""
    pages = ["/", "/static/table.js", "/api/model.json", "/api/tables/concepts.json", "/api/map.json"]
    pages += [f"/api/tables/words.json?search=w{n}" for n in range(40)]
    pages += [f"/api/text.json?row={n}" for n in range(1, 60)]
    pages += [f"/api/tables/row-concepts.json?row={n}" for n in range(1, 60)]
    pages += [f"/api/tables/documents.json?page={n}" for n in range(1, 5)]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=100) as client:
        facts = client.get("/api/model.json").json()
        pages += [f"/api/concept.json?concept={n}" for n in range(1, facts["concepts"] + 1)]
        return [page for page in pages if client.get(page).status_code == 200]


def resident(process: subprocess.Popen[str]) -> float:
    """Return the megabytes of memory that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def test_two_hundred_requests_a_second_under_attack_take_less_than_100_ms(explorer) -> None:
    _, port = explorer
    pages, seconds = pages_of(port), 20.0
    asyncio.run(server_load.steady(port, pages, RATE, 5))
    command = [sys.executable, HERE / "server_load.py", str(port), str(seconds)]
    with subprocess.Popen(command) as attackers:
        answered = asyncio.run(server_load.steady(port, pages, RATE, seconds))
        attackers.kill()
    print(f"p50 {1e3 * answered.quantile(0.5):.1f} ms, p99 {1e3 * answered.quantile(0.99):.1f} ms")
    assert not answered.failed
    assert len(answered.seconds) >= 0.99 * RATE * seconds
    assert answered.quantile(0.99) < MOST_SECONDS


def test_memory_is_flat_over_fifty_thousand_requests(explorer) -> None:
    process, port = explorer
    pages = pages_of(port)
    asyncio.run(server_load.steady(port, pages, RATE, 25))
    before = resident(process)
    answered = asyncio.run(server_load.steady(port, pages, RATE, 250))
    print(f"{len(answered.seconds)} requests, {before:.0f} to {resident(process):.0f} MB")
    print(f"p50 {1e3 * answered.quantile(0.5):.1f} ms, p99 {1e3 * answered.quantile(0.99):.1f} ms")
    assert len(answered.seconds) >= 49_000
    assert not answered.failed
    assert resident(process) < before + 20
