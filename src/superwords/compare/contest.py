"""The whole comparison: the grid of the peers first, then every model with every seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from superwords.compare import contenders, judging
from superwords.compare.calibrated import WordVectors, judge_values
from superwords.compare.contenders import Effort, Found, Keeper, Lineup, Runner, Say, make_lineup
from superwords.compare.splitting import Split
from superwords.errors import InputError
from superwords.features.specs import make_features
from superwords.fitting import defaults
from superwords.sampler.fold_in import make_halves

N_WORDS = 60
FEW_WINDOWS = 50


class Comparison(NamedTuple):
    """Tables of what was found, by the names of their files (docs/lab/compare.md), and the runs they are made of."""

    tables: dict[str, pd.DataFrame]
    facts: dict[str, Any]
    found: judging.Runs
    vocabulary: list[str]
    lineup: Lineup


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
    lineup, effort = lineup or make_lineup(), effort or Effort()
    ours = split.windows if is_long else split.documents
    vocabulary, held_out = ours.vocabulary, split.held_out
    make_features(defaults.FEATURES, ours, say)  # says which there are
    judges, halves = judging.make_judges(held_out), make_halves(held_out.counts)
    names = judging.salient_words(ours.counts, vocabulary, n_words)
    words = [vocabulary.index(name) for name in names]
    if not held_out.counts[:, words].nnz:
        raise InputError(
            "No word stands out in these documents that the held-out text has too, so there is nothing to compare by; "
            "give more documents, or a lower --min-df."
        )
    keeper = Keeper(keep_in, [split.windows, split.documents, held_out])
    runner = Runner(split, ours, lineup, effort, halves, keeper, say)
    grid = search_grid(runner, words, judges["windows"], seed)
    chosen = {row["model"]: row for row in grid[grid["chosen"]].to_dict("records")}
    contenders.warm_up(ours)
    found: dict[tuple[str, int], Found] = {}
    seeds = list(range(seed + 1, seed + 1 + n_seeds))
    for number in seeds:
        for model in lineup.models:
            one = runner.fit(model, number, chosen[model]["setting"] if model in chosen else None)
            if model in chosen:
                one = contenders.ranked(one, chosen[model]["ranking"])
            found[model, number] = one
            if model not in (*contenders.CONTROLS, contenders.UNIGRAM):
                what = "topics" if model in chosen else "concepts"
                say(f"seed {number}: {model}, {len(one.weights)} {what}, {one.seconds:.1f} s")
    frequency = contenders.word_frequencies(ours)[halves.word]
    runs = judging.run_table(found, judges, frequency)
    if vectors is not None:
        runs["judge"] = judge_values(found, vocabulary, held_out.counts, vectors)
    by_word = judging.word_table(found, lineup.contests, words, vocabulary, judges)
    assert held_out.sentences is not None
    facts: dict[str, Any] = {
        "training_documents": split.documents.n_documents,
        "training_windows": split.windows.n_documents,
        "held_out_windows": held_out.n_documents,
        "held_out_sentences": int(held_out.sentences.shape[0]),
        "tokens_to_predict": len(halves.word),
        "smoothing": judging.SMOOTHING,
        "words": ours.n_words,
        "training_tokens": ours.n_tokens,
        "our_rows": "windows" if is_long else "documents",
        "salient_words": names,
        "left_out": list(lineup.left_out),
    }
    facts |= {"seeds": seeds, "grid_seed": seed, **effort._asdict()}
    tables = {"models": judging.model_table(found, runs, frequency, halves.row)}
    tables |= {"contests": judging.contest_table(by_word, list(judges)), "grid": grid, "runs": runs, "words": by_word}
    return Comparison(tables, facts, found, list(vocabulary), lineup)


def search_grid(runner: Runner, words: list[int], judge: judging.Judge, seed: int) -> pd.DataFrame:
    """Fit every setting of every peer with the seed of the grid and choose the most coherent.

    This favours the peers: their settings are chosen on the text that judges, ours are not.
    """
    rows: list[dict[str, Any]] = []
    for name, peer in runner.lineup.peers.items():
        for setting in peer.grid:
            found = runner.fit(name, seed, setting, predicts=False)
            row = {"model": name, "setting": setting, "n_topics": len(found.weights)}
            values = judging.peer_coherence(found, words, judge)
            rows += [row | {"ranking": one, "npmi": npmi, "seconds": found.seconds} for one, npmi in values.items()]
            by_ranking = ", ".join(f"{value:.3f} by {ranking}" for ranking, value in values.items())
            runner.say(f"{name}, {described(setting)}: {len(found.weights)} topics, NPMI {by_ranking}")
    table = pd.DataFrame(rows, columns=["model", "setting", "n_topics", "ranking", "npmi", "seconds"])
    return table.assign(chosen=table.index.isin(table.groupby("model")["npmi"].idxmax()))


def described(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in setting.items())


def caution(facts: Mapping[str, Any]) -> str | None:
    """Return a sentence where too little text is held out to judge by."""
    n_windows = facts["held_out_windows"]
    if n_windows >= FEW_WINDOWS:
        return None
    held_out = "1 window is" if n_windows == 1 else f"{n_windows} windows are"
    return f"Only {held_out} held out: so little text decides nothing between models."
