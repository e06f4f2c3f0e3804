"""Tables of concepts, their characteristic words and names, and the documents that use them.

A word's score in concept j is ū_ji · U_ji / Σ_j' U_j'i: the share ū_ji of the concept's documents that use it for this
concept, times the share of all documents' uses of the word that are for this concept, in the mean over the draws with a
partner. A draw uses a word for a concept if at least 2% of the concept's documents do; a concept's *used words*, which
alone are shown, are those that at least half of these draws use for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis import prevalence
from superwords.errors import InputError, is_whole, whole_number
from superwords.posterior import resampling
from superwords.posterior.alignment import LEAST_OVERLAP, TYPICAL, adding, handful, normalised, overlaps
from superwords.posterior.intervals import interval, weighted_mean
from superwords.posterior.result import Result
from superwords.posterior.summary import WordUse
from superwords.text.corpus import Corpus

TOP_WORDS = 10
NAME_WORDS = 3
_LEAST_TAKEN = 0.25
_MIN_SHARE_OF_BEST = 0.25  # minimum score of a name's further words, as a share of its first word's
# Descriptions of the columns of `concept_table` in all tables; {rows} is "documents" or "passages".
CONCEPT_COLUMNS = {
    "rows": "how many use the concept and, in brackets, its prevalence: the share of all {rows}",
    "documents": "how many documents these {rows} come from",
    "coherence": "how often its ten first words occur together (1: always; 0: as often as by chance)",
    "strength": "its mean share of the tokens in the {rows} that use it",
    "stability": "the share of the draws that find it, the mean over chains",
    "found_again": "in how many fits to random samples of the documents it was found again",
    "found_by": "how many chains find it in at least half of their draws",
    "leftover": "not to be relied on: a handful of {rows}, a single word, or seldom found again in fits to samples",
}


def concept_index(result: Result, concept: Any) -> int:
    """Return a concept's column (0, 1, …) from its id (1, 2, …)."""
    n_concepts = result.n_concepts
    if not is_whole(concept) or not 1 <= concept <= n_concepts:
        choice = f"choose one from 1 to {n_concepts}" if n_concepts else "the model has none"
        raise InputError(f"There is no concept {concept!r}; {choice}.")
    if int(concept) in result.excluded:
        raise InputError(f"Concept {concept} {result.excluded[int(concept)]}; restore it to see it on its own.")
    return int(concept) - 1


