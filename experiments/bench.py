"""Speed of the sampler on this machine: time per sweep by move, f flips, HDP on the same counts, growth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.generators import Planted, plant_corpus
from experiments.harness import Lab
from experiments.scale import MEASURED, N_SWEEPS, SIZES, run_scale, run_threads
from superwords.compare.peers import named_tokens, tomotopy_module
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.machine import peak_memory
from superwords.sampler.chain import Chain
from superwords.sampler.feature_likelihood import log_features
from superwords.sampler.moves.assignments import impute_tokens
from superwords.sampler.moves.word_inclusion import sweep_words
from superwords.sampler.state import n_concepts, sizes_of

LIBRARIES = ("tomotopy",)


# D, V, concepts, concepts per document, tokens per document, F.
PAPER_SIZE, PASSAGE_SIZE = (100, 682, 60, 30, 1500, 50), (7000, 900, 100, 4, 18, 50)


def prepared(planted: Planted, seed: int = 0, b1: float = 1.0, b2: float = 1.0, **options: Any) -> Chain:
    """Return a chain at its start, with the paper's concentrations unless others are given."""
    model = ConceptModel(b1=b1, b2=b2, n_chains=1, n_sweeps=1, n_burn_in=0, random_state=seed, **options)
    model.start(planted.counts, planted.features)
    return model.chains_[0]


def time_sweeps(chain: Chain, n_warm: int, n_sweeps: int) -> dict[str, Any]:
    """Return milliseconds per sweep, by move, after some sweeps to leave the start behind."""
    with threadpool_limits(1):
        for _ in chain.advance(n_warm):
            pass
        for move in chain.seconds:
            chain.seconds[move] = 0.0
        start = perf_counter()
        for _ in chain.advance(n_sweeps):
            pass
        total = perf_counter() - start
    state = chain.state
    return {
        "ms_per_sweep": 1e3 * total / n_sweeps,
        "ms_by_move": {move: 1e3 * seconds / n_sweeps for move, seconds in chain.seconds.items() if seconds},
        "concepts": n_concepts(state),
        "concepts_per_document": len(state.concept) / (len(state.doc_ptr) - 1),
        "words_on_per_concept_held": len(state.word) / max(1, len(state.concept)),
    }


def time_flips(chain: Chain, n_repeats: int = 3) -> dict[str, float]:
    """Return f flips per second, and how often P(Y|Φ) from scratch could be computed in that time."""
    model, state = chain.model, chain.state
    model = model._replace(steps=model.steps._replace(words=1.0))
    possible = len(state.concept) * len(state.theta)
    fast, slow = np.inf, np.inf
    with threadpool_limits(1):
        for repeat in range(n_repeats):
            tokens = impute_tokens(state, model, chain.stream, repeat)
            sizes = sizes_of(state)
            start = perf_counter()
            sweep_words(state, tokens, sizes, model, chain.stream, repeat)
            fast = min(fast, (perf_counter() - start) / possible)
            start = perf_counter()
            for _ in range(20):
                log_features(sizes, model.data, model.prior)
            slow = min(slow, (perf_counter() - start) / 20)
    return {"flips_per_second": 1 / fast, "from_scratch_per_second": 1 / slow, "times_faster": slow / fast}


def time_hdp(planted: Planted, n_iterations: int) -> float:
    """Return milliseconds per iteration of tomotopy's HDP on the same counts, one worker."""
    tomotopy = tomotopy_module()
    model = tomotopy.HDPModel(tw=tomotopy.TermWeight.ONE, min_cf=0, rm_top=0, seed=1)
    for tokens in filter(None, named_tokens(planted.counts)):
        model.add_doc(tokens)
    model.train(20, workers=1)
    start = perf_counter()
    model.train(n_iterations, workers=1)
    return 1e3 * (perf_counter() - start) / n_iterations


