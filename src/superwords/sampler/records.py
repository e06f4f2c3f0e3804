"""The state that MCMC samples, and the records made of it; no kernel is needed to read them.

Word sets are ragged and sparse: a *pair* is a document that holds a concept, and an *entry* is a word that is on
in a pair. Pairs stand document by document, entries pair by pair with words in ascending order.
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
    """An imputation z, summed per entry and per pair; it lives for one sweep."""

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
    """A chain between two sweeps: with the model and the seed, all that its further course depends on.

    `seconds` are by move, `tried` and `accepted` by kind of proposal.
    """

    sweep: int
    prior: Prior
    state: State
    tokens: Tokens | None
    seconds: Mapping[str, float] = {}
    tried: Mapping[str, int] = {}
    accepted: Mapping[str, int] = {}


def check_state(state: State, n_documents: int, n_words: int) -> None:
    """Raise one clear error about a state that comes from a file or a user."""
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
    """Return whether the words of each slice ascend."""
    rises = np.diff(words) > 0
    starts = ptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(words))] - 1] = True
    return bool(rises.all())
