"""The words of the vocabulary in a query: found as in the corpus, and by their plain spelling."""

from __future__ import annotations

import re

import numpy as np

from superwords.corpus.corpus import Corpus

_LONGEST = 5  # words of an entry of the vocabulary


def find_words(corpus: Corpus, query: str) -> np.ndarray:
    """(V) How often a query has each word of the vocabulary.

    Texts are read with the corpus's own recipe, and what that leaves out (a query is seldom a sentence) is looked up
    as it is written, the longest entries first.

    Examples
    --------
    >>> from superwords import Corpus
    >>> corpus = Corpus.from_counts([[1, 1, 2]], ["attack", "heart", "heart attack"])
    >>> find_words(corpus, "Heart attack, or heart?").tolist()
    [0.0, 1.0, 1.0]
    """
    found = _by_recipe(corpus, query)
    number = {word.lower(): i for i, word in enumerate(corpus.vocabulary)}
    plain = re.findall(r"\w[\w'’-]*", query.lower())
    at = 0
    by_spelling = np.zeros(corpus.n_words)
    while at < len(plain):
        for length in range(min(_LONGEST, len(plain) - at), 0, -1):
            word = number.get(" ".join(plain[at : at + length]))
            if word is not None:
                by_spelling[word] += 1
                at += length - 1
                break
        at += 1
    return np.maximum(found, by_spelling)


def _by_recipe(corpus: Corpus, query: str) -> np.ndarray:
    recipe = corpus.notes.get("recipe")
    if recipe is None or recipe["words"] == "tokens" or recipe["language"] is None:
        return np.zeros(corpus.n_words)
    read = Corpus.from_texts(
        [query],
        language=recipe["language"],
        vocabulary=corpus.vocabulary,
        recipe=recipe,
        keep_texts=False,
        n_jobs=1,
    )
    return read.counts.toarray().ravel().astype(float)
