"""Compare models by labels that people gave: agreement with them, reliability, and the effects of columns.

Every model is fitted to the same rows of the same words, with several seeds, at a number of topics of its own (the best
of its grid by the labels themselves, which favours the peers) and at the number of concepts that ours finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse, stats

from superwords.analysis.effects import RobustFit, effects, outcomes_of
from superwords.analysis.ranking import scores
from superwords.compare.contenders import OURS, Effort, word_sets
from superwords.compare.finished_runs import Keeper
from superwords.compare.measures import PARTNERS, TOP, alignment, reliability, top_sets, top_words
from superwords.compare.peers import PEERS
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.resampling import jaccard
from superwords.text.corpus import Corpus

OWN, DEFAULT, MATCHED = "own", "default", "matched"
SAMPLE = 0.8  # share of the documents in a sample
N_SAMPLES = 3
MOST_GROUPS = 6  # of a column whose effects are estimated
GRIDS: dict[str, tuple[Mapping[str, Any], ...]] = {
    "lda": tuple({"k": k} for k in (10, 20, 30, 50, 100)),
    "stm": tuple({"k": k} for k in (10, 20, 30, 50)),
    "hdp": ({"alpha": 0.1, "eta": 0.1, "gamma": 0.1}, {"alpha": 1.0, "eta": 0.1, "gamma": 1.0}),
    "bertopic": tuple({"min_cluster_size": size} for size in (5, 10, 20)),
}
DEFAULTS: dict[str, Mapping[str, Any]] = {"bertopic": {"min_cluster_size": 10}}  # of who chooses nothing
WITH_NUMBER = ("lda", "stm", "bertopic")  # models whose number of topics can be set
DETERMINISTIC = ("stm",)  # no seed changes them, so one fit is enough
_BOUNDS = ("effect", "low", "high")
Say = Callable[[str], None]


class LabelRun(NamedTuple):
    """One fit: the weights of words, of documents, and (ours) the effects of each column with their intervals."""

    weights: np.ndarray  # (T, V)
    documents: np.ndarray  # (D, T)
    effects: dict[str, Effects]


@dataclass(frozen=True)
class LabelTables:
    """The results: means over seeds with intervals, and the runs behind them."""

    alignment: pd.DataFrame
    reliability: pd.DataFrame
    effects: pd.DataFrame
    runs: pd.DataFrame


@dataclass(frozen=True)
class LabelStage:
    """The rows to fit, the documents they are of, and the columns to judge by."""

    corpus: Corpus
    columns: Sequence[str]
    effort: Effort
    keeper: Keeper
    say: Say

    @property
    def parent(self) -> np.ndarray:
        """(rows): the document of each row."""
        if self.corpus.parent is None:
            return np.arange(self.corpus.n_documents)
        return np.unique(self.corpus.parent, return_inverse=True)[1]

    @property
    def metadata(self) -> pd.DataFrame:
        """Columns of the documents."""
        first = np.unique(self.parent, return_index=True)[1]
        return self.corpus.metadata.iloc[first].reset_index(drop=True)

    def by_document(self, rows: np.ndarray) -> np.ndarray:
        """Sum the weights of a document's rows by their tokens; (D, T) with rows that sum to 1."""
        tokens = np.asarray(self.corpus.counts.sum(axis=1), dtype=float).ravel()
        gather = sparse.csr_array((tokens, (self.parent, np.arange(len(tokens)))))
        total = np.asarray(gather @ rows)
        return total / np.maximum(total.sum(axis=1, keepdims=True), 1e-12)

    @property
    def labels(self) -> dict[str, np.ndarray]:
        """Columns that hold labels, by name."""
        metadata = self.metadata
        return {name: metadata[name].to_numpy(object) for name in self.columns if is_labels(metadata[name])}

    def ours(self, seed: int, corpus: Corpus | None = None, row_vectors: str | None = None, **more: Any) -> LabelRun:
        """Fit our concepts with the defaults of `superwords fit`."""
        rows, length = corpus or self.corpus, self.effort._asdict()
        options = {name: length[name] for name in ("n_chains", "n_sweeps")} | {"random_state": seed, **more}

        def make() -> dict[str, np.ndarray]:
            model = ConceptModel(n_jobs=self.effort.n_jobs, progress=False, **options)
            model.fit(rows, row_vectors=row_vectors)
            draws = outcomes_of(model.result_).weights
            weights, _ = word_sets(model, scores(model.result_.summary.words, rows.n_words))
            mean = sum(draws[1:], start=draws[0]) / len(draws)
            out = {"weights": weights, "rows": np.asarray(mean.todense())}
            for column in self.columns if corpus is None else ():
                if has_effects(self.metadata[column]):
                    out |= _own_effects(model, weights, column)
            return out

        what = {"labels": OURS, "rows": rows.n_documents, "columns": list(self.columns), "how": repr(options)}
        return self._run(what | {"rows by": row_vectors}, None, make, corpus)

    def peer(self, name: str, setting: Mapping[str, Any], seed: int, corpus: Corpus | None = None) -> LabelRun:
        """Fit a peer."""
        peer, rows = PEERS[name], corpus or self.corpus

        def make() -> dict[str, np.ndarray]:
            fitted = peer.fit(rows, setting, seed, self.effort.iterations)
            return {"weights": fitted.weights, "rows": fitted.rows}

        what = {"labels": name, "setting": dict(setting), "seed": seed, "iterations": self.effort.iterations}
        return self._run(what | {"rows": rows.n_documents}, peer.library.module, make, corpus)

    def _run(
        self,
        what: Mapping[str, Any],
        library: str | None,
        make: Callable[[], dict[str, np.ndarray]],
        corpus: Corpus | None,
    ) -> LabelRun:
        arrays, effects_of = self.keeper.get_arrays(what, library, make), {}
        for column in self.columns:
            if f"effect of {column}" in arrays:
                words = [one[one >= 0] for one in arrays[f"words of {column}"]]
                effects_of[column] = Effects(words, *(arrays[f"{name} of {column}"] for name in _BOUNDS))
        documents = self.by_document(arrays["rows"]) if corpus is None else arrays["rows"]
        return LabelRun(arrays["weights"], documents, effects_of)

    def sample(self, seed: int) -> Corpus:
        """Return the rows of a random 80% of the documents, with the same vocabulary."""
        n_documents = int(self.parent.max()) + 1
        rng = np.random.default_rng([seed, 80])
        chosen = rng.permutation(n_documents)[: max(2, round(SAMPLE * n_documents))]
        rows = np.flatnonzero(np.isin(self.parent, chosen))
        corpus = Corpus.from_counts(sparse.csr_array(self.corpus.counts[rows]), self.corpus.vocabulary)
        texts = None if self.corpus.texts is None else [self.corpus.texts[d] for d in rows]
        return replace(corpus, texts=texts)


