"""Which words are on in which concept, draw by draw: what P(two words share a concept) is computed from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.posterior.draws import Draws
from superwords.sampler.records import State, Tokens, n_concepts

DENSE_WORDS = 5000
# Words of concepts, in all draws; above, evenly spaced draws of each chain are taken.
_MOST_ENTRIES = 600_000


class WordSets(NamedTuple):
    """The words on in at least one document of a concept, for every concept of the draws (of many, some)."""

    chain: np.ndarray  # (S) of a draw
    used: list[sparse.csr_array]  # (J, V) of a draw: documents that use the word; 0 where it is only on

    @property
    def n_words(self) -> int:
        return int(self.used[0].shape[1])


def word_sets(draws: Draws) -> WordSets:
    """Return the words of every draw, or of every second or third one where all would be too many to keep."""
    shortest, every = min(map(len, draws.chains)), 1
    if shortest:  # every chain keeps at least one draw
        n_entries = len(draws) * on_in_concepts(draws.chains[0][-1].state).nnz
        every = min(-(-n_entries // _MOST_ENTRIES) or 1, shortest)
    places = [(c, s) for c, chain in enumerate(draws.chains) for s in range(every - 1, len(chain), every)]
    kept = (draws.chains[c][s] for c, s in places)
    used = [used_in_concepts(draw.state, draw.tokens) for draw in kept]
    return WordSets(np.array([c for c, _ in places], np.int32), used)


def on_in_concepts(state: State, kept: np.ndarray | None = None) -> sparse.csr_array:
    """Return (J, V) in how many documents a word is on in a concept, m_ji; only pairs that are `kept` count."""
    return _by_concept(state, np.ones(len(state.word), np.int32), kept)


def used_in_concepts(state: State, tokens: Tokens, kept: np.ndarray | None = None) -> sparse.csr_array:
    """Return (J, V) in how many documents it is on and used, at the same places; 0 where it is on but never used."""
    return _by_concept(state, (tokens.entry > 0).astype(np.int32), kept)


def _by_concept(state: State, counted: np.ndarray, kept: np.ndarray | None) -> sparse.csr_array:
    size, shape = np.diff(state.pair_ptr), (n_concepts(state), len(state.theta))
    entry = slice(None) if kept is None else np.repeat(kept, size)
    return summed(np.repeat(state.concept, size)[entry], state.word[entry], counted[entry], shape)


def summed(row: np.ndarray, column: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the sums of values by row and column, columns sorted; sums of 0 are kept."""
    out = sparse.csr_array(sparse.coo_array((values, (row, column)), shape=shape))
    out.sort_indices()
    return out


def co_membership(sets: WordSets, weight: np.ndarray) -> Any:
    """Return P(two words are on in the same concept, each in at least one document): dense up to 5,000 words.

    `weight` (draws) is how much each draw counts; together they sum to 1.
    """
    total: Any = sparse.csr_array((sets.n_words, sets.n_words))
    for used, share in zip(sets.used, weight):
        on = sparse.csr_array((np.ones(len(used.data), np.float32), used.indices, used.indptr), used.shape)
        shared = on.T @ on
        shared.data[:] = 1.0
        total = total + share * (shared.toarray() if sets.n_words <= DENSE_WORDS else shared)
    return np.minimum(total, 1.0) if sets.n_words <= DENSE_WORDS else total.minimum(1.0)  # rounding


def together(sets: WordSets, i: int) -> np.ndarray:
    """Return (draws, V) the probability that a use of word i and a use of another are for the same concept.

    The uses of a word are the rows that use it for a concept, of which one is drawn at random: Σ_j share_ji share_jl.
    """
    out = np.zeros((len(sets.chain), sets.n_words))
    for s, used in enumerate(sets.used):
        uses = np.maximum(np.asarray(used.sum(axis=0)).ravel(), 1.0)
        share = used[:, [i]].toarray().ravel() / uses[i]
        out[s] = (used.T @ share) / uses
    return out
