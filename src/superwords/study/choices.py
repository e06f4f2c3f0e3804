"""Tests of a model by people with right answers: intruding words, intruding documents, and labels of documents.

As in Chang et al. (2009), oolong and validateIt: a person picks what does not belong, or the label that fits. Every
listed concept has a task of each kind. Controls with an obvious answer show who reads the questions. The answers give
shares with exact intervals, and agreement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from superwords.errors import InputError
from superwords.study.pairs import CHOICE_FORMAT, concept_weights, new_study
from superwords.study.results import ATTENTION, LEVEL, exact_interval
from superwords.tabular import shortened

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

WORDS, DOCUMENTS, LABELS, CONTROL = "word intrusion", "document intrusion", "label", "control"
QUESTIONS = {
    WORDS: "Which word does not belong with the others?",
    DOCUMENTS: "Which text is about something else than the others?",
    LABELS: "Which label fits this text best?",
}
N_WORDS, N_DOCUMENTS, N_LABELS = 5, 3, 4  # shown beside the intruder; labels in all
N_CONTROLS = 2
EXCERPT = 600  # characters of a text
_LEAST_WEIGHT = 0.2  # of a concept in a document that represents it
_TOP_SHARE = 0.02  # an intruding word is among this share of another concept's words, at least ten


class Task(NamedTuple):
    """A question with its options; the first option is the right answer, and people see them shuffled."""

    kind: str
    concept: int  # from 1; 0: a control
    question: str
    text: str  # shown above the options; may be empty
    options: tuple[str, ...]


def make_tasks(
    model: ConceptModel, kinds: Sequence[str], seed: int = 0, texts: Sequence[str] | None = None
) -> list[Task]:
    """Return a task of each kind for every concept in the list, and the controls.

    `texts` are those of the documents, where the model does not keep them.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(f"{unknown[0]!r} is not a test; give some of {', '.join(KINDS)}.")
    table = model.concepts(3)
    shown = table[~table["leftover"].to_numpy(dtype=bool)]
    listed = dict(zip(shown["concept"].astype(int), shown["name"].astype(str)))
    if len(listed) < N_LABELS:
        raise InputError(f"The model lists {len(listed)} concepts; these tests need at least {N_LABELS}.")
    given = texts if texts is not None else model.corpus_.texts
    if given is None and {"documents", "labels"} & set(kinds):
        raise InputError("The model does not keep the texts, so only `--test words` can be asked.")
    rng = np.random.default_rng([seed, 2009])
    tasks = [task for kind in kinds for task in KINDS[kind](model, listed, given or (), rng)]
    # Questions that name their own answer, as survey researchers ask them.
    vocabulary = model.corpus_.vocabulary
    for words in rng.permutation(len(vocabulary))[: N_LABELS * N_CONTROLS].reshape(-1, N_LABELS):
        options = tuple(vocabulary[i] for i in words)
        question = f"To show that you read the questions, choose the word “{options[0]}”."
        tasks.append(Task(CONTROL, 0, question, "", options))
    return tasks


def _word_tasks(
    model: ConceptModel, listed: Mapping[int, str], texts: Sequence[str], rng: np.random.Generator
) -> Iterator[Task]:
    """Make word tasks: the intruder is a leading word of another concept that this one does not have."""
    weights, vocabulary = concept_weights(model), model.corpus_.vocabulary
    order = np.argsort(-weights, axis=1, kind="stable")
    n_leading = max(10, int(_TOP_SHARE * len(vocabulary)))
    leading = {int(i) for j in listed for i in order[j - 1, :n_leading] if weights[j - 1, i] > 0}
    for j in listed:
        own = [i for i in order[j - 1, :N_WORDS] if weights[j - 1, i] > 0]
        others = sorted(i for i in leading if weights[j - 1, i] == 0)
        if len(own) >= 2 and others:
            options = (vocabulary[int(rng.choice(others))], *(vocabulary[i] for i in own))
            yield Task(WORDS, j, QUESTIONS[WORDS], "", options)


