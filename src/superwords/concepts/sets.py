"""Which words are on in which concept, draw by draw: what P(two words share a concept) is computed from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.draws import Draws, shared_concepts
from superwords.sampler.state import State, Tokens, n_concepts

DENSE_WORDS = 5000
# Words of concepts, in all draws; above, evenly spaced draws of each chain are taken.
_MOST_ENTRIES = 600_000


class WordSets(NamedTuple):
    """The words on in at least one document of a concept, for every concept of the kept draws (of many, some)."""

    chain: np.ndarray  # (S) of a draw
    n_concepts: np.ndarray  # (S) of a draw
    ptr: np.ndarray  # into word: one slice per concept, draw after draw
    word: np.ndarray
    n_words: int
    used: np.ndarray  # as word: documents that use it for the concept


def word_sets(draws: Draws) -> WordSets:
    """Of every kept draw; of every second or third one where all would have too many words to keep."""
    chains, sizes, lengths, words, used = [], [], [], [], []
    n_words, every = 0, _every(draws)
    for c, chain in enumerate(draws.chains):
        for s in range(every - 1, len(chain), every):
            draw = chain[s]
            sets = on_in_concepts(draw.state)
            chains.append(c)
            sizes.append(sets.shape[0])
            lengths.append(np.diff(sets.indptr))
            words.append(sets.indices.astype(np.int32))
            used.append(used_in_concepts(draw.state, draw.tokens).data)
            n_words = sets.shape[1]
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    numbers = np.array(chains, np.int32), np.array(sizes, np.int32)
    return WordSets(*numbers, ptr, np.concatenate(words), n_words, np.concatenate(used))


def _every(draws: Draws) -> int:
    """One draw in so many is taken; never so few that a chain has none."""
    shortest = min(len(chain) for chain in draws.chains)
    if shortest == 0:
        return 1
    n_entries = len(draws) * on_in_concepts(draws.chains[0][-1].state).nnz
    return min(-(-n_entries // _MOST_ENTRIES) or 1, shortest)


def on_in_concepts(state: State) -> sparse.csr_array:
    """(J, V): in how many documents a word is on in a concept, m_ji, as a sparse array with sorted words."""
    return _by_concept(state, np.ones(len(state.word), np.int32))


def used_in_concepts(state: State, tokens: Tokens) -> sparse.csr_array:
    """(J, V): in how many documents it is on and used, at the same places; 0 where it is on but never used."""
    return _by_concept(state, (tokens.entry > 0).astype(np.int32))


def _by_concept(state: State, counted: np.ndarray) -> sparse.csr_array:
    concept = np.repeat(state.concept, np.diff(state.pair_ptr))
    out = sparse.csr_array(
        sparse.coo_array((counted, (concept, state.word)), shape=(n_concepts(state), len(state.theta)))
    )
    out.sort_indices()
    return out


def sets_by_draw(sets: WordSets, values: np.ndarray | None = None) -> Iterator[sparse.csr_array]:
    """(J, V) of each draw: 1 where a word is on in a concept, or what `values` has for it."""
    last = np.cumsum(sets.n_concepts)
    for n, end in zip(sets.n_concepts, last):
        ptr = sets.ptr[end - n : end + 1]
        part = slice(ptr[0], ptr[-1])
        words = sets.word[part]
        data = np.ones(len(words), np.float32) if values is None else values[part].astype(float)
        yield sparse.csr_array((data, words, ptr - ptr[0]), shape=(int(n), sets.n_words))


def co_membership(sets: WordSets, weight: np.ndarray) -> Any:
    """P(two words are on in the same concept, each in at least one document): dense up to 5,000 words.

    `weight` (draws) is how much each draw counts; together they sum to 1.
    """
    shape = (sets.n_words, sets.n_words)
    if sets.n_words > DENSE_WORDS:
        total: Any = sparse.csr_array(shape)
        for on, share in zip(sets_by_draw(sets), weight):
            total = total + share * shared_concepts(on)
        return total.minimum(1.0)  # rounding
    total = np.zeros(shape)
    for on, share in zip(sets_by_draw(sets), weight):
        total[shared_concepts(on.toarray())] += share
    return np.minimum(total, 1.0)


def together(sets: WordSets, i: int) -> np.ndarray:
    """(draws, V): the probability that a use of word i and a use of another are for the same concept.

    The uses of a word are the rows that use it for a concept, of which one is drawn at random: Σ_j share_ji share_jl.
    """
    out = np.zeros((len(sets.chain), sets.n_words))
    for s, used in enumerate(sets_by_draw(sets, sets.used)):
        uses = np.maximum(np.asarray(used.sum(axis=0)).ravel(), 1.0)
        share = used[:, [i]].toarray().ravel() / uses[i]
        out[s] = (used.T @ share) / uses
    return out
