"""The state that a pass over the documents makes, document by document."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import inlined
from superwords.sampler.state import State
from superwords.sampler.workspace import PAIRS, longer


class NewState(NamedTuple):
    """The new state under construction."""

    doc_ptr: np.ndarray
    concept: np.ndarray
    weight: np.ndarray
    pair_ptr: np.ndarray
    word: np.ndarray


def new_state(state: State, share: float = 1.0) -> NewState:
    """Room for about as much as `share` of a state."""
    n_pairs, n_entries = int(share * len(state.concept)) + 64, int(share * len(state.word)) + 1024
    return NewState(
        np.zeros_like(state.doc_ptr),
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


@inlined
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
