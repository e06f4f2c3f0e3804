"""Divide a concept of one document in two, or unite two (docs/algebra.md 4).

These moves leave S_d unchanged, as a replacement does (`exchange.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superwords.sampler.document import (
    DIVIDE,
    UNITE,
    add_pair,
    drop_pair,
    set_explained,
    set_rest,
    set_weight,
    set_words,
    words_of,
)
from superwords.sampler.feature_draw import accept_on_features
from superwords.sampler.jit import helper, inline_helper
from superwords.sampler.leave_one_out import expected_mass, is_fixed
from superwords.sampler.moves.exchange import chance_of, pick_explained, pick_replacement
from superwords.sampler.moves.proposals import draw_absent, log_absent, power, screen, tilt_of
from superwords.sampler.random import accepts, below, gamma, uniform

_SMALLEST = 1e-300
# Sets of sides, one bit for each
_IN_OLD, _IN_NEW, _IN_EITHER, _MOVED = 0b1010, 0b1100, 0b1110, 0b0100


class Division(NamedTuple):
    """Summary of a division of the document's own words in a concept."""

    log_prior: float  # log P(sides) of two concepts over that of one, less the proposal's
    mass_old: float  # θ of the words that are in the old concept
    mass_new: float  # in the new one
    mass_either: float
    shape_j: float  # of the Beta distribution of π_j / (π_j + π_t)
    shape_t: float


@inline_helper
def divide_and_unite(n, doc, concepts, regression, stream):
    """Try `n` divisions or unions."""
    if doc.n_words == 0:
        return
    for _ in range(n):
        if uniform(stream) < 0.5:
            doc.tried[DIVIDE] += 1
            doc.accepted[DIVIDE] += _try_divide(doc, concepts, regression, stream)
        else:
            doc.tried[UNITE] += 1
            doc.accepted[UNITE] += _try_unite(doc, concepts, regression, stream)


@helper
def _try_divide(doc, concepts, regression, stream):
    """Try c_t: 0 → 1, taking part of the words and of the π of a held concept j.

    Each of the document's words in j goes to j, t or both in proportion to the prior, and π in the proportion
    Beta(α_π + n_j, α_π + n_t), n the tokens of the words that go there (half where they go to both). The screen uses
    the expected π and the expected words that the document does not use.
    """
    n_words, new, alpha_pi = doc.n_words, doc.n_pairs, concepts.alpha_pi
    at, k = pick_explained(doc, stream)
    t, chance = pick_replacement(at, doc, stream)
    j, whole = doc.concept[k], doc.weight[k]
    if doc.place[t] > 0 or chance <= 0.0 or is_fixed(concepts, j) or is_fixed(concepts, t):
        return False
    for a in range(n_words):
        doc.side[a] = 0
        if doc.on[k, a] > 0:
            p, q = doc.p[a, j], doc.p[a, t]
            u = uniform(stream) * (p + q - p * q)
            doc.side[a] = 1 if u < p * (1.0 - q) else (2 if u < p + q - 2.0 * p * q else 3)
    if doc.side[at] < 2:
        return False
    set_rest(doc, k, k)
    division = _weigh_division(j, t, alpha_pi, doc)
    after = doc.n_explaining[at] + (1 if doc.side[at] == 3 else 0)
    log_ways = math.log(concepts.odds[t] * doc.n_explaining[at] / (after * new * chance)) + division.log_prior
    mass_j = doc.mass[k] - division.mass_either
    rough = log_ways + _rough_text(division, whole, mass_j, expected_mass(concepts, t), alpha_pi, doc)
    log_screened = screen(rough)
    if not accepts(log_screened, stream):
        return False
    g = gamma(stream, division.shape_j)
    part = g / (g + gamma(stream, division.shape_t))
    weight_j, weight_t = max(whole * part, 1e-300), max(whole * (1.0 - part), 1e-300)
    penalty = tilt_of(t, weight_t, doc.total_weight - weight_t, doc, concepts).absent
    size_j, absent_j = _write_absent(k, new + 1, _write(_IN_OLD, new + 1, doc), doc, concepts)
    log_u = math.log(uniform(stream)) + log_screened - log_ways - _log_weights(division, weight_j, weight_t, alpha_pi)
    if penalty == 0.0 and log_u >= _log_text(division, weight_j, weight_t, absent_j, 0.0, size_j, doc):
        return False  # further words would not help
    size_t, absent_t = draw_absent(new, t, penalty, 0.0, _write(_IN_NEW, new, doc), doc, concepts, stream)
    words, removed = doc.words[new][0:size_t], doc.words[new + 2][0 : _write(_MOVED, new + 2, doc)]
    log_ratio = log_absent(t, penalty, words, doc, concepts)
    if log_u >= log_ratio + _log_text(division, weight_j, weight_t, absent_j, absent_t, size_j, doc):
        return False
    if not accept_on_features(regression, removed, j, words, t, doc.mark, stream):
        return False
    for a in range(n_words):
        doc.on[k, a], doc.on[new, a] = doc.side[a] & 1, doc.side[a] >> 1
    set_words(doc, k, new + 1, size_j)
    set_weight(doc, k, weight_j, absent_j + division.mass_old)
    add_pair(doc, t, weight_t, absent_t + division.mass_new, size_t)
    set_explained(doc)
    return True


