"""How time and memory grow with the corpus: `python -m experiments bench --scale`.

Corpora are generated with 300 concepts over 10,000 words with 50 features; each size is measured in a process of its
own, so that its memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.generators import Planted
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.machine import n_workers, peak_memory
from superwords.sampler.state import n_concepts, sizes_of

SIZES = (1_000, 4_000, 16_000, 64_000, 100_000)
N_WORDS, N_CONCEPTS, N_FEATURES = 10_000, 300, 50
LENGTH, PER_DOCUMENT = 100, 4
N_SWEEPS, MEASURED = 200, 5
LEAST_JACCARD = 0.5
# A word belongs to a concept found if this share of the documents that hold it have the word on. They can show no more
# than they use: of some 40 words by about 25 tokens two fifths.
_MEMBER = 0.2
_BLOCK = 200  # documents generated at a time
_USED = 0.8  # share of a concept's words that a document has on
_NOISE = 0.5


def plant_large(n_documents: int, seed: int = 0) -> Planted:
    """Plant documents of about 100 tokens from about four of 300 concepts, in time linear in the tokens."""
    rng = np.random.default_rng([seed, 23])
    truth = np.zeros((N_CONCEPTS, N_WORDS), bool)
    truth[rng.permutation(np.arange(N_WORDS) % N_CONCEPTS), np.arange(N_WORDS)] = True
    second = rng.random(N_WORDS) < 0.3
    truth[rng.integers(N_CONCEPTS, size=N_WORDS), np.arange(N_WORDS)] |= second
    popularity = rng.gamma(2.0, size=N_CONCEPTS)
    blocks, holds = [], []
    for start in range(0, n_documents, _BLOCK):
        n = min(_BLOCK, n_documents - start)
        held = _held(n, popularity, rng)
        holds.append(held)
        blocks.append(_counts(held, truth, rng))
    centres = rng.normal(size=(N_CONCEPTS, N_FEATURES))
    features = (truth / truth.sum(axis=0)).T @ centres + _NOISE * rng.normal(size=(N_WORDS, N_FEATURES))
    counts = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return Planted(counts, features, truth, np.vstack(holds))


def _held(n_documents: int, popularity: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the (D, J) concepts of each document, the popular ones more often (a race of exponentials)."""
    race = rng.exponential(size=(n_documents, N_CONCEPTS)) / popularity
    place = race.argsort(axis=1).argsort(axis=1)
    return place < np.maximum(rng.poisson(PER_DOCUMENT, n_documents), 1)[:, None]


