"""Which documents hold which concepts: join and leave of shared concepts, then births and deaths of unique ones.

Eq. (cUpdate) of the paper. X and σ² are instantiated for the step (Gaussian terms), ω and γ stay integrated out, and a
flip is accepted in two stages: prior and text first, then the semantic ratio (docs/algebra.md section 4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.jit import inlined, lean
from superwords.sampler.model import Model
from superwords.sampler.moves.births import birth_or_death
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info, make_info
from superwords.sampler.moves.text_ratios import log_text_gain, log_text_loss, set_rest
from superwords.sampler.published import carry_tokens
from superwords.sampler.random import MEMBERSHIP, below, gamma, open_stream, skip, uniform
from superwords.sampler.semantics import Instance, draw_instance
from superwords.sampler.state import AFTER_CONCEPTS, Sizes, State, n_concepts, relabel, sizes_of
from superwords.sampler.workspace import (
    ACTIVE,
    FIRST,
    FREE,
    JOIN,
    KINDS,
    LAM_MAX,
    LAST,
    LEAVE,
    PRIOR_MASS,
    THETA_MEAN,
    USED,
    WEIGHT,
    Concepts,
    append_document,
    close_document,
    count_pair,
    drop_pair,
    finish_state,
    grow_concepts,
    grow_document,
    grow_state,
    longer,
    new_concepts,
    new_document,
    new_state,
    open_document,
    place_pair,
)

_MOST_TILT = 20.0  # of a word's log odds, so that no proposal is one that cannot be undone
_MOST_FACTOR = math.exp(_MOST_TILT)
_LONG = 60  # tokens from which on a document's absent words are tilted too
# Places in the work list of a pass that can stop for room
DOCUMENT, PHASE, TRIED, DONE = 0, 1, 2, 3

_SPARE = 16  # slots for concepts to be born, to begin with
_OVERLAP = 20.0  # how much more often a concept is tried whose words the document uses


def move_concepts(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """c (with f and π of what changes); z no longer belongs to it and is left out, or carried on as published."""
    model, before, info = now.model, now.state, NOTHING_TRIED
    if model.steps.flips or model.steps.births:
        sizes = sizes_of(before)
        instance = draw_instance(sizes, model.data, model.prior, stream, sweep)
        state, _, _, info = sweep_membership(before, sizes, model, instance, stream, sweep)
    else:
        state = State(*(array.copy() for array in before))
    tokens = carry_tokens(before, now.tokens, state) if model.steps.published_order else None
    relabel(state, n_concepts(state), stream, sweep, AFTER_CONCEPTS)
    return ChainState(model, state, tokens), info


def sweep_membership(
    state: State, sizes: Sizes, model: Model, instance: Instance, stream: np.ndarray, sweep: int
) -> tuple[State, Concepts, Instance, Info]:
    """One pass over all documents. Returns the new state, the counts and semantic instance behind it, and a report."""
    n_words = len(state.theta)
    concepts = new_concepts(sizes, state.theta, model.prior.lam, _SPARE)
    n_slots = len(concepts.holders)
    instance = instance._replace(x=longer(instance.x, n_slots))
    entries = np.diff(state.pair_ptr[state.doc_ptr])
    longest = int(np.diff(model.data.doc_ptr).max())
    doc = new_document(n_words, longest, n_slots, int(entries.max()) + 8 * n_words)
    new = new_state(state)
    order = np.zeros(n_slots, np.int32)
    work = np.zeros(4, np.int64)
    while not _sweep_documents(work, order, state, model, instance, concepts, doc, new, stream, sweep):
        # Out of room somewhere: make more of whatever is short, and go on where the kernel stopped.
        if concepts.number[FREE] == 0:
            n_slots *= 2
            concepts = grow_concepts(concepts, n_slots)
            instance = instance._replace(x=longer(instance.x, n_slots))
            order = longer(order, n_slots)
        n_arena = len(doc.arena) * (2 if doc.number[USED] + n_words > len(doc.arena) else 1)
        doc = grow_document(doc, n_slots, n_arena)
        new = grow_state(new, int(work[DOCUMENT]), n_slots, n_arena)
    return finish_state(new, state.theta), concepts, instance, make_info(KINDS, doc.tried, doc.accepted)


@lean
def _sweep_documents(work, order, state, model, instance, concepts, doc, new, stream, sweep):
    """Documents work[DOCUMENT] and on; False where room runs out, with `work` saying where to go on."""
    n_words = len(state.theta)
    while work[DOCUMENT] < len(model.data.length):
        d = work[DOCUMENT]
        if work[PHASE] == 0:
            open_stream(stream, MEMBERSHIP, sweep, d)
            open_document(doc, state, model.data, d)
            work[TRIED] = _choose_concepts(order, doc, concepts, model, stream) if model.steps.flips else 0
            work[PHASE], work[DONE] = 1, 0
        if work[PHASE] == 1:
            _flip_concepts(work, order, d, doc, concepts, model, state.theta, instance, stream)
            if work[DONE] < work[TRIED]:
                return False
            work[PHASE], work[DONE] = 2, 0
        while work[DONE] < model.steps.births:
            if concepts.number[FREE] == 0 or doc.number[USED] + n_words > len(doc.arena):
                return False
            birth_or_death(d, doc, concepts, model, state.theta, instance, stream)
            work[DONE] += 1
        if not append_document(new, doc, d):
            return False
        close_document(doc, model.data)
        work[PHASE] = 0
        work[DOCUMENT] += 1
    return True


@inlined
def _choose_concepts(order, doc, concepts, model, stream):
    """The shared concepts to flip in this document, in random order.

    Each is tried with a probability that its own flip does not change, so that the choice needs no correction: it
    looks at the other documents that hold the concept only.
    """
    n_tried = 0
    base = model.steps.attempts / max(1, concepts.number[ACTIVE])
    for at in range(concepts.number[ACTIVE]):
        j = concepts.active[at]
        k = doc.place[j] - 1
        others = concepts.holders[j] - (1 if k >= 0 else 0)
        if others == 0:
            continue
        if base >= 1.0 or uniform(stream) < base + _OVERLAP * _overlap(
            j, k, others, doc, concepts, model.data
        ):
            order[n_tried] = j
            n_tried += 1
    for t in range(n_tried - 1, 0, -1):
        swap = below(stream, t + 1)
        order[t], order[swap] = order[swap], order[t]
    return n_tried


@inlined
def _overlap(j, k, others, doc, concepts, data):
    """The share of the document's tokens that concept j holds, on average over the other documents."""
    shared, length = 0, 0
    first = doc.number[FIRST]
    for b in range(first, doc.number[LAST]):
        shared += data.count[b] * concepts.m[j, data.word[b]]
        length += data.count[b]
    if k >= 0:
        for e in range(doc.start[k], doc.start[k] + doc.size[k]):
            a = doc.spot[doc.arena[e]] - 1
            if a >= 0:
                shared -= data.count[first + a]
    return shared / (others * max(1, length))


