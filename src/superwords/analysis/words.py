"""Similar words, the concepts of a word, and frequent words without a concept.

Two things indicate that a word belongs with given ones: its uses are for their concepts, and rows use it together with
them. Each is counted, compared with chance, and expressed in standard deviations. So a frequent word with a hundred
uses for their concepts ranks above a rare one with two, even if their shares are equal.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.tables import leftovers, objects, use_shares, vocabulary_table, word_figures
from superwords.errors import InputError
from superwords.posterior.alignment import TYPICAL, chain_shares
from superwords.posterior.result import Result
from superwords.posterior.traces import LEAST_DRAWS, statistic
from superwords.posterior.word_sets import together


def similar_words(result: Result, words: str | Sequence[str], n: int = 20) -> pd.DataFrame:
    """Return words that share concepts with one word, or belong with several.

    Parameters
    ----------
    words : str or list of str
        A word of the vocabulary, or several.
    n : int, at most

    Returns
    -------
    DataFrame
        `word`, `together` (the probability that a use of it and of the given word, in the mean over several, are for
        the same concept) and `mcse`, its Monte-Carlo standard error. For several words also `evidence`, which sorts the
        table: standard deviations beyond chance of uses for their concepts and in their company (docs/guide.md).

    Examples
    --------
    >>> "coffee" in model.similar_words("milk")["word"].tolist()
    True
    >>> model.similar_words(["milk", "sugar"], n=1)["word"].tolist()
    ['coffee']
    """
    several, asked = not isinstance(words, str), [words] if isinstance(words, str) else words
    if not isinstance(asked, Iterable):
        raise InputError(f"{words!r} is not a word; give a word of the vocabulary, or a list of them.")
    given = list(dict.fromkeys(word_index(result, word) for word in asked))
    if not given:
        raise InputError("There is no word to look for; give at least one.")
    near = np.mean([together(result.word_sets, i) for i in given], axis=0)
    chain = result.word_sets.chain
    mean = chain_shares(chain) @ near
    order = belonging(result, given) if several else mean
    others = [int(at) for at in np.argsort(-order, kind="stable") if at not in given and order[at] > 0][:n]
    n_draws, error = int(np.bincount(chain).min()), np.full(len(others), np.nan)
    if n_draws >= LEAST_DRAWS:
        by_chain = np.array([near[chain == c][:n_draws, others] for c in np.unique(chain)])
        error = np.array([0.0 if np.ptp(one) == 0 else statistic("mcse", one) for one in np.moveaxis(by_chain, 2, 0)])
    found = objects(result.corpus.vocabulary[at] for at in others)
    table = pd.DataFrame({"word": found, "together": mean[others], "mcse": error})
    return table.assign(evidence=order[others]) if several else table


def concepts_of_word(result: Result, word: str) -> pd.DataFrame:
    """Return the concepts that use a word, by share of its uses (over all draws), leftovers last."""
    i, words = word_index(result, word), result.summary.words
    rows = np.flatnonzero((words.word == i) & (words.probability >= TYPICAL))
    j, share = words.concept[rows], use_shares(result)[rows]
    table = pd.DataFrame({"concept": j + 1, "share_of_uses": share})
    table = table.join(word_figures(result, rows)[["share_used", "share_on", "probability"]])
    return table.iloc[np.lexsort((j, -share, leftovers(result)[j]))].reset_index(drop=True)


def named_words(result: Result, text: str) -> list[str]:
    """Return the words named in a text with commas, or the text if it is a word."""
    if text in result.corpus.vocabulary:
        return [text]
    return [one for one in map(str.strip, text.split(",")) if one] or [text]


def word_index(result: Result, word: str) -> int:
    """Return the column of a word, or one sentence that names words spelled like it."""
    vocabulary = result.corpus.vocabulary
    if word in vocabulary:
        return vocabulary.index(word)
    folded = {known.casefold(): known for known in vocabulary}
    near = " or ".join(repr(folded[one]) for one in difflib.get_close_matches(str(word).casefold(), folded))
    hint = f"did you mean {near}?" if near else "no word is spelled like it."
    raise InputError(f"The word {word!r} is not in the vocabulary; {hint}")


def used_share(result: Result) -> float:
    """Return the share of tokens whose word belongs to a listed concept."""
    words = vocabulary_table(result)
    return float(words.loc[words["n_concepts"] > 0, "tokens"].sum() / max(1, words["tokens"].sum()))


def unused_words(result: Result, n: int | None = 20) -> pd.DataFrame:
    """Return the words that belong to no listed concept, at most `n` (None: all), the most frequent first."""
    words = vocabulary_table(result)
    words = words[words["n_concepts"] == 0].sort_values("tokens", ascending=False, kind="stable", ignore_index=True)
    return words.rename(columns={"rows": "documents"})[["word", "documents", "tokens"]][:n]


def belonging(result: Result, given: Sequence[int]) -> np.ndarray:
    """Return (V) the evidence, in standard deviations, that each word belongs with the given ones.

    Observed are a word's uses for each concept, weighted by the concept's share of the given word's uses; expected are
    those if all words were used for the concepts alike. Added is the excess of rows that use both.
    """
    at, sets = list(given), result.word_sets
    total = np.zeros((len(at), sets.n_words))
    for weight, used in zip(chain_shares(sets.chain), sets.used):
        uses, of_concept = (np.asarray(used.sum(axis=axis)).ravel() for axis in (0, 1))
        share = used[:, at].toarray() / np.maximum(uses[at], 1.0)
        common = share.T @ of_concept / max(float(uses.sum()), 1.0)
        total += weight * excess(np.asarray(used.T @ share).T, np.outer(common, uses))
    return (by_rows(result.corpus.counts, at) + total).mean(axis=0)


def by_rows(counts: sparse.csr_array, given: list[int]) -> np.ndarray:
    """Return (given, V) the excess of rows that use both a given word and another."""
    has = sparse.csr_array(counts > 0, dtype=float)
    n_rows = np.asarray(has.sum(axis=0)).ravel()
    both = np.asarray((has[:, given].T @ has).todense())
    return excess(both, np.outer(n_rows[given], n_rows) / max(has.shape[0], 1))


def excess(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the signed root Poisson deviance of counts from their expectation."""
    ratio = np.where(seen > 0, seen, 1.0) / np.where(seen > 0, expected, 1.0)
    deviance = 2 * (seen * np.log(ratio) - seen + expected)
    return np.sign(seen - expected) * np.sqrt(np.maximum(deviance, 0.0))
