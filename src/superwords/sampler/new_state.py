"""State built by a pass over the documents, document by document."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.document import DocumentState
from superwords.sampler.jit import helper
from superwords.sampler.leave_one_out import longer
from superwords.sampler.state import State


class Work(NamedTuple):
    """Progress of a pass over the documents, which may stop to grow its arrays."""

    document: np.ndarray  # () the next document
    is_loaded: np.ndarray  # () whether its moves have been made


def new_work() -> Work:
    return Work(np.zeros((), np.int64), np.zeros((), np.int64))


def new_state(like: State, n_rows: int) -> State:
    """Allocate a state for `n_rows` documents like those of a state."""
    share = n_rows / max(1, len(like.doc_ptr) - 1)
    return empty_state(
        n_rows, int(share * len(like.concept)) + 64, int(share * len(like.word)) + 1024, like.theta
    )


def empty_state(n_rows: int, n_pairs: int, n_entries: int, theta: np.ndarray) -> State:
    return State(
        np.zeros(n_rows + 1, np.int64),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs),
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_entries, np.int32),
        theta,
    )


def grow_state(new: State, d: int, doc: DocumentState) -> State:
    """Return a copy with space for the loaded document as the d-th."""
    pairs, n_pairs = new.doc_ptr[d], int(doc.n_pairs)
    n_entries = int(doc.size[:n_pairs].sum())
    if pairs + n_pairs > len(new.concept):
        n = 2 * len(new.concept) + n_pairs
        new = new._replace(
            concept=longer(new.concept, n), weight=longer(new.weight, n), pair_ptr=longer(new.pair_ptr, n + 1)
        )
    if new.pair_ptr[pairs] + n_entries > len(new.word):
        new = new._replace(word=longer(new.word, 2 * len(new.word) + n_entries))
    return new


@helper
def append_document(new, doc, d):
    """Append the loaded document, words ascending; return False if there is no space."""
    pairs = new.doc_ptr[d]
    at = new.pair_ptr[pairs]
    need = at
    for k in range(doc.n_pairs):
        need += doc.size[k]
    if pairs + doc.n_pairs > len(new.concept) or need > len(new.word):
        return False
    for k in range(doc.n_pairs):
        new.concept[pairs], new.weight[pairs] = doc.concept[k], doc.weight[k]
        start = at
        for e in range(doc.start[k], doc.start[k] + doc.size[k]):
            w, hole = doc.arena[e], at
            while hole > start and new.word[hole - 1] > w:
                new.word[hole] = new.word[hole - 1]
                hole -= 1
            new.word[hole] = w
            at += 1
        pairs += 1
        new.pair_ptr[pairs] = at
    new.doc_ptr[d + 1] = pairs
    return True


def finish_state(new: State) -> State:
    """Return the state without its spare space."""
    pairs = new.doc_ptr[-1]
    entries = new.pair_ptr[pairs]
    return new._replace(
        concept=new.concept[:pairs].copy(),
        weight=new.weight[:pairs].copy(),
        pair_ptr=new.pair_ptr[: pairs + 1].copy(),
        word=new.word[:entries].copy(),
    )


def concatenated(parts: list[State], theta: np.ndarray) -> State:
    """Return the states of consecutive rows as one."""
    return State(
        _chained([one.doc_ptr for one in parts]),
        np.concatenate([one.concept for one in parts]),
        np.concatenate([one.weight for one in parts]),
        _chained([one.pair_ptr for one in parts]),
        np.concatenate([one.word for one in parts]),
        theta,
    )


def _chained(pointers: list[np.ndarray]) -> np.ndarray:
    sizes = np.concatenate([np.diff(one) for one in pointers])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def take_rows(state: State, rows: np.ndarray) -> State:
    """Return the documents at these indices, in that order."""
    doc_ptr, pairs = gathered(state.doc_ptr, rows)
    pair_ptr, entries = gathered(state.pair_ptr, pairs)
    return State(
        doc_ptr, state.concept[pairs], state.weight[pairs], pair_ptr, state.word[entries], state.theta
    )


def sort_pairs(
    doc: np.ndarray, concept: np.ndarray, weight: np.ndarray, size: np.ndarray, word: np.ndarray, like: State
) -> tuple[State, np.ndarray, np.ndarray]:
    """Return a state of pairs in any order, and the order of its pairs and entries.

    `doc` is the document of each pair and `size` its number of words; documents and θ are those of another state.
    """
    order = np.argsort(doc, kind="stable")
    pair_ptr, entries = gathered(np.concatenate([[0], np.cumsum(size)]), order)
    doc_ptr = np.searchsorted(doc[order], np.arange(len(like.doc_ptr)))
    return State(doc_ptr, concept[order], weight[order], pair_ptr, word[entries], like.theta), order, entries


def gathered(ptr: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slices of `ptr` in another order, and the indices of their items."""
    size = np.diff(ptr)[order]
    new = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return new, np.arange(new[-1]) - np.repeat(new[:-1] - ptr[:-1][order], size)
