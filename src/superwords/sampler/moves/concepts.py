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
from superwords.sampler.moves.text_ratios import log_text_gain, log_text_loss, set_rest
from superwords.sampler.random import MEMBERSHIP, below, gamma, open_stream, skip, uniform
from superwords.sampler.semantics import Instance
from superwords.sampler.state import Sizes, State
from superwords.sampler.workspace import (
    ACTIVE,
    FIRST,
    FREE,
    LAM_MAX,
    LAST,
    PRIOR_MASS,
    THETA_MEAN,
    USED,
    WEIGHT,
    Tally,
    clear,
    count_pair,
    drop_pair,
    finish,
    grow_desk,
    grow_pile,
    grow_tally,
    longer,
    new_desk,
    new_pile,
    new_tally,
    place_pair,
    put_on_pile,
    unpack,
)

_MOST_TILT = 20.0  # of a word's log odds, so that no proposal is one that cannot be undone
_MOST_FACTOR = math.exp(_MOST_TILT)
_LONG = 60  # tokens from which on a document's absent words are tilted too
# Places in the work list of a pass that can stop for room
DOCUMENT, PHASE, TRIED, DONE = 0, 1, 2, 3

_SPARE = 16  # slots for concepts to be born, to begin with
_OVERLAP = 20.0  # how much more often a concept is tried whose words the document uses


def sweep_membership(
    state: State, sizes: Sizes, model: Model, instance: Instance, stream: np.ndarray, sweep: int
) -> tuple[State, Tally, Instance]:
    """One pass over all documents. Returns the new state, and the tally and semantic instance behind it."""
    n_words = len(state.theta)
    tally = new_tally(sizes, state.theta, model.prior.lam, _SPARE)
    n_slots = len(tally.holders)
    instance = instance._replace(x=longer(instance.x, n_slots))
    entries = np.diff(state.pair_ptr[state.doc_ptr])
    longest = int(np.diff(model.data.doc_ptr).max())
    desk = new_desk(n_words, longest, n_slots, int(entries.max()) + 8 * n_words)
    pile = new_pile(state)
    order = np.zeros(n_slots, np.int32)
    work = np.zeros(4, np.int64)
    while not _sweep_documents(work, order, state, model, instance, tally, desk, pile, stream, sweep):
        # Out of room somewhere: make more of whatever is short, and go on where the kernel stopped.
        if tally.number[FREE] == 0:
            n_slots *= 2
            tally = grow_tally(tally, n_slots)
            instance = instance._replace(x=longer(instance.x, n_slots))
            order = longer(order, n_slots)
        n_arena = len(desk.arena) * (2 if desk.number[USED] + n_words > len(desk.arena) else 1)
        desk = grow_desk(desk, n_slots, n_arena)
        pile = grow_pile(pile, int(work[DOCUMENT]), n_slots, n_arena)
    return finish(pile, state.theta), tally, instance


@lean
def _sweep_documents(work, order, state, model, instance, tally, desk, pile, stream, sweep):
    """Documents work[DOCUMENT] and on; False where room runs out, with `work` saying where to go on."""
    n_words = len(state.theta)
    while work[DOCUMENT] < len(model.data.length):
        d = work[DOCUMENT]
        if work[PHASE] == 0:
            open_stream(stream, MEMBERSHIP, sweep, d)
            unpack(desk, state, model.data, d)
            work[TRIED] = _choose_concepts(order, desk, tally, model, stream) if model.steps.flips else 0
            work[PHASE], work[DONE] = 1, 0
        if work[PHASE] == 1:
            _flip_concepts(work, order, d, desk, tally, model, state.theta, instance, stream)
            if work[DONE] < work[TRIED]:
                return False
            work[PHASE], work[DONE] = 2, 0
        while work[DONE] < model.steps.births:
            if tally.number[FREE] == 0 or desk.number[USED] + n_words > len(desk.arena):
                return False
            birth_or_death(d, desk, tally, model, state.theta, instance, stream)
            work[DONE] += 1
        if not put_on_pile(pile, desk, d):
            return False
        clear(desk, model.data)
        work[PHASE] = 0
        work[DOCUMENT] += 1
    return True


