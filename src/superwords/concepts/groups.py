"""Concepts by group of documents: how many hold them, how strongly, and with which words.

Intervals of prevalences hold two uncertainties: which documents hold the concept (over the draws), and that
the documents are a sample of those the group might have written (a Beta posterior under Jeffreys' prior for
each draw). Passages of one source document are alike, so of a corpus of passages their number is first
divided by the design effect: how much more the prevalence varies from source to source than it would with
independent passages. Intervals of strengths are over the draws alone; those of words over documents alone,
at the mean over the draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import betaincinv

from superwords.concepts.intervals import TAILS, interval, weighted_mean
from superwords.concepts.tables import (
    concept_index,
    concept_names,
    draw_weights,
    drawn_weights,
    kept_share,
    used_words,
)
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.concepts.result import Result

_BETA_DRAWS = 4000
_BETA_SEED = 1785  # the Beta draws are numerical integration: the same call gives the same table
_TOP_WORDS = 10


class Groups(NamedTuple):
    """Per draw t, group g and concept j."""

    labels: list[Any]
    rows: list[np.ndarray]  # of each group
    weight: np.ndarray  # (T, 1, J) of a draw in the concept's means; 0 where the concept has no partner
    holders: np.ndarray  # (T, G, J)
    strength: np.ndarray  # (T, G, J), 0 where no row holds the concept
    effect: np.ndarray  # (G, J) design effect


def by_group(result: Result, column: str, n_words: int = _TOP_WORDS) -> pd.DataFrame:
    """One row per concept and group: prevalence and strength with intervals, and top words."""
    groups = make_groups(result, column)
    low, high = prevalence_interval(groups)
    held = np.where(groups.holders > 0, groups.weight, 0.0)
    weak, strong = interval(groups.strength, held)
    holders, strength = weighted_mean(groups.holders, groups.weight), weighted_mean(groups.strength, held)
    used = _used_by_groups(result, groups)
    label = concept_names(result)
    rows = []
    for j in range(result.n_concepts):
        for g, group in enumerate(groups.labels):
            top = _top_words(result, groups, used, g, j, n_words) if n_words else []
            rows.append(
                {
                    "concept": j + 1,
                    "name": label[j],
                    "group": group,
                    "n_rows": len(groups.rows[g]),
                    "rows": holders[g, j],
                    "prevalence": holders[g, j] / len(groups.rows[g]),
                    "prevalence_low": low[g, j],
                    "prevalence_high": high[g, j],
                    "strength": strength[g, j],
                    "strength_low": weak[g, j],
                    "strength_high": strong[g, j],
                    "top_words": [result.corpus.vocabulary[i] for i, _, _, _ in top],
                    "shares": [share for _, share, _, _ in top],
                }
            )
    columns = ["concept", "name", "group", "n_rows", "rows", "prevalence", "prevalence_low"]
    columns += ["prevalence_high", "strength", "strength_low", "strength_high", "top_words", "shares"]
    return pd.DataFrame(rows, columns=columns)


def compare_groups(result: Result, column: str, first: Any = None, second: Any = None) -> pd.DataFrame:
    """Prevalence in one group less that in another, with interval, the largest differences first.

    Without `first` and `second`, the two groups of a column that has exactly two.
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
    """A concept's words in each group: share of the group's documents holding it that use the word for it."""
    return words_of_groups(result, make_groups(result, column), concept_index(result, concept))