def _own_effects(model: ConceptModel, weights: np.ndarray, column: str) -> dict[str, np.ndarray]:
    """Return our effects of a column on prevalence, by concept and term, with the ten first words."""
    table = effects(model.result_, column)
    wide = {name: table.pivot(index="concept", columns="term", values=name) for name in _BOUNDS}
    words = np.full((len(wide["effect"]), TOP), -1)
    for row, concept in enumerate(wide["effect"].index):
        first = top_words(weights[int(concept) - 1])
        words[row, : len(first)] = first
    return {f"words of {column}": words} | {
        f"{name} of {column}": values.to_numpy(float) for name, values in wide.items()
    }


class Effects(NamedTuple):
    """Effects of one run: a row per concept, a column per term."""

    words: list[np.ndarray]  # the ten first words of each concept
    effect: np.ndarray  # (T, C)
    low: np.ndarray
    high: np.ndarray


def share_effects(documents: np.ndarray, weights: np.ndarray, column: pd.Series) -> Effects:
    """Regress the share of every topic on a column, with robust standard errors (HC3), as `estimateEffect` of stm."""
    known = column.notna().to_numpy()
    X = _design(column[known])
    slopes, covariance = RobustFit(X).together(documents[known])
    error = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))[:, 1:]
    half = float(stats.t.ppf(0.975, max(len(X) - X.shape[1], 1))) * error
    effect, words = slopes[:, 1:], [top_words(row) for row in weights]
    kept = [t for t, found in enumerate(words) if len(found)]
    return Effects([words[t] for t in kept], effect[kept], (effect - half)[kept], (effect + half)[kept])


