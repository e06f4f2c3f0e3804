"""Frequent sequences of tokens, and the cutting of every run of tokens into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from superwords.text.phrases import (
    CAN_END,
    CAN_START,
    NEW_RUN,
    ORDINAL_START,
    STOP,
    WEAK_START,
    is_content,
)
from superwords.text.stream import TokenStream

MAX_LENGTH = 4
PHRASE = 0.2  # normalised pointwise mutual information from which a phrase is a word of its own
SET_PHRASE = 0.25  # from which a stop word belongs to it,
CLOSE = 0.45  # from which an ordinal does: "first lady", but not "first time"
COMPOUND = 0.35  # and from which three words or more are one: "health insurance | plan", "american medical association"
PIECE = 0.85  # share of its uses inside a longer run from which a phrase is a piece of longer ones
BOUND = 0.7  # share of its uses from which the end of a phrase belongs to the word before it


@dataclass(frozen=True)
class Grams:
    """All sequences of 1 to n keys within a run.

    `at[n - 1][p]` is the n-gram that begins at token p, or -1; `words[n - 1][g]` are the keys of n-gram g, and
    `key_names` their spelling.
    """

    key_names: list[str]
    at: list[np.ndarray]
    words: list[np.ndarray]

    def joined(self, length: int, gram: int) -> str:
        """Return the spelling of a gram without spaces: "health care", "health-care" and "healthcare" share it."""
        return "".join(self.key_names[k] for k in self.words[length - 1][gram])


@dataclass(frozen=True)
class Cut:
    """The words found: word `unit[t]` covers `length[t]` tokens from token `start[t]` on, longest first."""

    start: np.ndarray
    length: np.ndarray
    unit: np.ndarray
    is_covered: np.ndarray


def key_numbers(stream: TokenStream) -> tuple[np.ndarray, list[str]]:
    """Return the key of each token as a number, and the spelling of each number."""
    numbers: dict[str, int] = {}
    of_type = np.array([numbers.setdefault(key, len(numbers)) for _, key, _ in stream.types], np.int32)
    return (of_type[stream.token_type] if len(of_type) else np.zeros(0, np.int32)), list(numbers)


def run_lengths_left(flags: np.ndarray) -> np.ndarray:
    """Return how many tokens the run of each token still has, itself included."""
    bounds = np.append(np.flatnonzero(flags & NEW_RUN), len(flags))
    end_of_token = np.repeat(bounds[1:], np.diff(bounds))
    return end_of_token - np.arange(len(flags))


def document_frequency(gram: np.ndarray, document: np.ndarray, n_grams: int, n_documents: int) -> np.ndarray:
    """Return in how many documents each gram is."""
    ones = np.ones(len(gram), bool)
    is_there = sparse.csr_array(sparse.coo_array((ones, (document, gram)), shape=(n_documents, n_grams)))
    return np.bincount(is_there.indices, minlength=n_grams)


def frequent_grams(
    stream: TokenStream, part: np.ndarray, n_parts: int, min_df: int, max_length: int
) -> Grams:
    """Return sequences in at least `min_df` parts (`part` is each token's), grown from frequent shorter ones."""

    def is_frequent(begins: np.ndarray, gram: np.ndarray, words: np.ndarray, names: list[str]) -> np.ndarray:
        return document_frequency(gram, part[begins], len(words), n_parts) >= min_df

    return _grown(stream, max_length, is_frequent, is_last_kept=True)


def known_grams(stream: TokenStream, known: frozenset[str], max_length: int) -> Grams:
    """Return sequences whose joined spelling is, or begins, a known word."""
    prefixes = frozenset(word[:n] for word in known for n in range(1, len(word) + 1))

    def begins_known(begins: np.ndarray, gram: np.ndarray, words: np.ndarray, names: list[str]) -> np.ndarray:
        return np.array(["".join([names[k] for k in keys]) in prefixes for keys in words.tolist()], bool)

    return _grown(stream, max_length, begins_known, is_last_kept=False)


def _grown(
    stream: TokenStream, max_length: int, is_kept: Callable[..., np.ndarray], is_last_kept: bool
) -> Grams:
    """Return all single keys, and longer sequences grown from those kept, whose last key is kept too if asked."""
    key, names = key_numbers(stream)
    left = run_lengths_left(stream.token_flags)
    at, words = [key], [np.arange(len(names)).reshape(-1, 1)]
    kept = is_kept(np.arange(len(key)), key, words[0], names)
    may_end = kept if is_last_kept else np.ones(len(names), bool)
    grown = np.where(kept[key], key, -1)
    for n in range(2, max_length + 1):
        begins = np.flatnonzero((grown >= 0) & (left >= n))
        begins = begins[may_end[key[begins + n - 1]]]
        pair = grown[begins].astype(np.int64) * len(names) + key[begins + n - 1]
        distinct, gram = np.unique(pair, return_inverse=True)
        longer = np.column_stack([words[-1][distinct // len(names)], distinct % len(names)])
        kept = is_kept(begins, gram, longer, names)
        if not kept.any():
            break
        grown = np.full(len(key), -1, np.int32)
        grown[begins] = np.where(kept, np.cumsum(kept) - 1, -1)[gram]
        at.append(grown)
        words.append(longer[kept])
    return Grams(names, at, words)


def eligible_grams(
    stream: TokenStream, grams: Grams, part: np.ndarray, n_parts: int, min_df: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return for each length which grams may be words, and how closely their words belong together.

    A word is frequent where a word may begin and end, and is not of stop words alone. A phrase is more than its
    parts too, and no piece of a longer phrase: it ends its run often enough ("affordable care" is nearly always
    cut from "affordable care act"). A gram whose last words hardly occur without its first ("heart association"
    without "american") is a word whatever its parts are worth.
    """
    flags = stream.token_flags
    left = run_lengths_left(flags)
    is_stop_key = np.ones(len(grams.key_names), bool)
    is_stop_key[grams.at[0][(flags & STOP) == 0]] = False
    eligible, associations = [], []
    is_piece = np.zeros(0, bool)
    for n, (at, words) in enumerate(zip(grams.at, grams.words, strict=True), start=1):
        begins = np.flatnonzero(at >= 0)
        count = np.bincount(at[begins], minlength=len(words))
        n_open = np.bincount(at[begins[left[begins] > n]], minlength=len(words))
        is_piece_of_shorter, is_piece = is_piece, n_open >= PIECE * count
        begins = begins[can_be_word(flags, begins, n)]
        is_word = ~is_stop_key[words].all(axis=1)
        association = np.ones(len(words))
        if n > 1:
            association, inner, bound = _company(grams, n)
            is_whole = (bound >= BOUND) & is_piece_of_shorter[inner]
            is_word &= ~is_piece & ((association >= (PHRASE if n == 2 else COMPOUND)) | is_whole)
            is_weak = (flags[begins] & WEAK_START) > 0
            begins = begins[~is_weak | (is_whole | (association >= SET_PHRASE))[at[begins]]]
            is_ordinal = (flags[begins] & ORDINAL_START) > 0
            begins = begins[~is_ordinal | (association[at[begins]] >= CLOSE)]
        df = document_frequency(at[begins], part[begins], len(words), n_parts)
        eligible.append(is_word & (df >= min_df))
        associations.append(association)
    return eligible, associations


def can_be_word(flags: np.ndarray, begins: np.ndarray, length: int) -> np.ndarray:
    """Return whether the `length` tokens from each of `begins` may be one word, by its first and its last."""
    if length == 1:
        return is_content(flags[begins])
    ends = (flags[begins + length - 1] & CAN_END) > 0
    return ends & ((flags[begins] & (CAN_START | WEAK_START | ORDINAL_START)) > 0)


def _company(grams: Grams, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the association of each gram's words, the gram without its last word, and how bound its last words are.

    The association is the normalised pointwise mutual information of the first word and the rest, or of the last
    word and the rest, whichever is less; the last words are bound by the share of their uses that follow the first.
    """
    at, shorter = grams.at[length - 1], grams.at[length - 2]
    begins = np.flatnonzero(at >= 0)
    gram = at[begins]
    n_grams = len(grams.words[length - 1])
    inner, outer = np.zeros(n_grams, np.int64), np.zeros(n_grams, np.int64)
    inner[gram], outer[gram] = shorter[begins], shorter[begins + 1]
    key_count = np.bincount(grams.at[0])
    shorter_count = np.bincount(shorter[shorter >= 0])
    first, last = grams.words[length - 1][:, 0], grams.words[length - 1][:, -1]
    by_first, by_last = key_count[first] * shorter_count[outer], shorter_count[inner] * key_count[last]
    expected = np.maximum(by_first, by_last) / len(at)
    count = np.bincount(gram, minlength=n_grams)
    surprise = -np.log(count / len(at))
    association = np.divide(np.log(count / expected), surprise, out=np.ones(n_grams), where=surprise > 0)
    return association, inner, count / shorter_count[outer]


def cut_runs(stream: TokenStream, grams: Grams, unit_of: list[np.ndarray]) -> Cut:
    """Cut every run into words: the longest first, of equally long ones the first listed, and of one word the last.

    A phrase that is no word itself gives way to the longest words inside it. `unit_of[n - 1][g]` is the word of n-gram
    g, or -1.
    """
    flags = stream.token_flags
    is_covered = np.zeros(len(flags), bool)
    starts, lengths, units = [], [], []
    for n in range(len(grams.at), 0, -1):
        at = grams.at[n - 1]
        begins = np.flatnonzero(at >= 0)
        begins = begins[unit_of[n - 1][at[begins]] >= 0]
        begins = begins[can_be_word(flags, begins, n)]
        for offset in range(n):
            begins = begins[~is_covered[begins + offset]]
        begins = _without_overlap(begins, unit_of[n - 1][at[begins]], n)
        for offset in range(n):
            is_covered[begins + offset] = True
        starts.append(begins)
        lengths.append(np.full(len(begins), n, np.int8))
        units.append(unit_of[n - 1][at[begins]])
    return Cut(np.concatenate(starts), np.concatenate(lengths), np.concatenate(units), is_covered)


def _without_overlap(begins: np.ndarray, unit: np.ndarray, length: int) -> np.ndarray:
    """Return the words that do not overlap one listed before them, or a later one of the same."""
    if length == 1 or len(begins) == 0:
        return begins
    meets_next = np.diff(begins, append=begins[-1] + length) < length
    is_alone = ~meets_next
    is_alone[1:] &= ~meets_next[:-1]
    others = np.flatnonzero(~is_alone)
    taken: set[int] = set()
    for begin in begins[others[np.lexsort((-begins[others], unit[others]))]].tolist():
        if taken.isdisjoint(range(begin - length + 1, begin + length)):
            taken.add(begin)
    return np.union1d(begins[is_alone], np.fromiter(taken, begins.dtype, len(taken)))
