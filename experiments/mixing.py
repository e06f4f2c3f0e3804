"""Whether chains that start far apart come to agree, on the debate of Congress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
from arviz_stats.base import array_stats
from scipy import sparse

import superwords
from experiments.congress import MEMBERS, load_debate
from experiments.harness import Lab
from superwords.features import cooccurrence
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.plots import traces
from superwords.posterior.alignment import HANDFUL, Usage, find_partners, usage_of
from superwords.posterior.draws import Kept
from superwords.posterior.traces import statistic
from superwords.posterior.word_sets import on_in_concepts
from superwords.progress import Progress, Watcher
from superwords.text.corpus import Corpus

STARTS = ("topics", "kmeans:20", "kmeans:60", "kmeans:120", "single", "random")
LARGE, USED = "in more than a handful of rows", "on-words used"
AGREED = 1.1  # R-hat
NEAR = 0.15  # of the median number of concepts
PARTNER = 0.5  # weighted Jaccard
_PAIR_WORDS = 60  # most frequent ones, of which every pair is followed
NEEDS, QUICK = (MEMBERS,), {"sweeps": 10, "part": 20}


def experiment(
    lab: Lab, sweeps: int = defaults.N_SWEEPS, unit: str = "passages:5", seed: int = 0, part: int = 1
) -> pd.DataFrame:
    """Write mixing.csv (a row per chain), agreement.csv, pairs.csv, partners.csv, traces.csv and traces.png.

    The second half of the sweeps counts; `part` takes every part-th row only.
    """
    corpus = load_debate(lab.data, unit=unit, n_jobs=lab.jobs)
    rows = Corpus.from_counts(sparse.csr_array(corpus.counts[::part]), corpus.vocabulary)
    lab.say(f"{rows.n_documents} rows, {rows.n_words} words; {sweeps} sweeps from {', '.join(STARTS)}")
    trace = Trace(sweeps, lab)
    model = superwords.fit(
        rows,
        features=cooccurrence(corpus),
        init=STARTS,
        n_chains=len(STARTS),
        n_sweeps=sweeps,
        random_state=seed,
        n_jobs=lab.jobs,
        progress=trace,
    )
    lab.figure("traces.png", traces({"number of concepts": np.array(trace.seen)}))
    return _write_agreement(model, trace, lab)


class Trace(Watcher):
    """The number of concepts of each chain, from its start on; written down as the chains go."""

    def __init__(self, n_sweeps: int, lab: Lab):
        self.lab = lab
        self.every = max(1, n_sweeps // 10)
        self.seen: list[list[int]] = []

    @contextmanager
    def watching(self, model: ConceptModel) -> Iterator[None]:
        self.seen = [[len(np.unique(chain.state.concept))] for chain in model.chains_]
        yield

    def __call__(self, progress: Progress) -> None:
        self.seen[progress.chain].append(progress.n_concepts)
        if progress.sweep % self.every == 0:
            table = pd.DataFrame({name: pd.Series(own) for name, own in zip(STARTS, self.seen)})
            self.lab.table("traces.csv", table.astype("Int64").rename_axis("sweep"), index=True)
            self.lab.say(
                f"  {STARTS[progress.chain]}: sweep {progress.sweep}, {progress.n_concepts} concepts, "
                f"{progress.seconds:.0f} s"
            )


def _write_agreement(model: ConceptModel, trace: Trace, lab: Lab) -> pd.DataFrame:
    followed = follow_draws(model)
    chains = pd.DataFrame([_chain_row(model, c, trace.seen[c][0], followed[c].mean()) for c in range(len(STARTS))])
    lab.table("mixing.csv", chains, show=True)
    agreement = agree(followed)
    lab.table("agreement.csv", agreement, show=True)
    pairs = agree_on_pairs(*pairs_together(model))
    lab.table("pairs.csv", pairs)
    lab.say(pairs_summary(pairs))
    shares = partners(model)
    lab.table("partners.csv", shares, index=True)
    off = shares.to_numpy()[~np.eye(len(shares), dtype=bool)]
    lab.say(
        f"concepts with a partner of Jaccard {PARTNER} in another chain: "
        f"{off.mean():.0%} ({off.min():.0%} to {off.max():.0%})"
    )
    lab.say(targets_summary(followed, float(off.mean())))
    return agreement


def targets_summary(followed: list[pd.DataFrame], share_with_partner: float) -> str:
    """Return how far the chains are from agreeing: in their number of concepts, their log joint and their concepts."""
    n_concepts = np.array([chain["concepts"].mean() for chain in followed])
    near = np.abs(n_concepts / np.median(n_concepts) - 1) <= NEAR
    log_joint = np.array([chain["log joint"].mean() for chain in followed])
    within = np.mean([chain["log joint"].std() for chain in followed])
    return (
        f"targets: {near.sum()} of {len(near)} chains have a number of concepts within {NEAR:.0%} of the median, "
        f"{np.median(n_concepts):.0f} (target: all); log joints differ by {np.ptp(log_joint):,.0f} nats, "
        f"one chain varies by {within:,.0f} (standard deviation; target: no more); "
        f"{share_with_partner:.0%} of concepts have a partner (target: 60%)"
    )


def follow_draws(model: ConceptModel) -> list[pd.DataFrame]:
    """Return for each chain a row per kept draw: how many concepts, memberships and words, and how many are used."""
    return [
        pd.DataFrame([_measures(draw) for draw in chain]).assign(**{"log joint": chain.trace["log_joint"]})
        for chain in model.draws_.chains
    ]


def _measures(draw: Kept) -> dict[str, float]:
    holders = np.bincount(draw.state.concept)
    return {
        "concepts": float(len(holders)),
        LARGE: float((holders > HANDFUL).sum()),
        "memberships": float(len(draw.state.concept)),
        "words on": float(len(draw.state.word)),
        USED: float((draw.tokens.entry > 0).mean()),
    }


def pairs_together(model: ConceptModel) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Return how far pairs of frequent words are used for the same concepts, (chains, draws, pairs)."""
    n_uses = np.asarray(model.corpus_.counts.sum(axis=0)).ravel()
    frequent = np.argsort(-n_uses, kind="stable")[:_PAIR_WORDS]
    names = [model.corpus_.vocabulary[i] for i in frequent]
    pairs = np.triu_indices(len(names), 1)

    def together(draw: Kept) -> np.ndarray:
        used = usage_of(draw).used[:, frequent].toarray()
        share = used / np.maximum(used.sum(axis=0), 1)
        return (share.T @ share)[pairs]

    found = np.array([[together(draw) for draw in chain] for chain in model.draws_.chains])
    return found, [(names[a], names[b]) for a, b in zip(*pairs)]


