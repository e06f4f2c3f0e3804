"""The paper's synthetic experiment: five concepts of five words, one of them hard to tell apart without features."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy import sparse

import superwords
from experiments.generators import Planted
from experiments.harness import Lab
from experiments.published import published_steps
from superwords.plots.style import INK, new_figure, write_texts
from superwords.text.corpus import Corpus

N_DOCUMENTS, N_CONCEPTS, WORDS_EACH, LENGTH, N_FEATURES = 100, 5, 5, 100, 5
N_WORDS = N_CONCEPTS * WORDS_EACH
HARD = 2  # words 11 to 15
COMPANION = 1  # the concept without which the hard one hardly occurs
RANDOM_CONCEPTS = 3  # the random start has too few, so that the others must be found
RECOVERED = 0.8  # Jaccard
SHOWN = 5  # documents that must hold a concept for the figure to show it
QUICK = {"seeds": 1, "sweeps": 20}
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
    """Generate 100 documents whose hard concept occurs almost only together with its companion."""
    rng = np.random.default_rng([seed, 2012])
    truth = np.kron(np.eye(N_CONCEPTS, dtype=bool), np.ones(WORDS_EACH, dtype=bool))
    holds = rng.random((N_DOCUMENTS, N_CONCEPTS)) < 0.4
    holds[:, HARD] = np.where(holds[:, COMPANION], rng.random(N_DOCUMENTS) < 0.94, rng.random(N_DOCUMENTS) < 0.02)
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
        """Return the panel without leftovers, in the order of the words."""
        panel = self.panel[self.holders >= SHOWN]
        centre = (panel * np.arange(panel.shape[1])).sum(axis=1) / np.maximum(panel.sum(axis=1), 1e-9)
        return panel[np.argsort(centre)]

    @property
    def recovered(self) -> np.ndarray:
        return self.jaccard >= RECOVERED


def run(seed: int, start: str, features: bool, steps: str, n_sweeps: int) -> Outcome:
    planted = make_truth(seed)
    init = {"single": "single", "kmeans": f"kmeans:{N_CONCEPTS}", "random": f"random:{RANDOM_CONCEPTS}"}[start]
    model = superwords.fit(
        Corpus.from_counts(planted.counts),
        features=planted.features if features else None,
        **SETTINGS,
        n_chains=1,
        n_sweeps=n_sweeps,
        n_burn_in=n_sweeps // 2,
        thin=5,
        init=init,
        steps="prior" if steps == "published" else steps,
        random_state=seed,
        progress=False,
    )
    panel = model.concept_word_
    found = panel >= 0.5
    shared = planted.truth.astype(int) @ found.T
    union = planted.truth.sum(axis=1)[:, None] + found.sum(axis=1)[None, :] - shared
    jaccard = (shared / np.maximum(union, 1)).max(axis=1, initial=0.0)
    held = model.doc_concept_ > 0
    return Outcome(seed, start, features, steps, jaccard, panel, held.sum(axis=0), float(held.sum() / N_DOCUMENTS))


def experiment(lab: Lab, seeds: int = 10, sweeps: int = 1000, published: bool = False) -> pd.DataFrame:
    """Write synthetic.csv (a row per fit, as it grows) and synthetic.png, with and without features.

    `published` runs the paper's inexact steps, for comparison; the paper has 1,000 sweeps.
    """
    steps = "published" if published else "exact"
    plans = [(start, features, steps) for start in STARTS for features in (True, False)]
    if steps == "exact":
        plans += [("random", features, "prior") for features in (True, False)]
    with published_steps() if published else nullcontext():
        outcomes = _run_all(lab, plans, seeds, sweeps)
    lab.figure("synthetic.png", _figure(outcomes, "prior" if steps == "exact" else steps, steps))
    return _table(outcomes)


def _run_all(lab: Lab, plans: list[tuple[str, bool, str]], seeds: int, sweeps: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for start, features, kind in plans:
        for seed in range(seeds):
            outcomes.append(run(seed, start, features, kind, sweeps))
            lab.table("synthetic.csv", _table(outcomes))
        part = outcomes[-seeds:]
        all_five = sum(o.recovered.all() for o in part)
        hard = sum(o.recovered[HARD] for o in part)
        how_well = ", ".join(f"{value:.2f}" for value in np.mean([o.jaccard for o in part], axis=0))
        lab.say(
            f"{'with' if features else 'without'} features, {start} start, {kind} steps: "
            f"all five concepts on {all_five} of {seeds} seeds, words 11–15 on {hard}; mean Jaccard {how_well}"
        )
    return outcomes


def _table(outcomes: list[Outcome]) -> pd.DataFrame:
    rows = []
    for o in outcomes:
        row = {"seed": o.seed, "start": o.start, "features": o.features, "steps": o.steps}
        row |= {f"jaccard_{j * WORDS_EACH + 1}_{(j + 1) * WORDS_EACH}": o.jaccard[j] for j in range(N_CONCEPTS)}
        rows.append(
            row | {"recovered": int(o.recovered.sum()), "concepts": len(o.panel), "per_document": o.per_document}
        )
    return pd.DataFrame(rows)


def _figure(outcomes: list[Outcome], plain: str, steps: str) -> Figure:
    """Draw the truth, and random starts on one seed, without and with features.

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


def concept_panels(matrices: Sequence[np.ndarray], titles: Sequence[str]) -> Figure:
    """Draw the paper's synthetic figure: a panel per (concepts, words) matrix of average f; white is 1, black is 0."""
    panels = [np.asarray(matrix, dtype=float) for matrix in matrices]
    figure = new_figure(3.0 * len(panels) + 0.4, 2.6)
    for index, (axes, panel) in enumerate(zip(figure.subplots(1, len(panels), squeeze=False)[0], panels)):
        n_concepts, n_words = panel.shape
        axes.imshow(
            panel,
            cmap="gray",
            vmin=0,
            vmax=1,
            aspect="auto",
            interpolation="nearest",
            extent=(0.5, n_words + 0.5, n_concepts + 0.5, 0.5),
        )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
        axes.tick_params(colors=INK, labelsize=8)
        axes.set_xlabel("word", color=INK, fontsize=9)
        if index == 0:
            axes.set_ylabel("concept", color=INK, fontsize=9)
        axes.set_title(titles[index], fontsize=10, color=INK)
        write_texts([axes.title])
    return figure
