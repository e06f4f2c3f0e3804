"""Serve the chains to the explorer: convergence, agreement, and acceptance of moves."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd

from superwords.plots.model_plots import chain_traces
from superwords.plots.style import figure_bytes
from superwords.web.catalog import Catalog, texts
from superwords.web.cloud_pictures import drawing
from superwords.web.json_tables import Column, Table


class ChainPages:
    """Compute tables and a picture of a model's chains."""

    def __init__(self, catalog: Catalog):
        self.catalog = catalog
        self.model = catalog.model

    @cached_property
    def traces(self) -> bytes:
        """Return the traces as SVG."""
        with drawing:
            return figure_bytes(chain_traces(self.model), "svg")

    def moves(self) -> Table:
        """Return what every move of a sweep tried, what was accepted, and the time it took, over all chains."""
        columns = [
            Column("move", "Move"),
            Column("proposal", "Proposal"),
            Column("tried", "Tried", "number"),
            Column("accepted", "Accepted", "number"),
            Column("acceptance", "Accepted, of those tried", "share"),
            Column("seconds", "Seconds", "decimal"),
            Column("time_share", "Of the time", "share"),
        ]
        return Table(columns, self.model.moves())

    def others(self) -> Table:
        """Return concepts that at least two chains find and the list lacks."""
        found = self.model.other_concepts()
        chains = zip(found["found_by"], found["stability_by_chain"])
        rows = pd.DataFrame(
            {
                "words": texts([", ".join(words) for words in found["top_words"]]),
                "chains": texts([f"{n} of {len(each)}" for n, each in chains]),
            }
        )
        return Table([Column("words", "Words"), Column("chains", "Chains that find it")], rows)

    def agreement(self) -> Table:
        """Return concepts by the share of each chain's draws in which they are found, the least agreed first."""
        shares = np.array(self.catalog.concept_rows["stability_by_chain"].tolist(), float)
        n_chains = shares.shape[1] if shares.ndim == 2 else 0
        by_chain = {f"chain {c + 1}": shares[:, c] for c in range(n_chains)}
        rows = pd.DataFrame(
            {
                "concept": self.catalog.concept_rows["concept"],
                "name": texts(self.catalog.shown_names),
                **by_chain,
            }
        ).assign(stability=self.catalog.concept_rows["stability"])
        columns = [
            Column("name", "Concept", "concept", link="concept"),
            *(Column(name, f"Found by {name}", "share") for name in by_chain),
            Column("stability", "Stability", "share"),
        ]
        return Table(columns, rows.sort_values("stability", kind="stable"), "stability", False)
