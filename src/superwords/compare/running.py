"""The whole comparison: the grid of the peers first, then every model with every seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from superwords.compare import contenders, judging
from superwords.compare.contenders import CONTROLS, MODELS, OURS, PEERS, START, Effort, Found
from superwords.compare.splitting import Split
from superwords.corpus import Corpus
from superwords.errors import InputError
from superwords.study.pairs import salient_words

N_WORDS = 60
_GRID_JUDGE = "windows"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Comparison:
    """Tables of what was found (docs/compare.md names their columns), and the runs they are made of."""

    models: pd.DataFrame
    contests: pd.DataFrame
    grid: pd.DataFrame
    runs: pd.DataFrame
    words: pd.DataFrame
    facts: dict[str, Any]
    found: judging.Runs
    vocabulary: list[str]


def compare(
    split: Split,
    is_long: bool,
    n_seeds: int = 5,
    seed: int = 0,
    effort: Effort | None = None,
    n_words: int = N_WORDS,
    say: Say = lambda line: None,
) -> Comparison:
    """Compare on a split; our rows are windows if the documents are long, as in `superwords fit`.

    `seed` chooses among the peers' settings; the comparison itself uses the `n_seeds` seeds after it.
    """
    contenders.check_peers()
    effort = effort or Effort()
    ours = split.windows if is_long else split.documents
    names = salient_words(ours.counts, ours.vocabulary, n_words)
    if not names:
        raise InputError("No word stands out in these documents, so there is nothing to compare by.")
    column = {word: i for i, word in enumerate(ours.vocabulary)}
    words = [column[name] for name in names]
    judges = judging.make_judges(split.held_out)
    if not any(np.isfinite(judge(words)) and judge.units.nnz for judge in judges):
        raise InputError("The held-out text has none of the words; give more text, or a lower --min-df.")
    grid = search_grid(split, words, judges, seed, effort, say)
    seeds = range(seed + 1, seed + 1 + n_seeds)
    found = run_all(split, ours, chosen_settings(grid), seeds, effort, say)
    runs = judging.run_table(found, judges)
    by_word = judging.word_table(found, words, ours.vocabulary, judges)
    facts = {
        "training_documents": split.documents.n_documents,
        "training_windows": split.windows.n_documents,
        "held_out_windows": split.held_out.n_documents,
        "held_out_sentences": int(judges[1].units.shape[0]),
        "words": ours.n_words,
        "training_tokens": ours.n_tokens,
        "our_rows": "windows" if is_long else "documents",
        "salient_words": names,
        "seeds": list(seeds),
        "grid_seed": seed,
        **effort._asdict(),
    }
    contests = judging.contest_table(by_word, judges)
    models = judging.model_table(found, runs)
    return Comparison(models, contests, grid, runs, by_word, facts, found, list(ours.vocabulary))


def rows_of(split: Split, peer: str) -> Corpus:
    return split.windows if peer.endswith("windows") else split.documents


def search_grid(
    split: Split, words: list[int], judges: list[judging.Judge], seed: int, effort: Effort, say: Say
) -> pd.DataFrame:
    """Every setting of every peer with the grid's own seed; the most coherent on held-out windows is chosen.

    This favours the peers: their settings are chosen on the text that judges, ours are not.
    """
    judge = next(judge for judge in judges if judge.name == _GRID_JUDGE)
    rows: list[dict[str, Any]] = []
    for peer in PEERS:
        for setting in contenders.grid_of(peer):
            found = contenders.fit_topics(rows_of(split, peer), peer, setting, seed, effort.iterations)
            value = judging.peer_coherence(found, words, judge)
            say(f"{peer}, {described(setting)}: {len(found.weights)} topics, NPMI {value:.3f}")
            rows.append(
                {"model": peer, "setting": setting, "n_topics": len(found.weights), "npmi": value}
                | {"seconds": found.seconds}
            )
    table = pd.DataFrame(rows)
    best = table.groupby("model")["npmi"].idxmax()
    return table.assign(chosen=table.index.isin(best))


def described(setting: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in setting.items())


def chosen_settings(grid: pd.DataFrame) -> dict[str, dict[str, float]]:
    chosen = grid[grid["chosen"]]
    return dict(zip(chosen["model"], chosen["setting"]))


def run_all(
    split: Split, ours: Corpus, settings: dict[str, dict[str, float]], seeds: range, effort: Effort, say: Say
) -> dict[tuple[str, int], Found]:
    contenders.warm_up(contenders.cooccurrence(ours))
    runs: dict[tuple[str, int], Found] = {}
    for seed in seeds:
        for model in MODELS:
            if model in PEERS:
                rows = rows_of(split, model)
                found = contenders.fit_topics(rows, model, settings[model], seed, effort.iterations)
            elif model == START:
                found = contenders.kmeans_start(ours, seed, effort)
            elif model in CONTROLS:
                found = contenders.control(ours, model, seed)
            else:
                found = contenders.fit_concepts(ours, model, seed, effort)
            runs[model, seed] = found
            if model in CONTROLS:
                continue
            what = "topics" if model in PEERS else "concepts"
            say(f"seed {seed}: {model}, {len(found.weights)} {what}, {found.seconds:.1f} s")
    return runs


def clouds_of(
    comparison: Comparison, peer: str, n_words: int
) -> list[tuple[str, dict[str, float], dict[str, float]]]:
    """The first seed's sets for the most salient words, with weights, equal in size: (word, ours, theirs)."""
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
