"""The state that a pass over the documents makes, document by document."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import part
from superwords.sampler.open_document import PAIRS, Document
from superwords.sampler.state import State
from superwords.sampler.workspace import longer


class NewState(NamedTuple):
    """The new state under construction."""

    doc_ptr: np.ndarray
    concept: np.ndarray
    weight: np.ndarray
    pair_ptr: np.ndarray
    word: np.ndarray


def new_state(like: State, n_rows: int) -> NewState:
    """Room for so many documents like those of a state."""
    share = n_rows / max(1, len(like.doc_ptr) - 1)
    n_pairs, n_entries = int(share * len(like.concept)) + 64, int(share * len(like.word)) + 1024
    return NewState(
        np.zeros(n_rows + 1, np.int64),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs),
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_entries, np.int32),
    )


def grow_state(new: NewState, d: int, n_pairs: int, n_entries: int) -> NewState:
    """Room for document d, which has so many pairs and entries; doubled where it was short."""
    pairs = new.doc_ptr[d]
    if pairs + n_pairs > len(new.concept):
        n = 2 * len(new.concept) + n_pairs
        new = new._replace(
            concept=longer(new.concept, n),
            weight=longer(new.weight, n),
            pair_ptr=longer(new.pair_ptr, n + 1),
        )
    if new.pair_ptr[pairs] + n_entries > len(new.word):
        new = new._replace(word=longer(new.word, 2 * len(new.word) + n_entries))
    return new


def grow_for(new: NewState, d: int, doc: Document) -> NewState:
    """Room for the document at hand, which is to be the d-th."""
    n_pairs = int(doc.number[PAIRS])
    return grow_state(new, d, n_pairs, int(doc.size[:n_pairs].sum()))


@part
def append_document(new, doc, d):
    """Append the document at hand, its word sets in ascending order; False where there is no room."""
    pairs = new.doc_ptr[d]
    at = new.pair_ptr[pairs]
    need = at
    for k in range(doc.number[PAIRS]):
        need += doc.size[k]
    if pairs + doc.number[PAIRS] > len(new.concept) or need > len(new.word):
        return False
    for k in range(doc.number[PAIRS]):
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


def finish_state(new: NewState, theta: np.ndarray) -> State:
    pairs = new.doc_ptr[-1]
    return State(
        new.doc_ptr,
        new.concept[:pairs].copy(),
        new.weight[:pairs].copy(),
        new.pair_ptr[: pairs + 1].copy(),
        new.word[: new.pair_ptr[pairs]].copy(),
        theta,
    )


def concatenated(parts: list[State], theta: np.ndarray) -> State:
    """The states of rows that follow each other, as one."""
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
    """The documents in these places, in that order."""
    doc_ptr, pairs = gathered(state.doc_ptr, rows)
    pair_ptr, entries = gathered(state.pair_ptr, pairs)
    return State(
        doc_ptr, state.concept[pairs], state.weight[pairs], pair_ptr, state.word[entries], state.theta
    )


def put_rows(state: State, changed: State, rows: np.ndarray) -> State:
    """The state with the documents in these places changed."""
    n_rows = len(state.doc_ptr) - 1
    if len(rows) == n_rows:
        return changed
    place = np.arange(n_rows)
    place[rows] = n_rows + np.arange(len(rows))
    return take_rows(concatenated([state, changed], state.theta), place)


def gathered(ptr: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slices of `ptr` in another order: where they begin then, and what they hold."""
    size = np.diff(ptr)[order]
    new = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return new, np.arange(new[-1]) - np.repeat(new[:-1] - ptr[:-1][order], size)
