"""Match the concepts of different draws, and unite those of all chains in one list.

A draw's concepts have no names of their own. Each is described by what distinguishes it from the others of its draw:
the scores of its words (`superwords.analysis.tables`), made to sum to 1. Two concepts of different draws are partners
if at least half of their descriptions is the same (Σ_i min(p_i, p'_i) ≥ 0.5) and the pairing of all concepts is the
best possible one (the Hungarian method).

Each chain's concepts are those of its most probable draw that at least half of its draws have, described by the mean
over these draws. Chains are then united one after the other, beginning with the chain that agrees best with the others:
a chain's concept joins its partner in the list or opens a new entry. Listed are the entries that at least half of the
chains find (and, of three chains or more, at least two). The list's descriptions are the means over the partners in all
draws, and every draw is matched with them once more.
"""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.posterior.draws import Draws, Kept
from superwords.posterior.word_sets import used_in_concepts
from superwords.sampler.records import Draw, n_concepts

LEAST_OVERLAP = 0.5
HANDFUL = 8  # rows: a concept of no more is a leftover
TYPICAL = 0.5  # share of draws, or of chains, from which on they find a concept
_LEAST_SHARE = 1e-4  # of a description: smaller shares decide no partnership
_WORDS = 30


class Usage(NamedTuple):
    """What the documents that use a draw's concepts do with them; a document uses a concept if n_dj > 0."""

    holders: np.ndarray  # (J) documents that use the concept
    used: sparse.csr_array  # (J, V) of these, documents with tokens of the word imputed to the concept

    @property
    def description(self) -> sparse.csc_array:
        """(J, V): the words' scores in the draw, each concept's summing to 1 (to 0 where it uses no word)."""
        counts = sparse.csr_array(self.used, dtype=float)
        everywhere = np.asarray(counts.sum(axis=0)).ravel()
        score = counts.multiply(counts).multiply(1 / np.maximum(everywhere, 1e-300))
        return normalised(sparse.csr_array(sparse.diags_array(1 / np.maximum(self.holders, 1)) @ score))


class Partners(NamedTuple):
    """For each reference concept its partner in another draw; -1 (and an overlap of 0) where it has none."""

    of: np.ndarray  # (J) the draw's own concept
    overlap: np.ndarray  # (J) the share of the descriptions that is the same


def handful(n_rows: int) -> float:
    """Return the largest number of rows of a leftover in a corpus of `n_rows`."""
    return min(HANDFUL, n_rows / 10)


def usage_of(draw: Draw | Kept) -> Usage:
    """Count the documents that use each concept, and their words; pairs without a token (u_dj = 0) do not count."""
    state, in_use = draw.state, draw.tokens.pair > 0
    used = used_in_concepts(state, draw.tokens, in_use)
    used.eliminate_zeros()
    return Usage(np.bincount(state.concept[in_use], minlength=n_concepts(state)), used)


def find_partners(reference: sparse.csc_array, other: sparse.csc_array) -> Partners:
    """Return the partners of the concepts described by `reference` among those described by `other`."""
    # Slow to import, and tables of a cached summary do without it.
    from scipy.optimize import linear_sum_assignment

    of, overlap = np.full(reference.shape[0], -1), np.zeros(reference.shape[0])
    shared = overlaps(reference, other)
    # Rounding must not keep a concept from being a partner at an overlap of exactly the threshold.
    alike = np.where(shared >= LEAST_OVERLAP - 1e-12, shared, 0.0)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    paired = alike[rows, columns] > 0
    rows, columns = rows[paired], columns[paired]
    of[rows] = columns
    overlap[rows] = np.minimum(alike[rows, columns], 1.0)
    return Partners(of, overlap)


def unite(
    rows: np.ndarray, matrix: sparse.csr_array, more_rows: np.ndarray, more: Any, of: np.ndarray
) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
    """Add the documents (J) and words (J, V) of further concepts to those of their partners (`of`), or at the end.

    The third value has the place of each further concept.
    """
    place = np.full(len(more_rows), -1)
    place[of[of >= 0]] = np.flatnonzero(of >= 0)
    new = place < 0
    place[new] = len(of) + np.arange(new.sum())
    n_new = int(new.sum())
    put = adding(place, len(of) + n_new)
    longer = sparse.vstack([matrix, sparse.csr_array((n_new, matrix.shape[1]))], format="csr")
    rows = np.concatenate([rows, np.zeros(n_new)]) + put @ more_rows
    return rows, sparse.csr_array(longer + put @ more), place


def adding(place: np.ndarray, n_places: int, values: np.ndarray | None = None) -> sparse.csr_array:
    """Return the matrix (places, n) that sums the rows of another by their places, weighted by `values`."""
    values = np.ones(len(place)) if values is None else values
    return sparse.csr_array((values, (place, np.arange(len(place)))), shape=(n_places, len(place)))


