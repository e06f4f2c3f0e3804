"""A state and its tokens as plain arrays and back; what is read is checked before a kernel sees it.

A concept's words are much the same in all documents that hold it. So the words on are stored concept by concept: for
each word the documents that have it on, by their place among the concept's holders, which are few and near each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superwords.packing import DamagedError
from superwords.sampler.state import State, Tokens, check_state

_STATE_TYPES = ("i8", "i4", "f8", "i8", "i4", "f8")  # of the fields of a State, as the kernels need them
_TOKEN_TYPES = ("i4", "i8", "i8")


def plain_state(state: State) -> dict[str, np.ndarray]:
    """A state's arrays as they are stored."""
    pair = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    key = state.concept[pair].astype(np.int64) * len(state.theta) + state.word
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    return {
        "doc_ptr": state.doc_ptr,
        "concept": state.concept,
        "weight": state.weight,
        "theta": state.theta,
        "of_word": key[order[first]],  # concept · V + word
        "n_holders": np.diff(first, append=len(key)),  # of that word in that concept
        "holder": _places(state.concept)[pair[order]],
    }


def read_state(fields: dict[str, Any], shape: tuple[int, int] | None = None) -> State:
    """Inverse of `plain_state`; what points nowhere, or is no state of so many documents and words, is refused."""
    stored = {name: fields[name] for name in ("of_word", "n_holders", "holder")}
    kept = {name: one for name, one in fields.items() if name not in stored}
    _check_types(list(stored.values()), ("i8", "i8", "i8"))
    _check_types([kept["concept"], kept["theta"]], ("i4", "f8"))
    pair_ptr, word = _words(kept["concept"], len(kept["theta"]), **stored)
    state = State(**kept, pair_ptr=pair_ptr, word=word)
    _check_types(state, _STATE_TYPES)
    n_documents, n_words = shape or (len(state.doc_ptr) - 1, len(state.theta))
    check_state(state, n_documents, n_words)
    return state


def _words(
    concept: np.ndarray, n_words: int, of_word: np.ndarray, n_holders: np.ndarray, holder: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """pair_ptr and word of a state."""
    n_concepts = int(concept.max(initial=-1)) + 1
    if len(concept) and concept.min() < 0:
        raise DamagedError("a pair has no concept")
    if len(of_word) and not 0 <= of_word.min() <= of_word.max() < n_concepts * n_words:
        raise DamagedError("a word is in no concept")
    if len(of_word) != len(n_holders) or (n_holders < 0).any() or int(n_holders.sum()) != len(holder):
        raise DamagedError("the words of its concepts do not match")
    order = np.argsort(concept, kind="stable")
    first = np.searchsorted(concept[order], np.arange(n_concepts + 1))
    of = np.repeat(of_word // max(1, n_words), n_holders)
    if ((holder < 0) | (holder >= np.diff(first)[of])).any():
        raise DamagedError("a word is on in a document that does not hold its concept")
    pair = order[first[of] + holder]
    pair_ptr = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=len(concept)))])
    word = np.repeat(of_word % max(1, n_words), n_holders)[np.argsort(pair, kind="stable")]
    return pair_ptr.astype(np.int64), word.astype(np.int32)


def _places(concept: np.ndarray) -> np.ndarray:
    """(P): which one of its concept's pairs a pair is."""
    order = np.argsort(concept, kind="stable")
    first = np.searchsorted(concept[order], concept)
    place = np.empty(len(concept), np.int64)
    place[order] = np.arange(len(concept))
    return place - first


def read_tokens(fields: dict[str, Any], state: State) -> Tokens:
    """The tokens of a state; refused where they are not of its size."""
    tokens = Tokens(**fields)
    _check_types(tokens, _TOKEN_TYPES)
    lengths = len(state.word), len(state.concept), len(state.concept)
    if tuple(map(len, tokens)) != lengths or any((one < 0).any() for one in tokens):
        raise DamagedError("a draw's tokens do not match its state")
    return tokens


def _check_types(arrays: Sequence[Any], types: Sequence[str]) -> None:
    for array, kind in zip(arrays, types):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != kind:
            raise DamagedError("an array is of the wrong type")
