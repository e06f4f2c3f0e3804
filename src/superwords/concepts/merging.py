"""Concepts taken together, in every draw: the parts of a result in which some columns are merged and others empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from superwords.concepts.intervals import TAILS, sparse_quantile
from superwords.concepts.sets import on_in_concepts
from superwords.concepts.summary import (
    USED_BY,
    Alignment,
    Memberships,
    Summary,
    Uses,
    WordUse,
    shared_weights,
)
from superwords.concepts.word_draws import union_of_words, used_twice
from superwords.draws import Kept

if TYPE_CHECKING:
    from superwords.concepts.result import Result


def merged_parts(result: Result, into: np.ndarray) -> dict[str, Any]:
    """What `Result` derives from the draws, with concept j counted in column `into[j]` (-1: in none)."""
    n_documents, n_words = result.corpus.counts.shape
    summary = result.summary
    members = {int(a): np.flatnonzero(into == a) for a in np.unique(into[into >= 0]) if (into == a).sum() > 1}
    memberships = _merged_memberships(summary.memberships, n_documents, into)
    alignment = _merged_alignment(summary, memberships, n_documents, n_words, into)
    merged = Summary(
        alignment,
        _merged_words(summary, alignment, members, into, n_words),
        memberships,
        _merged_uses(summary, members, into, n_documents, n_words),
        summary.word_draws,
        summary.others,
    )
    return {
        "summary": merged,
        "reference_weights": _gathered(result.reference_weights, into),
        "concept_word": _merged_concept_word(result, members, into),
    }


def gathering(into: np.ndarray) -> sparse.csr_array:
    """(J, J): 1 where a concept is counted in a column; weights times this are those of merged concepts added."""
    shown = np.flatnonzero(into >= 0)
    return sparse.csr_array((np.ones(len(shown)), (shown, into[shown])), shape=(len(into), len(into)))


def _gathered(weights: sparse.csr_array, into: np.ndarray) -> sparse.csr_array:
    """The weights of documents, those of merged concepts added."""
    out = sparse.csr_array(weights @ gathering(into))
    out.sort_indices()
    return out


def _merged_concept_word(result: Result, members: dict[int, np.ndarray], into: np.ndarray) -> np.ndarray:
    """m_ji / m_j of the most probable draw."""
    out = np.where((into == np.arange(len(into)))[:, None], result.concept_word, 0.0)
    draw, order = result.best_draw, result.concept_order
    for a, those in members.items():
        out[a] = _share_on(draw, order[those])
    return out


def _share_on(draw: Kept, labels: np.ndarray) -> np.ndarray:
    """(V): share of the documents holding any of a draw's concepts that have a word on in any of them."""
    state = draw.state
    document = np.repeat(np.arange(len(state.doc_ptr) - 1), np.diff(state.doc_ptr))
    inside = np.isin(state.concept, labels)
    # Every document as a concept of its own: its words, each once.
    words = on_in_concepts(state._replace(concept=np.where(inside, document, len(state.doc_ptr))))
    holders = np.unique(document[inside])
    return np.asarray((words[holders] > 0).sum(axis=0)).ravel() / max(len(holders), 1)


def _merged_memberships(kept: Memberships, n_documents: int, into: np.ndarray) -> Memberships:
    shape = (len(kept.draw) * n_documents, len(into))
    stacked = sparse.csr_array((kept.weight.astype(float), kept.concept, kept.ptr), shape=shape)
    merged = _gathered(stacked, into)
    return Memberships(
        kept.draw,
        merged.indptr.astype(np.int64),
        merged.indices.astype(np.int32),
        merged.data.astype(np.float32),
    )


def _merged_alignment(
    summary: Summary, memberships: Memberships, n_documents: int, n_vocabulary: int, into: np.ndarray
) -> Alignment:
    """A merged concept is found in the draws that find any member, as well as the member that is found best.

    Holders and strength of draws without memberships are at least those of a member; tables do not ask for them.
    """
    old = summary.alignment

    def best(values: np.ndarray) -> np.ndarray:
        out = np.zeros_like(values)
        for j, a in enumerate(into):
            if a >= 0:
                out[:, a] = np.fmax(out[:, a], values[:, j])
        return out

    holders, strength = best(old.holders), best(np.nan_to_num(old.strength))
    merged = np.flatnonzero(np.bincount(into[into >= 0], minlength=len(into)) > 1)
    shape = (n_documents, len(into))
    for t, s in enumerate(memberships.draw):
        ptr = memberships.ptr[t * n_documents : (t + 1) * n_documents + 1]
        part = slice(ptr[0], ptr[-1])
        entries = memberships.weight[part].astype(float), memberships.concept[part], ptr - ptr[0]
        weights = sparse.csc_array(sparse.csr_array(entries, shape=shape))
        holders[s, merged] = np.diff(weights.indptr)[merged]
        total = np.asarray(weights.sum(axis=0)).ravel()[merged]
        strength[s, merged] = total / np.maximum(holders[s, merged], 1)
    overlap, n_words = best(old.overlap), best(old.n_words)
    for a in merged:
        for t, s in enumerate(memberships.draw):
            union = union_of_words(summary.word_draws, t, into == a, n_vocabulary)
            n_words[s, a] = (union.used >= USED_BY * holders[s, a]).sum()
    return Alignment(
        *(old.chain, old.chain_weight, old.reference, overlap, holders),
        np.where(overlap > 0, strength, np.nan).astype(np.float32),
        n_words,
    )


