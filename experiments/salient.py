"""Salient words: which concept is chosen for a word, by three rules; its first ten words, the next ten, and all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

import superwords
from experiments.harness import Lab
from superwords.compare import judging
from superwords.compare.contest import word_sets
from superwords.compare.judging import Found, ranked
from superwords.compare.peers import PEERS
from superwords.compare.splitting import Split, make_split
from superwords.study.pairs import concept_uses
from superwords.text.corpus import Corpus

CORPORA = {
    "conventions": "convention2012.jsonl.gz",
    "abstracts": "cranfield.jsonl.gz",
    "news": "lee.jsonl.gz",
    "bills": "bills.jsonl.gz",
}
PARTS = {"1–10": slice(0, 10), "11–20": slice(10, 20), "1–20": slice(0, 20)}
GRID_SEED, N_WORDS = 0, 60
QUICK = {"corpora": ("news",), "seeds": 1, "chains": 1, "sweeps": 10, "iterations": 20}


def experiment(
    lab: Lab,
    corpora: tuple[str, ...] = tuple(CORPORA),
    seeds: int = 2,
    chains: int = 2,
    sweeps: int = 150,
    iterations: int = 1000,
) -> pd.DataFrame:
    """Write salient.csv: how often ours is more coherent than LDA on windows at its best setting, by rule and part."""
    rows = []
    for name in corpora:
        texts = [str(record["text"]) for record in lab.lines(CORPORA[name])]
        split = make_split(texts, [str(d) for d in range(len(texts))], "en", {"n_jobs": lab.jobs})
        words, judge = asked_words(split.windows), judging.make_judges(split.held_out)["windows"]
        _, topics = best_topics(split, words, judge, range(1, seeds + 1), iterations)
        for seed, theirs in topics.items():
            options = {"n_chains": chains, "n_sweeps": sweeps, "random_state": seed}
            for rule, found in by_rule(split, lab.jobs, options).items():
                row = {"corpus": name, "seed": seed, "rule": rule, "broadest": broadest(found, words)}
                rows.append(row | wins(found, theirs, words, judge))
            lab.table("salient_runs.csv", pd.DataFrame(rows))
    table = pd.DataFrame(rows).groupby(["corpus", "rule"], sort=False).mean().drop(columns="seed")
    lab.table("salient.csv", table.reset_index(), show=True)
    return table


def asked_words(rows: Corpus) -> list[int]:
    """Return the columns of the most salient words."""
    column = {word: i for i, word in enumerate(rows.vocabulary)}
    return [column[word] for word in judging.salient_words(rows.counts, rows.vocabulary, N_WORDS)]


def best_topics(
    split: Split, words: list[int], judge: judging.Judge, seeds: Iterable[int], iterations: int
) -> tuple[str, dict[int, Found]]:
    """Return LDA on windows, by seed, with the setting and ranking that are most coherent on the held-out windows."""

    def topics_of(setting: Mapping[str, Any], seed: int) -> Found:
        weights = PEERS["lda"].fit(split.windows, setting, seed, iterations).weights
        return Found(weights, weights, np.nan)

    tried = [
        (value, setting, ranking)
        for setting in PEERS["lda"].grid
        for ranking, value in judging.peer_coherence(topics_of(setting, GRID_SEED), words, judge).items()
    ]
    _, best, ranking = max(tried, key=lambda one: one[0])
    name = f"LDA on windows with {best['k']} topics by {ranking}"
    return name, {seed: ranked(topics_of(best, seed), ranking) for seed in seeds}


def by_rule(split: Split, jobs: int | None, options: dict[str, int]) -> dict[str, Found]:
    """Return our word sets, with the concept for a word chosen by its documents, its score, or its uses."""
    model = superwords.fit(split.windows, n_jobs=jobs, progress=False, **options)  # type: ignore[arg-type]
    weights, documents = word_sets(model)
    holds = {"on in most documents": documents, "highest score": weights, "most uses": concept_uses(model)}
    return {rule: Found(weights, held, 0.0) for rule, held in holds.items()}


def broadest(found: Found, words: list[int]) -> float:
    """Return the share of the words that go to the concept that most of them go to."""
    chosen = found.holds[:, words].argmax(axis=0)
    return float(np.bincount(chosen).max() / len(words))


def wins(ours: Found, theirs: Found, words: list[int], judge: judging.Judge) -> dict[str, float]:
    """Return the share of words for which our set is the more coherent, by part of the sets."""
    sets = [judging.matched(ours, theirs, word) for word in words]
    out = {}
    for name, part in PARTS.items():
        pairs = [(judge(a[part]), judge(b[part])) for a, b in sets if len(a[part]) > 1]
        first, second = np.array(pairs).reshape(-1, 2).T
        out[name] = judging.win_rate(first, second)["rate"]
    return out
