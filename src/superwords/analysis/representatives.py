"""Documents that show what a concept is, and words that keep its company."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from superwords.analysis.prevalence import draw_weights, drawn_weights
from superwords.analysis.ranking import TYPICAL, scores
from superwords.analysis.tables import concept_index, concept_table, use_shares, used_words, with_metadata
from superwords.analysis.word_association import belonging
from superwords.errors import InputError
from superwords.posterior.consensus import chain_shares
from superwords.posterior.traces import statistic
from superwords.posterior.word_sets import together

if TYPE_CHECKING:
    from superwords.posterior.result import Result

_PASSAGE = 280
_MARKER_WORDS = 30
_LEAST_DRAWS = 4


def representative_documents(result: Result, concept: int, n: int = 5) -> pd.DataFrame:
    """Return documents that use a concept strongly and by many tokens, with an excerpt of kept texts.

    Parameters
    ----------
    concept : int
        Its number: 1, 2, …
    n : int
        The largest number of documents.

    Returns
    -------
    DataFrame
        Highest w · log(1 + w N_d) first, where w is the document's mean weight and N_d its number of tokens.

    Examples
    --------
    >>> len(model.representative_documents(1, n=2)) <= 2
    True
    """
    j = concept_index(result, concept)
    corpus = result.corpus
    share = draw_weights(result)[:, j]
    weight = sum(w * one[:, [j]].toarray().ravel() for w, one in zip(share, drawn_weights(result)))
    tokens = np.asarray(corpus.counts.sum(axis=1)).ravel()
    evidence = weight * np.log1p(weight * tokens)
    best = [int(d) for d in np.argsort(-evidence, kind="stable")[:n] if weight[d] > 0]
    table = pd.DataFrame({"document": pd.Series([corpus.ids[d] for d in best], dtype=object)})
    table = with_metadata(table, corpus.metadata, best).assign(
        weight=weight[best], tokens=tokens[best].astype(int)
    )
    if corpus.texts is not None:
        marks = _marker_words(result, j)
        table["passage"] = pd.Series([telling_passage(corpus.texts[d], marks) for d in best], dtype=object)
    return table


def _marker_words(result: Result, j: int) -> dict[str, float]:
    words, vocabulary = result.summary.words, result.corpus.vocabulary
    score = scores(words, len(vocabulary))
    rows = used_words(result)[j][:_MARKER_WORDS]
    return {vocabulary[words.word[r]]: float(score[r]) for r in rows if score[r] > 0}


def telling_passage(text: str, marks: dict[str, float], length: int = _PASSAGE) -> str:
    """Return the stretch of about `length` characters in which the marked words weigh most, each counted once."""
    plain = " ".join(text.split())
    if len(plain) <= length:
        return plain
    hits = sorted(
        (found.start(), found.end(), word)
        for word in marks
        for found in re.finditer(rf"(?<!\w){re.escape(word)}", plain, re.IGNORECASE)
    )
    best = _densest(hits, marks, length - length // 8)
    begin = max(0, min(best - length // 8, len(plain) - length))
    end = min(len(plain), begin + length)
    begin = 0 if begin == 0 else plain.find(" ", begin) + 1
    if end < len(plain):
        end = max(plain.rfind(" ", begin, end), begin + 1)
    return ("… " if begin > 0 else "") + plain[begin:end] + (" …" if end < len(plain) else "")


def _densest(hits: list[tuple[int, int, str]], marks: dict[str, float], length: int) -> int:
    """Return where the stretch of this length begins whose words weigh most, each counted once.

    `hits` are (start, end, word) from the left. Each enters and leaves the stretch once.
    """
    best, most, weight = 0, -1.0, 0.0
    inside: Counter[str] = Counter()
    by_end, entered = sorted(range(len(hits)), key=lambda k: hits[k][1]), [False] * len(hits)
    coming = 0
    for first, (start, _, own) in enumerate(hits):
        while coming < len(hits) and hits[by_end[coming]][1] <= start + length:
            k = by_end[coming]
            coming += 1
            if k >= first:  # else it is behind already
                entered[k] = True
                inside[hits[k][2]] += 1
                weight += marks[hits[k][2]] if inside[hits[k][2]] == 1 else 0.0
        if weight > most + 1e-9:
            best, most = start, weight
        if entered[first]:
            inside[own] -= 1
            weight -= marks[own] if inside[own] == 0 else 0.0
    return best


def similar_words(result: Result, words: str | Sequence[str], n: int = 20) -> pd.DataFrame:
    """Return words that share concepts with one word, or belong with several, the nearest first.

    Parameters
    ----------
    words : str or list of str
        A word of the vocabulary, or several.
    n : int
        The largest number of words.

    Returns
    -------
    DataFrame
        `word`, `together` (the probability that a use of it and a use of the given word are for the same concept;
        of several words, the mean over them) and `mcse`, its Monte-Carlo standard error (NaN with fewer than four
        draws per chain). Of several words also `evidence`, by which the table is sorted: how far the word's uses are
        for their concepts, and in their company, beyond chance, in standard deviations (docs/guide.md).

    Examples
    --------
    >>> "coffee" in model.similar_words("milk")["word"].tolist()
    True
    >>> model.similar_words(["milk", "sugar"], n=1)["word"].tolist()
    ['coffee']
    """
    several = not isinstance(words, str)
    if several and not isinstance(words, Iterable):
        raise InputError(f"{words!r} is not a word; give a word of the vocabulary, or a list of them.")
    given = list(
        dict.fromkeys(word_index(result, word) for word in ([words] if isinstance(words, str) else words))
    )
    if not given:
        raise InputError("There is no word to look for; give at least one.")
    near = np.mean([together(result.word_sets, i) for i in given], axis=0)
    chain = result.word_sets.chain
    mean = chain_shares(chain) @ near
    order = belonging(result, given) if several else mean
    others = [int(at) for at in np.argsort(-order, kind="stable") if at not in given and order[at] > 0][:n]
    n_draws = int(np.bincount(chain).min())
    by_chain = np.array([near[chain == c][:n_draws] for c in np.unique(chain)])
    table = pd.DataFrame(
        {
            "word": pd.Series([result.corpus.vocabulary[at] for at in others], dtype=object),
            "together": mean[others],
            "mcse": [_monte_carlo_error(by_chain[:, :, at]) for at in others],
        }
    )
    return table.assign(evidence=order[others]) if several else table


def concepts_of_word(result: Result, word: str) -> pd.DataFrame:
    """Return the concepts that a word is a used word of, those that use it most first and leftovers last.

    `share_of_uses` is a concept's share of the rows that use the word for any concept, over all draws; the other
    columns are those of `words_of`.
    """
    i = word_index(result, word)
    words, leftover = result.summary.words, concept_table(result, 0)["leftover"].to_numpy(dtype=bool)
    rows = np.flatnonzero((words.word == i) & (words.probability >= TYPICAL))
    j = words.concept[rows]
    share = use_shares(result)[rows]
    table = pd.DataFrame(
        {
            "concept": j + 1,
            "share_of_uses": share,
            "share_used": words.used[rows].astype(float),
            "share_on": words.on[rows].astype(float),
            "probability": words.probability[rows].astype(float),
        }
    )
    return table.iloc[np.lexsort((j, -share, leftover[j]))].reset_index(drop=True)


def _monte_carlo_error(values: np.ndarray) -> float:
    if values.shape[1] < _LEAST_DRAWS:
        return float("nan")
    if np.all(values == values.flat[0]):
        return 0.0
    return statistic("mcse", values)


def named_words(result: Result, text: str) -> list[str]:
    """Return the words that a text with commas names: itself, if it is a word of the vocabulary."""
    if text in result.corpus.vocabulary:
        return [text]
    return [one for one in map(str.strip, text.split(",")) if one] or [text]


def word_index(result: Result, word: str) -> int:
    """Return the column of a word, or one sentence that names words spelled like it."""
    vocabulary = result.corpus.vocabulary
    try:
        return vocabulary.index(word)
    except ValueError:
        pass
    folded = {known.casefold(): known for known in vocabulary}
    near = difflib.get_close_matches(str(word).casefold(), folded, n=3, cutoff=0.6)
    hint = (
        f"did you mean {' or '.join(repr(folded[one]) for one in near)}?"
        if near
        else "no word is spelled like it."
    )
    raise InputError(f"The word {word!r} is not in the vocabulary; {hint}")
