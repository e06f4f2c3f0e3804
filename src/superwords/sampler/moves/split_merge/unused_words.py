"""Unused words in splits and merges: words on in a document without a token.

They are kept in the documents that keep one concept, or redrawn in all; where one concept becomes two, or the reverse,
they are always redrawn. Given the words used they follow an urn over the documents (γ integrated out) times
(T/(T+θ_i))^n for the text and the features' density. The proposal draws them document by document and word by word,
approximating the effect of later documents; Metropolis–Hastings corrects for the approximation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.feature_likelihood import posterior
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.split_merge.division import Group, Side, Sides, entries_of, limit, take_side
from superwords.sampler.random import uniform
from superwords.sampler.state import Sizes, State, Tokens

_MOST_LOG_FACTOR = 4.0
_DAMPING = 0.65  # factor on the features' log odds, tuned to the approximation of later documents
_UPDATES = 16  # updates of the features' odds per pass over the documents
_EVERY = 32  # words between two updates of T


class Unused(NamedTuple):
    """The unused words of a concept in each document of a group."""

    ptr: np.ndarray  # (n+1)
    word: np.ndarray  # ascending in a document


class Urn(NamedTuple):
    """Initial counts and parameters of the probabilities of unused words.

    The features are Normal about a mean that moves by t = e/(n_i + e) of the way to the concept's when the word is
    unused in e documents: log density g(e) = tβ − t²γ/2, up to a constant.
    """

    on: np.ndarray  # (V) b₂λ_i, and the documents that keep the word on
    off: np.ndarray  # (V) b₂(1 − λ_i), and those that keep it off
    theta: np.ndarray  # (V)
    total: np.ndarray  # (V) n_i, unused words that are to be drawn left out
    beta: np.ndarray  # (V)
    gamma: np.ndarray  # (V)
    expected: np.ndarray  # (V) about how many documents will have it unused
    fuller: float  # about T with unused words, over T without


class UrnState(NamedTuple):
    """The progress of a proposal through the documents."""

    on: np.ndarray  # (V) of the urn, with later documents included
    off: np.ndarray  # (V)
    factor: np.ndarray  # (V) of the odds, by the features now
    foreseen: np.ndarray  # (V) its initial value
    unused: np.ndarray  # (V) documents that have the word unused
    used: np.ndarray  # (V) whether the current document uses it
    n_held: np.ndarray  # () documents with the concept
    n_seen: np.ndarray  # () those processed
    document: np.ndarray  # () the next one


class Context(NamedTuple):
    """Quantities that a split or merge does not change."""

    rest: Sizes  # all further concepts
    fuller: float  # their words on, over their words used
    changing: np.ndarray  # (n) bool: documents that get new unused words
    kept: Unused  # of the others
    theta: np.ndarray
    model: Model


class Proposal(NamedTuple):
    """The group as one concept or as two, with unused words or without them."""

    sides: list[Side]
    unused: list[Unused]
    log_q: float  # log probability of having drawn the unused words
    log_text: float  # log Π_d T_dj^{−n_dj}
    m: np.ndarray  # (1 or 2, V)
    holders: np.ndarray  # (1 or 2)


def unused_of(state: State, tokens: Tokens, group: Group, j: int) -> Unused:
    """Return the present unused words of concept j."""
    size = np.diff(state.pair_ptr)
    mine = np.repeat(state.concept == j, size) & (tokens.entry == 0)
    doc = np.repeat(np.repeat(np.arange(len(state.doc_ptr) - 1), np.diff(state.doc_ptr)), size)[mine]
    return Unused(np.searchsorted(doc, np.append(group.doc, len(state.doc_ptr))), state.word[mine])


def keep(unused: list[Unused], docs: np.ndarray) -> Unused:
    """Return the unused words of the documents in a mask, each with one concept."""
    kept = [_pick(one, docs) for one in unused]
    return kept[0] if len(kept) == 1 else _join(*kept)


def _pick(unused: Unused, docs: np.ndarray) -> Unused:
    ptr, mine = entries_of(unused.ptr, docs)
    return Unused(ptr, unused.word[mine])


def _join(one: Unused, other: Unused) -> Unused:
    """Join two sets that share no document."""
    doc = np.concatenate([np.repeat(np.arange(len(i.ptr) - 1), np.diff(i.ptr)) for i in (one, other)])
    order = np.argsort(doc, kind="stable")
    return Unused(one.ptr + other.ptr, np.concatenate([one.word, other.word])[order])


def all_words(side: Side, unused: Unused) -> tuple[np.ndarray, np.ndarray]:
    """Return the words on in each document, ascending, and their tokens."""
    per_doc = np.concatenate([np.diff(side.ptr), np.diff(unused.ptr)])
    doc = np.repeat(np.tile(np.arange(len(side.held)), 2), per_doc)
    word = np.concatenate([side.word, unused.word])
    tokens = np.concatenate([side.tokens, np.zeros(len(unused.word), np.int64)]).astype(np.int32)
    order = np.lexsort((word, doc))
    return word[order], tokens[order]


def without_unused(group: Group, sides: Sides, theta: np.ndarray) -> Proposal:
    """Return the one or two concepts of a division, without unused words."""
    parts = [take_side(group, sides, s) for s in range(2) if sides.holders[s]]
    none = Unused(np.zeros(len(group.doc) + 1, np.int64), np.zeros(0, np.int32))
    return Proposal(
        parts,
        [none] * len(parts),
        0.0,
        float(sum(log_masses(part, none, theta) for part in parts)),
        np.array([_count(part.word, theta) for part in parts]),
        np.array([int(part.held.sum()) for part in parts]),
    )


def with_unused(proposal: Proposal, context: Context, present: list[Unused] | None, stream: np.ndarray) -> Proposal:
    """Return the same with unused words: drawn in documents that change, else kept."""
    rest, changing, theta = context.rest, context.changing, context.theta
    unused = [_pick(context.kept, side.held & ~changing) for side in proposal.sides]
    m = proposal.m + np.array([_count(one.word, theta) for one in unused])
    log_q = 0.0
    if changing.any():
        total = rest.total + m.sum(axis=0)
        sizes = Sizes(np.vstack([m, rest.m]), np.append(proposal.holders, rest.holders), total)
        parts = [limit(side, changing) for side in proposal.sides]
        for s, urn in enumerate(make_urns(sizes, parts, context)):
            target = None if present is None else _pick(present[s], changing)
            found, log_p = propose(parts[s], urn, target, stream)
            log_q += log_p
            m[s] += _count(found.word, theta)
            unused[s] = _join(unused[s], found)
    log_text = float(sum(log_masses(side, one, theta) for side, one in zip(proposal.sides, unused)))
    return proposal._replace(unused=unused, log_q=log_q, log_text=log_text, m=m)


def _count(words: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.bincount(words, minlength=len(theta)).astype(np.int32)


def make_urns(sizes: Sizes, parts: list[Side], context: Context) -> list[Urn]:
    """Return the urns of the first concepts of `sizes`, less the changing documents."""
    data, prior, theta = context.model.data, context.model.prior, context.theta
    total = sizes.total.astype(float)
    beta, gamma = np.zeros((2, len(parts), len(theta)))
    if data.Y.shape[1]:
        _, x, b, _ = posterior(sizes, data, prior)
        # Parameters of the Student-t of one word's features given those of all others
        freedom = 2.0 * prior.alpha_sigma + int(data.known.sum()) - 1
        precision = 0.5 * freedom / b
        now = (sizes.m.T.astype(float) @ x) / np.maximum(total, 1.0)[:, None]
        for s in range(len(parts)):
            step = np.where(data.known[:, None], x[s] - now, 0.0)
            beta[s], gamma[s] = ((data.Y - now) * step) @ precision, step**2 @ precision
    urns = []
    for s, side in enumerate(parts):
        used, n = _count(side.word, theta), int(side.held.sum())
        on = prior.b2 * prior.lam + sizes.m[s] - used
        off = prior.b2 * (1.0 - prior.lam) + sizes.holders[s] - sizes.m[s] - (n - used)
        odds = 0.5 * (on + used) / (off + n - used)
        expected = (n - used) * odds / (1.0 + odds)
        urns.append(Urn(on, off, theta, total, beta[s], gamma[s], expected, context.fuller))
    return urns


def propose(side: Side, urn: Urn, present: Unused | None, stream: np.ndarray) -> tuple[Unused, float]:
    """Draw (or score) unused words for every document; return their log probability."""
    target = present or Unused(np.zeros_like(side.ptr), np.zeros(0, np.int32))
    n_words, log_q = len(urn.theta), np.zeros(1)
    progress = UrnState(
        urn.on.copy(),
        urn.off.copy(),
        np.ones(n_words),
        np.ones(n_words),
        np.zeros(n_words),
        np.zeros(n_words, np.bool_),
        *(np.zeros((), np.int64) for _ in range(3)),
    )
    ptr, word = np.zeros_like(side.ptr), np.empty(len(side.word) + n_words, np.int32)
    while not _go_through(side, urn, progress, target, present is not None, ptr, word, log_q, stream):
        word = np.append(word, np.empty(len(word) + n_words, np.int32))
    return Unused(ptr, word[: ptr[-1]].copy()), float(log_q[0])


@ref_kernel
def _go_through(side, urn, progress, target, is_forced, ptr, word, log_q, stream):
    """Draw or score unused words by document; return False if space runs out."""
    if progress.n_held == 0:  # the first call: count all documents as not yet processed
        _update_factors(1.0, progress, urn)
        for i in range(len(urn.theta)):
            progress.foreseen[i] = progress.factor[i]
        for n in range(len(side.held)):
            if side.held[n]:
                progress.n_held += 1
                mass = _mark_used(n, True, progress, side, urn)
                _foresee(n, 1.0, mass, progress, side, urn)
                _mark_used(n, False, progress, side, urn)
    n_held = progress.n_held
    while progress.document < len(side.held):
        n = progress.document
        at = ptr[n]
        if side.held[n]:
            if at + len(urn.theta) > len(word):
                return False
            to_come = 1.0 - progress.n_seen / n_held
            if progress.n_seen % (1 + n_held // _UPDATES) == 0:
                _update_factors(to_come, progress, urn)
            progress.n_seen += 1
            mine = target.word[target.ptr[n] : target.ptr[n + 1]]
            log_p, found = _draw_document(n, to_come, progress, side, urn, mine, is_forced, word, at, stream)
            log_q[0] += log_p
            at += found
        ptr[n + 1] = at
        progress.document += 1
    return True


@helper
def _draw_document(n, to_come, progress, side, urn, target, is_forced, word, at, stream):
    """Draw a document's unused words given those before; return log q and number."""
    on, off, factor, theta = progress.on, progress.off, progress.factor, urn.theta
    mass = _mark_used(n, True, progress, side, urn)
    rest = _foresee(n, -1.0, mass, progress, side, urn)
    tokens, found, log_q = side.per_doc[n], 0, 0.0
    # The next unused word is the first at which the probability of none so far falls below the threshold.
    product, threshold = 1.0, 0.0 if is_forced else uniform(stream)
    penalty, computed_for = 1.0, -1.0  # (1 + θ_i/T)^n, and the θ_i it was computed for
    for i in range(len(theta)):
        if progress.used[i]:
            on[i] += 1.0
            continue
        if tokens > 0 and (computed_for != theta[i] or i % _EVERY == 0):
            penalty, computed_for = (1.0 + theta[i] / (mass + rest)) ** tokens, theta[i]
        odds = on[i] / off[i] * factor[i] / penalty
        p_off = 1.0 / (1.0 + odds)
        rest = max(rest - theta[i] * odds * p_off, 0.0)
        is_on = product * p_off <= threshold
        if is_forced:
            is_on = found < len(target) and target[found] == i
        if is_on:
            log_q += math.log(product * odds * p_off)
            product, threshold = 1.0, 0.0 if is_forced else uniform(stream)
            on[i] += 1.0
            progress.unused[i] += 1.0
            factor[i] = _feature_factor(i, progress.unused[i] + to_come * urn.expected[i], urn)
            mass += theta[i]
            computed_for = -1.0
            word[at + found] = i
            found += 1
        else:
            off[i] += 1.0
            product *= p_off
            if product < 1e-200:
                log_q += math.log(product)
                threshold /= product
                product = 1.0
    _mark_used(n, False, progress, side, urn)
    return log_q + math.log(product), found