def _design(column: pd.Series) -> np.ndarray:
    """Return an intercept, and the other groups of a column beside the first (or its numbers)."""
    if is_labels(column):
        values = pd.get_dummies(column.astype(str), drop_first=True).to_numpy(float)
    else:
        values = column.to_numpy(float)[:, None]
    return np.column_stack([np.ones(len(values)), values])


def agreement(runs: Sequence[Effects]) -> dict[str, float]:
    """Return how far reseeds of one model agree on effects, over concepts that are partners (Jaccard 1/3).

    `flips` is the share of effects reported with an interval that excludes 0 whose sign differs in another run;
    `sd/se` the median of the between-seed standard deviation over the reported standard error; `inside` the share
    of the other runs' effects that lie in the reported interval; `compared` the share of concepts with a partner.
    """
    rows, total = [], 0
    for one, other in permutations(runs, 2):
        total += len(one.words)
        alike = jaccard(one.words, other.words)
        partner = alike.argmax(axis=1) if alike.size else np.zeros(0, int)
        for t in np.flatnonzero(alike.max(axis=1, initial=0.0) >= PARTNERS["partners 1/3"]):
            there, effect, low, high = other.effect[partner[t]], one.effect[t], one.low[t], one.high[t]
            error = np.maximum((high - low) / (2 * 1.96), 1e-12)
            reported, flipped = (low > 0) | (high < 0), np.sign(there) != np.sign(effect)
            inside = (low <= there) & (there <= high)
            rows.append(np.array([reported, flipped, inside, (there - effect) / error]))
    if not rows:
        return dict.fromkeys(("flips", "sd/se", "inside"), float("nan")) | {"compared": 0.0, "reported": 0.0}
    reported, flipped, inside, apart = np.concatenate(rows, axis=1)
    return {
        "flips": float(flipped[reported > 0].mean()) if reported.any() else float("nan"),
        # Two reseeds differ by √2 times their standard deviation; the median of a squared normal is χ²'s.
        "sd/se": float(np.sqrt(np.median(apart**2 / 2) / stats.chi2.ppf(0.5, 1))),
        "inside": float(inside.mean()),
        "compared": len(rows) / total,
        "reported": float(reported.sum()),
    }


def is_labels(column: pd.Series) -> bool:
    """Return whether a column holds labels, rather than many different numbers."""
    return not (pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_GROUPS)


