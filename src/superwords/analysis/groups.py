"""Prevalence, strength and words of concepts by group of documents.

Intervals of prevalences include which documents use the concept (over the draws), and that the documents are a sample
(a Beta posterior under Jeffreys' prior for each draw, their number divided by the design effect of passages). Intervals
of strengths are over the draws only; those of words over documents only, at the mean over the draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import betaincinv

from superwords.analysis.prevalence import Groups, groups_of
from superwords.analysis.tables import TOP_WORDS, concept_index, entries, named, objects, used_words, with_bounds
from superwords.errors import InputError
from superwords.posterior.intervals import TAILS, interval, weighted_mean
from superwords.posterior.result import Result
from superwords.text.corpus import named_column

OTHER = "other"


def by_group(result: Result, column: str, n_words: int = TOP_WORDS, most: int | None = None) -> pd.DataFrame:
    """Return prevalence, strength and words of each concept by group of a column.

    Parameters
    ----------
    column : str, of `corpus_.metadata`
    n_words : int, of each group
    most : int, optional
        Keep the largest groups, and pool the others as "other".

    Examples
    --------
    >>> sorted(set(model.by_group("place")["group"]))
    ['harbour', 'kitchen']
    """
    groups, concepts = make_groups(result, column, most), range(result.n_concepts)
    words = words_of_groups(result, groups, concepts if n_words else ())
    top = {cell: own.head(n_words) for cell, own in words.groupby(["concept", "place"])}
    cells = [top.get((j + 1, g), words[:0]) for j, g in product(concepts, range(len(groups.labels)))]
    return figures_by_group(result, groups).assign(
        top_words=objects(own["word"].tolist() for own in cells), shares=objects(own["share"].tolist() for own in cells)
    )


def figures_by_group(result: Result, groups: Groups) -> pd.DataFrame:
    """Return prevalence and strength with intervals, a row per concept and group."""
    held, holders, n_rows = np.where(groups.holders > 0, groups.weight, 0.0), groups.mean_holders, groups.n_rows
    figures = {"rows": holders}
    figures |= with_bounds("prevalence", holders / n_rows[:, None], groups.bounds(*groups.prevalence_draws()))
    figures |= with_bounds("strength", weighted_mean(groups.strength, held), interval(groups.strength, held))
    table = named(result, np.repeat(np.arange(1, result.n_concepts + 1), len(n_rows)))
    table = table.assign(group=groups.labels * result.n_concepts, n_rows=np.tile(n_rows, result.n_concepts))
    return table.assign(**{name: values.T.ravel() for name, values in figures.items()})


def compare_groups(result: Result, column: str, first: Any = None, second: Any = None) -> pd.DataFrame:
    """Return differences in prevalence between two groups, the largest first.

    Parameters
    ----------
    column : str, of `corpus_.metadata`
    first, second : optional
        The groups; may be left out where there are only two.

    Examples
    --------
    >>> len(model.compare_groups("place")) == model.n_concepts_
    True
    """
    groups = make_groups(result, column)
    labels, asked, places = groups.labels, (first, second), [0, 1]
    if asked != (None, None) or len(labels) != 2:
        known = {str(label): g for g, label in reversed([*enumerate(labels)])}
        for group in asked:
            if group is None or str(group) not in known:
                problem = "Two groups are needed" if group is None else f"There is no group {group!r}"
                choice = ", ".join(map(repr, labels))
                raise InputError(f"{problem} to compare; the groups of {column!r} are {choice}.")
        places = [known[str(group)] for group in asked]
    drawn, weights = groups.prevalence_draws()
    difference, weight = drawn[:, places[0]] - drawn[:, places[1]], weights[:, 0]
    low, high = interval(difference, weight)
    mean = [groups.mean_holders[g] / len(groups.rows[g]) for g in places]
    table = named(result, range(1, result.n_concepts + 1)).assign(
        **{f"prevalence_{labels[g]}": share for g, share in zip(places, mean)},
        difference=mean[0] - mean[1],
        low=low,
        high=high,
        probability_greater=weighted_mean((difference > 0).astype(float), weight),
    )
    return table.sort_values("difference", key=abs, ascending=False, kind="stable", ignore_index=True)


def group_words(result: Result, column: str, concept: int) -> pd.DataFrame:
    """Return the words that each group uses for a concept, with intervals.

    Parameters
    ----------
    column : str, of `corpus_.metadata`
    concept : int (1, 2, …)

    Returns
    -------
    DataFrame
        `share` is that of the group's documents using the concept which use the word for it.

    Examples
    --------
    >>> "group" in model.group_words("place", 1)
    True
    """
    words = words_of_groups(result, make_groups(result, column), [concept_index(result, concept)])
    return words.drop(columns=["concept", "place"])


def words_of_groups(result: Result, groups: Groups, concepts: Iterable[int]) -> pd.DataFrame:
    """Return the used words of concepts (0, 1, …) that each group uses, the most characteristic first."""
    words, uses, found = result.summary.words, result.summary.uses, result.summary.alignment.found
    shape, used = (result.n_concepts, result.corpus.n_words), used_words(result)
    rows = np.concatenate([np.zeros(0, int), *(used[j] for j in concepts)])
    concept, word, own = words.concept[rows], words.word[rows], words.own_share[rows]
    document = np.repeat(np.arange(len(uses.ptr) - 1), np.diff(uses.ptr))
    tables = []
    for g, label in enumerate(groups.labels):
        here = np.isin(document, groups.rows[g])
        place = uses.concept[here], uses.word[here]
        # How many rows use a word for a concept, mean over draws.
        counted = sparse.csr_array((uses.share[here] / found[place[0]], place), shape=shape)
        users = entries(counted, concept, word)
        holders = groups.mean_holders[g, concept]
        order = np.lexsort((-users * own, concept))
        order = order[(users[order] > 0) & (holders[order] > 0)]
        n, share = (holders / groups.effect[g, concept])[order], np.minimum(users[order] / holders[order], 1.0)
        low, high = (betaincinv(share * n + 0.5, (1 - share) * n + 0.5, q) for q in TAILS)
        table = {"concept": concept[order] + 1, "place": g, "group": label}
        table |= {"word": objects(result.corpus.vocabulary[i] for i in word[order]), "share": share}
        table |= {"low": np.where(share * n < 0.5, 0.0, low), "high": np.where(share * n > n - 0.5, 1.0, high)}
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


def metadata_column(metadata: pd.DataFrame, name: Any) -> pd.Series:
    """Return a column of groups by its name, blank texts missing."""
    return group_values(named_column(metadata, name)).reset_index(drop=True)


def group_values(values: pd.Series) -> pd.Series:
    """Return a column of groups, with blank texts missing as the missing values are."""
    return values.mask(values.map(lambda value: isinstance(value, str) and not value.strip()).astype(bool))


def make_groups(result: Result, column: str, most: int | None = None) -> Groups:
    """Return the groups of a column, numbers first and by size, then texts."""
    values = metadata_column(result.corpus.metadata, column)
    is_text = {label: not isinstance(label, int | float) for label in values.dropna().unique().tolist()}
    labels = sorted(is_text, key=lambda label: (is_text[label], str(label) if is_text[label] else label))
    if not labels:
        raise InputError(f"The column {column!r} is empty; choose one that has values.")
    if most is not None and len(labels) > most:
        largest = values.value_counts().index[: most - 1]
        values = values.astype(object).where(values.isna() | values.isin(largest), OTHER)
        labels = [*(label for label in labels if label in set(largest)), OTHER]
    return groups_of(
        result, {label: np.flatnonzero((values == label).fillna(False).to_numpy(dtype=bool)) for label in labels}
    )
