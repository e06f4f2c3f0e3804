"""Part-of-speech tagging, reduced to the few classes that a noun phrase is made of."""

from __future__ import annotations

import gc
import importlib
import re
from collections.abc import Callable
from functools import cache, lru_cache
from math import inf
from typing import Any

from HanTa.HanoverTagger import EMPTY, END, START, UNKNOWN, HanoverTagger

from superwords.errors import InputError, import_extra

NOUN, NAME, ADJECTIVE, ORDINAL = "noun", "name", "adjective", "ordinal"
POSSESSIVE, VERB, OTHER = "possessive", "verb", "other"

DUTCH_SINGULARS = {"steden": "stad", "leden": "lid", "schepen": "schip", "bomen": "boom"}
_LAST_VOWEL = re.compile("(?<![aeiou])([aeou])([bcdfghjklmnpqrstvwxz])$")
# Log score of a noun below which HanTa guesses (words it knows: -8 to -16; compounds of them: to -25).
_LEAST_KNOWN = -25.0
BEAM = 5  # HanTa's own search width and floor
LOWEST = -1e6
MOST_ANALYSES = 4000  # that are remembered

HANTA_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
# Word classes by the beginnings of HanTa's tags.
HANTA_CLASSES = {
    "en": {"NN": NOUN, "NP0": NAME, "AJ": ADJECTIVE, "ORD": ORDINAL, "POS": POSSESSIVE, "VV": VERB},
    "de": {"NN": NOUN, "NE": NAME, "ADJ(A)": ADJECTIVE, "VV": VERB},
    "nl": {"N(soort": NOUN, "N(eigen": NAME, "SPEC(vreemd": NAME, "ADJ(prenom": ADJECTIVE, "WW": VERB},
}
SPACY_CLASSES = {"NOUN": NOUN, "PROPN": NAME, "ADJ": ADJECTIVE, "VERB": VERB}


class FastHanTa(HanoverTagger):
    """HanTa with the same tags in a fraction of the time: of each word only its few tags are searched, not all.

    It relies on how HanTa 1.2 keeps its model; tests compare it with HanTa itself.
    """

    def __init__(self, filename: str) -> None:
        collects = gc.isenabled()
        gc.disable()  # looking for garbage takes most of the time of loading, and finds none
        try:
            super().__init__(filename)
        finally:
            if collects:
                gc.enable()
        self.analyze_forward = lru_cache(MOST_ANALYSES)(super().analyze_forward)
        self._tags_of = cache(self._find_tags)

    def tag_sent_viterbi(self, sent: list[str], casesensitive: bool = True) -> Any:
        # The best path to each pair of tags: its log probability, and its tags, the last one first.
        paths: dict[tuple[int, int], tuple[float, Any]] = {(EMPTY, START): (0.0, None)}
        for i, word in enumerate(sent):
            word_tags = self._tags_of(word, casesensitive and i > 0)
            if not word_tags:
                return super().tag_sent_viterbi(sent, casesensitive)
            best = sorted((log_p for log_p, _ in paths.values()), reverse=True)
            worst = best[BEAM] - 1 if len(best) > BEAM else LOWEST
            longer: dict[tuple[int, int], tuple[float, Any]] = {}
            for state, (log_p, path) in paths.items():
                if log_p < worst:
                    continue
                transitions = self.LP_trans_word[state]
                for tag, log_p_word in word_tags:
                    if tag in transitions:
                        log_p_new, reached = log_p + transitions[tag] + log_p_word, (state[1], tag)
                        if log_p_new > (longer[reached][0] if reached in longer else LOWEST):
                            longer[reached] = log_p_new, (tag, path)
            paths = longer
        last = max(paths, key=lambda state: paths[state][0] + self.LP_trans_word[state].get(END, -inf))
        path, tags = paths[last][1], []
        while path is not None:
            tag, path = path
            tags.append(tag)
        return tags[::-1]

    def _find_tags(self, word: str, is_case_sensitive: bool) -> list[tuple[int, float]]:
        found = self._tag_word(word, cutoff=5, casesensitive=is_case_sensitive, conditional=True)
        return [(tag, p) for tag, p in found if tag != UNKNOWN]