def _merged_words(
    summary: Summary,
    alignment: Alignment,
    members: dict[int, np.ndarray],
    into: np.ndarray,
    n_words: int,
) -> WordUse:
    own = np.flatnonzero((into == np.arange(len(into)))[summary.words.concept])
    own = own[~np.isin(summary.words.concept[own], list(members))]
    parts = [WordUse(*(column[own] for column in summary.words))]
    parts += [_words_of_merged(summary, alignment, a, those, n_words) for a, those in members.items()]
    joined = [np.concatenate(columns) for columns in zip(*parts)]
    order = np.lexsort((joined[1], joined[0]))
    return WordUse(*(column[order] for column in joined))


def _words_of_merged(
    summary: Summary, alignment: Alignment, a: int, members: np.ndarray, n_words: int
) -> WordUse:
    is_member = np.zeros(alignment.holders.shape[1], bool)
    is_member[members] = True
    kept = summary.memberships.draw
    weight = shared_weights(alignment.chain_weight, alignment.chain[kept]) * alignment.matched[kept, a]
    draws = np.flatnonzero(weight)
    unions = [union_of_words(summary.word_draws, int(t), is_member, n_words) for t in draws]
    lengths = [len(one.word) for one in unions]
    share = np.repeat(1 / np.maximum(alignment.holders[kept[draws], a], 1), lengths)
    counted = np.repeat(weight[draws] / max(weight.sum(), 1e-300), lengths)
    key = np.concatenate([np.zeros(0, int), *(one.word for one in unions)])
    users = np.concatenate([np.zeros(0), *(one.used for one in unions)])
    on, used = np.concatenate([np.zeros(0), *(one.on for one in unions)]) * share, users * share
    word, at = np.unique(key, return_inverse=True)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(at, values * counted, len(word)).astype(np.float32)

    def bound(values: np.ndarray, q: float) -> np.ndarray:
        return sparse_quantile(key, values, counted, q).astype(np.float32)

    return WordUse(
        np.full(len(word), a, np.int32),
        word.astype(np.int32),
        mean((used >= USED_BY).astype(float)),
        mean(on),
        bound(on, TAILS[0]),
        bound(on, TAILS[1]),
        mean(used),
        bound(used, TAILS[0]),
        bound(used, TAILS[1]),
        mean(users),
    )


def _merged_uses(
    summary: Summary, members: dict[int, np.ndarray], into: np.ndarray, n_documents: int, n_words: int
) -> Uses:
    uses = summary.uses
    document = np.repeat(np.arange(n_documents), np.diff(uses.ptr))
    shown = into[uses.concept] >= 0
    rows = [(document[shown], into[uses.concept[shown]], uses.word[shown], uses.share[shown].astype(float))]
    aligned, kept = summary.alignment, summary.memberships.draw
    weight = shared_weights(aligned.chain_weight, aligned.chain[kept])
    for a, those in members.items():
        is_member = np.zeros(len(into), bool)
        is_member[those] = True
        for t in range(len(kept)):
            where, word, more = used_twice(summary.word_draws, t, is_member)
            rows.append((where, np.full(len(word), a), word, -weight[t] * more))
    found, concept, word, share = (np.concatenate(column) for column in zip(*rows))
    key, at = np.unique((found.astype(np.int64) * len(into) + concept) * n_words + word, return_inverse=True)
    total = np.bincount(at, share, len(key)).astype(np.float32)
    where, rest = np.divmod(key, len(into) * n_words)
    return Uses(
        np.searchsorted(where, np.arange(n_documents + 1)).astype(np.int64),
        (rest // n_words).astype(np.int32),
        (rest % n_words).astype(np.int32),
        total,
    )
