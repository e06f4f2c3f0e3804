"""Documents apart from each other, for large corpora: given ω and γ no document's text depends on another's.

For this pass ω_j and γ_ji of the concepts that two documents or more hold are drawn (docs/algebra.md section 4).
Threads share the documents, each changed by the moves of the c step with prior and text alone; then, one document after
the other, all that a document has changed is accepted on the features, or none of it. A concept must not fall to fewer
than two holders while ω and γ stand for it: the two holders that a random order puts first keep it, and no document
before the second one joins it. So the pass leaves these two as they are, and needs no correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from superwords.sampler.instance import (
    Instance,
    change_counts,
    draw_instance,
    draw_newborn,
    grow_instance,
    log_fit_newborn,
    log_fit_word,
    no_features,
)
from superwords.sampler.jit import lean, part
from superwords.sampler.model import Model
from superwords.sampler.moves.contract import Info, make_info
from superwords.sampler.moves.document import change_document, take_pairs
from superwords.sampler.new_state import (
    append_document,
    concatenated,
    finish_state,
    grow_for,
    new_state,
    put_rows,
    take_rows,
)
from superwords.sampler.open_document import KINDS, clear, lay_out, new_document
from superwords.sampler.random import JUDGING, MEMBERSHIP, SHARES, gamma, open_stream, uniform
from superwords.sampler.state import Sizes, State, n_concepts, sizes_of
from superwords.sampler.threads import beside, in_blocks
from superwords.sampler.workspace import FREE, IN_USE, Concepts, make_concepts

_TURN = 0x200  # of drawing X and σ² in a sweep
_DOCUMENT, _AT_HAND = range(2)
_LEAST = 1e-300


def sweep_apart(
    state: State, rows: np.ndarray, model: Model, stream: np.ndarray, sweep: int, n_threads: int
) -> tuple[State, Info, np.ndarray]:
    """Documents `rows`, ascending, while the others stay as they are: the new state, a report, and γ by which it is.

    γ is λ where one document holds the concept, newborn concepts included.
    """
    sizes = sizes_of(state)
    concepts = draw_concepts(sizes, state.theta, model, stream, sweep, n_threads)
    order = np.full(len(model.data.length), -1.0)  # documents that do not change come first
    _draw_order(rows, order, stream.copy(), sweep)
    guard = np.full((2, len(sizes.holders)), np.inf)
    _find_guards(state, order, guard)

    # A document has one newborn at the most, so that the pass is reversible document by document.
    once = model._replace(steps=model.steps._replace(births=min(model.steps.births, 1.0)))

    def change(first: int, last: int) -> tuple[State, np.ndarray, np.ndarray]:
        return _change_block(rows[first:last], state, order, guard[1], concepts, once, stream, sweep)

    with instance_beside(sizes, model, stream, sweep, _TURN, n_threads) as drawn:
        parts, tried, accepted = zip(*in_blocks(change, len(rows), n_threads))
        changed = _number_newborn(concatenated(list(parts), state.theta), len(sizes.holders))
    judged = judge(state, changed, rows, sizes, drawn(), model, stream, sweep, _TURN)
    info = make_info(KINDS, np.sum(tried, axis=0), np.concatenate(accepted)[judged].sum(axis=0))
    changed, rows = take_rows(changed, np.flatnonzero(judged)), rows[judged]
    state = put_rows(state, changed, rows)
    n_newborn = max(0, n_concepts(state) - len(sizes.holders))
    gamma_ji = concepts.m.T[: len(sizes.holders)]
    return state, info, np.vstack([gamma_ji, np.tile(model.prior.lam, (n_newborn, 1))])


def draw_concepts(
    sizes: Sizes, theta: np.ndarray, model: Model, stream: np.ndarray, sweep: int, n_threads: int = 1
) -> Concepts:
    """ω and γ of the concepts of two documents or more in place of counts.

    A concept of a single document has λ in place of γ, and nobody joins it.
    """
    n_rows, n_words = sizes.m.shape
    gamma_ji, odds = np.zeros((n_rows + 1, n_words)), np.zeros(n_rows + 1)
    gamma_ji[n_rows] = model.prior.lam
    n_documents = len(model.data.length)
    in_blocks(
        lambda first, last: _draw_shares(
            first, last, sizes, n_documents, model.prior, odds, gamma_ji, stream.copy(), sweep
        ),
        n_rows,
        n_threads,
        least=1,
    )
    drawn = make_concepts(sizes, n_documents - 1, theta, model.prior, 1, 1, gamma_ji)
    return drawn._replace(odds=odds)


@lean
def _draw_shares(first, last, sizes, n_documents, prior, odds, gamma_ji, stream, sweep):
    """ω_j ~ Beta(m_j, D − m_j + b₁), as odds, and γ_ji ~ Beta(m_ji + b₂λ_i, m_j − m_ji + b₂(1 − λ_i))."""
    for j in range(first, last):
        holders = sizes.holders[j]
        open_stream(stream, SHARES, sweep, j)
        if holders >= 2:
            odds[j] = gamma(stream, float(holders)) / gamma(stream, n_documents - holders + prior.b1)
        for i in range(gamma_ji.shape[1]):
            gamma_ji[j, i] = prior.lam[i]
            if holders >= 2:
                on = gamma(stream, sizes.m[j, i] + prior.b2 * prior.lam[i])
                off = gamma(stream, holders - sizes.m[j, i] + prior.b2 * (1.0 - prior.lam[i]))
                gamma_ji[j, i] = max(on / (on + off), _LEAST)


@lean
def _draw_order(rows, order, stream, sweep):
    """Each document's place in the random order: the first number of its stream."""
    for d in rows:
        open_stream(stream, MEMBERSHIP, sweep, d)
        order[d] = uniform(stream)