class HanTaTagger:
    """HanTa's tags by class; nouns (and, where they inflect, adjectives) have their singular as base form."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._hanta = FastHanTa(HANTA_MODELS[language])
        self._inflected = (NOUN, NAME) if language == "en" else (NOUN, NAME, ADJECTIVE)
        self._class, self.base, self._lemma = cache(self._find_class), cache(self._find_base), cache(self._find_lemma)
        self.is_guess = cache(self._is_guess)

    def tag(self, sentence: list[str]) -> list[tuple[str, str]]:
        try:
            tags = self._hanta.tag_sent(sentence, taglevel=0)
        except (KeyError, IndexError, ValueError):  # HanTa knows no path through some odd strings of symbols
            tags = [self._hanta.tag_word(word)[0][0] for word in sentence]
        tagged = []
        for word, tag, before in zip(sentence, tags, ["", *tags[:-1]], strict=True):
            # HanTa takes some English verbs for nouns: "will skyrocket", "was crafted".
            is_verb = tag == "NN1" and (before == "VM0" or (word.islower() and word.endswith("ed")))
            word_class = VERB if is_verb else self._class(tag)
            tagged.append((word_class, self.base(word.lower(), word_class)))
        return tagged

    def lemmas(self, sentence: list[str]) -> list[str]:
        return [self._lemma(token, n > 0) for n, token in enumerate(sentence)]

    def _find_class(self, tag: str) -> str:
        known = HANTA_CLASSES[self._language].items()
        return next((name for start, name in known if tag.startswith(start)), OTHER)

    def _find_lemma(self, word: str, is_capital_telling: bool) -> str:
        """Return the lemma of a word of any class, in German and Dutch with the capitals it has."""
        lemma, tag = self._hanta.analyze(word, casesensitive=is_capital_telling)
        if self._language == "en":
            return str(lemma).lower()
        if self._class(tag) not in (NOUN, NAME):
            return str(lemma)
        base = self.base(word, self._class(tag))
        return base.capitalize() if lemma[0].isupper() else base

    def _find_base(self, word: str, word_class: str) -> str:
        """Return the base form, by spelling alone, so that all "states" are one word wherever they occur."""
        form = word.lower()
        if word_class not in (*self._inflected, VERB):
            return form
        word_class = NOUN if word_class == NAME else word_class
        classes = (VERB,) if word_class == VERB else (word_class, NAME)
        tag = next(
            (tag for tag, _ in self._hanta.tag_word(form, casesensitive=False) if self._class(tag) in classes), ""
        )
        if not tag or (self._language == "en" and word_class == NOUN and tag != "NN2"):
            return form
        if tag == "NN2":  # HanTa's lemma confuses stems with and without a final e ("aides")
            stem = form[:-1] if form.endswith("s") else ""
            if stem in self._hanta.cache and self._hanta.tag_word(stem, casesensitive=False)[0][0] in ("NN0", "NN1"):
                return stem
            if form.endswith("sses"):
                return form[:-2]
        lemma = str(self._hanta.analyze(form, pos=tag)[0]).lower()
        lemma = lemma if len(lemma) > 1 else form
        if self._class(tag) == NAME:  # "Deutschlands" loses its ending, "Paris" does not: the more usual one is taken
            is_owner = word_class == NOUN and form == f"{lemma}s"
            return lemma if is_owner and self._score(lemma, (NAME,)) > self._score(form, (NAME,)) else form
        return self._dutch_singular(lemma, form) if tag.startswith("N(soort,mv") else lemma

    def _dutch_singular(self, stem: str, form: str) -> str:
        """Return the singular of a plural's stem: huiz(en) is huis, bom(en) boom, kinder(en) kind."""
        if form in DUTCH_SINGULARS:
            return DUTCH_SINGULARS[form]
        hard = stem[:-1] + {"v": "f", "z": "s"}.get(stem[-1], stem[-1])
        child = form[:-4] if form.endswith("eren") else stem
        spellings = [stem, hard, _LAST_VOWEL.sub(r"\1\1\2", hard), child]
        if len(stem) > 2 and stem[-1] == stem[-2]:
            spellings.append(stem[:-1])
        return max(spellings, key=lambda spelling: self._score(spelling, (NOUN,), "N(soort,ev"))

    def _is_guess(self, base: str) -> bool:
        """Return whether a German base form is no word: "Knoblauchzeh" (-zehen), but not "Kürbiskern" (-kerne)."""
        return self._language == "de" and self._score(base, (NOUN, NAME)) < _LEAST_KNOWN

    def _score(self, form: str, classes: tuple[str, ...], kind: str = "") -> float:
        """Return how usual a form is as a word of one of the classes, in HanTa's logarithms."""
        found = self._hanta.tag_word(form, casesensitive=False) if len(form) > 1 else []
        of_kind = (float(p) for tag, p in found if self._class(tag) in classes and tag.startswith(kind))
        return max(of_kind, default=-inf)


