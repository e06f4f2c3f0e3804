"""Everything the tables are made of, gathered from the spaced draws in one pass.

The columns are the listed concepts (`consensus`), or those that people merged from them. A document uses a concept in a
draw if at least one of its tokens is imputed to it (n_dj > 0); what it holds without use is counted in `held` alone.
Every mean over draws counts each chain the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.posterior.consensus import Consensus, WordShares, chain_shares, word_shares
from superwords.posterior.draws import Draws, Kept
from superwords.posterior.intervals import TAILS, sparse_quantile
from superwords.sampler.records import n_concepts

USED_BY = 0.02  # share of a concept's documents: a draw uses a word for the concept if at least these do


class Alignment(NamedTuple):
    """The listed concepts in each of T draws; 0 (or NaN) where a draw has no partner of the concept."""

    chain: np.ndarray  # (T)
    overlap: np.ndarray  # (T, J) with the partner; 0: no partner
    rows: np.ndarray  # (T, J) documents that use the concept
    strength: np.ndarray  # (T, J) mean of n_dj / N_d over these; NaN: no partner
    n_words: np.ndarray  # (T, J) words that at least 2% of these use for it
    held: np.ndarray  # (T, J) m_j: documents that hold the concept, with or without use

    @property
    def weight(self) -> np.ndarray:
        """(T): how much a draw counts; all sum to 1."""
        return chain_shares(self.chain)

    @property
    def matched(self) -> np.ndarray:
        return self.overlap > 0

    @property
    def found(self) -> np.ndarray:
        """(J): share of the draws, by weight, in which a concept has a partner."""
        return self.weight @ self.matched

    @property
    def closest(self) -> int:
        """The draw that is most like the list: the largest sum of overlaps, each by the concept's documents."""
        return int(np.argmax(self.overlap @ (self.weight @ self.rows))) if len(self.chain) else 0


class WordUse(NamedTuple):
    """Words of concepts, averaged over the draws with a partner of the concept; by concept, then word."""

    concept: np.ndarray
    word: np.ndarray
    probability: np.ndarray  # share of the draws in which 2% of the concept's documents use the word for it
    on: np.ndarray  # share of the concept's documents that have the word on
    on_low: np.ndarray
    on_high: np.ndarray
    used: np.ndarray  # share of the concept's documents that use the word for it
    used_low: np.ndarray
    used_high: np.ndarray
    documents: np.ndarray  # how many documents that is
    everywhere: np.ndarray = np.zeros(0)  # that use the word for any concept, if some of these are not here


class Memberships(NamedTuple):
    """The concepts that documents (in the order they were given) use, draw by draw."""

    ptr: np.ndarray  # (T·D + 1) into concept, weight and mean, draw by draw
    concept: np.ndarray
    weight: np.ndarray  # n_dj / N_d
    mean: np.ndarray  # (α_π + n_dj) / (J_d α_π + N_d), of π_dj / S_d given z
    total: np.ndarray  # (T·D) J_d α_π + N_d


class Uses(NamedTuple):
    """How often, over the T draws, a document uses a word for a concept."""

    ptr: np.ndarray  # (D + 1)
    concept: np.ndarray
    word: np.ndarray
    share: np.ndarray  # of all T draws by weight, those without the concept included


class WordCounts(NamedTuple):
    """Words of concepts in each of T draws: documents that use the concept and have the word on, or use it."""

    ptr: np.ndarray  # (T + 1)
    concept: np.ndarray
    word: np.ndarray
    on: np.ndarray
    used: np.ndarray

    def used_in(self, t: int, shape: tuple[int, int]) -> sparse.csr_array:
        """Return (J, V) documents that use a word for a concept in draw t."""
        part = slice(self.ptr[t], self.ptr[t + 1])
        place = self.concept[part], self.word[part]
        return sparse.csr_array((self.used[part].astype(float), place), shape=shape)


class Summary(NamedTuple):
    """What the tables are made of."""

    alignment: Alignment
    words: WordUse
    memberships: Memberships
    uses: Uses
    word_counts: WordCounts
    share_on: WordShares  # mean of m_ji / m_j over the draws with a partner: of the documents that hold j
    consensus: Consensus