def of_shown(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table whose concept is neither merged nor hidden."""
    return table[table["concept"].isin(result.shown)].reset_index(drop=True)


def listed(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of shown concepts, with the mark of leftovers."""
    return marked(result, of_shown(result, table))


def concept_list(result: Result, n_words: int = TOP_WORDS) -> pd.DataFrame:
    """Return the concepts neither merged nor hidden, the most prevalent first (docs/model.md has the columns).

    Parameters
    ----------
    n_words : int, of each concept

    Examples
    --------
    >>> len(model.concepts()) == model.n_concepts_
    True
    """
    table = of_shown(result, concept_table(result, n_words))
    if result.descriptions:
        table.insert(2, "description", [result.descriptions.get(j, "") for j in table["concept"]])
    return table


def concept_names(result: Result) -> list[str]:
    """Return the names of all concepts: given ones, else `automatic_names`."""
    return [result.names.get(j, name) for j, name in enumerate(automatic_names(result), 1)]


def named(result: Result, concepts: Iterable[int]) -> pd.DataFrame:
    """Return the columns `concept` and `name`."""
    numbers, names = np.array(list(concepts), int), concept_names(result)
    return pd.DataFrame({"concept": numbers, "name": objects(names[j - 1] for j in numbers)})


def with_bounds(name: str, mean: np.ndarray, bounds: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns of a quantity and of its interval."""
    return {name: mean, f"{name}_low": bounds[0], f"{name}_high": bounds[1]}


def concept_table(result: Result, n_words: int = TOP_WORDS) -> pd.DataFrame:
    """Return one row per concept, by number (docs/model.md has the columns)."""
    corpus, aligned, words, used = result.corpus, result.summary.alignment, result.summary.words, used_words(result)
    weights, n_rows, units = aligned.weights, corpus.n_documents, presence(corpus.counts)
    rows, strength = aligned.rows.astype(float), aligned.strength.astype(float)
    documents = rows
    if corpus.parent is not None:  # documents that use the concept in any passage
        using = [np.diff(sparse.csc_array(of_sources(corpus) @ one).indptr) for one in result.drawn_weights()]
        documents = np.array(using, float).reshape(weights.shape)
    mean_rows, (fewest, most) = weighted_mean(rows, weights), interval(rows, weights)
    described = normalised(by_word(result, words.score))
    alike = overlaps(described, described)
    np.fill_diagonal(alike, 0.0)
    # The most similar concept of each, if it would be a partner across draws.
    nearest = alike.argmax(axis=1) if alike.size else np.zeros(0, int)
    whole = prevalence.population_interval(prevalence.groups_of(result))
    return named(result, range(1, result.n_concepts + 1)).assign(
        **with_bounds("rows", mean_rows, (np.where(aligned.is_missed, 0.0, fewest), most)),
        documents=weighted_mean(documents, weights),
        **with_bounds("prevalence", mean_rows / n_rows, whole),
        **with_bounds("strength", weighted_mean(strength, weights), interval(strength, weights)),
        held=weighted_mean(aligned.held / n_rows, weights),
        n_words=weighted_mean(aligned.n_words.astype(float), weights),
        top_words=objects([corpus.vocabulary[i] for i in words.word[one[:n_words]]] for one in used),
        shares=objects(words.used[one[:n_words]].astype(float).tolist() for one in used),
        coherence=[coherence(units, words.word[one[:TOP_WORDS]]) for one in used],
        much_like=objects(int(k) + 1 if alike[j, k] >= LEAST_OVERLAP else None for j, k in enumerate(nearest)),
        found_again=found_again(result),
        found_by=(aligned.by_chain >= TYPICAL).sum(axis=0).astype(int),
        stability=aligned.by_chain.mean(axis=0),
        stability_by_chain=objects(aligned.by_chain.T.tolist()),
        overlap=weighted_mean(aligned.overlap.astype(float), weights),
        settled=prevalence.settled(result),
        leftover=leftovers(result),
    )


def found_again(result: Result) -> np.ndarray:
    """Return (J) the number of pilot fits with a partner; NaN without pilots."""
    if result.pilots is None or not result.n_pilots:
        return np.full(result.n_concepts, np.nan)
    return resampling.found_again(by_word(result, result.summary.words.score), result.pilots).astype(float)


def by_word(result: Result, values: np.ndarray) -> sparse.csr_array:
    """Return (J, V) the values of the rows of `summary.words`."""
    words, shape = result.summary.words, (result.n_concepts, result.corpus.n_words)
    return sparse.csr_array((values.astype(float), (words.concept, words.word)), shape)


def entries(matrix: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the values of a sparse matrix at some places."""
    return np.asarray(matrix[rows, columns]).ravel() if len(rows) else np.zeros(0)


@prevalence.once
def leftovers(result: Result) -> np.ndarray:
    """Return (J) whether a concept has one word, few rows, or was found in less than half of the pilot fits."""
    aligned, few_words = result.summary.alignment, np.array([len(one) < 2 for one in used_words(result)], bool)
    few_rows = ~(weighted_mean(aligned.rows.astype(float), aligned.weights) > handful(result.corpus.n_documents))
    return few_rows | few_words | (found_again(result) < TYPICAL * result.n_pilots)


def marked(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a `concept` column, with the mark of leftovers."""
    return table.assign(leftover=leftovers(result)[table["concept"].to_numpy(dtype=int) - 1])


def used_words(result: Result) -> list[np.ndarray]:
    """Return each concept's used words in `summary.words`, most characteristic first."""
    return ranked_words(result.summary.words, result.n_concepts)


def objects(values: Iterable[Any]) -> pd.Series:
    """Return a column of any kind, also where it is empty."""
    return pd.Series(list(values), dtype=object)


def ranked_words(words: WordUse, n_concepts: int) -> list[np.ndarray]:
    """Return each concept's used words as rows of `words`, most characteristic first."""
    order = np.lexsort((words.word, -words.on, -words.score, words.concept))
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
    then = result.sampled.summary.words
    own = [[one.documents[one.concept == j] for j in range(len(found))] for one in (words, then)]
    before = zip(automatic_names(result.sampled), found, *own)
    return [old if np.array_equal(now, was) else new for old, new, now, was in before]


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
    score, taken, out = words.score, Counter[str](), list[str]()
    for rows in ranked_words(words, n_concepts):
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


def other_table(result: Result, n_words: int = TOP_WORDS) -> pd.DataFrame:
    """Return concepts found by too few chains to be listed, by number of chains.

    Parameters
    ----------
    n_words : int, of each concept

    Returns
    -------
    DataFrame
        A row per concept; `rows` is the mean over the chains that find it.

    Examples
    --------
    >>> "found_by" in model.other_concepts()
    True
    """
    others, vocabulary = result.consensus.others, result.corpus.vocabulary
    words = [others.word[a:b][:n_words] for a, b in pairwise(others.ptr)]
    table = pd.DataFrame({"top_words": objects([vocabulary[i] for i in one] for one in words), "rows": others.rows})
    by_chain = objects(others.found.astype(float).tolist())
    return table.assign(found_by=others.found.sum(axis=1).astype(int), stability_by_chain=by_chain)


def word_table(result: Result, concept: int) -> pd.DataFrame:
    """Return the words of a concept, most characteristic first, with intervals.

    Parameters
    ----------
    concept : int (1, 2, …)

    Examples
    --------
    >>> "word" in model.words_of(1)
    True
    """
    rows, words = used_words(result)[concept_index(result, concept)], result.summary.words
    table = word_figures(result, rows)
    table.insert(0, "score", words.score[rows].astype(float))
    table.insert(0, "word", objects(result.corpus.vocabulary[i] for i in words.word[rows]))
    return table


def word_figures(result: Result, rows: np.ndarray) -> pd.DataFrame:
    """Return the means and bounds of some rows of `summary.words`."""
    words = result.summary.words._asdict()
    columns = ["used", "used_low", "used_high", "on", "on_low", "on_high", "probability"]
    table = pd.DataFrame({name: words[name][rows].astype(float) for name in columns})
    return table.rename(columns={"used": "share_used", "on": "share_on"})


def top_words(result: Result, concept: int, n: int = TOP_WORDS) -> list[str]:
    """Return the most characteristic words of a concept, the best first.

    Parameters
    ----------
    concept : int (1, 2, …)
    n : int, at most

    Examples
    --------
    >>> set(model.top_words(1, n=3)) <= set(model.corpus_.vocabulary)
    True
    """
    most = whole_number("n", n, least=0)
    rows = used_words(result)[concept_index(result, concept)]
    return [result.corpus.vocabulary[i] for i in result.summary.words.word[rows[:most]]]


def vocabulary_table(result: Result) -> pd.DataFrame:
    """Return every word with its frequency and the concepts that use it.

    Returns
    -------
    DataFrame
        A row per word; `shares` are those of the rows that use the word for any concept, over all draws.

    Examples
    --------
    >>> set(model.words()["word"]) <= set(model.corpus_.vocabulary)
    True
    """
    counts = sparse.csc_array(result.corpus.counts)
    words, leftover, share = result.summary.words, leftovers(result), use_shares(result)
    rows = np.concatenate([*used_words(result), np.zeros(0, int)]).astype(int)
    j = words.concept[rows]
    rows = rows[np.lexsort((j, -share[rows], leftover[j], words.word[rows]))]
    at = np.searchsorted(words.word[rows], np.arange(result.corpus.n_words + 1))
    held = [rows[a:b] for a, b in pairwise(at)]
    return pd.DataFrame({"word": objects(result.corpus.vocabulary)}).assign(
        rows=np.diff(counts.indptr).astype(int),
        tokens=np.asarray(counts.sum(axis=0)).ravel().astype(int),
        n_concepts=[len(here) for here in held],
        concepts=objects((words.concept[here] + 1).tolist() for here in held),
        shares=objects(share[here].tolist() for here in held),
    )


def use_shares(result: Result) -> np.ndarray:
    """Return, for each row of `summary.words`, the concept's share of the rows that use the word, over all draws."""
    # Hidden concepts are included, so that a decision about one does not change the shares of another.
    ours, whole = result.summary, (result.sampled or result).summary
    uses, every = (one.words.documents * one.alignment.found[one.words.concept] for one in (ours, whole))
    everywhere = np.bincount(whole.words.word, every, result.corpus.n_words)[ours.words.word]
    return uses / np.where(everywhere > 0, everywhere, 1.0)


def source_of_rows(corpus: Corpus) -> np.ndarray:
    """Return (rows) the number of the document that each row is, or is a passage of."""
    return np.arange(corpus.n_documents) if corpus.parent is None else np.unique(corpus.parent, return_inverse=True)[1]


def of_sources(corpus: Corpus, values: np.ndarray | None = None) -> sparse.csr_array:
    """Return (documents, rows) 1, or the values, where a row is the document or a passage of it."""
    source = source_of_rows(corpus)
    return adding(source, int(source.max(initial=-1)) + 1, values)


def row_shares(corpus: Corpus) -> np.ndarray:
    """Return (rows) each row's share of its document's tokens; shares are equal if the document has none."""
    source, tokens = source_of_rows(corpus), np.asarray(corpus.counts.sum(axis=1)).ravel().astype(float)
    total, rows = np.bincount(source, tokens), np.bincount(source)
    return np.where(total[source] > 0, tokens / np.maximum(total[source], 1.0), 1.0 / rows[source])


def source_shares(corpus: Corpus) -> sparse.csr_array:
    """Return (documents, rows) each row's share of its document's tokens."""
    return of_sources(corpus, row_shares(corpus))


def sources(corpus: Corpus) -> tuple[list[str], pd.DataFrame]:
    """Return ids and metadata of the documents, or of the sources of passages."""
    if corpus.parent is None:
        return corpus.ids, corpus.metadata
    _, first = np.unique(corpus.parent, return_index=True)
    ids = [corpus.ids[d].rsplit("#", 1)[0] for d in first]
    return ids, corpus.metadata.iloc[first].reset_index(drop=True)
