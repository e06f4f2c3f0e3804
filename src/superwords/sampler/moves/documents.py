"""Which concepts a new document holds: join and leave, one in place of another, and split and merge.

All are Metropolis–Hastings steps on (c, f, π) with z summed out. What is tried how often depends on the document's
words and the training counts alone. Joining pays for its π in S_d^{−N_d}; the other moves leave S_d as it is, which
lets short documents pass between rival explanations.
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.foldin_workspace import (
    FIRST,
    LENGTH,
    PAIRS,
    WEIGHT,
    WORDS,
    draw_absent,
    drop,
    log_absent,
    set_explained,
    set_present,
    set_rest,
    set_share,
)
from superwords.sampler.jit import lean
from superwords.sampler.random import below, gamma, uniform

_MOST_FACTOR = math.exp(20.0)  # of a word's odds in a proposal, so that none is one that cannot be undone
_LONG = 60  # tokens from which on a proposal holds back words the document does not use
_MOST_BACK = 5.0  # how far at the most, in log odds at θ = 1, for the same reason


@lean
def flip_concepts(documents, concepts, sheet, stream):
    """Join or leave, in random order."""
    n_tried = 0
    for j in range(len(concepts.odds)):
        if sheet.rate[j] >= 1.0 or uniform(stream) < sheet.rate[j]:
            sheet.order[n_tried] = j
            n_tried += 1
    for t in range(n_tried):
        swap = t + below(stream, n_tried - t)
        j = sheet.order[swap]
        sheet.order[swap] = sheet.order[t]
        if sheet.place[j] == 0:
            _try_join(j, documents, concepts, sheet, stream)
        else:
            _try_leave(sheet.place[j] - 1, documents, concepts, sheet, stream)


@lean
def _try_join(j, documents, concepts, sheet, stream):
    """c_j: 0 → 1, with π from its prior and f from its prior tilted towards the document's words.

    The acceptance number is drawn first: where even the fewest words cannot save the proposal, the others need not
    be drawn.
    """
    k, n_words = sheet.number[PAIRS], sheet.number[WORDS]
    weight = gamma(stream, concepts.alpha_pi)
    log_u = math.log(uniform(stream)) - math.log(concepts.odds[j])
    log_u += sheet.number[LENGTH] * math.log1p(weight / sheet.total[WEIGHT])
    for a in range(n_words):
        sheet.rest[a] = sheet.explained[a]
    pull = _pull(j, weight, sheet.total[WEIGHT], concepts, sheet)
    back = pull if sheet.number[LENGTH] > _LONG else 0.0
    log_ratio = _present_words(k, j, weight, pull, True, documents, concepts, sheet, stream)
    present = sheet.present[k]
    if back == 0.0 and log_u >= log_ratio + _log_gain(k, weight, present, documents, sheet):
        return
    absent, new = draw_absent(j, back, 0.0, concepts, sheet, stream)
    log_ratio += log_absent(j, back, absent, concepts, sheet)
    if log_u >= log_ratio + _log_gain(k, weight, present + absent + new, documents, sheet):
        return
    sheet.concept[k], sheet.place[j] = j, k + 1
    sheet.weight[k], sheet.absent[k], sheet.new[k] = weight, absent, new
    set_share(k, sheet)
    sheet.number[PAIRS] += 1
    sheet.total[WEIGHT] += weight
    for a in range(n_words):
        if sheet.on[k, a] > 0:
            sheet.explained[a] += sheet.share[k]
            sheet.cover[a] += 1


@lean
def _try_leave(k, documents, concepts, sheet, stream):
    """c_j: 1 → 0, the exact reverse of a join; never where a word would be left unexplained."""
    n_words, j, weight = sheet.number[WORDS], sheet.concept[k], sheet.weight[k]
    for a in range(n_words):
        if sheet.on[k, a] > 0 and sheet.cover[a] == 1:
            return
    others = set_rest(k, k, sheet)
    pull = _pull(j, weight, others, concepts, sheet)
    back = pull if sheet.number[LENGTH] > _LONG else 0.0
    log_ratio = _present_words(k, j, weight, pull, False, documents, concepts, sheet, stream)
    log_ratio += log_absent(j, back, sheet.absent[k], concepts, sheet)
    mass = sheet.present[k] + sheet.absent[k] + sheet.new[k]
    log_ratio += _log_gain(k, weight, mass, documents, sheet)
    log_ratio -= sheet.number[LENGTH] * math.log1p(weight / others)
    if math.log(uniform(stream)) >= -math.log(concepts.odds[j]) - log_ratio:
        return
    for a in range(n_words):
        sheet.cover[a] -= sheet.on[k, a]
        sheet.explained[a] = sheet.rest[a]
    sheet.total[WEIGHT] = others
    drop(k, sheet)


@lean
def _pull(j, weight, others, concepts, sheet):
    """About n_j/T_j: a word that is on costs the text θ times that. Needs nothing that the move changes."""
    expected = sheet.number[LENGTH] * weight / (others + weight)
    return min(expected / concepts.mass[j], _MOST_BACK)


@lean
def _log_gain(k, weight, mass, documents, sheet):
    """What the document's words gain in log probability by a concept of this weight and mass, S left out."""
    gain, first = 0.0, sheet.number[FIRST]
    for a in range(sheet.number[WORDS]):
        if sheet.on[k, a] > 0:
            gain += documents.times[first + a] * math.log1p(weight / mass / sheet.rest[a])
    return gain


