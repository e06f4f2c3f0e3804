"""The whole comparison: the grid of the peers first, then every model with every seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from superwords.compare import contenders, judging
from superwords.compare.calibrated import WordVectors
from superwords.compare.completion import SMOOTHING, word_frequencies
from superwords.compare.contenders import CONTROLS, OURS, UNIGRAM, Effort, Found, Lineup, make_lineup
from superwords.compare.finished_runs import Keeper
from superwords.compare.labels import LabelTables
from superwords.compare.peers import ON_WINDOWS, peer_of
from superwords.compare.splitting import Split
from superwords.errors import InputError
from superwords.features.specs import make_features
from superwords.fitting import defaults
from superwords.sampler.fold_in import Halves, make_halves
from superwords.study.pairs import salient_words
from superwords.text.corpus import Corpus

N_WORDS = 60
FEW_WINDOWS = 50
_BETWEEN_CHAINS = 1_000_003  # added to the seed of a peer's next fit: beyond any seed that is compared
Say = Callable[[str], None]
Chosen = tuple[dict[str, Any], str]  # a setting, and how words are ranked


@dataclass(frozen=True)
class Comparison:
    """Tables of what was found (docs/lab/compare.md names their columns), and the runs they are made of."""

    models: pd.DataFrame
    contests: pd.DataFrame
    grid: pd.DataFrame
    runs: pd.DataFrame
    words: pd.DataFrame
    facts: dict[str, Any]
    found: judging.Runs
    vocabulary: list[str]
    lineup: Lineup
    labels: LabelTables | None = None


def compare(
    split: Split,
    is_long: bool,
    n_seeds: int = 5,
    seed: int = 0,
    effort: Effort | None = None,
    n_words: int = N_WORDS,
    say: Say = lambda line: None,
    lineup: Lineup | None = None,
    keep_in: Path | None = None,
    vectors: WordVectors | None = None,
) -> Comparison:
    """Compare on a split; our rows are windows if the documents are long, as in `superwords fit`.

    `seed` chooses among the peers' settings; the comparison itself uses the `n_seeds` seeds after it. Runs that
    are finished are kept in the folder `keep_in` and taken from there. With word `vectors` concepts are also valued by
    a judge fitted to people's ratings.
    """
    lineup = make_lineup() if lineup is None else lineup
    effort = effort or Effort()
    ours = split.windows if is_long else split.documents
    make_features(defaults.FEATURES, ours, say)  # says which there are
    judges = judging.make_judges(split.held_out)
    names = salient_words(ours.counts, ours.vocabulary, n_words)
    words = [ours.vocabulary.index(name) for name in names]
    if not judges[0].units[:, words].nnz:
        raise InputError(
            "No word stands out in these documents that the held-out text has too, so there is nothing to compare by; "
            "give more documents, or a lower --min-df."
        )
    keeper = Keeper(keep_in, [split.windows, split.documents, split.held_out])
    runner = Runner(split, ours, lineup, effort, make_halves(split.held_out.counts), keeper, say)
    grid = search_grid(runner, words, judges, seed)
    seeds = range(seed + 1, seed + 1 + n_seeds)
    chosen = grid[grid["chosen"]].to_dict("records")
    found = runner.run_all({row["model"]: (row["setting"], row["ranking"]) for row in chosen}, seeds)
    frequency = word_frequencies(ours.counts)[runner.halves.word]
    runs = judging.run_table(found, judges, frequency)
    if vectors is not None:
        runs["judge"] = judging.judge_values(found, ours.vocabulary, judges[0], vectors)
    by_word = judging.word_table(found, lineup.contests, words, ours.vocabulary, judges)
    facts = _facts(runner, judges, names) | {"seeds": list(seeds), "grid_seed": seed, **effort._asdict()}
    contests = judging.contest_table(by_word, lineup.contests, judges)
    models = judging.model_table(found, runs, frequency, runner.halves.row)
    return Comparison(models, contests, grid, runs, by_word, facts, found, list(ours.vocabulary), lineup)


def caution(facts: Mapping[str, Any]) -> str | None:
    """Return a sentence where too little text is held out to judge by."""
    n_windows = facts["held_out_windows"]
    if n_windows >= FEW_WINDOWS:
        return None
    held_out = "1 window is" if n_windows == 1 else f"{n_windows} windows are"
    return f"Only {held_out} held out: so little text decides nothing between models."


@dataclass(frozen=True)
class Runner:
    """Runs any model of a lineup on its rows of a split, unless the run is kept from before."""

    split: Split
    ours: Corpus
    lineup: Lineup
    effort: Effort
    halves: Halves
    keeper: Keeper
    say: Say

    def run_all(self, settings: dict[str, Chosen], seeds: range) -> dict[tuple[str, int], Found]:
        contenders.warm_up(self.ours)
        runs: dict[tuple[str, int], Found] = {}
        for seed in seeds:
            for model in self.lineup.models:
                if model in self.lineup.peers:
                    setting, ranking = settings[model]
                    found = contenders.ranked(self.fit_peer(model, setting, seed, self.halves), ranking)
                else:
                    found = self.fit_ours(model, seed)
                runs[model, seed] = found
                if model in (*CONTROLS, UNIGRAM):
                    continue
                what = "topics" if model in self.lineup.peers else "concepts"
                self.say(f"seed {seed}: {model}, {len(found.weights)} {what}, {found.seconds:.1f} s")
        return runs

    def fit_ours(self, model: str, seed: int) -> Found:
        if model in CONTROLS:
            return contenders.control(self.ours, model, seed)
        if model == UNIGRAM:
            return contenders.unigram(self.ours, self.halves)

        def make() -> Found:
            return contenders.fit_concepts(self.ours, model, seed, self.effort, self.halves)

        what = {"model": model, "seed": seed, "rows": self.ours.n_documents}
        what |= {"n_chains": self.effort.n_chains, "n_sweeps": self.effort.n_sweeps}
        return self.keeper.get(what, None, make)

    def fit_peer(self, model: str, setting: Mapping[str, Any], seed: int, halves: Halves | None) -> Found:
        """Fit a peer with one setting; it predicts only if `halves` are given.

        Ours predicts by the mean over its chains, so a peer does by that over as many fits, each with its seed.
        """
        peer = peer_of(model)
        rows = self.split.windows if model.endswith(ON_WINDOWS) else self.split.documents
        if halves is not None and not len(halves.word):
            halves = None  # no held-out window has two words, so that there is nothing to predict
        more_seeds = [seed + chain * _BETWEEN_CHAINS for chain in range(1, self.effort.n_chains)]

        def make() -> Found:
            start = perf_counter()
            fitted, predicted = peer.fit(rows, setting, seed, self.effort.iterations), None
            seconds = perf_counter() - start
            if halves is not None and fitted.predict is not None:
                others = [peer.fit(rows, setting, other, self.effort.iterations) for other in more_seeds]
                predicts = [one.predict for one in (fitted, *others) if one.predict is not None]
                predicted = np.mean([predict(halves) for predict in predicts], axis=0)
            return Found(fitted.weights, fitted.weights, seconds, predicted)

        what = {"model": model, "setting": dict(setting), "seed": seed, "iterations": self.effort.iterations}
        what["n_predicting"] = 0 if halves is None else self.effort.n_chains
        return self.keeper.get(what, peer.library.module, make)


def _facts(runner: Runner, judges: list[judging.Judge], names: list[str]) -> dict[str, Any]:
    split, ours = runner.split, runner.ours
    return {
        "training_documents": split.documents.n_documents,
        "training_windows": split.windows.n_documents,
        "held_out_windows": split.held_out.n_documents,
        "held_out_sentences": int(judges[1].units.shape[0]),
        "tokens_to_predict": len(runner.halves.word),
        "smoothing": SMOOTHING,
        "words": ours.n_words,
        "training_tokens": ours.n_tokens,
        "our_rows": "windows" if ours is split.windows else "documents",
        "salient_words": names,
        "left_out": list(runner.lineup.left_out),
    }


def search_grid(runner: Runner, words: list[int], judges: list[judging.Judge], seed: int) -> pd.DataFrame:
    """Fit every setting of every peer with the seed of the grid and choose the most coherent.

    This favours the peers: their settings are chosen on the text that judges, ours are not.
    """
    rows: list[dict[str, Any]] = []
    for peer in runner.lineup.peers:
        for setting in peer_of(peer).grid:
            found = runner.fit_peer(peer, setting, seed, None)
            row = {"model": peer, "setting": setting, "n_topics": len(found.weights)}
            row["seconds"] = found.seconds
            values = judging.peer_coherence(found, words, judges[0])
            rows += [row | {"ranking": ranking, "npmi": value} for ranking, value in values.items()]
            by_ranking = ", ".join(f"{value:.3f} by {ranking}" for ranking, value in values.items())
            runner.say(f"{peer}, {described(setting)}: {len(found.weights)} topics, NPMI {by_ranking}")
    table = pd.DataFrame(rows, columns=["model", "setting", "n_topics", "ranking", "npmi", "seconds"])
    best = table.groupby("model")["npmi"].idxmax()
    return table.assign(chosen=table.index.isin(best))


def described(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in setting.items())


def clouds_of(comparison: Comparison, peer: str, n_words: int) -> list[tuple[str, dict[str, float], dict[str, float]]]:
    """Return the first seed's sets for the most salient words, with weights, equal in size: (word, ours, theirs)."""
    seed = comparison.facts["seeds"][0]
    column = {word: i for i, word in enumerate(comparison.vocabulary)}
    pairs = []
    for name in comparison.facts["salient_words"]:
        sides = comparison.found[OURS, seed], comparison.found[peer, seed]
        sets = judging.matched(*sides, column[name])
        if len(sets[0]) > 1:
            weights = []
            for found, chosen in zip(sides, sets):
                row = found.weights[found.holds[:, column[name]].argmax()]
                weights.append({comparison.vocabulary[i]: float(row[i]) for i in chosen})
            pairs.append((name, weights[0], weights[1]))
        if len(pairs) == n_words:
            break
    return pairs
