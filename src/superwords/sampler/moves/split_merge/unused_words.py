"""Unused words in splits and merges: words on in a document without a token.

Given the words used they follow an urn over the documents (γ integrated out) times (T/(T+θ_i))^n for the text and the
features' density. The proposal draws them document by document, approximating the effect of later documents.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from superwords.sampler.feature_likelihood import posterior
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.split_merge.division import Group, Side, Sides, Words, join, pick, take_side
from superwords.sampler.random import uniform
from superwords.sampler.state import Sizes, State, Tokens

_MOST_LOG_FACTOR = 4.0
_DAMPING = 0.65  # factor on the features' log odds, tuned to the approximation of later documents
_UPDATES = 16  # updates of the features' odds per pass over the documents
_EVERY = 32  # words between two updates of T


class Urn(NamedTuple):
    """Probabilities of a concept's unused words, and the progress of a proposal through the documents.

    The features are Normal about a mean that moves by t = e/(n_i + e) of the way to the concept's when the word is
    unused in e documents: log density g(e) = tβ − t²γ/2, up to a constant.
    """

    on: np.ndarray  # (V) b₂λ_i, and the documents that keep the word on; `propose` adds later documents
    off: np.ndarray  # (V) b₂(1 − λ_i), and those that keep it off
    theta: np.ndarray  # (V)
    total: np.ndarray  # (V) n_i, unused words that are to be drawn left out
    beta: np.ndarray  # (V)
    gamma: np.ndarray  # (V)
    expected: np.ndarray  # (V) about how many documents will have it unused
    fuller: float  # about T with unused words, over T without
    factor: np.ndarray  # (V) of the odds, by the features now
    foreseen: np.ndarray  # (V) its initial value
    unused: np.ndarray  # (V) documents that have the word unused
    used: np.ndarray  # (V) whether the current document uses it
    n_held: np.ndarray  # () documents with the concept
    n_seen: np.ndarray  # () those processed
    document: np.ndarray  # () the next one
    log_q: np.ndarray  # () log probability of what was drawn


def make_urn(*given: Any) -> Urn:
    """Return an urn from its first eight fields, before the first document."""
    n_words = len(given[0])
    later: dict[str, Any] = {name: np.ones(n_words) for name in ("factor", "foreseen")}
    later |= {name: np.zeros((), np.int64) for name in ("n_held", "n_seen", "document")}
    later |= {"unused": np.zeros(n_words), "used": np.zeros(n_words, np.bool_), "log_q": np.zeros(())}
    return Urn(*given, **later)


class Context(NamedTuple):
    """Quantities that a split or merge does not change."""

    rest: Sizes  # all further concepts
    fuller: float  # their words on, over their words used
    changing: np.ndarray  # (n) bool: documents that get new unused words
    kept: Words  # the unused words of the others
    model: Model


class Proposal(NamedTuple):
    """The group as one concept or as two, with unused words or without them."""

    sides: list[Side]
    words: list[Words]
    log_q: float  # log probability of having drawn the unused words
    log_text: float  # log Π_d T_dj^{−n_dj}
    m: np.ndarray  # (1 or 2, V)
    holders: np.ndarray  # (1 or 2)


def make_proposal(sides: list[Side], words: list[Words], log_q: float, theta: np.ndarray) -> Proposal:
    log_text = float(sum(log_masses(side, one, theta) for side, one in zip(sides, words)))
    m = np.array([_count(one, theta) for one in words])
    return Proposal(sides, words, log_q, log_text, m, np.array([int(side.held.sum()) for side in sides]))


def unused_of(state: State, tokens: Tokens, group: Group, j: int) -> Words:
    """Return the present unused words of concept j."""
    size = np.diff(state.pair_ptr)
    mine = np.repeat(state.concept == j, size) & (tokens.entry == 0)
    doc = np.repeat(np.repeat(np.arange(len(state.doc_ptr) - 1), np.diff(state.doc_ptr)), size)[mine]
    ptr = np.searchsorted(doc, np.append(group.doc, len(state.doc_ptr)))
    return Words(ptr, state.word[mine], tokens.entry[mine])


def without_unused(group: Group, sides: Sides, theta: np.ndarray) -> Proposal:
    """Return the one or two concepts of a division, without unused words."""
    parts = [take_side(group, sides, s) for s in range(2) if sides.holders[s]]
    return make_proposal(parts, [part.used for part in parts], 0.0, theta)


def with_unused(
    proposal: Proposal, context: Context, present: list[Words] | None, theta: np.ndarray, stream: np.ndarray
) -> Proposal:
    """Return the same with unused words: drawn in documents that change, else kept."""
    rest, changing, log_q = context.rest, context.changing, 0.0
    words = [join(side.used, pick(context.kept, side.held & ~changing)) for side in proposal.sides]
    if changing.any():
        m = np.array([_count(one, theta) for one in words])
        total = rest.total + m.sum(axis=0)
        sizes = Sizes(np.vstack([m, rest.m]), np.append(proposal.holders, rest.holders), total)
        parts = [side._replace(held=side.held & changing, used=pick(side.used, changing)) for side in proposal.sides]
        for s, urn in enumerate(make_urns(sizes, parts, context, theta)):
            target = None if present is None else pick(present[s], changing)
            found, log_p = propose(parts[s], urn, target, stream)
            log_q += log_p
            words[s] = join(words[s], found)
    return make_proposal(proposal.sides, words, log_q, theta)


def _count(words: Words, theta: np.ndarray) -> np.ndarray:
    return np.bincount(words.word, minlength=len(theta)).astype(np.int32)


def make_urns(sizes: Sizes, parts: list[Side], context: Context, theta: np.ndarray) -> list[Urn]:
    """Return the urns of the first concepts of `sizes`, less the changing documents."""
    data, prior = context.model.data, context.model.prior
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
        used, n = _count(side.used, theta), int(side.held.sum())
        on = prior.b2 * prior.lam + sizes.m[s] - used
        off = prior.b2 * (1.0 - prior.lam) + sizes.holders[s] - sizes.m[s] - (n - used)
        odds = 0.5 * (on + used) / (off + n - used)
        expected = (n - used) * odds / (1.0 + odds)
        urns.append(make_urn(on, off, theta, total, beta[s], gamma[s], expected, context.fuller))
    return urns


def propose(side: Side, urn: Urn, present: Words | None, stream: np.ndarray) -> tuple[Words, float]:
    """Draw (or score) unused words for every document; return their log probability."""
    used, n_words = side.used, len(urn.theta)
    target = present or used
    ptr, word = np.zeros_like(used.ptr), np.empty(len(used.word) + n_words, np.int32)
    while not _go_through(side, urn, target, present is not None, ptr, word, stream):
        word = np.append(word, np.empty(len(word) + n_words, np.int32))
    return Words(ptr, word[: ptr[-1]].copy(), np.zeros(ptr[-1], used.tokens.dtype)), float(urn.log_q)


@ref_kernel
def _go_through(side, urn, target, is_forced, ptr, word, stream):
    """Draw or score unused words by document; return False if space runs out."""
    if urn.n_held == 0:  # the first call: count all documents as not yet processed
        _update_factors(1.0, urn)
        for i in range(len(urn.theta)):
            urn.foreseen[i] = urn.factor[i]
        for n in range(len(side.held)):
            if side.held[n]:
                urn.n_held += 1
                mass = _mark_used(n, True, side, urn)
                _foresee(n, 1.0, mass, side, urn)
                _mark_used(n, False, side, urn)
    n_held = urn.n_held
    while urn.document < len(side.held):
        n = urn.document
        at = ptr[n]
        if side.held[n]:
            if at + len(urn.theta) > len(word):
                return False
            to_come = 1.0 - urn.n_seen / n_held
            if urn.n_seen % (1 + n_held // _UPDATES) == 0:
                _update_factors(to_come, urn)
            urn.n_seen += 1
            mine = target.word[target.ptr[n] : target.ptr[n + 1]]
            log_p, found = _draw_document(n, to_come, side, urn, mine, is_forced, word, at, stream)
            urn.log_q += log_p
            at += found
        ptr[n + 1] = at
        urn.document += 1
    return True


@helper
def _draw_document(n, to_come, side, urn, target, is_forced, word, at, stream):
    """Draw a document's unused words given those before; return log q and number."""
    on, off, factor, theta = urn.on, urn.off, urn.factor, urn.theta
    mass = _mark_used(n, True, side, urn)
    rest = _foresee(n, -1.0, mass, side, urn)
    tokens, found, log_q = side.per_doc[n], 0, 0.0
    # The next unused word is the first at which the probability of none so far falls below the threshold.
    product, threshold = 1.0, 0.0 if is_forced else uniform(stream)
    penalty, computed_for = 1.0, -1.0  # (1 + θ_i/T)^n, and the θ_i it was computed for
    for i in range(len(theta)):
        if urn.used[i]:
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
            urn.unused[i] += 1.0
            factor[i] = _feature_factor(i, urn.unused[i] + to_come * urn.expected[i], urn)
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
    _mark_used(n, False, side, urn)
    return log_q + math.log(product), found


