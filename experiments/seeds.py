"""Seeds: half of the words of lists that people made are given, and the other half is to be found.

Every model is given the same halves of all lists of a corpus at once. For each list, all other words are ranked by how
sure they share a concept with the given ones (of the peers: by the topic that was given the words), and judged by the
average precision of the other half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from experiments.harness import Lab, means, write_table
from experiments.seed_lists import FILES, TASKS, WordLists, read_task
from superwords import fit
from superwords.analysis.tables import takers
from superwords.analysis.words import belonging, by_rows
from superwords.compare.peers import named_tokens
from superwords.errors import InputError
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.result import Result
from superwords.text.corpus import Corpus

OURS, UNGUIDED = "superwords", "superwords without seeds"
ROWS = "rows that share words"  # what is left of ours without concepts
COREX, SEEDED = "CorEx with anchors", "seeded LDA"
RESIDUALS = (5, 20, 50)  # topics of the peers beside those that are given words
ANCHOR_STRENGTHS = (1.0, 3.0)
ITERATIONS = 500
NEEDS = tuple(dict.fromkeys(FILES.values()))
LIBRARIES, QUICK = ("topica",), {"corpora": ("recipes",), "seeds": 1, "chains": 1, "sweeps": 10}
FIRST = 1  # on the first division of the packages the seeds' share and our reading were chosen


class CutLists(NamedTuple):
    given: dict[str, list[str]]
    hidden: dict[str, list[str]]


def cut(lists: Mapping[str, Sequence[str]], seed: int) -> CutLists:
    """Cut each list in two: the larger half is given."""
    rng, given, hidden = np.random.default_rng(seed), {}, {}
    for group, words in lists.items():
        mixed = [str(word) for word in rng.permutation(np.array(words, object))]
        middle = (len(mixed) + 1) // 2
        given[group], hidden[group] = mixed[:middle], mixed[middle:]
    return CutLists(given, hidden)


def average_precision(scores: np.ndarray, given: Sequence[int], hidden: Sequence[int]) -> float:
    """Return the average precision of the hidden words among all that were not given."""
    order = np.argsort(-scores, kind="stable")
    order = order[~np.isin(order, given)]
    hits = np.isin(order, hidden)
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


class RankedWords(NamedTuple):
    """What a model says: scores (groups, V), and of ours the coherence of concepts that took no group."""

    model: str
    setting: str
    scores: np.ndarray
    coherence: float = float("nan")


def ours(
    task: WordLists, given: Mapping[str, list[str]], seed: int, file: Path, chains: int, sweeps: int, jobs: int | None
) -> Iterator[RankedWords]:
    """Yield ours with the seeds and without, from the same start, and what the rows alone rank first."""
    rows = [(word, group) for group, words in given.items() for word in words]
    groups = list(places(task.corpus, given).values())
    write_table(pd.DataFrame(rows, columns=pd.Index(["word", "group"])), file)
    for name, features in ((OURS, f"cooccurrence,seeds:{file}"), (UNGUIDED, "cooccurrence")):
        model = fit(
            task.corpus,
            features=features,
            init="kmeans",
            n_chains=chains,
            n_sweeps=sweeps,
            random_state=seed,
            n_jobs=jobs,
            progress=False,
        )
        yield RankedWords(name, "by rule", _ranked(model.result_, groups), _unguided(model, given))
    company = np.array([by_rows(task.corpus.counts, words).mean(axis=0) for words in groups])
    yield RankedWords(ROWS, "by rule", company)


def _ranked(result: Result, groups: Iterable[Sequence[int]]) -> np.ndarray:
    """Return (groups, V) probabilities that words belong with the given ones."""
    return np.array([belonging(result, words) for words in groups])


def _unguided(model: ConceptModel, given: Mapping[str, list[str]]) -> float:
    """Return mean coherence (NPMI) of the concepts that take no group's words."""
    result = model.result_
    taken = takers(result.summary.words, result.n_concepts, result.corpus.vocabulary, given)
    table = model.concepts()
    return float(table.loc[~table["concept"].isin([j + 1 for j in taken.values()]), "coherence"].mean())


