"""What the approximation by shards costs beside the exact chain, on descriptions of Debian packages."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from experiments.harness import Lab
from superwords.compare.contest import from_draws, word_frequencies
from superwords.compare.judging import log_probability
from superwords.errors import InputError
from superwords.features import cooccurrence
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.alignment import find_partners, handful
from superwords.sampler.fold_in import make_halves
from superwords.text.corpus import Corpus
from superwords.text.read import read_documents

FILE = "debian_packages.jsonl.gz"
HELD_OUT = 0.1
NEEDS, QUICK = (FILE,), {"rows": 400, "sweeps": 10}
_DRAWS = 0  # which seed of numpy picks the packages


def experiment(
    lab: Lab,
    rows: int = 8000,
    ways: tuple[str, ...] = ("shards:4", "shards:8"),
    chains: int = 1,
    sweeps: int = defaults.N_SWEEPS,
) -> pd.DataFrame:
    """Write shards.csv, a row for each fit: the exact chain with two seeds, then each approximation."""
    corpus = _packages(lab, rows)
    rng = np.random.default_rng(_DRAWS)
    held_out = np.sort(rng.permutation(rows)[: int(HELD_OUT * rows)])
    seen = np.setdiff1d(np.arange(rows), held_out)
    train = Corpus.from_counts(sparse.csr_array(corpus.counts[seen]), corpus.vocabulary)
    halves = make_halves(sparse.csr_array(corpus.counts[held_out]))
    frequency = word_frequencies(train)[halves.word]
    lab.say(f"{train.n_documents:,} packages, {train.n_words:,} words; {len(held_out):,} packages held out.")
    features = cooccurrence(train)
    reference: ConceptModel | None = None
    found = []
    effort: dict[str, Any] = {"n_chains": chains, "n_sweeps": sweeps, "n_jobs": lab.jobs, "progress": False}
    fits: list[tuple[str, str | None, int]] = [("exact", None, 1), ("exact, another seed", None, 2)]
    for name, approximate, seed in [*fits, *((way, way, 1) for way in ways)]:
        start = process_time()
        model = ConceptModel(random_state=seed, approximate=approximate, **effort)
        model.fit(train, features=features)
        seconds = process_time() - start
        reference = reference or model
        likelihood = log_probability(from_draws(model, halves), frequency).mean()
        row = {"fit": name, "concepts": model.n_concepts_, **beside(reference, model)}
        found.append(row | {"perplexity": float(np.exp(-likelihood)), "cpu_seconds": seconds})
        lab.table("shards.csv", pd.DataFrame(found), show=True)
    return pd.DataFrame(found)


def beside(reference: ConceptModel, other: ConceptModel) -> dict[str, float]:
    """Return how much of the reference is found again.

    `matched` is the share of its concepts, leftovers left out, that have a partner; `matched_holders` the same with a
    concept counting by the documents that hold it; `same_weight` the share of documents' weight that both give to
    partners.
    """
    partner = find_partners(*(one.result_.consensus.description for one in (reference, other))).of
    rows = reference.concepts(0)["rows"].to_numpy()
    counted = rows > handful(reference.corpus_.n_documents)
    found = partner >= 0
    first = sparse.csr_array(reference.result_.weights)[:, np.flatnonzero(found)]
    second = sparse.csr_array(other.result_.weights)[:, partner[found]]
    n_full = int((reference.corpus_.counts.sum(axis=1) > 0).sum())
    return {
        "matched": float(found[counted].mean()),
        "matched_holders": float(rows[found & counted].sum() / rows[counted].sum()),
        "same_weight": float(first.minimum(second).sum() / n_full),
    }


def _packages(lab: Lab, n_rows: int) -> Corpus:
    texts = [record["text"] for record in lab.lines(FILE)]
    if n_rows > len(texts):
        raise InputError(f"There are {len(texts):,} packages; give --rows of at most that number.")
    picked = np.sort(np.random.default_rng(_DRAWS).permutation(len(texts))[:n_rows])
    return read_documents([texts[d] for d in picked], unit="document", n_jobs=lab.jobs, keep_texts=False)
