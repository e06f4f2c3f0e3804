"""In how many documents a word must be, chosen from the corpus itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superwords.text.grams import document_frequency, key_numbers
from superwords.text.phrases import is_content
from superwords.text.stream import TokenStream
from superwords.text.vocabulary import Parts, Words, find_words

SCALE, GROWTH = 7.0, 0.5  # n tokens support about 7 n**0.5 words: 700 for 10,000, 2,214 for 100,000
MOST_WORDS = 5000  # more cost memory and time, and are too rare to say much
SEVERAL = 3  # different words that a row should keep,
KEPT_ROWS = 0.9  # in this share of the rows that would keep as many at the lowest threshold
FEW_DOCUMENTS = 20  # below that, a word of a text cut in passages must be in several passages instead
FEW_WORDS = 200  # fewer say little of concepts
LOWEST = 2


@dataclass(frozen=True)
class ChosenWords:
    """The words found at the threshold chosen, and why it was chosen."""

    words: Words
    min_df: int
    why: str


def supported_words(n_tokens: int) -> int:
    """Return how many different words a corpus of `n_tokens` content words supports."""
    return min(MOST_WORDS, max(FEW_WORDS, round(SCALE * n_tokens**GROWTH)))


def choose_words(
    stream: TokenStream, parts: Parts, row_of_sentence: np.ndarray, max_length: int
) -> ChosenWords:
    """Return the highest threshold that leaves as many words as the tokens support and several in most rows."""
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
    return ChosenWords(found[place], steps[place], why)


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
    """Round numbers up to the highest: 2 to 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, …"""
    tens = [10**n * step for n in range(1, len(str(highest))) for step in (2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15)]
    return [int(step) for step in (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, *tens) if step <= highest]
