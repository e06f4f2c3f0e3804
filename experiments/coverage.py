"""Do 95% intervals cover? Data simulated from the model and planted data, with the truth known.

A fit sees some of the rows. The truth of a document's weight is π_j/S, of `rows` how many of the fitted rows use the
concept, and of a prevalence the share of all rows, of which the fitted ones are a sample. A listed concept is that of
the truth whose weights go with its own (a correlation of at least .7 over the documents).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import superwords
from experiments.harness import Lab
from superwords import ConceptModel, Corpus
from superwords.compare.judging import wilson

_TIMES = 6  # rows in all, per fitted row
_LIKE = 0.7
_WORDS, _LENGTH = 40, 30
PRIOR: dict[str, Any] = {"alpha_omega": 2.0, "b1": 1.0, "b2": 0.5, "lam": 0.15, "theta": 1.0, "alpha_pi": 1.0}
NEEDS: tuple[str, ...] = ()
QUICK = {"cases": 1, "documents": 40, "sweeps": 30}


class Truth(NamedTuple):
    """All rows, those to fit first."""

    counts: np.ndarray  # (rows, V)
    weights: np.ndarray  # (rows, J)
    uses: np.ndarray  # (rows, J)
    settings: dict[str, Any]  # of the fit


def experiment(lab: Lab, cases: int = 12, documents: int = 100, chains: int = 4, sweeps: int = 300) -> pd.DataFrame:
    """Write coverage.csv: for each kind of data and interval, the share of truths inside."""
    inside: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for kind, make in (("simulated", simulated), ("planted", planted)):
        for seed in range(cases):
            truth = make(documents, seed)
            model = _fitted(truth, documents, chains, sweeps, seed, lab.jobs)
            for name, covered in covered_by(model, truth, documents).items():
                inside[kind, name] += covered
        lab.say(f"{kind}: {cases} fits")
    rows = [
        (*key, len(found), np.mean(found), *wilson(float(np.mean(found)), len(found))) for key, found in inside.items()
    ]
    table = pd.DataFrame(rows, columns=pd.Index(["data", "interval", "intervals", "coverage", "low", "high"]))
    lab.table("coverage.csv", table, show=True)
    return table


def _fitted(truth: Truth, n: int, chains: int, sweeps: int, seed: int, jobs: int | None) -> ConceptModel:
    corpus = Corpus.from_counts(truth.counts[:n], metadata={"group": ["A", "B"] * (n // 2) + ["A"] * (n % 2)})
    model = ConceptModel(
        n_chains=chains, n_sweeps=sweeps, random_state=seed, n_jobs=jobs, n_pilots=0, progress=False, **truth.settings
    )
    return model.fit(corpus, features=None)


def simulated(documents: int, seed: int) -> Truth:
    """Draw rows from the model, with the imputation of their tokens."""
    made = superwords.simulate(_TIMES * documents, _WORDS, _LENGTH, **PRIOR, seed=seed)
    weights, counts = made.weights(), made.counts.toarray()
    return Truth(counts, weights, _imputed(made.state, counts, weights.shape[1], seed) > 0, PRIOR)


def _imputed(state: Any, counts: np.ndarray, n_concepts: int, seed: int) -> np.ndarray:
    """(rows, J): tokens of each concept, drawn given the true state."""
    rng, out = np.random.default_rng([seed, 3]), np.zeros((len(counts), n_concepts), int)
    for d, row in enumerate(counts):
        pairs = range(state.doc_ptr[d], state.doc_ptr[d + 1])
        density = np.zeros((len(pairs), len(row)))
        for k, p in enumerate(pairs):
            words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
            density[k, words] = state.weight[p] * state.theta[words] / max(state.theta[words].sum(), 1e-300)
        for i in np.flatnonzero(row):
            drawn = rng.multinomial(row[i], density[:, i] / density[:, i].sum())
            out[d, state.concept[pairs.start : pairs.stop]] += drawn
    return out


def planted(documents: int, seed: int) -> Truth:
    """Plant five concepts of eight words; a row holds one to three, with Dirichlet weights."""
    rng, n_rows = np.random.default_rng([seed, 5]), _TIMES * documents
    counts, weights, uses = (np.zeros((n_rows, _WORDS), int), np.zeros((n_rows, 5)), np.zeros((n_rows, 5), bool))
    popularity = rng.dirichlet(np.full(5, 4.0))
    for d in range(n_rows):
        held = rng.choice(5, size=rng.integers(1, 4), replace=False, p=popularity)
        weights[d, held] = rng.dirichlet(np.ones(len(held)))
        tokens = rng.multinomial(_LENGTH, weights[d])
        uses[d] = tokens > 0
        for j in np.flatnonzero(tokens):
            np.add.at(counts[d], 8 * j + rng.integers(8, size=tokens[j]), 1)
    return Truth(counts, weights, uses, {})


def covered_by(model: ConceptModel, truth: Truth, n: int) -> dict[str, list[bool]]:
    """Return, for each kind of interval, whether each holds its truth."""
    partner: dict[Any, int] = dict(_partners(model, truth, n))
    one: Any  # a row of a table
    out: dict[str, list[bool]] = defaultdict(list)
    for one in model.documents().itertuples():
        if one.concept in partner:
            value = truth.weights[int(one.document), partner[one.concept]]
            out["documents: weight"].append(bool(one.low <= value <= one.high))
    for one in model.concepts().itertuples():
        if one.concept in partner:
            uses = truth.uses[:, partner[one.concept]]
            out["concepts: rows"].append(one.rows_low <= uses[:n].sum() <= one.rows_high)
            out["concepts: prevalence"].append(one.prevalence_low <= uses.mean() <= one.prevalence_high)
    for one in model.by_group("group").itertuples():
        if one.concept in partner:
            share = truth.uses[:, partner[one.concept]].mean()
            out["by_group: prevalence"].append(one.prevalence_low <= share <= one.prevalence_high)
    for one in model.compare_groups("group").itertuples():
        if one.concept in partner:  # groups are made at random: no difference
            out["compare_groups: difference"].append(one.low <= 0 <= one.high)
    return out


def _partners(model: ConceptModel, truth: Truth, n: int) -> dict[int, int]:
    """For each listed concept that is a true one, which."""
    ours, theirs = model.doc_concept_, truth.weights[:n]
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.nan_to_num(np.corrcoef(ours.T, theirs.T)[: ours.shape[1], ours.shape[1] :])
    best = {}
    for j in range(ours.shape[1]):
        k = int(np.argmax(alike[j])) if alike.shape[1] else -1
        if k >= 0 and alike[j, k] >= _LIKE and int(np.argmax(alike[:, k])) == j:
            best[j + 1] = k
    return best