@helper
def _mark_used(n, is_used, side, urn):
    """Mark the words a document uses, or clear the marks; return Σ θ of them."""
    mass = 0.0
    for e in range(side.used.ptr[n], side.used.ptr[n + 1]):
        urn.used[side.used.word[e]] = is_used
        mass += urn.theta[side.used.word[e]]
    return mass


@helper
def _foresee(n, step, mass, side, urn):
    """Count (or uncount) a later document; return what unused words may add to T.

    A word it uses counts as on. One it does not use counts as off in part: given γ the document has probability
    1 − γ(1 − s) with s = (T/(T+θ_i))^n, about (1 − γ)^(1 − s).
    """
    on, off, theta = urn.on, urn.off, urn.theta
    tokens = side.per_doc[n]
    penalty, computed_for, total = 1.0, -1.0, 0.0
    for i in range(len(theta)):
        if urn.used[i]:
            on[i] += step
            continue
        if tokens > 0 and computed_for != theta[i]:
            penalty, computed_for = (1.0 + theta[i] / (urn.fuller * mass)) ** tokens, theta[i]
        off[i] += step * max(1.0 - urn.foreseen[i] / penalty, 0.0)
        if step > 0.0:
            continue
        odds = on[i] / off[i] * urn.factor[i] / penalty
        total += theta[i] * odds / (1.0 + odds)
    return total


@helper
def _update_factors(to_come, urn):
    for i in range(len(urn.theta)):
        urn.factor[i] = _feature_factor(i, urn.unused[i] + to_come * urn.expected[i], urn)


@helper
def _feature_factor(i, e, urn):
    """Return the factor of the odds that one more document has the word unused."""
    if urn.gamma[i] == 0.0:
        return 1.0
    before, after = e / max(urn.total[i] + e, 1e-300), (e + 1.0) / (urn.total[i] + e + 1.0)
    gain = _DAMPING * (after - before) * (urn.beta[i] - 0.5 * (after + before) * urn.gamma[i])
    return math.exp(min(max(gain, -_MOST_LOG_FACTOR), _MOST_LOG_FACTOR))


@ref_kernel
def log_masses(side, words, theta):
    """Return log Π_d T_dj^{−n_dj}."""
    log_p = 0.0
    for n in range(len(side.held)):
        if side.per_doc[n] > 0:
            mass = 0.0
            for e in range(words.ptr[n], words.ptr[n + 1]):
                mass += theta[words.word[e]]
            log_p -= side.per_doc[n] * math.log(mass)
    return log_p
