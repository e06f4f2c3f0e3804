"""One new document beside the kept concepts: what it holds, what that explains, and words it does not use.

Of words that the document does not use, its text sees only their part in T_j = Σ_i θ_i f_ji, so only that is kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import lean
from superwords.sampler.model import Prior
from superwords.sampler.random import skip_by_log, uniform
from superwords.sampler.state import Sizes

# Places in sheet.number and sheet.total
WORDS, PAIRS, LENGTH, FIRST = 0, 1, 2, 3
WEIGHT = 0

_DENSE = 0.25  # probability from which on words are drawn one by one instead of skipping to the next


class Concepts(NamedTuple):
    """The kept concepts as a new document sees them. A concept's support are the words some document has on."""

    odds: np.ndarray  # (J) m_j/(D − m_j + b₁)
    whole: np.ndarray  # (J) m_j + b₂
    mass: np.ndarray  # (J) expected T_j
    m: np.ndarray  # (V, J) m_ji
    extra: np.ndarray  # (V) b₂λ_i
    extra_max: float
    theta: np.ndarray  # (V)
    support_ptr: np.ndarray  # (J+1)
    support: np.ndarray  # words, the most probable first
    on: np.ndarray  # their P(f_ji = 1)
    log_miss: np.ndarray  # log(1 − P)
    alpha_pi: float


class Documents(NamedTuple):
    """The words of the new documents and how often each occurs."""

    ptr: np.ndarray  # (D'+1)
    word: np.ndarray
    times: np.ndarray


class Sheet(NamedTuple):
    """One new document; index a counts its different words, k the concepts it holds."""

    spot: np.ndarray  # (V) 1 where the document uses the word
    p: np.ndarray  # (J, a) P(f_ji = 1) of its own words
    rate: np.ndarray  # (J) how often joining or leaving a concept is tried
    pick: (
        np.ndarray
    )  # (a, J) cumulative: how often a concept is tried in place of another that explains the word
    order: np.ndarray  # (J) concepts to try
    place: np.ndarray  # (J) k + 1, or 0
    concept: np.ndarray  # (k) j
    weight: np.ndarray  # (k) π
    present: np.ndarray  # (k) θ of the document's own words that are on
    absent: np.ndarray  # (k) θ of other words of the support that are on
    new: np.ndarray  # (k) θ of words on that no other document has on
    share: np.ndarray  # (k) π/T: what the concept adds to a word that is on, θ_i left out
    tokens: np.ndarray  # (k) n_j
    on: np.ndarray  # (k, a) f of its own words; 2 where tokens are imputed
    explained: np.ndarray  # (a) Σ π/T
    rest: np.ndarray  # (a) the same without the concept at hand
    fate: np.ndarray  # (a) where a split puts a word: 1 the old concept, 2 the new one, 3 both
    cover: np.ndarray  # (a) how many concepts have the word on
    another: np.ndarray  # (r) what an (r+1)-th concept costs the text, −1 where not known yet
    number: np.ndarray  # [different words, concepts held, tokens, first place in documents]
    total: np.ndarray  # [Σ π]


def make_concepts(sizes: Sizes, n_documents: int, theta: np.ndarray, prior: Prior) -> Concepts:
    """What m_j, m_ji and the prior say to a document that is not among the n_documents counted."""
    holders = sizes.holders.astype(float)
    extra = prior.b2 * prior.lam
    whole = holders + prior.b2
    j, word = np.nonzero(sizes.m)
    on = (sizes.m[j, word] + extra[word]) / whole[j]
    by_probability = np.lexsort((word, -on, j))
    j, word, on = j[by_probability], word[by_probability], on[by_probability]
    return Concepts(
        odds=holders / (n_documents - holders + prior.b1),
        whole=whole,
        mass=(sizes.m @ theta + extra @ theta) / whole,
        m=np.ascontiguousarray(sizes.m.T),
        extra=extra,
        extra_max=float(extra.max()),
        theta=np.asarray(theta, float),
        support_ptr=np.searchsorted(j, np.arange(len(holders) + 1)).astype(np.int64),
        support=word.astype(np.int32),
        on=on,
        log_miss=np.log1p(-on),
        alpha_pi=float(prior.alpha_pi),
    )


def new_sheet(n_words: int, n_concepts: int, longest: int) -> Sheet:
    """Room for documents of up to `longest` different words."""
    per_concept, per_word, whole = (n_concepts,), (longest,), np.int64
    return Sheet(
        spot=np.zeros(n_words, np.uint8),
        p=np.zeros((n_concepts, longest)),
        rate=np.zeros(per_concept),
        pick=np.zeros((longest, n_concepts)),
        order=np.zeros(per_concept, whole),
        place=np.zeros(per_concept, whole),
        concept=np.zeros(per_concept, whole),
        weight=np.zeros(per_concept),
        present=np.zeros(per_concept),
        absent=np.zeros(per_concept),
        new=np.zeros(per_concept),
        share=np.zeros(per_concept),
        tokens=np.zeros(per_concept, whole),
        on=np.zeros((n_concepts, longest), np.uint8),
        explained=np.zeros(per_word),
        rest=np.zeros(per_word),
        fate=np.zeros(per_word, whole),
        cover=np.zeros(per_word, whole),
        another=np.zeros(per_concept),
        number=np.zeros(4, whole),
        total=np.zeros(1),
    )


