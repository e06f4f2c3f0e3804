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
    n_columns = found.partner.shape[1]
    into = np.arange(n_columns) if into is None else into
    gathered = _Gathered(order, alpha_pi, (n_columns, found.description.shape[1]), chain_shares(found.chain))
    for draw, partner in zip(draws, found.partner):
        gathered.add(draw, columns_of(draw, partner, into))
    return gathered.summary(found)


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


class _Gathered:
    """The running sums of `summarize`."""

    def __init__(self, order: np.ndarray, alpha_pi: float, shape: tuple[int, int], weight: np.ndarray):
        self.order, self.alpha_pi, self.shape, self.weight = order, alpha_pi, shape, weight
        self.rows: list[np.ndarray] = []
        self.strength: list[np.ndarray] = []
        self.held: list[np.ndarray] = []
        self.counts: list[tuple[np.ndarray, ...]] = []
        self.memberships: list[tuple[np.ndarray, ...]] = []
        self.share_on = sparse.csr_array(shape)
        # Σ over the draws of how often a document uses a word for a concept, at column concept · V + word.
        self.uses = sparse.csr_array((len(order), shape[0] * shape[1]))

    def add(self, draw: Kept, column: np.ndarray) -> None:
        weight = float(self.weight[len(self.rows)])
        pairs = _pairs_of(draw, column, self.order, self.shape)
        held = np.bincount(pairs.column, minlength=self.shape[0])
        on = self._by_column(pairs.column[pairs.entry], pairs.word, np.ones(len(pairs.word)))
        self.share_on = self.share_on + weight * (sparse.diags_array(1 / np.maximum(held, 1)) @ on)
        self.held.append(held)
        self._add_memberships(draw, pairs)
        self._add_words(pairs, weight)

    def _add_memberships(self, draw: Kept, pairs: _Pairs) -> None:
        n_documents = len(self.order)
        row = np.repeat(self.order, np.diff(draw.state.doc_ptr))
        length = np.bincount(row, draw.tokens.pair, n_documents)
        total = np.bincount(row, minlength=n_documents) * self.alpha_pi + length
        used = pairs.tokens > 0
        document, column, n = pairs.document[used], pairs.column[used], pairs.tokens[used]
        mean, weight = (self.alpha_pi * pairs.members[used] + n) / total[document], n / length[document]
        rows = np.bincount(column, minlength=self.shape[0])
        share = np.bincount(column, weight, self.shape[0])
        self.rows.append(rows)
        self.strength.append(np.where(rows > 0, share / np.maximum(rows, 1), np.nan))
        self.memberships.append((np.bincount(document, minlength=n_documents), column, weight, mean, total))

    def _add_words(self, pairs: _Pairs, weight: float) -> None:
        in_use = (pairs.tokens > 0)[pairs.entry]
        entry, word, used = pairs.entry[in_use], pairs.word[in_use], pairs.used[in_use]
        column = pairs.column[entry]
        # Entries of 0 stay: `used` has the places of `on`.
        on = self._by_column(column, word, np.ones(len(word), np.int32))
        users = self._by_column(column, word, used.astype(np.int32))
        concept = np.repeat(np.arange(self.shape[0]), np.diff(on.indptr))
        self.counts.append((concept, on.indices, on.data, users.data))
        place = pairs.document[entry][used], column[used].astype(np.int64) * self.shape[1] + word[used]
        self.uses = self.uses + sparse.csr_array((np.full(len(place[0]), weight), place), self.uses.shape)

    def _by_column(self, column: np.ndarray, word: np.ndarray, values: np.ndarray) -> sparse.csr_array:
        out = sparse.csr_array(sparse.coo_array((values, (column, word)), shape=self.shape))
        out.sort_indices()
        return out

    def summary(self, found: Consensus) -> Summary:
        counts = self._word_counts()
        rows = np.array(self.rows, np.int32).reshape(len(self.rows), self.shape[0])
        alignment = Alignment(
            found.chain,
            # A column in use without an overlap of its own (a merged one) counts as found.
            np.where(rows > 0, np.where(found.overlap > 0, found.overlap, 1.0), 0).astype(np.float32),
            rows,
            np.array(self.strength, np.float32).reshape(rows.shape),
            self._n_words(counts, rows),
            np.array(self.held, np.int32).reshape(rows.shape),
        )
        share = alignment.found
        share_on = sparse.csr_array(sparse.diags_array(1 / np.where(share > 0, share, 1.0)) @ self.share_on)
        words = self._word_use(alignment, counts)
        return Summary(
            *(alignment, words, self._memberships(), self._uses(), counts), word_shares(share_on), found
        )

    def _word_counts(self) -> WordCounts:
        ptr = np.cumsum([0, *(len(part[0]) for part in self.counts)]).astype(np.int64)
        columns = zip(*self.counts) if self.counts else [[]] * 4
        return WordCounts(
            ptr, *(np.concatenate([np.zeros(0, np.int32), *c]).astype(np.int32) for c in columns)
        )

    def _n_words(self, counts: WordCounts, rows: np.ndarray) -> np.ndarray:
        draw = np.repeat(np.arange(len(rows)), np.diff(counts.ptr))
        typical = (counts.used >= USED_BY * rows[draw, counts.concept]) & (counts.used > 0)
        cell = draw[typical] * self.shape[0] + counts.concept[typical]
        return np.bincount(cell, minlength=rows.size).reshape(rows.shape).astype(np.int32)

    def _word_use(self, alignment: Alignment, counts: WordCounts) -> WordUse:
        draw = np.repeat(np.arange(len(alignment.chain)), np.diff(counts.ptr))
        share = alignment.found
        weight = self.weight[draw] / np.where(share > 0, share, 1.0)[counts.concept]
        rows = np.maximum(alignment.rows[draw, counts.concept], 1)
        on, used = counts.on / rows, counts.used / rows
        key, at = np.unique(
            counts.concept.astype(np.int64) * self.shape[1] + counts.word, return_inverse=True
        )

        def mean(values: np.ndarray) -> np.ndarray:
            return np.bincount(at, values * weight, len(key)).astype(np.float32)

        def bounds(values: np.ndarray) -> Sequence[np.ndarray]:
            return [sparse_quantile(at, values, weight, q).astype(np.float32) for q in TAILS]

        concept, word = np.divmod(key, self.shape[1])
        typical = ((used >= USED_BY) & (counts.used > 0)).astype(float)
        return WordUse(
            *(concept.astype(np.int32), word.astype(np.int32), mean(typical)),
            *(mean(on), *bounds(on), mean(used), *bounds(used), mean(counts.used)),
        )

    def _memberships(self) -> Memberships:
        size, concept, weight, mean, total = (np.concatenate(part) for part in zip(*self.memberships))
        return Memberships(
            np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
            concept.astype(np.int32),
            weight.astype(np.float32),
            mean.astype(np.float32),
            total.astype(np.float32),
        )

    def _uses(self) -> Uses:
        self.uses.sort_indices()
        concept, word = np.divmod(self.uses.indices, max(self.shape[1], 1))
        ptr, share = self.uses.indptr.astype(np.int64), self.uses.data.astype(np.float32)
        return Uses(ptr, concept.astype(np.int32), word.astype(np.int32), share)