@lean
def _find_guards(state, order, guard):
    """Of each concept, the places in the order of its first two holders."""
    for d in range(len(order)):
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            j = state.concept[p]
            if order[d] < guard[0, j]:
                guard[1, j] = guard[0, j]
                guard[0, j] = order[d]
            elif order[d] < guard[1, j]:
                guard[1, j] = order[d]


def _change_block(
    rows: np.ndarray,
    state: State,
    order: np.ndarray,
    guard: np.ndarray,
    concepts: Concepts,
    model: Model,
    stream: np.ndarray,
    sweep: int,
) -> tuple[State, np.ndarray, np.ndarray]:
    """Some of the documents, in one thread: their new state, what was tried, and accepted in each document."""
    mine = ("free", "number", "mass", "support_size")  # where newborn concepts are noted
    concepts = concepts._replace(**{name: getattr(concepts, name).copy() for name in mine})
    n_slots, n_words = len(concepts.holders), len(state.theta)
    doc = new_document(n_words, int(np.diff(model.data.doc_ptr)[rows].max(initial=0)), n_slots)
    instance, new, work = no_features(n_slots, n_words), new_state(state, len(rows)), np.zeros(2, np.int64)
    given = rows, state, order, guard, model, instance, concepts, doc
    accepted, stream = np.zeros((len(rows), len(KINDS)), np.int32), stream.copy()
    while not _change_documents(work, given, new, accepted, stream, sweep):
        new = grow_for(new, int(work[_DOCUMENT]), doc)
    return finish_state(new, state.theta), doc.tried, accepted


@lean
def _change_documents(work, given, new, accepted, stream, sweep):
    """Documents rows[work[_DOCUMENT]] and on; False where the new state is short."""
    rows, state, order, guard, model, instance, concepts, doc = given
    n_concepts = len(guard)
    while work[_DOCUMENT] < len(rows):
        d = rows[work[_DOCUMENT]]
        if work[_AT_HAND] == 0:
            open_stream(stream, MEMBERSHIP, sweep, d)
            uniform(stream)  # its place in the order
            concepts.number[FREE], concepts.number[IN_USE], concepts.free[0] = 1, n_concepts, n_concepts
            lay_out(doc, concepts, model.data, d, model.steps.attempts, model.steps.overlap)
            for j in range(n_concepts):
                if order[d] <= guard[j]:
                    doc.rate[j], doc.appeal[j] = 0.0, 0.0
            take_pairs(doc, state, concepts, d)
            change_document(uniform(stream) < 0.5, doc, concepts, model, instance, stream)
            for kind in range(len(doc.accepted)):
                accepted[work[_DOCUMENT], kind] = doc.accepted[kind]
                doc.accepted[kind] = 0
            work[_AT_HAND] = 1
        if not append_document(new, doc, work[_DOCUMENT]):
            return False
        clear(doc)
        work[_AT_HAND] = 0
        work[_DOCUMENT] += 1
    return True


def _number_newborn(changed: State, n_concepts: int) -> State:
    """Newborn concepts, each of which one document holds, get numbers of their own."""
    newborn = np.flatnonzero(changed.concept >= n_concepts)
    changed.concept[newborn] = n_concepts + np.arange(len(newborn))
    return changed


def instance_beside(
    sizes: Sizes, model: Model, stream: np.ndarray, sweep: int, turn: int, n_threads: int
) -> AbstractContextManager[Callable[[], Instance]]:
    """X and σ² by which `judge` decides, drawn while the documents change."""
    return beside(
        lambda: draw_instance(sizes, model.data, model.prior, stream.copy(), sweep, turn), n_threads
    )