@lean
def set_present(k, documents, concepts, sheet):
    """Add up θ of the document's own words that are on in the k-th concept."""
    mass = 0.0
    first = sheet.number[FIRST]
    for a in range(sheet.number[WORDS]):
        if sheet.on[k, a] > 0:
            mass += concepts.theta[documents.word[first + a]]
    sheet.present[k] = mass


@lean
def set_share(k, sheet):
    """π/T of the k-th concept; one without words explains none."""
    mass = sheet.present[k] + sheet.absent[k] + sheet.new[k]
    sheet.share[k] = sheet.weight[k] / mass if mass > 0.0 else 0.0


@lean
def set_explained(sheet):
    """Add up anew what all concepts explain."""
    sheet.total[WEIGHT] = 0.0
    for a in range(sheet.number[WORDS]):
        sheet.explained[a] = 0.0
        sheet.cover[a] = 0
    for k in range(sheet.number[PAIRS]):
        sheet.total[WEIGHT] += sheet.weight[k]
        set_share(k, sheet)
        for a in range(sheet.number[WORDS]):
            if sheet.on[k, a] > 0:
                sheet.explained[a] += sheet.share[k]
                sheet.cover[a] += 1


@lean
def set_rest(k, also, sheet):
    """Fill sheet.rest with what is explained without concepts k and `also`; returns Σ π of the others.

    Added up anew: differences would lose digits, and whether a word is explained at all is seen by rest > 0.
    """
    others = 0.0
    for a in range(sheet.number[WORDS]):
        sheet.rest[a] = 0.0
    for other in range(sheet.number[PAIRS]):
        if other != k and other != also:
            others += sheet.weight[other]
            for a in range(sheet.number[WORDS]):
                if sheet.on[other, a] > 0:
                    sheet.rest[a] += sheet.share[other]
    return others


@lean
def drop(k, sheet):
    """Give up the k-th concept; the last one takes its place."""
    last = sheet.number[PAIRS] - 1
    sheet.place[sheet.concept[k]] = 0
    if k != last:
        sheet.concept[k] = sheet.concept[last]
        sheet.place[sheet.concept[k]] = k + 1
        sheet.weight[k], sheet.present[k] = sheet.weight[last], sheet.present[last]
        sheet.absent[k], sheet.new[k] = sheet.absent[last], sheet.new[last]
        sheet.share[k], sheet.tokens[k] = sheet.share[last], sheet.tokens[last]
        for a in range(sheet.number[WORDS]):
            sheet.on[k, a] = sheet.on[last, a]
    sheet.number[PAIRS] = last


@lean
def draw_absent(j, back, back_new, concepts, sheet, stream):
    """θ of the words on that the document does not use, each with odds e^(−back θ) times those of P(f_ji = 1).

    Returns (that of the support, that of words no other document has on). Words come with falling probability, so
    from each a geometric number can be skipped at the bound it sets, and the one landed on accepted at its own.
    """
    theta = concepts.theta
    absent, new = 0.0, 0.0
    s, end = concepts.support_ptr[j], concepts.support_ptr[j + 1]
    while s < end:
        bound = 1.0
        if concepts.on[s] < _DENSE:
            bound = concepts.on[s]
            s += skip_by_log(stream, concepts.log_miss[s])
            if s >= end:
                break
        w = concepts.support[s]
        if sheet.spot[w] == 0 and uniform(stream) * bound < held_back(concepts.on[s], back * theta[w]):
            absent += theta[w]
        s += 1
    most = concepts.extra_max / concepts.whole[j]
    log_miss = math.log1p(-most)
    w = skip_by_log(stream, log_miss)
    while w < len(theta):
        if sheet.spot[w] == 0 and concepts.m[w, j] == 0:
            p = concepts.extra[w] / concepts.whole[j]
            if uniform(stream) * most < held_back(p, back_new * theta[w]):
                new += theta[w]
        w += 1 + skip_by_log(stream, log_miss)
    return absent, new


@lean
def held_back(p, cost):
    """The probability whose odds are e^(−cost) times those of p."""
    if cost == 0.0:
        return p
    on = p * math.exp(-cost)
    return on / (1.0 - p + on)


@lean
def log_absent(j, back, absent, concepts, sheet):
    """log P/q of the support's words that the document does not use, held back as above: only their θ matters."""
    if back == 0.0:
        return 0.0
    total, product = back * absent, 1.0
    for s in range(concepts.support_ptr[j], concepts.support_ptr[j + 1]):
        w = concepts.support[s]
        if sheet.spot[w] == 0:
            product *= 1.0 + concepts.on[s] * math.expm1(-back * concepts.theta[w])
            if product < 1e-100:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)
