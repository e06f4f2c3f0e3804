"""One list of concepts for all chains: concepts of different draws are united by the words that documents use for them.

Each chain's concepts are those of its most probable draw that at least half of its draws have, described by the mean
over these draws. Chains are then united one after the other, beginning with the chain that agrees best with the others:
a chain's concept joins its partner in the list or opens a new entry. Listed are the entries that at least half of the
chains find (and, of three chains or more, at least two). The list's descriptions are the means over the partners in all
draws, and every draw is matched with them once more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.posterior.alignment import (
    Partners,
    described,
    find_partners,
    handful,
    longer,
    normalised,
    united_places,
    usage_of,
)
from superwords.posterior.draws import Draws, Kept

TYPICAL = 0.5  # share of draws, or of chains, from which on they find a concept
_LEAST_SHARE = 1e-4  # of a description: smaller shares decide no partnership
_WORDS = 30


class OtherConcepts(NamedTuple):
    """K concepts of some chains that are not listed, those of most chains first; words by their scores."""

    rows: np.ndarray  # (K) documents that use it, mean over the chains that find it
    found: np.ndarray  # (K, chains) whether the chain finds it
    ptr: np.ndarray  # (K + 1) into word
    word: np.ndarray


class WordShares(NamedTuple):
    """(J, V) sparse, as plain arrays."""

    ptr: np.ndarray
    word: np.ndarray
    share: np.ndarray
    n_words: int

    def matrix(self) -> sparse.csr_array:
        return sparse.csr_array((self.share, self.word, self.ptr), shape=(len(self.ptr) - 1, self.n_words))


def word_shares(matrix: sparse.csr_array) -> WordShares:
    """Invert `WordShares.matrix`."""
    rows = sparse.csr_array(matrix)
    rows.sort_indices()
    return WordShares(rows.indptr, rows.indices, rows.data, int(rows.shape[1]))


class Consensus(NamedTuple):
    """The listed concepts, those of most documents first, and their partners in each of T draws."""

    words: WordShares  # the concepts' descriptions
    partner: np.ndarray  # (T, J) the draw's own concept; -1: none
    overlap: np.ndarray  # (T, J) with the partner; 0: none
    chain: np.ndarray  # (T)
    others: OtherConcepts

    @property
    def description(self) -> sparse.csc_array:
        """(J, V): what concepts are matched by, each row summing to 1."""
        return sparse.csc_array(self.words.matrix())


class _Described(NamedTuple):
    """Concepts of one draw or of one chain."""

    description: sparse.csc_array  # (J, V)
    rows: np.ndarray  # (J) documents that use each


def find_consensus(draws: Draws) -> Consensus:
    """Unite the concepts of all draws in one list."""
    drawn = []
    for draw in draws:
        usage = usage_of(draw)
        drawn.append(_Described(described(usage.used, usage.holders), usage.holders))
    chain, scores = draws.chain, np.concatenate([one.scores for one in draws.chains] or [[]])
    chains = []
    for own in (np.flatnonzero(chain == c) for c in range(len(draws.chains))):
        if len(own):
            chains.append(_of_chain([drawn[t] for t in own], int(np.argmax(scores[own]))))
    total, rows, found = _united(chains)
    listed = _listed(found)
    description = normalised(total[np.flatnonzero(listed)])
    others = _others(total, rows, found, np.flatnonzero(~listed), draws.chains[int(chain[0])][0])
    for _ in range(2):
        partners = [find_partners(description, one.description) for one in drawn]
        description, rows = _means(partners, drawn, chain_shares(chain))
    order = _by_rows(rows, description)
    order = order[np.array([p.of for p in partners])[:, order].max(axis=0, initial=-1) >= 0]
    return Consensus(
        word_shares(sparse.csr_array(description)[order]),
        np.array([p.of[order] for p in partners], np.int32).reshape(len(drawn), len(order)),
        np.array([p.overlap[order] for p in partners], np.float32).reshape(len(drawn), len(order)),
        chain,
        others,
    )


def chain_shares(chain: np.ndarray) -> np.ndarray:
    """Return (draws) how much each draw counts; every chain counts the same, and all sum to 1."""
    _, at, size = np.unique(chain, return_inverse=True, return_counts=True)
    return 1 / (len(size) * size[at]) if len(chain) else np.zeros(0)


def _of_chain(drawn: list[_Described], reference: int) -> _Described:
    """Return the concepts of a chain's reference draw that are typical of its draws, in the mean over them."""
    partners = [find_partners(drawn[reference].description, one.description) for one in drawn]
    found = np.mean([p.of >= 0 for p in partners], axis=0)
    description, rows = _means(partners, drawn, np.full(len(drawn), 1 / len(drawn)))
    typical = np.flatnonzero(found >= TYPICAL)
    return _Described(sparse.csc_array(sparse.csr_array(description)[typical]), rows[typical])


def _means(
    partners: list[Partners], drawn: list[_Described], weight: np.ndarray
) -> tuple[sparse.csc_array, np.ndarray]:
    """Return descriptions and numbers of documents in the mean over the partners."""
    n_concepts = len(partners[0].of)
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
    return normalised(sparse.csr_array(out)), rows / np.where(share > 0, share, 1.0)


def _united(chains: list[_Described]) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Return all concepts of all chains, partners united, beginning with the chains that agree most with the others.

    These are sums over the chains of descriptions (K, V) and of rows (K), and which chains find a concept (K, chains).
    """
    agreement = np.zeros(len(chains))
    for a, one in enumerate(chains):
        for b, other in enumerate(chains):
            if a != b:
                agreement[a] += find_partners(one.description, other.description).overlap @ one.rows
    total, rows = sparse.csr_array((0, chains[0].description.shape[1])), np.zeros(0)
    found = np.zeros((0, len(chains)), bool)
    for c in np.argsort(-agreement, kind="stable"):
        one = chains[c]
        of = find_partners(normalised(total), one.description).of
        place, put = united_places(of, len(one.rows))
        n_new = put.shape[0] - len(of)
        found = np.concatenate([found, np.zeros((n_new, len(chains)), bool)])
        found[place, c] = True
        rows = np.concatenate([rows, np.zeros(n_new)]) + put @ one.rows
        total = sparse.csr_array(longer(total, put.shape[0]) + put @ one.description)
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
    dense = sparse.csr_array(description)
    dense.sort_indices()
    parts = np.split(dense.indices, dense.indptr[1:-1]) if len(rows) else []
    keys = [(-round(float(n), 6), tuple(words.tolist())) for n, words in zip(rows, parts)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=int)


def _others(
    total: sparse.csr_array, rows: np.ndarray, found: np.ndarray, unlisted: np.ndarray, draw: Kept
) -> OtherConcepts:
    times = np.maximum(found.sum(axis=1), 1)
    rows = rows / times
    which = unlisted[rows[unlisted] > handful(len(draw.state.doc_ptr) - 1)]
    which = which[np.lexsort((-rows[which], -times[which]))]
    score = sparse.csr_array(total[which])
    words = [
        score.indices[a:b][np.argsort(-score.data[a:b], kind="stable")][:_WORDS]
        for a, b in zip(score.indptr[:-1], score.indptr[1:])
    ]
    joined = np.concatenate([np.zeros(0, np.int32), *words]).astype(np.int32)
    return OtherConcepts(rows[which], found[which], np.cumsum([0, *map(len, words)]).astype(np.int64), joined)


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
    return found._replace(words=word_shares(reference), partner=partner, overlap=overlap)


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
    unite = sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(row), len(row)))
    return described(sparse.csr_array(unite @ usage.used), unite @ usage.holders), place
