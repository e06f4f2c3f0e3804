"""Discovery on the speeches of 2017: coverage of a collection, and readers served after a few judgements.

Members are cut in two halves. Speeches of one half are chosen and recommended by a model fitted to them, and judged by
the concepts of a model fitted to the *other* members, into which the speeches are folded; then the other way round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from experiments.harness import Lab, means
from superwords import fit
from superwords.fitting.defaults import N_SWEEPS
from superwords.fitting.estimator import ConceptModel
from superwords.search.discovery import diverse, recommend

FIRST = 100  # divisions below were looked at while settings were chosen
SPEECHES = "congress_health_2017_speeches.jsonl.gz"
N_CHOSEN, N_RANDOM, N_READERS = 10, 200, 100
JUDGEMENTS = (5, 10, 20)
MMR_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
SPEAKS_OF = 0.1  # the weight from which on a speech counts as speaking of a concept
LIKED_SHARE = 0.15  # of the speeches, by a reader who likes a concept
LEAST_WORDS = 100
NEEDS, QUICK = (SPEECHES,), {"seeds": 1, "sweeps": 10}


class JudgedHalf(NamedTuple):
    """Speeches of one half of the members."""

    table: pd.DataFrame
    model: Any  # fitted to them
    tf_idf: np.ndarray  # (D, D) cosines
    centre: np.ndarray  # (D) cosine with the mean speech
    judge: np.ndarray  # (D, J) weights under the model of the other members


def read_sides(records: pd.DataFrame, seed: int, sweeps: int, lab: Lab) -> list[JudgedHalf]:
    records = records[records["n_words"] >= LEAST_WORDS].reset_index(drop=True)
    members = np.random.default_rng(seed).permutation(sorted(records["speaker"].unique()))
    first = records["speaker"].isin(members[: len(members) // 2])
    tables = [records[half].reset_index(drop=True) for half in (first, ~first)]
    models = []
    for k, table in enumerate(tables):
        lab.say(f"superwords, division {seed}, half {k + 1} ({len(table)} speeches) …")

        def make(table: pd.DataFrame = table) -> ConceptModel:
            return fit(table, text="text", id="id", random_state=seed, n_sweeps=sweeps, n_jobs=lab.jobs)

        models.append(lab.model(f"speeches-{sweeps}-{seed}-{k + 1}.sw", make))
    return [_make_side(tables[k], models[k], models[1 - k]) for k in (0, 1)]


def _make_side(table: pd.DataFrame, model: Any, other: Any) -> JudgedHalf:
    vectors = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2).fit_transform(table["text"])
    mean = np.asarray(vectors.mean(axis=0)).ravel()
    centre = np.asarray(vectors @ (mean / np.linalg.norm(mean))).ravel()
    judged = other.transform(table["text"].tolist())
    return JudgedHalf(table, model, (vectors @ vectors.T).toarray(), centre, np.asarray(judged))


def covered(judge: np.ndarray, chosen: np.ndarray) -> float:
    """Count the concepts that any of the chosen speeches speaks of."""
    return float((judge[chosen] >= SPEAKS_OF).any(axis=0).sum())


def mmr(side: JudgedHalf, share: float) -> np.ndarray:
    """Choose by maximal marginal relevance: near the mean speech, far from those already chosen."""
    chosen: list[int] = []
    for _ in range(N_CHOSEN):
        nearest = side.tf_idf[:, chosen].max(axis=1) if chosen else np.zeros(len(side.table))
        value = share * side.centre - (1 - share) * nearest
        value[chosen] = -np.inf
        chosen.append(int(np.argmax(value)))
    return np.array(chosen)


def coverage(side: JudgedHalf, rng: np.random.Generator) -> dict[str, float]:
    """Return concepts of the other members' model that ten speeches cover, by who chose them."""
    number = {one: d for d, one in enumerate(side.table["id"])}
    ours = np.array([number[one] for one in diverse(side.model.result_, N_CHOSEN)["document"]])
    n = len(side.table)
    at_random = [covered(side.judge, rng.choice(n, N_CHOSEN, replace=False)) for _ in range(N_RANDOM)]
    return {
        "concepts": float(side.judge.shape[1]),
        "superwords": covered(side.judge, ours),
        "MMR (its best share)": max(covered(side.judge, mmr(side, share)) for share in MMR_SHARES),
        "at random": float(np.mean(at_random)),
    }


