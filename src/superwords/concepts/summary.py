"""Everything the tables are made of, gathered from all kept draws in one pass, small enough to be stored.

The reference is the most probable draw of the chains that predict well: its concepts, in the order of the fitted
attributes, are the columns here. Every mean over draws counts a draw by its chain's weight (`stacking`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.concepts.alignment import Partners, Usage, described, find_partners, reordered, usage_of
from superwords.concepts.elsewhere import OtherConcepts, find_others
from superwords.concepts.intervals import TAILS, sparse_quantile
from superwords.concepts.word_draws import GatheredWords, WordDraws, WordEntries, entries_of
from superwords.draws import Draws, Kept

# Memberships (and word uses) kept draw by draw, in all draws together; above, evenly spaced draws are taken.
_MOST_PAIRS = 500_000
_FEWEST_DRAWS = 20
_MERGE_KEYS = 4_000_000
USED_BY = 0.02  # share of the documents that hold a concept: a draw uses a word for it if so many use it

WeightsOf = Callable[[Kept], sparse.csr_array]


class Alignment(NamedTuple):
    """How the concepts of each of S draws relate to the reference's; 0 (or NaN) where there is no partner."""

    chain: np.ndarray  # (S)
    chain_weight: np.ndarray  # (chains) how much a chain counts; all sum to 1
    reference: int  # which of the S draws the others are set beside
    overlap: np.ndarray  # (S, J) with the partner; 0: no partner
    holders: np.ndarray  # (S, J) m_j of the partner
    strength: np.ndarray  # (S, J) mean weight where held; NaN: no partner
    n_words: np.ndarray  # (S, J) words that at least 2% of the partner's documents use

    @property
    def weight(self) -> np.ndarray:
        """(S): how much a draw counts; all sum to 1."""
        return shared_weights(self.chain_weight, self.chain)

    @property
    def matched(self) -> np.ndarray:
        return self.overlap > 0


class WordUse(NamedTuple):
    """Words of concepts, averaged over the draws with a partner of the concept; by concept, then word."""

    concept: np.ndarray
    word: np.ndarray
    probability: (
        np.ndarray
    )  # share of the draws in which at least 2% of the concept's documents use the word for it
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
    """How often, over the T draws, a document uses a word for a concept."""

    ptr: np.ndarray  # (D + 1)
    concept: np.ndarray
    word: np.ndarray
    share: np.ndarray  # of all T draws by weight, those without the concept included


class Summary(NamedTuple):
    alignment: Alignment
    words: WordUse
    memberships: Memberships
    uses: Uses
    word_draws: WordDraws
    others: OtherConcepts


def summarize(
    draws: Draws,
    best: Kept,
    chain_weights: np.ndarray,
    concept_order: np.ndarray,
    order: np.ndarray,
    weights_of: WeightsOf,
) -> Summary:
    """Align every kept draw with the reference `best` and gather what the tables need."""
    reference = reordered(usage_of(best), concept_order)
    size = max(len(best.state.concept), reference.on.nnz, 1)
    own = next(s for s, draw in enumerate(draws) if (draw.sweep, draw.score) == (best.sweep, best.score))
    spaced = _spaced_draws(len(draws), own, most_spaced(size))
    of_spaced = np.zeros(len(draws))
    of_spaced[spaced] = shared_weights(chain_weights, draws.chain[spaced])
    counted = _Counted(chain_weights, own, shared_weights(chain_weights, draws.chain), spaced, of_spaced)
    gathered = _Gathered(reference, order, weights_of, counted)
    for s, draw in enumerate(draws):
        gathered.add(s, draw)
    others = find_others(draws, gathered.reference, int(draws.chain[own]))
    return gathered.summary(draws.chain, others)


def shared_weights(chain_weights: np.ndarray, chain: np.ndarray) -> np.ndarray:
    """(draws): the weight of each chain shared out among its draws."""
    return chain_weights[chain] / np.bincount(chain, minlength=len(chain_weights))[chain]


