"""Compare models by labels that people gave: agreement with them, reliability, and the effects of columns.

Every model is fitted to the same rows of the same words, with several seeds, at a number of topics of its own (the best
of its grid by the labels themselves, which favours the peers) and at the number of concepts that ours finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse, stats

from superwords.analysis.effects import RobustFit, effects, outcomes_of
from superwords.analysis.tables import of_sources, source_of_rows, sources
from superwords.compare.contest import Arrays, Runs, Say
from superwords.compare.judging import OURS, PARTNERS, alignment, reliability, top_sets
from superwords.compare.peers import PEERS, Setting
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.resampling import first_words, jaccard
from superwords.tabular import csv_text
from superwords.text.corpus import Corpus, named_column

OWN, DEFAULT, MATCHED = "own", "default", "matched"
SAMPLE = 0.8  # share of the documents in a sample
N_SAMPLES = 3
MOST_GROUPS = 6  # of a column whose effects are estimated
GRIDS: dict[str, tuple[Setting, ...]] = {
    "lda": tuple({"k": k} for k in (10, 20, 30, 50, 100)),
    "stm": tuple({"k": k} for k in (10, 20, 30, 50)),
    "hdp": ({"alpha": 0.1, "eta": 0.1, "gamma": 0.1}, {"alpha": 1.0, "eta": 0.1, "gamma": 1.0}),
    "bertopic": tuple({"min_cluster_size": size} for size in (5, 10, 20)),
}
DEFAULTS: dict[str, Setting] = {"bertopic": {"min_cluster_size": 10}}  # of who chooses nothing
WITH_NUMBER = ("lda", "stm", "bertopic")  # models whose number of topics can be set
DETERMINISTIC = ("stm",)  # no seed changes them, so one fit is enough
TABLES = ("labels", "reliability", "label_effects", "label_runs")


class Effects(NamedTuple):
    """Effects of a column in one run: a row per concept with its words' weights, a column per term."""

    weights: np.ndarray  # (T, V)
    effect: np.ndarray  # (T, C)
    low: np.ndarray
    high: np.ndarray


class LabelStage:
    """The rows to fit, the documents they are of, and the columns to judge by."""

    def __init__(self, corpus: Corpus, columns: Sequence[str], runs: Runs) -> None:
        self.corpus, self.runs, self.metadata = corpus, runs, sources(corpus)[1]
        of_labels = [name for name in columns if is_labels(self.metadata[name])]
        self.labels = {name: self.metadata[name].to_numpy(object) for name in of_labels}
        self.with_effects = [
            name for name in columns if name not in of_labels or 2 <= self.metadata[name].nunique() <= MOST_GROUPS
        ]

    def ours(self, seed: int, sample: Corpus | None = None, **options: Any) -> Arrays:
        """Fit our concepts with the defaults of `superwords fit`; on all rows also their effects of the columns.

        Effects are kept as (3, J, C) arrays of the effect and the ends of its interval, beside their concepts.
        """
        columns = self.with_effects if sample is None else []

        def read(model: ConceptModel) -> Arrays:
            draws = outcomes_of(model.result_).weights
            out = {"rows": (sum(draws[1:], start=draws[0]) / len(draws)).toarray()}
            for column in columns:
                table = effects(model.result_, column)
                wide = [table.pivot(index="concept", columns="term", values=name) for name in Effects._fields[1:]]
                out[f"effects of {column}"] = np.array([one.to_numpy(float) for one in wide])
                out[f"concepts of {column}"] = wide[0].index.to_numpy(int) - 1
            return out

        key = csv_text(self.metadata[columns])
        return self._with_documents(self.runs.ours(sample or self.corpus, seed, read, key, **options), sample)

    def peer(self, name: str, setting: Setting, seed: int, sample: Corpus | None = None) -> Arrays:
        """Fit a peer."""
        return self._with_documents(self.runs.peer(PEERS[name], sample or self.corpus, setting, seed), sample)

    def _with_documents(self, run: Arrays, sample: Corpus | None) -> Arrays:
        return run if sample is not None else run | {"documents": by_document(self.corpus, run["rows"])}

    def sample(self, seed: int) -> Corpus:
        """Return the rows of a random 80% of the documents, with the same vocabulary."""
        parent = source_of_rows(self.corpus)
        n_documents = int(parent.max()) + 1
        chosen = np.random.default_rng([seed, 80]).permutation(n_documents)[: max(2, round(SAMPLE * n_documents))]
        rows = np.flatnonzero(np.isin(parent, chosen))
        corpus = Corpus.from_counts(sparse.csr_array(self.corpus.counts[rows]), self.corpus.vocabulary)
        return replace(corpus, texts=self.corpus.texts and [self.corpus.texts[d] for d in rows])

    def effects_of(self, run: Arrays, column: str) -> Effects:
        """Return the effects of a column in a run: ours on prevalence, a peer's on the topics' shares."""
        weights = run["weights"]
        if f"effects of {column}" in run:
            return Effects(weights[run[f"concepts of {column}"]], *run[f"effects of {column}"])
        return share_effects(run["documents"][:, : len(weights)], weights, self.metadata[column])


