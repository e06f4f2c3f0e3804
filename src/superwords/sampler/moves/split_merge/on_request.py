"""Split a concept on request, by the best of many divisions.

This is not an MCMC step: the division is made whatever its ratio. The chain then continues from there with its usual
moves and target; if the data favour one concept, a merge undoes the split.
"""

from __future__ import annotations

import numpy as np

from superwords.sampler.model import Model
from superwords.sampler.moves.split_merge.attempt import Snapshot, feature_gain, propose_split
from superwords.sampler.random import SPLIT_MERGE, open_stream_from_python
from superwords.sampler.state import State, Tokens, sizes_of

_APART = 1 << 42  # offset of sweep numbers, for separate random streams
_LEAST_PART = 0.1  # minimum share of the documents in the smaller concept


def split_concept(
    state: State, tokens: Tokens, model: Model, j: int, stream: np.ndarray, sweep: int, n_attempts: int
) -> tuple[State, Tokens, float] | None:
    """Split concept j into j and a new, last one, by the best of `n_attempts`.

    Returns the new state, its z and the log ratio of split to unsplit, which is maximised; None if no attempt divides
    it. The same stream and sweep give the same division.
    """
    snapshot = Snapshot(state, tokens, sizes_of(state), model)
    best, most = -1, -np.inf
    for attempt in range(n_attempts):
        open_stream_from_python(stream, SPLIT_MERGE, _APART + sweep, attempt)
        proposed = propose_split(snapshot, j, stream)
        if proposed is None:
            continue
        holders, n_words = proposed.split.holders, (proposed.split.m > 0).sum(axis=1)
        if holders.min() >= max(2, _LEAST_PART * holders.sum()) and n_words.min() > 0:
            log_ratio = proposed.log_ratio + feature_gain(snapshot, proposed.sizes)
            if log_ratio > most:
                best, most = attempt, log_ratio
    if best < 0:
        return None
    open_stream_from_python(stream, SPLIT_MERGE, _APART + sweep, best)
    proposed = propose_split(snapshot, j, stream)
    assert proposed is not None
    new = proposed.apply(snapshot, j, stream)
    return new.state, new.tokens, float(most)
