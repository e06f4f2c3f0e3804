"""The options of finding words, checked, and the recipe by which new texts are read alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from superwords.errors import InputError
from superwords.text.grams import MAX_LENGTH
from superwords.text.phrases import TAGGED, is_folded, spelling_key
from superwords.text.sentences import Tokenizer, check_segmenter, tokens
from superwords.text.stream import Method
from superwords.text.tagging import (
    ADJECTIVE,
    HANTA_MODELS,
    NOUN,
    VERB,
    HanTaTagger,
    make_lemmatizer,
    make_tagger,
)

RECIPE_FORMAT = 2


@dataclass(frozen=True)
class Fixed:
    """Words decided earlier: the columns, and joined spelling → label (None: known, but counted nowhere)."""

    vocabulary: list[str]
    units: dict[str, str | None]


@dataclass(frozen=True)
class TextOptions:
    method: Method
    max_length: int
    passage_sentences: int | None = None
    min_df: float | str = "auto"
    max_df: float | None = None
    drop: tuple[str, ...] = ()
    drop_procedural: bool = False
    fixed: Fixed | None = None


def language_code(language: str) -> str:
    """Return the code of a language: "en" for "en-US"; "none" is plain words without stop words."""
    code = re.split(r"[-_]", str(language).strip().lower())[0]
    if code != "none" and not re.fullmatch("[a-z]{2,3}", code):
        raise InputError(
            f'The language {language!r} is not a code; give one of two or three letters such as "en", '
            'or "none" for plain words with no stop words.'
        )
    return code


def given_languages(language: str | Iterable[str]) -> list[str]:
    """Return the languages given: one, or one per document."""
    if isinstance(language, str):
        return [language]
    if not isinstance(language, Iterable):
        remedy = 'give a code such as "en", or one for each document'
        raise InputError("is not a language", "language", language, remedy)
    return list(language)


def word_method(
    words: str | None,
    languages: Iterable[str],
    tagger: str | None,
    lemmas: bool | None,
    tokenizer: Tokenizer | None = None,
) -> tuple[Method, int]:
    """Return how to find words, and the longest one in tokens: noun phrases where the language can be tagged."""
    codes = sorted(set(languages))
    if tokenizer is not None:
        if not callable(tokenizer):
            raise InputError(
                f"tokenizer={tokenizer!r} cannot be called; give a function from a sentence to its words."
            )
        lemmas = bool(lemmas)
    else:
        for code in codes:
            check_segmenter(code)
    if words is None:
        can_tag = tokenizer is None and all(code in HANTA_MODELS for code in codes)
        words = "content" if tagger or can_tag else "plain"
    kind, _, size = str(words).partition(":")
    if kind == "ngrams" and size.isdigit() and int(size) > 0:
        max_length = int(size)
    elif words in ("content", "phrases", "plain"):
        max_length = 1 if words == "plain" else MAX_LENGTH
    else:
        remedy = 'give "content", "phrases", "plain" or "ngrams:2" (or another number)'
        raise InputError("is not known", "words", words, remedy)
    for code in codes if words in TAGGED or lemmas else ():
        (make_tagger if words in TAGGED else make_lemmatizer)(code, tagger)
    return Method(kind if max_length > 1 else "plain", tagger, lemmas, tokenizer), max_length


def passage_length(unit: str) -> int | None:
    """Return the sentences of a passage: None for "document", 5 for "passages:5"."""
    if unit == "document":
        return None
    kind, _, size = str(unit).partition(":")
    if kind == "passages" and size.isdigit() and int(size) > 0:
        return int(size)
    remedy = 'give "document", or "passages:5" for passages of five sentences'
    raise InputError("is not known", "unit", unit, remedy)


def threshold(value: float | str, n_documents: int, name: str) -> int:
    """Return a number of documents, given as one (10) or as a share (0.1)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        also = ' or "auto"' if name == "min_df" else ""
        remedy = f"give a number of documents, a share of them{also}"
        raise InputError("is not possible", name, value, remedy)
    is_share = isinstance(value, float) and (0 < value < 1 or (name == "max_df" and value == 1))
    if not is_share and not (value >= 1 and value % 1 == 0):
        remedy = "give a whole number of documents (at least 1), or a share between 0 and 1"
        raise InputError("is not possible", name, value, remedy)
    if is_share:
        return max(1, round(value * n_documents))
    if name == "min_df" and value > n_documents:
        problem = f"is more than the {n_documents} documents there are"
        raise InputError(problem, "min_df", int(value), "give a lower number")
    return int(value)