@inlined
def _choose_concepts(order, desk, tally, model, stream):
    """The shared concepts to flip in this document, in random order.

    Each is tried with a probability that its own flip does not change, so that the choice needs no correction: it
    looks at the other documents that hold the concept only.
    """
    n_tried = 0
    base = model.steps.attempts / max(1, tally.number[ACTIVE])
    for at in range(tally.number[ACTIVE]):
        j = tally.active[at]
        k = desk.place[j] - 1
        others = tally.holders[j] - (1 if k >= 0 else 0)
        if others == 0:
            continue
        if base >= 1.0 or uniform(stream) < base + _OVERLAP * _overlap(j, k, others, desk, tally, model.data):
            order[n_tried] = j
            n_tried += 1
    for t in range(n_tried - 1, 0, -1):
        swap = below(stream, t + 1)
        order[t], order[swap] = order[swap], order[t]
    return n_tried


@inlined
def _overlap(j, k, others, desk, tally, data):
    """The share of the document's tokens that concept j holds, on average over the other documents."""
    shared, length = 0, 0
    first = desk.number[FIRST]
    for b in range(first, desk.number[LAST]):
        shared += data.count[b] * tally.m[j, data.word[b]]
        length += data.count[b]
    if k >= 0:
        for e in range(desk.start[k], desk.start[k] + desk.size[k]):
            a = desk.spot[desk.arena[e]] - 1
            if a >= 0:
                shared -= data.count[first + a]
    return shared / (others * max(1, length))


@inlined
def _flip_concepts(work, order, d, desk, tally, model, theta, instance, stream):
    """Try the chosen concepts one after the other, while the arena has room."""
    while work[DONE] < work[TRIED] and desk.number[USED] + len(theta) <= len(desk.arena):
        j = order[work[DONE]]
        k = desk.place[j] - 1
        if k < 0:
            _try_join(j, d, desk, tally, model, theta, instance, stream)
        else:
            _try_leave(k, d, desk, tally, model, theta, instance, stream)
        work[DONE] += 1


@inlined
def _try_join(j, d, desk, tally, model, theta, instance, stream):
    """c_j^(d): 0 → 1, with π from its prior and f from its prior tilted towards the document's words.

    The acceptance number is drawn first: where even the fewest words cannot save the proposal, the rest of the word set
    need not be drawn.
    """
    prior, data = model.prior, model.data
    others = tally.holders[j]
    weight = gamma(stream, prior.alpha_pi)
    for a in range(desk.number[LAST] - desk.number[FIRST]):
        desk.rest[a] = desk.explained[a]
    log_odds = math.log(others / (len(data.length) - 1 - others + prior.b1))
    log_u = math.log(uniform(stream)) - log_odds
    tilt = _tilt(weight, desk.total[WEIGHT], others, tally.mass[j], d, tally, model)
    start = desk.number[USED]
    end, log_ratio = _present_words(j, others, tilt, True, desk, tally, model, stream)
    if tilt.absent == 1.0:
        mass = _mass(desk.arena[start:end], theta)
        least = log_text_gain(desk, data, d, desk.arena[start:end], weight, mass)
        if log_u >= log_ratio + least:
            return
    end, log_ratio_absent = _absent_words(j, others, tilt, end, True, desk, tally, model, stream)
    words = desk.arena[start:end]
    mass = _mass(words, theta)
    if log_u >= log_ratio + log_ratio_absent + log_text_gain(desk, data, d, words, weight, mass):
        return
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, data, tally.total, words, j, 1):
            return
        move_pull(instance, tally.total, words, j, 1)
    place_pair(desk, j, weight, mass, len(words))
    count_pair(tally, theta, j, words, 1)