@helper
def _mark_used(n, is_used, progress, side, urn):
    """Mark the words a document uses, or clear the marks; return Σ θ of them."""
    mass = 0.0
    for e in range(side.ptr[n], side.ptr[n + 1]):
        progress.used[side.word[e]] = is_used
        mass += urn.theta[side.word[e]]
    return mass


@helper
def _foresee(n, step, mass, progress, side, urn):
    """Count (or uncount) a later document; return what unused words may add to T.

    A word it uses counts as on. One it does not use counts as off in part: given γ the document has probability
    1 − γ(1 − s) with s = (T/(T+θ_i))^n, about (1 − γ)^(1 − s).
    """
    on, off, theta = progress.on, progress.off, urn.theta
    tokens = side.per_doc[n]
    penalty, computed_for, total = 1.0, -1.0, 0.0
    for i in range(len(theta)):
        if progress.used[i]:
            on[i] += step
            continue
        if tokens > 0 and computed_for != theta[i]:
            penalty, computed_for = (1.0 + theta[i] / (urn.fuller * mass)) ** tokens, theta[i]
        off[i] += step * max(1.0 - progress.foreseen[i] / penalty, 0.0)
        if step > 0.0:
            continue
        odds = on[i] / off[i] * progress.factor[i] / penalty
        total += theta[i] * odds / (1.0 + odds)
    return total