class SpacyTagger:
    """A spaCy pipeline on our tokens, so that sentences and passages are the same with every tagger."""

    def __init__(self, name: str) -> None:
        instead = ", or leave the tagger out to use HanTa"
        spacy = import_extra("spacy", f'The tagger "spacy:{name}"', "spacy", instead)
        try:
            self._pipeline = spacy.load(name)
        except OSError:
            raise InputError(f"spaCy has no pipeline named {name!r} here; install that pipeline{instead}.") from None
        self._make_document: Callable[..., Any] = importlib.import_module("spacy.tokens").Doc

    def tag(self, sentence: list[str]) -> list[tuple[str, str]]:
        tagged = []
        for token in self._pipeline(self._make_document(self._pipeline.vocab, words=sentence)):
            word_class = POSSESSIVE if token.tag_ == "POS" else SPACY_CLASSES.get(token.pos_, OTHER)
            base = token.lemma_ if token.pos_ == "NOUN" else token.text
            tagged.append((word_class, str(base or token.text).lower()))
        return tagged

    def lemmas(self, sentence: list[str]) -> list[str]:
        return [base for _, base in self.tag(sentence)]

    def base(self, word: str, word_class: str) -> str:
        return word.lower()

    def is_guess(self, base: str) -> bool:
        return False


@lru_cache
def make_tagger(language: str, tagger: str | None = None) -> HanTaTagger | SpacyTagger:
    """Return the tagger named ("hanta", "spacy:PIPELINE"), or HanTa where it knows the language."""
    if str(tagger).startswith("spacy:"):
        return SpacyTagger(str(tagger).removeprefix("spacy:"))
    if tagger not in (None, "hanta"):
        raise InputError(f'There is no tagger {tagger!r}; give "hanta" or "spacy:PIPELINE".')
    if language not in HANTA_MODELS:
        raise InputError(
            f"HanTa tags {', '.join(sorted(HANTA_MODELS))} but not {language!r}; "
            'give words="plain", or name a spaCy pipeline as tagger="spacy:PIPELINE".'
        )
    return HanTaTagger(language)


@lru_cache
def lemma_dictionaries() -> dict[str, str]:
    """Return simplemma's dictionaries by our codes of languages."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES  # slow to import

    # HanTa's tags give better lemmas; the Persian dictionary knows one spelling only, with or without a joiner.
    others = {code: code for code in SUPPORTED_LANGUAGES if code not in (*HANTA_MODELS, "fa")}
    return {"no": "nb", "hr": "hbs", "bs": "hbs"} | others


@lru_cache
def make_lemmatizer(language: str, tagger: str | None = None) -> Callable[[list[str]], list[str]]:
    """Return a function from a sentence to its lemmas: of the tagger named, simplemma's dictionary, or HanTa."""
    code = lemma_dictionaries().get(language)
    if tagger is not None or code is None:
        return make_tagger(language, tagger).lemmas
    import simplemma
    from simplemma.strategies import DefaultStrategy
    from simplemma.strategies.dictionaries import StreamDictionaryFactory

    # Read from its stream, a dictionary needs 70 MB at most in place of 420. simplemma's own factory would
    # forget it where texts of many languages take turns.
    strategy = DefaultStrategy(dictionary_factory=StreamDictionaryFactory())
    lemmatize = simplemma.Lemmatizer(lemmatization_strategy=strategy).lemmatize
    return lambda sentence: [lemmatize(token.lower(), code).lower() for token in sentence]
