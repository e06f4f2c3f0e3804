"""The paper's synthetic experiment: five concepts of five words, one of them hard to tell apart without features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import sparse

import superwords
from superwords.corpus.corpus import Corpus
from superwords.lab.generators import Planted
from superwords.lab.reproduce.folder import make_folder, write_table
from superwords.plots import concept_panels, save_figure

N_DOCUMENTS, N_CONCEPTS, WORDS_EACH, LENGTH, N_FEATURES = 100, 5, 5, 100, 5
N_WORDS = N_CONCEPTS * WORDS_EACH
HARD = 2  # words 11 to 15
COMPANION = 1  # the concept without which the hard one hardly occurs
RANDOM_CONCEPTS = 3  # the random start has too few, so that the others must be found
RECOVERED = 0.8  # Jaccard
SHOWN = 5  # documents that must hold a concept for the figure to show it
STARTS = ("kmeans", "single", "random")
SETTINGS: dict[str, Any] = {
    "alpha_omega": 1.0,
    "lam": 0.2,
    "alpha_pi": 1.0,
    "K": 0.5,
    "alpha_sigma": 2.0,
    "beta_sigma": 1.0,
    "b1": 1.0,
    "b2": 1.0,
}


def make_truth(seed: int) -> Planted:
    """100 documents; the hard concept occurs almost only together with its companion, and as often in a document."""
    rng = np.random.default_rng([seed, 2012])
    truth = np.kron(np.eye(N_CONCEPTS, dtype=bool), np.ones(WORDS_EACH, dtype=bool))
    holds = rng.random((N_DOCUMENTS, N_CONCEPTS)) < 0.4
    holds[:, HARD] = np.where(
        holds[:, COMPANION], rng.random(N_DOCUMENTS) < 0.94, rng.random(N_DOCUMENTS) < 0.02
    )
    holds[~holds.any(axis=1), 0] = True
    counts = np.zeros((N_DOCUMENTS, N_WORDS), int)
    for d in range(N_DOCUMENTS):
        held = np.flatnonzero(holds[d])
        share = rng.dirichlet(np.ones(len(held)))
        pair = np.flatnonzero(np.isin(held, (COMPANION, HARD)))
        if len(pair) == 2:
            # Their strengths go together too, so that the text alone tells the two apart only weakly.
            share[pair] = 0.8 * share[pair] + 0.2 * share[pair].mean()
        for j, n in zip(held, rng.multinomial(LENGTH, share)):
            variant = truth[j] & (rng.random(N_WORDS) < 0.9)
            words = np.flatnonzero(variant if variant.any() else truth[j])
            counts[d] += np.bincount(rng.choice(words, size=n), minlength=N_WORDS)
    centres = rng.normal(size=(N_CONCEPTS, N_FEATURES))
    features = truth.T @ centres + 0.15 * rng.normal(size=(N_WORDS, N_FEATURES))
    return Planted(sparse.csr_array(counts), features, truth, holds)


@dataclass(frozen=True)
class Outcome:
    """What one fit made of the five concepts."""

    seed: int
    start: str
    features: bool
    steps: str
    jaccard: np.ndarray  # of each true concept with its best match
    panel: np.ndarray  # (J, V) average f per concept and word
    holders: np.ndarray  # (J) documents that hold the concept
    per_document: float

    @property
    def shown(self) -> np.ndarray:
        """The panel without leftovers, in the order of the words."""
        panel = self.panel[self.holders >= SHOWN]
        centre = (panel * np.arange(panel.shape[1])).sum(axis=1) / np.maximum(panel.sum(axis=1), 1e-9)
        return panel[np.argsort(centre)]

    @property
    def recovered(self) -> np.ndarray:
        return self.jaccard >= RECOVERED


def run(seed: int, start: str, features: bool, steps: str, n_sweeps: int) -> Outcome:
    planted = make_truth(seed)
    init = {"single": "single", "kmeans": f"kmeans:{N_CONCEPTS}", "random": f"random:{RANDOM_CONCEPTS}"}[
        start
    ]
    model = superwords.fit(
        Corpus.from_counts(planted.counts),
        features=planted.features if features else None,
        **SETTINGS,
        n_chains=1,
        n_sweeps=n_sweeps,
        n_burn_in=n_sweeps // 2,
        thin=5,
        init=init,
        steps=steps,
        random_state=seed,
        progress=False,
    )
    panel = model.concept_word_
    found = panel >= 0.5
    shared = planted.truth.astype(int) @ found.T
    union = planted.truth.sum(axis=1)[:, None] + found.sum(axis=1)[None, :] - shared
    jaccard = (shared / np.maximum(union, 1)).max(axis=1, initial=0.0)
    held = model.doc_concept_ > 0
    return Outcome(
        seed, start, features, steps, jaccard, panel, held.sum(axis=0), float(held.sum() / N_DOCUMENTS)
    )


def reproduce(
    folder: Path,
    n_seeds: int = 10,
    n_sweeps: int = 1000,
    steps: str = "exact",
    tell: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Every start with and without features, and the paper's proposals.

    Writes synthetic.csv (a row per fit, as it grows) and synthetic.png.
    """
    plans = [(start, features, steps) for start in STARTS for features in (True, False)]
    if steps == "exact":
        plans += [("random", features, "prior") for features in (True, False)]
    make_folder(folder)
    outcomes: list[Outcome] = []
    for start, features, kind in plans:
        for seed in range(n_seeds):
            outcomes.append(run(seed, start, features, kind, n_sweeps))
            write_table(_table(outcomes), folder / "synthetic.csv")
        part = outcomes[-n_seeds:]
        all_five = sum(o.recovered.all() for o in part)
        hard = sum(o.recovered[HARD] for o in part)
        how_well = ", ".join(f"{value:.2f}" for value in np.mean([o.jaccard for o in part], axis=0))
        tell(
            f"{'with' if features else 'without'} features, {start} start, {kind} steps: "
            f"all five concepts on {all_five} of {n_seeds} seeds, words 11–15 on {hard}; mean Jaccard {how_well}"
        )
    save_figure(_figure(outcomes, "prior" if steps == "exact" else steps, steps), folder / "synthetic.png")
    return _table(outcomes)


def _table(outcomes: list[Outcome]) -> pd.DataFrame:
    rows = []
    for o in outcomes:
        row = {"seed": o.seed, "start": o.start, "features": o.features, "steps": o.steps}
        row |= {
            f"jaccard_{j * WORDS_EACH + 1}_{(j + 1) * WORDS_EACH}": o.jaccard[j] for j in range(N_CONCEPTS)
        }
        rows.append(
            row
            | {"recovered": int(o.recovered.sum()), "concepts": len(o.panel), "per_document": o.per_document}
        )
    return pd.DataFrame(rows)


def _figure(outcomes: list[Outcome], plain: str, steps: str) -> Figure:
    """The truth, and random starts on one seed: `plain` steps without features, ours without and with them.

    The seed is the first on which the `plain` steps miss the hard concept, where there is one.
    """
    found = {(o.steps, o.features, o.seed): o for o in outcomes if o.start == "random"}
    seeds = sorted(seed for kind, features, seed in found if kind == plain and not features)
    seed = next((one for one in seeds if not found[plain, False, one].recovered[HARD]), seeds[0])
    named = {"Without features": (steps, False, seed), "With features": (steps, True, seed)}
    if plain != steps:
        named = {"Without features,\nthe paper's proposals": (plain, False, seed), **named}
    panels = [make_truth(seed).truth.astype(float), *(found[key].shown for key in named.values())]
    return concept_panels(panels, ["Truth", *named])
