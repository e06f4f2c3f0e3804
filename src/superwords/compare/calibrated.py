"""A judge of word sets that was fitted to people's ratings: six measures and their weights.

`python -m experiments judge` fits the weights to 300 topics that people rated (Hoyle et al., 2021) and measures how
well weights from one corpus rank the topics of the other. The judge needs word vectors, which the package does not
bring, and which must not be features of a model that it judges. The six measures were picked
among many sets tried on the same two corpora, so the correlations below are optimistic.
No judge transfers safely to new kinds of model.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.ranking import coherence, presence
from superwords.compare.judging import Runs, top_sets
from superwords.errors import InputError

MEASURES = ("NPMI", "C_v", "cosine", "nearest", "weakest", "rarity")
# Weights of the standardised measures (ridge); `python -m experiments judge` prints them.
WEIGHTS = (-0.0716, 0.3479, 0.0741, 0.0819, -0.0184, -0.1654)
# Spearman's correlation with the mean rating, each with weights from the other corpus (NPMI alone: .43 and .38).
WITH_PEOPLE = {"Wikipedia": 0.63, "The New York Times": 0.68}
FIRST, MORE = 10, 20  # words of a topic; the mean cosine is over twenty
_COMPONENTS = 3  # removed from the vectors: they say how frequent a word is


class WordVectors(NamedTuple):
    """Unit vectors of words, from the most frequent word to the rarest."""

    place: Mapping[str, int]
    vectors: np.ndarray

    def of(self, label: str) -> tuple[np.ndarray, float]:
        """Return the vector of a word (of a phrase: the mean of its words) and log(1 + rank)."""
        found = [self.place[part] for part in label.casefold().replace("_", " ").split() if part in self.place]
        if not found:
            return np.zeros(self.vectors.shape[1]), float(np.log1p(len(self.place)))
        mean = self.vectors[found].mean(axis=0)
        return mean / max(float(np.linalg.norm(mean)), 1e-12), float(np.log1p(max(found)))


def read_judge_vectors(path: Path) -> WordVectors:
    """Read word vectors: .npz with `words` and `vectors`, or GloVe's text format (also .gz), frequent words first.

    The mean and the first principal components are removed, and vectors scaled to length 1.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as stored:
                words, vectors = [str(word) for word in stored["words"]], np.asarray(stored["vectors"], float)
        else:
            with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
                rows = [line.rstrip().split(" ") for line in lines]
            words, vectors = [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)
        centred = vectors - vectors.mean(axis=0)
        axes = np.linalg.svd(centred, full_matrices=False)[2][:_COMPONENTS]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{path}: these are not word vectors ({error}); give .npz with words and vectors, or GloVe's text."
        ) from None
    rest = centred - centred @ axes.T @ axes
    rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12)
    place = {word.casefold(): i for i, word in reversed(list(enumerate(words)))}  # the first of equal words
    return WordVectors(place, rest)


def vector_measures(words: Sequence[str], known: WordVectors) -> dict[str, float]:
    """Return the measures of a topic that come from the vectors; unknown words have a cosine of 0."""
    found, ranks = zip(*map(known.of, words[:MORE]))
    vectors = np.array(found)
    cosine = vectors @ vectors.T
    first = cosine[:FIRST, :FIRST].copy()
    np.fill_diagonal(first, -1.0)
    nearest = first.max(axis=1)
    mean = float(cosine[np.triu_indices(len(cosine), 1)].mean())
    measures = {"cosine": mean, "nearest": float(nearest.mean()), "weakest": float(nearest.min())}
    return measures | {"rarity": float(np.mean(ranks[:FIRST]))}


def c_v(units: sparse.csc_array, words: Sequence[int] | np.ndarray) -> float:
    """Return C_v (Röder et al., 2015) on presence in units of text.

    Each word is described by its NPMI with every word of the set; the value is the mean cosine of these vectors
    with their sum.
    """
    present = units[:, list(words)].astype(float)
    together = (present.T @ present).toarray() / units.shape[0]
    alone = np.diag(together)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / np.outer(alone, alone)) / -np.log(together)
    npmi = np.where(together > 0, np.nan_to_num(npmi, nan=0.0, posinf=1.0), 0.0)
    np.fill_diagonal(npmi, (alone > 0).astype(float))
    total = npmi.sum(axis=0)
    length = np.linalg.norm(npmi, axis=1) * np.linalg.norm(total)
    return float(np.mean(npmi @ total / np.maximum(length, 1e-12)))


def standardised(measures: np.ndarray) -> np.ndarray:
    """Scale every measure by its mean and standard deviation over the topics that are compared."""
    spread = measures.std(axis=0)
    return (measures - measures.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def judged(measures: np.ndarray) -> np.ndarray:
    """Return the judge's value of each of (T, 6) topics, in units of its standard deviation over all of them."""
    return standardised((standardised(measures) @ np.array(WEIGHTS))[:, None]).ravel()


def judge_values(runs: Runs, vocabulary: Sequence[str], counts: sparse.csr_array, known: WordVectors) -> list[float]:
    """Return the mean value of each run's concepts by the judge, on counts of held-out windows."""
    units, measures, of_run = presence(counts), [], []
    for number, found in enumerate(runs.values()):
        for words in top_sets(found.weights, MORE):
            if len(words) > 1:
                first = words[:FIRST]
                own = {"NPMI": coherence(units, first), "C_v": c_v(units, first)}
                own |= vector_measures([vocabulary[i] for i in words], known)
                measures.append([own[name] for name in MEASURES])
                of_run.append(number)
    values = judged(np.array(measures)) if measures else np.zeros(0)
    return pd.Series(values).groupby(of_run).mean().reindex(range(len(runs))).tolist()