def words_of_groups(result: Result, groups: Groups, j: int) -> pd.DataFrame:
    used = _used_by_groups(result, groups)
    rows = []
    for g, group in enumerate(groups.labels):
        for i, share, low, high in _top_words(result, groups, used, g, j):
            word = result.corpus.vocabulary[i]
            rows.append({"group": group, "word": word, "share": share, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["group", "word", "share", "low", "high"])


def metadata_column(result: Result, column: str) -> pd.Series:
    metadata = result.corpus.metadata
    if column not in metadata.columns:
        known = ", ".join(repr(name) for name in metadata.columns)
        have = f"the columns are {known}" if known else "the corpus has no metadata"
        raise InputError(f"There is no column {column!r}; {have}.")
    return group_values(metadata[column]).reset_index(drop=True)


def make_groups(result: Result, column: str) -> Groups:
    values = metadata_column(result, column)
    labels = sorted(values.dropna().unique().tolist(), key=_sort_key)
    rows = [np.flatnonzero((values == label).fillna(False).to_numpy(dtype=bool)) for label in labels]
    if not labels:
        raise InputError(f"The column {column!r} is empty; choose one that has values.")
    return groups_of(result, labels, rows)


def groups_of(result: Result, labels: list[Any], rows: list[np.ndarray]) -> Groups:
    """Groups by their rows, none of them empty."""
    member = sparse.csr_array(
        (
            np.ones(sum(map(len, rows))),
            (np.repeat(np.arange(len(rows)), [len(r) for r in rows]), np.concatenate(rows)),
        ),
        shape=(len(rows), result.corpus.n_documents),
    )
    drawn = drawn_weights(result)
    holders = np.array([(member @ (w > 0).astype(float)).toarray() for w in drawn])
    total = np.array([(member @ w).toarray() for w in drawn])
    weight = draw_weights(result)[:, None, :]
    strength = total / np.maximum(holders, 1)
    return Groups(labels, rows, weight, holders, strength, _design_effect(result, rows, drawn, holders))


def group_values(values: pd.Series) -> pd.Series:
    """A column of groups, with blank texts missing as the missing values are."""
    return values.mask(values.map(lambda value: isinstance(value, str) and not value.strip()).astype(bool))


def _sort_key(label: Any) -> tuple[bool, float, str]:
    number = isinstance(label, int | float)
    return not number, float(label) if number else 0.0, str(label)


def _design_effect(
    result: Result, rows: list[np.ndarray], drawn: list[sparse.csr_array], holders: np.ndarray
) -> np.ndarray:
    """(G, J): variance of the prevalence between sources over that of independent passages, at least 1."""
    parent = result.corpus.parent
    if parent is None:
        return np.ones(holders.shape[1:])
    group = np.repeat(np.arange(len(rows)), [len(here) for here in rows])
    row = np.concatenate(rows)
    n_parents = int(parent.max()) + 1
    # A cell is a group's part of a source document.
    cells, cell = np.unique(group * n_parents + parent[row], return_inverse=True)
    of_cell = sparse.csr_array((np.ones(len(row)), (cell, row)), shape=(len(cells), len(parent)))
    of_group = sparse.csr_array((np.ones(len(cells)), (cells // n_parents, np.arange(len(cells)))))
    size = np.bincount(cell).astype(float)
    n_rows, squared = (of_group @ size)[:, None], (of_group @ size**2)[:, None]
    n_sources = np.bincount(cells // n_parents).astype(float)[:, None]
    ratios = []
    for one, held in zip(drawn, holders):
        share = held / n_rows
        counts = sparse.csr_array(of_cell @ (one > 0).astype(float))
        products = (of_group @ (sparse.diags_array(size) @ counts)).toarray()
        # Σ (count − size · share)² over a group's cells, without the cells that hold nothing.
        spread = (of_group @ counts.power(2)).toarray() - 2 * share * products + share**2 * squared
        between = np.maximum(spread, 0) * n_sources / np.maximum(n_sources - 1, 1)
        within = n_rows * share * (1 - share)
        ratios.append(np.where(within > 0, between / np.where(within > 0, within, 1.0), n_rows / n_sources))
    return np.fmax(1.0, weighted_mean(np.array(ratios), draw_weights(result)[:, None, :]))


def prevalence_interval(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """(G, J): bounds of the prevalences."""
    low, high = interval(*prevalence_draws(groups))
    n_rows = np.array([len(rows) for rows in groups.rows], float)[:, None]
    return _reaching_the_ends(low, high, weighted_mean(groups.holders, groups.weight), n_rows)


def _reaching_the_ends(
    low: np.ndarray, high: np.ndarray, held: np.ndarray, n_rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of shares under Jeffreys' prior that reach 0 where no row holds, and 1 where all do.

    So Brown, Cai and DasGupta (2001) have it: else the interval leaves out what was observed.
    """
    return np.where(held < 0.5, 0.0, low), np.where(held > n_rows - 0.5, 1.0, high)


def prevalence_draws(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """(draws, G, J): a few prevalences from the Beta posterior of every draw's number of holders; their weights."""
    n_rows = np.array([len(rows) for rows in groups.rows], float)[None, :, None] / groups.effect
    holders = groups.holders / groups.effect
    times = max(1, _BETA_DRAWS // max(len(holders), 1))
    on, off = holders + 0.5, np.maximum(n_rows - holders, 0.0) + 0.5
    rng = np.random.default_rng(_BETA_SEED)
    drawn = rng.beta(np.repeat(on, times, axis=0), np.repeat(off, times, axis=0))
    return drawn, np.repeat(groups.weight, times, axis=0)


class _Used(NamedTuple):
    """What the words of concepts in groups are ranked by."""

    users: list[sparse.csr_array]  # (J, V) of each group
    rows: list[np.ndarray]  # the used words of each concept, as rows of `summary.words`
    own: np.ndarray  # of each row of `summary.words`, the concept's share of the word's uses


def _used_by_groups(result: Result, groups: Groups) -> _Used:
    users = [_users(result, rows) for rows in groups.rows]
    words = result.summary.words
    everywhere = np.bincount(words.word, words.documents, result.corpus.n_words)[words.word]
    return _Used(users, used_words(result), words.documents / np.maximum(everywhere, 1e-12))


def _users(result: Result, rows: np.ndarray) -> sparse.csr_array:
    """(J, V): how many of the given rows use a word for a concept, the mean over the draws with a partner."""
    uses, found = result.summary.uses, kept_share(result)
    inside = np.zeros(result.corpus.n_documents, bool)
    inside[rows] = True
    here = np.repeat(inside, np.diff(uses.ptr))
    concept, word = uses.concept[here], uses.word[here]
    share = uses.share[here] / found[concept]
    return sparse.csr_array((share, (concept, word)), shape=(result.n_concepts, result.corpus.n_words))


def _top_words(
    result: Result,
    groups: Groups,
    used: _Used,
    g: int,
    j: int,
    n_words: int | None = None,
) -> list[tuple[int, float, float, float]]:
    """Words of concept j in group g with shares, ranked as everywhere but with the group's share."""
    holders = float(weighted_mean(groups.holders[:, g, j], groups.weight[:, 0, j]))
    if not holders > 0:
        return []
    word, rows = result.summary.words.word, used.rows[j]
    users = used.users[g][[j]].toarray().ravel()[word[rows]]
    telling = users * used.own[rows]
    order = np.argsort(-telling, kind="stable")
    order = order[users[order] > 0][:n_words]
    n = holders / groups.effect[g, j]
    share = np.minimum(users[order] / holders, 1.0)
    bounds = [betaincinv(share * n + 0.5, (1 - share) * n + 0.5, q) for q in TAILS]
    low, high = _reaching_the_ends(bounds[0], bounds[1], share * n, np.full(len(share), n))
    columns = (word[rows[order]].tolist(), share.tolist(), low.tolist(), high.tolist())
    return list(zip(*columns))


def _two_groups(groups: Groups, column: str, first: Any, second: Any) -> tuple[int, int]:
    if first is None and second is None and len(groups.labels) == 2:
        return 0, 1
    found = []
    for wanted in (first, second):
        match = [g for g, label in enumerate(groups.labels) if label == wanted or str(label) == str(wanted)]
        if wanted is None or not match:
            known = ", ".join(repr(label) for label in groups.labels)
            asked = "Two groups are needed" if wanted is None else f"There is no group {wanted!r}"
            raise InputError(f"{asked} to compare; the groups of {column!r} are {known}.")
        found.append(match[0])
    return found[0], found[1]
