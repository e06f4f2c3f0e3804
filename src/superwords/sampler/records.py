"""The state that MCMC samples, and records derived from it, without kernels.

Word sets are ragged and sparse: a *pair* is a document that holds a concept, and an *entry* is a word that is on
in a pair. Pairs are sorted by document, entries by pair and word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from superwords.errors import InputError
from superwords.sampler.model import Prior


class State(NamedTuple):
    """c, f, π and θ. Pair p of document d: doc_ptr[d] <= p < doc_ptr[d+1]."""

    doc_ptr: np.ndarray  # (D+1) int64, into concept and weight
    concept: np.ndarray  # (P) int32: j of a pair
    weight: np.ndarray  # (P) π_j^(d)
    pair_ptr: np.ndarray  # (P+1) int64, into word
    word: np.ndarray  # (E) int32: the words on in a pair, ascending
    theta: np.ndarray  # (V)


class Tokens(NamedTuple):
    """An imputation z, summed per entry and per pair; valid for one sweep."""

    entry: np.ndarray  # (E) n_dji
    pair: np.ndarray  # (P) n_dj


class Sizes(NamedTuple):
    """m_ji, m_j and n_i = Σ_j m_ji."""

    m: np.ndarray  # (J, V) int32
    holders: np.ndarray  # (J) int64
    total: np.ndarray  # (V) int64


def n_concepts(state: State) -> int:
    return int(state.concept.max()) + 1 if len(state.concept) else 0


class Draw(NamedTuple):
    """A state after a sweep, with the z it came with."""

    sweep: int
    state: State
    tokens: Tokens


class Position(NamedTuple):
    """Checkpoint of a chain; with the model and the seed it determines all further sweeps."""

    sweep: int
    prior: Prior
    state: State
    tokens: Tokens | None
    seconds: Mapping[str, float] = {}
    tried: Mapping[str, int] = {}
    accepted: Mapping[str, int] = {}


def check_state(state: State, n_documents: int, n_words: int) -> None:
    """Raise InputError if a state from a file or a user is inconsistent."""
    if len(state.doc_ptr) != n_documents + 1 or len(state.theta) != n_words:
        raise InputError(
            f"The state is not of {n_documents} documents and {n_words} words; give that of the same corpus."
        )
    words, concept = state.word, state.concept
    pointers = (state.doc_ptr, concept), (state.pair_ptr, words)
    is_ragged = len(state.pair_ptr) == len(concept) + 1 == len(state.weight) + 1 and all(
        ptr[0] == 0 and ptr[-1] == len(parts) and (np.diff(ptr) >= 0).all() for ptr, parts in pointers
    )
    if not (is_ragged and _is_consistent(state, n_words)):
        raise InputError("The state's parts contradict each other; the file may be damaged.")


def _is_consistent(state: State, n_words: int) -> bool:
    """Return whether words ascend, concepts are distinct, and weights positive."""
    words, concept, starts = state.word, state.concept, state.pair_ptr[1:-1]
    ascends = np.diff(words) > 0
    ascends[starts[(starts > 0) & (starts < len(words))] - 1] = True  # from the last word of a pair to the next pair
    document = np.repeat(np.arange(len(state.doc_ptr) - 1, dtype=np.int64), np.diff(state.doc_ptr))
    return bool(
        ((words >= 0) & (words < n_words)).all()
        and ascends.all()
        and ((concept >= 0) & (concept < len(concept))).all()
        and len(np.unique(document * max(1, len(concept)) + concept)) == len(concept)
        and ((state.weight > 0) & np.isfinite(state.weight)).all()
        and ((state.theta >= 0) & np.isfinite(state.theta)).all()
    )
