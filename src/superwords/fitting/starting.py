"""Put the model together from what is given, and set chains at their start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.errors import InputError
from superwords.features.block import check_rows
from superwords.features.specs import AUTO, MadeFeatures, make_features
from superwords.features.word_vectors import text_vectors
from superwords.fitting import settings
from superwords.machine import n_workers
from superwords.progress import Watcher
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.init.grow import SWEEPS, arrive, pick_rows, start_of
from superwords.sampler.init.starts import NUMBERED, counts_of, parse_start, row_shares, usual_number
from superwords.sampler.model import Model, make_data
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
    beside_words: bool  # the vectors are used beside those of the words
    source: np.ndarray  # (D): the document of each row of the model
    picked: np.ndarray | None  # of many rows, those that are clustered, whatever the seed; None: all


def prepare(given: Mapping[str, Any], X: Any, features: Any, tell: Watcher, row_vectors: Any = None) -> Prepared:
    """Read documents and features, and put the model together; `given` is checked (`settings.check_model`)."""
    with tell.reading() if are_texts(X) else nullcontext() as reading:
        corpus = corpus_of(X, n_jobs=given["n_jobs"], progress=reading, say=tell.say)
    found = make_features(features, corpus, tell.say)
    of_texts = isinstance(row_vectors, str)
    notes = ({"seeds": found.seeds} if found.seeds else {}) | ({"row_vectors": row_vectors} if of_texts else {})
    corpus = replace(corpus, notes={**corpus.notes, **notes})
    return model_of(given, corpus, found, _row_vectors(row_vectors, corpus), beside_words=of_texts)


def _row_vectors(given: Any, corpus: Corpus) -> np.ndarray | None:
    """Return vectors of the rows, 0 where one is unknown; those of their texts by a language model are centred."""
    if given is None:
        return None
    if isinstance(given, str):
        if corpus.texts is None:
            remedy = "give texts, and keep them ({keep_texts})"
            raise InputError("needs the texts of the rows", "row_vectors", given, remedy)
        vectors = text_vectors(corpus.texts, given)
        known = ~np.isnan(vectors).any(axis=1)
        centre = vectors[known].mean(axis=0) if known.any() else 0.0
        return np.where(known[:, None], vectors - centre, 0.0)
    values = check_rows(given, "row_vectors", corpus.n_documents, "row")
    return np.where(np.isnan(values).any(axis=1, keepdims=True), 0.0, values)


def document_order(corpus: Corpus) -> np.ndarray:
    """Return an order of the documents by what they hold, then by id.

    The chain scans documents in this order, so that shuffled input gives the same concepts.
    """
    counts = corpus.counts
    parts = zip(*(np.split(one, counts.indptr[1:-1]) for one in (counts.indices, counts.data)), corpus.ids)
    keys = [(words.tobytes(), numbers.tobytes(), name) for words, numbers, name in parts]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))


def model_of(
    given: Mapping[str, Any], corpus: Corpus, found: MadeFeatures, row_vectors: np.ndarray | None, beside_words: bool
) -> Prepared:
    """Return the model of a corpus with these features."""
    order = document_order(corpus)
    source = order if corpus.parent is None else corpus.parent[order]
    n_part = settings.make_start_rows(given, corpus.n_documents)
    picked = None if n_part is None else pick_rows(corpus.n_documents, n_part, 0, 0)
    counts = sparse.csr_array(corpus.counts[order])
    prior, theta = settings.make_prior(given, counts), settings.make_theta(given["theta"], counts)
    values = settings.scale_features(found.values, counts.shape[1], given["standardize_features"] and found.standardize)
    model = Model(prior, make_data(counts, values), make_affinity(counts, values), settings.make_steps(given))
    vectors = None if row_vectors is None else row_vectors[order]
    placing, is_by_rows = None, any(parse_start(one)[0] == "rows" for one in settings.make_starts(given))
    if is_by_rows and values is None and (vectors is None or beside_words):  # then by the words' co-occurrence
        placing = settings.scale_features(make_features(AUTO, corpus).values, corpus.n_words, standardize=True)
    return Prepared(corpus, order, model, theta, found, placing, vectors, beside_words, source, picked)


def shares_of(of: Prepared, n: int | None) -> np.ndarray:
    """Return the word shares of about `n` clusters of rows."""
    n = n or usual_number(of.model.data, "rows")
    return row_shares(of.model.data, n, of.source, of.placing, of.vectors, of.picked, of.beside_words)


def start_chains(
    given: Mapping[str, Any], prepared: Prepared, seed: int, say: Callable[[str], None], n_concepts: int | None = None
) -> list[Chain]:
    """Return a chain for each start that is asked for, with `n_concepts` where it leaves the number open."""
    model, theta, starts, picked = prepared.model, prepared.theta, settings.make_starts(given), prepared.picked
    n_rows = len(model.data.length)
    parsed = {one: parse_start(one) for one in starts}
    names = {name for name, _ in parsed.values()}
    if picked is not None:
        part = f"{len(picked):,} of the {n_rows:,} rows, which the others then join"
        if "rows" in names:
            say(f"Large corpus: the start is made from clusters of {part}.")
        if names & set(NUMBERED) - {"rows"}:
            say(f"Large corpus: each chain starts with {SWEEPS} sweeps on {part}.")
    shares = {one: shares_of(prepared, n or n_concepts) for one, (name, n) in parsed.items() if name == "rows"}

    def start(chain: int) -> State:
        init = starts[chain]
        if picked is None or init in shares or parsed[init][0] not in NUMBERED:
            return start_of(init, model, theta, seed, chain, shares.get(init))
        rows = pick_rows(n_rows, len(picked), seed, chain)
        return arrive(init, part_of(model, rows, given), rows, model.data, theta, seed, chain)

    # Linear algebra on one thread: its results could otherwise depend on how many there are.
    n_at_once = min(len(starts), n_workers(given["n_jobs"]))
    with threadpool_limits(1), ThreadPoolExecutor(n_at_once) as pool:
        states = list(pool.map(start, range(len(starts))))
    return [Chain(model, state, seed, chain) for chain, state in enumerate(states)]


def part_of(model: Model, rows: np.ndarray, given: Mapping[str, Any]) -> Model:
    """Return the model of some rows alone, with the rules of its own size."""
    counts = sparse.csr_array(counts_of(model.data)[rows])
    features = np.where(model.data.known[:, None], model.data.Y, np.nan)
    return model._replace(prior=settings.make_prior(given, counts), data=make_data(counts, features))
