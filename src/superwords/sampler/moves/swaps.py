"""Within one document: one concept in place of another (docs/algebra.md 4).

Joining a concept pays for its π in S_d^{−N_d}; a swap leaves S_d as it is, which lets short documents pass between
rival explanations. It is a Metropolis–Hastings step on (c, f, π) with z summed out, accepted in two stages as a flip.
"""

from __future__ import annotations

import math

from superwords.sampler.instance import change_counts, log_fit_change
from superwords.sampler.jit import inlined, part
from superwords.sampler.moves.word_sets import (
    draw_absent,
    draw_present,
    first_look,
    log_absent,
    tilt_of,
    tilt_words,
)
from superwords.sampler.open_document import (
    LENGTH,
    NULL,
    PAIRS,
    SLOTS,
    SWAP,
    USED,
    WORDS,
    make_room,
    set_explained,
    set_rest,
    set_weight,
    weights_without,
)
from superwords.sampler.random import below, uniform


@inlined
def swap_concepts(n, is_data_driven, doc, concepts, instance, stream):
    """So many tries of one concept in place of another."""
    if doc.number[WORDS] == 0:
        return
    for _ in range(n):
        make_room(doc)
        doc.tried[SWAP] += 1
        doc.accepted[SWAP] += _try_swap(is_data_driven, doc, concepts, instance, stream)


@part
def random_token(doc, stream):
    """The word (index a) of a token chosen at random."""
    u, a = below(stream, doc.number[LENGTH] - doc.number[NULL]), 0
    while u >= doc.times[a]:
        u -= doc.times[a]
        a += 1
    return a


@part
def pick_covering(a, doc, stream):
    """One of the concepts with the a-th word on."""
    n = below(stream, doc.cover[a])
    for k in range(doc.number[PAIRS]):
        if doc.on[k, a] > 0:
            if n == 0:
                return k
            n -= 1
    return 0


@part
def weigh_rivals(a, doc):
    """How the concepts that might explain the a-th word are picked: by the other documents alone."""
    if doc.picked[a] == 0:
        doc.picked[a], total = 1, 0.0
        for j in range(doc.number[SLOTS]):
            total += doc.p[a, j] * doc.appeal[j]
            doc.pick[a, j] = total


@part
def pick_rival(a, doc, stream):
    """A concept that might explain the a-th word, with probability chance_of."""
    low, high = 0, doc.number[SLOTS] - 1
    u = uniform(stream) * doc.pick[a, high]
    while low < high:
        middle = (low + high) // 2
        if doc.pick[a, middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@part
def chance_of(a, j, doc):
    if j >= doc.number[SLOTS]:
        return 0.0  # the document's own newborn
    below_j = doc.pick[a, j - 1] if j > 0 else 0.0
    whole = doc.pick[a, doc.number[SLOTS] - 1]
    return (doc.pick[a, j] - below_j) / whole if whole > 0.0 else 0.0


@part
def _try_swap(is_data_driven, doc, concepts, instance, stream):
    """Concept t takes the place and the π of concept j, chosen through a token that both must explain.

    Looked at twice, as a join is.
    """
    n_words, new, start = doc.number[WORDS], doc.number[PAIRS], doc.number[USED]
    at = random_token(doc, stream)
    weigh_rivals(at, doc)
    k = pick_covering(at, doc, stream)
    t = pick_rival(at, doc, stream)
    j, weight = doc.concept[k], doc.weight[k]
    chance, chance_back = chance_of(at, t, doc), chance_of(at, j, doc)
    if doc.place[t] > 0 or chance_back <= 0.0 or chance <= 0.0:
        return False
    set_rest(doc, k, k)
    others, _ = weights_without(doc, k, k)
    tilt = tilt_of(t, weight, others, is_data_driven, doc, concepts)
    tilt_back = tilt_of(j, weight, others, is_data_driven, doc, concepts)
    log_first = tilt_words(t, tilt, doc.rest, doc.factor, doc)
    log_first -= tilt_words(j, tilt_back, doc.rest, doc.factor_back, doc)
    log_first += math.log(concepts.odds[t] * chance_back / (concepts.odds[j] * chance))
    log_u = math.log(uniform(stream))
    if is_data_driven:
        log_looked = first_look(log_first)
        if log_u >= log_looked:
            return False
        log_first -= log_looked
        log_u = math.log(uniform(stream))
    log_u -= log_first
    mass, end = draw_present(new, t, doc.factor, doc, stream)
    if doc.on[new, at] == 0:
        return False
    for a in range(n_words):
        if doc.rest[a] == 0.0 and doc.on[new, a] == 0:
            return False
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
    hold_words(k, start, end, weight, mass, doc)
    for a in range(n_words):
        doc.on[k, a] = doc.on[new, a]
    set_explained(doc)
    return True


@part
def hold_words(k, start, end, weight, mass, doc):
    """The k-th concept has the word set that stands at the arena's end."""
    doc.start[k], doc.size[k], doc.number[USED] = start, end - start, end
    set_weight(doc, k, weight, mass)


@part
def _log_swapped(k, new, share, doc):
    """What the text gains when the word set of row `new` takes the place of the k-th, less what the tilts gave."""
    log_ratio, product = 0.0, 1.0
    for a in range(doc.number[WORDS]):
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
