"""What the moves of the chains did: how often they proposed something, how often it was accepted, and the time."""

from __future__ import annotations

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
    counts = move_statistics(chains).sum("chain")
    rows = []
    for move in MOVES:
        called, seconds = move.replace("_merge", " and merge").replace("_", " "), float(counts.seconds.sel(move=move))
        for kind in PROPOSALS.get(move, ("",)):
            tried, accepted = (
                int(one.sel(proposal=kind)) if kind else np.nan for one in (counts.tried, counts.accepted)
            )
            rows.append([called, kind, tried, accepted, accepted / tried if tried else np.nan, seconds])
            seconds = np.nan
    table = pd.DataFrame(rows, columns=COLUMNS[:-1])
    return table.assign(time_share=table["seconds"] / (table["seconds"].sum() or np.nan))


def move_statistics(chains: Sequence[Chain]) -> xarray.Dataset:
    """Return the counts by chain: `tried` and `accepted` by proposal, `seconds` by move."""
    kinds = [kind for known in PROPOSALS.values() for kind in known]
    counts = {name: [[getattr(chain, name)[kind] for kind in kinds] for chain in chains] for name in COLUMNS[2:4]}
    seconds = [[chain.seconds.get(move, 0.0) for move in MOVES] for chain in chains]
    return xarray.Dataset(
        {name: (("chain", "proposal"), np.array(values, int)) for name, values in counts.items()}
        | {"seconds": (("chain", "move"), np.array(seconds, float))},
        {"chain": np.arange(len(chains)), "proposal": kinds, "move": list(MOVES)},
    )