def summarize(
    draws: Draws, found: Consensus, order: np.ndarray, alpha_pi: float, into: np.ndarray | None = None
) -> Summary:
    """Gather what the tables need from the spaced draws, of which row r is document ``order[r]``.

    Concept j is counted in the column ``into[j]`` (-1: in none), or in its own if `into` is None.
    """
    shape, weights = (found.partner.shape[1], found.description.shape[1]), chain_shares(found.chain)
    share_on = sparse.csr_array(shape)
    # Σ over the draws of how often a document uses a word for a concept, at column concept · V + word.
    uses = sparse.csr_array((len(order), shape[0] * shape[1]))
    counted = []
    for draw, partner, weight in zip(draws, found.partner, weights.tolist()):
        pairs = _pairs_of(draw, columns_of(draw, partner, into), order, shape)
        held = np.bincount(pairs.column, minlength=shape[0])
        on = _by_column(pairs.column[pairs.entry], pairs.word, np.ones(len(pairs.word)), shape)
        share_on = share_on + weight * (sparse.diags_array(1 / np.maximum(held, 1)) @ on)
        words, place = _words_of(pairs, shape)
        uses = uses + sparse.csr_array((np.full(len(place[0]), weight), place), uses.shape)
        counted.append((held, *_memberships_of(draw, pairs, order, alpha_pi, shape[0]), words))
    held, rows, strength, memberships, words = zip(*counted)
    in_use = np.array(rows, np.int32)
    ptr = np.cumsum([0, *(len(part[0]) for part in words)]).astype(np.int64)
    counts = WordCounts(ptr, *(np.concatenate(part).astype(np.int32) for part in zip(*words)))
    word_use, n_words = _word_use(counts, in_use, weights, shape[1])
    alignment = Alignment(
        found.chain,
        # A column in use without an overlap of its own (a merged one) counts as found.
        np.where(in_use > 0, np.where(found.overlap > 0, found.overlap, 1.0), 0).astype(np.float32),
        in_use,
        np.array(strength, np.float32),
        n_words,
        np.array(held, np.int32),
    )
    share = alignment.found
    share_on = sparse.csr_array(sparse.diags_array(1 / np.where(share > 0, share, 1.0)) @ share_on)
    size, concept, *values = (np.concatenate(part) for part in zip(*memberships))
    uses.sort_indices()
    of_use, word = np.divmod(uses.indices, max(shape[1], 1))
    return Summary(
        alignment,
        word_use,
        Memberships(
            np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
            concept.astype(np.int32),
            *(one.astype(np.float32) for one in values),
        ),
        Uses(
            uses.indptr.astype(np.int64), of_use.astype(np.int32), word.astype(np.int32), uses.data.astype(np.float32)
        ),
        counts,
        word_shares(share_on),
        found,
    )


