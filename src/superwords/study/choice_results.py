"""What the answers to tests with right answers say: shares with exact intervals, agreement, controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from superwords.study.choices import CONTROL, chance
from superwords.study.results import ATTENTION, exact_interval


class ChoiceAnswer(NamedTuple):
    """One answer: who, to which task (from 1), and which option (0: the right one)."""

    participant: str
    attention: str
    task: int
    chosen: int


def answer_table(answers: Sequence[ChoiceAnswer], tasks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row per answer, with its task and whether the person answered every control correctly."""
    table = pd.DataFrame(list(answers), columns=pd.Index(ChoiceAnswer._fields))
    asked = [tasks[number - 1] for number in table["task"]]
    table = table.assign(
        kind=[task["kind"] for task in asked],
        concept=[task["concept"] for task in asked],
        correct=table["chosen"] == 0,
    )
    failed = table.loc[(table["kind"] == CONTROL) & ~table["correct"].astype(bool), "participant"]
    return table.assign(attentive=~table["participant"].isin(failed))


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of right answers by kind of test and by group of people, with exact intervals.

    People who failed a control are left out of every group but "everyone, also who failed a control". The interval
    takes answers for independent; `agreement` shows how far people choose alike.
    """
    table = table[table["kind"] != CONTROL]
    groups = {"everyone": table["attentive"]} | {
        level: table["attentive"] & (table["attention"] == level) for level in ATTENTION
    }
    groups["everyone, also who failed a control"] = pd.Series(True, index=table.index)
    rows = []
    for kind, own in table.groupby("kind", sort=False):
        for group, chosen in groups.items():
            part = own[chosen.loc[own.index].astype(bool)]
            if len(part):
                rows.append({"test": kind, "group": group} | _share(part, str(kind)))
    return pd.DataFrame(rows)


def _share(part: pd.DataFrame, kind: str) -> dict[str, Any]:
    n_right = int(part["correct"].sum())
    test = stats.binomtest(n_right, len(part), chance(kind), alternative="greater")
    return {
        "people": part["participant"].nunique(),
        **_right(part),
        "chance": chance(kind),
        "p": float(test.pvalue),
        "alpha": krippendorff_alpha(part),
    }


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
    per_task = counts.sum(axis=1)
    counts = counts[per_task >= 2]
    if not len(counts):
        return float("nan")
    per_task = counts.sum(axis=1, keepdims=True)
    coincidence = (counts.T @ (counts / (per_task - 1))) - np.diag((counts / (per_task - 1)).sum(axis=0))
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
        wrong = {f"opt{k}": text for k, text in enumerate(task["options"][1:], 1)}
        filled = {f"opt{k}": wrong.get(f"opt{k}", "") for k in range(1, most)}
        key = {"local_task_id": number, "type": task["kind"], "topic": task["concept"], "doc": task["text"]}
        rows.append(key | filled | {"optcrt": task["options"][0]})
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
