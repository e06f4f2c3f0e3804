"""Put the model together from what is given, and set chains at their start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.errors import InputError
from superwords.features.specs import AUTO, MadeFeatures, make_features
from superwords.features.word_vectors import text_vectors
from superwords.fitting.running import document_order
from superwords.fitting.settings import make_prior, make_start_rows, make_starts, make_steps, make_theta, scale_features
from superwords.jobs import n_workers
from superwords.progress import Watcher
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.init.grow import SWEEPS, arrive, pick_rows, start_of
from superwords.sampler.init.starts import NUMBERED, counts_of, parse_start, row_shares, usual_number
from superwords.sampler.model import Model, make_data, n_documents
from superwords.sampler.state import State
from superwords.text.corpus import Corpus
from superwords.text.read import are_texts, corpus_of


class Prepared(NamedTuple):
    """What is sampled, and what its start is made from."""

    corpus: Corpus
    order: np.ndarray  # of the corpus's rows in the model
    model: Model
    theta: np.ndarray
    features: MadeFeatures
    placing: np.ndarray | None  # (V, F) word vectors that place the rows for the start; None: the features
    vectors: np.ndarray | None  # (D, F) of the model's rows, in place of those of their words
    beside_words: bool = False  # the vectors are used beside those of the words

    @property
    def source(self) -> np.ndarray:
        """(D): the document of each row of the model."""
        return self.order if self.corpus.parent is None else self.corpus.parent[self.order]


def prepare(given: Mapping[str, Any], X: Any, features: Any, tell: Watcher, row_vectors: Any = None) -> Prepared:
    """Read documents and features, and put the model together; `given` is checked (`settings.check_model`)."""
    with tell.reading() if are_texts(X) else nullcontext() as reading:
        corpus = corpus_of(X, n_jobs=given["n_jobs"], progress=reading, say=tell.say)
    found = make_features(features, corpus, tell.say)
    if found.seeds:
        corpus = replace(corpus, notes={**corpus.notes, "seeds": found.seeds})
    if isinstance(row_vectors, str):
        corpus = replace(corpus, notes={**corpus.notes, "row_vectors": row_vectors})
        return model_of(given, corpus, found, _vectors_of_texts(corpus, row_vectors), beside_words=True)
    return model_of(given, corpus, found, check_row_vectors(row_vectors, corpus.n_documents))


def _vectors_of_texts(corpus: Corpus, model: str) -> np.ndarray:
    """Return a language model's vectors of the rows' texts, centred; 0 where a text has none."""
    if corpus.texts is None:
        remedy = "give texts, and keep them ({keep_texts})"
        raise InputError("needs the texts of the rows", "row_vectors", model, remedy)
    vectors = text_vectors(corpus.texts, model)
    known = ~np.isnan(vectors).any(axis=1)
    return (
        np.where(known[:, None], vectors - vectors[known].mean(axis=0), 0.0) if known.any() else np.zeros_like(vectors)
    )


def model_of(
    given: Mapping[str, Any],
    corpus: Corpus,
    found: MadeFeatures,
    row_vectors: np.ndarray | None,
    beside_words: bool = False,
) -> Prepared:
    """Return the model of a corpus with these features."""
    order = document_order(corpus.counts, corpus.ids)
    counts = sparse.csr_array(corpus.counts[order])
    prior, theta = make_prior(given, counts), make_theta(given["theta"], counts)
    is_scaled = given["standardize_features"] and found.standardize
    values = scale_features(found.values, counts.shape[1], is_scaled)
    affinity, steps = make_affinity(counts, values), make_steps(given)
    model = Model(prior, make_data(counts, values), affinity, steps)
    vectors = None if row_vectors is None else row_vectors[order]
    needs_words = values is None and (vectors is None or beside_words) and "rows" in _names(given)
    placing = _company(corpus) if needs_words else None
    return Prepared(corpus, order, model, theta, found, placing, vectors, beside_words)


def _names(given: Mapping[str, Any]) -> set[str]:
    return {parse_start(one)[0] for one in make_starts(given)}


def _company(corpus: Corpus) -> np.ndarray | None:
    """Return the words' co-occurrence, for a start without features; None where there is none."""
    return scale_features(make_features(AUTO, corpus).values, corpus.n_words, standardize=True)