def time_first_sweep() -> dict[str, float]:
    """Return seconds from starting Python to the end of a fit of one sweep, with a cold and a warm cache."""
    program = (
        "from experiments.generators import plant_corpus; from superwords import ConceptModel;"
        "planted = plant_corpus(50, 60, 5, 3, 40, 5);"
        "model = ConceptModel(n_chains=1, n_sweeps=1, n_burn_in=0, n_pilots=0, random_state=0, progress=False);"
        "model.fit(planted.counts, features=planted.features)"
    )
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cold", "warm"):
            start = perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "XDG_CACHE_HOME": folder})
            out[f"{name}_seconds"] = perf_counter() - start
    return out


def experiment(
    lab: Lab, scale: bool = False, sizes: tuple[int, ...] = (), sweeps: int = 0, threads: int = 0
) -> dict[str, Any]:
    """Write bench.json: the speed on two corpora, or with `scale` or `threads` what documents and threads change.

    `sizes` are numbers of documents, and `sweeps` those of each chain, of `scale` and `threads`.
    """
    if threads:
        figures = run_threads((sizes or (16_000,))[0], sweeps or MEASURED, threads, lab.say)
    elif scale:
        figures = run_scale(sizes or SIZES, sweeps or N_SWEEPS, lab.say)
    elif sizes or sweeps:
        raise InputError("--sizes and --sweeps belong to --scale or --threads; give one of them too.")
    else:
        figures = run_bench(lab)
    (lab.out / "bench.json").write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return figures


def run_bench(lab: Lab) -> dict[str, Any]:
    """Measure everything; a quick run leaves out the cold start and shortens the rest."""
    quick, tell = lab.quick, lab.say
    out: dict[str, Any] = {}
    planted = plant_corpus(*PAPER_SIZE)
    chain = prepared(planted, init="kmeans:60")
    out["paper"] = time_sweeps(chain, 5 if quick else 30, 5 if quick else 40)
    tell(_sweep_line("D=100, V=682, F=50, 150,000 tokens", out["paper"]))
    out["flips"] = time_flips(chain)
    tell(
        f"f flips: {out['flips']['flips_per_second']:,.0f} per second, "
        f"{out['flips']['times_faster']:,.0f} times the formula from scratch"
    )
    out["memory_mb"] = peak_memory()
    tell(f"peak memory so far: {out['memory_mb']:.0f} MB")
    hdp = [time_hdp(planted, 20 if quick else 60) for _ in range(2)]
    again = time_sweeps(chain, 0, 5 if quick else 40)
    ours = 1000 * (out["paper"]["ms_per_sweep"] + again["ms_per_sweep"]) / 2 / 1e3
    theirs = 5000 * float(np.mean(hdp)) / 1e3
    out["against_hdp"] = {"ours_seconds": ours, "hdp_seconds": theirs, "ratio": ours / theirs}
    tell(
        f"1,000 of our sweeps: {ours:.0f} s; 5,000 HDP iterations: {theirs:.0f} s (one worker per chain, "
        f"extrapolated from shorter runs, ours before and after HDP's); ratio {ours / theirs:.2f}"
    )
    chain = prepared(plant_corpus(*PASSAGE_SIZE), init="kmeans:100", b1=21000.0, b2=300.0, alpha_omega=0.05)
    out["passages"] = time_sweeps(chain, 3 if quick else 15, 3 if quick else 10)
    tell(_sweep_line("7,000 passages of 18 tokens, V=900, F=50", out["passages"]))
    if not quick:
        out["first_sweep"] = time_first_sweep()
        tell(
            f"first sweep after {out['first_sweep']['cold_seconds']:.0f} s with a cold cache of kernels, "
            f"{out['first_sweep']['warm_seconds']:.1f} s with a warm one"
        )
    return out


def _sweep_line(name: str, result: dict[str, Any]) -> str:
    moves = ", ".join(f"{move} {ms:.1f}" for move, ms in result["ms_by_move"].items())
    return (
        f"{name}: {result['ms_per_sweep']:.0f} ms per sweep ({moves}), {result['concepts']} concepts, "
        f"{result['concepts_per_document']:.1f} per document"
    )
