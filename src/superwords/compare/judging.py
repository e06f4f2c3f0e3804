"""Tables of all runs: each model for itself, and each two of them word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.ranking import coherence, presence
from superwords.compare.calibrated import FIRST, MEASURES, MORE, WordVectors, c_v, judged, vector_measures
from superwords.compare.completion import log_likelihood, log_probability, mean_and_error
from superwords.compare.contenders import OURS, RANKINGS, Found, ranked
from superwords.compare.measures import TOP, diversity, paired_test, reliability, top_sets, top_words, win_rate
from superwords.text.corpus import Corpus

MOST_WORDS = 20  # in a size-matched pair of sets
RANGED = ("npmi", "log_likelihood")  # columns that begin so are given with the lowest and highest seed
Runs = Mapping[tuple[str, int], Found]  # by model and seed
Contests = Sequence[tuple[str, str]]


class Judge(NamedTuple):
    """NPMI in held-out text; a pair of words that is never together there counts 0."""

    name: str
    units: sparse.csc_array

    def __call__(self, words: Sequence[int] | np.ndarray) -> float:
        return coherence(self.units, words)


def make_judges(held_out: Corpus) -> list[Judge]:
    assert held_out.sentences is not None
    return [Judge("windows", presence(held_out.counts)), Judge("sentences", presence(held_out.sentences))]


def set_for(found: Found, word: int, most: int = MOST_WORDS) -> np.ndarray:
    """Return the other words of the concept or topic that has a word most; none where no concept has it."""
    if not len(found.holds) or not found.holds[:, word].any():
        return np.zeros(0, int)
    words = top_words(found.weights[found.holds[:, word].argmax()], most + 1)
    return words[words != word][:most]


def matched(first: Found, second: Found, word: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets of two models for a word, cut to equal size."""
    ours, theirs = set_for(first, word), set_for(second, word)
    size = min(len(ours), len(theirs))
    return ours[:size], theirs[:size]


def peer_coherence(found: Found, words: Sequence[int], judge: Judge) -> dict[str, float]:
    """Return, for each ranking, the mean coherence of the first ten other words of the words' topics.

    A topic with fewer than two other words says nothing and counts 0; left out, it would flatter many tiny topics.
    """

    def coherence(of: Found) -> float:
        return float(np.mean(np.nan_to_num([judge(set_for(of, word, TOP)) for word in words], nan=0.0)))

    return {ranking: coherence(ranked(found, ranking)) for ranking in RANKINGS}


def run_table(runs: Runs, judges: Sequence[Judge], frequency: np.ndarray) -> pd.DataFrame:
    """Return one row for each model and seed; coherence is the mean over concepts of their own top words.

    `frequency` is that of the word of each token to predict, in the training part.
    """
    rows = []
    for (model, seed), found in runs.items():
        sets = top_sets(found.weights)
        judged = [words for words in sets if len(words) > 1]
        value = np.nan if found.predicted is None else log_likelihood(found.predicted, frequency)
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
                "log_likelihood": value,
                "perplexity": float(np.exp(-value)),
                "seconds": found.seconds,
            }
        )
    return pd.DataFrame(rows)


def judge_values(runs: Runs, vocabulary: Sequence[str], judge: Judge, vectors: WordVectors) -> list[float]:
    """Return the mean value of each run's concepts by the judge that was fitted to people's ratings."""
    measures, of_run = [], []
    for number, found in enumerate(runs.values()):
        for words in top_sets(found.weights, MORE):
            if len(words) > 1:
                own = {"NPMI": judge(words[:FIRST]), "C_v": c_v(judge.units, words[:FIRST])}
                own |= vector_measures([vocabulary[i] for i in words], vectors)
                measures.append([own[name] for name in MEASURES])
                of_run.append(number)
    values = judged(np.array(measures).reshape(-1, len(MEASURES))) if measures else np.zeros(0)
    by_run = pd.Series(values).groupby(of_run).mean()
    return by_run.reindex(range(len(runs))).tolist()


def ours_ahead(runs: Runs, model: str, frequency: np.ndarray, window: np.ndarray) -> dict[str, float]:
    """Return by how much ours gives a held-out token the higher log probability, over seeds."""

    def over_seeds(name: str) -> np.ndarray | float:
        predicted = [found.predicted for (other, _), found in runs.items() if other == name]
        known = [one for one in predicted if one is not None]
        return np.mean([log_probability(one, frequency) for one in known], axis=0) if known else np.nan

    ahead = over_seeds(OURS) - over_seeds(model)
    mean, error = mean_and_error(ahead * np.ones(len(window)), window)
    return {"ours ahead": mean, "ours ahead, error": error}


def model_table(runs: Runs, table: pd.DataFrame, frequency: np.ndarray, window: np.ndarray) -> pd.DataFrame:
    """Return one row for each model: means over seeds, some ranges over them, and stability between seeds.

    `frequency` as above; `window` is that of each token to predict.
    """
    rows = []
    for model, own in table.groupby("model", sort=False):
        row: dict[str, Any] = {"model": model}
        for name, values in own.drop(columns=["model", "seed"]).items():
            row[str(name)] = values.mean()
            if str(name).startswith(RANGED):
                row |= {f"{name}, lowest": values.min(), f"{name}, highest": values.max()}
        row |= ours_ahead(runs, str(model), frequency, window)
        sets = [top_sets(found.weights) for (name, _), found in runs.items() if name == model]
        rows.append(row | {"stability": reliability(sets)["stability"]})
    return pd.DataFrame(rows)


def word_table(
    runs: Runs, contests: Contests, words: Sequence[int], vocabulary: Sequence[str], judges: Sequence[Judge]
) -> pd.DataFrame:
    """Return one row for each contest, seed and word: the two sets of equal size and their coherences."""

    @cache  # the same set is in many contests
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
    """Return one row for each contest and judge: how often the first wins, how surely, and by how much."""
    rows = []
    for first, second in contests:
        own = by_word[(by_word["first"] == first) & (by_word["second"] == second)]
        judged = own[own["size"] > 1]
        for judge in judges:
            ours, theirs = (judged[f"{side}, {judge.name}"] for side in ("first", "second"))
            wins, difference = win_rate(ours.to_numpy(), theirs.to_numpy()), ours - theirs
            by_seed = judged.groupby("seed").indices.values()
            per_seed = [win_rate(ours.to_numpy()[at], theirs.to_numpy()[at]).rate for at in by_seed]
            row = {"first": first, "second": second, "judged_on": judge.name} | wins._asdict()
            rows.append(
                row
                | {
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
