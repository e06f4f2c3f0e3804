"""Within one document: one concept in place of another, and one divided in two or two united (docs/algebra.md 4).

Joining a concept pays for its π in S_d^{−N_d}; these moves leave S_d as it is, which lets short documents pass between
rival explanations. They are Metropolis–Hastings steps on (c, f, π) with z summed out, accepted in two stages as a flip.
"""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.instance import change_counts, log_fit_change
from superwords.sampler.jit import inlined, part
from superwords.sampler.moves.word_sets import draw_absent, log_absent, present_words, tilt_of
from superwords.sampler.random import below, gamma, uniform
from superwords.sampler.workspace import (
    DIVIDE,
    LENGTH,
    NULL,
    PAIRS,
    SWAP,
    UNITE,
    USED,
    WEIGHT,
    WORDS,
    add_pair,
    drop_pair,
    make_room,
    set_explained,
    set_rest,
    set_weight,
    weights_without,
)

# Sets of fates, one bit for each
_IN_OLD, _IN_NEW, _IN_EITHER, _MOVED = 0b1010, 0b1100, 0b1110, 0b0100


@part
def exchange_concepts(n_swaps, n_divisions, is_data_driven, doc, concepts, instance, stream):
    """So many tries of a swap, and of a division or its reverse."""
    if doc.number[WORDS] == 0:
        return
    for t in range(n_swaps + n_divisions):
        make_room(doc)
        if t < n_swaps:
            doc.tried[SWAP] += 1
            doc.accepted[SWAP] += _try_swap(is_data_driven, doc, concepts, instance, stream)
        elif uniform(stream) < 0.5:
            doc.tried[DIVIDE] += 1
            doc.accepted[DIVIDE] += _try_divide(is_data_driven, doc, concepts, instance, stream)
        else:
            doc.tried[UNITE] += 1
            doc.accepted[UNITE] += _try_unite(is_data_driven, doc, concepts, instance, stream)


@inlined
def _random_token(doc, stream):
    """The word (index a) of a token chosen at random."""
    u, a = below(stream, doc.number[LENGTH] - doc.number[NULL]), 0
    while u >= doc.times[a]:
        u -= doc.times[a]
        a += 1
    return a


@inlined
def _covering(a, doc, stream):
    """One of the concepts with the a-th word on."""
    n = below(stream, doc.cover[a])
    for k in range(doc.number[PAIRS]):
        if doc.on[k, a] > 0:
            if n == 0:
                return k
            n -= 1
    return 0


@inlined
def _weigh_rivals(a, doc):
    """How the concepts that might explain the a-th word are picked: by the other documents alone."""
    if doc.picked[a] == 0:
        doc.picked[a], total = 1, 0.0
        for j in range(doc.pick.shape[1]):
            total += doc.p[a, j] * doc.appeal[j]
            doc.pick[a, j] = total


