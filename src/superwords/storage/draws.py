"""States and draws as plain arrays and back; what is read is checked before a kernel sees it.

A concept's words are much the same in all documents that hold it. So the words on are stored concept by concept: for
each word the documents that have it on, by the steps between their places among the concept's holders, which are small.
A stored draw has no π, which every table integrates out: what is read has its mean given z, α_π + n_dj.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from superwords.sampler.records import State, Tokens, check_state
from superwords.storage.arrays import DamagedError, Packed, construct, pack, unpack

_STATE_TYPES = ("i8", "i4", "f8", "i8", "i4", "f8")  # of the fields of a State, as the kernels need them
_TOKEN_TYPES = ("i4", "i8")
_WORDS = ("of_word", "n_holders", "far")  # of the fields of a stored state that make up pair_ptr and word
_LARGE = 255


class Kept(NamedTuple):
    """A stored draw: its state and z, the score the most probable draw is chosen by, and its concentrations."""

    sweep: int
    state: State
    tokens: Tokens
    score: float
    b1: float = 1.0
    b2: float = 1.0
    log_joint: float = float("nan")
    alpha_pi: float = 1.0
    alpha_omega: float = 1.0
    acceptance: float = float("nan")  # share of the sweep's proposals that were accepted


def pack_draw(draw: Kept) -> Packed:
    """Pack a draw."""
    plain, order = _stored_state(draw.state)
    del plain["weight"]
    tokens = {"entry": draw.tokens.entry[order]}
    return pack({**draw._asdict(), "state": plain, "tokens": tokens})


def unpack_draw(packed: Packed, shape: tuple[int, int] | None = None) -> Kept:
    """Invert `pack_draw`; refuse what points nowhere, or is no draw of this many documents and words."""
    fields = unpack(packed)
    numbers = [fields[name] for name in ("score", "log_joint", "acceptance", "b1", "b2", "alpha_pi", "alpha_omega")]
    if type(fields["sweep"]) is not int or not all(type(one) is float for one in numbers):
        raise DamagedError("a draw's numbers are not those of a draw")
    if not all(0 < one < np.inf for one in numbers[3:]):
        raise DamagedError("a draw's concentrations are not positive")
    pairs = np.ones(len(fields["state"]["concept"]))
    state, order = _read_stored({**fields["state"], "weight": pairs}, shape)
    entry = fields["tokens"]["entry"]
    _check_types([entry], ["i4"])
    if len(entry) != len(order):
        raise DamagedError("a draw's tokens do not match its state")
    entry = entry[order]
    pair = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    total = np.bincount(pair, entry, len(state.concept)).astype(np.int64)
    tokens = read_tokens({"entry": entry, "pair": total}, state)
    state = state._replace(weight=fields["alpha_pi"] + tokens.pair)
    return construct(Kept, {**fields, "state": state, "tokens": tokens})


def plain_state(state: State) -> dict[str, np.ndarray]:
    """Return a state's arrays as they are stored."""
    return _stored_state(state)[0]


def _stored_state(state: State) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return a state's arrays as they are stored, and the order of its words on: by concept, word and document."""
    pair = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    key = state.concept[pair].astype(np.int64) * len(state.theta) + state.word
    order = _sorted_order(key)
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    holder = _places(state.concept)[pair[order]]
    steps = np.diff(holder, prepend=0)
    steps[first] = holder[first]
    fields = {
        "n_held": np.diff(state.doc_ptr),
        "concept": state.concept,
        "weight": state.weight,
        "theta": state.theta,
        "of_word": np.diff(key[order[first]], prepend=0),  # steps of concept · V + word
        "n_holders": np.diff(first, append=len(key)),  # of that word in that concept
        "holder": np.minimum(steps, _LARGE).astype(np.uint8),
        "far": steps[steps >= _LARGE],  # which do not fit in a byte
    }
    return fields, order


def read_state(fields: dict[str, Any], shape: tuple[int, int] | None = None) -> State:
    """Invert `plain_state`; refuse what points nowhere, or is no state of this many documents and words."""
    return _read_stored(fields, shape)[0]