def average_precision(order: np.ndarray, likes: np.ndarray) -> float:
    hits = likes[order]
    if not hits.any():
        return float("nan")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def tf_idf_order(side: JudgedHalf, seen: np.ndarray, likes: np.ndarray, rest: np.ndarray, kind: str) -> np.ndarray:
    """Rank the rest by nearness to liked speeches less nearness to disliked ones, by mean or nearest."""
    gather = np.mean if kind == "mean" else np.max
    score = np.zeros(len(rest))
    for sign, group in ((1, seen[likes[seen]]), (-1, seen[~likes[seen]])):
        if len(group):
            score = score + sign * gather(side.tf_idf[np.ix_(rest, group)], axis=1)
    return rest[np.argsort(-score, kind="stable")]


def readers(side: JudgedHalf, rng: np.random.Generator, n_readers: int) -> pd.DataFrame:
    """Return average precision of what simulated readers are served, by their kind and number of judgements."""
    ids = side.table["id"].to_numpy()
    number = {one: d for d, one in enumerate(ids)}
    concepts = np.flatnonzero((side.judge >= SPEAKS_OF).mean(axis=0) >= LIKED_SHARE / 3)
    rows = []
    for reader in range(n_readers):
        if reader % 2:
            kind, likes = "a party", (side.table["party"] == rng.choice(["D", "R"])).to_numpy()
        else:
            weight = side.judge[:, rng.choice(concepts)]
            kind, likes = "a concept", weight > np.quantile(weight, 1 - LIKED_SHARE)
        base = {"reader": reader, "likes": kind}
        order = rng.permutation(len(ids))
        # A reader begins with a speech she likes: no one can learn a taste from dislikes alone.
        first = order[np.argmax(likes[order])]
        order = np.concatenate([[first], order[order != first]])
        for n in JUDGEMENTS:
            seen, rest = order[:n], np.sort(order[n:])
            ours = recommend(
                side.model.result_, ids[seen[likes[seen]]].tolist(), ids[seen[~likes[seen]]].tolist(), len(ids)
            )
            served = {"superwords": np.array([number[one] for one in ours["document"]])}
            served |= {f"TF-IDF, {how}": tf_idf_order(side, seen, likes, rest, how) for how in ("mean", "nearest")}
            rows += [
                {**base, "judgements": n, "served by": who, "precision": average_precision(one, likes)}
                for who, one in served.items()
            ]
            chance = float(likes[rest].mean())
            rows.append({**base, "judgements": n, "served by": "chance", "precision": chance})
    return pd.DataFrame(rows)


def experiment(
    lab: Lab, seeds: int = 2, sweeps: int = N_SWEEPS, first: int = FIRST
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write coverage.csv (concepts covered by ten speeches), readers.csv and differences.csv (average precision)."""
    records = pd.DataFrame(lab.lines(SPEECHES))
    cover, served = (lab.growing(name, sweeps=sweeps) for name in ("coverage.csv", "served.csv"))
    divisions = range(first, first + seeds)
    for seed in divisions:
        if cover.has(seed=seed) and served.has(seed=seed):
            continue
        rng, rows, readings = np.random.default_rng(seed), [], []
        for half, side in enumerate(read_sides(records, seed, sweeps, lab), 1):
            rows.append({"seed": seed, "half": half, **coverage(side, rng)})
            readings.append(readers(side, rng, N_READERS // 2).assign(seed=seed, half=half))
        if not cover.has(seed=seed):
            cover.add(rows)
        if not served.has(seed=seed):
            served.add(pd.concat(readings).to_dict("records"))
    covering = cover.table[cover.table["seed"].isin(divisions)]
    readings_of = served.table[served.table["seed"].isin(divisions)]
    by_reader = means(readings_of, ["likes", "judgements", "served by"], "precision", "readers")
    lab.say(covering.to_string(index=False))
    lab.table("readers.csv", by_reader, show=True)
    lab.table("differences.csv", gains(readings_of), show=True)
    return covering, by_reader


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return how much better ours serves the same readers than each kind of TF-IDF, with intervals over readers."""
    keys = ["likes", "judgements"]
    wide = table.pivot(index=["seed", "half", "reader", *keys], columns="served by", values="precision")
    others = [name for name in wide.columns if str(name).startswith("TF-IDF")]
    differences = [(wide["superwords"] - wide[name]).rename("gain").reset_index() for name in others]
    paired = pd.concat([part.assign(against=name) for name, part in zip(others, differences)])
    return means(paired, [*keys, "against"], "gain", "readers")
