"""Threads within one chain, over blocks of independent documents.

Random numbers are named by document (random.py), so the result does not depend on blocks or threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_BLOCKS_PER_THREAD = 4  # so that threads finish at about the same time
_LEAST = 256  # documents in a block; a smaller one costs less than its overhead

Made = TypeVar("Made")


def map_blocks(work: Callable[[int, int], Made], n: int, n_threads: int) -> list[Made]:
    """Return `work(first, last)` over 0..n−1 in blocks, in their order."""
    n_blocks = min(n_threads * _BLOCKS_PER_THREAD, n // _LEAST)
    if n_threads == 1 or n_blocks < 2:
        return [work(0, n)]
    ends = [n * block // n_blocks for block in range(n_blocks + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, ends[:-1], ends[1:]))