def by_document(corpus: Corpus, rows: np.ndarray) -> np.ndarray:
    """Sum the weights of a document's rows by their tokens; (D, T) with rows that sum to 1."""
    tokens = np.asarray(corpus.counts.sum(axis=1), dtype=float).ravel()
    total = of_sources(corpus, tokens) @ rows
    return total / np.maximum(total.sum(axis=1, keepdims=True), 1e-12)


def is_labels(column: pd.Series) -> bool:
    """Return whether a column holds labels, rather than many different numbers."""
    return not (pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_GROUPS)


def share_effects(documents: np.ndarray, weights: np.ndarray, column: pd.Series) -> Effects:
    """Regress the share of every topic on a column, with robust standard errors (HC3), as `estimateEffect` of stm."""
    known = column.notna().to_numpy()
    column = column[known]
    # Labels: the other groups beside the first.
    values = pd.get_dummies(column.astype(str), drop_first=True) if is_labels(column) else column.to_frame()
    X = np.column_stack([np.ones(len(values)), values.to_numpy(float)])
    slopes, covariance = RobustFit(X).together(documents[known])
    error = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))[:, 1:]
    half = float(stats.t.ppf(0.975, max(len(X) - X.shape[1], 1))) * error
    kept, effect = weights.max(axis=1, initial=0.0) > 0, slopes[:, 1:]
    return Effects(weights[kept], effect[kept], (effect - half)[kept], (effect + half)[kept])


def agreement(runs: Sequence[Effects]) -> dict[str, float]:
    """Return how far reseeds of one model agree on effects, over concepts that are partners (Jaccard 1/3).

    `flips` is the share of effects reported with an interval that excludes 0 whose sign differs in another run;
    `sd/se` the median of the between-seed standard deviation over the reported standard error; `inside` the share
    of the other runs' effects that lie in the reported interval; `compared` the share of concepts with a partner.
    """
    found, n_concepts, n_compared = [], 0, 0
    for one, other in permutations(runs, 2):
        alike = jaccard(first_words(one.weights), first_words(other.weights))
        compared = alike.max(axis=1, initial=0.0) >= PARTNERS["partners 1/3"]
        n_concepts, n_compared = n_concepts + len(compared), n_compared + int(compared.sum())
        if compared.any():
            effect, low, high = one.effect[compared], one.low[compared], one.high[compared]
            there = other.effect[alike.argmax(axis=1)[compared]]
            error = np.maximum((high - low) / (2 * 1.96), 1e-12)
            inside, flipped = (low <= there) & (there <= high), np.sign(there) != np.sign(effect)
            found.append(np.array([(low > 0) | (high < 0), flipped, inside, (there - effect) / error]).reshape(4, -1))
    if not found:
        return dict.fromkeys(("flips", "sd/se", "inside"), float("nan")) | {"compared": 0.0, "reported": 0.0}
    reported, flipped, inside, apart = np.concatenate(found, axis=1)
    return {
        "flips": float(flipped[reported > 0].mean()) if reported.any() else float("nan"),
        # Two reseeds differ by √2 times their standard deviation; the median of a squared normal is χ²'s.
        "sd/se": float(np.sqrt(np.median(apart**2 / 2) / stats.chi2.ppf(0.5, 1))),
        "inside": float(inside.mean()),
        "compared": n_compared / n_concepts,
        "reported": float(reported.sum()),
    }