def _read_stored(fields: dict[str, Any], shape: tuple[int, int] | None) -> tuple[State, np.ndarray]:
    """Return a state, and the place among the stored words of each of its words on."""
    concept, theta, n_held = fields["concept"], fields["theta"], fields["n_held"]
    of_word, n_holders, far = (fields[name] for name in _WORDS)
    stored = [concept, theta, n_held, of_word, n_holders, far, fields["holder"]]
    _check_types(stored, ("i4", "f8", "i8", "i8", "i8", "i8", "u1"))
    _check_sizes(n_held)
    steps = fields["holder"].astype(np.int64)
    if (steps == _LARGE).sum() != len(far):
        raise DamagedError("the words of its concepts do not match")
    steps[steps == _LARGE] = far
    pair_ptr, word, order = _words(concept, len(theta), of_word, n_holders, steps)
    state = State(_pointer(n_held), concept, fields["weight"], pair_ptr, word, theta)
    _check_types(state, _STATE_TYPES)
    n_documents, n_words = shape or (len(n_held), len(theta))
    check_state(state, n_documents, n_words)
    return state, order


def read_tokens(fields: dict[str, Any], state: State) -> Tokens:
    """Return the tokens of a state; refuse those that are not of its size."""
    # Earlier versions stored null tokens, too, all 0.
    tokens = Tokens(fields["entry"], fields["pair"])
    _check_types(tokens, _TOKEN_TYPES)
    lengths = len(state.word), len(state.concept)
    if tuple(map(len, tokens)) != lengths or any((one < 0).any() for one in tokens):
        raise DamagedError("a draw's tokens do not match its state")
    return tokens


def _words(
    concept: np.ndarray, n_words: int, of_word: np.ndarray, n_holders: np.ndarray, steps: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pair_ptr and word of a state, and the order in which the stored words are its."""
    n_concepts = int(concept.max(initial=-1)) + 1
    if len(concept) and (concept.min() < 0 or n_concepts > len(concept)):
        raise DamagedError("a pair has no concept")
    _check_sizes(of_word)
    key = np.cumsum(of_word)
    if len(key) and key[-1] >= n_concepts * n_words:
        raise DamagedError("a word is in no concept")
    _check_sizes(n_holders)
    if len(of_word) != len(n_holders) or (n_holders == 0).any() or int(n_holders.sum()) != len(steps):
        raise DamagedError("the words of its concepts do not match")
    _check_sizes(steps)
    total = np.cumsum(steps)
    start = np.cumsum(n_holders) - n_holders
    # Places begin anew with every word.
    holder = total - np.repeat(total[start] - steps[start], n_holders)
    order = _sorted_order(concept)
    first = np.searchsorted(concept[order], np.arange(n_concepts + 1))
    of = np.repeat(key // max(1, n_words), n_holders)
    if (holder >= np.diff(first)[of]).any():
        raise DamagedError("a word is on in a document that does not hold its concept")
    pair = order[first[of] + holder]
    n_on = np.bincount(pair, minlength=len(concept))
    back = _sorted_order(pair)
    word = np.repeat(key % max(1, n_words), n_holders)[back]
    return _pointer(n_on), word.astype(np.int32), back


def _sorted_order(key: np.ndarray) -> np.ndarray:
    """Return the stable order of whole numbers from 0 on, by 16 bits at a time, which numpy sorts in linear time."""
    order = np.argsort((key & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in (16, 32, 48):
        high = key >> shift
        if not high.any():
            break
        order = order[np.argsort((high & 0xFFFF).astype(np.uint16)[order], kind="stable")]
    return order


def _pointer(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _places(concept: np.ndarray) -> np.ndarray:
    """Return (P) the rank of each pair among its concept's pairs."""
    order = np.argsort(concept, kind="stable")
    first = np.searchsorted(concept[order], concept)
    place = np.empty(len(concept), np.int64)
    place[order] = np.arange(len(concept))
    return place - first


def _check_sizes(values: np.ndarray) -> None:
    """Refuse negative numbers, and those whose sum would overflow."""
    if len(values) and (values.min() < 0 or float(values.max()) * len(values) >= 2**62):
        raise DamagedError("a number points nowhere")


def _check_types(arrays: Sequence[Any], types: Sequence[str]) -> None:
    for array, kind in zip(arrays, types):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != kind:
            raise DamagedError("an array is of the wrong type")