@inlined
def _pick(a, doc, stream):
    """A concept that might explain the a-th word, with probability _chance."""
    low, high = 0, doc.pick.shape[1] - 1
    u = uniform(stream) * doc.pick[a, high]
    while low < high:
        middle = (low + high) // 2
        if doc.pick[a, middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def _chance(a, j, doc):
    below_j = doc.pick[a, j - 1] if j > 0 else 0.0
    whole = doc.pick[a, doc.pick.shape[1] - 1]
    return (doc.pick[a, j] - below_j) / whole if whole > 0.0 else 0.0


@inlined
def _log_odds(j, concepts):
    """log of m_j/(D − 1 − m_j + b₁), the document at hand left out."""
    holders = concepts.holders[j]
    return math.log(holders / (concepts.n_others - holders + concepts.b1))


@inlined
def _try_swap(is_data_driven, doc, concepts, instance, stream):
    """Concept t takes the place and the π of concept j, chosen through a token that both must explain."""
    n_words, new, start = doc.number[WORDS], doc.number[PAIRS], doc.number[USED]
    at = _random_token(doc, stream)
    _weigh_rivals(at, doc)
    k = _covering(at, doc, stream)
    t = _pick(at, doc, stream)
    j, weight = doc.concept[k], doc.weight[k]
    chance, chance_back = _chance(at, t, doc), _chance(at, j, doc)
    if doc.place[t] > 0 or chance_back <= 0.0 or chance <= 0.0:
        return False
    set_rest(doc, k, k)
    others, _ = weights_without(doc, k, k)
    tilt = tilt_of(t, weight, others, is_data_driven, doc, concepts)
    log_ratio, mass, end = present_words(new, t, tilt, True, doc, stream)
    if doc.on[new, at] == 0:
        return False
    for a in range(n_words):
        if doc.rest[a] == 0.0 and doc.on[new, a] == 0:
            return False
    log_u = math.log(uniform(stream)) - _log_odds(t, concepts) + _log_odds(j, concepts)
    log_u -= log_ratio + math.log(chance_back / chance)
    tilt_back = tilt_of(j, weight, others, is_data_driven, doc, concepts)
    log_ratio, _, _ = present_words(k, j, tilt_back, False, doc, stream)
    log_u += log_ratio
    if tilt.back == 0.0 and log_u >= _log_swapped(k, new, weight / mass, doc):
        return False  # further words would not help
    end, absent = draw_absent(t, tilt.back, 0.0, end, doc, concepts, stream)
    words, words_back = doc.arena[start:end], doc.arena[doc.start[k] : doc.start[k] + doc.size[k]]
    log_u -= log_absent(t, tilt.back, words, doc, concepts)
    log_u += log_absent(j, tilt_back.back, words_back, doc, concepts)
    mass += absent
    if log_u >= _log_swapped(k, new, weight / mass, doc):
        return False
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, words_back, j, words, t, doc.mark):
            return False
        change_counts(instance, words_back, j, words, t)
    doc.place[j], doc.place[t], doc.concept[k] = 0, k + 1, t
    _hold(k, start, end, weight, mass, doc)
    for a in range(n_words):
        doc.on[k, a] = doc.on[new, a]
    set_explained(doc)
    return True


@inlined
def _hold(k, start, end, weight, mass, doc):
    """The k-th concept has the word set that stands at the arena's end."""
    doc.start[k], doc.size[k], doc.number[USED] = start, end - start, end
    set_weight(doc, k, weight, mass)


@part
def _log_swapped(k, new, share, doc):
    """What the text gains when the word set of row `new` takes the place of the k-th."""
    gain = 0.0
    for a in range(doc.number[WORDS]):
        if doc.on[k, a] + doc.on[new, a] > 0:
            before = doc.rest[a] + (doc.share[k] if doc.on[k, a] > 0 else 0.0)
            after = doc.rest[a] + (share if doc.on[new, a] > 0 else 0.0)
            gain += doc.times[a] * math.log(after / before)
    return gain


