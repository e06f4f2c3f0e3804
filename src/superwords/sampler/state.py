"""The state that MCMC samples, and the statistics that are always rebuilt from it.

Word sets are ragged and sparse: a *pair* is a document that holds a concept, and an *entry* is a word that is on
in a pair. Pairs stand document by document, entries pair by pair with words in ascending order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.errors import InputError
from superwords.sampler.jit import lean
from superwords.sampler.random import RELABEL, below, open_stream

AFTER_CONCEPTS, AFTER_SPLIT_MERGE = 0, 1  # turns of relabel in a sweep


class State(NamedTuple):
    """c, f, π and θ. Pair p of document d: doc_ptr[d] <= p < doc_ptr[d+1]."""

    doc_ptr: np.ndarray  # (D+1) int64, into concept and weight
    concept: np.ndarray  # (P) int32: j of a pair
    weight: np.ndarray  # (P) π_j^(d)
    pair_ptr: np.ndarray  # (P+1) int64, into word
    word: np.ndarray  # (E) int32: the words on in a pair, ascending
    theta: np.ndarray  # (V)


class Tokens(NamedTuple):
    """An imputation z, summed per entry and per pair; it lives for one sweep."""

    entry: np.ndarray  # (E) n_dji
    pair: np.ndarray  # (P) n_dj, null tokens left out
    null: np.ndarray  # (P) null tokens imputed to an (empty) pair


class Sizes(NamedTuple):
    """m_ji, m_j and n_i = Σ_j m_ji."""

    m: np.ndarray  # (J, V) int32
    holders: np.ndarray  # (J) int64
    total: np.ndarray  # (V) int64


def n_concepts(state: State) -> int:
    return int(state.concept.max()) + 1 if len(state.concept) else 0


@lean
def _count_memberships(state, sizes):
    for p in range(len(state.concept)):
        j = state.concept[p]
        sizes.holders[j] += 1
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            sizes.m[j, state.word[e]] += 1
            sizes.total[state.word[e]] += 1


def sizes_of(state: State) -> Sizes:
    return count_memberships(state, n_concepts(state), len(state.theta))


def count_memberships(state: State, n_rows: int, n_words: int) -> Sizes:
    """Rebuild m_ji, m_j and n_i from the state."""
    sizes = Sizes(
        np.zeros((n_rows, n_words), np.int32), np.zeros(n_rows, np.int64), np.zeros(n_words, np.int64)
    )
    _count_memberships(state, sizes)
    return sizes


def relabel(state: State, stream: np.ndarray, sweep: int, turn: int) -> np.ndarray:
    """Number the concepts in use 0..J−1 in a uniformly random order; returns their numbers before.

    Concepts are an unordered set: were their numbers to carry history, a scan in their order would be inexact.
    """
    used = np.flatnonzero(np.bincount(state.concept))
    _shuffle(used, stream, sweep, turn)
    label = np.zeros(n_concepts(state), np.int32)
    label[used] = np.arange(len(used))
    state.concept[:] = label[state.concept]
    return used


@lean
def _shuffle(numbers, stream, sweep, turn):
    open_stream(stream, RELABEL, sweep, turn)
    for k in range(len(numbers) - 1, 0, -1):
        swap = below(stream, k + 1)
        numbers[k], numbers[swap] = numbers[swap], numbers[k]


def check_state(state: State, n_documents: int, n_words: int) -> None:
    """Say in one sentence what is wrong with a state that comes from outside (a file, a user)."""
    if len(state.doc_ptr) != n_documents + 1 or state.doc_ptr[-1] != len(state.concept):
        raise InputError(
            f"The state does not hold {n_documents} documents; give the state of the same corpus."
        )
    if len(state.pair_ptr) != len(state.concept) + 1 or state.pair_ptr[-1] != len(state.word):
        raise InputError("The state's word sets do not match its concepts; the file may be damaged.")
    for ptr in (state.doc_ptr, state.pair_ptr):
        if ptr[0] != 0 or (np.diff(ptr) < 0).any():
            raise InputError("The state's parts do not follow each other; the file may be damaged.")
    words = state.word
    if len(state.theta) != n_words or (len(words) and not 0 <= words.min() <= words.max() < n_words):
        raise InputError(
            f"The state does not fit a vocabulary of {n_words} words; give the state of the same corpus."
        )
    if not _ascending(words, state.pair_ptr):
        raise InputError("The words of one of the state's pairs do not ascend; the file may be damaged.")
    concept = state.concept
    if len(concept) and not 0 <= concept.min() <= concept.max() < len(concept):
        raise InputError("The state has a concept that no document holds; the file may be damaged.")
    document = np.repeat(np.arange(n_documents, dtype=np.int64), np.diff(state.doc_ptr))
    if len(np.unique(document * max(1, len(concept)) + concept)) != len(concept):
        raise InputError("The state has a document that holds a concept twice; the file may be damaged.")
    if len(state.weight) != len(concept) or not ((state.weight > 0) & np.isfinite(state.weight)).all():
        raise InputError("The state has a concept whose weight is not positive; the file may be damaged.")
    if not ((state.theta >= 0) & np.isfinite(state.theta)).all():
        raise InputError("The state has a word whose θ is not a number from 0 on; the file may be damaged.")


def _ascending(words: np.ndarray, ptr: np.ndarray) -> bool:
    """Whether the words of each slice ascend."""
    rises = np.diff(words) > 0
    starts = ptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(words))] - 1] = True
    return bool(rises.all())
