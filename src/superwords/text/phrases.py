"""Candidate words of a sentence: the runs of tokens that words of the vocabulary are cut from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from superwords.text.languages import meaningful_nouns, stop_words
from superwords.text.sentences import LONGEST_TOKEN, TITLES, Tokenizer, abbreviations
from superwords.text.tagging import (
    ADJECTIVE,
    NAME,
    NOUN,
    ORDINAL,
    POSSESSIVE,
    VERB,
    lemma_dictionaries,
    make_lemmatizer,
    make_tagger,
)

# What a token may do in a word of the vocabulary, as bits.
NEW_RUN = 1  # a run (a maximal noun phrase, or a stretch of plain words) begins here
CAN_END = 2  # a word may end here: a noun, or a plain word that is no stop word
CAN_START = 4  # a word may begin here
WEAK_START = 8  # only if it is a set phrase: a stop word such as "small" in "small business"
ORDINAL_START = 32  # only if its words belong together closely: "first lady", but not "first time"
STOP = 16  # a stop word, which is no word of the vocabulary by itself
BEHIND = 64  # a verb or adjective: a word by itself only where no noun phrase covers it

LINKS = {"en": "of"}  # what joins the parts of a name: "House of Representatives"
WHEN = ("last", "next")  # ordinals that say when: "last week"
# Word classes that begin with a capital as written; elsewhere a capital may only mark the start of a sentence.
CAPITAL = {"de": (NOUN, NAME), "nl": (NAME,)}
_ENDING = re.compile("(?<=e)[mnrs]$")
_SYLLABLE = re.compile("[\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]")  # of Han and Hangul
_UNWRITTEN = re.compile("[\u0591-\u05bd\u05bf\u05c1-\u05c7\u0640\u064b-\u0652\u0670\u200c\u200d]")
_NO_TONOS = str.maketrans("άέήίόύώϊϋΐΰ", "αεηιουωιυιυ")  # Greek lists of stop words have no accents
FOLDED = frozenset({"de", "nl"})  # whose words are called by their base form, in the case as written
TAGGED = ("content", "phrases")  # kinds of words that need a tagger


class Method(NamedTuple):
    """How candidates are found."""

    words: str = "phrases"  # or "content", "plain", "ngrams" or (ready) "tokens"
    tagger: str | None = None
    lemmas: bool | None = None
    tokenizer: Tokenizer | None = None
    max_length: int = 1  # in tokens


class Candidate(NamedTuple):
    """A token as written, what its spelling variants share, and what it is called in the vocabulary."""

    surface: str
    key: str
    label: str
    flags: int
    position: int


def is_content(flags: Any) -> Any:
    """Return whether a token may be a word by itself: a noun, a verb, an adjective, not a stop word."""
    return ((flags & (CAN_END | BEHIND)) > 0) & ((flags & STOP) == 0)


def plain_lemmatizer(language: str, method: Method) -> Callable[[list[str]], list[str]]:
    """Return what gives words without tags their base form: a lemma if asked, or by the habit of the language."""
    # A dictionary alone takes "grise" for a form of "griser", so that words of several tokens are left as written.
    is_usual = language in FOLDED or (method.words == "plain" and language in lemma_dictionaries())
    is_folded = is_usual if method.lemmas is None else method.lemmas
    return make_lemmatizer(language, method.tagger) if is_folded else lambda sentence: [w.lower() for w in sentence]


def find_candidates(sentence: list[str], language: str, method: Method) -> Iterator[Candidate]:
    """Yield the tokens of a sentence that may be in words of the vocabulary."""
    if method.words in TAGGED:
        return _noun_candidates(sentence, language, method)
    return _plain_candidates(sentence, language, method)


def _plain_candidates(sentence: list[str], language: str, method: Method) -> Iterator[Candidate]:
    """Yield every word, stop words if they may be part of one; a run ends at punctuation and numbers."""
    stop, bases = stop_words(language), plain_lemmatizer(language, method)(sentence)
    is_new = True
    for n, (token, base) in enumerate(zip(sentence, bases, strict=True)):
        if not _is_word(token):
            is_new = True
            continue
        form, key = token.lower(), base.lower()
        surface = token if base[0].isupper() else form  # the base form of a noun or name
        is_stop = form in stop or key in stop or _bare(form).translate(_NO_TONOS) in stop
        flags = STOP if is_stop else CAN_START | CAN_END
        if flags == STOP and method.words != "ngrams":
            continue
        label = surface if key == form else in_case_of(surface, base)
        yield Candidate(surface, spelling_key(key), label, flags | is_new * NEW_RUN, n)
        is_new = False


def _noun_candidates(sentence: list[str], language: str, method: Method) -> Iterator[Candidate]:
    """Yield the tokens of maximal noun phrases and names: adjectives and nouns, joined by 's or, in names, "of".

    A noun whose base form is a guess is counted by it, but called by what is written.
    """
    tagger, stop = make_tagger(language, method.tagger), stop_words(language)
    tagged = tagger.tag(sentence)
    link = LINKS.get(language)
    unnamed = abbreviations(language) - TITLES  # a title is part of a name, "approx" is not
    meaningful = meaningful_nouns(language)
    keep_case = language in FOLDED
    call_by_base = keep_case if method.lemmas is None else method.lemmas
    is_new = True
    for n, (token, (word_class, base)) in enumerate(zip(sentence, tagged, strict=True)):
        form, before, after = token.lower(), sentence[max(0, n - 1)], sentence[n + 1 : n + 2]
        if word_class == POSSESSIVE and not is_new:
            continue
        is_between = token == link and not is_new and bool(after) and before[0].isupper() and after[0][0].isupper()
        if is_between and tagged[n - 1][0] in (NOUN, NAME) and tagged[n + 1][0] in (NOUN, NAME, ADJECTIVE):
            yield Candidate(token, token, token, STOP, n)
            continue
        is_capital = token[0].isupper() and n > 0 and before[0].isalpha()
        is_name_part = is_capital and link is not None
        if word_class in (NOUN, NAME):
            flags = CAN_START | CAN_END
        elif word_class == ADJECTIVE or (word_class in (VERB, ORDINAL) and is_name_part):
            flags = CAN_START
        else:
            flags = ORDINAL_START if word_class == ORDINAL and base not in WHEN else 0
        if method.words == "content" and (word_class == ADJECTIVE or (word_class == VERB and flags == 0)):
            flags |= BEHIND
        is_word = _is_word(token) and form not in unnamed
        if flags in (0, BEHIND) or not is_word:
            if flags == BEHIND and is_word and stop.isdisjoint((base, form)):
                label = in_case_of(form, base) if call_by_base else form
                yield Candidate(form, spelling_key(base), label, BEHIND | NEW_RUN, n)
            is_new = True
            continue
        surface = label = token if keep_case and (is_capital or word_class in CAPITAL[language]) else form
        if call_by_base and not (word_class == NOUN and tagger.is_guess(base)):
            if word_class != ADJECTIVE:
                label = in_case_of(surface, base)
            elif base != form:  # an adjective is called as after an article: "(die) rote Zwiebel"
                label = _ENDING.sub("", surface)
        if base in stop and not (base in meaningful and word_class == NOUN):
            flags |= STOP
            if flags & CAN_START and flags & CAN_END == 0 and not is_capital:
                flags = flags & ~CAN_START | WEAK_START
        following = [following_class for following_class, _ in tagged[n + 1 : n + 3]]
        if len(following) == 2 and following[0] == POSSESSIVE and following[1] in (NOUN, NAME, ADJECTIVE):
            surface, label = surface + "'s", label + "'s"
        if is_name_part and before[0].islower() and before not in (link, "'s") and after:
            is_new |= after[0][0].isupper()  # a longer name: in "the nonpartisan Congressional Budget Office"
        yield Candidate(surface, spelling_key(base), label, flags | is_new * NEW_RUN, n)
        is_new = False


def in_case_of(surface: str, base: str) -> str:
    """Return the base form with the capitals of what is written: EU-Staaten → EU-Staat, Städten → Stadt."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0].lower() == pair[1].lower(), zip(surface, base)))
    return surface[:same] + base[same:]


def spelling_key(base: str) -> str:
    """Return what spelling variants share: "pre-existing" and "preexisting", "U.S." and "US" are one word."""
    return _bare(base.replace("-", "").replace(".", "").replace("'", "")) or base


def _bare(form: str) -> str:
    """Return a form without vowel points and joiners."""
    return form if form.isascii() else _UNWRITTEN.sub("", form)


def _is_word(token: str) -> bool:
    """Return whether a token is a word: letters, and more than one where letters are not syllables."""
    if not token[0].isalpha() or len(token) > LONGEST_TOKEN:
        return False
    return (len(token) > 1 and token[1:] != ".") or _SYLLABLE.match(token) is not None