def has_effects(column: pd.Series) -> bool:
    """Return whether the effects of a column are estimated: numbers, or few groups."""
    return not is_labels(column) or 2 <= column.nunique() <= MOST_GROUPS


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
    n_seeds: int = 5,
    seed: int = 0,
    effort: Effort | None = None,
    keep_in: Path | None = None,
    say: Say = lambda line: None,
    with_samples: bool = True,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    peer_seeds: int | None = None,
) -> LabelTables:
    """Fit every model with several seeds and judge it by the columns; see the module.

    `seed` chooses among the settings of the peers; the seeds after it are compared, `peer_seeds` of them for peers
    (default: as many as for ours). `variants` are further fits of ours by name, with options of `superwords.fit`.
    """
    for column in columns:
        if column not in corpus.metadata:
            known = ", ".join(map(str, corpus.metadata.columns)) or "none"
            raise InputError(f"There is no column {column!r} for --labels; the columns are: {known}.")
        if corpus.metadata[column].nunique() < 2:
            raise InputError(f"The column {column!r} has fewer than two values, so it cannot judge models.")
    stage = LabelStage(corpus, columns, effort or Effort(), Keeper(keep_in, [corpus]), say)
    sample_seeds = range(seed + 1, seed + 1 + min(N_SAMPLES, n_seeds)) if with_samples else ()
    samples = {s: stage.sample(s) for s in sample_seeds}
    runs: dict[tuple[str, str], Runs] = {}

    def add(name: str, kind: str, fit: Callable[..., LabelRun], n_fits: int) -> None:
        whole = []
        for s in range(seed + 1, seed + 1 + n_fits):
            whole.append(fit(s))
            say(f"{name} ({kind} number): {len(whole[-1].weights)} concepts or topics")
        of_samples = {} if name in (variants or {}) else samples
        runs[name, kind] = Runs(whole, [fit(s, rows).weights for s, rows in of_samples.items()])

    add(OURS, OWN, stage.ours, n_seeds)
    for name, more in (variants or {}).items():
        add(name, OWN, partial(stage.ours, **more), n_seeds)
    number = max(2, round(np.mean([len(run.weights) for run in runs[OURS, OWN].whole])))
    settings = {(name, OWN): best_setting(stage, name, seed) for name in peers}
    settings |= {(name, DEFAULT): DEFAULTS[name] for name in peers if name in DEFAULTS}
    settings |= {(name, MATCHED): {"k": number} for name in peers if name in WITH_NUMBER}
    for (name, kind), setting in settings.items():
        n_fits = 1 if name in DETERMINISTIC else n_seeds if peer_seeds is None else peer_seeds
        add(PEERS[name].name, kind, partial(stage.peer, name, setting), n_fits)
    return _tables(stage, runs, seed + 1)


class Runs(NamedTuple):
    """All fits of one model."""

    whole: list[LabelRun]
    sampled: list[np.ndarray]  # (T, V) words, on samples of 80% of the documents


def best_setting(stage: LabelStage, name: str, seed: int) -> Mapping[str, Any]:
    """Return the setting of a peer whose clusters agree best with the labels (mean of P1, ARI and NMI)."""

    def score(setting: Mapping[str, Any]) -> float:
        documents = stage.peer(name, setting, seed).documents
        found = [alignment(documents, labels) for labels in stage.labels.values()]
        return float(np.mean([one[key] for one in found for key in ("P1", "ARI", "NMI")])) if found else 0.0

    return max(GRIDS.get(name, PEERS[name].grid), key=score)


def _tables(stage: LabelStage, runs: Mapping[tuple[str, str], Runs], first_seed: int) -> LabelTables:
    labels, metadata = stage.labels, stage.metadata
    aligned, reliable, affected = [], [], []
    for (name, kind), (own, sampled) in runs.items():
        key = {"model": name, "number": kind}
        for column, values in labels.items():
            for s, run in enumerate(own, first_seed):
                topics = {"column": column, "seed": s, "topics": len(run.weights)}
                aligned.append(key | topics | alignment(run.documents, values))
        for over, some in (("reseeds", [run.weights for run in own]), ("80% samples", sampled)):
            if len(some) > 1:
                reliable.append(key | {"over": over} | reliability([top_sets(one) for one in some]))
        for column in stage.columns:
            if has_effects(metadata[column]) and len(own) > 1:
                given = [
                    run.effects.get(column)
                    or share_effects(run.documents[:, : len(run.weights)], run.weights, metadata[column])
                    for run in own
                ]
                affected.append(key | {"column": column} | agreement(given))
    table = pd.DataFrame(aligned)
    means = with_interval(table, ["column", "model", "number"]) if len(table) else table
    return LabelTables(means, pd.DataFrame(reliable), pd.DataFrame(affected), table)
