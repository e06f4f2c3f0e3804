"""Does stability say what another run finds? Each corpus is fitted with several seeds, and every fit is looked up in
the others.

A concept is found again by another fit if at least half of its ten first words are among the ten first words of one of
that fit's concepts (a Jaccard index of 1/3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

import superwords
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.lab.compare.measures import wilson
from superwords.lab.reproduce.corpora import data_path
from superwords.lab.reproduce.folder import make_folder, write_table

CORPORA = {"news": "lee.jsonl.gz", "conventions": "convention2012.jsonl.gz"}
BANDS = (0.0, 0.1, 0.5, 0.9)  # of stability, each up to the next
FOUND = 1 / 3
OTHER_JACCARDS = (0.2, 0.5)
_ROUNDING = 1e-9

Tell = Callable[[str], None]


def reproduce(
    data: Path, out: Path, n_seeds: int, n_chains: int, n_sweeps: int, jobs: int | None, tell: Tell
) -> pd.DataFrame:
    """The calibration table; fits are kept in the folder and used again."""
    make_folder(out)
    if n_seeds < 2:
        raise InputError("seeds=1 gives no other fit to find concepts in; give at least 2.")
    found = []
    for name, file in CORPORA.items():
        models = []
        for seed in range(1, n_seeds + 1):
            models.append(_fitted(data_path(data, file), out, name, seed, n_chains, n_sweeps, jobs))
            tell(f"{name}, seed {seed}: {models[-1].verdict()}")
        found.append(found_again(models).assign(corpus=name))
    cases = pd.concat(found, ignore_index=True)
    write_table(cases, out / "cases.csv")
    table = calibration(cases)
    write_table(table, out / "calibration.csv")
    for row in table.itertuples():
        tell(
            f"{row.corpus}: of {row.concepts} concepts of stability {row.stability}, {row.found:.0%} "
            f"({row.low:.0%} to {row.high:.0%}) are found by a fit with another seed"
        )
    return table


def _fitted(
    file: Path, folder: Path, name: str, seed: int, n_chains: int, n_sweeps: int, jobs: int | None
) -> ConceptModel:
    kept = folder / f"{name}-{n_chains}x{n_sweeps}-{seed}.sw"
    if not kept.exists():
        model = superwords.fit(
            file, n_chains=n_chains, n_sweeps=n_sweeps, random_state=seed, n_jobs=jobs, progress=False
        )
        model.save(kept)
    return superwords.load(kept)


def found_again(models: Sequence[ConceptModel]) -> pd.DataFrame:
    """For every concept of every fit and every other fit: its stability, and the nearest concept's Jaccard index."""
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
    """For each corpus and band of stability: how many concepts, and the share that another fit finds (95% interval)."""
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
