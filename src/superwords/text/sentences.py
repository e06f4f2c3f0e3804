"""Sentences and word tokens of a clean text, by rules for most scripts, by segmenters for those without spaces.

Everything is linear in the text.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from superwords.errors import InputError

ABBREVIATIONS = {
    "en": """mr mrs ms dr prof sen rep reps sens gov gen col lt capt sgt rev hon st jr sr inc corp co ltd no
        vs etc approx dept est fig jan feb aug sept oct nov dec tbsp tsp oz lb lbs min hr hrs""",
    "de": """dr prof hr fr st nr bzw usw ca evtl ggf inkl zzgl vgl bspw sog geb str min std bd abs jh
        el tl pkg pck""",
    "nl": "dhr mevr mw dr prof drs ir mr nr bijv bv enz ca evt incl excl vgl blz jl resp st",
}
TITLES = "mr mrs ms dr prof sen rep gov gen col lt capt sgt rev hon st hr fr dhr mevr drs"
# Articles and the like that lose their vowel before a word: l'école, dell'Italia, d'aigua.
ELISIONS = {
    "fr": "l d j m t s n c qu jusqu lorsqu puisqu quoiqu",
    "it": """l un d c n s m t v gl dell nell all dall sull coll quest quell sant senz tutt mezz com dov cos
        nessun ciascun bell""",
    "ca": "l d m t s n",
}
_NOT_ELIDED = "aujourd'hui d'abord d'ailleurs d'accord d'après quelqu'un quelqu'une presqu'île"
WRAPPED_LINE = 60
LONGEST_TOKEN = 100  # characters; longer ones (base64, DNA) are no words
SPACED_CLAUSE = 80  # characters after which a space ends a sentence of a language without marks

_CLOSING = "\"'”’»)]」』）】》"
_MARKS = ".!?…"  # end a sentence before a space only
_FULL_STOPS = "。！？｡．।॥۔؟։።፧፨။៕។᠃᠉꓿"  # end one anywhere
_CLAUSES_BY_SPACE = ("th",)
_WORD_BEFORE = re.compile(r"[\w.]+$")
_LIST_MARK = re.compile(r"[ \t]{0,40}(?:[-*•–]|\d{1,3}[.)])[ \t]")
_ACRONYM = re.compile(r"(?:\w\.)+\w?")
_CLITIC = re.compile(r"(n't|'(?:s|re|ll|ve|d|m))$", re.IGNORECASE)
_CATALAN_CLITIC = re.compile(r"'(?:ls?|ns?|m|t|s)$", re.IGNORECASE)
_TURKISH = str.maketrans("İI", "iı")
_SAME = str.maketrans("’‐‑ʼ", "'--'")
_HEBREW = "[\u05d0-\u05ea]"
_JOINERS = {"ca": "·", "fi": ":", "sv": ":"}  # besides hyphen and apostrophe, inside a word

# Segmenters of the extra `cjk`, for languages written without spaces; and languages that have none.
SEGMENTERS = {"zh": "jieba", "ja": "janome", "th": "pythainlp"}
NO_SEGMENTER = {"km": "Khmer", "lo": "Lao", "my": "Burmese", "bo": "Tibetan", "dz": "Dzongkha"}

Tokenizer = Callable[[str], Iterable[str]]


@lru_cache
def combining_marks() -> str:
    """Return Unicode's combining marks, which `\\w` leaves out, as ranges of a character class."""
    ranges: list[list[int]] = []
    for code in range(0x300, 0x1F000):
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


@lru_cache
def _token_pattern(is_ascii: bool, has_address: bool, joiner: str) -> re.Pattern[str]:
    """Return the pattern of a token; simple texts get simple patterns, which are faster."""
    letter, inner = "[^\\W\\d_]", "\\w"
    if not is_ascii:
        inner = f"[\\w\u200c\u200d{combining_marks()}]"
    between = f"(?:[-‐‑'’ʼ&{joiner}]|(?<={_HEBREW})[\"״׳](?={_HEBREW}))"
    kinds = [
        rf"(?P<acronym>(?:{letter}\.){{2,}})",
        rf"(?P<word>{letter}{inner}*(?:{between}{inner}+)*)(?P<dot>\.)?",
        rf"(?P<number>\d+(?:[.,:/]\d+)*{inner}*(?:-{inner}+)*)",
        r"(?P<other>(?P<mark>[^\w\s])(?P=mark){3,}|[^\w\s]|_)",
    ]
    if has_address:
        address = r"(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}|(?<!\w)@\w+"
        kinds.insert(0, rf"(?P<url>{address})")
    return re.compile("|".join(kinds))


@lru_cache
def abbreviations(language: str) -> frozenset[str]:
    """Return the abbreviations of a language that end with a dot but no sentence."""
    return frozenset(f"{ABBREVIATIONS.get(language, '')} {TITLES}".split())


@lru_cache
def no_word_abbreviations(language: str) -> frozenset[str]:
    """Return abbreviations that name no thing or person ("approx"); a title such as "Mr" is part of a name."""
    return abbreviations(language) - frozenset(TITLES.split())


