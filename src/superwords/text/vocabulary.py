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
    key_numbers,
    known_grams,
)
from superwords.text.phrases import BEHIND, CAN_END, is_content, spelling_key
from superwords.text.stream import TokenStream

NOUN_SHARE = 0.25  # of the uses of a form that are nouns, below which it is a verb mistaken at times
SCALE, GROWTH = 7.0, 0.5  # n tokens support about 7 n**0.5 words: 700 for 10,000, 2,214 for 100,000
MOST_WORDS = 5000  # more cost memory and time, and are too rare to say much
SEVERAL = 3  # different words that a row should keep,
KEPT_ROWS = 0.9  # in this share of the rows that would keep as many at the lowest threshold
FEW_DOCUMENTS = 20  # below that, a word of a text cut in passages must be in several passages instead
FEW_WORDS = 200  # fewer say little of concepts
LOWEST = 2


@dataclass(frozen=True)
class Words:
    """Words found in a stream, each a unit of `cut`; rarely, two units share a label."""

    cut: Cut
    keys: list[str]  # joined spellings
    labels: list[str]
    surfaces: list[frozenset[str]]  # every spelling that occurs


@dataclass(frozen=True)
class Parts:
    """What `min_df` counts: documents, or the passages of a few documents."""

    of_sentence: np.ndarray  # the part that holds each sentence
    number: int
    name: str = "documents"


def find_words(stream: TokenStream, parts: Parts, min_df: int, max_length: int) -> Words:
    """Return words in at least `min_df` parts, where a word inside a longer word does not count."""
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


def supported_words(n_tokens: int) -> int:
    """Return how many different words a corpus of `n_tokens` content words supports."""
    return min(MOST_WORDS, max(FEW_WORDS, round(SCALE * n_tokens**GROWTH)))


def choose_words(
    stream: TokenStream, parts: Parts, row_of_sentence: np.ndarray, max_length: int
) -> tuple[Words, int, str]:
    """Return the words at the threshold chosen, the threshold, and why it was chosen.

    It is the highest that leaves as many words as the tokens support and several in most rows.
    """
    is_used = is_content(stream.token_flags)
    key, names = key_numbers(stream)
    key, sentence = key[is_used], stream.token_sentence[is_used]
    df = document_frequency(key, parts.of_sentence[sentence], len(names), parts.number)
    by_rows = _threshold_by_rows(df, key, row_of_sentence[sentence])
    n_supported = supported_words(len(key))

    steps = _steps(min(by_rows, max(LOWEST, parts.number // 4))) if parts.number > 1 else [1]
    n_frequent = np.array([np.count_nonzero(df >= step) for step in steps])
    place = max(0, int(np.count_nonzero(n_frequent >= n_supported)) - 1)
    found: dict[int, Words] = {}

    def is_rich(at: int) -> bool:
        found[at] = find_words(stream, parts, steps[at], max_length)
        return len(found[at].labels) >= n_supported

    if is_rich(place):
        while place + 1 < len(steps) and is_rich(place + 1):
            place += 1
    else:
        while place > 0:
            place -= 1
            if is_rich(place):
                break
    if len(found[place].labels) < n_supported:
        why = f"the text has only {len(key):,} usable words, so the lowest number was taken"
    elif place + 1 < len(steps):
        why = f"{len(key):,} usable words of text support about {n_supported:,} different ones"
    elif by_rows <= parts.number // 4:
        why = f"with a higher number, many texts would be left with fewer than {SEVERAL} different words"
    else:
        why = f"no word needs to be in more than a quarter of the {parts.name}"
    return found[place], steps[place], why


def _threshold_by_rows(df: np.ndarray, key: np.ndarray, row: np.ndarray) -> int:
    """Return the highest threshold at which most rows keep several different words, by single tokens."""
    pairs = np.unique(row.astype(np.int64) * len(df) + key) if len(key) else np.zeros(0, np.int64)
    rows, frequency = pairs // max(1, len(df)), df[pairs % max(1, len(df))]
    order = np.lexsort((-frequency, rows))
    rows, frequency = rows[order], frequency[order]
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    size = np.diff(np.append(first, len(rows)))
    # A row keeps several words up to the frequency of its third most frequent word.
    highest = frequency[first[size >= SEVERAL] + SEVERAL - 1]
    highest = np.sort(highest[highest >= LOWEST])
    return int(highest[int((1 - KEPT_ROWS) * len(highest))]) if len(highest) else LOWEST


def _steps(highest: int) -> list[int]:
    """Return round numbers up to the highest: 2 to 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, …"""
    tens = [10**n * step for n in range(1, len(str(highest))) for step in (2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15)]
    return [int(step) for step in (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, *tens) if step <= highest]


def apply_words(stream: TokenStream, keys: Sequence[str], max_length: int) -> Cut:
    """Cut new text into known words, given by their joined spelling and numbered as listed."""
    grams = known_grams(stream, frozenset(keys), max_length)
    return cut_runs(stream, grams, _units(grams, keys))


def unknown_words(stream: TokenStream, cut: Cut) -> Counter[str]:
    """Return how often each candidate word occurs that no word of the vocabulary covers."""
    is_left = ~cut.is_covered & is_content(stream.token_flags)
    types, counts = np.unique(stream.token_type[is_left], return_counts=True)
    found: Counter[str] = Counter()
    for t, count in zip(types.tolist(), counts.tolist(), strict=True):
        found[_joined([stream.types[t]], 0)] += count
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
    known = enumerate(zip(words.labels, words.keys, words.surfaces, strict=True))
    return {u for u, (label, key, forms) in known if label.lower() in names or key in joined or forms & names}


def _units(grams: Grams, keys: Sequence[str]) -> list[np.ndarray]:
    """Return the number among `keys` of the joined spelling of each gram, or -1."""
    number = {key: n for n, key in enumerate(keys)}
    return [
        np.array([number.get(grams.joined(n, g), -1) for g in range(len(words))], np.int32)
        for n, words in enumerate(grams.words, start=1)
    ]


def _rarely_noun(stream: TokenStream, key_names: list[str]) -> np.ndarray:
    """Return which keys are mostly outside noun phrases: verbs that are at times mistaken for nouns."""
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
            kinds = [stream.types[t] for t in types]
            labels[unit][_joined(kinds, 2)] += count
            surfaces[unit].add(_joined(kinds, 0).lower())
    is_found = np.array([bool(label) for label in labels], bool)
    number = np.cumsum(is_found, dtype=np.int32) - 1
    found = np.flatnonzero(is_found).tolist()
    return Words(
        Cut(cut.start, cut.length, number[cut.unit], cut.is_covered),
        [keys[unit] for unit in found],
        [min(labels[unit].items(), key=lambda item: (-item[1], item[0]))[0] for unit in found],
        [frozenset(surfaces[unit]) for unit in found],
    )


def _joined(types: Sequence[tuple[str, str, str]], part: int) -> str:
    """Return a word as it is written (part 0) or called (part 2).

    An owner's 's is kept inside a word ("women's health") only; a ready token, which is its own key, is kept whole.
    """
    words = [kind[part] for kind in types]
    surface, key, _ = types[-1]
    return " ".join(words if key == surface else [*words[:-1], words[-1].removesuffix("'s")])
