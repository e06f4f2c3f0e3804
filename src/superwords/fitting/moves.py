"""What the moves of the chains did: how often they proposed something, how often it was accepted, and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray

from superwords.sampler.chain import MOVES, PROPOSALS, Chain

COLUMNS = ["move", "proposal", "tried", "accepted", "acceptance", "seconds", "time_share"]


def move_table(chains: Sequence[Chain]) -> pd.DataFrame:
    """Return what each move proposed, what was accepted and the time it took, over all chains.

    Returns
    -------
    DataFrame
        A row per move and kind of proposal; Gibbs steps propose nothing. The time is in a move's first row.

    Examples
    --------
    >>> int(model.moves().set_index("proposal").loc["split", "tried"]) > 0
    True
    """
    total = sum(sum(chain.seconds.values()) for chain in chains)
    rows = []
    for move in MOVES:
        seconds = sum(chain.seconds.get(move, 0.0) for chain in chains)
        for at, kind in enumerate(PROPOSALS.get(move, ("",))):
            tried, accepted = (sum(one[kind] for one in counts) for counts in _counts(chains))
            rates = [tried, accepted, accepted / tried if tried else np.nan]
            time = [seconds, seconds / total] if at == 0 and total else [np.nan, np.nan]
            called = move.replace("_merge", " and merge").replace("_", " ")
            rows.append([called, kind, *(rates if kind else [np.nan] * 3), *time])
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def move_statistics(chains: Sequence[Chain]) -> xarray.Dataset:
    """Return the counts by chain: `tried` and `accepted` by proposal, `seconds` by move."""
    kinds = [kind for known in PROPOSALS.values() for kind in known]
    tried, accepted = ([[one[kind] for kind in kinds] for one in counts] for counts in _counts(chains))
    seconds = [[chain.seconds.get(move, 0.0) for move in MOVES] for chain in chains]
    return xarray.Dataset(
        {
            "tried": (("chain", "proposal"), np.array(tried, int)),
            "accepted": (("chain", "proposal"), np.array(accepted, int)),
            "seconds": (("chain", "move"), np.array(seconds, float)),
        },
        {"chain": np.arange(len(chains)), "proposal": kinds, "move": list(MOVES)},
    )


def _counts(chains: Sequence[Chain]) -> tuple[list[Counter[str]], list[Counter[str]]]:
    return [chain.tried for chain in chains], [chain.accepted for chain in chains]