def normalised(score: sparse.csr_array) -> sparse.csc_array:
    """Return rows that sum to 1, or to 0 where there is nothing in them."""
    total = np.asarray(score.sum(axis=1)).ravel()
    return sparse.csc_array(sparse.diags_array(1 / np.where(total > 0, total, 1.0)) @ score)


def overlaps(a: sparse.csc_array, b: sparse.csc_array) -> np.ndarray:
    """Return (J, J') Σ_i min(a_ji, b_j'i) for every two rows."""
    n_beside = np.diff(b.indptr)[np.repeat(np.arange(a.shape[1]), np.diff(a.indptr))]
    # Pair every entry of a with every entry of b of the same word.
    left = np.repeat(np.arange(len(a.data)), n_beside)
    first = np.repeat(b.indptr[:-1], np.diff(a.indptr))
    right = np.repeat(first - np.cumsum(n_beside) + n_beside, n_beside) + np.arange(len(left))
    cell = a.indices[left].astype(np.int64) * b.shape[0] + b.indices[right]
    total = np.bincount(cell, np.minimum(a.data[left], b.data[right]), a.shape[0] * b.shape[0])
    return total.reshape(a.shape[0], b.shape[0])


class OtherConcepts(NamedTuple):
    """K concepts of some chains that are not listed, those of most chains first; words by their scores."""

    rows: np.ndarray  # (K) documents that use it, mean over the chains that find it
    found: np.ndarray  # (K, chains) whether the chain finds it
    ptr: np.ndarray  # (K + 1) into word
    word: np.ndarray


class Consensus(NamedTuple):
    """The listed concepts, those of most documents first, and their partners in each of T draws."""

    description: sparse.csc_array  # (J, V) what concepts are matched by, each row summing to 1
    partner: np.ndarray  # (T, J) the draw's own concept; -1: none
    overlap: np.ndarray  # (T, J) with the partner; 0: none
    chain: np.ndarray  # (T)
    others: OtherConcepts


class _Described(NamedTuple):
    """Concepts of one draw or of one chain."""

    description: sparse.csc_array  # (J, V)
    rows: np.ndarray  # (J) documents that use each


def find_consensus(draws: Draws) -> Consensus:
    """Unite the concepts of all draws in one list."""
    by_chain = [list(map(_concepts_of, own)) for own in draws.chains]
    drawn, chain = [one for own in by_chain for one in own], draws.chain
    chains = [_of_chain(own, int(np.argmax(one.scores))) for own, one in zip(by_chain, draws.chains) if own]
    total, rows, found = _united(chains)
    listed = _listed(found)
    description = normalised(total[np.flatnonzero(listed)])
    n_rows = len(draws.chains[int(chain[0])][0].state.doc_ptr) - 1
    others = _others(total, rows, found, np.flatnonzero(~listed), n_rows)
    for _ in range(2):
        of, overlap, description, rows = _matched(description, drawn, chain_shares(chain))
    order = _by_rows(rows, description)
    order = order[of[:, order].max(axis=0, initial=-1) >= 0]
    partner, overlap = np.ascontiguousarray(of[:, order], np.int32), np.ascontiguousarray(overlap[:, order], np.float32)
    return Consensus(sparse.csc_array(sparse.csr_array(description)[order]), partner, overlap, chain, others)


def _concepts_of(draw: Kept) -> _Described:
    usage = usage_of(draw)
    return _Described(usage.description, usage.holders)


def chain_shares(chain: np.ndarray) -> np.ndarray:
    """Return (draws) how much each draw counts; every chain counts the same, and all sum to 1."""
    _, at, size = np.unique(chain, return_inverse=True, return_counts=True)
    return 1 / (len(size) * size[at]) if len(chain) else np.zeros(0)


def _of_chain(drawn: list[_Described], reference: int) -> _Described:
    """Return the concepts of a chain's reference draw that are typical of its draws, in the mean over them."""
    weight = np.full(len(drawn), 1 / len(drawn))
    of, _, description, rows = _matched(drawn[reference].description, drawn, weight)
    typical = np.flatnonzero((of >= 0).mean(axis=0) >= TYPICAL)
    return _Described(sparse.csc_array(sparse.csr_array(description)[typical]), rows[typical])


def _matched(
    reference: sparse.csc_array, drawn: list[_Described], weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, sparse.csc_array, np.ndarray]:
    """Return (T, J) partners and overlaps; descriptions (J, V) and documents (J) in the mean over the partners."""
    partners, n_concepts = [find_partners(reference, one.description) for one in drawn], reference.shape[0]
    total, rows = sparse.csr_array((n_concepts, drawn[0].description.shape[1])), np.zeros(n_concepts)
    share = np.zeros(n_concepts)
    for (of, _), one, w in zip(partners, drawn, weight):
        found = np.flatnonzero(of >= 0)
        pick = sparse.csr_array((np.full(len(found), w), (found, of[found])), (n_concepts, len(one.rows)))
        total = total + pick @ one.description
        rows[found] += w * one.rows[of[found]]
        share[found] += w
    out = normalised(sparse.csr_array(total))
    out.data[out.data < _LEAST_SHARE] = 0.0
    out.eliminate_zeros()
    of, overlap = (np.array(both) for both in zip(*partners))
    return of, overlap, normalised(sparse.csr_array(out)), rows / np.where(share > 0, share, 1.0)