@lean
def _present_words(k, j, weight, pull, draw, documents, concepts, sheet, stream):
    """Draw or score which of the document's own words are on in the k-th concept: log P(f)/q(f)."""
    first = sheet.number[FIRST]
    share, down = weight / concepts.mass[j], math.exp(-pull)
    log_ratio, product, mass = 0.0, 1.0, 0.0
    for a in range(sheet.number[WORDS]):
        p, times = sheet.p[j, a], documents.times[first + a]
        factor = 1.0 + share / sheet.rest[a] if sheet.rest[a] > 0.0 else np.inf
        if times > 1:
            factor = math.exp(min(times * math.log(factor), 40.0))
        factor = min(factor * down, _MOST_FACTOR)
        both = 1.0 - p + p * factor
        product *= both
        if draw:
            sheet.on[k, a] = uniform(stream) * both < p * factor
        if sheet.on[k, a] > 0:
            product /= factor
            mass += concepts.theta[documents.word[first + a]]
        if product > 1e100 or product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    if draw:
        sheet.present[k] = mass
    return log_ratio + math.log(product)


@lean
def try_swap(documents, concepts, sheet, stream):
    """Concept t takes the place and the π of concept j, chosen through a token that both must explain."""
    n_words, new = sheet.number[WORDS], sheet.number[PAIRS]
    at = _random_token(documents, sheet, stream)
    k = _covering(at, below(stream, sheet.cover[at]), sheet)
    j, t, weight = sheet.concept[k], _pick(at, sheet, stream), sheet.weight[k]
    chance, chance_back = _chance(at, t, sheet), _chance(at, j, sheet)
    if sheet.place[t] > 0 or chance_back <= 0.0:
        return
    others = set_rest(k, k, sheet)
    pull, pull_back = _pull(t, weight, others, concepts, sheet), _pull(j, weight, others, concepts, sheet)
    log_ratio = _present_words(new, t, weight, pull, True, documents, concepts, sheet, stream)
    if sheet.on[new, at] == 0:
        return
    for a in range(n_words):
        if sheet.rest[a] == 0.0 and sheet.on[new, a] == 0:
            return
    log_ratio -= _present_words(k, j, weight, pull_back, False, documents, concepts, sheet, stream)
    if sheet.number[LENGTH] <= _LONG:
        pull, pull_back = 0.0, 0.0
    absent, extra = draw_absent(t, pull, 0.0, concepts, sheet, stream)
    log_ratio += log_absent(t, pull, absent, concepts, sheet)
    log_ratio -= log_absent(j, pull_back, sheet.absent[k], concepts, sheet)
    share = weight / (sheet.present[new] + absent + extra)
    log_ratio += math.log(concepts.odds[t] / concepts.odds[j]) + math.log(chance_back / chance)
    log_ratio += _log_swapped(k, new, share, documents, sheet)
    if math.log(uniform(stream)) >= log_ratio:
        return
    sheet.place[j], sheet.place[t], sheet.concept[k] = 0, k + 1, t
    sheet.present[k], sheet.absent[k], sheet.new[k] = sheet.present[new], absent, extra
    sheet.share[k] = share
    for a in range(n_words):
        sheet.cover[a] += np.int64(sheet.on[new, a]) - np.int64(sheet.on[k, a])
        sheet.on[k, a] = sheet.on[new, a]
        sheet.explained[a] = sheet.rest[a] + sheet.on[k, a] * share


