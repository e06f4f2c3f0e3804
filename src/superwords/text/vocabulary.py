"""The words of a corpus: which sequences of tokens are words, what each is called, and which are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from superwords.text.grams import (
    Cut,
    Grams,
    cut_runs,
    document_frequency,
    eligible_grams,
    frequent_grams,
    known_grams,
)
from superwords.text.phrases import BEHIND, CAN_END, is_content, spelling_key
from superwords.text.stream import TokenStream

NOUN_SHARE = 0.25


@dataclass(frozen=True)
class Words:
    """Words found in a stream, each a unit of `cut`: its joined spelling, its label (rarely, two units share
    one), and every spelling of it that occurs.
    """

    cut: Cut
    keys: list[str]
    labels: list[str]
    surfaces: list[frozenset[str]]


@dataclass(frozen=True)
class Parts:
    """What `min_df` counts: documents, or the passages of a few documents. `of_sentence` is the part that
    holds each sentence.
    """

    of_sentence: np.ndarray
    number: int
    name: str = "documents"


def has_words(stream: TokenStream) -> bool:
    """Return whether there is any token that may be a word, however rare."""
    return bool(is_content(stream.token_flags).any())


def find_words(stream: TokenStream, parts: Parts, min_df: int, max_length: int) -> Words:
    """Return words in at least `min_df` parts, counted as they are cut: a word inside a longer word does not
    count.
    """
    part = parts.of_sentence[stream.token_sentence]
    grams = frequent_grams(stream, part, parts.number, min_df, max_length)
    eligible, associations = eligible_grams(stream, grams, part, parts.number, min_df)
    eligible[0] &= ~_rarely_noun(stream, grams.key_names)
    closeness: dict[str, float] = {}
    for n, (ok, association) in enumerate(zip(eligible, associations, strict=True), start=1):
        for g in np.flatnonzero(ok).tolist():
            key = grams.joined(n, g)
            closeness[key] = max(closeness.get(key, -1.0), float(association[g]))
    # Of phrases that overlap, the one listed first is taken.
    keys = sorted(closeness, key=lambda key: (-closeness[key], key))
    grams = known_grams(stream, frozenset(keys), max_length)
    unit_of = _units(grams, keys)
    longest = np.zeros(len(keys), np.int8)
    for n, units in enumerate(unit_of, start=1):
        longest[units[units >= 0]] = n
    in_use = np.ones(len(keys), bool)
    while True:
        cut = cut_runs(stream, grams, unit_of)
        df = document_frequency(cut.unit, part[cut.start], len(keys), parts.number)
        rare = in_use & (df < min_df)
        if not rare.any():
            break
        # The longest rare words give way first: what they covered may make a shorter word frequent.
        rare &= longest == longest[rare].max()
        in_use &= ~rare
        unit_of = [np.where((units >= 0) & rare[units], -1, units) for units in unit_of]
    return _name_words(stream, cut, keys)


def apply_words(stream: TokenStream, keys: Sequence[str], max_length: int) -> Cut:
    """Cuts new text into known words, given by their joined spelling and numbered as listed."""
    grams = known_grams(stream, frozenset(keys), max_length)
    return cut_runs(stream, grams, _units(grams, keys))


def unknown_words(stream: TokenStream, cut: Cut) -> Counter[str]:
    """Return how often each candidate word occurs that no word of the vocabulary covers."""
    is_left = ~cut.is_covered & is_content(stream.token_flags)
    types, counts = np.unique(stream.token_type[is_left], return_counts=True)
    found: Counter[str] = Counter()
    for t, count in zip(types.tolist(), counts.tolist(), strict=True):
        found[stream.types[t][0].removesuffix("'s")] += count
    return found


def other_words(stream: TokenStream, words: Words) -> list[str]:
    """Return the words that are mostly verbs or adjectives, not noun phrases."""
    is_noun = (stream.token_flags[words.cut.start + words.cut.length - 1] & CAN_END) > 0
    n_units = len(words.labels)
    count = np.bincount(words.cut.unit, minlength=n_units)
    nouns = np.bincount(words.cut.unit, is_noun, minlength=n_units)
    return sorted(words.labels[u] for u in np.flatnonzero(2 * nouns < count).tolist())


def matching_words(words: Words, given: Iterable[str]) -> set[int]:
    """Return the units that match any given word by label or by an occurring spelling."""
    names = {" ".join(name.lower().split()) for name in given}
    joined = {spelling_key(name).replace(" ", "") for name in names}
    return {
        unit
        for unit, (label, key, surfaces) in enumerate(
            zip(words.labels, words.keys, words.surfaces, strict=True)
        )
        if label.lower() in names or key in joined or surfaces & names
    }


def _units(grams: Grams, keys: Sequence[str]) -> list[np.ndarray]:
    """Return the number among `keys` of the joined spelling of each gram, or -1."""
    number = {key: n for n, key in enumerate(keys)}
    return [
        np.array([number.get(grams.joined(n, g), -1) for g in range(len(words))], np.int32)
        for n, words in enumerate(grams.words, start=1)
    ]


def _rarely_noun(stream: TokenStream, key_names: list[str]) -> np.ndarray:
    """Keys whose usual form is mostly outside noun phrases: verbs that are at times mistaken for nouns."""
    is_noun = (stream.token_flags & (CAN_END | BEHIND)) > 0
    noun_count = np.bincount(stream.token_type[is_noun], minlength=len(stream.types)).tolist()
    phrase_count = np.bincount(stream.token_type, minlength=len(stream.types)).tolist()
    usual: dict[str, tuple[int, int, str]] = {}
    for (surface, key, _), nouns, in_phrases in zip(stream.types, noun_count, phrase_count, strict=True):
        usual[key] = max(usual.get(key, (0, 0, "")), (nouns, in_phrases, surface.lower()))
    rarely = []
    for name in key_names:
        nouns, in_phrases, surface = usual[name]
        outside = max(0, stream.form_count[surface] - in_phrases)
        rarely.append(nouns < NOUN_SHARE * (nouns + outside))
    return np.array(rarely, bool)


def _name_words(stream: TokenStream, cut: Cut, keys: list[str]) -> Words:
    """Return the most frequent label of each word."""
    labels: list[Counter[str]] = [Counter() for _ in keys]
    surfaces: list[set[str]] = [set() for _ in keys]
    for n in np.unique(cut.length):
        of_length = cut.length == n
        begins, units = cut.start[of_length], cut.unit[of_length]
        window = stream.token_type[begins[:, None] + np.arange(n)]
        rows, counts = np.unique(np.column_stack([units, window]), axis=0, return_counts=True)
        for (unit, *types), count in zip(rows.tolist(), counts.tolist(), strict=True):
            labels[unit][_joined([stream.types[t][2] for t in types])] += count
            surfaces[unit].add(_joined([stream.types[t][0] for t in types]).lower())
    is_found = np.array([bool(label) for label in labels], bool)
    number = np.cumsum(is_found, dtype=np.int32) - 1
    found = np.flatnonzero(is_found).tolist()
    return Words(
        Cut(cut.start, cut.length, number[cut.unit], cut.is_covered),
        [keys[unit] for unit in found],
        [min(labels[unit].items(), key=lambda item: (-item[1], item[0]))[0] for unit in found],
        [frozenset(surfaces[unit]) for unit in found],
    )


def _joined(words: list[str]) -> str:
    """Return a word as it is called; an owner's 's is kept inside a word ("women's health") only."""
    return " ".join([*words[:-1], words[-1].removesuffix("'s")])
