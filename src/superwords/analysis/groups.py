"""Prevalence, strength and words of concepts by group of documents.

Intervals of prevalences include two uncertainties: which documents use the concept (over the draws), and that the
documents are a sample of those the group might have written (a Beta posterior under Jeffreys' prior for each draw).
Passages of one source document are correlated, so their number is first divided by the design effect: the variance of
the prevalence between sources over that of independent passages. Intervals of strengths are over the draws only; those
of words over documents only, at the mean over the draws.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import betaincinv

from superwords.analysis.prevalence import (
    Groups,
    found_share,
    groups_of,
    prevalence_draws,
    prevalence_interval,
    reaching_the_ends,
)
from superwords.analysis.ranking import own_shares
from superwords.analysis.tables import concept_index, concept_names, used_words
from superwords.errors import InputError
from superwords.posterior.intervals import TAILS, interval, weighted_mean

if TYPE_CHECKING:
    from superwords.posterior.result import Result

_TOP_WORDS = 10
OTHER = "other"


def by_group(result: Result, column: str, n_words: int = _TOP_WORDS, most: int | None = None) -> pd.DataFrame:
    """Return prevalence, strength and words of each concept by group of a column.

    Parameters
    ----------
    column : str
        A column of `corpus_.metadata`.
    n_words : int
        How many words of each group to list.
    most : int, optional
        Keep the largest groups, and pool the others as "other".

    Returns
    -------
    DataFrame
        A row per concept and group, with intervals.

    Examples
    --------
    >>> sorted(set(model.by_group("place")["group"]))
    ['harbour', 'kitchen']
    """
    groups = make_groups(result, column, most)
    table, used = figures_by_group(result, groups), _GroupWords(result, groups)
    cells = product(range(result.n_concepts), range(len(groups.labels)))
    top = [used.top(g, j, n_words) if n_words else [] for j, g in cells]
    words = [[result.corpus.vocabulary[i] for i, *_ in one] for one in top]
    shares = [[share for _, share, *_ in one] for one in top]
    return table.assign(top_words=pd.Series(words, dtype=object), shares=pd.Series(shares, dtype=object))


def figures_by_group(result: Result, groups: Groups) -> pd.DataFrame:
    """Return prevalence and strength with intervals, a row per concept and group."""
    low, high = prevalence_interval(groups)
    held = np.where(groups.holders > 0, groups.weight, 0.0)
    weak, strong = interval(groups.strength, held)
    holders, n_rows = (
        weighted_mean(groups.holders, groups.weight),
        np.array([len(rows) for rows in groups.rows]),
    )
    n_groups = len(groups.labels)
    figures = {
        "rows": holders,
        "prevalence": holders / n_rows[:, None],
        "prevalence_low": low,
        "prevalence_high": high,
        "strength": weighted_mean(groups.strength, held),
        "strength_low": weak,
        "strength_high": strong,
    }
    head = {
        "concept": np.repeat(np.arange(1, result.n_concepts + 1), n_groups),
        "name": pd.Series(np.repeat(np.array(concept_names(result), dtype=object), n_groups), dtype=object),
        "group": pd.Series(groups.labels * result.n_concepts),
        "n_rows": np.tile(n_rows, result.n_concepts),
    }
    return pd.DataFrame(head | {name: values.T.ravel() for name, values in figures.items()})


def compare_groups(result: Result, column: str, first: Any = None, second: Any = None) -> pd.DataFrame:
    """Return differences in prevalence between two groups, the largest first.

    Parameters
    ----------
    column : str
        A column of `corpus_.metadata`.
    first, second : optional
        The groups; may be left out where there are only two.

    Returns
    -------
    DataFrame
        A row per concept, with intervals.

    Examples
    --------
    >>> len(model.compare_groups("place")) == model.n_concepts_
    True
    """
    groups = make_groups(result, column)
    a, b = _two_groups(groups, column, first, second)
    prevalence, weight = prevalence_draws(groups)
    difference = prevalence[:, a] - prevalence[:, b]
    low, high = interval(difference, weight[:, 0])
    mean = [weighted_mean(groups.holders[:, g], groups.weight[:, 0]) / len(groups.rows[g]) for g in (a, b)]
    table = pd.DataFrame(
        {
            "concept": np.arange(1, result.n_concepts + 1),
            "name": pd.Series(concept_names(result), dtype=object),
            f"prevalence_{groups.labels[a]}": mean[0],
            f"prevalence_{groups.labels[b]}": mean[1],
            "difference": mean[0] - mean[1],
            "low": low,
            "high": high,
            "probability_greater": weighted_mean((difference > 0).astype(float), weight[:, 0]),
        }
    )
    largest = table["difference"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[largest].reset_index(drop=True)


def group_words(result: Result, column: str, concept: int) -> pd.DataFrame:
    """Return the words that each group uses for a concept, with intervals.

    Parameters
    ----------
    column : str
        A column of `corpus_.metadata`.
    concept : int
        Its number: 1, 2, …

    Returns
    -------
    DataFrame
        `share` is that of the group's documents using the concept which use the word for it.

    Examples
    --------
    >>> "group" in model.group_words("place", 1)
    True
    """
    return words_of_groups(result, make_groups(result, column), concept_index(result, concept))


def words_of_groups(result: Result, groups: Groups, j: int) -> pd.DataFrame:
    used, word = _GroupWords(result, groups), result.corpus.vocabulary
    rows = [
        (group, word[i], *figures) for g, group in enumerate(groups.labels) for i, *figures in used.top(g, j)
    ]
    return pd.DataFrame(rows, columns=["group", "word", "share", "low", "high"])


def metadata_column(result: Result, column: str) -> pd.Series:
    return group_values(named_column(result.corpus.metadata, column)).reset_index(drop=True)


def named_column(metadata: pd.DataFrame, name: Any) -> pd.Series:
    """Return a column by its name, or by its name as text."""
    found = next((one for one in metadata if one == name or str(one) == name), None)
    if found is None:
        known = ", ".join(repr(str(one)) for one in metadata)
        have = f"the columns are {known}" if known else "the corpus has no metadata"
        raise InputError(f"There is no column {name!r}; {have}.")
    return metadata[found]


def make_groups(result: Result, column: str, most: int | None = None) -> Groups:
    values = metadata_column(result, column)
    found = values.dropna().unique().tolist()
    # Numbers first and by size, then texts.
    numbers = sorted(one for one in found if isinstance(one, int | float))
    labels = numbers + sorted((one for one in found if not isinstance(one, int | float)), key=str)
    if most is not None and len(labels) > most:
        largest = values.value_counts().index[: most - 1]
        values = values.astype(object).where(values.isna() | values.isin(largest), OTHER)
        labels = [*(label for label in labels if label in set(largest)), OTHER]
    rows = [np.flatnonzero((values == label).fillna(False).to_numpy(dtype=bool)) for label in labels]
    if not labels:
        raise InputError(f"The column {column!r} is empty; choose one that has values.")
    return groups_of(result, labels, rows)


def group_values(values: pd.Series) -> pd.Series:
    """Return a column of groups, with blank texts missing as the missing values are."""
    return values.mask(values.map(lambda value: isinstance(value, str) and not value.strip()).astype(bool))


class _GroupWords:
    """The words that groups use for concepts."""

    def __init__(self, result: Result, groups: Groups) -> None:
        self.word, self.rows, self.groups = result.summary.words.word, used_words(result), groups
        self.own = own_shares(result.summary.words, result.corpus.n_words)
        self.users = [self._users(result, rows) for rows in groups.rows]

    @staticmethod
    def _users(result: Result, rows: np.ndarray) -> sparse.csr_array:
        """Return (J, V) how many rows use a word for a concept, mean over draws."""
        uses, shape = result.summary.uses, (result.n_concepts, result.corpus.n_words)
        inside = np.zeros(result.corpus.n_documents, bool)
        inside[rows] = True
        here = np.repeat(inside, np.diff(uses.ptr))
        concept, word = uses.concept[here], uses.word[here]
        return sparse.csr_array(
            (uses.share[here] / found_share(result)[concept], (concept, word)), shape=shape
        )

    def top(self, g: int, j: int, n_words: int | None = None) -> list[tuple[int, float, float, float]]:
        """Return the top words of concept j in group g, with shares and intervals."""
        groups, rows = self.groups, self.rows[j]
        holders = float(weighted_mean(groups.holders[:, g, j], groups.weight[:, 0, j]))
        if not holders > 0:
            return []
        users = self.users[g][[j]].toarray().ravel()[self.word[rows]]
        order = np.argsort(-users * self.own[rows], kind="stable")
        order = order[users[order] > 0][:n_words]
        n, share = holders / groups.effect[g, j], np.minimum(users[order] / holders, 1.0)
        bounds = [betaincinv(share * n + 0.5, (1 - share) * n + 0.5, q) for q in TAILS]
        low, high = reaching_the_ends(bounds[0], bounds[1], share * n, np.full(len(share), n))
        return list(zip(self.word[rows[order]].tolist(), share.tolist(), low.tolist(), high.tolist()))


def _two_groups(groups: Groups, column: str, first: Any, second: Any) -> tuple[int, int]:
    if first is None and second is None and len(groups.labels) == 2:
        return 0, 1
    found = []
    for one_group in (first, second):
        match = [
            g for g, label in enumerate(groups.labels) if label == one_group or str(label) == str(one_group)
        ]
        if one_group is None or not match:
            known = ", ".join(repr(label) for label in groups.labels)
            problem = "Two groups are needed" if one_group is None else f"There is no group {one_group!r}"
            raise InputError(f"{problem} to compare; the groups of {column!r} are {known}.")
        found.append(match[0])
    return found[0], found[1]
