"""The published order of steps, kept for comparison: f uses the z of the last sweep, after c has moved."""

from __future__ import annotations

import numpy as np

from superwords.sampler.jit import kernel
from superwords.sampler.state import State, Tokens


def carry_tokens(old: State, tokens: Tokens | None, new: State) -> Tokens:
    """The last sweep's z for the pairs that the c step left in place; newcomers have none."""
    none = np.zeros(len(old.concept), np.int64)
    return _carry_tokens(old, tokens or Tokens(np.zeros(len(old.word), np.int32), none, none), new)


@kernel
def _carry_tokens(old, tokens, new):
    carried = Tokens(
        np.zeros(len(new.word), np.int32),
        np.zeros(len(new.concept), np.int64),
        np.zeros(len(new.concept), np.int64),
    )
    for d in range(len(old.doc_ptr) - 1):
        for p in range(new.doc_ptr[d], new.doc_ptr[d + 1]):
            for before in range(old.doc_ptr[d], old.doc_ptr[d + 1]):
                if old.concept[before] != new.concept[p]:
                    continue
                e = old.pair_ptr[before]
                for at in range(new.pair_ptr[p], new.pair_ptr[p + 1]):
                    while e < old.pair_ptr[before + 1] and old.word[e] < new.word[at]:
                        e += 1
                    if e < old.pair_ptr[before + 1] and old.word[e] == new.word[at]:
                        carried.entry[at] = tokens.entry[e]
                        carried.pair[p] += tokens.entry[e]
    return carried