def places(corpus: Corpus, groups: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    number = {word: i for i, word in enumerate(corpus.vocabulary)}
    return {group: [number[word] for word in words] for group, words in groups.items()}


def peers(corpus: Corpus, given: Mapping[str, Sequence[str]], seed: int) -> Iterator[RankedWords]:
    """Yield topica's CorEx with anchors and its seeded LDA, at every setting."""
    topica: Any = import_module("topica")
    names = [str(i) for i in range(corpus.n_words)]
    data = topica.Corpus.from_documents(named_tokens(corpus.counts), vocabulary=names)
    groups = {group: [str(i) for i in words] for group, words in places(corpus, given).items()}
    occurs = sparse.csr_array(corpus.counts[data.kept_indices] > 0, dtype=float)
    for residual in RESIDUALS:
        for strength in ANCHOR_STRENGTHS:
            one = topica.CorEx(len(groups) + residual, anchor_words=groups, anchor_strength=strength, seed=seed)
            one.fit(data, num_threads=1)
            holds = one.doc_topic - one.doc_topic.mean(axis=0)
            sign = np.sign(np.asarray((occurs.T @ holds).T))  # a word that speaks against a topic comes last
            # Mutual information with the topic; times CorEx's own membership, which is 0 or 1 for most, it is worse.
            scores = (sign * np.asarray(one.mis))[: len(groups)]
            yield RankedWords(COREX, f"{residual} more topics, strength {strength:g}", scores)
        model = topica.SeededLDA(groups, residual=residual, seed=seed)
        model.fit(data, iters=ITERATIONS, num_threads=1, keep_theta_draws=False)
        yield RankedWords(SEEDED, f"{residual} more topics", np.asarray(model.topic_word)[: len(groups)])


def _judged(found: RankedWords, task: WordLists, halves: CutLists, seed: int) -> list[dict[str, Any]]:
    given, hidden = places(task.corpus, halves.given), places(task.corpus, halves.hidden)
    base = {"corpus": task.name, "seed": seed, "model": found.model, "setting": found.setting}
    return [
        {
            **base,
            "list": group,
            "hidden": len(hidden[group]),
            "AP": average_precision(found.scores[g], given[group], hidden[group]),
            "coherence": found.coherence,
        }
        for g, group in enumerate(given)
    ]


def summarise(cases: pd.DataFrame) -> pd.DataFrame:
    """Return mean average precision over lists and seeds; of a peer's settings the best for the corpus."""
    tables = []
    for _, part in cases.groupby(["corpus", "model"], sort=False):
        best = str(part.groupby("setting")["AP"].mean().idxmax())
        own = part[part["setting"] == best]
        row = means(own, ["corpus", "model"], "AP", "cases").rename(columns={"AP": "MAP"})
        coherence = own.drop_duplicates("seed")["coherence"].mean()
        numbers: dict[str, Any] = {"lists": own["list"].nunique(), "seeds": own["seed"].nunique(), "setting": best}
        tables.append(row.assign(**numbers, **{"coherence of the others": coherence}))
    return pd.concat(tables, ignore_index=True)


def experiment(
    lab: Lab,
    corpora: tuple[str, ...] = TASKS,
    seeds: int = 3,
    chains: int = defaults.N_CHAINS,
    sweeps: int = defaults.N_SWEEPS,
    first: int = FIRST,
) -> pd.DataFrame:
    """Write cases.csv, every list's average precision as it is found, and seeds.csv, their means."""
    unknown = [name for name in corpora if name not in TASKS]
    if unknown:
        raise InputError(f"There are no lists for {unknown[0]!r}; give some of {', '.join(TASKS)}.")
    cases = lab.growing("cases.csv", chains=chains, sweeps=sweeps)
    for seed in range(first, first + seeds):
        for name in corpora:
            if not cases.has(corpus=name, seed=seed):
                lab.say(f"{name}, seed {seed} …")
                cases.add(_one(read_task(name, lab.data, seed, lab.jobs), seed, chains, sweeps, lab))
    asked = cases.table["corpus"].isin(corpora) & cases.table["seed"].between(first, first + seeds - 1)
    table = summarise(cases.table[asked])
    lab.table("seeds.csv", table, show=True)
    return table


def _one(task: WordLists, seed: int, chains: int, sweeps: int, lab: Lab) -> list[dict[str, Any]]:
    halves, rows = cut(task.lists, seed), []
    file = lab.out / f"{task.name}-{seed}.csv"
    for found in (
        *peers(task.corpus, halves.given, seed),
        *ours(task, halves.given, seed, file, chains, sweeps, lab.jobs),
    ):
        rows += _judged(found, task, halves, seed)
    return rows
