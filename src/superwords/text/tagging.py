"""Part-of-speech tagging, reduced to the few classes that a noun phrase is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

from HanTa.HanoverTagger import HanoverTagger

from superwords.errors import InputError

NOUN, NAME, ADJECTIVE, POSSESSIVE, VERB, OTHER = "noun", "name", "adjective", "possessive", "verb", "other"

HANTA_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
SPACY_CLASSES = {"NOUN": NOUN, "PROPN": NAME, "ADJ": ADJECTIVE, "VERB": VERB}


class Tagger(Protocol):
    """Gives every token of a sentence its class and its base form (lower case)."""

    def tag(self, sentence: list[str]) -> list[tuple[str, str]]: ...


class _MemoisedHanTa(HanoverTagger):
    """HanTa that analyses each word form once: the analysis of morphemes is what takes the time."""

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self._seen: dict[str, Any] = {}

    def analyze_forward(self, word: str) -> Any:
        if word not in self._seen:
            self._seen[word] = super().analyze_forward(word)
        return self._seen[word]


class HanTaTagger:
    """HanTa's tags by class; nouns (and, where they inflect, adjectives) have their singular as base form."""

    def __init__(self, language: str) -> None:
        self._hanta = _MemoisedHanTa(HANTA_MODELS[language])
        self._class_of = {"en": _english_class, "de": _german_class, "nl": _dutch_class}[language]
        self._inflected = (NOUN, NAME) if language == "en" else (NOUN, ADJECTIVE)
        self._classes: dict[str, str] = {}
        self._bases: dict[tuple[str, str], str] = {}
        self._best_tags: dict[str, dict[str, str]] = {}

    def tag(self, sentence: list[str]) -> list[tuple[str, str]]:
        return [(c, self.base(word, c)) for word, c in zip(sentence, self._classes_of(sentence), strict=True)]

    def lemma(self, word: str) -> str:
        """The lemma of a word of any class, for plain words."""
        key = (word, "")
        if key not in self._bases:
            self._bases[key] = str(self._hanta.analyze(word)[0]).lower()
        return self._bases[key]

    def base(self, word: str, word_class: str) -> str:
        """The base form depends on spelling alone, so that all "states" are one word wherever they stand."""
        form = word.lower()
        if word_class not in self._inflected:
            return form
        key = (form, NOUN if word_class == NAME else word_class)
        if key not in self._bases:
            self._bases[key] = self._analyse_base(form, key[1])
        return self._bases[key]

    def _analyse_base(self, form: str, word_class: str) -> str:
        tags = [tag for tag, _ in self._hanta.tag_word(form, casesensitive=False)]
        of_class = [tag for tag in tags if self._class(tag) == word_class or self._class(tag) == NAME]
        if not of_class or self._class(of_class[0]) != word_class or not _has_plural(of_class[0]):
            return form
        lemma = self._hanta.analyze(form, pos=of_class[0])[0].lower()
        return lemma if len(lemma) > 1 else form

    def _class(self, tag: str) -> str:
        if tag not in self._classes:
            self._classes[tag] = self._class_of(tag)
        return self._classes[tag]

    def _classes_of(self, sentence: list[str]) -> list[str]:
        try:
            tags = self._hanta.tag_sent(sentence, taglevel=0)
        except (KeyError, IndexError):  # HanTa knows no path through some odd strings of symbols
            tags = [self._hanta.tag_word(word)[0][0] for word in sentence]
        return [self._class(tag) for tag in tags]


def _has_plural(tag: str) -> bool:
    return tag not in ("NN0", "NN1")


def _english_class(tag: str) -> str:
    if tag.startswith("NN"):
        return NOUN
    if tag == "NP0":
        return NAME
    if tag.startswith("AJ"):
        return ADJECTIVE
    if tag == "POS":
        return POSSESSIVE
    return VERB if tag.startswith("VV") else OTHER


def _german_class(tag: str) -> str:
    if tag.startswith("NN"):
        return NOUN
    if tag == "NE":
        return NAME
    if tag == "ADJ(A)":
        return ADJECTIVE
    return VERB if tag.startswith("VV") else OTHER


def _dutch_class(tag: str) -> str:
    if tag.startswith("N(soort"):
        return NOUN
    if tag.startswith(("N(eigen", "SPEC(vreemd")):
        return NAME
    if tag.startswith("ADJ(prenom"):
        return ADJECTIVE
    return VERB if tag.startswith("WW") else OTHER


class SpacyTagger:
    """A spaCy pipeline on our tokens, so that sentences and passages are the same with every tagger."""

    def __init__(self, name: str) -> None:
        try:
            spacy = importlib.import_module("spacy")
        except ImportError:
            raise InputError(
                f'The tagger "spacy:{name}" needs spaCy, which is not installed; '
                "install the extra superwords[spacy], or leave the tagger out to use HanTa."
            ) from None
        try:
            self._pipeline = spacy.load(name)
        except OSError:
            raise InputError(
                f"spaCy has no pipeline named {name!r} here; install that pipeline, "
                "or leave the tagger out to use HanTa."
            ) from None
        self._make_document: Callable[..., Any] = importlib.import_module("spacy.tokens").Doc

    def tag(self, sentence: list[str]) -> list[tuple[str, str]]:
        document = self._pipeline(self._make_document(self._pipeline.vocab, words=sentence))
        return [(_spacy_class(token), _spacy_base(token)) for token in document]


def _spacy_class(token: Any) -> str:
    if token.tag_ == "POS":
        return POSSESSIVE
    return SPACY_CLASSES.get(token.pos_, OTHER)


def _spacy_base(token: Any) -> str:
    base = token.lemma_ if token.pos_ == "NOUN" else token.text
    return str(base or token.text).lower()


@lru_cache
def make_tagger(language: str, tagger: str | None = None) -> Tagger:
    """The tagger named ("hanta", "spacy:PIPELINE"), or HanTa where it knows the language."""
    if tagger is not None and tagger.startswith("spacy:"):
        return SpacyTagger(tagger.removeprefix("spacy:"))
    if tagger not in (None, "hanta"):
        raise InputError(f'There is no tagger {tagger!r}; give "hanta" or "spacy:PIPELINE".')
    if language not in HANTA_MODELS:
        raise InputError(
            f"HanTa tags {', '.join(sorted(HANTA_MODELS))} but not {language!r}; "
            'give words="plain", or name a spaCy pipeline as tagger="spacy:PIPELINE".'
        )
    return HanTaTagger(language)
