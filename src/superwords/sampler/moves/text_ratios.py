"""What the text of the document on the desk gains or loses when it takes or gives up a concept."""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.jit import lean
from superwords.sampler.workspace import EMPTY, FIRST, LAST, PAIRS, WEIGHT


@lean
def log_text_gain(desk, data, d, words, weight, mass):
    """log P(w^(d)) with a further concept of these words, less without it."""
    length, null = data.length[d], data.null[d]
    if desk.number[PAIRS] == 0:
        return -np.inf if null > 0 and len(words) > 0 else 0.0
    log_gain = -length * math.log1p(weight / desk.total[WEIGHT])
    if null > 0 and len(words) == 0:
        log_gain += null * math.log1p(weight / desk.total[EMPTY])
    first = desk.number[FIRST]
    for w in words:
        a = desk.spot[w] - 1
        if a >= 0:
            log_gain += data.count[first + a] * math.log1p(weight / mass / max(desk.explained[a], 1e-300))
    return log_gain


@lean
def log_text_loss(desk, data, d, k):
    """log P(w^(d)) without the k-th concept, less with it; −inf where a token would be left unexplained."""
    start, size = desk.start[k], desk.size[k]
    for e in range(start, start + size):
        a = desk.spot[desk.arena[e]] - 1
        if a >= 0 and desk.cover[a] == 1:
            return -np.inf
    null = data.null[d]
    if desk.number[PAIRS] == 1:
        return 0.0
    others, empty = 0.0, 0.0
    for other in range(desk.number[PAIRS]):
        if other != k:
            others += desk.weight[other]
            if desk.size[other] == 0:
                empty += desk.weight[other]
    log_loss = data.length[d] * math.log1p(desk.weight[k] / others)
    if null > 0 and size == 0:
        if empty == 0.0:
            return -np.inf
        log_loss -= null * math.log1p(desk.weight[k] / empty)
    first = desk.number[FIRST]
    for e in range(start, start + size):
        a = desk.spot[desk.arena[e]] - 1
        if a >= 0:
            rest = explained_by_others(desk, a, k, desk.arena[e])
            log_loss -= data.count[first + a] * math.log1p(desk.weight[k] / desk.mass[k] / rest)
    return log_loss


@lean
def explained_by_others(desk, a, k, w):
    """Σ π/T over the other concepts with word w on; summed anew where the difference would lose digits."""
    own = desk.weight[k] / desk.mass[k]
    rest = desk.explained[a] - own
    if rest > 1e-6 * own:
        return rest
    rest = 0.0
    for other in range(desk.number[PAIRS]):
        if other != k:
            for e in range(desk.start[other], desk.start[other] + desk.size[other]):
                if desk.arena[e] == w:
                    rest += desk.weight[other] / desk.mass[other]
    return rest


@lean
def set_rest(desk, k):
    """Fill desk.rest with what is explained without the k-th concept; returns Σ π of the others."""
    for a in range(desk.number[LAST] - desk.number[FIRST]):
        desk.rest[a] = desk.explained[a]
    for e in range(desk.start[k], desk.start[k] + desk.size[k]):
        w = desk.arena[e]
        a = desk.spot[w] - 1
        if a >= 0:
            desk.rest[a] = explained_by_others(desk, a, k, w) if desk.cover[a] > 1 else 0.0
    others = 0.0
    for other in range(desk.number[PAIRS]):
        if other != k:
            others += desk.weight[other]
    return others
