"""From the word sets of all runs to tables: each model for itself, and each two of them word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.coherence import coherence, presence
from superwords.corpus.corpus import Corpus
from superwords.lab.compare.completion import (
    OTHER_SMOOTHINGS,
    SMOOTHING,
    log_likelihood,
    log_probability,
    mean_and_error,
)
from superwords.lab.compare.contenders import OURS, RANKINGS, Found, ranked
from superwords.lab.compare.measures import (
    TOP,
    diversity,
    paired_test,
    stability,
    top_sets,
    top_words,
    win_rate,
)

MOST_WORDS = 20  # in a size-matched pair of sets
RANGED = ("npmi", "log_likelihood")  # columns that begin so are given with the lowest and highest seed
Runs = Mapping[tuple[str, int], Found]  # by model and seed
Contests = Sequence[tuple[str, str]]


class Judge(NamedTuple):
    """Held-out text, and what a pair of words counts that is never together there."""

    name: str
    units: sparse.csc_array
    never: float

    def __call__(self, words: Sequence[int] | np.ndarray) -> float:
        return coherence(self.units, words, self.never)


def make_judges(held_out: Corpus) -> list[Judge]:
    assert held_out.sentences is not None
    sentences, windows = presence(held_out.sentences), presence(held_out.counts)
    return [
        Judge("windows", windows, 0.0),
        Judge("sentences", sentences, 0.0),
        Judge("windows, never = -1", windows, -1.0),
        Judge("sentences, never = -1", sentences, -1.0),
    ]


def set_for(found: Found, word: int, most: int = MOST_WORDS) -> np.ndarray:
    """The other words of the concept or topic that stands for a word; none where no concept holds it."""
    if not len(found.holds) or not found.holds[:, word].any():
        return np.zeros(0, int)
    words = top_words(found.weights[found.holds[:, word].argmax()], most + 1)
    return words[words != word][:most]


def matched(first: Found, second: Found, word: int) -> tuple[np.ndarray, np.ndarray]:
    """What two models say of a word, with equally many words."""
    ours, theirs = set_for(first, word), set_for(second, word)
    size = min(len(ours), len(theirs))
    return ours[:size], theirs[:size]


def peer_coherence(found: Found, words: Sequence[int], judge: Judge) -> dict[str, float]:
    """What the grid is decided by, for each ranking: mean coherence of the ten first other words of the words' topics.

    A topic with fewer than two other words says nothing and counts 0; left out, it would flatter many tiny topics.
    """

    def coherence(of: Found) -> float:
        return float(np.mean(np.nan_to_num([judge(set_for(of, word, TOP)) for word in words], nan=0.0)))

    return {ranking: coherence(ranked(found, ranking)) for ranking in RANKINGS}


def likelihoods(found: Found, frequency: np.ndarray) -> dict[str, float]:
    """Of a held-out token, its mean log probability and the perplexity; and with more and less smoothing."""
    names = {SMOOTHING: "log_likelihood"} | {s: f"log_likelihood, smoothing {s:g}" for s in OTHER_SMOOTHINGS}
    values = {
        name: np.nan if found.predicted is None else log_likelihood(found.predicted, frequency, smoothing)
        for smoothing, name in names.items()
    }
    return {"perplexity": float(np.exp(-values["log_likelihood"]))} | values


def run_table(runs: Runs, judges: Sequence[Judge], frequency: np.ndarray) -> pd.DataFrame:
    """One row for each model and seed; coherence is the mean over concepts of their own top words.

    `frequency` is that of the word of each token to predict, in the training part.
    """
    rows = []
    for (model, seed), found in runs.items():
        sets = top_sets(found.weights)
        judged = [words for words in sets if len(words) > 1]
        rows.append(
            {
                "model": model,
                "seed": seed,
                "n_concepts": len(sets),
                "n_single_words": len(sets) - len(judged),
                **{
                    f"npmi, {judge.name}": float(np.mean([judge(s) for s in judged])) if judged else np.nan
                    for judge in judges
                },
                "diversity": diversity(sets),
                **likelihoods(found, frequency),
                "seconds": found.seconds,
                "peak_mb": found.peak_mb,
            }
        )
    return pd.DataFrame(rows)


def ours_ahead(runs: Runs, model: str, frequency: np.ndarray, window: np.ndarray) -> dict[str, float]:
    """By how much ours gives a held-out token the higher log probability, both as means over seeds."""

    def over_seeds(name: str) -> np.ndarray | float:
        predicted = [found.predicted for (other, _), found in runs.items() if other == name]
        known = [one for one in predicted if one is not None]
        return np.mean([log_probability(one, frequency) for one in known], axis=0) if known else np.nan

    ahead = over_seeds(OURS) - over_seeds(model)
    mean, error = mean_and_error(ahead * np.ones(len(window)), window)
    return {"ours ahead": mean, "ours ahead, error": error}


def model_table(runs: Runs, table: pd.DataFrame, frequency: np.ndarray, window: np.ndarray) -> pd.DataFrame:
    """One row for each model: means over seeds, some ranges over them, and stability between seeds.

    `frequency` as above; `window` is that of each token to predict.
    """
    rows = []
    for model in table["model"].unique():
        own = table[table["model"] == model]
        row: dict[str, Any] = {"model": model}
        for name in own.columns.drop(["model", "seed"]):
            row[name] = own[name].mean()
            if name.startswith(RANGED):
                row[f"{name}, lowest"], row[f"{name}, highest"] = own[name].min(), own[name].max()
        row |= ours_ahead(runs, str(model), frequency, window)
        row["stability"] = stability(
            [top_sets(found.weights) for (name, _), found in runs.items() if name == model]
        )
        rows.append(row)
    return pd.DataFrame(rows)


def word_table(
    runs: Runs,
    contests: Contests,
    words: Sequence[int],
    vocabulary: Sequence[str],
    judges: Sequence[Judge],
) -> pd.DataFrame:
    """One row for each contest, seed and word: the two sets of equal size and their coherences."""

    @cache  # the same set stands in many contests
    def judged(number: int, chosen: tuple[int, ...]) -> float:
        return judges[number](chosen)

    rows = []
    for first, second in contests:
        for seed in sorted({seed for _, seed in runs}):
            for word in words:
                ours, theirs = matched(runs[first, seed], runs[second, seed], word)
                row = {"first": first, "second": second, "seed": seed, "word": vocabulary[word]}
                row |= {"size": len(ours)}
                for side, chosen in (("first", ours), ("second", theirs)):
                    in_order = tuple(sorted(chosen.tolist()))
                    row |= {f"{side}, {judge.name}": judged(k, in_order) for k, judge in enumerate(judges)}
                for name, chosen in (("first_words", ours), ("second_words", theirs)):
                    row[name] = " | ".join(vocabulary[i] for i in chosen)
                rows.append(row)
    return pd.DataFrame(rows)


def contest_table(by_word: pd.DataFrame, contests: Contests, judges: Sequence[Judge]) -> pd.DataFrame:
    """One row for each contest and judge: how often the first wins, how surely, and by how much."""
    rows = []
    for first, second in contests:
        own = by_word[(by_word["first"] == first) & (by_word["second"] == second)]
        judged = own[own["size"] > 1]
        for judge in judges:
            ours, theirs = (judged[f"{side}, {judge.name}"] for side in ("first", "second"))
            wins = win_rate(ours.to_numpy(), theirs.to_numpy())
            difference = ours - theirs
            per_seed = [
                win_rate(ours[rows_].to_numpy(), theirs[rows_].to_numpy()).rate
                for rows_ in judged.groupby("seed").groups.values()
            ]
            rows.append(
                {
                    "first": first,
                    "second": second,
                    "judged_on": judge.name,
                    **wins._asdict(),
                    "left_out": len(own) - len(judged),
                    "lowest_seed": min(per_seed, default=np.nan),
                    "highest_seed": max(per_seed, default=np.nan),
                    "first_npmi": ours.mean(),
                    "second_npmi": theirs.mean(),
                    # A word's seeds are not independent of each other, so each word enters the test once.
                    "p_value": paired_test(difference.groupby(judged["word"]).mean().to_numpy()),
                }
            )
    return pd.DataFrame(rows)
