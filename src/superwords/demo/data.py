"""Demo corpus: recipes written for this project, translations, pictures, and the paper's measure of their ranks."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from importlib import resources
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.features import table
from superwords.text.corpus import Corpus

WordPair = tuple[Set[str], Set[str]]  # words of one language and their translations: {egg, eggs} ↔ {Eier}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Demo:
    """Recipes as a corpus with metadata `lang` and `title`, and further data.

    The language of each word, picture features (V, 10) with NaN rows for words that cannot be drawn, and the
    translations.
    """

    corpus: Corpus
    languages: list[str]
    picture_features: np.ndarray
    pairs: list[WordPair]

    @property
    def vocabulary(self) -> list[str]:
        return self.corpus.vocabulary


def load_demo() -> Demo:
    """Read the demo data from the package; nothing is downloaded."""
    words = read_csv("words.csv")
    recipes = [json.loads(line) for line in _read("recipes.jsonl").splitlines()]
    vocabulary = words["word"].tolist()
    finders = {lang: WordFinder(rows) for lang, rows in words.groupby("lang")}
    sentences = [
        [finders[recipe["lang"]].words_in(sentence) for sentence in _SENTENCE_END.split(recipe["text"])]
        for recipe in recipes
    ]
    corpus = replace(recipe_corpus(recipes, sentences, vocabulary), texts=[one["text"] for one in recipes])
    pictures = table(read_csv("pictures.csv"), vocabulary)
    return Demo(corpus, words["lang"].tolist(), pictures, read_pairs())


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
    return pd.read_csv(io.StringIO(_read(name)), keep_default_na=False)


def _read(name: str) -> str:
    return resources.files("superwords.demo").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class RankAccuracy:
    """Rank accuracy: the `mean` over pairs, and a row per pair.

    A row has `forward` (from the first set to the second), `backward`, their mean `accuracy`, and `known`: whether
    all necessary similarities were known.
    """

    mean: float
    pairs: pd.DataFrame

    @property
    def mean_known(self) -> float:
        """The mean over the pairs whose similarities are known; NaN if there is none."""
        known = self.pairs.loc[self.pairs["known"], "accuracy"]
        return float(known.mean()) if len(known) else float("nan")


def rank_accuracy(similarity: np.ndarray, vocabulary: Sequence[str], pairs: Sequence[WordPair]) -> RankAccuracy:
    """Return the share of words that a word's translations are ranked above.

    For every word w of one set of a pair and every translation t in the other, the competitors are the words
    outside the pair, of both languages, whose similarity to w is known; a tie counts half. Where the
    similarity of w and t is itself unknown (NaN) the accuracy is that of chance, 0.5. Both directions count
    equally, and so does each pair.
    """
    matrix = np.asarray(similarity, dtype=float)
    if matrix.shape != (len(vocabulary), len(vocabulary)):
        raise InputError(
            f"The similarity has the shape {matrix.shape} for {len(vocabulary)} words; "
            "give one row and one column per word."
        )
    if not pairs:
        raise InputError("There is no pair to rank; give at least one pair of translations.")
    index = {word: i for i, word in enumerate(vocabulary)}
    rows = []
    for first, second in pairs:
        here, there = positions(first, index), positions(second, index)
        forward, backward = directed(matrix, here, there), directed(matrix, there, here)
        known = not any(np.isnan(matrix[np.ix_(*way)]).any() for way in ((here, there), (there, here)))
        name = f"{'/'.join(sorted(first))} ↔ {'/'.join(sorted(second))}"
        rows.append((name, forward, backward, (forward + backward) / 2, known))
    table = pd.DataFrame(rows, columns=["pair", "forward", "backward", "accuracy", "known"])
    return RankAccuracy(float(table["accuracy"].mean()), table)


def directed(matrix: np.ndarray, queries: list[int], targets: list[int]) -> float:
    outside = np.setdiff1d(np.arange(len(matrix)), queries + targets)
    shares = []
    for query, target in product(queries, targets):
        own, competitors = matrix[query, target], matrix[query, outside]
        competitors = competitors[~np.isnan(competitors)]
        is_known = not np.isnan(own) and len(competitors)
        shares.append((competitors < own).mean() + 0.5 * (competitors == own).mean() if is_known else 0.5)
    return float(np.mean(shares))


def positions(words: Set[str], index: dict[str, int]) -> list[int]:
    unknown = sorted(word for word in words if word not in index)
    if unknown or not words:
        raise InputError(f"The pair of {sorted(words)} has no or unknown words; give words of the vocabulary.")
    return [index[word] for word in sorted(words)]


def picture_similarity(features: np.ndarray) -> np.ndarray:
    """Return minus the L2 distance of every two rows; NaN if unknown."""
    rows = np.asarray(features, dtype=float)
    if rows.ndim != 2:
        raise InputError(f"The features have the shape {rows.shape}; give a words-by-features array.")
    return -np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2))
