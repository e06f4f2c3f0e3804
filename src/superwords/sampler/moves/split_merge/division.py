"""Divide a concept's documents and the words they use between two concepts.

Documents are assigned in order to the first concept, the second or both, and then the words they use, by the nested
beta process's predictive probabilities given the documents divided so far, biased by the words' features. Later passes
divide each document again (restricted Gibbs); the log probability of the last pass enters the move's ratio.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.random import uniform
from superwords.sampler.state import State, Tokens, gathered

FIRST_ONLY, SECOND_ONLY, BOTH = 1, 2, 3  # a document's, or a word's, side; 0: not divided yet
BLIND = -1.0  # in place of a share: the words are ignored, for two copies of one concept
_SHIFT = 1 << 32
_LEAST_HOLDERS = 0.5
_BLIND_BOTH = 0.05


class Group(NamedTuple):
    """Words used and tokens of the documents that hold a concept, or either of two."""

    doc: np.ndarray  # (n)
    ptr: np.ndarray  # (n+1) into word, tokens
    word: np.ndarray  # (E) place in `support` of a word that is used
    tokens: np.ndarray  # (E) n_dji > 0
    others: np.ndarray  # (n) number of other concepts of the document
    length: np.ndarray  # (n) N_d
    support: np.ndarray  # (s) words used anywhere in the group
    theta: np.ndarray  # (s)
    lam: np.ndarray  # (s)
    lam_elsewhere: float  # mean λ of the words that are not in the support
    n_documents: int  # D


class Sides(NamedTuple):
    """A division of a group."""

    doc: np.ndarray  # (n) uint8
    word: np.ndarray  # (E) uint8
    tokens: np.ndarray  # (E) of the first concept
    m: np.ndarray  # (2, s) documents that use the word
    holders: np.ndarray  # (2)


class Words(NamedTuple):
    """Words of a concept in each document of a group."""

    ptr: np.ndarray  # (n+1) into word, tokens
    word: np.ndarray  # ascending in a document
    tokens: np.ndarray  # 0 where unused


class Side(NamedTuple):
    """One concept of a division, or the undivided concept."""

    held: np.ndarray  # (n) bool
    per_doc: np.ndarray  # (n) n_dj
    used: Words  # those with tokens


def gather(state: State, tokens: Tokens, model: Model, rows: list[int]) -> tuple[Group, Sides]:
    """Return the group of one or two concepts and its present division."""
    mine = np.flatnonzero(np.isin(state.concept, rows))
    docs, row = np.unique(np.searchsorted(state.doc_ptr, mine, side="right") - 1, return_inverse=True)
    is_first = state.concept[mine] == rows[0]
    ptr, entries = gathered(state.pair_ptr, mine)
    # One sparse matrix (documents, words) of the tokens of both concepts: the first one's in the upper half of a number
    shift = np.where(np.repeat(is_first, np.diff(ptr)), _SHIFT, 1)
    used = sparse.csr_array(
        (tokens.entry[entries] * shift, state.word[entries], ptr[np.searchsorted(row, np.arange(len(docs) + 1))]),
        shape=(len(docs), len(state.theta)),
    )
    used.sum_duplicates()
    used.eliminate_zeros()
    of_first, of_second = np.divmod(used.data, _SHIFT)
    lam = model.prior.lam
    support, place = np.unique(used.indices.astype(np.int32), return_inverse=True)
    group = Group(
        docs,
        used.indptr.astype(np.int64),
        place.astype(np.int32),
        of_first + of_second,
        np.diff(state.doc_ptr)[docs] - np.bincount(row),
        model.data.length[docs],
        support,
        state.theta[support],
        lam[support],
        max(float(lam.sum() - lam[support].sum()), 0.0) / max(len(lam) - len(support), 1),
        len(model.data.length),
    )
    held = np.bincount(row, np.where(is_first, FIRST_ONLY, SECOND_ONLY)).astype(np.uint8)
    side = FIRST_ONLY * (of_first > 0) + SECOND_ONLY * (of_second > 0)
    sides = Sides(held, side.astype(np.uint8), of_first, np.zeros((2, len(support))), np.zeros(2))
    count_sides(group, sides)
    return group, sides


def undivided(group: Group) -> Sides:
    """Return a division of nothing."""
    return Sides(
        np.zeros(len(group.doc), np.uint8),
        np.zeros(len(group.word), np.uint8),
        np.zeros(len(group.word), np.int64),
        np.zeros((2, len(group.support))),
        np.zeros(2),
    )


def whole(group: Group) -> Sides:
    """Return the division with everything in the first concept."""
    sides = undivided(group)._replace(tokens=group.tokens)
    sides.doc[:], sides.word[:] = FIRST_ONLY, FIRST_ONLY
    count_sides(group, sides)
    return sides


def take_side(group: Group, sides: Sides, s: int) -> Side:
    """Return the first (s = 0) or the second concept of a division."""
    mine = (sides.word & (1 << s)) > 0
    tokens = (group.tokens - sides.tokens if s else sides.tokens)[mine]
    ptr = np.concatenate([[0], np.cumsum(mine)])[group.ptr]
    total = np.concatenate([[0], np.cumsum(tokens)])[ptr]
    return Side((sides.doc & (1 << s)) > 0, np.diff(total), Words(ptr, group.support[group.word[mine]], tokens))


def pick(words: Words, docs: np.ndarray) -> Words:
    """Return the words of these documents (a mask) only."""
    size = np.diff(words.ptr)
    mine = np.repeat(docs, size)
    return Words(np.concatenate([[0], np.cumsum(size * docs)]), words.word[mine], words.tokens[mine])


def join(one: Words, other: Words) -> Words:
    """Return both sets of words, which share none in any document."""
    ptr, word, tokens = one.ptr + other.ptr, np.append(one.word, other.word), np.append(one.tokens, other.tokens)
    doc = np.concatenate([np.repeat(np.arange(len(words.ptr) - 1), np.diff(words.ptr)) for words in (one, other)])
    order = np.lexsort((word, doc))
    return Words(ptr, word[order], tokens[order])


def count_sides(group: Group, sides: Sides) -> None:
    """Rebuild the counts of a division."""
    doc = np.repeat(sides.doc, np.diff(group.ptr))
    for s in range(2):
        sides.holders[s] = np.count_nonzero(sides.doc & (1 << s))
        sides.m[s] = np.bincount(group.word[(sides.word & doc & (1 << s)) > 0], minlength=len(group.support))


@helper
def enter(group, sides, n, step):
    """Add (step = 1) or remove (−1) a divided document from the counts."""
    for s in range(2):
        if sides.doc[n] & (1 << s):
            sides.holders[s] += step
            for e in range(group.ptr[n], group.ptr[n + 1]):
                if sides.word[e] & (1 << s):
                    sides.m[s, group.word[e]] += step


@ref_kernel
def divide(group, sides, target, tilt, share, prior, stream, is_forced):
    """Divide the documents in one pass; return the log probability of the division.

    `share` of the documents are expected in the second concept; 0: by those already assigned, BLIND: whatever the
    words. With `is_forced` the division is `target`, and the probability is that of drawing it.
    """
    log_q = 0.0
    for n in range(len(group.doc)):
        enter(group, sides, n, -1.0)
        if share == BLIND:
            log_q += _choose_blindly(n, sides, target, stream, is_forced)
        else:
            log_q += _choose_by_words(n, group, sides, target, tilt, share, prior, stream, is_forced)
        log_q += _divide_words(n, group, sides, target, tilt, share, prior, stream, is_forced)
        enter(group, sides, n, 1.0)
    return log_q


@helper
def _choose_blindly(n, sides, target, stream, is_forced):
    """Choose a side in proportion to its documents so far, or both with a small probability."""
    p_a = (sides.holders[0] + 1.0) / (sides.holders[0] + sides.holders[1] + 2.0)
    side = BOTH
    if is_forced:
        side = target.doc[n]
    elif uniform(stream) >= _BLIND_BOTH:
        side = FIRST_ONLY if uniform(stream) < p_a else SECOND_ONLY
    sides.doc[n] = side
    if side == BOTH:
        return math.log(_BLIND_BOTH)
    return math.log1p(-_BLIND_BOTH) + math.log(p_a if side == FIRST_ONLY else 1.0 - p_a)


@helper
def _share_tokens(e, chosen, group, sides, target, stream, is_forced):
    """Assign a word's tokens to a side or to both; return −log probability."""
    sides.word[e] = chosen
    if chosen != BOTH:
        sides.tokens[e] = group.tokens[e] if chosen == FIRST_ONLY else 0
        return 0.0
    n = group.tokens[e]
    if is_forced:
        sides.tokens[e] = target.tokens[e]
    else:
        heads = 0
        while heads == 0 or heads == n:
            heads = 0
            for _ in range(n):
                heads += uniform(stream) < 0.5
        sides.tokens[e] = heads
    return n * math.log(2.0) + math.log1p(-(2.0 ** (1 - n)))