@inlined
def _flip_concepts(work, order, d, doc, concepts, model, theta, instance, stream):
    """Try the chosen concepts one after the other, while the arena has room."""
    while work[DONE] < work[TRIED] and doc.number[USED] + len(theta) <= len(doc.arena):
        j = order[work[DONE]]
        k = doc.place[j] - 1
        doc.tried[JOIN if k < 0 else LEAVE] += 1
        if k < 0:
            _try_join(j, d, doc, concepts, model, theta, instance, stream)
        else:
            _try_leave(k, d, doc, concepts, model, theta, instance, stream)
        work[DONE] += 1


@inlined
def _try_join(j, d, doc, concepts, model, theta, instance, stream):
    """c_j^(d): 0 → 1, with π from its prior and f from its prior tilted towards the document's words.

    The acceptance number is drawn first: where even the fewest words cannot save the proposal, the rest of the word set
    need not be drawn.
    """
    prior, data = model.prior, model.data
    others = concepts.holders[j]
    weight = gamma(stream, prior.alpha_pi)
    for a in range(doc.number[LAST] - doc.number[FIRST]):
        doc.rest[a] = doc.explained[a]
    log_odds = math.log(others / (len(data.length) - 1 - others + prior.b1))
    log_u = math.log(uniform(stream)) - log_odds
    tilt = _tilt(weight, doc.total[WEIGHT], others, concepts.mass[j], d, concepts, model)
    start = doc.number[USED]
    end, log_ratio = _present_words(j, others, tilt, True, doc, concepts, model, stream)
    if tilt.absent == 1.0:
        mass = _mass(doc.arena[start:end], theta)
        least = log_text_gain(doc, data, d, doc.arena[start:end], weight, mass)
        if log_u >= log_ratio + least:
            return
    end, log_ratio_absent = _absent_words(j, others, tilt, end, True, doc, concepts, model, stream)
    words = doc.arena[start:end]
    mass = _mass(words, theta)
    if log_u >= log_ratio + log_ratio_absent + log_text_gain(doc, data, d, words, weight, mass):
        return
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, data, concepts.total, words, j, 1):
            return
        move_pull(instance, concepts.total, words, j, 1)
    doc.accepted[JOIN] += 1
    place_pair(doc, j, weight, mass, len(words))
    count_pair(concepts, theta, j, words, 1)


