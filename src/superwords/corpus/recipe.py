"""What a user may ask for when texts become words, checked, and the recipe that lets new texts be treated
alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from superwords.corpus.grams import MAX_LENGTH
from superwords.corpus.phrases import is_folded, spelling_key
from superwords.corpus.sentences import tokens
from superwords.corpus.stopwords import stop_words
from superwords.corpus.stream import Method
from superwords.corpus.tagging import ADJECTIVE, HANTA_MODELS, NOUN, HanTaTagger, make_tagger
from superwords.errors import InputError

RECIPE_FORMAT = 1


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
    """The code of a language ("en" for "en-US"), for which there must be a stop-word list."""
    code = re.split(r"[-_]", str(language).strip().lower())[0]
    stop_words(code)
    return code


def word_method(
    words: str | None, languages: Iterable[str], tagger: str | None, lemmas: bool | None
) -> tuple[Method, int]:
    """How to find words, and the longest one in tokens: noun phrases where a tagger knows the language."""
    codes = sorted(set(languages))
    if words is None:
        words = "phrases" if tagger or all(code in HANTA_MODELS for code in codes) else "plain"
    kind, _, size = words.partition(":")
    if kind == "ngrams" and size.isdigit() and int(size) > 0:
        max_length = int(size)
    elif words in ("phrases", "plain"):
        max_length = MAX_LENGTH if words == "phrases" else 1
    else:
        raise InputError(
            f'words={words!r} is not known; give "phrases", "plain" or "ngrams:2" (or another number).'
        )
    if words == "phrases" or lemmas:
        for code in codes:
            make_tagger(code, tagger)
    return Method(kind if max_length > 1 else "plain", tagger, lemmas), max_length


def passage_length(unit: str) -> int | None:
    """None for "document", 5 for "passages:5"."""
    if unit == "document":
        return None
    kind, _, size = unit.partition(":")
    if kind == "passages" and size.isdigit() and int(size) > 0:
        return int(size)
    raise InputError(
        f'unit={unit!r} is not known; give "document", or "passages:5" for passages of five sentences.'
    )


def unit_name(passage_sentences: int | None) -> str:
    return "document" if passage_sentences is None else f"passages:{passage_sentences}"


def threshold(value: float | str, n_documents: int, name: str) -> int:
    """A number of documents, given as one (10) or as a share (0.1)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        also = ' or "auto"' if name == "min_df" else ""
        raise InputError(
            f"{name}={value!r} is not possible; give a number of documents, a share of them{also}."
        )
    is_share = isinstance(value, float) and (0 < value < 1 or (name == "max_df" and value == 1))
    if not is_share and (value < 1 or value != int(value)):
        raise InputError(
            f"{name}={value} is not possible; "
            "give a whole number of documents (at least 1), or a share between 0 and 1."
        )
    if is_share:
        return max(1, round(value * n_documents))
    if name == "min_df" and value > n_documents:
        raise InputError(
            f"min_df={int(value)} is more than the {n_documents} documents there are; give a lower number."
        )
    return int(value)


def words_to_drop(drop: Iterable[str] | str | Path | None) -> tuple[str, ...]:
    """A list of words, or a file with one word per line."""
    if drop is None:
        return ()
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
    """All that is needed to find the same words in new text, as plain JSON."""
    return {
        "format": RECIPE_FORMAT,
        "language": language,
        "words": options.method.words,
        "tagger": options.method.tagger,
        "lemmas": options.method.lemmas,
        "max_length": options.max_length,
        "unit": unit_name(options.passage_sentences),
        "units": dict(units),
    }


def read_recipe(recipe: Mapping[str, Any]) -> tuple[Method, int, str | None, dict[str, str | None]]:
    if recipe.get("format") != RECIPE_FORMAT:
        raise InputError(
            f"The recipe has format {recipe.get('format')!r} but this version reads {RECIPE_FORMAT}; "
            "give the corpus's notes['recipe'] unchanged."
        )
    method = Method(recipe["words"], recipe["tagger"], recipe["lemmas"])
    return method, int(recipe["max_length"]), recipe["language"], dict(recipe["units"])


def units_of_labels(
    vocabulary: Sequence[str], languages: Iterable[str], method: Method
) -> dict[str, str | None]:
    """The joined spelling of each word of a bare vocabulary, as reading it in a text would give it."""
    units: dict[str, str | None] = {}
    for language in sorted(languages):
        for label in vocabulary:
            words = [token for token in tokens(label, language) if token[0].isalnum()]
            units.setdefault("".join(spelling_key(_label_base(w, language, method)) for w in words), label)
    return units


def _label_base(word: str, language: str, method: Method) -> str:
    if method.words != "phrases" and not is_folded(language, method.lemmas):
        return word.lower()
    tagger = make_tagger(language, method.tagger)
    if not isinstance(tagger, HanTaTagger):
        return word.lower()
    if method.words != "phrases":
        return tagger.lemma(word).lower()
    base = tagger.base(word, NOUN)
    return base if base != word.lower() else tagger.base(word, ADJECTIVE)
