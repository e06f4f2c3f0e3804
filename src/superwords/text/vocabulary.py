"""The words of a corpus: which frequent sequences of tokens are words, what each is called, and which are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from superwords.text.phrases import (
    BEHIND,
    CAN_END,
    CAN_START,
    NEW_RUN,
    ORDINAL_START,
    STOP,
    WEAK_START,
    is_content,
    spelling_key,
)
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


def frequent_grams(stream: TokenStream, part: np.ndarray, n_parts: int, min_df: int, max_length: int) -> Grams:
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


def _grown(stream: TokenStream, max_length: int, is_kept: Callable[..., np.ndarray], is_last_kept: bool) -> Grams:
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
