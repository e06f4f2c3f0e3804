"""Count and renumber the concepts of a state (the records are in `records`)."""

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