@helper
def _try_unite(doc, concepts, regression, stream):
    """Try c_t: 1 → 0, moving its words and π to another concept (a union)."""
    n_words, n_left, alpha_pi = doc.n_words, doc.n_pairs - 1, concepts.alpha_pi
    if n_left == 0:
        return False
    at, out = pick_explained(doc, stream)
    k = below(stream, n_left)
    k += 1 if k >= out else 0
    j, t, weight_j, weight_t = doc.concept[k], doc.concept[out], doc.weight[k], doc.weight[out]
    chance, whole = chance_of(at, t, doc), weight_j + weight_t
    if chance <= 0.0 or is_fixed(concepts, j) or is_fixed(concepts, t):
        return False
    for a in range(n_words):
        doc.side[a] = (1 if doc.on[k, a] > 0 else 0) + (2 if doc.on[out, a] > 0 else 0)
    set_rest(doc, k, out)
    division = _weigh_division(j, t, alpha_pi, doc)
    before = doc.n_explaining[at] - (1 if doc.side[at] == 3 else 0)
    log_ways = math.log(concepts.odds[t] * before / (doc.n_explaining[at] * n_left * chance)) + division.log_prior
    mass_j = doc.mass[k] - division.mass_old
    rough = log_ways + _rough_text(division, whole, mass_j, expected_mass(concepts, t), alpha_pi, doc)
    log_screened = screen(rough)
    if not accepts(-log_screened, stream):
        return False
    new = doc.n_pairs
    size, absent_j = _write_absent(k, new, _write(_IN_EITHER, new, doc), doc, concepts)
    added, words = doc.words[new + 1][0 : _write(_MOVED, new + 1, doc)], words_of(doc, out)
    absent_t = doc.mass[out] - division.mass_new
    penalty = tilt_of(t, weight_t, doc.total_weight - weight_t, doc, concepts).absent
    log_ratio = log_ways - log_screened + log_absent(t, penalty, words, doc, concepts)
    log_ratio += _log_weights(division, weight_j, weight_t, alpha_pi)
    log_ratio += _log_text(division, weight_j, weight_t, absent_j, absent_t, doc.size[k], doc)
    if not accepts(-log_ratio, stream):
        return False
    if not accept_on_features(regression, words, t, added, j, doc.mark, stream):
        return False
    for a in range(n_words):
        doc.on[k, a] = doc.side[a] > 0
    set_words(doc, k, new, size)
    set_weight(doc, k, whole, absent_j + division.mass_either)
    drop_pair(doc, out)
    set_explained(doc)
    return True


@helper
def _write(sides, row, doc):
    """Write the document's own words of these sides to a row; return its size."""
    size = 0
    for a in range(doc.n_words):
        if sides >> doc.side[a] & 1:
            doc.words[row, size] = doc.word[a]
            size += 1
    return size


