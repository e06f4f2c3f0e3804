"""Whether chains that start far apart come to agree, on the debate of Congress."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.alignment import find_partners, reordered, usage_of
from superwords.concepts.sets import on_in_concepts
from superwords.concepts.tables import HANDFUL
from superwords.draws import Kept, statistic
from superwords.estimator import ConceptModel
from superwords.features import cooccurrence
from superwords.fitting import Progress
from superwords.plots import save_figure, traces
from superwords.reproduce.congress import load_debate

STARTS = ("kmeans:20", "kmeans:60", "kmeans:120", "single", "random")
LARGE, USED = "in more than a handful of rows", "on-words used"
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
    corpus = load_debate(data, unit=unit, n_jobs=n_jobs)
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
    followed = follow_draws(model)
    folder.mkdir(parents=True, exist_ok=True)
    chains = pd.DataFrame([_chain_row(model, c, seen[c][0], followed[c].mean()) for c in range(len(STARTS))])
    chains.to_csv(folder / "mixing.csv", index=False)
    tell(chains.to_string(index=False))
    agreement = agree(followed)
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


def follow_draws(model: ConceptModel) -> list[pd.DataFrame]:
    """For each chain a row per kept draw: how many concepts, memberships and words, and what is together."""
    frequent = np.argsort(-np.asarray(model.corpus_.counts.sum(axis=0)).ravel(), kind="stable")[:_WORDS]
    return [
        pd.DataFrame([_measures(draw, frequent) for draw in chain.kept]).assign(
            **{"log joint": chain.trace["log_joint"]}
        )
        for chain in model.draws_.chains
    ]


def _measures(draw: Kept, frequent: np.ndarray) -> dict[str, float]:
    holders = np.bincount(draw.state.concept)
    share = on_in_concepts(draw.state)[:, frequent].toarray() / np.maximum(holders, 1)[:, None]
    on = ((share >= 0.5) & (holders > HANDFUL)[:, None]).astype(int)
    together = on.T @ on > 0
    return {
        "concepts": float(len(holders)),
        LARGE: float((holders > HANDFUL).sum()),
        "memberships": float(len(draw.state.concept)),
        "words on": float(len(draw.state.word)),
        # pairs of frequent words that are on, in half of the rows that hold it, in a common concept
        "pairs of words together": float(together.sum() - np.diag(together).sum()) / 2,
        USED: float((draw.tokens.entry > 0).mean()),
    }


def _chain_row(model: ConceptModel, c: int, n_at_first: int, mean: pd.Series) -> dict[str, Any]:
    splits, merges = model.chains_[c].accepted.tolist()
    return {
        "start": STARTS[c],
        "concepts at first": n_at_first,
        "concepts": mean["concepts"],
        LARGE: mean[LARGE],
        "concepts per row": mean["memberships"] / model.corpus_.n_documents,
        USED: mean[USED],
        "splits": splits,
        "merges": merges,
    }


def agree(followed: list[pd.DataFrame]) -> pd.DataFrame:
    """R-hat of what is followed, and the chains' lowest and highest mean."""
    rows = []
    for name in ("concepts", LARGE, "memberships", "words on", "log joint", "pairs of words together"):
        values = np.array([chain[name] for chain in followed])
        means = values.mean(axis=1)
        rows.append((name, means.min(), means.max(), statistic("rhat", values)))
    return pd.DataFrame(rows, columns=pd.Index(["quantity", "lowest chain", "highest chain", "R-hat"]))


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