def columns_of(draw: Kept, partner: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
    """Return the column of each of a draw's concepts, from their partners in the list; -1: none."""
    column = np.full(n_concepts(draw.state), -1)
    paired = np.flatnonzero(partner >= 0)
    column[partner[paired]] = paired if into is None else into[paired]
    return column


class _Pairs(NamedTuple):
    """Documents and the columns that they hold in one draw, by document, then column."""

    document: np.ndarray
    column: np.ndarray
    tokens: np.ndarray
    members: np.ndarray  # concepts of the draw that are counted here
    entry: np.ndarray  # of each word that is on: its pair
    word: np.ndarray
    used: np.ndarray


def _pairs_of(draw: Kept, column: np.ndarray, order: np.ndarray, shape: tuple[int, int]) -> _Pairs:
    state, tokens = draw.state, draw.tokens
    own = column[state.concept]
    document = np.repeat(order, np.diff(state.doc_ptr))
    known = np.flatnonzero(own >= 0)
    key, pair = np.unique(document[known].astype(np.int64) * shape[0] + own[known], return_inverse=True)
    place = np.full(len(own), -1)
    place[known] = pair
    entry = np.repeat(place, np.diff(state.pair_ptr))
    inside = entry >= 0
    entry, word, used = entry[inside], state.word[inside], tokens.entry[inside] > 0
    members = np.bincount(pair, minlength=len(key))
    if (members > 1).any():  # a word that is on in several merged concepts counts once
        both, first = np.unique(entry.astype(np.int64) * shape[1] + word, return_inverse=True)
        used = np.bincount(first, used, len(both)) > 0
        entry, word = np.divmod(both, shape[1])
    n = np.bincount(pair, tokens.pair[known], len(key)).astype(np.int64)
    return _Pairs(*np.divmod(key, shape[0]), n, members, entry, word, used)


def _memberships_of(
    draw: Kept, pairs: _Pairs, order: np.ndarray, alpha_pi: float, n_columns: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """Return rows and strength of the columns in one draw, and its part of `Memberships`."""
    row = np.repeat(order, np.diff(draw.state.doc_ptr))
    length = np.bincount(row, draw.tokens.pair, len(order))
    total = np.bincount(row, minlength=len(order)) * alpha_pi + length
    used = pairs.tokens > 0
    document, column, n = pairs.document[used], pairs.column[used], pairs.tokens[used]
    mean, weight = (alpha_pi * pairs.members[used] + n) / total[document], n / length[document]
    rows = np.bincount(column, minlength=n_columns)
    share = np.bincount(column, weight, n_columns)
    strength = np.where(rows > 0, share / np.maximum(rows, 1), np.nan)
    return rows, strength, (np.bincount(document, minlength=len(order)), column, weight, mean, total)


def _words_of(pairs: _Pairs, shape: tuple[int, int]) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return one draw's part of `WordCounts`, and the places of `uses` where a document uses a word."""
    in_use = (pairs.tokens > 0)[pairs.entry]
    entry, word, used = pairs.entry[in_use], pairs.word[in_use], pairs.used[in_use]
    column = pairs.column[entry]
    # Entries of 0 stay: `users` has the places of `on`.
    on = _by_column(column, word, np.ones(len(word), np.int32), shape)
    users = _by_column(column, word, used.astype(np.int32), shape)
    concept = np.repeat(np.arange(shape[0]), np.diff(on.indptr))
    place = pairs.document[entry][used], column[used].astype(np.int64) * shape[1] + word[used]
    return (concept, on.indices, on.data, users.data), place


def _by_column(column: np.ndarray, word: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    out = sparse.csr_array(sparse.coo_array((values, (column, word)), shape=shape))
    out.sort_indices()
    return out


def _word_use(counts: WordCounts, in_use: np.ndarray, weights: np.ndarray, n_words: int) -> tuple[WordUse, np.ndarray]:
    """Average words over the draws; return also how many words each concept has in each draw."""
    draw = np.repeat(np.arange(len(in_use)), np.diff(counts.ptr))
    share = weights @ (in_use > 0)
    weight = weights[draw] / np.where(share > 0, share, 1.0)[counts.concept]
    rows = np.maximum(in_use[draw, counts.concept], 1)
    on, used = counts.on / rows, counts.used / rows
    typical = (used >= USED_BY) & (counts.used > 0)
    key, at = np.unique(counts.concept.astype(np.int64) * n_words + counts.word, return_inverse=True)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(at, values * weight, len(key)).astype(np.float32)

    def bounds(values: np.ndarray) -> Sequence[np.ndarray]:
        return [sparse_quantile(at, values, weight, q).astype(np.float32) for q in TAILS]

    concept, word = np.divmod(key, n_words)
    cell = draw[typical] * in_use.shape[1] + counts.concept[typical]
    return WordUse(
        *(concept.astype(np.int32), word.astype(np.int32), mean(typical.astype(float))),
        *(mean(on), *bounds(on), mean(used), *bounds(used), mean(counts.used)),
    ), np.bincount(cell, minlength=in_use.size).reshape(in_use.shape).astype(np.int32)
