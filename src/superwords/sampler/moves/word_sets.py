"""Word sets that a document is offered: drawn from a prior tilted towards its words, and scored (docs/algebra.md 4).

What is drawn stands at the arena's end. The tilt is computed from the other documents and the document's other concepts
alone, so that a proposal and its way back see the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import part
from superwords.sampler.open_document import LENGTH, USED, WORDS
from superwords.sampler.random import skip_by_log, uniform
from superwords.sampler.workspace import expected_mass

_MOST_FACTOR = math.exp(20.0)  # of a word's odds in a proposal, so that none is one that cannot be undone
_MOST_PRICE = 5.0  # in log odds at θ = 1, for the same reason
_FEW_TIMES = 4  # a word occurs at the most, where products are taken in place of logarithms
_SLACK = 1.0  # of a rough log ratio
_LONG = 60  # tokens from which on a proposal holds back words the document does not use


class Tilt(NamedTuple):
    """How the prior odds of a concept's words are tilted by what they would do to the document's text."""

    share: float  # π over the concept's expected T: what it would add to an explained word; 0: not tilted
    price: float  # about n_j/T_j: a word that is on costs the text θ times that
    back: float  # the price by which words that the document does not use are held back


@part
def tilt_of(j, weight, others, is_data_driven, doc, concepts):
    """`others` is Σ π of the document's other concepts."""
    if not is_data_driven:
        return Tilt(0.0, 0.0, 0.0)
    mass, length = expected_mass(concepts, j), doc.number[LENGTH]
    price = min(length * weight / (others + weight) / mass, _MOST_PRICE)
    return Tilt(weight / mass, price, price if length > _LONG else 0.0)


@part
def tilt_words(j, tilt, rest, factor, doc):
    """Fill in by which factors the odds of the document's own words are tilted; log Π (1 − p + p · factor).

    That is log P(f)/q(f) but for the factors of the words that are on; `rest` is what other concepts explain.
    """
    return _tilt_words(j, tilt, rest, factor, doc.p, doc.times, doc.number[WORDS])


@part
def _tilt_words(j, tilt, rest, factor, p, times, n_words):
    if tilt.share == 0.0:
        for a in range(n_words):
            factor[a] = 1.0
        return 0.0
    down = math.exp(-tilt.price)
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


@part
def first_look(log_ratio):
    """By how much of a rough ratio a proposal is judged first: what is near 0 is left to the second look."""
    return log_ratio - min(max(log_ratio, -_SLACK), _SLACK)


@part
def power(x, n):
    """x^n for a whole number n ≥ 0, without a logarithm."""
    result = 1.0
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


@part
def draw_present(k, j, factor, doc, stream):
    """Draw which of the document's own words the k-th row has on; their θ, and the arena's end."""
    mass, end = 0.0, doc.number[USED]
    for a in range(doc.number[WORDS]):
        on = doc.p[a, j] * factor[a]
        doc.on[k, a] = uniform(stream) * (1.0 - doc.p[a, j] + on) < on
        if doc.on[k, a] > 0:
            mass += doc.theta[a]
            doc.arena[end] = doc.word[a]
            end += 1
    return mass, end


@part
def log_gain_over_tilt(k, share, rest, factor, doc):
    """What the document's words gain by a concept that adds `share` to those on, S left out, less the tilt's part."""
    log_ratio, product = 0.0, 1.0
    for a in range(doc.number[WORDS]):
        if doc.on[k, a] > 0:
            gain, times = 1.0 + share / rest[a], doc.times[a]
            if times > _FEW_TIMES or gain > _MOST_FACTOR:
                log_ratio += times * math.log(gain)
                gain = 1.0
            product *= power(gain, times) / factor[a]
            if not 1e-100 < product < 1e100:
                log_ratio += math.log(product)
                product = 1.0
    return log_ratio + math.log(product)


@part
def draw_absent(j, back, back_new, end, doc, concepts, stream):
    """Words that the document does not use, each with odds e^(−back θ) times those of P(f_ji = 1).

    `back_new` is for words that no other document has on in the concept. Words of a level are skipped by its most
    probable one. Returns the arena's new end and the words' θ.
    """
    theta, extra, inverse = concepts.theta, concepts.extra, concepts.inverse[j]
    mass = 0.0
    for level in range(concepts.bound.shape[1]):
        at, last = concepts.level_ptr[j, level], concepts.level_ptr[j, level + 1]
        if at == last:
            continue
        most = min(concepts.bound[j, level] * inverse, 1.0)
        log_miss = math.log1p(-most) if most < 1.0 else -np.inf
        at += skip_by_log(stream, log_miss) if most < 1.0 else 0
        while at < last:
            w = concepts.by_level[j, at]
            if doc.spot[w] == 0:
                cost = (back if concepts.m[w, j] > concepts.least else back_new) * theta[w]
                p = held_back((concepts.m[w, j] + extra[w]) * inverse, cost)
                if uniform(stream) * most < p:
                    doc.arena[end] = w
                    end += 1
                    mass += theta[w]
            at += 1 + (skip_by_log(stream, log_miss) if most < 1.0 else 0)
    return end, mass


@part
def held_back(p, cost):
    """The probability whose odds are e^(−cost) times those of p."""
    if cost == 0.0:
        return p
    on = p * math.exp(-cost)
    return on / (1.0 - p + on)


@part
def log_absent(j, back, words, doc, concepts):
    """log P(f)/q(f) of the words that the document does not use, of a set drawn with `back`."""
    if back == 0.0:
        return 0.0
    return _log_held_back(j, back, words, doc, concepts)


@part
def _log_held_back(j, back, words, doc, concepts):
    total, product, inverse = 0.0, 1.0, concepts.inverse[j]
    for w in words:
        if doc.spot[w] == 0 and concepts.m[w, j] > concepts.least:
            total += back * concepts.theta[w]
    for s in range(concepts.support_size[j]):
        w = concepts.support[j, s]
        if doc.spot[w] == 0 and concepts.m[w, j] > concepts.least:
            p = (concepts.m[w, j] + concepts.extra[w]) * inverse
            product *= 1.0 + p * math.expm1(-back * concepts.theta[w])
            if product < 1e-100:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@part
def log_gain(k, share, doc):
    """What the document's words gain in log probability by a concept that adds `share` to those on, S left out."""
    gain = 0.0
    for a in range(doc.number[WORDS]):
        if doc.on[k, a] > 0:
            gain += doc.times[a] * math.log1p(share / doc.rest[a])
    return gain