@lean
def _log_swapped(k, new, share, documents, sheet):
    """What the text gains when word set `new` of this share takes the place of the k-th."""
    gain, first = 0.0, sheet.number[FIRST]
    for a in range(sheet.number[WORDS]):
        if sheet.on[k, a] + sheet.on[new, a] > 0:
            before = sheet.rest[a] + sheet.on[k, a] * sheet.share[k]
            after = sheet.rest[a] + sheet.on[new, a] * share
            gain += documents.times[first + a] * math.log(after / before)
    return gain


@lean
def _random_token(documents, sheet, stream):
    """The word (index a) of a token chosen at random."""
    u, a, first = below(stream, sheet.number[LENGTH]), 0, sheet.number[FIRST]
    while u >= documents.times[first + a]:
        u -= documents.times[first + a]
        a += 1
    return a


@lean
def _covering(a, n, sheet):
    """The n-th of the concepts with the a-th word on."""
    for k in range(sheet.number[PAIRS]):
        if sheet.on[k, a] > 0:
            if n == 0:
                return k
            n -= 1
    return 0


@lean
def _pick(a, sheet, stream):
    """A concept that might explain the a-th word, with probability _chance."""
    low, high = 0, sheet.pick.shape[1] - 1
    u = uniform(stream) * sheet.pick[a, high]
    while low < high:
        middle = (low + high) // 2
        if sheet.pick[a, middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@lean
def _chance(a, j, sheet):
    below_j = sheet.pick[a, j - 1] if j > 0 else 0.0
    return (sheet.pick[a, j] - below_j) / sheet.pick[a, sheet.pick.shape[1] - 1]


@lean
def try_split(documents, concepts, sheet, stream):
    """c_t: 0 → 1, with a part of the words and of the π of a concept j that is held.

    Each of the document's words in j goes to j, t or both in proportion to the prior, and π in the proportion
    Beta(α_π + n_j, α_π + n_t), n the tokens of the words that go there (half where they go to both).
    """
    n_words, n_pairs = sheet.number[WORDS], sheet.number[PAIRS]
    at = _random_token(documents, sheet, stream)
    k = _covering(at, below(stream, sheet.cover[at]), sheet)
    j, t, whole = sheet.concept[k], _pick(at, sheet, stream), sheet.weight[k]
    if sheet.place[t] > 0:
        return
    for a in range(n_words):
        sheet.fate[a] = 0
        if sheet.on[k, a] > 0:
            p, q = sheet.p[j, a], sheet.p[t, a]
            u = uniform(stream) * (p + q - p * q)
            sheet.fate[a] = 1 if u < p * (1.0 - q) else (2 if u < p + q - 2.0 * p * q else 3)
    if sheet.fate[at] < 2:
        return
    set_rest(k, k, sheet)
    shape_j, shape_t = _beta_shapes(documents, concepts, sheet)
    g = gamma(stream, shape_j)
    part = g / (g + gamma(stream, shape_t))
    weight_j, weight_t = max(whole * part, 1e-300), max(whole * (1.0 - part), 1e-300)
    back = _back_of_split(t, weight_t, concepts, sheet)
    absent, new = draw_absent(t, back, 0.0, concepts, sheet, stream)
    mass_j = sheet.absent[k] + sheet.new[k]
    log_ratio = _log_split(j, t, weight_j, weight_t, mass_j, absent + new, documents, concepts, sheet)
    log_ratio += log_absent(t, back, absent, concepts, sheet)
    after = sheet.cover[at] + (1 if sheet.fate[at] == 3 else 0)
    log_ratio += math.log(sheet.cover[at] / (after * n_pairs * _chance(at, t, sheet)))
    if math.log(uniform(stream)) >= log_ratio:
        return
    sheet.number[PAIRS] += 1
    sheet.concept[n_pairs], sheet.place[t] = t, n_pairs + 1
    sheet.weight[k], sheet.weight[n_pairs] = weight_j, weight_t
    sheet.absent[n_pairs], sheet.new[n_pairs] = absent, new
    for a in range(n_words):
        sheet.on[k, a], sheet.on[n_pairs, a] = sheet.fate[a] & 1, sheet.fate[a] >> 1
    set_present(k, documents, concepts, sheet)
    set_present(n_pairs, documents, concepts, sheet)
    set_explained(sheet)


@lean
def try_merge(documents, concepts, sheet, stream):
    """c_t: 1 → 0, its words and π going to another concept: the exact reverse of a split."""
    n_words, n_left = sheet.number[WORDS], sheet.number[PAIRS] - 1
    if n_left == 0:
        return
    at = _random_token(documents, sheet, stream)
    out = _covering(at, below(stream, sheet.cover[at]), sheet)
    k = below(stream, n_left)
    k += 1 if k >= out else 0
    j, t = sheet.concept[k], sheet.concept[out]
    chance = _chance(at, t, sheet)
    if chance <= 0.0:
        return
    for a in range(n_words):
        sheet.fate[a] = (1 if sheet.on[k, a] > 0 else 0) + (2 if sheet.on[out, a] > 0 else 0)
    set_rest(k, out, sheet)
    weight_j, weight_t = sheet.weight[k], sheet.weight[out]
    mass_j, mass_t = sheet.absent[k] + sheet.new[k], sheet.absent[out] + sheet.new[out]
    log_ratio = _log_split(j, t, weight_j, weight_t, mass_j, mass_t, documents, concepts, sheet)
    back = _back_of_split(t, weight_t, concepts, sheet)
    log_ratio += log_absent(t, back, sheet.absent[out], concepts, sheet)
    before = sheet.cover[at] - (1 if sheet.fate[at] == 3 else 0)
    log_ratio += math.log(before / (sheet.cover[at] * n_left * chance))
    if math.log(uniform(stream)) >= -log_ratio:
        return
    for a in range(n_words):
        sheet.on[k, a] = sheet.fate[a] > 0
    sheet.weight[k] = weight_j + weight_t
    set_present(k, documents, concepts, sheet)
    drop(out, sheet)
    set_explained(sheet)


@lean
def _back_of_split(t, weight, concepts, sheet):
    if sheet.number[LENGTH] <= _LONG:
        return 0.0
    return _pull(t, weight, sheet.total[WEIGHT] - weight, concepts, sheet)


@lean
def _beta_shapes(documents, concepts, sheet):
    n_j, n_t, first = 0.0, 0.0, sheet.number[FIRST]
    for a in range(sheet.number[WORDS]):
        times, fate = documents.times[first + a], sheet.fate[a]
        n_j += times * (1.0 if fate == 1 else 0.5 if fate == 3 else 0.0)
        n_t += times * (1.0 if fate == 2 else 0.5 if fate == 3 else 0.0)
    return concepts.alpha_pi + n_j, concepts.alpha_pi + n_t


@lean
def _log_split(j, t, weight_j, weight_t, mass_j, mass_t, documents, concepts, sheet):
    """log of prior · text of two concepts over that of one, less the log density that the split is proposed with.

    mass_j and mass_t are θ of the words on that the document does not use; sheet.fate tells of the others.
    """
    alpha_pi, first = concepts.alpha_pi, sheet.number[FIRST]
    whole, mass = weight_j + weight_t, mass_j
    log_ratio, product = math.log(concepts.odds[t]), 1.0
    for a in range(sheet.number[WORDS]):
        p, q, fate = sheet.p[j, a], sheet.p[t, a], sheet.fate[a]
        if fate == 0:
            product *= 1.0 - q
        else:
            product *= (p + q - p * q) / p
            theta = concepts.theta[documents.word[first + a]]
            mass += theta
            mass_j += theta * (fate & 1)
            mass_t += theta * (fate >> 1)
        if product > 1e100 or product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    log_ratio += math.log(product)
    share, share_t = whole / mass, weight_t / mass_t
    share_j = weight_j / mass_j if mass_j > 0.0 else 0.0
    for a in range(sheet.number[WORDS]):
        fate = sheet.fate[a]
        if fate > 0:
            after = sheet.rest[a] + (fate & 1) * share_j + (fate >> 1) * share_t
            log_ratio += documents.times[first + a] * math.log(after / (sheet.rest[a] + share))
    # Gamma(π_j) Gamma(π_t) / Gamma(π_j + π_t) · Jacobian / Beta(π_j / (π_j + π_t)), with Jacobian π_j + π_t
    shape_j, shape_t = _beta_shapes(documents, concepts, sheet)
    log_j, log_t, log_whole = math.log(weight_j), math.log(weight_t), math.log(whole)
    log_ratio += (alpha_pi - 1.0) * (log_j + log_t - log_whole) - math.lgamma(alpha_pi) + log_whole
    log_ratio -= math.lgamma(shape_j + shape_t) - math.lgamma(shape_j) - math.lgamma(shape_t)
    return log_ratio - (shape_j - 1.0) * (log_j - log_whole) - (shape_t - 1.0) * (log_t - log_whole)
