"""Proposals of word sets: a prior tilted to the document (docs/algebra.md 4).

The tilt depends only on the other documents and the document's other concepts, so that it is the same for a proposal
and its reverse.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.document import NONE
from superwords.sampler.jit import helper
from superwords.sampler.leave_one_out import expected_mass
from superwords.sampler.random import skip_by_log, uniform

_MOST_FACTOR = math.exp(20.0)  # of a word's odds in a proposal, so that every proposal can be reversed
_MOST_PENALTY = 5.0  # in log odds at θ = 1, for the same reason
_FEW_TIMES = 4  # maximum count of a word for products instead of logarithms
_SLACK = 1.0  # of an approximate log ratio
_LONG = 60  # tokens from which a proposal penalises words the document does not use


class Tilt(NamedTuple):
    """Tilt of the prior odds of a concept's words by their effect on the text."""

    share: float  # π over the concept's expected T: what it would add to an explained word; 0: not tilted
    penalty: float  # about n_j/T_j: a word that is on costs the text θ times that
    absent: float  # the penalty of words that the document does not use


@helper
def tilt_of(j, weight, others, doc, concepts):
    """Return a proposal's tilt; `others` is Σ π of the document's other concepts."""
    if not doc.is_data_driven:
        return Tilt(0.0, 0.0, 0.0)
    mass, length = expected_mass(concepts, j), doc.length
    penalty = min(length * weight / (others + weight) / mass, _MOST_PENALTY)
    return Tilt(weight / mass, penalty, penalty if length > _LONG else 0.0)


@helper
def tilt_words(j, tilt, factor, doc):
    """Set the odds factors of present words; return log Π (1 − p + p · factor)."""
    p, rest, times, n_words = doc.p, doc.rest, doc.times, doc.n_words
    if tilt.share == 0.0:
        for a in range(n_words):
            factor[a] = 1.0
        return 0.0
    down = math.exp(-tilt.penalty)
    log_ratio, product = 0.0, 1.0
    for a in range(n_words):
        gain = 1.0 + tilt.share / rest[a] if rest[a] > 0.0 else _MOST_FACTOR
        if times[a] > 1:
            gain = power(gain, times[a])
        factor[a] = min(gain * down, _MOST_FACTOR)
        product *= 1.0 + p[a, j] * (factor[a] - 1.0)
        if not 1e-100 < product < 1e100:
            log_ratio += math.log(product)
            product = 1.0
    return log_ratio + math.log(product)


@helper
def screen(log_ratio):
    """Return the part of an approximate log ratio used to screen a proposal."""
    return log_ratio - min(max(log_ratio, -_SLACK), _SLACK)


@helper
def delayed_accept(log_rough, is_screened, stream):
    """Screen a proposal by its approximate log ratio, before its words are drawn.

    Returns the threshold on log (exact / approximate ratio) for acceptance: inf if it is screened out.
    """
    log_u = math.log(uniform(stream))
    if is_screened:
        log_screened = screen(log_rough)
        if log_u >= log_screened:
            return np.inf
        log_rough -= log_screened
        log_u = math.log(uniform(stream))
    return log_u - log_rough


@helper
def power(x, n):
    """Return x^n for a whole number n ≥ 0, without a logarithm."""
    result = 1.0
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


@helper
def draw_present(k, j, factor, doc, stream):
    """Draw the present words of the k-th row; return their number and θ."""
    size, mass = 0, 0.0
    for a in range(doc.n_words):
        on = doc.p[a, j] * factor[a]
        doc.on[k, a] = uniform(stream) * (1.0 - doc.p[a, j] + on) < on
        if doc.on[k, a] > 0:
            mass += doc.theta[a]
            doc.words[k, size] = doc.word[a]
            size += 1
    return size, mass


@helper
def log_gain_over_tilt(k, new, share, doc):
    """Return the text's log gain if row `new` of `on` replaces the k-th, less the tilts' part.

    Either may be NONE, and `share` is that of the new row. The factors of S are left out.
    """
    log_ratio, product = 0.0, 1.0
    for a in range(doc.n_words):
        was, will_be = k != NONE and doc.on[k, a] > 0, new != NONE and doc.on[new, a] > 0
        if was or will_be:
            before = doc.rest[a] + (doc.share[k] if was else 0.0)
            gain, times = (doc.rest[a] + (share if will_be else 0.0)) / before, doc.times[a]
            if times > _FEW_TIMES or not 1.0 / _MOST_FACTOR < gain < _MOST_FACTOR:
                log_ratio += times * math.log(gain)
                gain = 1.0
            product *= power(gain, times) * (doc.factor_back[a] if was else 1.0) / (doc.factor[a] if will_be else 1.0)
            if not 1e-100 < product < 1e100:
                log_ratio += math.log(product)
                product = 1.0
    return log_ratio + math.log(product)


@helper
def draw_absent(k, j, penalty, penalty_new, size, doc, concepts, stream):
    """Add absent words to the k-th row, each with odds e^(−penalty θ) times those of P(f_ji = 1).

    `penalty_new` is for words that no other document has on in j. Returns the row's new size and the words' θ.
    """
    theta, extra, inverse = concepts.theta, concepts.extra, concepts.inverse[j]
    mass = 0.0
    for level in range(len(concepts.bound[j])):
        at, last = concepts.level_ptr[j, level], concepts.level_ptr[j, level + 1]
        if at == last:
            continue
        most = min(concepts.bound[j, level] * inverse, 1.0)  # words are skipped by their level's most probable one
        log_miss = math.log1p(-most) if most < 1.0 else -np.inf
        at += skip_by_log(stream, log_miss) if most < 1.0 else 0
        while at < last:
            w = concepts.by_level[j, at]
            if doc.local_index[w] == 0:
                cost = (penalty if concepts.m[w, j] > 0.0 else penalty_new) * theta[w]
                p = downweighted((concepts.m[w, j] + extra[w]) * inverse, cost)
                if uniform(stream) * most < p:
                    doc.words[k, size] = w
                    size += 1
                    mass += theta[w]
            at += 1 + (skip_by_log(stream, log_miss) if most < 1.0 else 0)
    return size, mass


@helper
def downweighted(p, cost):
    """Return the probability whose odds are e^(−cost) times those of p."""
    if cost == 0.0:
        return p
    on = p * math.exp(-cost)
    return on / (1.0 - p + on)


@helper
def log_absent(j, penalty, words, doc, concepts):
    """Return log P(f)/q(f) of the absent words of a set drawn with `penalty`."""
    if penalty == 0.0:
        return 0.0
    total, product, inverse = 0.0, 1.0, concepts.inverse[j]
    for w in words:
        if doc.local_index[w] == 0 and concepts.m[w, j] > 0.0:
            total += penalty * concepts.theta[w]
    for s in range(concepts.support_size[j]):
        w = concepts.support[j, s]
        if doc.local_index[w] == 0 and concepts.m[w, j] > 0.0:
            p = (concepts.m[w, j] + concepts.extra[w]) * inverse
            product *= 1.0 + p * math.expm1(-penalty * concepts.theta[w])
            if product < 1e-100:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@helper
def log_gain(k, share, doc):
    """Return the log gain of present words by adding `share`, with S left out."""
    gain = 0.0
    for a in range(doc.n_words):
        if doc.on[k, a] > 0:
            gain += doc.times[a] * math.log1p(share / doc.rest[a])
    return gain