@helper
def _write_absent(k, row, size, doc, concepts):
    """Add the k-th concept's words that the document lacks; return the size and their θ."""
    mass = 0.0
    for w in words_of(doc, k):
        if doc.local_index[w] == 0:
            doc.words[row, size] = w
            size += 1
            mass += concepts.theta[w]
    return size, mass


@helper
def _weigh_division(j, t, alpha_pi, doc):
    """Return the terms of a division of concept j given doc.side, t taking a part."""
    log_prior, product, mass_old, mass_new, mass_either = 0.0, 1.0, 0.0, 0.0, 0.0
    n_j, n_t = 0.0, 0.0
    for a in range(doc.n_words):
        p, q, side = doc.p[a, j], doc.p[a, t], doc.side[a]
        product *= 1.0 - q if side == 0 else (p + q - p * q) / p
        if not 1e-100 < product < 1e100:
            log_prior += math.log(product)
            product = 1.0
        if side > 0:
            theta, tokens = doc.theta[a], doc.times[a] * (0.5 if side == 3 else 1.0)
            mass_either += theta
            if side & 1:
                mass_old += theta
                n_j += tokens
            if side >> 1:
                mass_new += theta
                n_t += tokens
    log_prior += math.log(product)
    return Division(log_prior, mass_old, mass_new, mass_either, alpha_pi + n_j, alpha_pi + n_t)


@helper
def _rough_text(division, whole, mass_j, mass_t, alpha_pi, doc):
    """Return an approximate log ratio of text and π of two concepts over one.

    Uses the mean shares of π and the expected T_t; mass_j is θ of j's words that the document lacks.
    """
    n = division.shape_j + division.shape_t
    part_j, part_t = division.shape_j / n, division.shape_t / n
    share = whole / (mass_j + division.mass_either)
    share_j = whole * part_j / max(mass_j + division.mass_old, _SMALLEST)
    share_t = whole * part_t / max(mass_t, division.mass_new)
    log_ratio, product = 0.0, 1.0
    for a in range(doc.n_words):
        side = doc.side[a]
        if side > 0:
            after = doc.rest[a] + (side & 1) * share_j + (side >> 1) * share_t
            ratio, times = after / (doc.rest[a] + share), doc.times[a]
            product *= power(ratio, times) if times < 20 else ratio**20
            if not 1e-100 < product < 1e100:
                log_ratio += math.log(max(product, _SMALLEST))
                product = 1.0
    # A Beta density at its mean is about √(n / 2π p(1 − p)).
    product *= whole * math.sqrt(2.0 * math.pi * part_j * part_t / n)
    return log_ratio + math.log(max(product, _SMALLEST))


@helper
def _log_text(division, weight_j, weight_t, absent_j, absent_t, size_j, doc):
    """Return log of the text's probability by two concepts over that by one."""
    share = (weight_j + weight_t) / (absent_j + division.mass_either)
    share_j = weight_j / (absent_j + division.mass_old) if size_j > 0 else 0.0
    share_t = weight_t / (absent_t + division.mass_new)
    log_ratio = 0.0
    for a in range(doc.n_words):
        side = doc.side[a]
        if side > 0:
            after = doc.rest[a] + (side & 1) * share_j + (side >> 1) * share_t
            log_ratio += doc.times[a] * math.log(after / (doc.rest[a] + share))
    return log_ratio


@helper
def _log_weights(division, weight_j, weight_t, alpha_pi):
    """Return the log ratio of the densities of π_j and π_t over that of their sum.

    log Gamma(π_j) Gamma(π_t) / Gamma(π_j+π_t) · (π_j+π_t) / Beta(π_j/(π_j+π_t))
    """
    shape_j, shape_t = division.shape_j, division.shape_t
    log_j, log_t, log_whole = math.log(weight_j), math.log(weight_t), math.log(weight_j + weight_t)
    log_ratio = (alpha_pi - 1.0) * (log_j + log_t - log_whole) - math.lgamma(alpha_pi) + log_whole
    log_ratio -= math.lgamma(shape_j + shape_t) - math.lgamma(shape_j) - math.lgamma(shape_t)
    return log_ratio - (shape_j - 1.0) * (log_j - log_whole) - (shape_t - 1.0) * (log_t - log_whole)
