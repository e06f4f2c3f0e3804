"""Folding new documents in with the concepts kept (docs/foldin.md): in memory, or any number into Parquet files.

A file holds the weights of one part and appears whole or not at all, so an interrupted run continues with the missing
parts.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.curation import merged
from superwords.analysis.effects import Outcomes, folded_outcomes
from superwords.analysis.tables import source_shares, sources
from superwords.cluster import current, joined, packed, spread, unpacked
from superwords.errors import InputError, import_extra, whole_number
from superwords.files import atomic_path, write_atomic, writing
from superwords.fitting.fitted_model import FittedModel, UnknownWords
from superwords.fitting.on_request import numbers_now
from superwords.machine import n_workers
from superwords.sampler.compiling import one_at_a_time
from superwords.sampler.fold_in import fold_in
from superwords.sampler.leave_one_out import LeaveOneOutCounts, leave_one_out_counts
from superwords.sampler.state import Sizes
from superwords.text.checks import check_counts
from superwords.text.corpus import Corpus
from superwords.text.files import TextStream, batches
from superwords.text.read import are_texts
from superwords.text.sources import Documents

SWEEPS = 30
LEAST_INCLUSION = 0.1  # a concept less probable than that is off in the weights
_BURN_IN = 3  # one sweep in three is burn-in
_DENSE_WEIGHTS = 50_000_000
_BLOCK = 1024
_EXAMPLES = 10
_SURE = 1e-9  # how far the probability of a pinned or banned word stays from 1 or 0
KEY_FILE = "parts.json"
_PART_CHARACTERS = 2_000_000
_Part = tuple[Path, list[str], list[str], list[str] | TextStream]  # file, ids, languages, texts or where they are


class UnknownWordsWarning(UserWarning):
    """New documents use words that the model does not know; they are left out."""


class Folded(NamedTuple):
    """Per new document and concept, dense or sparse."""

    weight: Any
    inclusion: Any


def transform(self: Any, X: Any, *, n_sweeps: int = SWEEPS, return_inclusion: bool = False) -> Any:
    """Return the weights of new documents, each on its own, with the concepts kept (docs/foldin.md).

    Parameters
    ----------
    X : Corpus, list of str, DataFrame, sparse matrix or array
        Texts, if the model was fitted to texts; each is one row, also where the model's rows are passages.
        Or counts: those in a DataFrame or Corpus are matched by their words, others need the model's columns.
        Words that the model does not know are left out (`unknown_words_`).
    n_sweeps : int
        Sweeps over each document.
    return_inclusion : bool
        Whether to return also the probability that the document uses the concept; that of a merged concept is the
        largest of its members'.

    Returns
    -------
    array (D', J), or two of them
        Rows sum to 1; that of a document with no known word is 0 throughout.

    Examples
    --------
    >>> model.transform(["More coffee, less sugar."]).shape == (1, model.n_concepts_)
    True
    """
    n_sweeps = whole_number("n_sweeps", n_sweeps, 1)
    if not self.result_.has_concepts:
        raise InputError("The model has kept no draw yet, so it has no concepts; call resume or advance first.")
    with joined(self.cluster, self.n_jobs):
        counts, self.unknown_words_ = new_counts(self.corpus_, X)
        folded = fold(kept_concepts(self), counts, self.seed_, n_sweeps, self.n_jobs)
    weight = merged(folded.weight, self.choices_)
    return (weight, merged(folded.inclusion, self.choices_, largest=True)) if return_inclusion else weight


def new_outcomes(model: FittedModel, X: Any, metadata: pd.DataFrame | None) -> Outcomes | None:
    """Fold new documents in for a regression on their columns; None without any."""
    if X is None:
        return None
    table = X.metadata if metadata is None and isinstance(X, Corpus) else metadata
    if not isinstance(table, pd.DataFrame):
        raise InputError("New documents need their columns; give metadata=DataFrame with a row per document.")
    weight, used = transform(model, X, return_inclusion=True)
    if len(table) != used.shape[0]:
        raise InputError(f"metadata has {len(table):,} rows for {used.shape[0]:,} documents; give a row each.")
    result = model.result_
    # Outcomes have a column for every concept; those of merged and hidden ones are empty.
    shown = np.array(result.shown) - 1
    place = sparse.csr_array((np.ones(len(shown)), (np.arange(len(shown)), shown)), (len(shown), result.n_concepts))
    weight, used = (sparse.csr_array(sparse.csr_array(one) @ place) for one in (weight, used))
    return folded_outcomes(table.reset_index(drop=True), weight, used)


def new_counts(known: Corpus, X_new: Any) -> tuple[sparse.csr_array, UnknownWords]:
    """Return counts with the columns of the corpus `known`, and what had to be left out, with a warning."""
    if isinstance(X_new, Corpus):
        new = X_new
    elif isinstance(X_new, list | tuple | pd.Series) and len(X_new) == 0:
        return sparse.csr_array((0, known.n_words), dtype=np.int32), UnknownWords(0, [])
    elif isinstance(X_new, str) or are_texts(X_new):
        new = Corpus.from_texts(X_new if isinstance(X_new, str) else list(X_new), **reading(known))
    elif isinstance(X_new, pd.DataFrame):
        new = Corpus.from_counts(X_new)
    else:
        counts = check_counts(X_new)
        if counts.shape[1] != known.n_words:
            problem = f"The new counts have {counts.shape[1]} columns but the model knows {known.n_words} words"
            remedy = "give one column per word of the model, or a Corpus, whose words have names"
            raise InputError(f"{problem}; {remedy}.")
        return counts, UnknownWords(0, [])
    column = pd.Index(known.vocabulary, dtype=object).get_indexer(pd.Index(new.vocabulary, dtype=object))
    at = np.flatnonzero(column >= 0)
    place = sparse.csr_array((np.ones(len(at), np.int32), (at, column[at])), (new.n_words, known.n_words))
    aligned = check_counts(new.counts @ place)
    left_out = pd.Series(new.counts.sum(axis=0), new.vocabulary)[column < 0]
    left_out = left_out[left_out > 0].sort_values(ascending=False, kind="stable")
    if left_out.empty:
        noted = new.notes.get("unknown_examples", {})
        return aligned, UnknownWords(int(new.notes.get("unknown_words", 0)), list(noted)[:_EXAMPLES])
    unknown = UnknownWords(int(left_out.sum()), left_out.index[:_EXAMPLES].tolist())
    sentence = f"{unknown.n_tokens:,} tokens of the new documents are words that the model does not know"
    examples = ", ".join(unknown.examples)
    warnings.warn(f"{sentence}; they are left out: {examples}.", UnknownWordsWarning, stacklevel=4)
    return aligned, unknown


def reading(known: Corpus, language: str | None = None) -> dict[str, Any]:
    """Return the options of `Corpus.from_texts` by which new texts are read as those of a corpus were."""
    recipe = known.notes.get("recipe")
    if recipe is None or recipe.get("words", "tokens") == "tokens":
        problem = "The model was not fitted to raw texts, so it does not know how to find words in them"
        raise InputError(f"{problem}; give counts or tokens (in Python, Corpus.from_tokens).")
    code = language or recipe.get("language")
    if code is None:
        remedy = "give --language CODE or column:NAME (in Python, Corpus.from_texts(texts, language=[one per text], "
        remedy += "recipe=model.corpus_.notes['recipe']))"
        raise InputError(f"The model was fitted to texts of several languages; {remedy}.")
    return {"language": code, "vocabulary": known.vocabulary, "recipe": recipe, "keep_texts": False}


def kept_concepts(model: FittedModel) -> LeaveOneOutCounts:
    """Return the listed concepts: m_j and m_ji in the mean over the draws that find each.

    m_ji of a pinned or banned word is what makes P(f_ji = 1) = (m_ji + b₂λ_i)/(m_j + b₂) one or zero.
    """
    result = model.sampled_
    draw, aligned = result.consensus_draw, result.summary.alignment
    mean_held = aligned.weight @ aligned.held / np.maximum(aligned.found, 1e-300)
    holders = np.maximum(mean_held.round(), 1).astype(np.int64)
    m = result.concept_word * holders[:, None]
    prior = model.chains_[0].model.prior._replace(b1=draw.b1, b2=draw.b2)
    for number, fixed in zip(numbers_now(model), model.chains_[0].model.fixed):
        if number:
            certain = (holders[number - 1] + prior.b2) * np.where(fixed > 0, 1 - _SURE, _SURE)
            m[number - 1] = np.where(fixed != 0, certain - prior.b2 * prior.lam, m[number - 1])
    sizes = Sizes(m, holders, m.sum(axis=0))
    return leave_one_out_counts(sizes, len(draw.state.doc_ptr) - 1, draw.state.theta, prior)


def fold(
    concepts: LeaveOneOutCounts, counts: sparse.csr_array, seed: int, n_sweeps: int = SWEEPS, n_jobs: int | None = None
) -> Folded:
    """Return weights and inclusion probabilities; both sparse above 50 million cells. Same bits at any n_jobs."""
    n_documents, n_concepts = counts.shape[0], len(concepts.holders)
    if n_documents == 0 or n_concepts == 0:
        return Folded(*(np.zeros((n_documents, n_concepts)) for _ in range(2)))
    is_dense = n_documents * n_concepts <= _DENSE_WEIGHTS
    blocks = in_blocks(partial(_fold_block, concepts, seed, n_sweeps, is_dense), counts, _BLOCK, n_jobs)
    stack = np.concatenate if is_dense else lambda parts: sparse.vstack(parts, format="csr")
    return Folded(*(stack(parts) for parts in zip(*blocks)))


def in_blocks(function: Callable[[Any], Any], counts: sparse.csr_array, size: int, n_jobs: int | None) -> list[Any]:
    """Return `function` of each block of rows: by the cluster, if there is one and several blocks, or in threads."""
    blocks = [sparse.csr_array(counts[first : first + size]) for first in range(0, counts.shape[0], size)]
    if current() is not None and len(blocks) > 1:
        return list(spread(partial(fold_elsewhere, function), blocks))
    with ThreadPoolExecutor(n_workers(n_jobs)) as pool:
        return list(pool.map(function, blocks))


_is_compiled = False


def fold_elsewhere(fold_it: Callable[[Any], Any], counts: Any) -> Any:
    """Fold in a worker of a cluster; the first worker of a machine compiles, the others wait."""
    global _is_compiled
    if _is_compiled:
        return fold_it(counts)
    with one_at_a_time():
        folded = fold_it(counts)
    _is_compiled = True
    return folded


def _fold_block(
    concepts: LeaveOneOutCounts, seed: int, n_sweeps: int, is_dense: bool, counts: sparse.csr_array
) -> Folded:
    burn_in = n_sweeps // _BURN_IN
    weight, inclusion = fold_in(concepts, counts, seed, n_sweeps, burn_in)
    inclusion /= n_sweeps - burn_in
    # A row whose concepts are all improbable keeps the most probable of them.
    least = np.minimum(LEAST_INCLUSION, inclusion.max(axis=1, keepdims=True))
    weight[inclusion < least] = 0.0
    total = weight.sum(axis=1, keepdims=True)
    folded = Folded(np.divide(weight, total, out=weight, where=total > 0), inclusion)
    return folded if is_dense else Folded(*(sparse.csr_array(part) for part in folded))


def weight_table(ids: list[str], weights: Any, concepts: Sequence[int]) -> pd.DataFrame:
    """Return a row per document, and a column per concept, whose numbers are given."""
    dense = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
    table = pd.DataFrame(dense, columns=pd.Index([f"concept_{j}" for j in concepts]))
    table.insert(0, "document", ids)
    return table


def write_parts(
    model: FittedModel, documents: Documents, how: Mapping[str, Any], folder: Path, key: Mapping[str, Any]
) -> Iterator[tuple[int, int, int]]:
    """Weigh documents into a folder of Parquet files, by all cores or the cluster.

    They are read as `how` has it, which are the options of `reading` and a unit. `key` identifies the weights: parts
    that a run with the same key left in the folder are not made again. Yield of each part, as it is finished, how many
    documents it has, how many of them without any known word, and how many tokens are unknown.
    """
    import_extra("pyarrow", "A Parquet file", "parquet")
    recorded, file = json.dumps(dict(key), sort_keys=True).encode(), folder / KEY_FILE
    with writing("Parts", folder):
        folder.mkdir(exist_ok=True)
        if not (file.exists() and file.read_bytes() == recorded):
            if any(folder.iterdir()):
                raise InputError(f"{folder} is not empty and holds no parts of these weights; give another folder.")
            write_atomic(file, recorded)
    # Packed: joblib would share its arrays read-only, for which kernels are compiled anew.
    given = packed((kept_concepts(model), model.seed_, model.choices_, model.result_.shown, {**how, "language": None}))
    write = partial(fold_elsewhere, partial(_write_part, given))
    return spread(write, _missing(documents, how["language"], folder.resolve()), model.n_jobs)


def _missing(documents: Documents, languages: str | Sequence[str], folder: Path) -> Iterator[_Part]:
    ids = iter(documents.ids)
    codes: Iterator[str] = repeat(languages) if isinstance(languages, str) else iter(languages)
    pieces = getattr(documents.texts, "pieces", ())
    cut = pieces if len(pieces) > 1 else batches(documents.texts, len, _PART_CHARACTERS)
    for number, texts in enumerate(cut):
        part = list(islice(ids, len(texts))), list(islice(codes, len(texts))), texts
        path = folder / f"part-{number:05}.parquet"
        if not path.exists():
            yield path, *part


def _write_part(given: bytes, part: _Part) -> tuple[int, int, int]:
    """Weigh one part, in a worker."""
    concepts, seed, choices, shown, how = unpacked(given)
    path, ids, languages, texts = part
    new = Corpus.from_texts(texts, ids, **{**how, "language": languages, "n_jobs": 1})
    weights = merged(fold(concepts, new.counts, seed, n_jobs=1).weight, choices)
    ids = new.ids
    if new.parent is not None:
        weights, ids = source_shares(new) @ weights, sources(new)[0]
    with atomic_path(path) as temporary:
        weight_table(ids, weights, shown).to_parquet(temporary, index=False)
    n_empty = int((weights.sum(axis=1) == 0).sum())
    return len(ids), n_empty, int(new.notes.get("unknown_words", 0))