@inlined
def _try_leave(k, d, desk, tally, model, theta, instance, stream):
    """c_j^(d): 1 → 0, the exact reverse of a join."""
    prior, data = model.prior, model.data
    j = desk.concept[k]
    others = tally.holders[j] - 1
    log_text = log_text_loss(desk, data, d, k)
    if log_text == -np.inf:
        return
    weight_rest = set_rest(desk, k)
    words = desk.arena[desk.start[k] : desk.start[k] + desk.size[k]]
    for w in words:
        desk.mark[w] = 1
    tilt = _tilt(desk.weight[k], weight_rest, others, tally.mass[j] - desk.mass[k], d, tally, model)
    _, log_present = _present_words(j, others, tilt, False, desk, tally, model, stream)
    _, log_absent = _absent_words(j, others, tilt, 0, False, desk, tally, model, stream)
    for w in words:
        desk.mark[w] = 0
    log_odds = math.log(others / (len(data.length) - 1 - others + prior.b1))
    if math.log(uniform(stream)) >= log_text - log_odds - log_present - log_absent:
        return
    if len(instance.precision) > 0:
        if math.log(uniform(stream)) >= log_fit_change(instance, data, tally.total, words, j, -1):
            return
        move_pull(instance, tally.total, words, j, -1)
    count_pair(tally, theta, j, words, -1)
    drop_pair(desk, k)


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
def _tilt(weight, weight_rest, others, mass_others, d, tally, model):
    """Computed from the other documents and concepts only, so that join and leave see the same."""
    prior, length = model.prior, model.data.length[d]
    whole = others + prior.b2
    expected_mass = (mass_others + prior.b2 * tally.mean[PRIOR_MASS]) / whole
    if model.steps.published_join:
        whole -= 1.0
    if not model.steps.data_driven:
        return Tilt(0.0, 1.0, 1.0, whole)
    n_expected = length * weight / (weight_rest + weight)
    down = math.exp(max(-_MOST_TILT, -n_expected * math.log1p(tally.mean[THETA_MEAN] / expected_mass)))
    return Tilt(weight / expected_mass, down, down if length > _LONG else 1.0, whole)


@lean
def _present_words(j, others, tilt, draw, desk, tally, model, stream):
    """Draw (to the arena's end) or score (as marked) which of the document's own words are on: log P(f)/q(f).

    P(f_ji = 1) = (m_ji⁻ + b₂λ_i)/(m_j⁻ + b₂), Eq. (fPrior) with d counted.
    """
    data, lam, b2 = model.data, model.prior.lam, model.prior.b2
    first, end = desk.number[FIRST], desk.number[USED]
    log_ratio, product = 0.0, 1.0
    for a in range(desk.number[LAST] - first):
        w = data.word[first + a]
        factor = tilt.present
        if tilt.share > 0.0:
            factor *= _power(1.0 + tilt.share / max(desk.rest[a], 1e-300), data.count[first + a])
            factor = min(factor, _MOST_FACTOR)
        on_weight = tally.m[j, w] - desk.mark[w] + b2 * lam[w]
        off_weight = max(tilt.whole - on_weight, 0.0)
        tilted = on_weight * factor
        product *= (off_weight + tilted) / tilt.whole
        on = uniform(stream) * (off_weight + tilted) < tilted if draw else desk.mark[w] == 1
        if on:
            product /= factor
            if draw:
                desk.arena[end] = w
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
def _absent_words(j, others, tilt, end, draw, desk, tally, model, stream):
    """The same for words the document does not use. Those no other document has on keep their prior."""
    lam, b2 = model.prior.lam, model.prior.b2
    if not draw and tilt.absent == 1.0:
        return end, 0.0
    n_on, log_ratio, product = 0, 0.0, 1.0
    for s in range(tally.support_size[j]):
        w = tally.support[j, s]
        m = tally.m[j, w] - desk.mark[w]
        if m == 0 or desk.spot[w] > 0:
            continue
        on_weight = m + b2 * lam[w]
        off_weight = max(tilt.whole - on_weight, 0.0)
        tilted = on_weight * tilt.absent
        product *= (off_weight + tilted) / tilt.whole
        on = uniform(stream) * (off_weight + tilted) < tilted if draw else desk.mark[w] == 1
        if on:
            n_on += 1
            if draw:
                desk.arena[end] = w
                end += 1
        if product < 1e-100:
            log_ratio += math.log(product)
            product = 1.0
    if draw:
        end = _draw_new_words(j, others, end, desk, tally, model.prior, stream)
    if tilt.absent == 1.0:
        return end, 0.0
    return end, log_ratio + math.log(product) - n_on * math.log(tilt.absent)


@inlined
def _draw_new_words(j, others, end, desk, tally, prior, stream):
    """Words that neither another holder of j has on nor the document uses, from their prior, by skipping."""
    most = prior.b2 * tally.mean[LAM_MAX] / (others + prior.b2)
    w = skip(stream, most)
    while w < len(prior.lam):
        if desk.spot[w] == 0 and tally.m[j, w] == 0 and uniform(stream) * tally.mean[LAM_MAX] < prior.lam[w]:
            desk.arena[end] = w
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
    """Carry such a change out (before the tally's n_i change)."""
    for w in words:
        for k in range(len(instance.precision)):
            instance.pull[w, k] += step * instance.x[j, k]
        if total[w] + step == 0:
            instance.pull[w, :] = 0.0