@helper
def _log_all_off(s, sides, group, prior):
    """Return the log probability that a document with the concept has every word off."""
    holders, b2 = sides.holders[s], prior.b2
    log_p, product = 0.0, 1.0
    for i in range(len(group.support)):
        product *= (holders - sides.m[s, i] + b2 * (1.0 - group.lam[i])) / (holders + b2)
        if product < 1e-200:
            log_p += math.log(product)
            product = 1.0
    log_p += math.log(product)
    elsewhere = len(prior.lam) - len(group.support)
    return log_p + elsewhere * math.log((holders + b2 * (1.0 - group.lam_elsewhere)) / (holders + b2))


@helper
def _odds_on(s, i, sides, group, tilt, share, prior):
    """Return the odds of a support word in one of the two concepts, with its tilt."""
    if share == BLIND:
        return 1.0
    m, holders, b2 = sides.m[s, i], sides.holders[s], prior.b2
    odds = (m + b2 * group.lam[i]) / (holders - m + b2 * (1.0 - group.lam[i]))
    own_tilt = tilt[i] if s == 0 else -tilt[i]
    return odds * math.exp(0.5 * own_tilt)


@helper
def _choose_by_words(n, group, sides, target, tilt, share, prior, stream, is_forced):
    log_a, log_b, log_both = 0.0, 0.0, 0.0
    tokens_a, tokens_b, mass_a, mass_b = 0, 0, 0.0, 0.0
    for e in range(group.ptr[n], group.ptr[n + 1]):
        i = group.word[e]
        a, b = _odds_on(0, i, sides, group, tilt, share, prior), _odds_on(1, i, sides, group, tilt, share, prior)
        log_a += math.log(a)
        log_b += math.log(b)
        log_both += math.log(a + b + a * b * (group.tokens[e] > 1))
        if a > b:
            tokens_a += group.tokens[e]
            mass_a += group.theta[i]
        else:
            tokens_b += group.tokens[e]
            mass_b += group.theta[i]
    # The text's log ratio if every word went to its more probable side.
    log_both += log_weights_change(group.others[n] + 1, group.length[n], tokens_a, tokens_b, prior.alpha_pi)
    log_both += log_mass(tokens_a + tokens_b, mass_a + mass_b)
    log_both -= log_mass(tokens_a, mass_a) + log_mass(tokens_b, mass_b)
    off_a = _log_all_off(0, sides, group, prior) + _log_held(0, group, sides, share, prior)
    off_b = _log_all_off(1, sides, group, prior) + _log_held(1, group, sides, share, prior)
    log_a, log_b, log_both = log_a + off_a, log_b + off_b, log_both + off_a + off_b
    high = max(log_a, log_b, log_both)
    p_a, p_b, p_both = math.exp(log_a - high), math.exp(log_b - high), math.exp(log_both - high)
    total = p_a + p_b + p_both
    if is_forced:
        side = target.doc[n]
    else:
        u = uniform(stream) * total
        side = FIRST_ONLY if u < p_a else (SECOND_ONLY if u < p_a + p_b else BOTH)
    sides.doc[n] = side
    chosen = log_a if side == FIRST_ONLY else (log_b if side == SECOND_ONLY else log_both)
    return chosen - high - math.log(total)