def words_to_drop(drop: Iterable[str] | str | Path | None) -> tuple[str, ...]:
    """Return the words of a list, or of a file with one word per line."""
    if drop is None:
        return ()
    if not isinstance(drop, Iterable | Path):
        remedy = "give a list of words, or a file with one word per line"
        raise InputError("is not a list of words", "drop", drop, remedy)
    if not isinstance(drop, str | Path):
        return tuple(str(word) for word in drop)
    try:
        lines = Path(drop).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The file of words to drop, {drop}, cannot be read ({type(error).__name__}); "
            "give a UTF-8 text file with one word per line, or a list of words."
        ) from None
    return tuple(line.strip() for line in lines if line.strip())


def recipe_of(options: TextOptions, language: str | None, units: Mapping[str, str | None]) -> dict[str, Any]:
    """Return all that is needed to find the same words in new text, as plain JSON."""
    tokenizer = options.method.tokenizer
    return {
        "format": RECIPE_FORMAT,
        "language": language,
        "words": options.method.words,
        "tagger": options.method.tagger,
        "lemmas": options.method.lemmas,
        "tokenizer": None
        if tokenizer is None
        else getattr(tokenizer, "__qualname__", type(tokenizer).__name__),
        "max_length": options.max_length,
        "unit": f"passages:{options.passage_sentences}" if options.passage_sentences else "document",
        "units": dict(units),
    }


def read_recipe(
    recipe: Mapping[str, Any], tokenizer: Tokenizer | None = None
) -> tuple[Method, int, str | None, dict[str, str | None]]:
    """Return how words were found; a recipe holds the name of the user's tokenizer only, so give it again."""
    found = recipe.get("format") if isinstance(recipe, Mapping) else None
    if found != RECIPE_FORMAT or not {"words", "tagger", "lemmas", "max_length", "language", "units"} <= set(
        recipe
    ):
        raise InputError(
            f"The recipe has format {found!r} but this version reads {RECIPE_FORMAT}; "
            "give the corpus's notes['recipe'] unchanged."
        )
    name = recipe.get("tokenizer")
    if name is not None and tokenizer is None:
        raise InputError(
            f"The words were found by the function {name}, which a model file does not hold; "
            "make a corpus of the new texts by Corpus.from_texts with recipe= and tokenizer=."
        )
    method = Method(recipe["words"], recipe["tagger"], recipe["lemmas"], tokenizer if name else None)
    return method, int(recipe["max_length"]), recipe["language"], dict(recipe["units"])


def units_of_labels(
    vocabulary: Sequence[str], languages: Iterable[str], method: Method
) -> dict[str, str | None]:
    """Return the joined spelling of each word of a bare vocabulary, as reading it in a text would give it."""
    units: dict[str, str | None] = {}
    for language in sorted(languages):
        for label in vocabulary:
            words = [token for token in tokens(label, language, method.tokenizer) if token[0].isalnum()]
            units.setdefault("".join(spelling_key(_label_base(w, language, method)) for w in words), label)
    return units


def _label_base(word: str, language: str, method: Method) -> str:
    if method.words not in TAGGED:
        is_lemma = is_folded(language, method.lemmas, method.words)
        found = make_lemmatizer(language, method.tagger).lemmas([word])[0] if is_lemma else word
        return found.lower()
    tagger = make_tagger(language, method.tagger)
    if not isinstance(tagger, HanTaTagger):
        return word.lower()
    base = tagger.base(word, NOUN)
    if base == word.lower():
        base = tagger.base(word, ADJECTIVE)
    return base if base != word.lower() or method.words == "phrases" else tagger.base(word, VERB)
