"""How soon a chain arrives on the debate of Congress: `superwords bench --arrival`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.features import cooccurrence
from superwords.fitting.estimator import ConceptModel
from superwords.lab.baselines import add_documents, tomotopy_module
from superwords.lab.reproduce.congress import load_debate
from superwords.sampler.state import n_concepts

SWEEPS = (1, 10, 40, 120, 300)
START = "kmeans:61"
PART = 4  # every fourth passage
TOPICS, ITERATIONS = 50, 100


def run_arrival(data: Path, tell: Callable[[str], None], seed: int = 0) -> dict[str, Any]:
    """Log joint and concepts per row of one chain after some sweeps, against seconds of CPU; and LDA's iterations."""
    corpus = load_debate(data, unit="passages:5")
    counts = sparse.csr_array(corpus.counts[::PART])
    tell(
        f"{counts.shape[0]} passages, {counts.shape[1]} words, {counts.sum()} tokens; one chain from {START}"
    )
    model = ConceptModel(
        b1="auto", b2="auto", init=START, n_chains=1, n_sweeps=1, n_burn_in=0, random_state=seed
    )
    rows = []
    with threadpool_limits(1):
        for is_counted in (False, True):  # once for the kernels to be compiled
            model.start(counts, cooccurrence(corpus))
            (chain,) = model.chains_
            seconds = 0.0
            for sweep in SWEEPS if is_counted else SWEEPS[:1]:
                start = process_time()
                for _ in chain.advance(sweep - chain.sweep):
                    pass
                seconds += process_time() - start
                if is_counted:
                    rows.append(_row(chain, seconds))
                    tell("  ".join(f"{name} {value:,.1f}" for name, value in rows[-1].items()))
    lda = _seconds_of_lda(counts)
    tell(f"a sweep takes as long as {seconds / SWEEPS[-1] / lda:.1f} iterations of LDA with {TOPICS} topics")
    return {"sweeps": rows, "lda_iteration_seconds": lda}


def _row(chain: Any, seconds: float) -> dict[str, float]:
    state = chain.state
    return {
        "sweep": chain.sweep,
        "CPU seconds": seconds,
        "log joint": chain.log_joint(),
        "concepts": n_concepts(state),
        "concepts per row": len(state.concept) / (len(state.doc_ptr) - 1),
    }


def _seconds_of_lda(counts: sparse.csr_array) -> float:
    tomotopy = tomotopy_module()
    model = tomotopy.LDAModel(k=TOPICS, tw=tomotopy.TermWeight.ONE, min_cf=0, rm_top=0, seed=1)
    add_documents(model, counts)
    model.train(20, workers=1)
    start = process_time()
    model.train(ITERATIONS, workers=1)
    return (process_time() - start) / ITERATIONS
