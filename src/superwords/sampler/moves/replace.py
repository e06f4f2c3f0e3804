"""Replace a concept of one document by another (docs/algebra.md 4).

The π of a joined concept enters S_d^{−N_d}; a swap leaves S_d unchanged, so short documents can move between
alternative explanations. It is a Metropolis–Hastings step on (c, f, π) with z summed out and delayed acceptance.
"""

from __future__ import annotations

import math

from superwords.sampler.document import SWAP, make_room, set_explained, set_rest, set_weight, weight_without
from superwords.sampler.feature_draw import accept_on_features
from superwords.sampler.jit import helper, inline_helper
from superwords.sampler.leave_one_out import is_fixed
from superwords.sampler.moves.proposals import (
    delayed_accept,
    draw_absent,
    draw_present,
    log_absent,
    tilt_of,
    tilt_words,
)
from superwords.sampler.random import below, uniform


@inline_helper
def swap_concepts(n, is_data_driven, doc, concepts, regression, stream):
    """Try `n` replacements of one concept by another."""
    if doc.n_words == 0:
        return
    for _ in range(n):
        make_room(doc)
        doc.tried[SWAP] += 1
        doc.accepted[SWAP] += _try_swap(is_data_driven, doc, concepts, regression, stream)


@helper
def random_token(doc, stream):
    """Return the word (index a) of a token chosen at random."""
    u, a = below(stream, doc.length), 0
    while u >= doc.times[a]:
        u -= doc.times[a]
        a += 1
    return a


@helper
def pick_covering(a, doc, stream):
    """Pick one of the concepts with the a-th word on."""
    n = below(stream, doc.n_explaining[a])
    for k in range(doc.n_pairs):
        if doc.on[k, a] > 0:
            if n == 0:
                return k
            n -= 1
    return 0


@helper
def weigh_replacements(a, doc):
    """Weigh the concepts that might explain the a-th word, given the others only."""
    if doc.picked[a] == 0:
        doc.picked[a], total = 1, 0.0
        for j in range(doc.n_slots):
            total += doc.p[a, j] * doc.replacement_weight[j]
            doc.pick[a, j] = total


@helper
def pick_replacement(a, doc, stream):
    """Pick a concept that might explain the a-th word, with probability chance_of."""
    low, high = 0, doc.n_slots - 1
    u = uniform(stream) * doc.pick[a, high]
    while low < high:
        middle = (low + high) // 2
        if doc.pick[a, middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def chance_of(a, j, doc):
    if j >= doc.n_slots:
        return 0.0  # held by this document only
    below_j = doc.pick[a, j - 1] if j > 0 else 0.0
    whole = doc.pick[a, doc.n_slots - 1]
    return (doc.pick[a, j] - below_j) / whole if whole > 0.0 else 0.0


@helper
def _try_swap(is_data_driven, doc, concepts, regression, stream):
    """Try to replace concept j by t, both explaining a random token, with the same π.

    Uses delayed acceptance, as a join does.
    """
    n_words, new, start = doc.n_words, doc.n_pairs, doc.used
    at = random_token(doc, stream)
    weigh_replacements(at, doc)
    k = pick_covering(at, doc, stream)
    t = pick_replacement(at, doc, stream)
    j, weight = doc.concept[k], doc.weight[k]
    chance, chance_back = chance_of(at, t, doc), chance_of(at, j, doc)
    if doc.place[t] > 0 or chance_back <= 0.0 or chance <= 0.0:
        return False
    if is_fixed(concepts, j) or is_fixed(concepts, t):
        return False  # in both directions, so that the concept stays fixed
    set_rest(doc, k, k)
    others = weight_without(doc, k)
    tilt = tilt_of(t, weight, others, is_data_driven, doc, concepts)
    tilt_back = tilt_of(j, weight, others, is_data_driven, doc, concepts)
    log_first = tilt_words(t, tilt, doc.rest, doc.factor, doc)
    log_first -= tilt_words(j, tilt_back, doc.rest, doc.factor_back, doc)
    log_first += math.log(concepts.odds[t] * chance_back / (concepts.odds[j] * chance))
    log_u = delayed_accept(log_first, is_data_driven, stream)
    if log_u == math.inf:
        return False
    mass, end = draw_present(new, t, doc.factor, doc, stream)
    if doc.on[new, at] == 0:
        return False
    for a in range(n_words):
        if doc.rest[a] == 0.0 and doc.on[new, a] == 0:
            return False
    if tilt.absent == 0.0 and log_u >= _log_swapped(k, new, weight / mass, doc):
        return False  # further words would not help
    end, absent = draw_absent(t, tilt.absent, 0.0, end, doc, concepts, stream)
    words, words_back = doc.arena[start:end], doc.arena[doc.start[k] : doc.start[k] + doc.size[k]]
    log_u -= log_absent(t, tilt.absent, words, doc, concepts)
    log_u += log_absent(j, tilt_back.absent, words_back, doc, concepts)
    mass += absent
    if log_u >= _log_swapped(k, new, weight / mass, doc):
        return False
    if not accept_on_features(regression, words_back, j, words, t, doc.mark, stream):
        return False
    doc.place[j], doc.place[t], doc.concept[k] = 0, k + 1, t
    hold_words(k, start, end, weight, mass, doc)
    for a in range(n_words):
        doc.on[k, a] = doc.on[new, a]
    set_explained(doc)
    return True


@helper
def hold_words(k, start, end, weight, mass, doc):
    """Give the k-th concept the word set at the arena's end."""
    doc.start[k], doc.size[k], doc.used = start, end - start, end
    set_weight(doc, k, weight, mass)


@helper
def _log_swapped(k, new, share, doc):
    """Return the text's log gain when row `new` replaces the k-th, less the tilts'."""
    log_ratio, product = 0.0, 1.0
    for a in range(doc.n_words):
        was, will_be = doc.on[k, a] > 0, doc.on[new, a] > 0
        if was or will_be:
            before = doc.rest[a] + (doc.share[k] if was else 0.0)
            after = doc.rest[a] + (share if will_be else 0.0)
            log_ratio += doc.times[a] * math.log(after / before)
            product *= (doc.factor_back[a] if was else 1.0) / (doc.factor[a] if will_be else 1.0)
            if not 1e-100 < product < 1e100:
                log_ratio += math.log(product)
                product = 1.0
    return log_ratio + math.log(product)
