"""What the approximation by shards costs beside the exact chain, on descriptions of Debian packages."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.alignment import described, find_partners, handful
from superwords.corpus.corpus import Corpus
from superwords.corpus.reading import read_documents
from superwords.errors import InputError
from superwords.features import cooccurrence
from superwords.fitting.estimator import ConceptModel
from superwords.lab.compare.completion import log_likelihood, word_frequencies
from superwords.lab.compare.unseen_words import from_draws
from superwords.lab.reproduce.folder import write_table
from superwords.sampler.prediction import make_halves

FILE = "debian_packages.jsonl.gz"
HELD_OUT = 0.1
_DRAWS = 0  # which seed of numpy picks the packages


def reproduce(
    data: Path,
    out: Path,
    n_rows: int,
    shards: list[str],
    n_chains: int,
    n_sweeps: int,
    jobs: int | None,
    tell: Callable[[str], None],
) -> pd.DataFrame:
    """A row for each fit: the exact chain with two seeds, then each approximation."""
    corpus = _packages(data, n_rows, jobs)
    rng = np.random.default_rng(_DRAWS)
    held_out = np.sort(rng.permutation(n_rows)[: int(HELD_OUT * n_rows)])
    seen = np.setdiff1d(np.arange(n_rows), held_out)
    train = Corpus.from_counts(sparse.csr_array(corpus.counts[seen]), corpus.vocabulary)
    halves = make_halves(sparse.csr_array(corpus.counts[held_out]))
    frequency = word_frequencies(train.counts)[halves.word]
    tell(f"{train.n_documents:,} packages, {train.n_words:,} words; {len(held_out):,} packages held out.")
    features = cooccurrence(train)
    out.mkdir(parents=True, exist_ok=True)
    reference: ConceptModel | None = None
    rows = []
    effort: dict[str, Any] = {"n_chains": n_chains, "n_sweeps": n_sweeps, "n_jobs": jobs, "progress": False}
    fits: list[tuple[str, str | None, int]] = [("exact", None, 1), ("exact, another seed", None, 2)]
    for name, approximate, seed in [*fits, *((one, one, 1) for one in shards)]:
        start = process_time()
        model = ConceptModel(random_state=seed, approximate=approximate, **effort)
        model.fit(train, features=features)
        seconds = process_time() - start
        reference = reference or model
        likelihood = log_likelihood(from_draws(model, halves), frequency)
        row = {"fit": name, "concepts": model.n_concepts_, **beside(reference, model)}
        rows.append(row | {"perplexity": float(np.exp(-likelihood)), "cpu_seconds": seconds})
        tell(", ".join(f"{key} {_said(value)}" for key, value in rows[-1].items()))
        write_table(pd.DataFrame(rows), out / "shards.csv")
    return pd.DataFrame(rows)


def beside(reference: ConceptModel, other: ConceptModel) -> dict[str, float]:
    """How much of the reference is found again.

    `matched` is the share of its concepts, leftovers left out, that have a partner; `matched_holders` the same with a
    concept counting by the documents that hold it; `same_weight` the share of documents' weight that both give to
    partners.
    """
    mine, theirs = reference.result_.reference, other.result_.reference
    partner = find_partners(described(mine.used, mine.holders), described(theirs.used, theirs.holders)).of
    counted = mine.holders > handful(reference.corpus_.n_documents)
    found = partner >= 0
    first = sparse.csr_array(reference.result_.reference_weights)[:, np.flatnonzero(found)]
    second = sparse.csr_array(other.result_.reference_weights)[:, partner[found]]
    n_full = int((reference.corpus_.counts.sum(axis=1) > 0).sum())
    return {
        "matched": float(found[counted].mean()),
        "matched_holders": float(mine.holders[found & counted].sum() / mine.holders[counted].sum()),
        "same_weight": float(first.minimum(second).sum() / n_full),
    }


def _packages(data: Path, n_rows: int, jobs: int | None) -> Corpus:
    path = data / FILE
    if not path.exists():
        raise InputError(f"{path} does not exist; give the folder that holds {FILE}.")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    if n_rows > len(texts):
        raise InputError(f"There are {len(texts):,} packages; give --rows of at most so many.")
    picked = np.sort(np.random.default_rng(_DRAWS).permutation(len(texts))[:n_rows])
    return read_documents([texts[d] for d in picked], unit="document", n_jobs=jobs, keep_texts=False)


def _said(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
