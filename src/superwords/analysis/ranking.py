"""Characteristic words of concepts, and names made of them.

A word's score in concept j is ū_ji · U_ji / Σ_j' U_j'i: the share ū_ji of the concept's documents that use it for this
concept, times the share of all documents' uses of the word that are for this concept, in the mean over the draws with a
partner. A draw uses a word for a concept if at least 2% of the concept's documents do; a concept's *used words*, which
alone are shown, are those that at least half of these draws use for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import sparse

from superwords.posterior.result import Result
from superwords.posterior.summary import WordUse

NAME_WORDS = 3
TYPICAL = 0.5  # minimum share of the draws for something to be in a typical draw
_LEAST_TAKEN = 0.25
_MIN_SHARE_OF_BEST = 0.25  # minimum score of a name's further words, as a share of its first word's


def scores(words: WordUse, n_vocabulary: int) -> np.ndarray:
    """Return one score per row of `words`."""
    return words.used * own_shares(words, n_vocabulary)


def own_shares(words: WordUse, n_vocabulary: int) -> np.ndarray:
    """Return, for each row of `words`, the concept's share of the word's uses."""
    everywhere = words.everywhere
    if not len(everywhere):
        everywhere = np.bincount(words.word, words.documents, n_vocabulary)[words.word]
    return words.documents / np.where(everywhere > 0, everywhere, 1.0)


def ranked_words(words: WordUse, n_concepts: int, n_vocabulary: int) -> list[np.ndarray]:
    """Return each concept's used words as rows of `words`, most characteristic first."""
    order = np.lexsort((words.word, -words.on, -scores(words, n_vocabulary), words.concept))
    order = order[words.probability[order] >= TYPICAL]
    starts = np.searchsorted(words.concept[order], np.arange(1, n_concepts))
    return np.split(order, starts) if n_concepts else []


def automatic_names(result: Result) -> list[str]:
    """Return a name for every concept: its seed group, or its one to three top words."""
    words, vocabulary, notes = result.summary.words, result.corpus.vocabulary, result.corpus.notes
    found = names(words, result.n_concepts, vocabulary, frozenset(notes.get("other_words", ())))
    taken = takers(words, result.n_concepts, vocabulary, notes.get("seeds") or {})
    for j in set(taken.values()):
        found[j] = " + ".join(group for group, of in taken.items() if of == j)
    if result.sampled is None:
        return found
    # Decisions about other concepts do not rename this one.
    before, then = automatic_names(result.sampled), result.sampled.summary.words
    for j in range(len(found)):
        if np.array_equal(words.documents[words.concept == j], then.documents[then.concept == j]):
            found[j] = before[j]
    return found


def takers(
    words: WordUse, n_concepts: int, vocabulary: list[str], groups: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """Return the concept with the largest share, a quarter or more, of the uses of each seed group's words."""
    place = {word: i for i, word in enumerate(vocabulary)}
    everywhere = np.bincount(words.word, words.documents, len(vocabulary))
    out: dict[str, int] = {}
    for group, members in groups.items():
        own = [place[word] for word in members if word in place and everywhere[place[word]] > 0]
        at = np.isin(words.word, own)
        share = words.documents[at] / everywhere[words.word[at]] / max(len(own), 1)
        taken = np.bincount(words.concept[at], share, n_concepts)
        if taken[:n_concepts].max(initial=0.0) >= _LEAST_TAKEN:
            out[group] = int(np.argmax(taken))
    return out


def names(words: WordUse, n_concepts: int, vocabulary: list[str], behind: Collection[str] = ()) -> list[str]:
    """Return a unique name for every concept: its one to three top words."""
    score, taken, out = scores(words, len(vocabulary)), Counter[str](), list[str]()
    for rows in ranked_words(words, n_concepts, len(vocabulary)):
        ranked = [(vocabulary[words.word[r]], float(score[r])) for r in rows]
        nouns = [item for item in ranked if item[0] not in behind]
        # Noun phrases make the name if the best is nearly as characteristic as any word.
        if nouns and nouns[0][1] >= _MIN_SHARE_OF_BEST * ranked[0][1]:
            ranked = nouns
        chosen = dict[str, set[str]]()
        for word, own in ranked:
            if len(chosen) == NAME_WORDS or own < _MIN_SHARE_OF_BEST * ranked[0][1]:
                break
            parts = filter(None, re.split(r"\W+", word.casefold()))
            stems = {part[:-1] if len(part) > 3 and part.endswith("s") else part for part in parts}
            # A phrase may repeat words of another, as "care" in "health care".
            if not any(stems and other and (stems <= other or other <= stems) for other in chosen.values()):
                chosen[word] = stems
        name = ", ".join(chosen) or "(no words)"
        taken[name] += 1
        out.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return out


def presence(rows: sparse.csr_array) -> sparse.csc_array:
    """Return (units, words) 1 where a word occurs in a row, sentence or window."""
    return sparse.csc_array(sparse.csr_array(rows) > 0, dtype=np.int32)


def coherence(units: sparse.csc_array, words: Sequence[int] | np.ndarray, never: float = 0.0) -> float:
    """Return the mean NPMI, log(p_il / (p_i p_l)) / -log p_il, over all pairs of the words; NaN for fewer than two.

    A pair without a common unit counts as `never`: −1 is NPMI's limit, which favours any set of frequent words.
    """
    if len(words) < 2:
        return float("nan")
    chosen = units[:, np.sort(np.asarray(words, dtype=int))]
    together = np.asarray((chosen.T @ chosen).toarray(), dtype=float) / units.shape[0]
    first, second = np.triu_indices(len(words), 1)
    both, alone = together[first, second], np.diag(together)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(both / (alone[first] * alone[second])) / -np.log(both)
    return float(np.where(both == 1, 1.0, np.where(both > 0, values, never)).mean())