@inlined
def _try_divide(is_data_driven, doc, concepts, instance, stream):
    """c_t: 0 → 1, with a part of the words and of the π of a concept j that is held.

    Each of the document's words in j goes to j, t or both in proportion to the prior, and π in the proportion
    Beta(α_π + n_j, α_π + n_t), n the tokens of the words that go there (half where they go to both).
    """
    n_words, new = doc.number[WORDS], doc.number[PAIRS]
    at = _random_token(doc, stream)
    _weigh_rivals(at, doc)
    k = _covering(at, doc, stream)
    t = _pick(at, doc, stream)
    j, whole = doc.concept[k], doc.weight[k]
    chance = _chance(at, t, doc)
    if doc.place[t] > 0 or chance <= 0.0:
        return False
    for a in range(n_words):
        doc.fate[a] = 0
        if doc.on[k, a] > 0:
            p, q = doc.p[a, j], doc.p[a, t]
            u = uniform(stream) * (p + q - p * q)
            doc.fate[a] = 1 if u < p * (1.0 - q) else (2 if u < p + q - 2.0 * p * q else 3)
    if doc.fate[at] < 2:
        return False
    set_rest(doc, k, k)
    shape_j, shape_t = _beta_shapes(doc, concepts.alpha_pi)
    g = gamma(stream, shape_j)
    part = g / (g + gamma(stream, shape_t))
    weight_j, weight_t = max(whole * part, 1e-300), max(whole * (1.0 - part), 1e-300)
    back = tilt_of(t, weight_t, doc.total[WEIGHT] - weight_t, is_data_driven, doc, concepts).back
    start = doc.number[USED]
    middle, absent_j = _write_absent(k, _write(_IN_OLD, start, doc), doc, concepts)
    size_j, after = middle - start, doc.cover[at] + (1 if doc.fate[at] == 3 else 0)
    log_u = math.log(uniform(stream) * after * new * chance / doc.cover[at])
    if back == 0.0 and log_u >= _log_division(
        k, k, t, weight_j, weight_t, absent_j, 0.0, size_j, doc, concepts
    ):
        return False  # further words would not help
    end, absent_t = draw_absent(t, back, 0.0, _write(_IN_NEW, middle, doc), doc, concepts, stream)
    words, gone = doc.arena[middle:end], doc.arena[end : _write(_MOVED, end, doc)]
    log_ratio = log_absent(t, back, words, doc, concepts)
    log_ratio += _log_division(k, k, t, weight_j, weight_t, absent_j, absent_t, size_j, doc, concepts)
    if log_u >= log_ratio:
        return False
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, gone, j, words, t, doc.mark):
            return False
        change_counts(instance, gone, j, words, t)
    for a in range(n_words):
        doc.on[k, a], doc.on[new, a] = doc.fate[a] & 1, doc.fate[a] >> 1
    _hold(k, start, middle, weight_j, absent_j + _mass(_IN_OLD, doc), doc)
    add_pair(doc, t, weight_t, absent_t + _mass(_IN_NEW, doc), len(words))
    set_explained(doc)
    return True


@inlined
def _try_unite(is_data_driven, doc, concepts, instance, stream):
    """c_t: 1 → 0, its words and π going to another concept: the exact reverse of a division."""
    n_words, n_left = doc.number[WORDS], doc.number[PAIRS] - 1
    if n_left == 0:
        return False
    at = _random_token(doc, stream)
    _weigh_rivals(at, doc)
    out = _covering(at, doc, stream)
    k = below(stream, n_left)
    k += 1 if k >= out else 0
    j, t, weight_j, weight_t = doc.concept[k], doc.concept[out], doc.weight[k], doc.weight[out]
    chance = _chance(at, t, doc)
    if chance <= 0.0:
        return False
    for a in range(n_words):
        doc.fate[a] = (1 if doc.on[k, a] > 0 else 0) + (2 if doc.on[out, a] > 0 else 0)
    set_rest(doc, k, out)
    start = doc.number[USED]
    end, absent_j = _write_absent(k, _write(_IN_EITHER, start, doc), doc, concepts)
    come, words = (
        doc.arena[end : _write(_MOVED, end, doc)],
        doc.arena[doc.start[out] : doc.start[out] + doc.size[out]],
    )
    absent_t = doc.mass[out] - _mass(_IN_NEW, doc)
    back = tilt_of(t, weight_t, doc.total[WEIGHT] - weight_t, is_data_driven, doc, concepts).back
    before = doc.cover[at] - (1 if doc.fate[at] == 3 else 0)
    log_ratio = math.log(before / (doc.cover[at] * n_left * chance)) + log_absent(
        t, back, words, doc, concepts
    )
    log_ratio += _log_division(k, out, t, weight_j, weight_t, absent_j, absent_t, doc.size[k], doc, concepts)
    if math.log(uniform(stream)) >= -log_ratio:
        return False
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, words, t, come, j, doc.mark):
            return False
        change_counts(instance, words, t, come, j)
    for a in range(n_words):
        doc.on[k, a] = doc.fate[a] > 0
    _hold(k, start, end, weight_j + weight_t, absent_j + _mass(_IN_EITHER, doc), doc)
    drop_pair(doc, out)
    set_explained(doc)
    return True


