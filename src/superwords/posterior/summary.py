"""Everything the tables are made of, gathered from the spaced draws in one pass.

The columns are the listed concepts (`consensus`), or those that people merged from them. A document uses a concept in a
draw if at least one of its tokens is imputed to it (n_dj > 0); what it holds without use is counted in `held` alone.
Every mean over draws counts each chain the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.posterior.alignment import TYPICAL, Consensus, chain_shares
from superwords.posterior.draws import Draws, Kept
from superwords.posterior.intervals import TAILS, sparse_quantile
from superwords.posterior.word_sets import summed
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
    def weights(self) -> np.ndarray:
        """(T, J): how much a draw counts for a concept; 0 without a partner, the others sum to 1."""
        weights = self.weight[:, None] * self.matched
        total = weights.sum(axis=0)
        return weights / np.where(total > 0, total, 1.0)

    @property
    def by_chain(self) -> np.ndarray:
        """(chains, J): share of a chain's draws in which a concept has a partner."""
        return np.array([self.matched[self.chain == c].mean(axis=0) for c in np.unique(self.chain)])

    @property
    def is_missed(self) -> np.ndarray:
        """(J): whether some chain lacks the concept; its intervals then begin at 0."""
        return np.asarray((self.by_chain < TYPICAL).any(axis=0))

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

    @property
    def own_share(self) -> np.ndarray:
        """The concept's share of the word's uses."""
        everywhere = self.everywhere if len(self.everywhere) else np.bincount(self.word, self.documents)[self.word]
        return self.documents / np.where(everywhere > 0, everywhere, 1.0)

    @property
    def score(self) -> np.ndarray:
        """How characteristic the word is of the concept (`superwords.analysis.tables`)."""
        return self.used * self.own_share


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
    share_on: sparse.csr_array  # (J, V) mean of m_ji / m_j over the draws with a partner: of the documents that hold j
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
        on, place, *of_draw = _of_draw(draw, columns_of(draw, partner, into), order, alpha_pi, shape)
        share_on = share_on + weight * on
        uses = uses + sparse.csr_array((np.full(len(place[0]), weight), place), uses.shape)
        counted.append(of_draw)
    held, rows, strength, memberships, words = zip(*counted)
    in_use = np.array(rows, np.int32)
    word_ptr = np.cumsum([0, *(len(part[0]) for part in words)]).astype(np.int64)
    counts = WordCounts(word_ptr, *(np.concatenate(part).astype(np.int32) for part in zip(*words)))
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
    ptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    uses.sort_indices()
    of_use, word = (one.astype(np.int32) for one in np.divmod(uses.indices, max(shape[1], 1)))
    return Summary(
        alignment,
        word_use,
        Memberships(ptr, concept.astype(np.int32), *(one.astype(np.float32) for one in values)),
        Uses(uses.indptr.astype(np.int64), of_use, word, uses.data.astype(np.float32)),
        counts,
        share_on,
        found,
    )


def columns_of(draw: Kept, partner: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
    """Return the column of each of a draw's concepts, from their partners in the list; -1: none."""
    column = np.full(n_concepts(draw.state), -1)
    paired = np.flatnonzero(partner >= 0)
    column[partner[paired]] = paired if into is None else into[paired]
    return column


def _of_draw(
    draw: Kept, column: np.ndarray, order: np.ndarray, alpha_pi: float, shape: tuple[int, int]
) -> tuple[Any, ...]:
    """Return one draw's m_ji / m_j, the places of its uses, and its parts of the alignment, memberships and words."""
    state, tokens, n_rows = draw.state, draw.tokens, len(order)
    row = np.repeat(order, np.diff(state.doc_ptr))
    length = np.bincount(row, tokens.pair, n_rows)
    total = np.bincount(row, minlength=n_rows) * alpha_pi + length
    # A document and a column make a pair; it is of several concepts where some are merged.
    known = column[state.concept] >= 0
    key, pair = np.unique(row[known].astype(np.int64) * shape[0] + column[state.concept[known]], return_inverse=True)
    document, own = np.divmod(key, shape[0])
    n, members = np.bincount(pair, tokens.pair[known], len(key)), np.bincount(pair, minlength=len(key))
    size = np.diff(state.pair_ptr)
    entry, inside = np.repeat(pair, size[known]), np.repeat(known, size)
    word, used = state.word[inside], tokens.entry[inside] > 0
    if (members > 1).any():  # a word that is on in several merged concepts counts once
        both, first = np.unique(entry.astype(np.int64) * shape[1] + word, return_inverse=True)
        used = np.bincount(first, used, len(both)) > 0
        entry, word = np.divmod(both, shape[1])
    held = np.bincount(own, minlength=shape[0])
    share_on = sparse.diags_array(1 / np.maximum(held, 1)) @ summed(own[entry], word, np.ones(len(word)), shape)

    in_use = n > 0
    where, concept = document[in_use], own[in_use]
    mean, weight = (alpha_pi * members[in_use] + n[in_use]) / total[where], n[in_use] / length[where]
    rows = np.bincount(concept, minlength=shape[0])
    strength = np.where(rows > 0, np.bincount(concept, weight, shape[0]) / np.maximum(rows, 1), np.nan)
    memberships = np.bincount(where, minlength=n_rows), concept, weight, mean, total

    of_use = in_use[entry]
    entry, word, used = entry[of_use], word[of_use], used[of_use]
    # Entries of 0 stay: `users` has the places of `on`.
    on = summed(own[entry], word, np.ones(len(word), np.int32), shape)
    users = summed(own[entry], word, used.astype(np.int32), shape)
    words = np.repeat(np.arange(shape[0]), np.diff(on.indptr)), on.indices, on.data, users.data
    place = document[entry][used], own[entry][used].astype(np.int64) * shape[1] + word[used]
    return share_on, place, held, rows, strength, memberships, words


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