@helper
def _update_factors(to_come, progress, urn):
    for i in range(len(urn.theta)):
        progress.factor[i] = _feature_factor(i, progress.unused[i] + to_come * urn.expected[i], urn)


@helper
def _feature_factor(i, e, urn):
    """Return the factor of the odds that one more document has the word unused."""
    if urn.gamma[i] == 0.0:
        return 1.0
    before, after = e / max(urn.total[i] + e, 1e-300), (e + 1.0) / (urn.total[i] + e + 1.0)
    gain = _DAMPING * (after - before) * (urn.beta[i] - 0.5 * (after + before) * urn.gamma[i])
    return math.exp(min(max(gain, -_MOST_LOG_FACTOR), _MOST_LOG_FACTOR))


@ref_kernel
def log_masses(side, unused, theta):
    """Return log Π_d T_dj^{−n_dj}."""
    log_p = 0.0
    for n in range(len(side.held)):
        if side.per_doc[n] == 0:
            continue
        mass = 0.0
        for e in range(side.ptr[n], side.ptr[n + 1]):
            mass += theta[side.word[e]]
        for e in range(unused.ptr[n], unused.ptr[n + 1]):
            mass += theta[unused.word[e]]
        log_p -= side.per_doc[n] * math.log(mass)
    return log_p