@inlined
def _write(fates, end, doc):
    """Write the document's own words of these fates to the arena; returns its new end."""
    for a in range(doc.number[WORDS]):
        if fates >> doc.fate[a] & 1:
            doc.arena[end] = doc.word[a]
            end += 1
    return end


@inlined
def _write_absent(k, end, doc, concepts):
    """Likewise the words of the k-th concept that the document does not use; returns their θ too."""
    mass = 0.0
    for e in range(doc.start[k], doc.start[k] + doc.size[k]):
        w = doc.arena[e]
        if doc.spot[w] == 0:
            doc.arena[end] = w
            end += 1
            mass += concepts.theta[w]
    return end, mass


@inlined
def _mass(fates, doc):
    """θ of the document's own words of these fates."""
    mass = 0.0
    for a in range(doc.number[WORDS]):
        if fates >> doc.fate[a] & 1:
            mass += doc.theta[a]
    return mass


@inlined
def _beta_shapes(doc, alpha_pi):
    n_j, n_t = 0.0, 0.0
    for a in range(doc.number[WORDS]):
        times, fate = doc.times[a], doc.fate[a]
        n_j += times * (1.0 if fate == 1 else 0.5 if fate == 3 else 0.0)
        n_t += times * (1.0 if fate == 2 else 0.5 if fate == 3 else 0.0)
    return alpha_pi + n_j, alpha_pi + n_t


@part
def _log_division(k, also, t, weight_j, weight_t, absent_j, absent_t, size_j, doc, concepts):
    """log of prior · text of two concepts over that of one, less the log density that the division is proposed with.

    The one is the k-th (with `also`, where it is divided already); doc.fate tells of the document's own words, absent_j
    and absent_t are θ of the others, and size_j counts the words that the first of the two has.
    """
    j, alpha_pi, whole = doc.concept[k], concepts.alpha_pi, weight_j + weight_t
    log_ratio, product = _log_odds(t, concepts), 1.0
    for a in range(doc.number[WORDS]):
        p, q = doc.p[a, j], doc.p[a, t]
        product *= 1.0 - q if doc.fate[a] == 0 else (p + q - p * q) / p
        if product > 1e100 or product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    log_ratio += math.log(product)
    share = whole / (absent_j + _mass(_IN_EITHER, doc))
    share_j = weight_j / (absent_j + _mass(_IN_OLD, doc)) if size_j > 0 else 0.0
    share_t = weight_t / (absent_t + _mass(_IN_NEW, doc))
    for a in range(doc.number[WORDS]):
        fate = doc.fate[a]
        if fate > 0:
            after = doc.rest[a] + (fate & 1) * share_j + (fate >> 1) * share_t
            log_ratio += doc.times[a] * math.log(after / (doc.rest[a] + share))
    if size_j == 0 and doc.number[NULL] > 0:
        _, empty = weights_without(doc, k, also)
        if empty == 0.0:
            return np.inf  # null tokens that only the first of the two could have: it cannot be given up
        log_ratio += doc.number[NULL] * math.log1p(weight_j / empty)
    # Gamma(π_j) Gamma(π_t) / Gamma(π_j + π_t) · Jacobian / Beta(π_j / (π_j + π_t)), with Jacobian π_j + π_t
    shape_j, shape_t = _beta_shapes(doc, alpha_pi)
    log_j, log_t, log_whole = math.log(weight_j), math.log(weight_t), math.log(whole)
    log_ratio += (alpha_pi - 1.0) * (log_j + log_t - log_whole) - math.lgamma(alpha_pi) + log_whole
    log_ratio -= math.lgamma(shape_j + shape_t) - math.lgamma(shape_j) - math.lgamma(shape_t)
    return log_ratio - (shape_j - 1.0) * (log_j - log_whole) - (shape_t - 1.0) * (log_t - log_whole)
