"""Words of languages written without spaces: Chinese, Japanese and Thai, by the extra `cjk`."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from superwords.errors import InputError

PACKAGES = {"zh": "jieba", "ja": "janome", "th": "pythainlp"}
NO_SEGMENTER = {"km": "Khmer", "lo": "Lao", "my": "Burmese", "bo": "Tibetan", "dz": "Dzongkha"}

Segmenter = Callable[[str], list[str]]


def check_segmenter(language: str) -> None:
    """Raise InputError if a language needs a segmenter that is not installed or does not exist."""
    if language in NO_SEGMENTER:
        raise InputError(
            f"{NO_SEGMENTER[language]} ({language}) is written without spaces between words, and there is no "
            "segmenter for it here; give tokenizer=, a function from a sentence to its words."
        )
    if language in PACKAGES:
        segmenter(language)


@lru_cache
def segmenter(language: str) -> Segmenter:
    """Return the function that cuts a sentence of one of these languages into words."""
    load = {"zh": _chinese, "ja": _japanese, "th": _thai}[language]
    try:
        with warnings.catch_warnings():  # jieba's own source has deprecated escapes
            warnings.simplefilter("ignore")
            return load()
    except ImportError:
        raise InputError(
            f"The language {language!r} is written without spaces, and cutting it into words needs "
            f"{PACKAGES[language]}; install the extra superwords[cjk], or give tokenizer=."
        ) from None


def _chinese() -> Segmenter:
    tokenizer: Any = importlib.import_module("jieba").Tokenizer()
    # jieba's initialize() would load a marshalled cache from the shared temporary folder.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer.lcut


def _japanese() -> Segmenter:
    tokenizer: Any = importlib.import_module("janome.tokenizer").Tokenizer(wakati=True)
    return lambda sentence: list(tokenizer.tokenize(sentence))


def _thai() -> Segmenter:
    tokenize: Any = importlib.import_module("pythainlp.tokenize").word_tokenize
    # "newmm" alone takes exponential time on some strings; the safe variant cuts long ones.
    return lambda sentence: tokenize(sentence, engine="newmm-safe", keep_whitespace=False)
