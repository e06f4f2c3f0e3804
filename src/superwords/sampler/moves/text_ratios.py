"""What the text of the document at hand gains or loses when it takes or gives up a concept."""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.jit import lean
from superwords.sampler.workspace import EMPTY, FIRST, LAST, PAIRS, WEIGHT


@lean
def log_text_gain(doc, data, d, words, weight, mass):
    """log P(w^(d)) with a further concept of these words, less without it."""
    length, null = data.length[d], data.null[d]
    if doc.number[PAIRS] == 0:
        return -np.inf if null > 0 and len(words) > 0 else 0.0
    log_gain = -length * math.log1p(weight / doc.total[WEIGHT])
    if null > 0 and len(words) == 0:
        log_gain += null * math.log1p(weight / doc.total[EMPTY])
    first = doc.number[FIRST]
    for w in words:
        a = doc.spot[w] - 1
        if a >= 0:
            log_gain += data.count[first + a] * math.log1p(weight / mass / max(doc.explained[a], 1e-300))
    return log_gain


@lean
def log_text_loss(doc, data, d, k):
    """log P(w^(d)) without the k-th concept, less with it; −inf where a token would be left unexplained."""
    start, size = doc.start[k], doc.size[k]
    for e in range(start, start + size):
        a = doc.spot[doc.arena[e]] - 1
        if a >= 0 and doc.cover[a] == 1:
            return -np.inf
    null = data.null[d]
    if doc.number[PAIRS] == 1:
        return 0.0
    others, empty = 0.0, 0.0
    for other in range(doc.number[PAIRS]):
        if other != k:
            others += doc.weight[other]
            if doc.size[other] == 0:
                empty += doc.weight[other]
    log_loss = data.length[d] * math.log1p(doc.weight[k] / others)
    if null > 0 and size == 0:
        if empty == 0.0:
            return -np.inf
        log_loss -= null * math.log1p(doc.weight[k] / empty)
    first = doc.number[FIRST]
    for e in range(start, start + size):
        a = doc.spot[doc.arena[e]] - 1
        if a >= 0:
            rest = explained_by_others(doc, a, k, doc.arena[e])
            log_loss -= data.count[first + a] * math.log1p(doc.weight[k] / doc.mass[k] / rest)
    return log_loss


@lean
def explained_by_others(doc, a, k, w):
    """Σ π/T over the other concepts with word w on; summed anew where the difference would lose digits."""
    own = doc.weight[k] / doc.mass[k]
    rest = doc.explained[a] - own
    if rest > 1e-6 * own:
        return rest
    rest = 0.0
    for other in range(doc.number[PAIRS]):
        if other != k:
            for e in range(doc.start[other], doc.start[other] + doc.size[other]):
                if doc.arena[e] == w:
                    rest += doc.weight[other] / doc.mass[other]
    return rest


@lean
def set_rest(doc, k):
    """Fill doc.rest with what is explained without the k-th concept; returns Σ π of the others."""
    for a in range(doc.number[LAST] - doc.number[FIRST]):
        doc.rest[a] = doc.explained[a]
    for e in range(doc.start[k], doc.start[k] + doc.size[k]):
        w = doc.arena[e]
        a = doc.spot[w] - 1
        if a >= 0:
            doc.rest[a] = explained_by_others(doc, a, k, w) if doc.cover[a] > 1 else 0.0
    others = 0.0
    for other in range(doc.number[PAIRS]):
        if other != k:
            others += doc.weight[other]
    return others
