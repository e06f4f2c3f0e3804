"""Concepts found again in short fits on random samples of the documents (the *pilots*).

Two concepts count as the same if the Jaccard index of their ten first words is at least 3/7: six of ten words are
shared. People who look at pairs agree with this rule; with five shared words of ten, half of the pairs are one concept
joined to another (docs/lab/reliability.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

FIRST_WORDS = 10
LEAST_JACCARD = 3 / 7
WORDS_KEPT = 20  # of each concept of a pilot


class Pilots(NamedTuple):
    """The concepts of all pilots, pilot by pilot, each with its first words, highest score first."""

    n_pilots: int
    pilot: np.ndarray  # (R) int32: the pilot that a concept is of
    share: np.ndarray  # (R) float32: share of the pilot's tokens imputed to the concept
    ptr: np.ndarray  # (R+1) int64, into word and score
    word: np.ndarray  # (E) int32
    score: np.ndarray  # (E) float32


def gather_pilots(scores: list[np.ndarray], shares: list[np.ndarray]) -> Pilots:
    """Return the pilots with the word scores (J_p, V) and the shares of tokens (J_p) of each."""
    words = [first_words(one, WORDS_KEPT) for one in scores]
    flat = [at for tops in words for at in tops]
    values = [one[j, at] for one, tops in zip(scores, words) for j, at in enumerate(tops)]
    return Pilots(
        len(scores),
        np.repeat(np.arange(len(scores)), [len(tops) for tops in words]).astype(np.int32),
        np.concatenate([*shares, np.zeros(0)]).astype(np.float32),
        np.concatenate([[0], np.cumsum([len(at) for at in flat])]).astype(np.int64),
        np.concatenate([*flat, np.zeros(0)]).astype(np.int32),
        np.concatenate([*values, np.zeros(0)]).astype(np.float32),
    )


def first_words(scores: Any, n: int = FIRST_WORDS) -> list[np.ndarray]:
    """Return the words of each concept with the highest scores, at most `n`; ties go to the lower number."""
    dense = scores.toarray() if sparse.issparse(scores) else np.asarray(scores)
    order = np.argsort(-dense, axis=1, kind="stable")[:, :n]
    return [at[dense[j, at] > 0] for j, at in enumerate(order)]


def jaccard(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> np.ndarray:
    """Return the Jaccard index (J, J') of every two sets of words."""
    sets = [*ours, *theirs]
    word = np.concatenate([*sets, np.zeros(0, int)]).astype(int)
    shape = len(sets), int(word.max(initial=0)) + 1
    members = sparse.csr_array((np.ones(len(word)), word, np.cumsum([0, *map(len, sets)])), shape=shape)
    shared = (members[: len(ours)] @ members[len(ours) :].T).toarray()
    size = np.diff(members.indptr)
    return shared / np.maximum(size[: len(ours), None] + size[len(ours) :] - shared, 1)


def found_again(scores: Any, pilots: Pilots) -> np.ndarray:
    """Return in how many pilots each concept has a partner.

    Parameters
    ----------
    scores : array or sparse array (J, V)
        Scores of the words of each concept, as the tables rank them.
    pilots : Pilots
        The concepts of the pilots.

    Returns
    -------
    array (J)
        Whole numbers from 0 to `pilots.n_pilots`.

    Examples
    --------
    >>> import numpy as np
    >>> from superwords.posterior.resampling import found_again, gather_pilots
    >>> concepts = np.array([[3.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> pilots = gather_pilots([concepts[:1], concepts], [np.ones(1), np.ones(2) / 2])
    >>> found_again(concepts, pilots).tolist()
    [2, 1]
    """
    ours = first_words(scores)
    found = np.zeros((len(ours), pilots.n_pilots), bool)
    if len(ours) and len(pilots.pilot):
        theirs = [pilots.word[a:b][:FIRST_WORDS] for a, b in zip(pilots.ptr, pilots.ptr[1:])]
        alike = jaccard(ours, theirs) >= LEAST_JACCARD - 1e-12
        j, r = np.nonzero(alike)
        found[j, pilots.pilot[r]] = True
    return found.sum(axis=1)
