"""How good is it? Labels people gave, reliability and effects on five corpora, beside LDA, STM and BERTopic."""

from __future__ import annotations

from typing import Any

import pandas as pd
from scipy import stats

from experiments.harness import Lab
from superwords.compare.contest import Effort, Runs
from superwords.compare.labels import compare_labels
from superwords.errors import InputError
from superwords.fitting import defaults
from superwords.text.corpus import Corpus
from superwords.text.read import read_documents

TEXT_VECTORS = "text vectors"
N_PACKAGES, LEAST_IN_SECTION = 2000, 20
# By corpus: file, columns to judge by, and what a row is.
CORPORA: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "bills": ("bills.jsonl.gz", ("topic", "subtopic"), "document"),
    "packages": ("debian_packages.jsonl.gz", ("section",), "document"),
    "speeches": ("congress_health_2017_speeches.jsonl.gz", ("party",), None),
    "conventions": ("convention2012.jsonl.gz", ("party",), None),
    "gadarian": ("gadarian.csv", ("treatment",), "document"),
}
QUICK = {"corpora": ("gadarian",), "seeds": 2, "peer_seeds": 2, "chains": 1, "sweeps": 10, "iterations": 20}


def experiment(
    lab: Lab,
    corpora: tuple[str, ...] = tuple(CORPORA),
    peers: tuple[str, ...] = ("lda", "stm", "bertopic"),
    seeds: int = 5,
    peer_seeds: int = 10,
    chains: int = defaults.N_CHAINS,
    sweeps: int = defaults.N_SWEEPS,
    iterations: int = 1000,
    samples: int = 1,
    vectors: bool = False,
) -> pd.DataFrame:
    """Write labels.csv, reliability.csv and effects.csv for each corpus; `samples` 0 leaves out the 80% samples.

    `vectors` adds fits of ours whose rows are placed by vectors of their whole texts beside co-occurrence.
    """
    aligned = []
    for name in corpora:
        if name not in CORPORA:
            raise InputError(f"There is no corpus {name!r}; give some of {', '.join(CORPORA)}.")
        file, columns, _ = CORPORA[name]
        corpus = read_corpus(lab, name)
        lab.say(f"{name} ({file}): {corpus.n_documents:,} rows, {corpus.n_words:,} words")
        found = compare_labels(
            corpus,
            columns,
            peers,
            Runs(Effort(chains, sweeps, iterations, lab.jobs), lab.out / "runs"),
            seeds,
            say=lab.say,
            with_samples=bool(samples),
            variants={f"superwords, {TEXT_VECTORS}": {"row_vectors": "wordllama"}} if vectors else None,
            peer_seeds=peer_seeds,
        )
        lab.table(f"{name}_labels.csv", found["labels"], show=True)
        lab.table(f"{name}_reliability.csv", found["reliability"], show=True)
        lab.table(f"{name}_effects.csv", found["label_effects"], show=True)
        lab.table(f"{name}_runs.csv", found["label_runs"])
        lab.table(f"{name}_ahead.csv", ahead(found["label_runs"]), show=True)
        aligned.append(found["labels"].assign(corpus=name))
    return pd.concat(aligned, ignore_index=True)


def ahead(runs: pd.DataFrame) -> pd.DataFrame:
    """Return by how much ours is ahead of each peer, with 95% intervals over the seeds of both (Welch).

    A peer that no seed changes has one run, and the interval is over our seeds alone.
    """
    rows: list[dict[str, Any]] = []
    is_ours = runs["model"].str.startswith("superwords")
    for (column, name), ours in runs[is_ours].groupby(["column", "model"], sort=False):
        peers = runs[~is_ours & (runs["column"] == column)]
        for (model, number), theirs in peers.groupby(["model", "number"], sort=False):
            row: dict[str, Any] = {"column": column, "ours": name, "against": model, "number": number}
            for measure in ("P1", "ARI", "NMI", "probe"):
                a, b = ours[measure].to_numpy(), theirs[measure].to_numpy()
                test = stats.ttest_1samp(a - b, 0) if len(b) == 1 else stats.ttest_ind(a, b, equal_var=False)
                interval = test.confidence_interval()
                row[measure] = a.mean() - b.mean()
                row[f"{measure} low"], row[f"{measure} high"] = interval.low, interval.high
            rows.append(row)
    return pd.DataFrame(rows)


def read_corpus(lab: Lab, name: str) -> Corpus:
    """Read one corpus as `superwords fit` does, with the columns to judge by."""
    file, columns, unit = CORPORA[name]
    table = pd.read_csv(lab.path(file)) if file.endswith(".csv") else pd.DataFrame(lab.lines(file))
    if name == "packages":
        large = table["section"].value_counts()
        table = table[table["section"].isin(large.index[large >= LEAST_IN_SECTION * len(table) / N_PACKAGES])]
        table = table.sample(N_PACKAGES, random_state=0).reset_index(drop=True)
    if name in ("speeches", "conventions"):
        table = table[table["party"].isin(["D", "R"])].reset_index(drop=True)
    return read_documents(table[["text", *columns]], text="text", unit=unit, n_jobs=lab.jobs, keep_texts=True)