def with_interval(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the mean over seeds of every measure, with half the width of its 95% interval (Student's t)."""
    groups = table.groupby(list(by), sort=False)
    measures = groups[[name for name in table if name not in (*by, "seed")]]
    half = measures.sem() * stats.t.ppf(0.975, measures.count() - 1)
    both = measures.mean().join(half.add_suffix(" ±")).join(groups["seed"].nunique().rename("seeds"))
    order = [column for name in measures.mean() for column in (name, f"{name} ±")]
    return both[[*order, "seeds"]].reset_index()


def compare_labels(
    corpus: Corpus,
    columns: Sequence[str],
    peers: Sequence[str] = ("lda", "stm", "bertopic"),
    runs: Runs | None = None,
    n_seeds: int = 5,
    seed: int = 0,
    say: Say = lambda line: None,
    with_samples: bool = True,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    peer_seeds: int | None = None,
) -> dict[str, pd.DataFrame]:
    """Fit every model with several seeds and judge it by the columns; return the tables by the names of their files.

    `seed` chooses among the settings of the peers; the seeds after it are compared, `peer_seeds` of them for peers
    (default: as many as for ours). `variants` are further fits of ours by name, with options of `superwords.fit`.
    """
    for column in columns:
        if named_column(corpus.metadata, column).nunique() < 2:
            raise InputError(f"The column {column!r} has fewer than two values, so it cannot judge models.")
    stage = LabelStage(corpus, columns, runs or Runs())
    first = seed + 1
    samples = {s: stage.sample(s) for s in range(first, first + min(N_SAMPLES, n_seeds)) if with_samples}
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}

    def judge(name: str, number: str, fit: Callable[..., Arrays], n_fits: int) -> list[Arrays]:
        """Fit a model to all rows and to samples, and add its rows to the tables."""
        key, fits = {"model": name, "number": number}, []
        for s in range(first, first + n_fits):
            fits.append(fit(s))
            say(f"{name} ({number} number): {len(fits[-1]['weights'])} concepts or topics")
        sampled = [fit(s, rows) for s, rows in samples.items() if name not in (variants or {})]
        for column, labels in stage.labels.items():
            for s, run in enumerate(fits, first):
                topics = {"column": column, "seed": s, "topics": len(run["weights"])}
                tables["label_runs"].append(key | topics | alignment(run["documents"], labels))
        for over, some in {"reseeds": fits, "80% samples": sampled}.items():
            if len(some) > 1:
                partners = reliability([top_sets(one["weights"]) for one in some])
                tables["reliability"].append(key | {"over": over} | partners)
        for column in stage.with_effects if len(fits) > 1 else ():
            agreed = agreement([stage.effects_of(run, column) for run in fits])
            tables["label_effects"].append(key | {"column": column} | agreed)
        return fits

    ours = judge(OURS, OWN, stage.ours, n_seeds)
    for name, more in (variants or {}).items():
        judge(name, OWN, partial(stage.ours, **more), n_seeds)
    n_topics = max(2, round(np.mean([len(run["weights"]) for run in ours])))
    settings = {(name, OWN): best_setting(stage, name, seed) for name in peers}
    settings |= {(name, DEFAULT): DEFAULTS[name] for name in peers if name in DEFAULTS}
    settings |= {(name, MATCHED): {"k": n_topics} for name in peers if name in WITH_NUMBER}
    for (name, number), setting in settings.items():
        n_fits = 1 if name in DETERMINISTIC else peer_seeds or n_seeds
        judge(PEERS[name].name, number, partial(stage.peer, name, setting), n_fits)
    found = {name: pd.DataFrame(rows) for name, rows in tables.items()}
    if len(found["label_runs"]):
        found["labels"] = with_interval(found["label_runs"], ["column", "model", "number"])
    return found


def best_setting(stage: LabelStage, name: str, seed: int) -> Setting:
    """Return the setting of a peer whose clusters agree best with the labels (mean of P1, ARI and NMI)."""

    def score(setting: Setting) -> float:
        documents = stage.peer(name, setting, seed)["documents"]
        found = [alignment(documents, labels) for labels in stage.labels.values()]
        return float(np.mean([one[key] for one in found for key in ("P1", "ARI", "NMI")])) if found else 0.0

    return max(GRIDS.get(name, PEERS[name].grid), key=score)