def _document_tasks(
    model: ConceptModel, listed: Mapping[int, str], texts: Sequence[str], rng: np.random.Generator
) -> Iterator[Task]:
    """Make document tasks: the texts of most weight, and one that does not use the concept."""
    weights = model.result_.weights.toarray()
    for j in listed:
        own = np.argsort(-weights[:, j - 1], kind="stable")[:N_DOCUMENTS]
        own = own[weights[own, j - 1] >= _LEAST_WEIGHT]
        without = np.flatnonzero((weights[:, j - 1] == 0) & (weights.max(axis=1) >= _LEAST_WEIGHT))
        if len(own) == N_DOCUMENTS and len(without):
            options = tuple(shortened(texts[d], EXCERPT) for d in (int(rng.choice(without)), *own))
            if len(set(options)) == len(options):
                yield Task(DOCUMENTS, j, QUESTIONS[DOCUMENTS], "", options)


def _label_tasks(
    model: ConceptModel, listed: Mapping[int, str], texts: Sequence[str], rng: np.random.Generator
) -> Iterator[Task]:
    """Make label tasks: a text, the name of its heaviest concept, and names of concepts it does not use."""
    weights = model.result_.weights.toarray()
    for j, name in listed.items():
        own = np.flatnonzero((weights.argmax(axis=1) == j - 1) & (weights[:, j - 1] >= _LEAST_WEIGHT))
        if not len(own):
            continue
        d = int(rng.choice(own))
        others = {label for k, label in listed.items() if weights[d, k - 1] == 0 and label != name}
        if len(others) >= N_LABELS - 1:
            wrong = rng.choice(sorted(others), N_LABELS - 1, replace=False)
            yield Task(LABELS, j, QUESTIONS[LABELS], shortened(texts[d], EXCERPT), (name, *map(str, wrong)))


KINDS = {"words": _word_tasks, "documents": _document_tasks, "labels": _label_tasks}


def build_choice_study(tasks: Sequence[Task], title: str, subject: str, per_person: int) -> dict[str, Any]:
    """Return the study as plain data, as `study serve` reads it."""
    if not any(task.kind != CONTROL for task in tasks):
        raise InputError("No concept has a task; fit a model with more concepts, or ask another test.")
    plain = [task._asdict() | {"options": list(task.options)} for task in tasks]
    return new_study(CHOICE_FORMAT, title, subject, per_person=per_person, tasks=plain)


def chance(kind: str) -> float:
    """Return the share of right answers by guessing."""
    return {WORDS: 1 / (N_WORDS + 1), DOCUMENTS: 1 / (N_DOCUMENTS + 1)}.get(kind, 1 / N_LABELS)


def power(n_answers: int, rate: float, guessing: float) -> float:
    """Return the probability that an exact one-sided 2.5% test finds `rate` above `guessing`."""
    least = int(stats.binom.isf((1 - LEVEL) / 2, n_answers, guessing)) + 1
    return float(stats.binom.sf(least - 1, n_answers, rate))


def answers_needed(difference: float, rate: float = 0.7, probability: float = 0.8) -> int:
    """Return the answers per model that find a difference between two models' shares of right answers.

    By the usual normal formula for two proportions, two-sided 5%, with this probability.
    """
    if not 0 < difference < rate:
        raise InputError(f"The difference {difference:g} must lie between 0 and the rate {rate:g}.")
    low, mean = rate - difference, rate - difference / 2
    z, power_z = stats.norm.ppf((1 + LEVEL) / 2), stats.norm.ppf(probability)
    spread = z * np.sqrt(2 * mean * (1 - mean)) + power_z * np.sqrt(rate * (1 - rate) + low * (1 - low))
    return int(np.ceil((spread / difference) ** 2))


