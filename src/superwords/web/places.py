"""Locate the words of a corpus in its texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from superwords.errors import InputError
from superwords.text.corpus import Corpus
from superwords.text.recipe import read_recipe
from superwords.text.sentences import sentence_spans
from superwords.text.stream import TokenStream, read_chunk
from superwords.text.vocabulary import apply_words

PART_CHARACTERS = 5000
_PLAIN_END = re.compile(r"(?<=[.!?])\s+|\n+")
_INFLECTED = "(?:'s|s|es|n|en|e)?"

Place = tuple[int, int, str]


def text_parts(text: str, language: str | None) -> list[tuple[int, int]]:
    """Return a long text in parts of a few thousand characters that end where a sentence does."""
    if language is None:
        ends = [found.end() for found in _PLAIN_END.finditer(text)]
    else:
        ends = [end for _, end in sentence_spans(text, language)]
    parts, start = [], 0
    for end in [*ends, len(text)]:
        while end - start > PART_CHARACTERS * 2:  # no sentence ends in there
            parts.append((start, start + PART_CHARACTERS))
            start += PART_CHARACTERS
        if end - start >= PART_CHARACTERS or (end == len(text) and end > start):
            parts.append((start, end))
            start = end
    return parts


class WordPlaces:
    """Finds words as the corpus was cut into them, if it is known how; else by their spelling."""

    def __init__(self, corpus: Corpus):
        self.recipe = corpus.notes.get("recipe")
        self.language: str | None = None
        if self.recipe is not None and not self.recipe.get("tokenizer"):
            self.method, self.max_length, self.language, self.units = read_recipe(self.recipe)

    def find(self, text: str, words: Sequence[str]) -> list[Place]:
        """Return the places of these words, from the left, none inside another."""
        if self.language is None:
            return spelled_places(text, words)
        try:
            stream = read_chunk([(text, self.language)], self.method)
        except InputError:  # the tagger of the corpus is not installed here
            return spelled_places(text, words)
        sought = set(words)
        cut = apply_words(stream, list(self.units), self.max_length)
        labels = list(self.units.values())
        spans = token_spans(text, stream)
        places = []
        for first, length, unit in zip(cut.start.tolist(), cut.length.tolist(), cut.unit.tolist()):
            begin, end = spans[first][0], spans[first + length - 1][1]
            label = labels[unit]
            if label in sought and begin >= 0 and end > begin:
                places.append((begin, end, str(label)))
        return _apart(places)


def token_spans(text: str, stream: TokenStream) -> list[tuple[int, int]]:
    """Return the span of each candidate token, searched from the left; (-1, -1) if not found."""
    spans = []
    cursor, last = 0, -1
    bare = [re.escape(surface.removesuffix("'s")) for surface, _, _ in stream.types]
    forms = [re.compile(rf"(?<!\w){form}", re.IGNORECASE) for form in bare]
    for kind, sentence in zip(stream.token_type.tolist(), stream.token_sentence.tolist()):
        if sentence != last:
            cursor, last = int(stream.sentence_span[sentence, 0]), sentence
        found = forms[kind].search(text, cursor, int(stream.sentence_span[sentence, 1]))
        spans.append(found.span() if found else (-1, -1))
        cursor = found.end() if found else cursor
    return spans


def spelled_places(text: str, words: Sequence[str]) -> list[Place]:
    """Return words by their spelling in any case, the longest first, with an ending that only inflects them."""
    if not words:
        return []
    by_spelling = {word.lower(): word for word in words}
    longest_first = sorted(by_spelling, key=lambda one: (-len(one), one))
    pattern = re.compile(
        rf"(?<!\w)({'|'.join(map(re.escape, longest_first))}){_INFLECTED}(?!\w)", re.IGNORECASE
    )
    places = []
    for found in pattern.finditer(text):
        word = by_spelling.get(found.group(1).lower())
        if word is not None:
            places.append((found.start(), found.end(), word))
    return places


def _apart(places: list[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in sorted(places):
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept
