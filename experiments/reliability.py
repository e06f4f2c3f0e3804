"""Concepts found again: over seeds and over samples of the documents, and whether pilots predict it."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd

import superwords
from experiments.harness import Lab
from superwords.analysis.tables import coherence, presence, sources
from superwords.compare.judging import alignment
from superwords.compare.labels import by_document
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.resampling import LEAST_JACCARD

CORPORA = ("lee", "bills", "convention2012", "congress_health_2017_speeches")
NEEDS = tuple(f"{name}.jsonl.gz" for name in CORPORA)
QUICK = {"corpora": "lee", "samples": 2, "chains": 2, "sweeps": 30}
RULES = {"jaccard_1/2": 1 / 2, "six_of_ten": LEAST_JACCARD, "jaccard_1/3": 1 / 3}
SHARE = 0.8
_LABEL = "topic"  # the hand-coded column of the bills


class Read(NamedTuple):
    """What a reader of one fit sees."""

    words: list[frozenset[str]]  # the ten first of each concept
    weight: np.ndarray  # share of the text, summing to 1
    is_listed: np.ndarray  # not in the appendix
    found_again: np.ndarray  # of the pilots; NaN without any


def experiment(
    lab: Lab, corpora: str = ",".join(CORPORA), samples: int = 5, chains: int = 4, sweeps: int = 150
) -> None:
    """Fit every corpus with two seeds and on samples of its documents, and print how much is found again.

    Fits are kept in the folder, so that an interrupted run continues.
    """
    agreement = lab.growing("agreement.csv", samples=samples, chains=chains, sweeps=sweeps)
    counts = lab.growing("calibration.csv", samples=samples, chains=chains, sweeps=sweeps)
    settled = lab.growing("settled.csv", samples=samples, chains=chains, sweeps=sweeps)
    for name in corpora.split(","):
        if agreement.has(corpus=name):
            continue
        documents = pd.DataFrame(lab.lines(f"{name}.jsonl.gz"))

        def fit(seed: int, rows: pd.DataFrame, name: str = name) -> ConceptModel:
            def make() -> ConceptModel:
                return superwords.fit(
                    rows,
                    text="text",
                    random_state=seed,
                    n_chains=chains,
                    n_sweeps=sweeps,
                    n_jobs=lab.jobs,
                    progress=False,
                )

            model = lab.model(f"{name}-{chains}x{sweeps}-{seed}.sw", make)
            lab.say(f"{name}, seed {seed}: {model.verdict()}")
            return model

        whole = [fit(seed, documents) for seed in (1, 2)]
        fresh = [reading(fit(10 + b, documents.sample(frac=SHARE, random_state=1000 + b))) for b in range(samples)]
        read = [reading(one) for one in whole]
        row = {"corpus": name, **over_seeds(*read), **over_samples(fresh), **_quality(whole[0], documents)}
        counts.add([{"corpus": name, **one} for one in calibrated(read[0], fresh)])
        settled.add([{"corpus": name, **one} for one in confirmed(whole, read)])
        agreement.add([row])
    lab.table("agreement.csv", agreement.table, show=True)
    lab.table("calibration.csv", counts.table, show=True)
    lab.table("settled.csv", settled.table, show=True)


def reading(model: ConceptModel) -> Read:
    """Return the concepts of all tables, with their share of the text."""
    table = model.concepts()
    words = [frozenset(model.top_words(int(j), 10)) for j in table["concept"]]
    weight = np.nan_to_num(table["prevalence"] * table["strength"]).astype(float)
    again = table["found_again"].to_numpy(float)
    return Read(words, weight / max(weight.sum(), 1e-12), ~table["leftover"].to_numpy(bool), again)


def jaccard(ours: Read, theirs: Read) -> np.ndarray:
    """Return (J, J') the Jaccard index of every two concepts' words."""
    index = [[len(a & b) / max(1, len(a | b)) for b in theirs.words] for a in ours.words]
    return np.array(index).reshape(len(ours.words), len(theirs.words))


def has_partner(ours: Read, theirs: Read, least: float) -> np.ndarray:
    """Return whether each of our concepts has a partner among theirs, listed or not."""
    return jaccard(ours, theirs).max(axis=1, initial=0.0) >= least - 1e-12


def over_seeds(one: Read, other: Read) -> dict[str, float]:
    """Return the share of concepts, and of text, with a partner in a fit with another seed."""
    found = has_partner(one, other, RULES["jaccard_1/2"])
    listed = one.is_listed
    return {
        "n_listed": float(listed.sum()),
        "text_listed": float(one.weight[listed].sum()),
        "seeds": float(found[listed].mean()),
        "seeds_by_weight": float(one.weight[found].sum()),
    }


def over_samples(fits: list[Read]) -> dict[str, float]:
    """Return the mean share of listed concepts with a partner in a fit to another sample, by rule."""
    out = {}
    for rule, least in RULES.items():
        found = [has_partner(a, b, least)[a.is_listed].mean() for a, b in permutations(fits, 2)]
        out[f"samples_{rule}"] = float(np.mean(found))
    return out


def calibrated(whole: Read, fresh: list[Read]) -> list[dict[str, float]]:
    """Return, by the number of pilots that find a concept again, the share with a partner in fresh samples."""
    rows = []
    for low, high in ((0, 1), (2, 3), (4, 6), (7, 8)):
        chosen = (whole.found_again >= low) & (whole.found_again <= high)
        row = {"least": float(low), "most": float(high), "n": float(chosen.sum())}
        for rule, least in RULES.items():
            found = [has_partner(whole, one, least)[chosen] for one in fresh]
            row[rule] = float(np.mean(found)) if chosen.any() else float("nan")
        rows.append(row)
    return rows


def confirmed(fits: list[ConceptModel], read: list[Read]) -> list[dict[str, float | str]]:
    """Return how often another seed reports a prevalence inside the interval, settled concepts and others apart.

    A concept without a partner in the other fit (six of ten words) is not confirmed.
    """
    settled, inside = [], []
    for a, b in ((0, 1), (1, 0)):
        ours, theirs, index = fits[a].concepts(), fits[b].concepts(), jaccard(read[a], read[b])
        other = theirs["prevalence"].to_numpy()[index.argmax(axis=1)]
        between = (ours["prevalence_low"] <= other) & (other <= ours["prevalence_high"])
        inside.append(between & (index.max(axis=1) >= LEAST_JACCARD - 1e-12))
        settled.append(ours["settled"])
    is_settled, is_inside = np.concatenate(settled).astype(bool), np.concatenate(inside)
    rows = [("settled", is_settled), ("others", ~is_settled)]
    return [
        {"concepts": name, "n": float(one.sum()), "confirmed": float(is_inside[one].mean()) if one.any() else np.nan}
        for name, one in rows
    ]


def _quality(model: ConceptModel, documents: pd.DataFrame) -> dict[str, float]:
    """Return NPMI of the listed concepts on the corpus's own rows and, with labels, the agreement with them."""
    corpus, table = model.corpus_, model.concepts()
    units, place = presence(corpus.counts), {word: i for i, word in enumerate(corpus.vocabulary)}
    tops = [model.top_words(int(j), 10) for j in table.loc[~table["leftover"].to_numpy(bool), "concept"]]
    out = {"npmi": float(np.mean([coherence(units, [place[word] for word in words]) for words in tops]))}
    if _LABEL in documents:
        labels = sources(corpus)[1][_LABEL].to_numpy(object)
        out |= alignment(by_document(corpus, np.asarray(model.doc_concept_)), labels)
    return out