def agree_on_pairs(together: np.ndarray, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Return a row per pair: P(together) in each chain, the mean difference between chains, and R-hat.

    R-hat is NaN where all draws of all chains say the same, and beyond all bounds where no chain moves but they
    differ.
    """
    mean = together.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = array_stats.rhat(together.astype(float), chain_axis=0, draw_axis=1)
    differences = [np.abs(mean[a] - mean[b]) for a, b in combinations(range(len(mean)), 2)]
    table = pd.DataFrame(pairs, columns=pd.Index(["first", "second"]))
    for name, own in zip(STARTS, mean):
        table[name] = own
    return table.assign(difference=np.mean(differences, axis=0), **{"R-hat": rhat})


def pairs_summary(pairs: pd.DataFrame) -> str:
    """Return how far the chains agree on which words belong together; pairs that never change are left out."""
    moved = pairs[pairs["R-hat"].notna()]
    summary = f"{len(pairs)} pairs of frequent words, {len(moved)} of them not the same in all draws"
    if moved.empty:
        return summary
    rhat = moved["R-hat"].to_numpy()
    together = float(moved.drop(columns=["first", "second", "difference", "R-hat"]).to_numpy().mean())
    return (
        f"{summary}; of these: R-hat of P(together) {np.median(rhat):.3g} in the median, "
        f"{np.quantile(rhat, 0.9, method='higher'):.3g} at the 90% quantile, "
        f"at most {AGREED} for {(rhat <= AGREED).mean():.0%}; P(together) {together:.3f} on average, "
        f"mean difference between chains {moved['difference'].mean():.3f}"
    )


def _chain_row(model: ConceptModel, c: int, n_at_first: int, mean: pd.Series) -> dict[str, Any]:
    splits, merges = (model.chains_[c].accepted[kind] for kind in ("split", "merge"))
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
    """Return R-hat of what is followed, and the chains' lowest and highest mean."""
    rows = []
    for name in ("concepts", LARGE, "memberships", "words on", "log joint"):
        values = np.array([chain[name] for chain in followed])
        means = values.mean(axis=1)
        rows.append((name, means.min(), means.max(), statistic("rhat", values)))
    return pd.DataFrame(rows, columns=pd.Index(["quantity", "lowest chain", "highest chain", "R-hat"]))


def partners(model: ConceptModel) -> pd.DataFrame:
    """Return for each chain's last draw, the share of its concepts with a partner in another chain's last draw.

    The weighted Jaccard of two partners, Σ min / Σ max of the shares of documents that have a word on and that use it,
    must be at least `PARTNER`.
    """
    described, shares = [], []
    for chain in model.draws_.chains:
        draw, usage = chain[-1], usage_of(chain[-1])
        often = np.flatnonzero(usage.holders > HANDFUL)
        described.append(Usage(usage.holders[often], usage.used[often]).description)
        counts = (on_in_concepts(draw.state, draw.tokens.pair > 0) + usage.used).astype(float)
        shares.append(sparse.csr_array(sparse.diags_array(1 / np.maximum(usage.holders, 1)) @ counts)[often])
    table = pd.DataFrame(np.eye(len(STARTS)), index=list(STARTS), columns=list(STARTS))
    for a, b in permutations(range(len(STARTS)), 2):
        of = find_partners(described[a], described[b]).of
        paired = np.flatnonzero(of >= 0)
        alike = weighted_jaccard(shares[a][paired], shares[b][of[paired]])
        table.iloc[a, b] = float((alike >= PARTNER).sum() / len(of)) if len(of) else 0.0
    return table


def weighted_jaccard(one: sparse.csr_array, other: sparse.csr_array) -> np.ndarray:
    """Return the weighted Jaccard index of each concept with the one in its place in the other draw."""
    least, most = (np.asarray(part.sum(axis=1)).ravel() for part in (one.minimum(other), one.maximum(other)))
    return np.asarray(least / np.where(most > 0, most, 1.0))
