"""How soon a chain arrives, and how fast it mixes then, in CPU seconds on the debate of Congress by passages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.corpus.corpus import Corpus
from superwords.draws import statistic
from superwords.features import cooccurrence
from superwords.fitting.estimator import ConceptModel
from superwords.lab.baselines import add_documents, tomotopy_module
from superwords.lab.compare import contenders
from superwords.lab.reproduce.congress import MEMBERS, load_debate
from superwords.lab.reproduce.corpora import data_path
from superwords.lab.reproduce.folder import make_folder, write_table
from superwords.sampler.chain import Chain
from superwords.sampler.state import n_concepts

EVERY = 10  # sweeps between two looks at the log joint
TOPICS, WARM, ITERATIONS = 50, 20, 60  # of LDA, which a sweep is measured by
TRACED = ("log_joint", "concepts", "per_row")

Tell = Callable[[str], None]


class Run(NamedTuple):
    """How one chain is to run."""

    init: str
    n_sweeps: int
    level: float | None = None  # the chain ends at this log joint
    is_then: bool = False  # with the hyperparameters of version 56e1e23
    seed: int = 0


def reproduce(
    data: Path, folder: Path, run: Run, part: int = 1, n_jobs: int | None = None, tell: Tell = print
) -> pd.DataFrame:
    """Writes arrival.csv: sweep, CPU seconds (with the start, without compilation and looks), log joint, concepts."""
    data_path(data, MEMBERS)
    tomotopy_module()  # said before anything is run
    make_folder(folder)
    corpus = load_debate(data, unit="passages:5", n_jobs=n_jobs)
    rows = Corpus.from_counts(sparse.csr_array(corpus.counts[::part]), corpus.vocabulary)
    contenders.warm_up(Corpus.from_counts(sparse.csr_array(rows.counts[::20]), rows.vocabulary))
    tell(f"{rows.n_documents} rows, {rows.n_words} words; from {run.init}")
    with threadpool_limits(1):
        table = follow(rows, cooccurrence(corpus), run, tell)
        write_table(table, folder / "arrival.csv")
        per_sweep = float(np.diff(table["seconds"]).sum() / max(1, table["sweep"].iloc[-1]))
        iteration = seconds_of_lda(rows.counts)
    tell(
        f"A sweep takes {1e3 * per_sweep:.0f} ms of CPU, as long as {per_sweep / iteration:.1f} iterations of LDA with "
        f"{TOPICS} topics."
    )
    tell(told_mixing(table) if run.level is None else verdict(table, run.level))
    return table


def follow(rows: Corpus, features: np.ndarray, run: Run, tell: Tell) -> pd.DataFrame:
    """One chain, until it is at the level or has made its sweeps; in the second half every sweep is looked at."""
    began = process_time()
    b1, b2 = (3.0 * rows.n_documents, 10 + rows.n_documents / 30) if run.is_then else ("auto", "auto")
    model = ConceptModel(
        b1=b1, b2=b2, init=run.init, n_chains=1, n_jobs=1, random_state=run.seed, progress=False
    )
    model.start(rows, features)
    chain = model.chains_[0]
    seconds, seen = process_time() - began, []
    while True:
        seen.append({"sweep": chain.sweep, "seconds": seconds, **_look(chain)})
        log_joint = seen[-1]["log_joint"]
        is_end = chain.sweep >= run.n_sweeps or (run.level is not None and log_joint >= run.level)
        if is_end or chain.sweep % EVERY == 0:
            tell(
                f"  sweep {chain.sweep}: {seconds:.1f} s, log joint {log_joint:,.0f}, "
                f"{n_concepts(chain.state)} concepts"
            )
        if is_end:
            return pd.DataFrame(seen)
        is_every = run.level is None and chain.sweep >= run.n_sweeps // 2
        began = process_time()
        for _ in range(1 if is_every else min(EVERY, run.n_sweeps - chain.sweep)):
            chain.step()
        seconds += process_time() - began


def _look(chain: Chain) -> dict[str, float]:
    state = chain.state
    per_row = len(state.concept) / (len(state.doc_ptr) - 1)
    return {"log_joint": chain.log_joint(), "concepts": n_concepts(state), "per_row": per_row}


def told_mixing(table: pd.DataFrame) -> str:
    """Effective samples per second of CPU in the second half of the sweeps."""
    half = table[table["sweep"] >= table["sweep"].iloc[-1] // 2]
    if len(half) < 8:
        return "Too few sweeps to tell how the chain mixes."
    seconds = half["seconds"].iloc[-1] - half["seconds"].iloc[0]
    ess = {name: statistic("ess", half[name].to_numpy(float)[None]) / seconds for name in TRACED}
    told = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in ess.items())
    return f"Effective samples per second of CPU in the second half: {told}."


def verdict(table: pd.DataFrame, level: float) -> str:
    """When the level was first seen, or how far the chain is from it."""
    last = table.iloc[-1]
    if last["log_joint"] >= level:
        return f"At the level after {last['sweep']:.0f} sweeps and {last['seconds']:.0f} s of CPU."
    return (
        f"Not at the level after {last['sweep']:.0f} sweeps and {last['seconds']:.0f} s of CPU: "
        f"{level - last['log_joint']:,.0f} nats short."
    )


def seconds_of_lda(counts: sparse.csr_array) -> float:
    """Of CPU, for an iteration on the same rows by one worker."""
    tomotopy = tomotopy_module()
    model = tomotopy.LDAModel(k=TOPICS, tw=tomotopy.TermWeight.ONE, min_cf=0, rm_top=0, seed=1)
    add_documents(model, counts)
    model.train(WARM, workers=1)
    start = process_time()
    model.train(ITERATIONS, workers=1)
    return (process_time() - start) / ITERATIONS
