"""Everything the tables are made of, gathered from all kept draws in one pass, small enough to be stored.

The most probable draw is the reference: its concepts, in the order of the fitted attributes, are the
columns here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.concepts.alignment import Partners, Usage, find_partners, reordered, usage_of
from superwords.concepts.intervals import TAILS, sparse_quantile
from superwords.concepts.word_draws import GatheredWords, WordDraws, WordEntries, entries_of
from superwords.draws import Draws, Kept

# Memberships (and word uses) kept draw by draw, in all draws together; above, evenly spaced draws are taken.
_MOST_PAIRS = 500_000
_FEWEST_DRAWS = 20
_MERGE_KEYS = 4_000_000

WeightsOf = Callable[[Kept], sparse.csr_array]


class Alignment(NamedTuple):
    """How the concepts of each of S draws relate to the reference's; 0 (or NaN) where there is no partner."""

    chain: np.ndarray  # (S)
    similarity: np.ndarray  # (S, J) cosine; 0: no partner
    jaccard: np.ndarray  # (S, J)
    holders: np.ndarray  # (S, J) m_j of the partner
    strength: np.ndarray  # (S, J) mean weight where held; NaN: no partner

    @property
    def matched(self) -> np.ndarray:
        return self.similarity > 0


class WordUse(NamedTuple):
    """Words of concepts, averaged over the draws with a partner of the concept; by concept, then word."""

    concept: np.ndarray
    word: np.ndarray
    inside: np.ndarray  # share of the draws in which the word is on in any document of the concept
    on: np.ndarray  # share of the concept's documents that have the word on
    on_low: np.ndarray
    on_high: np.ndarray
    used: np.ndarray  # share of the concept's documents that have the word on and use it
    used_low: np.ndarray
    used_high: np.ndarray
    documents: np.ndarray  # how many documents that is


class Memberships(NamedTuple):
    """Weights of documents (in the order they were given) in the reference concepts, draw by draw."""

    draw: np.ndarray  # (T) which of the S draws
    ptr: np.ndarray  # (T·D + 1) into concept and weight: the documents of one draw after those of another
    concept: np.ndarray
    weight: np.ndarray


class Uses(NamedTuple):
    """In how many of the T draws a document uses a word for a concept."""

    ptr: np.ndarray  # (D + 1)
    concept: np.ndarray
    word: np.ndarray
    draws: np.ndarray


class Summary(NamedTuple):
    alignment: Alignment
    words: WordUse
    memberships: Memberships
    uses: Uses
    word_draws: WordDraws


def summarize(
    draws: Draws, best: Kept, concept_order: np.ndarray, order: np.ndarray, weights_of: WeightsOf
) -> Summary:
    """Align every kept draw with the most probable one and gather what the tables need."""
    reference = reordered(usage_of(best), concept_order)
    gathered = _Gathered(reference, order, weights_of, _spaced_draws(best, reference, len(draws)))
    for s, draw in enumerate(draws):
        gathered.add(s, draw)
    return gathered.summary(draws.chain)


