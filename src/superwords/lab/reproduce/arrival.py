"""How soon a chain comes to a level of log joint, in CPU seconds, on the debate of Congress by passages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.corpus.corpus import Corpus
from superwords.features import cooccurrence
from superwords.fitting.estimator import ConceptModel
from superwords.lab.compare import contenders
from superwords.lab.reproduce.congress import MEMBERS, load_debate
from superwords.lab.reproduce.corpora import data_path
from superwords.lab.reproduce.folder import make_folder, write_table

EVERY = 10  # sweeps between two looks at the log joint

Tell = Callable[[str], None]


def reproduce(
    data: Path,
    folder: Path,
    level: float,
    init: str,
    n_sweeps: int,
    part: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Tell = print,
) -> pd.DataFrame:
    """Writes arrival.csv: sweep, CPU seconds (the start included, compilation and looks left out), log joint."""
    data_path(data, MEMBERS)
    make_folder(folder)
    corpus = load_debate(data, unit="passages:5", n_jobs=n_jobs)
    rows = Corpus.from_counts(sparse.csr_array(corpus.counts[::part]), corpus.vocabulary)
    contenders.warm_up(Corpus.from_counts(sparse.csr_array(rows.counts[::20]), rows.vocabulary))
    tell(f"{rows.n_documents} rows, {rows.n_words} words; from {init} to a log joint of {level:,.0f}")
    table = follow(rows, cooccurrence(corpus), level, init, n_sweeps, seed, tell)
    write_table(table, folder / "arrival.csv")
    tell(verdict(table, level))
    return table


def follow(
    rows: Corpus, features: np.ndarray, level: float, init: str, n_sweeps: int, seed: int, tell: Tell
) -> pd.DataFrame:
    """One chain, until it is at the level or has made its sweeps."""
    began = process_time()
    model = ConceptModel(init=init, n_chains=1, n_jobs=1, random_state=seed, progress=False)
    model.start(rows, features)
    chain = model.chains_[0]
    seconds, seen = process_time() - began, []
    while True:
        log_joint = chain.log_joint()
        seen.append((chain.sweep, seconds, log_joint, int(chain.state.concept.max()) + 1))
        tell(f"  sweep {chain.sweep}: {seconds:.0f} s, log joint {log_joint:,.0f}, {seen[-1][3]} concepts")
        if log_joint >= level or chain.sweep >= n_sweeps:
            return pd.DataFrame(seen, columns=pd.Index(["sweep", "seconds", "log_joint", "concepts"]))
        began = process_time()
        for _ in range(min(EVERY, n_sweeps - chain.sweep)):
            chain.step()
        seconds += process_time() - began


def verdict(table: pd.DataFrame, level: float) -> str:
    """When the level was first seen, or how far the chain is from it."""
    last = table.iloc[-1]
    if last["log_joint"] >= level:
        return f"At the level after {last['sweep']:.0f} sweeps and {last['seconds']:.0f} s of CPU."
    return (
        f"Not at the level after {last['sweep']:.0f} sweeps and {last['seconds']:.0f} s of CPU: "
        f"{level - last['log_joint']:,.0f} nats short."
    )
