"""Clients of the explorer that send requests at a steady rate, or that attack it; used by test_server_load.py.

usage: server_load.py PORT SECONDS: attack until the time is over. Attackers are a process of their own, so that the
times which honest clients measure are the server's.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from contextlib import suppress
from typing import NamedTuple

HOST = "127.0.0.1"
FORMULAS = ["year**99999999", "bs(year,df=3000)", "poly(year,900)", "party**9999"]
N_ATTACKERS = {"body": 410, "reader": 50, "query": 4, "formula": 4}


class Answered(NamedTuple):
    """Seconds of each request, and what was not answered with 200."""

    seconds: list[float]
    failed: list[tuple[str, str]]

    def quantile(self, share: float) -> float:
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(share * len(self.seconds)))]


class Client:
    """A connection that is kept, and opened again when the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, page: str) -> int:
        """Return the status of a page whose whole answer has arrived."""
        try:
            return await self._get(page)
        except (asyncio.IncompleteReadError, ConnectionError):  # it was closed while it was idle
            self.close()
            return await self._get(page)

    async def _get(self, page: str) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port)
        reader, writer = self._streams
        writer.write(request("GET", page))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        await reader.readexactly(int(length[1]))
        if b"connection: close" in head:
            self.close()
        return int(head[9:12])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


def request(method: str, page: str, *headers: str) -> bytes:
    return "\r\n".join([f"{method} {page} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


async def steady(port: int, pages: list[str], rate: float, seconds: float) -> Answered:
    """Ask for pages at a steady rate, whether or not earlier answers have arrived."""
    answered, idle = Answered([], []), [Client(port) for _ in range(8)]

    async def ask(page: str) -> None:
        client = idle.pop() if idle else Client(port)
        start = time.monotonic()
        try:
            status = str(await asyncio.wait_for(client.get(page), 30))
        except Exception as error:
            status = repr(error)
        answered.seconds.append(time.monotonic() - start)
        if status != "200":
            answered.failed.append((page, status))
        idle.append(client)

    start, asked, n = time.monotonic(), set[asyncio.Task[None]](), 0
    while time.monotonic() - start < seconds:
        while n < (time.monotonic() - start) * rate:
            task = asyncio.create_task(ask(pages[n % len(pages)]))
            asked.add(task)
            task.add_done_callback(asked.discard)
            n += 1
        await asyncio.sleep(0.002)
    await asyncio.gather(*asked)
    for client in idle:
        client.close()
    return answered


async def attack(port: int, kind: str, seconds: float) -> None:
    """Announce bodies and send one byte, ask for much and read nothing, or ask for what costs work."""
    announced = request("POST", "/api/choices", "Content-Type: application/json", "Content-Length: 1000")
    sent = {
        "body": lambda: announced + b"{",
        "reader": lambda: request("GET", "/api/tables/words.csv"),
        "query": lambda: request("GET", f"/api/search.json?query={'health+' * 8000}"),
        "formula": lambda: request("GET", f"/api/effects.json?formula={random.choice(FORMULAS)}"),
    }
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(sent[kind]())
            await (asyncio.sleep(20) if kind == "reader" else reader.read(100))
            writer.close()
        await asyncio.sleep(0.2)


async def attack_all(port: int, seconds: float) -> None:
    attackers = [attack(port, kind, seconds) for kind, n in N_ATTACKERS.items() for _ in range(n)]
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*attackers), seconds)


if __name__ == "__main__":
    asyncio.run(attack_all(int(sys.argv[1]), float(sys.argv[2])))
