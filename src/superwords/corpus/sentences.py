"""Sentences and word tokens of a raw text, by rules that hold for most languages written with spaces."""

from __future__ import annotations

import re
from functools import lru_cache

ABBREVIATIONS = {
    "en": """mr mrs ms dr prof sen rep reps sens gov gen col lt capt sgt rev hon st jr sr inc corp co ltd no
        vs etc approx dept est fig jan feb aug sept oct nov dec tbsp tsp oz lb lbs min hr hrs""",
    "de": """dr prof hr fr st nr bzw usw ca evtl ggf inkl zzgl vgl bspw sog geb str min std bd abs jh
        el tl pkg pck""",
    "nl": "dhr mevr mw dr prof drs ir mr nr bijv bv enz ca evt incl excl vgl blz jl resp st",
}
TITLES = "mr mrs ms dr prof sen rep gov gen col lt capt sgt rev hon st hr fr dhr mevr drs"
WRAPPED_LINE = 60

_CLOSING = "\"'”’»)]"
_END = re.compile(rf"[.!?…]+[{re.escape(_CLOSING)}]*(?=\s)|\n")
_WORD_BEFORE = re.compile(r"[\w.]+$")
_LIST_MARK = re.compile(r"[ \t]*(?:[-*•–]|\d{1,3}[.)])[ \t]")
_ACRONYM = re.compile(r"(?:\w\.)+\w?")
_TOKEN = re.compile(
    r"(?P<url>(?:https?://|www\.)\S+|\S+@\S+\.\w+)"
    r"|(?P<acronym>(?:[^\W\d_]\.){2,})"
    r"|(?P<word>[^\W\d_]\w*(?:[-‐‑'’&]\w+)*)(?P<dot>\.)?"
    r"|(?P<number>\d+(?:[.,:/]\d+)*\w*(?:-\w+)*)"
    r"|(?P<other>[^\w\s]|_)"
)
_CLITIC = re.compile(r"(n't|'(?:s|re|ll|ve|d|m))$", re.IGNORECASE)


@lru_cache
def abbreviations(language: str) -> frozenset[str]:
    return frozenset(f"{ABBREVIATIONS.get(language, '')} {TITLES}".split())


@lru_cache
def no_word_abbreviations(language: str) -> frozenset[str]:
    """Abbreviations that stand for no thing or person: "approx", "tbsp"; a title such as "Mr" is part of a
    name.
    """
    return abbreviations(language) - frozenset(TITLES.split())


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Start and end of each sentence; list items and paragraphs are sentences too, wrapped lines are not."""
    known = abbreviations(language)
    is_lower_case = text.islower()
    spans = []
    start = 0
    for mark in _END.finditer(text):
        end = mark.end()
        if mark.group() == "\n":
            ends = _line_ends_sentence(text, mark.start(), end)
        elif is_lower_case and _stands_alone(text, mark.start(), mark.group()):
            ends = True
        else:
            ends = _mark_ends_sentence(text, mark.start(), end, mark.group(), known)
        if ends:
            if text[start:end].strip():
                spans.append((start, end))
            start = end
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def _line_ends_sentence(text: str, at: int, after: int) -> bool:
    line_start = text.rfind("\n", 0, at) + 1
    rest = text[after : after + 80]
    if not rest or rest[0] in "\n\r" or not rest.split("\n", 1)[0].strip() or _LIST_MARK.match(rest):
        return True
    if _LIST_MARK.match(text, line_start) and not rest[0].isspace():
        return True
    is_wrapped = at - line_start >= WRAPPED_LINE or rest.lstrip()[0].islower()
    return not is_wrapped


def _stands_alone(text: str, at: int, mark: str) -> bool:
    """Whether a mark has a space before it, as in "of the wing . the results", and is no "…"."""
    return mark.rstrip(_CLOSING) in (".", "!", "?") and at > 0 and text[at - 1].isspace()


def _mark_ends_sentence(text: str, at: int, after: int, mark: str, known: frozenset[str]) -> bool:
    following = text[after : after + 20].lstrip().lstrip("\"'“‘„«([")
    if following and following[0].islower():
        return False
    if mark[0] != "." or len(mark) > 1:
        return True
    before = _WORD_BEFORE.search(text, max(0, at - 30), at)
    if before is None:
        return True
    word = before.group()
    if word.isdigit():
        return len(word) > 2
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    is_acronym = bool(_ACRONYM.fullmatch(word)) and "." in word
    return not (is_initial or is_acronym or word.lower() in known)


def tokens(sentence: str, language: str) -> list[str]:
    """Words, numbers and punctuation marks in order; English clitics ("don't", "women's") are apart."""
    known = abbreviations(language)
    found: list[str] = []
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup
        if kind in ("word", "dot"):
            word = match.group("word").replace("’", "'").replace("‐", "-").replace("‑", "-")
            if language == "en" and "'" in word:
                clitic = _CLITIC.search(word)
                if clitic and clitic.start():
                    found.append(word[: clitic.start()])
                    word = clitic.group()
            found.append(word)
            if kind == "dot" and word.lower() not in known:
                found.append(".")
        elif kind != "url":
            found.append(match.group())
    return found
