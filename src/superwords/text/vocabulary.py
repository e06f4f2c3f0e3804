"""The words of a corpus: which frequent sequences of tokens are words, what each is called, and which are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.text.phrases import BEHIND, CAN_END, CAN_START, NEW_RUN, ORDINAL_START, STOP, WEAK_START, is_content
from superwords.text.stream import TokenStream

PHRASE = 0.2  # normalised pointwise mutual information from which a phrase is a word of its own
SET_PHRASE = 0.25  # from which a stop word belongs to it,
CLOSE = 0.45  # from which an ordinal does: "first lady", but not "first time"
COMPOUND = 0.35  # and from which three words or more are one: "health insurance | plan", "american medical association"
PIECE = 0.85  # share of its uses inside a longer run from which a phrase is a piece of longer ones
BOUND = 0.7  # share of its uses from which the end of a phrase belongs to the word before it
NOUN_SHARE = 0.25  # of the uses of a form that are nouns, below which it is a verb mistaken at times
SCALE, GROWTH = 7.0, 0.5  # n tokens support about 7 n**0.5 words: 700 for 10,000, 2,214 for 100,000
MOST_WORDS = 5000  # more cost memory and time, and are too rare to say much
SEVERAL = 3  # different words that a row should keep,
KEPT_ROWS = 0.9  # in this share of the rows that would keep as many at the lowest threshold
FEW_DOCUMENTS = 20  # below that, a word of a text cut in passages must be in several passages instead
FEW_WORDS = 200  # fewer say little of concepts
LOWEST = 2


class Cut(NamedTuple):
    """The words found: word `unit[t]` covers `length[t]` tokens from token `start[t]` on, longest first."""

    start: np.ndarray
    length: np.ndarray
    unit: np.ndarray
    is_covered: np.ndarray


class Grams(NamedTuple):
    """The n-grams of a stream, listed by n: which one begins at each token, or -1, and the keys of each."""

    names: list[str]  # the spelling of each key
    at: list[np.ndarray]
    words: list[np.ndarray]


class Words(NamedTuple):
    """Words found in a stream, each a unit of `cut`; rarely, two units share a label."""

    cut: Cut
    keys: list[str]  # joined spellings: "health care", "health-care" and "healthcare" share one
    labels: list[str]
    surfaces: list[frozenset[str]]  # every spelling that occurs


def find_words(stream: TokenStream, part: np.ndarray, n_parts: int, min_df: int, max_length: int) -> Words:
    """Return words in at least `min_df` parts (`part` is each token's); a word inside a longer one does not count."""

    def is_frequent(begins: np.ndarray, gram: np.ndarray, words: np.ndarray, names: list[str]) -> np.ndarray:
        return document_frequency(gram, part[begins], len(words), n_parts) >= min_df

    closeness: dict[str, float] = {}
    grams = _grown(stream, max_length, is_frequent, is_last_kept=True)
    for words, is_word, association in eligible_grams(stream, grams, part, n_parts, min_df):
        for key, close in zip(_spelled(words[is_word], grams.names), association[is_word].tolist()):
            closeness[key] = max(closeness.get(key, -1.0), close)
    # Of phrases that overlap, the one listed first is taken.
    keys = sorted(closeness, key=lambda key: (-closeness[key], key))
    at, unit_of = known_grams(stream, keys, max_length)
    longest = np.zeros(len(keys), np.int8)
    for n, units in enumerate(unit_of, start=1):
        longest[units[units >= 0]] = n
    in_use = np.ones(len(keys), bool)
    while True:
        cut = cut_runs(stream, at, unit_of)
        df = document_frequency(cut.unit, part[cut.start], len(keys), n_parts)
        rare = in_use & (df < min_df)
        if not rare.any():
            return _named(stream, cut, keys)
        # The longest rare words give way first: what they covered may make a shorter word frequent.
        rare &= longest == longest[rare].max()
        in_use &= ~rare
        unit_of = [np.where((units >= 0) & rare[units], -1, units) for units in unit_of]


def _named(stream: TokenStream, cut: Cut, keys: list[str]) -> Words:
    """Return the words in use, each called by its most frequent label."""
    found, unit = np.unique(cut.unit, return_inverse=True)
    labels: list[Counter[str]] = [Counter() for _ in found]
    surfaces: list[set[str]] = [set() for _ in found]
    for n in np.unique(cut.length):
        of_length = cut.length == n
        window = stream.token_type[cut.start[of_length, None] + np.arange(n)]
        rows, counts = np.unique(np.column_stack([unit[of_length], window]), axis=0, return_counts=True)
        for (u, *types), count in zip(rows.tolist(), counts.tolist(), strict=True):
            kinds = [stream.types[t] for t in types]
            labels[u][_joined(kinds, 2)] += count
            surfaces[u].add(_joined(kinds, 0).lower())
    names = [min(of_unit.items(), key=lambda item: (-item[1], item[0]))[0] for of_unit in labels]
    cut = cut._replace(unit=unit.astype(np.int32))
    return Words(cut, [keys[u] for u in found], names, list(map(frozenset, surfaces)))


def supported_words(n_tokens: int) -> int:
    """Return how many different words a corpus of `n_tokens` content words supports."""
    return min(MOST_WORDS, max(FEW_WORDS, round(SCALE * n_tokens**GROWTH)))


def choose_words(
    stream: TokenStream, part: np.ndarray, n_parts: int, parts: str, row: np.ndarray, max_length: int
) -> tuple[Words, int, str]:
    """Return the words at the highest threshold that leaves enough of them, the threshold, and why it was chosen."""
    is_used = is_content(stream.token_flags)
    key, names = key_numbers(stream)
    key = key[is_used]
    df = document_frequency(key, part[is_used], len(names), n_parts)
    by_rows = _threshold_by_rows(df, key, row[is_used])
    n_supported = supported_words(len(key))
    steps = _steps(min(by_rows, max(LOWEST, n_parts // 4))) if n_parts > 1 else [1]

    @cache
    def words_at(place: int) -> Words:
        return find_words(stream, part, n_parts, steps[place], max_length)

    def is_rich(place: int) -> bool:
        return len(words_at(place).labels) >= n_supported

    place = max(0, sum(bool(np.count_nonzero(df >= step) >= n_supported) for step in steps) - 1)
    while place > 0 and not is_rich(place):
        place -= 1
    while place + 1 < len(steps) and is_rich(place) and is_rich(place + 1):
        place += 1
    if len(words_at(place).labels) < n_supported:
        why = f"the text has only {len(key):,} usable words, so the lowest number was taken"
    elif place + 1 < len(steps):
        why = f"{len(key):,} usable words of text support about {n_supported:,} different ones"
    elif by_rows <= n_parts // 4:
        why = f"with a higher number, many texts would be left with fewer than {SEVERAL} different words"
    else:
        why = f"no word needs to be in more than a quarter of the {parts}"
    return words_at(place), steps[place], why


def _threshold_by_rows(df: np.ndarray, key: np.ndarray, row: np.ndarray) -> int:
    """Return the highest threshold at which most rows keep several different words, by single tokens."""
    used = pd.DataFrame({"row": row, "key": key, "df": df[key]}).drop_duplicates(["row", "key"])
    # A row keeps several words up to the frequency of its third most frequent word.
    third = used.sort_values("df", ascending=False).groupby("row")["df"].nth(SEVERAL - 1).to_numpy()
    highest = np.sort(third[third >= LOWEST])
    return int(highest[int((1 - KEPT_ROWS) * len(highest))]) if len(highest) else LOWEST


def _steps(highest: int) -> list[int]:
    """Return round numbers up to the highest: 2 to 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, …"""
    tens = [10**n * step for n in range(1, len(str(highest))) for step in (2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15)]
    return [int(step) for step in (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, *tens) if step <= highest]


def apply_words(stream: TokenStream, keys: Sequence[str], max_length: int) -> Cut:
    """Cut new text into known words, given by their joined spelling and numbered as listed."""
    return cut_runs(stream, *known_grams(stream, keys, max_length))


def unknown_words(stream: TokenStream, cut: Cut) -> Counter[str]:
    """Return how often each candidate word occurs that no word of the vocabulary covers."""
    is_left = ~cut.is_covered & is_content(stream.token_flags)
    types, counts = np.unique(stream.token_type[is_left], return_counts=True)
    found: Counter[str] = Counter()
    for t, count in zip(types.tolist(), counts.tolist(), strict=True):
        found[_joined([stream.types[t]], 0)] += count
    return found


def _rarely_noun(stream: TokenStream, key_names: list[str]) -> np.ndarray:
    """Return which keys are mostly outside noun phrases: verbs that are at times mistaken for nouns."""
    is_noun = (stream.token_flags & (CAN_END | BEHIND)) > 0
    noun_count = np.bincount(stream.token_type[is_noun], minlength=len(stream.types)).tolist()
    phrase_count = np.bincount(stream.token_type, minlength=len(stream.types)).tolist()
    usual: dict[str, tuple[int, int, str]] = {}
    for (surface, key, _), *counts in zip(stream.types, noun_count, phrase_count, strict=True):
        usual[key] = max(usual.get(key, (0, 0, "")), (*counts, surface.lower()))
    every = ((*usual[name][:2], stream.form_count[usual[name][2]]) for name in key_names)
    # Uses of the form that are no candidates are outside noun phrases.
    return np.array([n < NOUN_SHARE * (n + max(0, n_all - n_candidates)) for n, n_candidates, n_all in every], bool)


def _joined(types: Sequence[tuple[str, str, str]], part: int) -> str:
    """Return a word as it is written (part 0) or called (part 2)."""
    words = [kind[part] for kind in types]
    # An owner's 's is kept inside a word ("women's health") only; a ready token, which is its own key, is kept whole.
    surface, key, _ = types[-1]
    return " ".join(words if key == surface else [*words[:-1], words[-1].removesuffix("'s")])


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


def known_grams(
    stream: TokenStream, known: Sequence[str], max_length: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the n-gram at each token, for each n, and which known word each n-gram is, or -1."""
    number = {key: n for n, key in enumerate(known)}
    prefixes = {key[:n] for key in known for n in range(1, len(key) + 1)}

    def begins_known(begins: np.ndarray, gram: np.ndarray, words: np.ndarray, names: list[str]) -> np.ndarray:
        return np.array([spelling in prefixes for spelling in _spelled(words, names)], bool)

    names, at, grams = _grown(stream, max_length, begins_known, is_last_kept=False)
    return at, [np.array([number.get(one, -1) for one in _spelled(words, names)], np.int32) for words in grams]


def _spelled(words: np.ndarray, names: list[str]) -> list[str]:
    return ["".join([names[k] for k in keys]) for keys in words.tolist()]


def _grown(stream: TokenStream, max_length: int, is_kept: Callable[..., np.ndarray], is_last_kept: bool) -> Grams:
    """Return all single keys, and longer n-grams grown from those kept; their last key is kept too if asked."""
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
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield for each length the grams, which of them may be words, and how closely their words belong together.

    A word is frequent where a word may begin and end, and is not of stop words alone. A phrase is more than its
    parts too, and no piece of a longer phrase: it ends its run often enough ("affordable care" is nearly always
    cut from "affordable care act"). A gram whose last words hardly occur without its first ("heart association"
    without "american") is a word whatever its parts are worth.
    """
    flags = stream.token_flags
    left = run_lengths_left(flags)
    is_stop_key = np.ones(len(grams.names), bool)
    is_stop_key[grams.at[0][(flags & STOP) == 0]] = False
    is_piece = np.zeros(0, bool)
    for n, (at, words) in enumerate(zip(grams.at, grams.words, strict=True), start=1):
        begins = np.flatnonzero(at >= 0)
        count = np.bincount(at[begins], minlength=len(words))
        n_open = np.bincount(at[begins[left[begins] > n]], minlength=len(words))
        is_piece_of_shorter, is_piece = is_piece, n_open >= PIECE * count
        begins = begins[can_be_word(flags, begins, n)]
        is_word = ~is_stop_key[words].all(axis=1)
        association = np.ones(len(words))
        if n == 1:
            is_word &= ~_rarely_noun(stream, grams.names)
        else:
            association, inner, bound = _company(grams.at, words, n)
            is_whole = (bound >= BOUND) & is_piece_of_shorter[inner]
            is_word &= ~is_piece & ((association >= (PHRASE if n == 2 else COMPOUND)) | is_whole)
            is_weak = (flags[begins] & WEAK_START) > 0
            begins = begins[~is_weak | (is_whole | (association >= SET_PHRASE))[at[begins]]]
            is_ordinal = (flags[begins] & ORDINAL_START) > 0
            begins = begins[~is_ordinal | (association[at[begins]] >= CLOSE)]
        is_word &= document_frequency(at[begins], part[begins], len(words), n_parts) >= min_df
        yield words, is_word, association


def can_be_word(flags: np.ndarray, begins: np.ndarray, length: int) -> np.ndarray:
    """Return whether the `length` tokens from each of `begins` may be one word, by its first and its last."""
    if length == 1:
        return is_content(flags[begins])
    ends = (flags[begins + length - 1] & CAN_END) > 0
    return ends & ((flags[begins] & (CAN_START | WEAK_START | ORDINAL_START)) > 0)


def _company(grams_at: list[np.ndarray], words: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the association of each gram's words, the gram without its last word, and how bound its last words are.

    The association is the normalised pointwise mutual information of the first or the last word and the rest, whichever
    is less; the last words are bound by the share of their uses that follow the first.
    """
    key, shorter, at = grams_at[0], grams_at[length - 2], grams_at[length - 1]
    begins = np.flatnonzero(at >= 0)
    gram = at[begins]
    inner, outer = np.zeros((2, len(words)), np.int64)
    inner[gram], outer[gram] = shorter[begins], shorter[begins + 1]
    key_count = np.bincount(key)
    shorter_count = np.bincount(shorter[shorter >= 0])
    by_first = key_count[words[:, 0]] * shorter_count[outer]
    by_last = shorter_count[inner] * key_count[words[:, -1]]
    expected = np.maximum(by_first, by_last) / len(at)
    count = np.bincount(gram, minlength=len(words))
    surprise = -np.log(count / len(at))
    association = np.divide(np.log(count / expected), surprise, out=np.ones(len(words)), where=surprise > 0)
    return association, inner, count / shorter_count[outer]


def cut_runs(stream: TokenStream, grams_at: list[np.ndarray], unit_of: list[np.ndarray]) -> Cut:
    """Cut every run into words: the longest first, of equally long ones the first listed, and of one word the last."""
    is_covered = np.zeros(len(stream.token_flags), bool)
    found = []
    for n in range(len(grams_at), 0, -1):
        at, units = grams_at[n - 1], unit_of[n - 1]
        begins = np.flatnonzero(at >= 0)
        begins = begins[units[at[begins]] >= 0]
        begins = begins[can_be_word(stream.token_flags, begins, n)]
        begins = begins[~is_covered[begins[:, None] + np.arange(n)].any(axis=1)]
        begins = _without_overlap(begins, units[at[begins]], n)
        is_covered[begins[:, None] + np.arange(n)] = True
        found.append((begins, np.full(len(begins), n, np.int8), units[at[begins]]))
    starts, lengths, words = map(np.concatenate, zip(*found))
    return Cut(starts, lengths, words, is_covered)


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