def _spaced_draws(best: Kept, reference: Usage, n_draws: int) -> np.ndarray:
    size = max(len(best.state.concept), reference.on.nnz, 1)
    n_spaced = min(n_draws, max(_FEWEST_DRAWS, _MOST_PAIRS // size))
    return np.unique(np.linspace(0, n_draws - 1, n_spaced).round().astype(int))


class _Gathered:
    """The running sums of `summarize`."""

    def __init__(self, reference: Usage, order: np.ndarray, weights_of: WeightsOf, spaced: np.ndarray):
        self.reference = reference
        self.order = order
        self.weights_of = weights_of
        self.spaced = spaced
        self.n_concepts, self.n_words = reference.on.shape
        self.partners: list[Partners] = []
        self.holders: list[np.ndarray] = []
        self.strength: list[np.ndarray] = []
        empty = sparse.csr_array((self.n_concepts, self.n_words))
        self.inside, self.on, self.used, self.documents = empty, empty, empty, empty
        self.memberships: list[sparse.csr_array] = []
        self.shares: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.uses = _CountedKeys()
        self.word_draws = GatheredWords(self.n_concepts, self.n_words)

    def add(self, s: int, draw: Kept) -> None:
        usage = usage_of(draw)
        partners = find_partners(self.reference, usage)
        ours = np.flatnonzero(partners.of >= 0)
        # (J, J_s): 1 where a reference concept has its partner.
        pick = sparse.csr_array(
            (np.ones(len(ours)), (ours, partners.of[ours])), shape=(self.n_concepts, len(usage.holders))
        )
        aligned = Usage(pick @ usage.holders, pick @ usage.on, pick @ usage.used)
        per_document = sparse.diags_array(1 / np.maximum(aligned.holders, 1))
        on, used = sparse.csr_array(per_document @ aligned.on), sparse.csr_array(per_document @ aligned.used)
        weights = sparse.csr_array(self.weights_of(draw) @ pick.T)
        total = np.asarray(weights.sum(axis=0)).ravel()
        held = aligned.holders > 0
        self.partners.append(partners)
        self.holders.append(aligned.holders)
        self.strength.append(np.where(held, total / np.maximum(aligned.holders, 1), np.nan))
        self.inside = self.inside + (aligned.on > 0).astype(float)
        self.on, self.used = self.on + on, self.used + used
        self.documents = self.documents + aligned.used
        if s in self.spaced:
            weights.sort_indices()
            self.memberships.append(weights)
            row, column = on.nonzero()
            key = row.astype(np.int64) * self.n_words + column
            self.shares.append((key, _values_at(on, row, column), _values_at(used, row, column)))
            entries = entries_of(draw, partners.of, self.order)
            self.uses.add(self._use_keys(entries))
            self.word_draws.add(entries)

    def _use_keys(self, entries: WordEntries) -> np.ndarray:
        """(document, concept, word) as one number, for every entry with tokens."""
        document = entries.document.astype(np.int64)
        key = (document * self.n_concepts + entries.concept) * self.n_words + entries.word
        return key[entries.used]

    def summary(self, chain: np.ndarray) -> Summary:
        n_documents = len(self.order)
        shape = (len(chain), self.n_concepts)
        alignment = Alignment(
            chain,
            np.array([p.similarity for p in self.partners], np.float32).reshape(shape),
            np.array([p.jaccard for p in self.partners], np.float32).reshape(shape),
            np.array(self.holders, np.int32).reshape(shape),
            np.array(self.strength, np.float32).reshape(shape),
        )
        stacked = sparse.csr_array(sparse.vstack(self.memberships, format="csr"))
        memberships = Memberships(
            self.spaced.astype(np.int32),
            stacked.indptr.astype(np.int64),
            stacked.indices.astype(np.int32),
            stacked.data.astype(np.float32),
        )
        words, uses = self._word_use(alignment), self._uses(n_documents)
        return Summary(alignment, words, memberships, uses, self.word_draws.word_draws())

    def _word_use(self, alignment: Alignment) -> WordUse:
        self.inside.sort_indices()
        concept, word = self.inside.nonzero()
        n_matched = np.maximum(alignment.matched.sum(axis=0), 1)[concept]
        flat = concept.astype(np.int64) * self.n_words + word

        def mean(total: sparse.csr_array) -> np.ndarray:
            return (_values_at(total, concept, word) / n_matched).astype(np.float32)

        n_values = alignment.matched[self.spaced].sum(axis=0)[concept]
        key = np.concatenate([key for key, _, _ in self.shares] or [np.zeros(0, np.int64)])
        seen = np.searchsorted(flat, np.unique(key))
        bounds = []
        for column in (1, 2):
            value = np.concatenate([share[column] for share in self.shares])
            for q in TAILS:
                bound = np.zeros(len(flat), np.float32)
                bound[seen] = sparse_quantile(key, value, n_values[seen], q)
                bounds.append(bound)
        return WordUse(
            concept.astype(np.int32),
            word.astype(np.int32),
            mean(self.inside),
            mean(self.on),
            bounds[0],
            bounds[1],
            mean(self.used),
            bounds[2],
            bounds[3],
            mean(self.documents),
        )

    def _uses(self, n_documents: int) -> Uses:
        key, draws = self.uses.counted()
        word = key % self.n_words
        document, concept = np.divmod(key // self.n_words, max(self.n_concepts, 1))
        ptr = np.searchsorted(document, np.arange(n_documents + 1))
        return Uses(
            ptr.astype(np.int64), concept.astype(np.int32), word.astype(np.int32), draws.astype(np.int32)
        )


def _values_at(matrix: sparse.csr_array, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    # scipy gives a sparse array where there is nothing to look up.
    return np.asarray(matrix[row, column]).ravel() if len(row) else np.zeros(0)


class _CountedKeys:
    """Counts how often keys occur, merging now and then so that memory follows the distinct ones."""

    def __init__(self) -> None:
        self.key = np.zeros(0, np.int64)
        self.count = np.zeros(0, np.int64)
        self.waiting: list[np.ndarray] = []

    def add(self, key: np.ndarray) -> None:
        self.waiting.append(key)
        if sum(map(len, self.waiting)) > _MERGE_KEYS:
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self.key, *self.waiting])
        counts = np.concatenate([self.count, np.ones(len(keys) - len(self.key), np.int64)])
        self.key, place = np.unique(keys, return_inverse=True)
        self.count = np.bincount(place, counts, len(self.key)).astype(np.int64)
        self.waiting = []

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        self._merge()
        return self.key, self.count