def judge(
    state: State,
    changed: State,
    rows: np.ndarray,
    sizes: Sizes,
    instance: Instance,
    model: Model,
    stream: np.ndarray,
    sweep: int,
    turn: int,
) -> np.ndarray:
    """Which documents' changes are accepted on the features; `sizes` and `instance` are of the state before."""
    if model.data.Y.shape[1] == 0:
        return np.ones(len(rows), bool)
    instance = grow_instance(instance, max(len(sizes.holders), int(changed.concept.max(initial=0)) + 1))
    judged = np.zeros(len(rows), bool)
    given = state, changed, rows, sizes.holders, instance, model.prior.K
    _judge_documents(given, judged, stream.copy(), sweep, turn)
    return judged


@lean
def _judge_documents(given, judged, stream, sweep, turn):
    """One after the other; what is accepted counts for those that follow."""
    state, changed, rows, holders, instance, K = given
    for n in range(len(rows)):
        d = rows[n]
        open_stream(stream, JUDGING, sweep, (turn << 40) + d)
        log_ratio, newborn = _try_changes(d, n, state, changed, holders, instance, K)
        judged[n] = math.log(uniform(stream)) < log_ratio
        if judged[n] and newborn >= 0:
            words = changed.word[changed.pair_ptr[newborn] : changed.pair_ptr[newborn + 1]]
            j = np.int64(changed.concept[newborn])
            _, B = log_fit_newborn(instance, K, words, j, 0)
            draw_newborn(instance, words, j, B, stream)
        elif not judged[n]:
            _undo_changes(d, n, state, changed, holders, instance)


@part
def _try_changes(d, n, state, changed, holders, instance, K):
    """Carry all changes of a document out but a newborn's: the log ratio of the features, and the newborn's pair or −1.

    A concept that the document alone held dies first, its x integrated out.
    """
    log_ratio, newborn = 0.0, -1
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        j = np.int64(state.concept[p])
        if holders[j] == 1 and _find(changed, n, j) < 0:
            words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
            log_fit, _ = log_fit_newborn(instance, K, words, j, 1)
            change_counts(instance, words, j, words[:0], j)
            log_ratio -= log_fit
    log_ratio += _step_pairs(d, n, state, changed, holders, 1.0, instance)
    for p in range(changed.doc_ptr[n], changed.doc_ptr[n + 1]):
        if changed.concept[p] >= len(holders):
            newborn = p
            words = changed.word[changed.pair_ptr[p] : changed.pair_ptr[p + 1]]
            log_fit, _ = log_fit_newborn(instance, K, words, np.int64(changed.concept[p]), 0)
            log_ratio += log_fit
    return log_ratio, newborn


@part
def _undo_changes(d, n, state, changed, holders, instance):
    _step_pairs(d, n, state, changed, holders, -1.0, instance)
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        j = np.int64(state.concept[p])
        if holders[j] == 1 and _find(changed, n, j) < 0:
            words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
            change_counts(instance, words[:0], j, words, j)


@part
def _step_pairs(d, n, state, changed, holders, sign, instance):
    """Carry out (sign = 1) or take back (−1) the changes of concepts that neither die nor are born; their log ratio."""
    log_ratio = 0.0
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        j = np.int64(state.concept[p])
        q = _find(changed, n, j)
        before = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
        if q >= 0:
            after = changed.word[changed.pair_ptr[q] : changed.pair_ptr[q + 1]]
            log_ratio += _step_words(before, after, j, sign, instance)
        elif holders[j] > 1:
            log_ratio += _step_words(before, before[:0], j, sign, instance)
    for q in range(changed.doc_ptr[n], changed.doc_ptr[n + 1]):
        j = np.int64(changed.concept[q])
        if j < len(holders) and _find(state, d, j) < 0:
            after = changed.word[changed.pair_ptr[q] : changed.pair_ptr[q + 1]]
            log_ratio += _step_words(after[:0], after, j, sign, instance)
    return log_ratio


@part
def _step_words(before, after, j, sign, instance):
    """One concept's words, both lists ascending."""
    log_ratio, a, b = 0.0, 0, 0
    while a < len(before) or b < len(after):
        if b == len(after) or (a < len(before) and before[a] < after[b]):
            log_ratio += _step(instance, before[a : a + 1], j, -sign)
            a += 1
        elif a == len(before) or after[b] < before[a]:
            log_ratio += _step(instance, after[b : b + 1], j, sign)
            b += 1
        else:
            a += 1
            b += 1
    return log_ratio


@part
def _step(instance, word, j, step):
    log_fit = log_fit_word(instance, word[0], 0.0, j, step, j)
    if step > 0.0:
        change_counts(instance, word[:0], j, word, j)
    else:
        change_counts(instance, word, j, word[:0], j)
    return log_fit


@part
def _find(state, d, j):
    """The document's pair of concept j, or −1."""
    for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
        if state.concept[p] == j:
            return p
    return -1
