"""States and draws as plain arrays and back; what is read is checked before a kernel sees it.

A concept's words are much the same in all documents that hold it. So the words on are stored concept by concept: for
each word the documents that have it on, by the steps between their places among the concept's holders, which are small.
A stored draw has no π, which every table integrates out: what is read has its mean given z, α_π + n_dj.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from superwords.sampler.records import State, Tokens, check_state
from superwords.storage.arrays import Packed, construct, expect, pack, require, unpack

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
    plain, order = plain_state(draw.state)
    del plain["weight"]
    return pack({**draw._asdict(), "state": plain, "tokens": {"entry": draw.tokens.entry[order]}})


def unpack_draw(packed: Packed, shape: tuple[int, int] | None = None) -> Kept:
    """Invert `pack_draw`; refuse what points nowhere, or is no draw of this many documents and words."""
    fields = unpack(packed)
    numbers = [fields[name] for name in ("score", "log_joint", "acceptance", "b1", "b2", "alpha_pi", "alpha_omega")]
    are_numbers = type(fields["sweep"]) is int and all(type(one) is float for one in numbers)
    require(are_numbers, "a draw's numbers are not those of a draw")
    require(all(0 < one < np.inf for one in numbers[3:]), "a draw's concentrations are not positive")
    n_pairs = len(fields["state"]["concept"])
    state, order = read_state({**fields["state"], "weight": np.ones(n_pairs)}, shape)
    entry = expect(fields["tokens"]["entry"], "i4", len(order))[order]
    pair = np.bincount(np.repeat(np.arange(n_pairs), np.diff(state.pair_ptr)), entry, n_pairs).astype(np.int64)
    tokens = read_tokens({"entry": entry, "pair": pair}, state)
    return construct(Kept, {**fields, "state": state._replace(weight=fields["alpha_pi"] + pair), "tokens": tokens})


def read_tokens(fields: dict[str, Any], state: State) -> Tokens:
    """Return the tokens of a state; refuse those that are not of its size."""
    # Earlier versions stored null tokens, too, all 0.
    entry = expect(fields["entry"], "i4", len(state.word))
    pair = expect(fields["pair"], "i8", len(state.concept))
    require((entry >= 0).all() and (pair >= 0).all(), "a draw's tokens do not match its state")
    return Tokens(entry, pair)


def plain_state(state: State) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return a state's arrays as they are stored, and the order of its words on: by concept, word and document."""
    n_pairs = len(state.concept)
    by_concept = np.argsort(state.concept, kind="stable")
    place = np.empty(n_pairs, np.int64)  # the rank of each pair among its concept's pairs
    place[by_concept] = np.arange(n_pairs) - np.searchsorted(state.concept[by_concept], state.concept[by_concept])
    pair = np.repeat(np.arange(n_pairs), np.diff(state.pair_ptr))
    key = state.concept[pair].astype(np.int64) * len(state.theta) + state.word
    order = _sorted_order(key)
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    holder = place[pair[order]]
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


def read_state(fields: dict[str, Any], shape: tuple[int, int] | None = None) -> tuple[State, np.ndarray]:
    """Invert `plain_state`: return the state, and the place among the stored words of each of its words on.

    What points nowhere, or is no state of this many documents and words, is refused.
    """
    theta, weight = (expect(fields[name], "f8", None) for name in ("theta", "weight"))
    concept = expect(fields["concept"], "i4", None)
    n_held, of_word, n_holders, far = (_sizes(fields[name]) for name in ("n_held", "of_word", "n_holders", "far"))
    n_words, n_concepts = len(theta), int(concept.max(initial=-1)) + 1
    require(concept.min(initial=0) >= 0 and n_concepts <= len(concept), "a pair has no concept")
    key = np.cumsum(of_word)
    require(not len(key) or key[-1] < n_concepts * n_words, "a word is in no concept")
    steps = expect(fields["holder"], "u1", None).astype(np.int64)
    is_far = steps == _LARGE
    is_whole = is_far.sum() == len(far) and (n_holders > 0).all() and n_holders.sum() == len(steps)
    require(is_whole and len(of_word) == len(n_holders), "the words of its concepts do not match")
    steps[is_far] = far
    total = np.cumsum(_sizes(steps))
    start = np.cumsum(n_holders) - n_holders
    # Places begin anew with every word.
    holder = total - np.repeat(total[start] - steps[start], n_holders)
    by_concept = _sorted_order(concept)
    first = np.searchsorted(concept[by_concept], np.arange(n_concepts + 1))
    of = np.repeat(key // max(1, n_words), n_holders)
    require((holder < np.diff(first)[of]).all(), "a word is on in a document that does not hold its concept")
    pair = by_concept[first[of] + holder]
    order = _sorted_order(pair)
    word = np.repeat(key % max(1, n_words), n_holders)[order].astype(np.int32)
    n_on = np.bincount(pair, minlength=len(concept))
    doc_ptr, pair_ptr = (np.concatenate([[0], np.cumsum(one)]).astype(np.int64) for one in (n_held, n_on))
    state = State(doc_ptr, concept, weight, pair_ptr, word, theta)
    check_state(state, *(shape or (len(n_held), n_words)))
    return state, order


def _sorted_order(key: np.ndarray) -> np.ndarray:
    """Return the stable order of whole numbers from 0 on, by 16 bits at a time, which numpy sorts in linear time."""
    order = np.argsort((key & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in (16, 32, 48):
        high = key >> shift
        if not high.any():
            break
        order = order[np.argsort((high & 0xFFFF).astype(np.uint16)[order], kind="stable")]
    return order


def _sizes(values: Any) -> np.ndarray:
    """Return an array of sizes; refuse negative numbers, and those whose sum would overflow."""
    expect(values, "i8", None)
    is_possible = not len(values) or (values.min() >= 0 and float(values.max()) * len(values) < 2**62)
    require(is_possible, "a number points nowhere")
    return values
