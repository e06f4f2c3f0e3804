"""Word sets that a document is offered: drawn from a prior tilted towards its words, and scored (docs/algebra.md 4).

What is drawn stands at the arena's end. The tilt is computed from the other documents and the document's other concepts
alone, so that a proposal and its way back see the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import inlined, part
from superwords.sampler.random import skip, uniform
from superwords.sampler.workspace import LENGTH, USED, WORDS, expected_mass

_MOST_FACTOR = math.exp(20.0)  # of a word's odds in a proposal, so that none is one that cannot be undone
_MOST_PRICE = 5.0  # in log odds at θ = 1, for the same reason
_LONG = 60  # tokens from which on a proposal holds back words the document does not use


class Tilt(NamedTuple):
    """How the prior odds of a concept's words are tilted by what they would do to the document's text."""

    share: float  # π over the concept's expected T: what it would add to an explained word; 0: not tilted
    price: float  # about n_j/T_j: a word that is on costs the text θ times that
    back: float  # the price by which words that the document does not use are held back


@inlined
def tilt_of(j, weight, others, is_data_driven, doc, concepts):
    """`others` is Σ π of the document's other concepts."""
    if not is_data_driven:
        return Tilt(0.0, 0.0, 0.0)
    mass, length = expected_mass(concepts, j), doc.number[LENGTH]
    price = min(length * weight / (others + weight) / mass, _MOST_PRICE)
    return Tilt(weight / mass, price, price if length > _LONG else 0.0)


@part
def present_words(k, j, tilt, draw, doc, stream):
    """Draw or score which of the document's own words the k-th row has on: log P(f)/q(f), their θ, the arena's end."""
    down = math.exp(-tilt.price)
    log_ratio, product, mass, end = 0.0, 1.0, 0.0, doc.number[USED]
    for a in range(doc.number[WORDS]):
        p, factor = doc.p[a, j], 1.0
        if tilt.share > 0.0:
            factor = 1.0 + tilt.share / doc.rest[a] if doc.rest[a] > 0.0 else np.inf
            if doc.times[a] > 1:
                factor = math.exp(min(doc.times[a] * math.log(factor), 40.0))
            factor = min(factor * down, _MOST_FACTOR)
        both = 1.0 - p + p * factor
        product *= both
        if draw:
            doc.on[k, a] = uniform(stream) * both < p * factor
        if doc.on[k, a] > 0:
            product /= factor
            mass += doc.theta[a]
            if draw:
                doc.arena[end] = doc.word[a]
                end += 1
        if product > 1e100 or product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    return log_ratio + math.log(product), mass, end


@part
def draw_absent(j, back, back_new, end, doc, concepts, stream):
    """Words that the document does not use, each with odds e^(−back θ) times those of P(f_ji = 1).

    `back_new` is for words that no other document has on, found by skipping. Returns the arena's new end and their θ.
    """
    theta, extra, inverse = concepts.theta, concepts.extra, doc.inverse[j]
    mass = 0.0
    for s in range(concepts.support_size[j]):
        w = concepts.support[j, s]
        m = concepts.m[w, j]
        if m == 0 or doc.spot[w] > 0:
            continue
        if uniform(stream) < held_back((m + extra[w]) * inverse, back * theta[w]):
            doc.arena[end] = w
            end += 1
            mass += theta[w]
    most = concepts.extra_max * inverse
    w = skip(stream, most)
    while w < len(theta):
        is_new = doc.spot[w] == 0 and concepts.m[w, j] == 0
        if is_new and uniform(stream) * most < held_back(extra[w] * inverse, back_new * theta[w]):
            doc.arena[end] = w
            end += 1
            mass += theta[w]
        w += 1 + skip(stream, most)
    return end, mass


@inlined
def held_back(p, cost):
    """The probability whose odds are e^(−cost) times those of p."""
    if cost == 0.0:
        return p
    on = p * math.exp(-cost)
    return on / (1.0 - p + on)


@inlined
def log_absent(j, back, words, doc, concepts):
    """log P(f)/q(f) of the words that the document does not use, of a set drawn with `back`."""
    if back == 0.0:
        return 0.0
    return _log_held_back(j, back, words, doc, concepts)


@part
def _log_held_back(j, back, words, doc, concepts):
    total, product, inverse = 0.0, 1.0, doc.inverse[j]
    for w in words:
        if doc.spot[w] == 0 and concepts.m[w, j] > 0:
            total += back * concepts.theta[w]
    for s in range(concepts.support_size[j]):
        w = concepts.support[j, s]
        m = concepts.m[w, j]
        if m > 0 and doc.spot[w] == 0:
            product *= 1.0 + (m + concepts.extra[w]) * inverse * math.expm1(-back * concepts.theta[w])
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
