"""Build, count and rearrange states (the records are in `records`)."""

from __future__ import annotations

import numpy as np

from superwords.sampler.jit import ref_kernel
from superwords.sampler.random import RELABEL, below, open_stream
from superwords.sampler.records import Sizes as Sizes
from superwords.sampler.records import State as State
from superwords.sampler.records import Tokens as Tokens
from superwords.sampler.records import check_state as check_state
from superwords.sampler.records import n_concepts as n_concepts

AFTER_CONCEPTS, AFTER_SPLIT_MERGE = 0, 1  # calls of relabel in a sweep


@ref_kernel
def _count_memberships(state, sizes):
    for p in range(len(state.concept)):
        j = state.concept[p]
        sizes.holders[j] += 1
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            sizes.m[j, state.word[e]] += 1
            sizes.total[state.word[e]] += 1


def sizes_of(state: State) -> Sizes:
    """Rebuild m_ji, m_j and n_i from the state."""
    n, n_words = n_concepts(state), len(state.theta)
    sizes = Sizes(np.zeros((n, n_words), np.int32), np.zeros(n, np.int64), np.zeros(n_words, np.int64))
    _count_memberships(state, sizes)
    return sizes


def relabel(state: State, stream: np.ndarray, sweep: int, turn: int, n_fixed: int = 0) -> np.ndarray:
    """Renumber the concepts 0..J−1 at random, except `n_fixed`; return old numbers.

    Concepts are an unordered set: if their numbers carried history, a scan in their order would be inexact.
    """
    used = np.flatnonzero(np.bincount(state.concept))
    _shuffle(used[n_fixed:], stream, sweep, turn)
    label = np.zeros(n_concepts(state), np.int32)
    label[used] = np.arange(len(used))
    state.concept[:] = label[state.concept]
    return used


@ref_kernel
def _shuffle(numbers, stream, sweep, turn):
    open_stream(stream, RELABEL, sweep, turn)
    for k in range(len(numbers) - 1, 0, -1):
        swap = below(stream, k + 1)
        numbers[k], numbers[swap] = numbers[swap], numbers[k]


def new_state(n_documents: int, n_pairs: int, n_entries: int, theta: np.ndarray) -> State:
    """Allocate a state to which `document.append_document` writes."""
    doc_ptr, pair_ptr = np.zeros(n_documents + 1, np.int64), np.zeros(n_pairs + 1, np.int64)
    return State(
        doc_ptr, np.zeros(n_pairs, np.int32), np.zeros(n_pairs), pair_ptr, np.zeros(n_entries, np.int32), theta
    )


def grow_state(new: State) -> State:
    """Return a copy with room for twice as many pairs and entries."""
    n_pairs, n_entries = 2 * len(new.concept) + 1, 2 * len(new.word) + 1
    pairs = longer(new.concept, n_pairs), longer(new.weight, n_pairs), longer(new.pair_ptr, n_pairs + 1)
    return State(new.doc_ptr, *pairs, longer(new.word, n_entries), new.theta)


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
    doc_ptr, concept, weight, pair_ptr, word = list(zip(*parts))[:5]

    def chained(pointers: tuple[np.ndarray, ...]) -> np.ndarray:
        sizes = np.concatenate([np.diff(one) for one in pointers])
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    pairs = np.concatenate(concept), np.concatenate(weight)
    return State(chained(doc_ptr), *pairs, chained(pair_ptr), np.concatenate(word), theta)


def take_rows(state: State, rows: np.ndarray) -> State:
    """Return the documents at these indices, in that order."""
    doc_ptr, pairs = gathered(state.doc_ptr, rows)
    pair_ptr, entries = gathered(state.pair_ptr, pairs)
    return State(doc_ptr, state.concept[pairs], state.weight[pairs], pair_ptr, state.word[entries], state.theta)


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


def longer(array: np.ndarray, n: int) -> np.ndarray:
    """Return the array with zeros added, so that its first axis has length n."""
    out = np.zeros((n, *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out