def _counts(held: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
    """Draw (D, V) tokens of documents that hold these concepts, each with its own variant of their words."""
    document, concept = np.nonzero(held)
    share = rng.gamma(1.0, size=len(document))
    total = np.bincount(document, share, len(held))
    length = rng.poisson(LENGTH, len(held))
    tokens = rng.poisson(length[document] * share / total[document])
    on = truth[concept] & (rng.random((len(concept), truth.shape[1])) < _USED)
    n_on = on.sum(axis=1)
    first = np.concatenate([[0], np.cumsum(n_on)])
    words = np.nonzero(on)[1]
    pair = np.repeat(np.arange(len(concept)), np.where(n_on > 0, tokens, 0))
    picked = words[first[pair] + (rng.random(len(pair)) * n_on[pair]).astype(np.int64)]
    shape = len(held), truth.shape[1]
    ones = np.ones(len(pair), np.int64)
    return sparse.csr_array(sparse.coo_array((ones, (document[pair], picked)), shape=shape))


def matched(truth: np.ndarray, on: np.ndarray) -> float:
    """Return the share of true concepts that some concept found has a Jaccard index of at least .5 with."""
    both = truth.astype(float) @ on.T.astype(float)
    either = truth.sum(axis=1)[:, None] + on.sum(axis=1)[None, :] - both
    return float((both / np.maximum(either, 1) >= LEAST_JACCARD).any(axis=1).mean()) if len(on) else 0.0


def measure(n_documents: int, n_sweeps: int, seed: int = 0) -> dict[str, Any]:
    """Measure seconds per sweep and megabytes of one chain on all cores, and the true concepts found."""
    planted = plant_large(n_documents, seed)
    before = perf_counter()
    model = ConceptModel(b1="auto", b2="auto", n_chains=1, n_sweeps=1, n_burn_in=0, random_state=seed)
    model.start(planted.counts, planted.features)
    chain = model.chains_[0]
    chain.n_threads = n_workers(None)
    start_seconds = perf_counter() - before
    with threadpool_limits(1):
        seconds, cpu = [], []
        for _ in range(n_sweeps):
            before, cpu_before = perf_counter(), process_time()
            chain.step()
            seconds.append(perf_counter() - before)
            cpu.append(process_time() - cpu_before)
    sizes = sizes_of(chain.state)
    on = sizes.m >= _MEMBER * np.maximum(sizes.holders, 1)[:, None]
    return {
        "documents": n_documents,
        "tokens": int(planted.counts.sum()),
        "start_seconds": start_seconds,
        "threads": chain.n_threads,
        "seconds_per_sweep": float(np.median(seconds[-MEASURED:])),
        "cpu_seconds_per_sweep": float(np.median(cpu[-MEASURED:])),
        "memory_mb": peak_memory(),
        "concepts": n_concepts(chain.state),
        "matched": matched(planted.truth, on),
        "sweeps": n_sweeps,
    }


def run_threads(n_documents: int, n_sweeps: int, n_threads: int, tell: Callable[[str], object]) -> dict[str, Any]:
    """Time one chain with one thread and with several, by move."""
    planted = plant_large(n_documents)
    model = ConceptModel(n_chains=1, n_sweeps=1, n_burn_in=0, random_state=0)
    model.start(planted.counts, planted.features)
    chain = model.chains_[0]
    with threadpool_limits(1):
        chain.step()
        at = chain.position()
        seconds = {}
        for n in (1, n_threads):
            chain.go_to(at._replace(seconds={}))
            chain.n_threads = n
            for _ in range(n_sweeps):
                chain.step()
            seconds[n] = {name: taken / n_sweeps for name, taken in chain.seconds.items()}
    alone, together = sum(seconds[1].values()), sum(seconds[n_threads].values())
    tell(
        f"{n_documents:,} documents, one chain: {alone:.2f} s a sweep with one thread, {together:.2f} s with "
        f"{n_threads}: {alone / together:.2f} times as fast"
    )
    for name, taken in seconds[1].items():
        tell(f"  {name}: {taken:.3f} s with one thread, {seconds[n_threads][name]:.3f} s with {n_threads}")
    return {"documents": n_documents, "threads": n_threads, "seconds": seconds}


def run_scale(sizes: Sequence[int], n_sweeps: int, tell: Callable[[str], object]) -> dict[str, Any]:
    """Measure every size in its own process, and the exponents with which time and memory grow."""
    rows = []
    for size in sizes:
        given = map(str, (size, n_sweeps, N_WORDS, N_CONCEPTS))
        program = [sys.executable, "-m", "experiments.scale", *given]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["killed, perhaps for want of memory"]
            raise InputError(f"{size:,} documents could not be measured: {last[0]}.")
        row = json.loads(done.stdout)
        rows.append(row)
        tell(
            f"{row['documents']:,} documents, {row['tokens']:,} tokens: {row['seconds_per_sweep']:.2f} s a sweep "
            f"({row['threads']} threads, {row['cpu_seconds_per_sweep']:.2f} s of CPU), "
            f"{row['memory_mb']:,.0f} MB, {row['concepts']} concepts, {row['matched']:.0%} of the true ones matched "
            f"after {row['sweeps']} sweeps"
        )
    out: dict[str, Any] = {"sizes": rows}
    if len(rows) > 1:
        table = pd.DataFrame(rows)
        for name in ("cpu_seconds_per_sweep", "memory_mb"):
            out[f"exponent_{name}"] = exponent(table["documents"].to_numpy(), table[name].to_numpy())
        tell(
            f"CPU time grows with the documents to the power {out['exponent_cpu_seconds_per_sweep']:.2f}, "
            f"memory to the power {out['exponent_memory_mb']:.2f}"
        )
    return out


def exponent(sizes: np.ndarray, values: np.ndarray) -> float:
    """Return the slope of log(values) on log(sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


if __name__ == "__main__":
    size, sweeps, N_WORDS, N_CONCEPTS = map(int, sys.argv[1:])
    print(json.dumps(measure(size, sweeps)))
