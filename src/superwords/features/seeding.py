"""Features from seed words: one column for every group of words that belong together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.features.block import find_word, read_table, scale
from superwords.text.checks import check_unique_words
from superwords.text.files import few

STRENGTH = 1.0
SHARE = 1.0  # of the other features' variance that seeds of strength 1 get (docs/lab/research.md)


def seeds(groups: Any, vocabulary: Sequence[str], strength: float = STRENGTH) -> np.ndarray:
    """Return seed words as features, (V, G): a word's strength in the column of each of its groups.

    Parameters
    ----------
    groups : mapping, DataFrame or path
        `{group: [words]}` or `{group: {word: strength}}`, or a table or file with the columns `word` and `group` and
        optionally `strength`.
    vocabulary : sequence of str
        The words of the corpus.
    strength : float
        How much a seed counts; a word's own strength is multiplied by it.

    Returns
    -------
    numpy.ndarray
        Groups in the order given; NaN for words of no group.

    Examples
    --------
    >>> from superwords import features
    >>> features.seeds({"sweet": ["sugar", "honey"], "sour": ["lemon"]}, ["honey", "lemon", "salt", "sugar"])
    array([[ 1.,  0.],
           [ 0.,  1.],
           [nan, nan],
           [ 1.,  0.]])
    """
    words = check_unique_words(vocabulary)
    found, missing = find_seeds(groups, words)
    if missing:
        warnings.warn(f"Seed words that are not in the vocabulary are left out: {few(missing)}.", stacklevel=2)
    if not isinstance(strength, int | float) or not 0 < strength < np.inf:
        raise InputError(f"The strength of the seeds is {strength!r}; give a positive number.")
    values = np.zeros((len(words), len(found)))
    for g, members in enumerate(found.values()):
        values[list(members), g] = strength * np.array(list(members.values()))
    values[~values.any(axis=1)] = np.nan
    return values


def spread_seeds(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return seeds (V, G) beside other, centred features; other words get values by similarity to the seeds.

    A word of no group, left at the block's mean, would be pushed out of the concept that takes the group's words. It
    gets the mean of max(0, cosine) with the group's seeds, by the other features and weighted by the seeds' strengths.
    """
    known = ~np.isnan(values).any(axis=1)
    own, company = np.nan_to_num(values), np.nan_to_num(others)
    unit = company / np.maximum(np.linalg.norm(company, axis=1, keepdims=True), 1e-12)
    like = np.maximum(unit @ unit[known].T, 0.0)
    spread = like @ own[known] / np.maximum(own.sum(axis=0), 1e-12)
    strength = float(own[own > 0].mean())
    filled = np.where(own > 0, own / strength, spread)
    variance = SHARE * strength**2 * float((company**2).mean(axis=0).sum())
    out = np.hstack([scale(filled, np.ones(len(filled), bool), variance), company])
    out[~known & np.isnan(others).any(axis=1)] = np.nan
    return out


def find_seeds(groups: Any, vocabulary: Sequence[str]) -> tuple[dict[str, dict[int, float]], list[str]]:
    """Return each group's seed words by index in the vocabulary, with their strengths, and the words not in it."""
    index = {word: i for i, word in enumerate(vocabulary)}
    found: dict[str, dict[int, float]] = {}
    missing: list[str] = []
    for name, words in (groups if isinstance(groups, Mapping) else read_seeds(groups)).items():
        group = str(name)
        if isinstance(words, str) or not isinstance(words, Iterable):
            problem = "one string" if isinstance(words, str) else f"given as {words!r}"
            raise InputError(f"The seed words of {group!r} are {problem}; give a list of words.")
        given = words if isinstance(words, Mapping) else dict.fromkeys(words, STRENGTH)
        members = {str(word): _positive(value, word) for word, value in given.items()}
        if not members:
            raise InputError(f"The group {group!r} has no seed words; give at least one.")
        known = {word: at for word in members if (at := find_word(index, word)) is not None}
        if not known:
            raise InputError(f"None of the seed words of {group!r} is in the vocabulary: {few(list(members))}.")
        missing += [word for word in members if word not in known]
        found[group] = {at: members[word] for word, at in known.items()}
    if not found:
        raise InputError("There are no seed words; give at least one group with its words.")
    return found, missing


def read_seeds(source: Any) -> dict[str, dict[str, float]]:
    """Return groups of seed words from a table; a word has several groups by commas, or by several rows."""
    name = str(source) if isinstance(source, str | Path) else "The table of seeds"
    table = read_table(source, name, "word", "group")
    strengths = table["strength"].fillna(STRENGTH) if "strength" in table.columns else [STRENGTH] * len(table)
    groups: dict[str, dict[str, Any]] = {}
    for row, (word, cell, strength) in enumerate(zip(table["word"], table["group"], strengths, strict=True), start=1):
        if pd.isna(word) or pd.isna(cell):
            raise InputError(f"{name}: row {row} lacks a word or a group; give both in every row.")
        for group in filter(None, map(str.strip, str(cell).split(","))):
            groups.setdefault(group, {})[str(word).strip()] = _positive(strength, word)
    return groups


def _positive(strength: Any, word: Any) -> float:
    number = float(pd.to_numeric(strength, errors="coerce"))
    if not 0 < number < np.inf:
        shown = strength if np.isnan(number) else number
        raise InputError(f"The strength of {str(word)!r} is {shown!r}; give a positive number.")
    return number