def most_spaced(n_pairs: int) -> int:
    """Of how many draws with so many memberships each one is kept."""
    return max(_FEWEST_DRAWS, _MOST_PAIRS // max(1, n_pairs))


def _spaced_draws(n_draws: int, reference: int, most: int) -> np.ndarray:
    """Evenly spaced draws, the reference among them."""
    spaced = np.linspace(0, n_draws - 1, min(n_draws, most)).round().astype(int)
    return np.unique([*spaced, reference])


class _Counted(NamedTuple):
    """How much draws count: all of them, and those of which memberships and uses are kept."""

    chains: np.ndarray  # (chains)
    reference: int
    all: np.ndarray  # (S)
    spaced: np.ndarray  # (T) which draws are kept
    of_spaced: np.ndarray  # (S), 0 for the others


class _Gathered:
    """The running sums of `summarize`."""

    def __init__(self, reference: Usage, order: np.ndarray, weights_of: WeightsOf, counted: _Counted):
        self.reference = described(reference.used, reference.holders)
        self.order = order
        self.weights_of = weights_of
        self.counted = counted
        self.weight, self.spaced, self.of_spaced = counted.all, counted.spaced, counted.of_spaced
        self.n_concepts, self.n_words = reference.on.shape
        self.partners: list[Partners] = []
        self.holders: list[np.ndarray] = []
        self.strength: list[np.ndarray] = []
        self.n_words_used: list[np.ndarray] = []
        empty = sparse.csr_array((self.n_concepts, self.n_words))
        self.using, self.on, self.used, self.documents = empty, empty, empty, empty
        self.memberships: list[sparse.csr_array] = []
        self.shares: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.uses = _WeighedKeys()
        self.word_draws = GatheredWords(self.n_concepts, self.n_words)

    def add(self, s: int, draw: Kept) -> None:
        usage = usage_of(draw)
        partners = find_partners(self.reference, described(usage.used, usage.holders))
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
        using = sparse.csr_array(used >= USED_BY)
        self.n_words_used.append(np.diff(using.indptr))
        share = self.weight[s]
        self.using = self.using + share * using.astype(float)
        self.on, self.used = self.on + share * on, self.used + share * used
        self.documents = self.documents + share * aligned.used
        if s in self.spaced:
            weights.sort_indices()
            self.memberships.append(weights)
            row, column = on.nonzero()
            key = row.astype(np.int64) * self.n_words + column
            weight = np.full(len(key), self.of_spaced[s])
            self.shares.append((key, weight, _values_at(on, row, column), _values_at(used, row, column)))
            entries = entries_of(draw, partners.of, self.order)
            self.uses.add(self._use_keys(entries), float(self.of_spaced[s]))
            self.word_draws.add(entries)

    def _use_keys(self, entries: WordEntries) -> np.ndarray:
        """(document, concept, word) as one number, for every entry with tokens."""
        document = entries.document.astype(np.int64)
        key = (document * self.n_concepts + entries.concept) * self.n_words + entries.word
        return key[entries.used]

    def summary(self, chain: np.ndarray, others: OtherConcepts) -> Summary:
        n_documents = len(self.order)
        shape = (len(chain), self.n_concepts)
        alignment = Alignment(
            chain,
            self.counted.chains,
            self.counted.reference,
            np.array([p.overlap for p in self.partners], np.float32).reshape(shape),
            np.array(self.holders, np.int32).reshape(shape),
            np.array(self.strength, np.float32).reshape(shape),
            np.array(self.n_words_used, np.int32).reshape(shape),
        )
        stacked = sparse.csr_array(sparse.vstack(self.memberships, format="csr"))
        memberships = Memberships(
            self.spaced.astype(np.int32),
            stacked.indptr.astype(np.int64),
            stacked.indices.astype(np.int32),
            stacked.data.astype(np.float32),
        )
        words, uses = self._word_use(alignment), self._uses(n_documents)
        return Summary(alignment, words, memberships, uses, self.word_draws.word_draws(), others)

    def _word_use(self, alignment: Alignment) -> WordUse:
        self.on.eliminate_zeros()  # words on in draws of weight 0 alone
        self.on.sort_indices()
        concept, word = self.on.nonzero()
        found = self.weight @ alignment.matched
        in_found = np.where(found > 0, found, 1.0)[concept]
        flat = concept.astype(np.int64) * self.n_words + word

        def mean(total: sparse.csr_array) -> np.ndarray:
            return (_values_at(total, concept, word) / in_found).astype(np.float32)

        key, weight, *values = (np.concatenate(part) for part in zip(*self.shares))
        of_concept = self.of_spaced @ alignment.matched
        weight = weight / np.where(of_concept > 0, of_concept, 1.0)[key // max(self.n_words, 1)]
        counted = weight > 0
        seen = np.searchsorted(flat, np.unique(key[counted]))
        bounds = []
        for value in values:
            for q in TAILS:
                bound = np.zeros(len(flat), np.float32)
                bound[seen] = sparse_quantile(key[counted], value[counted], weight[counted], q)
                bounds.append(bound)
        return WordUse(
            concept.astype(np.int32),
            word.astype(np.int32),
            mean(self.using),
            mean(self.on),
            bounds[0],
            bounds[1],
            mean(self.used),
            bounds[2],
            bounds[3],
            mean(self.documents),
        )

    def _uses(self, n_documents: int) -> Uses:
        key, share = self.uses.weighed()
        word = key % self.n_words
        document, concept = np.divmod(key // self.n_words, max(self.n_concepts, 1))
        ptr = np.searchsorted(document, np.arange(n_documents + 1))
        return Uses(
            ptr.astype(np.int64), concept.astype(np.int32), word.astype(np.int32), share.astype(np.float32)
        )


def _values_at(matrix: sparse.csr_array, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    # scipy gives a sparse array where there is nothing to look up.
    return np.asarray(matrix[row, column]).ravel() if len(row) else np.zeros(0)


class _WeighedKeys:
    """Adds up the weights of keys, merging now and then so that memory follows the distinct ones."""

    def __init__(self) -> None:
        self.key = np.zeros(0, np.int64)
        self.weight = np.zeros(0)
        self.waiting: list[tuple[np.ndarray, float]] = []

    def add(self, key: np.ndarray, weight: float) -> None:
        self.waiting.append((key, weight))
        if sum(len(key) for key, _ in self.waiting) > _MERGE_KEYS:
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self.key, *(key for key, _ in self.waiting)])
        weights = np.concatenate([self.weight, *(np.full(len(key), weight) for key, weight in self.waiting)])
        self.key, place = np.unique(keys, return_inverse=True)
        self.weight = np.bincount(place, weights, len(self.key)).astype(float)
        self.waiting = []

    def weighed(self) -> tuple[np.ndarray, np.ndarray]:
        self._merge()
        counted = self.weight > 0
        return self.key[counted], self.weight[counted]
