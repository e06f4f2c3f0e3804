"""A judge calibrated to people: weights of six measures fitted to rated topics of one corpus, tried on the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.linear_model import RidgeCV

from experiments.harness import Lab
from superwords.compare.judging import MEASURES, read_judge_vectors, standardised, vector_measures

RATINGS, VECTORS = "topic_ratings.jsonl", "glove_english_25k.npz"
NEEDS = (RATINGS, VECTORS)
CORPORA = {"wikitext": "Wikipedia", "nytimes": "The New York Times"}
PENALTIES = np.logspace(-1, 3, 9)


def experiment(lab: Lab) -> pd.DataFrame:
    """Write judge.csv: Spearman's correlation with people of each measure and of the judge; print the weights."""
    vectors = read_judge_vectors(lab.path(VECTORS))
    rated = [record for record in lab.lines(RATINGS) if record["source"] == "hoyle2021"]
    corpus = np.array([record["corpus"] for record in rated])
    values = pd.DataFrame([_measures(record, vectors) for record in rated])[list(MEASURES)].to_numpy(copy=True)
    rating = np.array([record["rating"] for record in rated])
    for name in CORPORA:
        values[corpus == name] = standardised(values[corpus == name])
    rows: list[dict[str, Any]] = []
    for name, title in CORPORA.items():
        here = corpus == name
        found = {measure: spearmanr(values[here, k], rating[here])[0] for k, measure in enumerate(MEASURES)}
        judge = RidgeCV(PENALTIES).fit(values[~here], rating[~here])
        found["judge"] = spearmanr(judge.predict(values[here]), rating[here])[0]
        rows.append({"corpus": title, "topics": int(here.sum()), **found, "ceiling": _ceiling(rated, here)})
    table = pd.DataFrame(rows)
    lab.table("judge.csv", table, show=True)
    weights = RidgeCV(PENALTIES).fit(values, rating).coef_
    lab.say("weights: " + ", ".join(f"{name} {weight:.4f}" for name, weight in zip(MEASURES, weights)))
    return table


def _measures(record: dict[str, Any], vectors: Any) -> dict[str, float]:
    reference = {"NPMI": record["npmi_reference"], "C_v": record["c_v_reference"]}
    return reference | vector_measures(record["words"], vectors)


def _ceiling(rated: list[dict[str, Any]], here: np.ndarray, n_halves: int = 200) -> float:
    """Return the correlation of a mean rating with that of as many other people (Spearman–Brown)."""
    rng, found = np.random.default_rng(0), []
    ratings = [np.array(rated[i]["ratings"], float) for i in np.flatnonzero(here)]
    for _ in range(n_halves):
        mixed = [rng.permutation(one) for one in ratings]
        found.append(spearmanr([m[::2].mean() for m in mixed], [m[1::2].mean() for m in mixed])[0])
    half = float(np.mean(found))
    return 2 * half / (1 + half)