def check_row_vectors(row_vectors: Any, n_rows: int) -> np.ndarray | None:
    """Return vectors of the rows as an array, or raise an `InputError` that names what is wrong."""
    if row_vectors is None:
        return None
    try:
        values = np.array(row_vectors, dtype=float)
    except (TypeError, ValueError):
        raise InputError("row_vectors are not numbers; give a rows-by-columns array.") from None
    if values.ndim != 2 or len(values) != n_rows:
        raise InputError(f"row_vectors has shape {values.shape}; give one vector per row of the corpus, ({n_rows}, F).")
    if np.isinf(values).any():
        raise InputError("row_vectors has an infinite number; give finite numbers, or NaN for unknown rows.")
    return np.where(np.isnan(values).any(axis=1, keepdims=True), 0.0, values)


def shares_of(prepared: Prepared, given: Mapping[str, Any], n: int | None) -> np.ndarray:
    """Return the word shares of about `n` clusters of rows; of many rows, of a part of them.

    Which part does not depend on the seed.
    """
    data = prepared.model.data
    n_part = make_start_rows(given, n_documents(data))
    picked = None if n_part is None else pick_rows(n_documents(data), n_part, 0, 0)
    n = n or usual_number(data, "rows")
    placing, vectors = prepared.placing, prepared.vectors
    return row_shares(data, n, prepared.source, placing, vectors, picked, prepared.beside_words)


def start_chains(
    given: Mapping[str, Any], prepared: Prepared, seed: int, say: Callable[[str], None], n_concepts: int | None = None
) -> list[Chain]:
    """Return a chain for each start that is asked for, with `n_concepts` where it leaves the number open."""
    model, theta = prepared.model, prepared.theta
    starts, n_rows = make_starts(given), n_documents(model.data)
    n_part = make_start_rows(given, n_rows)
    if n_part is not None:
        _say_part(starts, n_part, n_rows, say)
    of_rows = [one for one in dict.fromkeys(starts) if parse_start(one)[0] == "rows"]
    shares = {one: shares_of(prepared, given, parse_start(one)[1] or n_concepts) for one in of_rows}

    def start(chain: int) -> State:
        init = starts[chain]
        name = parse_start(init)[0]
        if n_part is None or name == "rows" or name not in NUMBERED:
            return start_of(init, model, theta, seed, chain, shares.get(init))
        rows = pick_rows(n_rows, n_part, seed, chain)
        part = part_of(model, rows, given)
        return arrive(init, part, rows, model.data, theta, seed, chain)

    # Linear algebra on one thread: its results could otherwise depend on how many there are.
    n_at_once = min(len(starts), n_workers(given["n_jobs"]))
    with threadpool_limits(1), ThreadPoolExecutor(n_at_once) as pool:
        states = list(pool.map(start, range(len(starts))))
    return [Chain(model, state, seed, chain) for chain, state in enumerate(states)]


def _say_part(starts: Sequence[str], n_part: int, n_rows: int, say: Callable[[str], None]) -> None:
    names = {parse_start(one)[0] for one in starts}
    part = f"{n_part:,} of the {n_rows:,} rows"
    if "rows" in names:
        say(f"Large corpus: the start is made from clusters of {part}, which the others then join.")
    if names & set(NUMBERED) - {"rows"}:
        say(f"Large corpus: each chain starts with {SWEEPS} sweeps on {part}, which the others then join.")


def part_of(model: Model, rows: np.ndarray, given: Mapping[str, Any]) -> Model:
    """Return the model of some rows alone, with the rules of its own size."""
    counts = sparse.csr_array(counts_of(model.data)[rows])
    features = np.where(model.data.known[:, None], model.data.Y, np.nan)
    return model._replace(prior=make_prior(given, counts), data=make_data(counts, features))
