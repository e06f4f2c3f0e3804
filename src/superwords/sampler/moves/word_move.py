"""The word move: all tokens of a word in a document handed to another of its concepts (docs/algebra.md section 5)."""

from __future__ import annotations

import math

import numpy as np

from superwords.sampler.jit import inlined, part
from superwords.sampler.random import skip, uniform
from superwords.sampler.semantics import LOG_CASE, change_case, log_student

OLD, NEW = range(2)  # places in Entries.number: how many entries there are, and will be


@part
def hand_over(i, informed, work):
    """The word move: for documents that use word i, hand all its tokens in one concept over to another.

    f_ji → 0 and f_ki → 1; k is drawn among the document's concepts without the word in proportion to prior and text,
    and accepted on the semantic ratio (docs/algebra.md section 5).
    """
    if not _hand_over_all(i, informed, work):
        return
    entries = work.entries
    for at in range(1, entries.number[OLD]):
        q, n, hole = entries.q[at], entries.tokens[at], at
        while hole > 0 and entries.q[hole - 1] > q:
            entries.q[hole], entries.tokens[hole] = entries.q[hole - 1], entries.tokens[hole - 1]
            hole -= 1
        entries.q[hole], entries.tokens[hole] = q, n


@inlined
def _hand_over_all(i, informed, work):
    """Try the documents that use the word, each with probability `word_moves`; says whether any entry moved."""
    data, entries, page, stream = work.model.data, work.entries, work.page, work.stream
    head, after, word_moves = work.links.head, work.links.after, work.model.steps.word_moves
    n = entries.number[OLD]
    for at in range(n - 1, -1, -1):
        d = page.doc[entries.q[at]]
        after[at] = head[d]
        head[d] = at
    moved = False
    b = data.word_ptr[i] + skip(stream, word_moves)
    while b < data.word_ptr[i + 1]:
        d = data.holder[b]
        at = _pick_entry(head[d], after, entries, stream)
        if at >= 0:
            q = _pick_target(i, d, at, work)
            if q != entries.q[at] and _accept(i, informed, q, entries.q[at], work):
                _move(i, informed, at, q, work)
                moved = True
        b += 1 + skip(stream, word_moves)
    for at in range(n):
        head[page.doc[entries.q[at]]] = -1
    return moved


@inlined
def _pick_entry(at, after, entries, stream):
    """One of the document's concepts to which tokens of the word are imputed, uniformly; −1 if there is none."""
    chosen, seen = -1, 0
    while at >= 0:
        if entries.tokens[at] > 0:
            seen += 1
            if seen == 1 or uniform(stream) * seen < 1.0:
                chosen = at
        at = after[at]
    return chosen


@inlined
def _pick_target(i, d, at, work):
    """Draw the concept that takes the tokens: its present one, or one of the document's that lacks the word."""
    entries, page, sizes, theta = work.entries, work.page, work.sizes, work.theta[i]
    lam, b2 = work.model.prior.lam[i], work.model.prior.b2
    n = entries.tokens[at]
    home = entries.q[at]
    total, highest, chosen = 0.0, -np.inf, home
    for p in range(page.doc_ptr[d], page.doc_ptr[d + 1]):
        q = page.of_doc[p]
        own = q == home
        if page.null[q] > 0 or (not own and _has_word(q, work.links.head[d], work.links.after, entries)):
            continue
        size = page.size[q] - own
        mass = page.mass[q] - theta if own else page.mass[q]
        tokens = page.tokens[q] - n if own else page.tokens[q]
        j = page.concept[q]
        m = sizes.m[j, i] - own
        log_weight = n * page.log_weight[q] + math.log(
            (m + b2 * lam) / (sizes.holders[j] - 1 - m + b2 * (1.0 - lam))
        )
        if size == 0:
            mass = 0.0
        if tokens > 0:
            log_weight += tokens * math.log(mass)
        log_weight -= (tokens + n) * math.log(mass + theta)
        # A draw in one pass: the running winner is replaced with its share of the running total.
        if log_weight > highest:
            total = total * math.exp(highest - log_weight) + 1.0
            highest = log_weight
            share = 1.0
        else:
            share = math.exp(log_weight - highest)
            total += share
        if uniform(work.stream) * total < share:
            chosen = q
    return chosen


@inlined
def _has_word(q, at, after, entries):
    while at >= 0:
        if entries.q[at] == q:
            return True
        at = after[at]
    return False


@inlined
def _accept(i, informed, q_new, q_old, work):
    if not informed:
        return True
    j_new, j_old = work.page.concept[q_new], work.page.concept[q_old]
    log_ratio = log_student(work.regression, work.model.data.Y[i], j_new, 1.0, j_old, 1.0)
    return math.log(uniform(work.stream)) < log_ratio - work.regression.number[LOG_CASE]


@inlined
def _move(i, informed, at, q_new, work):
    entries, page, sizes, theta = work.entries, work.page, work.sizes, work.theta[i]
    q_old, n = entries.q[at], entries.tokens[at]
    j_new, j_old = page.concept[q_new], page.concept[q_old]
    entries.q[at] = q_new
    page.size[q_old] -= 1
    page.mass[q_old] = page.mass[q_old] - theta if page.size[q_old] > 0 else 0.0
    page.size[q_new] += 1
    page.mass[q_new] += theta
    page.tokens[q_old] -= n
    page.tokens[q_new] += n
    sizes.m[j_old, i] -= 1
    sizes.m[j_new, i] += 1
    if informed:
        y = work.model.data.Y[i]
        change_case(work.regression, y, j_new, 1.0)
        change_case(work.regression, y, j_old, -1.0)
