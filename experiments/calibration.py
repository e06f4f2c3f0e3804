"""Does stability say what another run finds? Fits with several seeds, each looked up in the others.

A concept is found again by another fit if at least half of its ten first words are among the ten first words of one of
that fit's concepts (a Jaccard index of 1/3).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

import superwords
from experiments.harness import Lab
from superwords.compare.measures import wilson
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel

CORPORA = {"news": "lee.jsonl.gz", "conventions": "convention2012.jsonl.gz"}
BANDS = (0.0, 0.1, 0.5, 0.9)  # of stability, each up to the next
FOUND = 1 / 3
OTHER_JACCARDS = (0.2, 0.5)
_ROUNDING = 1e-9
NEEDS, QUICK = tuple(CORPORA.values()), {"chains": 1, "sweeps": 10}


def experiment(lab: Lab, seeds: int = 2, chains: int = 4, sweeps: int = 200) -> pd.DataFrame:
    """Write calibration.csv and cases.csv; fits are kept in the folder and used again."""
    if seeds < 2:
        raise InputError("seeds=1 gives no other fit to find concepts in; give at least 2.")
    found = []
    for name, file in CORPORA.items():
        models = []
        for seed in range(1, seeds + 1):

            def make(file: str = file, seed: int = seed) -> ConceptModel:
                effort: dict[str, Any] = {
                    "n_chains": chains,
                    "n_sweeps": sweeps,
                    "n_jobs": lab.jobs,
                    "progress": False,
                }
                return superwords.fit(lab.path(file), random_state=seed, **effort)

            models.append(lab.model(f"{name}-{chains}x{sweeps}-{seed}.sw", make))
            lab.say(f"{name}, seed {seed}: {models[-1].verdict()}")
        found.append(found_again(models).assign(corpus=name))
    cases = pd.concat(found, ignore_index=True)
    lab.table("cases.csv", cases)
    table = calibration(cases)
    lab.table("calibration.csv", table, show=True)
    return table


def found_again(models: Sequence[ConceptModel]) -> pd.DataFrame:
    """Look every concept up in every other fit: its stability, and the nearest concept's Jaccard index."""
    tables = [model.concepts() for model in models]
    rows = []
    for a, b in permutations(range(len(models)), 2):
        others = [set(words) for words in tables[b]["top_words"]]
        for one in tables[a].to_dict("records"):
            own = set(one["top_words"])
            best = max((len(own & other) / max(len(own | other), 1) for other in others), default=0.0)
            rows.append((a + 1, b + 1, one["concept"], one["name"], one["stability"], one["leftover"], best))
    columns = ["seed", "other_seed", "concept", "name", "stability", "leftover", "jaccard"]
    return pd.DataFrame(rows, columns=pd.Index(columns))


def calibration(cases: pd.DataFrame) -> pd.DataFrame:
    """Return the share of concepts that another fit finds, by corpus and band of stability (95% interval)."""
    band = np.digitize(cases["stability"], BANDS) - 1
    ends = [f"{a:g} to {b:g}" for a, b in zip(BANDS, (*BANDS[1:], 1))]
    rows = []
    for (corpus, k), own in cases.groupby([cases["corpus"], band]):
        share = {x: float((own["jaccard"] >= x - _ROUNDING).mean()) for x in (FOUND, *OTHER_JACCARDS)}
        # Wilson's interval by the number of concepts: those looked up in several fits are no further cases.
        n = len(own.drop_duplicates(["seed", "concept"]))
        low, high = wilson(share[FOUND], n)
        others = [share[x] for x in OTHER_JACCARDS]
        rows.append((corpus, ends[int(str(k))], n, own["stability"].mean(), share[FOUND], low, high, *others))
    columns = ["corpus", "stability", "concepts", "mean_stability", "found", "low", "high"]
    return pd.DataFrame(rows, columns=pd.Index([*columns, *(f"found_at_{x:g}" for x in OTHER_JACCARDS)]))
