"""State of one document while its concepts and word sets are updated.

The other documents are held fixed meanwhile, so their predictions of its words are computed once (`load_document`).
Documents of the chain (`moves/documents.py`) and new ones (`fold_in.py`) are updated by the same moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import helper
from superwords.sampler.leave_one_out import expected_mass

# Kinds of proposals
KINDS = ("join", "leave", "birth", "death", "swap", "divide", "unite")
JOIN, LEAVE, BIRTH, DEATH, SWAP, DIVIDE, UNITE = range(len(KINDS))

NONE = -1  # in place of a concept that is held
_FEW_DIGITS = 1e-6


class DocumentState(NamedTuple):
    """The loaded document; a indexes its distinct words, k the concepts it holds."""

    local_index: np.ndarray  # (V) a + 1 of a word that occurs in the document, else 0
    mark: np.ndarray  # (V) scratch
    word: np.ndarray  # (a)
    times: np.ndarray  # (a) #_di
    theta: np.ndarray  # (a)
    p: np.ndarray  # (a, slots) P(f_ji = 1 | the other documents)
    factor: np.ndarray  # (a) factor by which a proposal tilts the odds of a word
    factor_back: np.ndarray  # (a) that of the reverse proposal
    rate: np.ndarray  # (slots) how often joining or leaving the concept is tried
    replacement_weight: np.ndarray  # (slots) relative probability of proposing it as a replacement
    pick: np.ndarray  # (a, slots) cumulative p · appeal, of the words that are marked in `picked`
    picked: np.ndarray  # (a)
    order: np.ndarray  # (slots) concepts to try
    place: np.ndarray  # (slots) k + 1 of a concept that is held, else 0
    concept: np.ndarray  # (k) its slot
    weight: np.ndarray  # (k) π
    mass: np.ndarray  # (k) T = Σ θ over the words on
    share: np.ndarray  # (k) π / T, 0 where no word is on
    tokens: np.ndarray  # (k) n_j, where z is imputed
    size: np.ndarray  # (k)
    on: np.ndarray  # (k, a) f of the document's own words; 2 where tokens are imputed
    words: np.ndarray  # (slots + 3, V) word sets; rows from n_pairs on are those of proposals
    explained: np.ndarray  # (a) Σ_{j: c f = 1} π_j / T_j
    rest: np.ndarray  # (a) the same without the concepts under consideration
    n_explaining: np.ndarray  # (a) how many concepts have the word on
    side: np.ndarray  # (a) where a division puts a word: 1 the old concept, 2 the new one, 3 both
    seed: np.ndarray  # (a) scratch of births
    n_pairs: np.ndarray  # () concepts held
    n_words: np.ndarray  # () different words
    length: np.ndarray  # () tokens
    n_slots: np.ndarray  # () slots of concepts that may be in use
    total_weight: np.ndarray  # () Σ π
    is_data_driven: np.ndarray  # () whether proposals of words are tilted to the document
    tried: np.ndarray  # (KINDS) proposals, over all documents
    accepted: np.ndarray  # (KINDS)


def new_document(n_words: int, longest: int, n_slots: int, is_data_driven: bool = True) -> DocumentState:
    """Allocate the working state of documents of up to `longest` distinct words."""
    longest = max(1, longest)
    shapes = [
        (n_words, np.int32, "local_index"),
        (n_words, np.uint8, "mark"),
        (longest, np.int32, "word"),
        (longest, np.int64, "times n_explaining side"),
        (longest, float, "theta factor factor_back explained rest seed"),
        (longest, np.uint8, "picked"),
        ((longest, n_slots), float, "p pick"),
        ((n_slots + 1, longest), np.uint8, "on"),
        (n_slots, float, "rate replacement_weight weight mass share"),
        (n_slots, np.int64, "order place concept tokens size"),
        ((), np.int64, "n_pairs n_words length n_slots"),
        ((), float, "total_weight"),
        (len(KINDS), np.int64, "tried accepted"),
    ]
    made = {name: np.zeros(shape, kind) for shape, kind, names in shapes for name in names.split()}
    words = np.empty((n_slots + 3, n_words), np.int32)
    return DocumentState(words=words, is_data_driven=np.array(int(is_data_driven)), **made)


@helper
def load_document(doc, concepts, data, d, attempts, overlap):
    """Load document d without any concept; the counts leave it out.

    How often a concept is tried depends on the other documents alone, so that a choice by it needs no correction.
    """
    first, n_words, n_slots = data.doc_ptr[d], data.doc_ptr[d + 1] - data.doc_ptr[d], concepts.n_in_use
    doc.n_pairs, doc.n_words = 0, n_words
    doc.length, doc.n_slots = data.length[d], n_slots
    shared = 0
    for j in range(n_slots):
        doc.rate[j] = 0.0
        shared += concepts.odds[j] > 0.0
    n_tokens = 0
    for a in range(n_words):
        w, times = data.word[first + a], data.count[first + a]
        doc.local_index[w], doc.word[a], doc.times[a] = a + 1, w, times
        doc.theta[a], doc.picked[a] = concepts.theta[w], 0
        n_tokens += times
        extra = concepts.extra[w]
        for j in range(n_slots):
            # Eq. (fPrior) with d counted: (m_ji⁻ + b₂λ_i)/(m_j⁻ + b₂)
            p = min((concepts.m[w, j] + extra) * concepts.inverse[j], 1.0)
            doc.p[a, j] = p
            doc.rate[j] += times * p
    base, per_token = attempts / max(1, shared), overlap / max(1, n_tokens)
    for j in range(n_slots):
        fit = doc.rate[j] / expected_mass(concepts, j)
        doc.replacement_weight[j] = fit * fit * concepts.odds[j]
        doc.rate[j] = base + per_token * doc.rate[j] if concepts.odds[j] > 0.0 else 0.0


@helper
def clear(doc):
    """Unload the document."""
    for a in range(doc.n_words):
        doc.local_index[doc.word[a]] = 0
    for k in range(doc.n_pairs):
        doc.place[doc.concept[k]] = 0
    doc.n_words, doc.n_pairs = 0, 0


@helper
def set_on(doc, k, words):
    """Fill the k-th row of `on` from a word set that was not drawn word by word."""
    for a in range(doc.n_words):
        doc.on[k, a] = 0
    for w in words:
        if doc.local_index[w] > 0:
            doc.on[k, doc.local_index[w] - 1] = 1


@helper
def words_of(doc, k):
    """Return the words of the k-th concept."""
    return doc.words[k][0 : doc.size[k]]


@helper
def add_pair(doc, j, weight, mass, size):
    """Add concept j, its words in the next row of `words` and `on`; `explained` is not updated."""
    k = doc.n_pairs
    doc.concept[k], doc.place[j], doc.size[k] = j, k + 1, size
    doc.n_pairs += 1
    set_weight(doc, k, weight, mass)


@helper
def set_weight(doc, k, weight, mass):
    doc.weight[k], doc.mass[k] = weight, mass
    doc.share[k] = weight / mass if doc.size[k] > 0 else 0.0


@helper
def set_words(doc, k, row, size):
    """Give the k-th concept the words of a row."""
    doc.size[k] = size
    for e in range(size):
        doc.words[k, e] = doc.words[row, e]


@helper
def drop_pair(doc, k):
    """Remove the k-th concept; the last one takes its index."""
    last = doc.n_pairs - 1
    doc.place[doc.concept[k]] = 0
    if k != last:
        doc.concept[k] = doc.concept[last]
        set_words(doc, k, last, doc.size[last])
        doc.weight[k], doc.mass[k], doc.share[k] = doc.weight[last], doc.mass[last], doc.share[last]
        doc.tokens[k] = doc.tokens[last]
        doc.place[doc.concept[k]] = k + 1
        for a in range(doc.n_words):
            doc.on[k, a] = doc.on[last, a]
    doc.n_pairs = last


@helper
def set_explained(doc):
    """Recompute `explained` from all concepts held."""
    n_words = doc.n_words
    doc.total_weight = 0.0
    for a in range(n_words):
        doc.explained[a] = 0.0
        doc.n_explaining[a] = 0
    for k in range(doc.n_pairs):
        doc.total_weight += doc.weight[k]
        share = doc.share[k]
        for a in range(n_words):
            if doc.on[k, a] > 0:
                doc.explained[a] += share
                doc.n_explaining[a] += 1


@helper
def set_rest(doc, k, also):
    """Fill doc.rest with `explained` without concepts k and `also` (which may be NONE).

    It is 0 where no other concept has the word, and summed again where the difference would lose digits.
    """
    for a in range(doc.n_words):
        own, n = 0.0, doc.n_explaining[a]
        if k != NONE and doc.on[k, a] > 0:
            own, n = doc.share[k], n - 1
        if also != k and doc.on[also, a] > 0:
            own, n = own + doc.share[also], n - 1
        rest = doc.explained[a] - own
        if n == 0:
            rest = 0.0
        elif rest <= _FEW_DIGITS * own:
            rest = 0.0
            for other in range(doc.n_pairs):
                if other != k and other != also and doc.on[other, a] > 0:
                    rest += doc.share[other]
        doc.rest[a] = rest


@helper
def leaves_unexplained(k, doc):
    """Return whether only the k-th concept explains some word of the document."""
    for a in range(doc.n_words):  # noqa: SIM110 (numba has no generators)
        if doc.on[k, a] > 0 and doc.n_explaining[a] == 1:
            return True
    return False


@helper
def weight_without(doc, k):
    """Return Σ π without concept k."""
    weight = 0.0
    for other in range(doc.n_pairs):
        if other != k:
            weight += doc.weight[other]
    return weight


@helper
def append_document(new, doc, d):
    """Append the loaded document to a state with room for it, words ascending."""
    pairs = new.doc_ptr[d]
    at = new.pair_ptr[pairs]
    for k in range(doc.n_pairs):
        new.concept[pairs], new.weight[pairs] = doc.concept[k], doc.weight[k]
        start = at
        for w in words_of(doc, k):
            hole = at
            while hole > start and new.word[hole - 1] > w:
                new.word[hole] = new.word[hole - 1]
                hole -= 1
            new.word[hole] = w
            at += 1
        pairs += 1
        new.pair_ptr[pairs] = at
    new.doc_ptr[d + 1] = pairs
