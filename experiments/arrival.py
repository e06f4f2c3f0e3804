"""How soon a chain arrives, and how fast it mixes then, in CPU seconds on the debate of Congress by passages."""

from __future__ import annotations

from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.congress import MEMBERS, load_debate
from experiments.harness import Lab
from superwords.compare import contest
from superwords.compare.peers import named_tokens, tomotopy_module
from superwords.features import cooccurrence
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.traces import statistic
from superwords.sampler.state import n_concepts
from superwords.text.corpus import Corpus

EVERY = 10  # sweeps between two looks at the log joint
TOPICS, WARM, ITERATIONS = 50, 20, 60  # of LDA, which a sweep is measured by
TRACED = ("log_joint", "concepts", "per_row")
NEEDS, LIBRARIES, QUICK = (MEMBERS,), ("tomotopy",), {"sweeps": 20, "part": 20}


class Run(NamedTuple):
    """How one chain is to run."""

    init: str
    n_sweeps: int
    level: float | None = None  # the chain ends at this log joint
    is_then: bool = False  # with the hyperparameters of version 56e1e23
    seed: int = 0


def experiment(
    lab: Lab,
    level: float | None = None,
    then: bool = False,
    init: str = defaults.INIT,
    sweeps: int = defaults.N_SWEEPS,
    seed: int = 0,
    part: int = 1,
) -> pd.DataFrame:
    """Write arrival.csv: sweep, CPU seconds (without compilation), log joint and number of concepts.

    The chain ends at the log joint `level`; `then` uses the b₁ and b₂ of version 56e1e23; `part` takes every
    part-th row.
    """
    run = Run(init, sweeps, level, then, seed)
    corpus = load_debate(lab.data, unit="passages:5", n_jobs=lab.jobs)
    rows = Corpus.from_counts(sparse.csr_array(corpus.counts[::part]), corpus.vocabulary)
    contest.warm_up(Corpus.from_counts(sparse.csr_array(rows.counts[::20]), rows.vocabulary))
    lab.say(f"{rows.n_documents} rows, {rows.n_words} words; from {init}")
    with threadpool_limits(1):
        table = follow(rows, cooccurrence(corpus), run, lab)
        lab.table("arrival.csv", table)
        per_sweep = float(np.diff(table["seconds"]).sum() / max(1, table["sweep"].iloc[-1]))
        iteration = seconds_of_lda(rows.counts)
    lab.say(
        f"A sweep takes {1e3 * per_sweep:.0f} ms of CPU, as long as {per_sweep / iteration:.1f} iterations of LDA with "
        f"{TOPICS} topics."
    )
    lab.say(mixing_summary(table) if level is None else verdict(table, level))
    return table


def follow(rows: Corpus, features: np.ndarray, run: Run, lab: Lab) -> pd.DataFrame:
    """Follow one chain until the level is reached or the sweeps are done; look at every sweep of the second half."""
    began = process_time()
    b1, b2 = (3.0 * rows.n_documents, 10 + rows.n_documents / 30) if run.is_then else ("auto", "auto")
    model = ConceptModel(b1=b1, b2=b2, init=run.init, n_chains=1, n_jobs=1, random_state=run.seed, progress=False)
    model.start(rows, features)
    chain = model.chains_[0]
    seconds, seen = process_time() - began, []
    while True:
        state, log_joint = chain.state, chain.log_joint()
        n, per_row = n_concepts(state), len(state.concept) / rows.n_documents
        row = {"sweep": chain.sweep, "seconds": seconds, "log_joint": log_joint}
        seen.append(row | {"concepts": n, "per_row": per_row})
        is_end = chain.sweep >= run.n_sweeps or (run.level is not None and log_joint >= run.level)
        if is_end or chain.sweep % EVERY == 0:
            lab.say(f"  sweep {chain.sweep}: {seconds:.1f} s, log joint {log_joint:,.0f}, {n} concepts")
        if is_end:
            return pd.DataFrame(seen)
        is_every = run.level is None and chain.sweep >= run.n_sweeps // 2
        began = process_time()
        for _ in range(1 if is_every else min(EVERY, run.n_sweeps - chain.sweep)):
            chain.step()
        seconds += process_time() - began


def mixing_summary(table: pd.DataFrame) -> str:
    """Return effective samples per second of CPU in the second half of the sweeps."""
    half = table[table["sweep"] >= table["sweep"].iloc[-1] // 2]
    if len(half) < 8:
        return "Too few sweeps to tell how the chain mixes."
    seconds = half["seconds"].iloc[-1] - half["seconds"].iloc[0]
    ess = {name: statistic("ess", half[name].to_numpy(float)[None]) / seconds for name in TRACED}
    summary = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in ess.items())
    return f"Effective samples per second of CPU in the second half: {summary}."


def verdict(table: pd.DataFrame, level: float) -> str:
    """Return when the level was first seen, or how far the chain is from it."""
    last = table.iloc[-1]
    if last["log_joint"] >= level:
        return f"At the level after {last['sweep']:.0f} sweeps and {last['seconds']:.0f} s of CPU."
    return (
        f"Not at the level after {last['sweep']:.0f} sweeps and {last['seconds']:.0f} s of CPU: "
        f"{level - last['log_joint']:,.0f} nats short."
    )


def seconds_of_lda(counts: sparse.csr_array) -> float:
    """Return CPU seconds of an iteration of LDA on the same rows, one worker."""
    tomotopy = tomotopy_module()
    model = tomotopy.LDAModel(k=TOPICS, tw=tomotopy.TermWeight.ONE, min_cf=0, rm_top=0, seed=1)
    for tokens in filter(None, named_tokens(counts)):
        model.add_doc(tokens)
    model.train(WARM, workers=1)
    start = process_time()
    model.train(ITERATIONS, workers=1)
    return (process_time() - start) / ITERATIONS