@inlined
def _try_leave(k, d, doc, concepts, model, theta, instance, stream):
    """c_j^(d): 1 → 0, the exact reverse of a join."""
    prior, data = model.prior, model.data
    j = doc.concept[k]
    others = concepts.holders[j] - 1
    log_text = log_text_loss(doc, data, d, k)
    if log_text == -np.inf:
        return
    weight_rest = set_rest(doc, k)
    words = doc.arena[doc.start[k] : doc.start[k] + doc.size[k]]
    for w in words:
        doc.mark[w] = 1
    tilt = _tilt(doc.weight[k], weight_rest, others, concepts.mass[j] - doc.mass[k], d, concepts, model)
    _, log_present = _present_words(j, others, tilt, False, doc, concepts, model, stream)
    _, log_absent = _absent_words(j, others, tilt, 0, False, doc, concepts, model, stream)
    for w in words:
        doc.mark[w] = 0
    log_odds = math.log(others / (len(data.length) - 1 - others + prior.b1))
    if math.log(uniform(stream)) >= log_text - log_odds - log_present - log_absent:
        return
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, data, concepts.total, words, j, -1):
            return
        move_pull(instance, concepts.total, words, j, -1)
    doc.accepted[LEAVE] += 1
    count_pair(concepts, theta, j, words, -1)
    drop_pair(doc, k)


@inlined
def _mass(words, theta):
    mass = 0.0
    for w in words:
        mass += theta[w]
    return mass


class Tilt(NamedTuple):
    """How the prior odds of a joining document's words are tilted by what they would do to its text."""

    share: float  # π over the concept's expected mass: what the concept would add to an explained word
    present: float  # factor of a word the document uses, besides the gain
    absent: float  # factor of a word it does not use
    whole: float  # m_j⁻ + b₂


@inlined
def _tilt(weight, weight_rest, others, mass_others, d, concepts, model):
    """Computed from the other documents and concepts only, so that join and leave see the same."""
    prior, length = model.prior, model.data.length[d]
    whole = others + prior.b2
    expected_mass = (mass_others + prior.b2 * concepts.mean[PRIOR_MASS]) / whole
    if model.steps.published_join:
        whole -= 1.0
    if not model.steps.data_driven:
        return Tilt(0.0, 1.0, 1.0, whole)
    n_expected = length * weight / (weight_rest + weight)
    down = math.exp(max(-_MOST_TILT, -n_expected * math.log1p(concepts.mean[THETA_MEAN] / expected_mass)))
    return Tilt(weight / expected_mass, down, down if length > _LONG else 1.0, whole)