@lru_cache
def elided_words(language: str) -> frozenset[str]:
    """Return the elided articles of a language as tokens: "l'", "qu'"."""
    return frozenset(f"{word}'" for word in ELISIONS.get(language, "").split())


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence; list items and paragraphs are sentences, wrapped lines are not."""
    known = abbreviations(language)
    is_lower_case = text.islower()
    spans = []
    start = 0
    for mark in _end_pattern(language).finditer(text):
        end, at, found = mark.end(), mark.start(), mark.group()
        if found == "\n":
            ends = _line_ends_sentence(text, at, end)
        elif found.isspace():
            ends = at - start >= SPACED_CLAUSE
        elif not set(_FULL_STOPS).isdisjoint(found):
            ends = True
        elif end < len(text) and not text[end].isspace():
            continue
        elif is_lower_case and found.rstrip(_CLOSING) in (".", "!", "?") and text[at - 1 : at].isspace():
            ends = True  # a mark with a space before it, as in "of the wing . the results"
        else:
            ends = _mark_ends_sentence(text, at, end, found, known)
        if ends:
            if text[start:end].strip():
                spans.append((start, end))
            start = end
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


@lru_cache
def _end_pattern(language: str) -> re.Pattern[str]:
    marks = _MARKS + (";" if language == "el" else "")
    space = "|(?<=\\w)[ \u200b]" if language in _CLAUSES_BY_SPACE else ""
    return re.compile(rf"[{re.escape(marks + _FULL_STOPS)}]+[{re.escape(_CLOSING)}]*|\n{space}")


def _line_ends_sentence(text: str, at: int, after: int) -> bool:
    line_start = text.rfind("\n", 0, at) + 1
    rest = text[after : after + 80]
    if not rest or rest[0] in "\n\r" or not rest.split("\n", 1)[0].strip() or _LIST_MARK.match(rest):
        return True
    if _LIST_MARK.match(text, line_start) and not rest[0].isspace():
        return True
    is_wrapped = at - line_start >= WRAPPED_LINE or rest.lstrip()[0].islower()
    return not is_wrapped


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


def tokens(sentence: str, language: str, tokenizer: Tokenizer | None = None) -> list[str]:
    """Return words, numbers and punctuation marks in order, without addresses and handles.

    English clitics ("don't", "women's") and elided articles ("l'école") are tokens of their own. A
    `tokenizer` replaces these rules.
    """
    if tokenizer is not None:
        return [token for token in map(str, tokenizer(sentence)) if token.strip()]
    if language in SEGMENTERS:
        return [token for token in segmenter(language)(sentence) if token.strip()]
    if language in ("tr", "az"):  # dotted and dotless i are two letters
        sentence = sentence.translate(_TURKISH)
    has_address = "@" in sentence or "://" in sentence or "www." in sentence
    pattern = _token_pattern(sentence.isascii(), has_address, _JOINERS.get(language, ""))
    known = abbreviations(language)
    found: list[str] = []
    for match in pattern.finditer(sentence):
        kind = match.lastgroup
        if kind in ("word", "dot"):
            word = match.group("word").translate(_SAME).rstrip("\u200c\u200d")
            found += _at_apostrophe(word, language) if "'" in word else [word]
            if kind == "dot" and word.lower() not in known:
                found.append(".")
        elif kind == "other":
            found.append(match.group()[0])
        elif kind != "url":
            found.append(match.group())
    return found


def _at_apostrophe(word: str, language: str) -> list[str]:
    """Cut clitics off the end of a word ("women's") and elided articles off its start ("l'école")."""
    pattern = {"en": _CLITIC, "ca": _CATALAN_CLITIC}.get(language)
    clitic = pattern.search(word) if pattern is not None else None
    if clitic and clitic.start():
        return [word[: clitic.start()], clitic.group()]
    head, _, rest = word.partition("'")
    is_elided = f"{head.lower()}'" in elided_words(language) and word.lower() not in _NOT_ELIDED.split()
    return [f"{head}'", rest] if is_elided and rest else [word]


def check_segmenter(language: str) -> None:
    """Raise InputError if a language needs a segmenter that is not installed or does not exist."""
    if language in NO_SEGMENTER:
        raise InputError(
            f"{NO_SEGMENTER[language]} ({language}) is written without spaces between words, and there is no "
            "segmenter for it here; give tokenizer=, a function from a sentence to its words."
        )
    if language in SEGMENTERS:
        segmenter(language)


@lru_cache
def segmenter(language: str) -> Tokenizer:
    """Return the function that cuts a sentence of one of these languages into words."""
    load = {"zh": _chinese, "ja": _japanese, "th": _thai}[language]
    try:
        with warnings.catch_warnings():  # jieba's own source has deprecated escapes
            warnings.simplefilter("ignore")
            return load()
    except ImportError:
        raise InputError(
            f"The language {language!r} is written without spaces, and cutting it into words needs "
            f"{SEGMENTERS[language]}; install the extra superwords[cjk], or give tokenizer=."
        ) from None


def _chinese() -> Tokenizer:
    tokenizer: Any = importlib.import_module("jieba").Tokenizer()
    # jieba's initialize() would load a marshalled cache from the shared temporary folder.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer.lcut


def _japanese() -> Tokenizer:
    tokenizer: Any = importlib.import_module("janome.tokenizer").Tokenizer(wakati=True)
    return lambda sentence: list(tokenizer.tokenize(sentence))


def _thai() -> Tokenizer:
    tokenize: Any = importlib.import_module("pythainlp.tokenize").word_tokenize
    # "newmm" alone takes exponential time on some strings; the safe variant cuts long ones.
    return lambda sentence: tokenize(sentence, engine="newmm-safe", keep_whitespace=False)
