"""Concepts that other chains find and the reference lacks: united across chains, each with the chains that find it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.concepts.alignment import LEAST_OVERLAP, described, find_partners, handful, overlaps, usage_of
from superwords.draws import Draws, Kept

_DRAWS = 10  # of each chain, evenly spaced
_TYPICAL = 0.5  # share of a chain's draws from which on the chain finds a concept
_LEAST_CHAINS = 2
_WORDS = 30


class OtherConcepts(NamedTuple):
    """K concepts, those of most chains first; words by what they tell of a concept."""

    holders: np.ndarray  # (K) m_j in the draw that it is taken from
    found: np.ndarray  # (K, chains) share of a chain's draws that have such a concept
    ptr: np.ndarray  # (K + 1) into word
    word: np.ndarray


class _Candidates(NamedTuple):
    description: sparse.csc_array  # (K, V)
    holders: np.ndarray


def find_others(draws: Draws, reference: sparse.csc_array, own_chain: int) -> OtherConcepts:
    """The concepts of the other chains' most probable draws that have no partner in the reference.

    Kept are those that at least two chains find, of several that are alike the one that most chains find.
    """
    chains = [c for c, chain in enumerate(draws.chains) if len(chain)]
    others = [c for c in chains if c != own_chain]
    unpaired = [_unpaired(draws.most_probable(np.array([c])), reference) for c in others]
    n_words = reference.shape[1]
    description = sparse.csc_array(
        sparse.vstack([sparse.csc_array((0, n_words)), *(one.description for one in unpaired)], format="csc")
    )
    holders = np.concatenate([np.zeros(0, np.int64), *(one.holders for one in unpaired)])
    found = np.zeros((len(holders), len(draws.chains)), np.float32)
    if len(holders):
        for c in chains:
            found[:, c] = _found_by(draws, c, description)
    chosen = _united(description, holders, found)
    rows = sparse.csr_array(description)[chosen]
    words = [
        rows.indices[a:b][np.argsort(-rows.data[a:b], kind="stable")][:_WORDS]
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:])
    ]
    ptr = np.cumsum([0, *map(len, words)]).astype(np.int64)
    joined = np.concatenate([np.zeros(0, np.int32), *words]).astype(np.int32)
    return OtherConcepts(holders[chosen].astype(np.int32), found[chosen], ptr, joined)


def _unpaired(draw: Kept, reference: sparse.csc_array) -> _Candidates:
    usage = usage_of(draw)
    description = described(usage.used, usage.holders)
    is_large = usage.holders > handful(len(draw.state.doc_ptr) - 1)
    is_large[np.setdiff1d(find_partners(reference, description).of, [-1])] = False
    which = np.flatnonzero(is_large)
    return _Candidates(sparse.csc_array(description[which]), usage.holders[which])


def _found_by(draws: Draws, c: int, description: sparse.csc_array) -> np.ndarray:
    """(K): the share of some draws of chain c that have a concept like each."""
    chain = draws.chains[c]
    chosen = np.unique(np.linspace(0, len(chain) - 1, _DRAWS).round().astype(int))
    found = np.zeros(description.shape[0])
    for s in chosen:
        usage = usage_of(chain[int(s)])
        if len(usage.holders):
            alike = overlaps(description, described(usage.used, usage.holders)).max(axis=1)
            found += alike >= LEAST_OVERLAP - 1e-12
    return found / len(chosen)


def _united(description: sparse.csc_array, holders: np.ndarray, found: np.ndarray) -> np.ndarray:
    n_chains = (found >= _TYPICAL).sum(axis=1)
    alike = overlaps(description, description) >= LEAST_OVERLAP
    chosen: list[int] = []
    for k in np.lexsort((-holders, -found.sum(axis=1), -n_chains)):
        if n_chains[k] >= _LEAST_CHAINS and not alike[k, chosen].any():
            chosen.append(int(k))
    return np.array(chosen, int)