def _united(chains: list[_Described]) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Return all concepts of all chains, partners united, beginning with the chains that agree most with the others.

    These are sums over the chains of descriptions (K, V) and of rows (K), and which chains find a concept (K, chains).
    """
    agreement = np.zeros(len(chains))
    for a, b in permutations(range(len(chains)), 2):
        overlap = find_partners(chains[a].description, chains[b].description).overlap
        agreement[a] += overlap @ chains[a].rows
    total, rows = sparse.csr_array((0, chains[0].description.shape[1])), np.zeros(0)
    found = np.zeros((0, len(chains)), bool)
    for c in np.argsort(-agreement, kind="stable"):
        one = chains[c]
        of = find_partners(normalised(total), one.description).of
        rows, total, place = unite(rows, total, one.rows, one.description, of)
        found = np.pad(found, ((0, len(rows) - len(found)), (0, 0)))
        found[place, c] = True
    return total, rows, found


def _listed(found: np.ndarray) -> np.ndarray:
    """Return (K) whether at least two, and at least half, of the chains find the concept.

    Of one or two chains those of the chain that opened the list are listed (half of two chains is one), and so they
    are where no concept is found by enough chains.
    """
    if not len(found):
        return np.zeros(0, bool)
    first = found[:, int(np.argmax(found[0]))]
    listed = found.sum(axis=1) >= max(2, found.shape[1] * TYPICAL)
    return listed if listed.any() and found.shape[1] > 2 else first


def _by_rows(rows: np.ndarray, description: sparse.csc_array) -> np.ndarray:
    """Return concepts by their documents, most first; ties by their words, so that labels do not matter."""
    words = sparse.csr_array(description)
    words.sort_indices()
    keys = [(-round(float(n), 6), words.indices[a:b].tolist()) for n, (a, b) in zip(rows, pairwise(words.indptr))]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=int)


def _others(
    total: sparse.csr_array, rows: np.ndarray, found: np.ndarray, unlisted: np.ndarray, n_rows: int
) -> OtherConcepts:
    times = np.maximum(found.sum(axis=1), 1)
    rows = rows / times
    which = unlisted[rows[unlisted] > handful(n_rows)]
    which = which[np.lexsort((-rows[which], -times[which]))]
    score, words = sparse.csr_array(total[which]), [np.zeros(0, np.int32)]
    for a, b in pairwise(score.indptr):
        words.append(score.indices[a:b][np.argsort(-score.data[a:b], kind="stable")][:_WORDS])
    ptr = np.cumsum(list(map(len, words))).astype(np.int64)
    return OtherConcepts(rows[which], found[which], ptr, np.concatenate(words).astype(np.int32))


def rematch(found: Consensus, draws: Draws, members: dict[int, np.ndarray]) -> Consensus:
    """Match merged concepts anew: in every draw the members' partners together, or another concept if that is nearer.

    `members` has the concepts that are merged, by the column that they are counted in.
    """
    gone = np.concatenate([those[those != a] for a, those in members.items()])
    drawn = [_merged_draw(draw, partner, members) for draw, partner in zip(draws, found.partner)]
    description = sparse.lil_array(found.description)
    for a in members:
        own = sparse.vstack([one[[place[a]]] for one, place in drawn if a in place], format="csr")
        description[[a]] = normalised(sparse.csr_array(own.sum(axis=0)[None, :]))
    description[gone] = 0.0
    reference = sparse.csc_array(description)
    partner, overlap = found.partner.copy(), found.overlap.copy()
    for t, (one, place) in enumerate(drawn):
        partners = find_partners(reference, one)
        for a, those in members.items():
            overlap[t, those], row = 0.0, partners.of[a]
            overlap[t, a] = partners.overlap[a]
            if row != place.get(a, -2):
                partner[t, those] = -1
                partner[t, a] = row
    return found._replace(description=reference, partner=partner, overlap=overlap)


def _merged_draw(
    draw: Kept, partner: np.ndarray, members: dict[int, np.ndarray]
) -> tuple[sparse.csc_array, dict[int, int]]:
    """Describe a draw's concepts, the partners of merged ones united in the row given for each merged column."""
    usage = usage_of(draw)
    row = np.arange(len(usage.holders))
    place = {}
    for a, those in members.items():
        own = partner[those][partner[those] >= 0]
        if len(own):
            row[own] = own[0]
            place[a] = int(own[0])
    together = adding(row, len(row))
    return Usage(together @ usage.holders, together @ usage.used).description, place
