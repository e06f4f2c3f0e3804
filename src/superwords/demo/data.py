"""Demo corpus: recipes written for this project, translations and pictures."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from superwords.demo.ranks import WordPair
from superwords.features import table
from superwords.text.corpus import Corpus

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Demo:
    """Recipes as a corpus with metadata `lang` and `title`, and further data.

    The tokens of each recipe in order, the language of each word, picture features (V, 10) with NaN rows for words
    that cannot be drawn, and the translations.
    """

    corpus: Corpus
    tokens: list[list[str]]
    languages: list[str]
    picture_features: np.ndarray
    pairs: list[WordPair]

    @property
    def vocabulary(self) -> list[str]:
        return self.corpus.vocabulary


def load_demo() -> Demo:
    """Read the demo data from the package; nothing is downloaded."""
    words = read_csv("words.csv")
    recipes = [json.loads(line) for line in read_text("recipes.jsonl").splitlines()]
    vocabulary = words["word"].tolist()
    finders = {lang: WordFinder(rows) for lang, rows in words.groupby("lang")}
    sentences = [
        [finders[recipe["lang"]].words_in(sentence) for sentence in _SENTENCE_END.split(recipe["text"])]
        for recipe in recipes
    ]
    corpus = replace(recipe_corpus(recipes, sentences, vocabulary), texts=[one["text"] for one in recipes])
    tokens = [[word for sentence in recipe for word in sentence] for recipe in sentences]
    pictures = table(read_csv("pictures.csv"), vocabulary)
    return Demo(corpus, tokens, words["lang"].tolist(), pictures, read_pairs())


def recipe_corpus(recipes: list[dict[str, Any]], tokens: list[Any], vocabulary: list[str]) -> Corpus:
    """Count the words of each recipe, or of its sentences, with metadata."""
    metadata = pd.DataFrame(recipes)[["lang", "title"]]
    ids = [recipe["id"] for recipe in recipes]
    return replace(Corpus.from_tokens(tokens, ids, metadata, vocabulary=vocabulary), notes={})


class WordFinder:
    """Finder of the words of one language by their forms: ice cream is not cream."""

    def __init__(self, words: pd.DataFrame) -> None:
        # German nouns are capitalised; English has one only where a sentence begins.
        self._fold = bool((words["lang"] == "en").all())
        self._word_of = {form: row.word for row in words.itertuples() for form in str(row.forms).split("|")}
        self._pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, self._word_of))})\b")

    def words_in(self, text: str) -> list[str]:
        found = self._pattern.findall(text.lower() if self._fold else text)
        return [str(self._word_of[form]) for form in found]


def read_pairs() -> list[WordPair]:
    """Return the translations as pairs of sets: English words, German words."""
    rows = read_csv("translations.csv")
    return [
        (frozenset(english.split("|")), frozenset(german.split("|")))
        for english, german in zip(rows["english"], rows["german"], strict=True)
    ]


def read_csv(name: str) -> pd.DataFrame:
    with resources.files("superwords.demo").joinpath(name).open(encoding="utf-8") as lines:
        return pd.read_csv(lines, keep_default_na=False)


def read_text(name: str) -> str:
    return resources.files("superwords.demo").joinpath(name).read_text(encoding="utf-8")