def answer_table(answers: Iterable[tuple[str, str, int, int]], tasks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row per answer, with its task and whether the person answered every control correctly.

    An answer is a participant, the level of attention, the task (from 1) and the option (0: the right one).
    """
    table = pd.DataFrame(list(answers), columns=pd.Index(["participant", "attention", "task", "chosen"]))
    asked = pd.DataFrame(list(tasks), index=range(1, len(tasks) + 1))[["kind", "concept"]]
    table = table.join(asked, on="task").assign(correct=table["chosen"] == 0)
    failed = table.loc[(table["kind"] == CONTROL) & ~table["correct"].astype(bool), "participant"]
    return table.assign(attentive=~table["participant"].isin(failed))


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of right answers by kind of test and by group of people, with exact intervals.

    People who failed a control are left out of every group but "everyone, also who failed a control". The interval
    takes answers for independent; `alpha` shows how far people choose alike.
    """
    rows = []
    for kind, own in table[table["kind"] != CONTROL].groupby("kind", sort=False):
        kept, guessing = own[own["attentive"].astype(bool)], chance(str(kind))
        groups = {"everyone": kept} | {level: kept[kept["attention"] == level] for level in ATTENTION}
        for group, part in (groups | {"everyone, also who failed a control": own}).items():
            if len(part):
                test = stats.binomtest(int(part["correct"].sum()), len(part), guessing, alternative="greater")
                row = {"test": kind, "group": group, "people": part["participant"].nunique(), **_right(part)}
                rows.append(row | {"chance": guessing, "p": float(test.pvalue), "alpha": krippendorff_alpha(part)})
    return pd.DataFrame(rows)


def by_concept(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of right answers for every concept and test, of people who passed the controls."""
    kept = table[(table["kind"] != CONTROL) & table["attentive"].astype(bool)]
    return pd.DataFrame(
        {"concept": concept, "test": kind, **_right(part)}
        for (concept, kind), part in kept.groupby(["concept", "kind"])
    )


def _right(part: pd.DataFrame) -> dict[str, Any]:
    """Return the share of right answers with its exact interval."""
    right, n = int(part["correct"].sum()), len(part)
    low, high = exact_interval(right, n)
    return {"answers": n, "right": right / n, "low": low, "high": high}


def krippendorff_alpha(table: pd.DataFrame) -> float:
    """Return Krippendorff's α (nominal) of the options chosen; NaN where no task has two answers.

    Options are numbered within each task, the right one 0; where nearly everyone is right, α is low although people
    agree.
    """
    counts = pd.crosstab(table["task"], table["chosen"]).to_numpy(float)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return float("nan")
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidence = counts.T @ weighted - np.diag(weighted.sum(axis=0))
    total = coincidence.sum(axis=0)
    n = total.sum()
    observed = 1 - np.trace(coincidence) / n
    expected = 1 - float((total * (total - 1)).sum() / (n * (n - 1)))
    return float("nan") if expected == 0 else 1 - observed / expected


def record_table(tasks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the tasks in the manner of validateIt: topic, doc, options, and the right one (`optcrt`) last."""
    most = max(len(task["options"]) for task in tasks)
    rows = []
    for number, task in enumerate(tasks, 1):
        right, *wrong = task["options"]
        row = {"local_task_id": number, "type": task["kind"], "topic": task["concept"], "doc": task["text"]}
        row |= {f"opt{k}": text for k, text in enumerate(wrong + [""] * (most - 1 - len(wrong)), 1)}
        rows.append(row | {"optcrt": right})
    return pd.DataFrame(rows)


def result_table(table: pd.DataFrame, tasks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the answers in the manner of validateIt: task, worker, the option chosen, and whether it is right."""
    workers = {one: k for k, one in enumerate(sorted(table["participant"].unique()), 1)}
    return pd.DataFrame(
        {
            "local_task_id": table["task"],
            "worker_id": table["participant"].map(workers),
            "topic": table["concept"],
            "type": table["kind"],
            "result": [tasks[t - 1]["options"][k] for t, k in zip(table["task"], table["chosen"])],
            "correct": table["correct"].astype(int),
            "familiarity": table["attention"],
            "passed_controls": table["attentive"].astype(int),
        }
    )
