"""Frequent sequences of tokens, and the cutting of every run of tokens into them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superwords.corpus.phrases import CAN_END, CAN_START, NEW_RUN, STOP, WEAK_START
from superwords.corpus.stream import TokenStream

MAX_LENGTH = 5
PHRASE = 0.2  # normalised pointwise mutual information from which a phrase is a word of its own
SET_PHRASE = 0.25  # and from which a stop word belongs to it


@dataclass(frozen=True)
class Grams:
    """All sequences of 1 to n keys within a run. `at[n - 1][p]` is the n-gram that begins at token p, or -1;
    `words[n - 1][g]` are the keys of n-gram g, and `key_names` their spelling."""

    key_names: list[str]
    at: list[np.ndarray]
    words: list[np.ndarray]

    def joined(self, length: int, gram: int) -> str:
        """The spelling of a gram without spaces: "health care", "health-care" and "healthcare" share it."""
        return "".join(self.key_names[k] for k in self.words[length - 1][gram])


@dataclass(frozen=True)
class Cut:
    """The words found: word `unit[t]` covers `length[t]` tokens from token `start[t]` on, longest first."""

    start: np.ndarray
    length: np.ndarray
    unit: np.ndarray
    is_covered: np.ndarray


def key_numbers(stream: TokenStream) -> tuple[np.ndarray, list[str]]:
    """The key of each token as a number, and the spelling of each number."""
    numbers: dict[str, int] = {}
    of_type = np.array([numbers.setdefault(key, len(numbers)) for _, key, _ in stream.types], np.int32)
    return (of_type[stream.token_type] if len(of_type) else np.zeros(0, np.int32)), list(numbers)


def run_lengths_left(flags: np.ndarray) -> np.ndarray:
    """How many tokens the run of each token still has, itself included."""
    bounds = np.append(np.flatnonzero(flags & NEW_RUN), len(flags))
    end_of_token = np.repeat(bounds[1:], np.diff(bounds))
    return end_of_token - np.arange(len(flags))


def document_frequency(gram: np.ndarray, document: np.ndarray, n_grams: int, n_documents: int) -> np.ndarray:
    pairs = np.unique(gram.astype(np.int64) * n_documents + document)
    return np.bincount(pairs // n_documents, minlength=n_grams)


def frequent_grams(
    stream: TokenStream, part: np.ndarray, n_parts: int, min_df: int, max_length: int
) -> Grams:
    """Sequences in at least `min_df` parts (`part` is each token's), grown one token at a time from the
    frequent shorter ones.
    """
    key, names = key_numbers(stream)
    left = run_lengths_left(stream.token_flags)
    at, words = [key], [np.arange(len(names)).reshape(-1, 1)]
    df = document_frequency(key, part, len(names), n_parts)
    extendable = np.where(df[key] >= min_df, key, -1) if len(key) else key
    frequent_key = extendable >= 0
    for n in range(2, max_length + 1):
        begins = np.flatnonzero((extendable >= 0) & (left >= n))
        begins = begins[frequent_key[begins + n - 1]]
        pair = extendable[begins].astype(np.int64) * len(names) + key[begins + n - 1]
        distinct, gram = np.unique(pair, return_inverse=True)
        df = document_frequency(gram, part[begins], len(distinct), n_parts)
        kept = df >= min_df
        if not kept.any():
            break
        number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        extendable = np.full(len(key), -1, np.int32)
        extendable[begins] = number[gram]
        prefix, last = distinct[kept] // len(names), distinct[kept] % len(names)
        words.append(np.column_stack([words[-1][prefix], last]))
        at.append(extendable)
    return Grams(names, at, words)


def known_grams(stream: TokenStream, known: frozenset[str], max_length: int) -> Grams:
    """Sequences whose joined spelling is, or begins, a known word."""
    key, names = key_numbers(stream)
    left = run_lengths_left(stream.token_flags)
    prefixes = frozenset(word[:n] for word in known for n in range(1, len(word) + 1))
    at, words = [key], [np.arange(len(names)).reshape(-1, 1)]
    spelt = names
    extendable = key
    for n in range(1, max_length + 1):
        if n > 1:
            begins = np.flatnonzero((extendable >= 0) & (left >= n))
            pair = extendable[begins].astype(np.int64) * len(names) + key[begins + n - 1]
            distinct, gram = np.unique(pair, return_inverse=True)
            prefix, last = distinct // len(names), distinct % len(names)
            spelt = [spelt[p] + names[k] for p, k in zip(prefix, last, strict=True)]
            extendable = np.full(len(key), -1, np.int32)
            extendable[begins] = gram
            words.append(np.column_stack([words[-1][prefix], last]))
            at.append(extendable)
        begins_known = np.array([s in prefixes for s in spelt], bool)
        if not begins_known.any():
            break
        extendable = np.where(extendable >= 0, np.where(begins_known[extendable], extendable, -1), -1)
    return Grams(names, at, words)


def eligible_grams(
    stream: TokenStream, grams: Grams, part: np.ndarray, n_parts: int, min_df: int
) -> list[np.ndarray]:
    """For each length, which grams may be words: frequent where a word may begin and end, not of stop words
    alone, and, if they are phrases, more than their parts.
    """
    flags = stream.token_flags
    is_stop_key = np.ones(len(grams.key_names), bool)
    is_stop_key[grams.at[0][(flags & STOP) == 0]] = False
    eligible = []
    for n, (at, words) in enumerate(zip(grams.at, grams.words, strict=True), start=1):
        begins = np.flatnonzero(at >= 0)
        begins = begins[can_be_word(flags, begins, n)]
        is_word = ~is_stop_key[words].all(axis=1)
        if n > 1:
            association = _association(grams, n)
            is_word &= association >= PHRASE
            is_weak = (flags[begins] & WEAK_START) > 0
            begins = begins[~is_weak | (association[at[begins]] >= SET_PHRASE)]
        df = document_frequency(at[begins], part[begins], len(words), n_parts)
        eligible.append(is_word & (df >= min_df))
    return eligible


def can_be_word(flags: np.ndarray, begins: np.ndarray, length: int) -> np.ndarray:
    """Whether the `length` tokens from each of `begins` may be one word, by its first and its last."""
    ends = (flags[begins + length - 1] & CAN_END) > 0
    if length == 1:
        return ends & ((flags[begins] & STOP) == 0)
    return ends & ((flags[begins] & (CAN_START | WEAK_START)) > 0)


def _association(grams: Grams, length: int) -> np.ndarray:
    """How much the words of each gram seek each other's company: the normalised pointwise mutual information
    of its first word and the rest, or of its last word and the rest, whichever is less.
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
    expected = np.maximum(
        key_count[first] * shorter_count[outer], shorter_count[inner] * key_count[last]
    ) / len(at)
    count = np.bincount(gram, minlength=n_grams)
    surprise = -np.log(count / len(at))
    return np.divide(np.log(count / expected), surprise, out=np.ones(n_grams), where=surprise > 0)


def cut_runs(stream: TokenStream, grams: Grams, unit_of: list[np.ndarray]) -> Cut:
    """Cuts every run into words, the longest first and of equal ones the last, so that a phrase that is no
    word itself gives way to the longest words inside it. `unit_of[n - 1][g]` is the word of n-gram g, or
    -1.
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
        begins = _last_without_overlap(begins, n)
        for offset in range(n):
            is_covered[begins + offset] = True
        starts.append(begins)
        lengths.append(np.full(len(begins), n, np.int8))
        units.append(unit_of[n - 1][at[begins]])
    return Cut(np.concatenate(starts), np.concatenate(lengths), np.concatenate(units), is_covered)


def _last_without_overlap(begins: np.ndarray, length: int) -> np.ndarray:
    if length == 1 or len(begins) == 0:
        return begins
    taken = []
    free_until = begins[-1] + length
    for begin in begins[::-1].tolist():
        if begin + length <= free_until:
            taken.append(begin)
            free_until = begin
    return np.array(taken[::-1], begins.dtype)