@helper
def _log_held(s, group, sides, share, prior):
    holders = len(group.doc) * (share if s else 1.0 - share)
    if share == 0.0:
        holders = max(sides.holders[s], _LEAST_HOLDERS)
    return math.log(holders / (group.n_documents - holders + prior.b1))


@helper
def _divide_words(n, group, sides, target, tilt, share, prior, stream, is_forced):
    """Divide the words of a document with both concepts; else all go to its side."""
    log_q, side = 0.0, sides.doc[n]
    for e in range(group.ptr[n], group.ptr[n + 1]):
        if side != BOTH:
            _share_tokens(e, side, group, sides, target, stream, is_forced)
            continue
        i = group.word[e]
        a, b = _odds_on(0, i, sides, group, tilt, share, prior), _odds_on(1, i, sides, group, tilt, share, prior)
        total = a + b + a * b * (group.tokens[e] > 1)
        if is_forced:
            chosen = target.word[e]
        else:
            u = uniform(stream) * total
            chosen = FIRST_ONLY if u < a else (SECOND_ONLY if u < a + b else BOTH)
        p = a if chosen == FIRST_ONLY else (b if chosen == SECOND_ONLY else a * b)
        log_q += math.log(p / total)
        log_q -= _share_tokens(e, chosen, group, sides, target, stream, is_forced)
    return log_q


@helper
def log_weights_change(k, length, tokens_a, tokens_b, alpha):
    """Return the change of log P(z^(d)), π out, when one of k concepts becomes two."""
    log_change = math.lgamma((k + 1) * alpha) - math.lgamma((k + 1) * alpha + length)
    log_change -= math.lgamma(k * alpha) - math.lgamma(k * alpha + length)
    log_change += math.lgamma(alpha + tokens_a) + math.lgamma(alpha + tokens_b)
    return log_change - math.lgamma(alpha) - math.lgamma(alpha + tokens_a + tokens_b)


@helper
def log_mass(tokens, mass):
    """Return log T^n, 0 without tokens."""
    return tokens * math.log(mass) if tokens > 0 else 0.0


@ref_kernel
def log_weights(group, sides, alpha):
    """Return log P(z), π integrated out, of the group divided less undivided."""
    log_change = 0.0
    for n in range(len(group.doc)):
        if sides.doc[n] != BOTH:
            continue
        tokens_a, tokens_b = 0, 0
        for e in range(group.ptr[n], group.ptr[n + 1]):
            tokens_a += sides.tokens[e]
            tokens_b += group.tokens[e] - sides.tokens[e]
        log_change += log_weights_change(group.others[n] + 1, group.length[n], tokens_a, tokens_b, alpha)
    return log_change
