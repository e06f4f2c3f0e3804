"""Part-of-speech tagging, reduced to the few classes that a noun phrase is made of."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache, lru_cache
from math import inf
from operator import itemgetter
from typing import Any

from HanTa.HanoverTagger import EMPTY, END, START, UNKNOWN, HanoverTagger
from numpy import logaddexp

from superwords.errors import InputError

NOUN, NAME, ADJECTIVE, ORDINAL = "noun", "name", "adjective", "ordinal"
POSSESSIVE, VERB, OTHER = "possessive", "verb", "other"

DUTCH_SINGULARS = {"steden": "stad", "leden": "lid", "schepen": "schip", "bomen": "boom"}
_LAST_VOWEL = re.compile("(?<![aeiou])([aeou])([bcdfghjklmnpqrstvwxz])$")
# Log score of a noun below which HanTa guesses (words it knows: -8 to -16; compounds of them: to -25).
_LEAST_KNOWN = -25.0
BEAM, PIECE_BEAM = 5, 3  # HanTa's own search widths and floor
LOWEST = -1e6
MOST_ANALYSES, MOST_PIECES = 4000, 16_000  # that are remembered

HANTA_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
# Word classes by the beginnings of HanTa's tags.
HANTA_CLASSES = {
    "en": {"NN": NOUN, "NP0": NAME, "AJ": ADJECTIVE, "ORD": ORDINAL, "POS": POSSESSIVE, "VV": VERB},
    "de": {"NN": NOUN, "NE": NAME, "ADJ(A)": ADJECTIVE, "VV": VERB},
    "nl": {"N(soort": NOUN, "N(eigen": NAME, "SPEC(vreemd": NAME, "ADJ(prenom": ADJECTIVE, "WW": VERB},
}
SPACY_CLASSES = {"NOUN": NOUN, "PROPN": NAME, "ADJ": ADJECTIVE, "VERB": VERB}


class FastHanTa(HanoverTagger):
    """HanTa with the same tags in a fraction of the time.

    Each word form is analysed once, of an unknown piece of a word only the kinds are tried that it can be, and a
    sentence is searched over the few tags a word can have, not over all tags there are. It relies on how HanTa 1.2
    keeps its model; tests compare it with HanTa itself.
    """

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self.analyze_forward = lru_cache(MOST_ANALYSES)(self._forward)
        self._tags_of = cache(self._find_tags)
        self._known_pieces = frozenset(piece for pieces in self.LP_m_t.values() for piece in pieces)
        self._first_pieces: dict[tuple[Any, ...], dict[tuple[int, int], float]] = {}
        is_open = frozenset(self.LP_hapax_t) & frozenset(self.LP_s_t)
        self._open_kinds = {
            state: [(kind, p) for kind, p in following if kind in is_open]
            for state, following in self.LP_trans_nonfinal.items()
        }

    def _forward(self, word: str) -> list[tuple[int, float]]:
        """Do as HanTa's analyze_forward does, without the kinds that an unknown piece cannot be."""
        size = len(word)
        table = [{}, *(self._first_piece(word[:j], size).copy() for j in range(1, size + 1)), {}]
        for i in range(1, size + 1):
            row = table[i]
            worst = sorted(row.values(), reverse=True)[PIECE_BEAM] - 1 if len(row) > PIECE_BEAM else LOWEST
            for state, log_p in row.items():
                if log_p < worst:
                    continue
                every, unknown = self.LP_trans_nonfinal.get(state, ()), self._open_kinds.get(state, ())
                for j in range(i + 1, size + 1):
                    piece = word[i:j]
                    for kind, log_p_kind in every if piece in self._known_pieces else unknown:
                        log_p_new = log_p + log_p_kind + self.lp_m_t(piece, kind, size, self.strict)
                        reached = (state[1], kind)
                        if log_p_new > table[j].get(reached, LOWEST):
                            table[j][reached] = log_p_new
        for state, log_p in table[size].items():
            for kind, log_p_kind in self.LP_trans_final.get(state, ()):
                reached = (state[1], kind)
                if log_p + log_p_kind > table[-1].get(reached, LOWEST):
                    table[-1][reached] = log_p + log_p_kind
        found: dict[int, float] = {}
        for (_, kind), log_p in table[-1].items():
            found[-kind] = logaddexp(found[-kind], log_p) if -kind in found else log_p
        return sorted(found.items(), key=itemgetter(1), reverse=True) or [(UNKNOWN, 0)]

    def _first_piece(self, piece: str, size: int) -> dict[tuple[int, int], float]:
        """Return the possible first pieces of a word of a given length."""
        is_known = piece in self._known_pieces
        key = (piece if is_known else piece[-4:], len(piece), is_known, len(piece) == size, size < 4)
        if key not in self._first_pieces:
            if len(self._first_pieces) >= MOST_PIECES:
                self._first_pieces.clear()
            following = (self.LP_trans_nonfinal if is_known else self._open_kinds)[EMPTY, START]
            log_p = {(START, kind): p + self.lp_m_t(piece, kind, size, self.strict) for kind, p in following}
            self._first_pieces[key] = {state: p for state, p in log_p.items() if p > LOWEST}
        return self._first_pieces[key]

    def tag_sent_viterbi(self, sent: list[str], casesensitive: bool = True) -> Any:
        row: dict[tuple[int, int], float] = {(EMPTY, START): 0.0}
        came_from: list[dict[tuple[int, int], tuple[int, int]]] = []
        for i, word in enumerate(sent):
            word_tags = self._tags_of(word, casesensitive and i > 0)
            if not word_tags:
                return super().tag_sent_viterbi(sent, casesensitive)
            worst = sorted(row.values(), reverse=True)[BEAM] - 1 if len(row) > BEAM else LOWEST
            next_row: dict[tuple[int, int], float] = {}
            origin: dict[tuple[int, int], tuple[int, int]] = {}
            for state, log_p in row.items():
                if log_p < worst:
                    continue
                transitions = self.LP_trans_word[state]
                for tag, log_p_word in word_tags:
                    if tag in transitions:
                        log_p_new = log_p + transitions[tag] + log_p_word
                        reached = (state[1], tag)
                        if log_p_new > next_row.get(reached, LOWEST):
                            next_row[reached] = log_p_new
                            origin[reached] = state
            came_from.append(origin)
            row = next_row
        state = max(row, key=lambda last: row[last] + self.LP_trans_word[last].get(END, -inf))
        tags = []
        for origin in reversed(came_from):
            tags.append(state[1])
            state = origin[state]
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
        """Return whether a German noun's base form only has an ending taken off and is no word HanTa knows or composes.

        "Knoblauchzeh" of "Knoblauchzehen" is a guess, "Kürbiskern" of "Kürbiskerne" is not.
        """
        return self._language == "de" and self._score(base, (NOUN, NAME)) < _LEAST_KNOWN

    def _score(self, form: str, classes: tuple[str, ...], kind: str = "") -> float:
        """Return how usual a form is as a word of one of the classes, in HanTa's logarithms."""
        found = self._hanta.tag_word(form, casesensitive=False) if len(form) > 1 else []
        of_kind = (float(p) for tag, p in found if self._class(tag) in classes and tag.startswith(kind))
        return max(of_kind, default=-inf)


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
        tagged = []
        for token in self._pipeline(self._make_document(self._pipeline.vocab, words=sentence)):
            word_class = POSSESSIVE if token.tag_ == "POS" else SPACY_CLASSES.get(token.pos_, OTHER)
            base = token.lemma_ if token.pos_ == "NOUN" else token.text
            tagged.append((word_class, str(base or token.text).lower()))
        return tagged

    def lemmas(self, sentence: list[str]) -> list[str]:
        return [base for _, base in self.tag(sentence)]


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
    """Return simplemma's dictionaries by our codes of languages.

    HanTa's languages have better lemmas by their tags; the Persian dictionary knows only one of the spellings with and
    without a joiner.
    """
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES  # slow to import

    others = {code: code for code in SUPPORTED_LANGUAGES if code not in (*HANTA_MODELS, "fa")}
    return {"no": "nb", "hr": "hbs", "bs": "hbs"} | others


class DictionaryLemmatizer:
    """Lemmas by simplemma's dictionary of a language, in lower case."""

    def __init__(self, language: str) -> None:
        import simplemma
        from simplemma.strategies import DefaultStrategy
        from simplemma.strategies.dictionaries import StreamDictionaryFactory

        self._code = lemma_dictionaries()[language]
        # Read from its stream, a dictionary needs 70 MB at most in place of 420. simplemma's own factory would
        # forget it where texts of many languages take turns.
        strategy = DefaultStrategy(dictionary_factory=StreamDictionaryFactory())
        self._lemmatizer = simplemma.Lemmatizer(lemmatization_strategy=strategy)

    def lemmas(self, sentence: list[str]) -> list[str]:
        return [self._lemmatizer.lemmatize(token.lower(), self._code).lower() for token in sentence]


@lru_cache
def make_lemmatizer(language: str, tagger: str | None = None) -> HanTaTagger | SpacyTagger | DictionaryLemmatizer:
    """Return the tagger named, simplemma's dictionary of the language, or HanTa."""
    if tagger is None and language in lemma_dictionaries():
        return DictionaryLemmatizer(language)
    return make_tagger(language, tagger)
