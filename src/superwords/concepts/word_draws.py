"""Which documents have a word on, and use it, for which concept: counted in every kept draw, overlaps apart.

A concept that people merged from several holds a word in the documents in which any of its members does. That is the
sum of the members' counts less the documents that were counted more than once, which are few: they are kept one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.draws import Kept
from superwords.sampler.state import n_concepts


class WordDraws(NamedTuple):
    """Words of the reference concepts in each of T draws; words by concept, overlaps by document."""

    ptr: np.ndarray  # (T + 1) into concept, word, on and used
    concept: np.ndarray
    word: np.ndarray
    on: np.ndarray  # documents that have the word on in the concept
    used: np.ndarray  # documents that also use it
    shared_ptr: np.ndarray  # (T + 1) into what follows: words that a document has on in several concepts
    shared_document: np.ndarray  # in the order they were given
    shared_concept: np.ndarray
    shared_word: np.ndarray
    shared_used: np.ndarray  # 1 where the document uses the word for the concept


class WordEntries(NamedTuple):
    """The words on in one draw, for each document and reference concept."""

    document: np.ndarray
    concept: np.ndarray
    word: np.ndarray
    used: np.ndarray


def entries_of(draw: Kept, partner: np.ndarray, order: np.ndarray) -> WordEntries:
    """The entries of concepts with a partner: `partner` is the draw's own concept for each of the reference's."""
    state = draw.state
    label = np.full(n_concepts(state), -1)
    paired = np.flatnonzero(partner >= 0)
    label[partner[paired]] = paired
    pair = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    concept = label[state.concept[pair]]
    known = concept >= 0
    document = np.repeat(order, np.diff(state.doc_ptr))[pair]
    return WordEntries(document[known], concept[known], state.word[known], draw.tokens.entry[known] > 0)


class GatheredWords:
    """Collects `WordDraws` draw by draw."""

    def __init__(self, n_concepts: int, n_words: int):
        self.shape = n_concepts, n_words
        self.counted: list[tuple[np.ndarray, ...]] = []
        self.shared: list[tuple[np.ndarray, ...]] = []

    def add(self, entries: WordEntries) -> None:
        place = entries.concept, entries.word
        # WordEntries of 0 stay: `used` has the places of `on`.
        on = sparse.coo_array((np.ones(len(entries.word), np.int32), place), shape=self.shape)
        used = sparse.coo_array((entries.used.astype(np.int32), place), shape=self.shape)
        counted_on, counted_used = sparse.csr_array(on), sparse.csr_array(used)
        counted_on.sort_indices()
        counted_used.sort_indices()
        concept = np.repeat(np.arange(self.shape[0]), np.diff(counted_on.indptr))
        self.counted.append((concept, counted_on.indices, counted_on.data, counted_used.data))
        key = entries.document.astype(np.int64) * self.shape[1] + entries.word
        _, at, times = np.unique(key, return_inverse=True, return_counts=True)
        several = np.flatnonzero(times[at] > 1)
        several = several[np.argsort(key[several], kind="stable")]
        self.shared.append(tuple(part[several] for part in entries))

    def word_draws(self) -> WordDraws:
        concept, word, on, used = (_joined(self.counted, at) for at in range(4))
        shared = (_joined(self.shared, at) for at in range(4))
        return WordDraws(_pointer(self.counted), concept, word, on, used, _pointer(self.shared), *shared)


def _pointer(parts: list[tuple[np.ndarray, ...]]) -> np.ndarray:
    return np.cumsum([0, *(len(part[0]) for part in parts)]).astype(np.int64)


def _joined(parts: list[tuple[np.ndarray, ...]], at: int) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int32), *(part[at].astype(np.int32) for part in parts)])


class Union(NamedTuple):
    """A merged concept's words in one draw."""

    word: np.ndarray
    on: np.ndarray  # documents that have the word on in any member
    used: np.ndarray


def union_of_words(words: WordDraws, t: int, is_member: np.ndarray, n_words: int) -> Union:
    """The words of several concepts taken as one in draw t, every document counted once."""
    part = slice(words.ptr[t], words.ptr[t + 1])
    inside = is_member[words.concept[part]]
    word = words.word[part][inside]
    on = np.bincount(word, words.on[part][inside], n_words)
    used = np.bincount(word, words.used[part][inside], n_words)
    twice, word_twice = _counted_twice(words, t, is_member)
    on -= np.bincount(word_twice, twice[0], n_words)
    used -= np.bincount(word_twice, twice[1], n_words)
    there = np.flatnonzero(on > 0)
    return Union(there, on[there], used[there])


def used_twice(words: WordDraws, t: int, is_member: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Document, word and how often beyond once it was counted as a use of any member in draw t."""
    document, word, _, used = _shared(words, t, is_member)
    more = used > 0
    return document[more], word[more], used[more]


def _counted_twice(
    words: WordDraws, t: int, is_member: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    _, word, on, used = _shared(words, t, is_member)
    return (on, used), word


def _shared(words: WordDraws, t: int, is_member: np.ndarray) -> tuple[np.ndarray, ...]:
    """(document, word, times on beyond once, times used beyond once) of words on in several members."""
    part = slice(words.shared_ptr[t], words.shared_ptr[t + 1])
    inside = is_member[words.shared_concept[part]]
    document, word = words.shared_document[part][inside], words.shared_word[part][inside]
    n_words = int(word.max()) + 1 if len(word) else 1
    key, at = np.unique(document.astype(np.int64) * n_words + word, return_inverse=True)
    on = np.bincount(at, minlength=len(key)) - 1
    used = np.maximum(np.bincount(at, words.shared_used[part][inside], len(key)).astype(int) - 1, 0)
    return key // n_words, key % n_words, on, used
