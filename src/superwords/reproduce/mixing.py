"""Whether chains that start far apart come to agree, on the debate of Congress."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from arviz_stats.base import array_stats
from scipy import sparse

from superwords.concepts.alignment import find_partners, reordered, usage_of
from superwords.concepts.sets import on_in_concepts
from superwords.draws import Kept
from superwords.estimator import ConceptModel
from superwords.features import cooccurrence
from superwords.fitting import Progress
from superwords.plots import save_figure, traces
from superwords.reproduce.congress import load_debate

STARTS = ("kmeans:20", "kmeans:60", "kmeans:120", "single", "random")
HANDFUL = 8  # rows: a concept of no more is a leftover
PARTNER = 0.5  # weighted Jaccard
_WORDS = 200  # most frequent ones, whose sharing of concepts is followed

Tell = Callable[[str], None]


def reproduce(
    data: Path,
    folder: Path,
    n_sweeps: int,
    unit: str,
    seed: int,
    part: int = 1,
    n_jobs: int | None = None,
    tell: Tell = print,
) -> pd.DataFrame:
    """Writes mixing.csv (a row per chain), agreement.csv (R-hat), partners.csv and traces.png."""
    corpus = load_debate(data, unit=unit)
    counts = sparse.csr_array(corpus.counts[::part])
    tell(f"{counts.shape[0]} rows, {counts.shape[1]} words; {n_sweeps} sweeps from {', '.join(STARTS)}")
    seen: list[list[int]] = [[] for _ in STARTS]

    def follow(progress: Progress) -> None:
        seen[progress.chain].append(progress.n_concepts)
        if progress.sweep % max(1, n_sweeps // 10) == 0:
            start = STARTS[progress.chain]
            tell(
                f"  {start}: sweep {progress.sweep}, {progress.n_concepts} concepts, {progress.seconds:.0f} s"
            )

    model = ConceptModel(
        b1="auto",
        b2="auto",
        init=STARTS,
        n_chains=len(STARTS),
        n_sweeps=n_sweeps,
        random_state=seed,
        n_jobs=n_jobs,
        progress=follow,
    ).fit(counts, features=cooccurrence(corpus))
    folder.mkdir(parents=True, exist_ok=True)
    chains = pd.DataFrame([_chain_row(model, c, seen[c]) for c in range(len(STARTS))])
    chains.to_csv(folder / "mixing.csv", index=False)
    tell(chains.to_string(index=False))
    agreement = agree(model)
    agreement.to_csv(folder / "agreement.csv", index=False)
    tell(agreement.to_string(index=False))
    shares = partners(model)
    shares.to_csv(folder / "partners.csv")
    off = shares.to_numpy()[~np.eye(len(shares), dtype=bool)]
    tell(
        f"concepts with a partner of Jaccard {PARTNER} in another chain: "
        f"{off.mean():.0%} ({off.min():.0%} to {off.max():.0%})"
    )
    save_figure(traces({"number of concepts": np.array(seen)}), folder / "traces.png")
    return agreement


def _chain_row(model: ConceptModel, c: int, seen: list[int]) -> dict[str, Any]:
    kept = model.draws_.chains[c].kept
    chain = model.chains_[c]
    return {
        "start": STARTS[c],
        "concepts at first": seen[0],
        "concepts": np.mean([len(_holders(draw)) for draw in kept]),
        "in more than a handful of rows": np.mean([(_holders(draw) > HANDFUL).sum() for draw in kept]),
        "concepts per row": np.mean([len(draw.state.concept) for draw in kept]) / model.corpus_.n_documents,
        "on-words used": np.mean([(draw.tokens.entry > 0).mean() for draw in kept]),
        "splits": int(chain.accepted[0]),
        "merges": int(chain.accepted[1]),
    }


def _holders(draw: Kept) -> np.ndarray:
    return np.bincount(draw.state.concept)


def agree(model: ConceptModel) -> pd.DataFrame:
    """R-hat of the number of concepts and the like, and of how many frequent words share a concept."""
    frequent = np.argsort(-np.asarray(model.corpus_.counts.sum(axis=0)).ravel(), kind="stable")[:_WORDS]
    followed: dict[str, list[list[float]]] = {
        "concepts": [],
        "in more than a handful of rows": [],
        "memberships": [],
        "words on": [],
        "log joint": [],
        "pairs of words together": [],
    }
    for chain in model.draws_.chains:
        followed["concepts"].append([float(len(_holders(draw))) for draw in chain.kept])
        followed["in more than a handful of rows"].append(
            [float((_holders(draw) > HANDFUL).sum()) for draw in chain.kept]
        )
        followed["memberships"].append([float(len(draw.state.concept)) for draw in chain.kept])
        followed["words on"].append([float(len(draw.state.word)) for draw in chain.kept])
        followed["log joint"].append(chain.trace["log_joint"])
        followed["pairs of words together"].append([_pairs_together(draw, frequent) for draw in chain.kept])
    rows = []
    for name, values in followed.items():
        array = np.array(values)
        rhat = float(array_stats.rhat(array, chain_axis=0, draw_axis=1))
        rows.append(
            {
                "quantity": name,
                "lowest chain": array.mean(1).min(),
                "highest chain": array.mean(1).max(),
                "R-hat": rhat,
            }
        )
    return pd.DataFrame(rows)


def _pairs_together(draw: Kept, words: np.ndarray) -> float:
    """How many pairs of these words are on, in half of the rows that hold it, in a common concept."""
    holders = _holders(draw)
    share = on_in_concepts(draw.state)[:, words].toarray() / np.maximum(holders, 1)[:, None]
    on = (share >= 0.5) & (holders > HANDFUL)[:, None]
    together = on.T.astype(int) @ on.astype(int)
    return float((together > 0).sum() - (np.diag(together) > 0).sum()) / 2


def partners(model: ConceptModel) -> pd.DataFrame:
    """For each chain's last draw, the share of its concepts with a partner in another chain's last draw."""
    usage = []
    for chain in model.draws_.chains:
        found = usage_of(chain.kept[-1])
        usage.append(reordered(found, np.flatnonzero(found.holders > HANDFUL)))
    table = pd.DataFrame(np.eye(len(STARTS)), index=list(STARTS), columns=list(STARTS))
    for a, b in permutations(range(len(STARTS)), 2):
        pairs = find_partners(usage[a], usage[b])
        table.iloc[a, b] = float((pairs.jaccard >= PARTNER).mean()) if len(pairs.jaccard) else 0.0
    return table