@lean
def _present_words(j, others, tilt, draw, doc, concepts, model, stream):
    """Draw (to the arena's end) or score (as marked) which of the document's own words are on: log P(f)/q(f).

    P(f_ji = 1) = (m_ji⁻ + b₂λ_i)/(m_j⁻ + b₂), Eq. (fPrior) with d counted.
    """
    data, lam, b2 = model.data, model.prior.lam, model.prior.b2
    first, end = doc.number[FIRST], doc.number[USED]
    log_ratio, product = 0.0, 1.0
    for a in range(doc.number[LAST] - first):
        w = data.word[first + a]
        factor = tilt.present
        if tilt.share > 0.0:
            factor *= _power(1.0 + tilt.share / max(doc.rest[a], 1e-300), data.count[first + a])
            factor = min(factor, _MOST_FACTOR)
        on_weight = concepts.m[j, w] - doc.mark[w] + b2 * lam[w]
        off_weight = max(tilt.whole - on_weight, 0.0)
        tilted = on_weight * factor
        product *= (off_weight + tilted) / tilt.whole
        on = uniform(stream) * (off_weight + tilted) < tilted if draw else doc.mark[w] == 1
        if on:
            product /= factor
            if draw:
                doc.arena[end] = w
                end += 1
        if product > 1e100 or product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    log_ratio += math.log(product)
    return end, 0.0 if model.steps.published_join else log_ratio


@inlined
def _power(x, n):
    if n == 1:
        return x
    return math.exp(min(n * math.log(x), 2.0 * _MOST_TILT))


@lean
def _absent_words(j, others, tilt, end, draw, doc, concepts, model, stream):
    """The same for words the document does not use. Those no other document has on keep their prior."""
    lam, b2 = model.prior.lam, model.prior.b2
    if not draw and tilt.absent == 1.0:
        return end, 0.0
    n_on, log_ratio, product = 0, 0.0, 1.0
    for s in range(concepts.support_size[j]):
        w = concepts.support[j, s]
        m = concepts.m[j, w] - doc.mark[w]
        if m == 0 or doc.spot[w] > 0:
            continue
        on_weight = m + b2 * lam[w]
        off_weight = max(tilt.whole - on_weight, 0.0)
        tilted = on_weight * tilt.absent
        product *= (off_weight + tilted) / tilt.whole
        on = uniform(stream) * (off_weight + tilted) < tilted if draw else doc.mark[w] == 1
        if on:
            n_on += 1
            if draw:
                doc.arena[end] = w
                end += 1
        if product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    if draw:
        end = _draw_new_words(j, others, end, doc, concepts, model.prior, stream)
    if tilt.absent == 1.0:
        return end, 0.0
    return end, log_ratio + math.log(product) - n_on * math.log(tilt.absent)


@inlined
def _draw_new_words(j, others, end, doc, concepts, prior, stream):
    """Words that neither another holder of j has on nor the document uses, from their prior, by skipping."""
    most = prior.b2 * concepts.mean[LAM_MAX] / (others + prior.b2)
    w = skip(stream, most)
    while w < len(prior.lam):
        if (
            doc.spot[w] == 0
            and concepts.m[j, w] == 0
            and uniform(stream) * concepts.mean[LAM_MAX] < prior.lam[w]
        ):
            doc.arena[end] = w
            end += 1
        w += 1 + skip(stream, most)
    return end


@lean
def log_fit_change(instance, data, total, words, j, step):
    """log P(Y | X, σ², Φ) gained when concept j's count of each of these words changes by `step`."""
    n_features = len(instance.precision)
    change = 0.0
    for w in words:
        if not data.known[w]:
            continue
        before = 1.0 / total[w] if total[w] > 0 else 0.0
        after = 1.0 / (total[w] + step) if total[w] + step > 0 else 0.0
        for k in range(n_features):
            pull = instance.pull[w, k]
            e0 = data.Y[w, k] - pull * before
            e = data.Y[w, k] - (pull + step * instance.x[j, k]) * after
            change += instance.precision[k] * (e0 * e0 - e * e)
    return 0.5 * change


@lean
def move_pull(instance, total, words, j, step):
    """Carry such a change out (before n_i changes)."""
    for w in words:
        for k in range(len(instance.precision)):
            instance.pull[w, k] += step * instance.x[j, k]
        if total[w] + step == 0:
            instance.pull[w, :] = 0.0
