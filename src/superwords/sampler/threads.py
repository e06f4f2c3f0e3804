"""Several threads within one chain, where that is exact: blocks of documents that do not depend on each other.

Random numbers are named by document (random.py), so that neither the blocks nor who takes them changes a bit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_BLOCKS_PER_THREAD = 4  # so that none waits long for the last
_LEAST = 256  # documents in a block: a smaller one is done sooner than handed over

Made = TypeVar("Made")


def map_blocks(work: Callable[[int, int], Made], n: int, n_threads: int) -> list[Made]:
    """Return `work(first, last)` over 0..n−1 in blocks, in their order."""
    n_blocks = min(n_threads * _BLOCKS_PER_THREAD, n // _LEAST)
    if n_threads == 1 or n_blocks < 2:
        return [work(0, n)]
    ends = [n * block // n_blocks for block in range(n_blocks + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, ends[:-1], ends[1:]))
