"""Split and merge of whole concepts, across all their documents (asked for in MODEL.md section 5).

Given z and with π integrated out, only the documents that hold the concept change. A split divides them and their words
between two concepts (allocation.py); a merge unites word sets and tokens, which is the split's way back. The division
is launched from two seed words, leans by what the features say after each pass, and is accepted or rejected
by Metropolis–Hastings, on prior and text first, then on the features; π is then drawn anew for the group's documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from superwords.sampler.density import log_concepts, log_word_sets
from superwords.sampler.jit import lean
from superwords.sampler.model import Model
from superwords.sampler.moves.allocation import divide, divide_blindly, log_text_change, make_rules
from superwords.sampler.moves.group import Group, Sides, gather, undivided, whole
from superwords.sampler.moves.tokens import draw_weights
from superwords.sampler.random import REGROUP, below, open_stream, uniform
from superwords.sampler.semantics import log_features
from superwords.sampler.state import Sizes, State, Tokens, sizes_of

_PASSES = 2  # before the one that counts
_ANY_PARTNER = 0.02  # weight of a merge of two concepts without a word in common
_ANY_SEED = 0.01
_BLIND = 0.3  # share of the divisions that do not look at words
_SEED_LEAN = 6.0
_MOST_LEAN = 12.0

Seeds = tuple[int, int] | None  # places in a group's support


@dataclass
class Place:
    """A state, its z, and what follows from them, computed when asked for."""

    state: State
    tokens: Tokens
    sizes: Sizes
    model: Model

    @cached_property
    def m(self) -> np.ndarray:
        return self.sizes.m.astype(float)

    @cached_property
    def pull(self) -> np.ndarray:
        """(J, F) Σ_i m_ji y_i: where a concept's words lie."""
        return self.m @ self.model.data.Y

    @cached_property
    def log_p(self) -> float:
        return log_features(self.sizes, self.model.data, self.model.prior)


def regroup(
    state: State, tokens: Tokens, model: Model, stream: np.ndarray, sweep: int
) -> tuple[State, Tokens, np.ndarray]:
    """`regroups` attempts, each a split or a merge with equal probability; and how many of each were accepted."""
    accepted = np.zeros(2, np.int64)
    place = Place(state, tokens, sizes_of(state), model)
    for attempt in range(model.steps.regroups):
        open_stream(stream, REGROUP, sweep, attempt)
        is_merge = uniform(stream) < 0.5
        if is_merge and len(place.sizes.holders) < 2:
            continue
        new = (_merge if is_merge else _split)(place, stream)
        if new is not None:
            place = new
            accepted[int(is_merge)] += 1
    return place.state, place.tokens, accepted


def _split(place: Place, stream: np.ndarray) -> Place | None:
    """Concept j becomes j and a new, last one."""
    model = place.model
    j = below(stream, len(place.sizes.holders))
    group, now = gather(place.state, place.tokens, model, j, -1)
    seeds = _draw_seeds(group, now.m[0], now.m[0], model, stream)
    sides, log_q = _launch(group, None, seeds, place.sizes.total, model, stream)
    if not sides.holders.all():
        return None
    split = _split_sizes(place.sizes, j, group, sides)
    log_ratio = _log_ratio(group, sides, j, seeds, place.sizes, split, model) - log_q
    log_ratio += math.log(_partners_after_split(place, split, j)[-1] / len(split.holders))
    if not _accepts(log_ratio, place, split, stream):
        return None
    return _settle(place, split, group, sides, (j, len(split.holders) - 1), stream)


def _merge(place: Place, stream: np.ndarray) -> Place | None:
    """Concept b joins concept a."""
    model = place.model
    n_rows = len(place.sizes.holders)
    a = below(stream, n_rows)
    partners = _partner_weights(place.m, place.pull, a)
    b = _draw(partners, stream)
    swapped, a = _with_last(place, a, b)
    group, sides = gather(swapped.state, swapped.tokens, model, a, n_rows - 1)
    merged = _merged_sizes(swapped.sizes, a, group)
    seeds = _draw_seeds(group, *_seed_weights(sides), model, stream)
    _, log_q = _launch(group, sides, seeds, merged.total, model, stream)
    log_ratio = _log_ratio(group, sides, a, seeds, merged, swapped.sizes, model) - log_q
    log_ratio += math.log(partners[b] / n_rows)
    if log_ratio == -math.inf:
        return None  # null tokens would meet words
    if not _accepts(-log_ratio, place, merged, stream):
        return None
    return _settle(swapped, merged, group, whole(group), (a, n_rows - 1), stream)


def _accepts(log_ratio: float, place: Place, sizes: Sizes, stream: np.ndarray) -> bool:
    """In two stages, the features last since they cost most."""
    if math.log(uniform(stream)) >= log_ratio:
        return False
    gain = log_features(sizes, place.model.data, place.model.prior) - place.log_p
    return math.log(uniform(stream)) < gain


def _log_ratio(
    group: Group, sides: Sides, j: int, seeds: Seeds, merged: Sizes, split: Sizes, model: Model
) -> float:
    """log of the split state's density times its way to merge, over the merged one's times the way to split.

    Left out are the features' density, the choice of who merges, and the probability of the division itself.
    """
    log_ratio = log_density_change(group, sides, j, merged, split, model)
    log_ratio += _log_seeds(group, seeds, *_seed_weights(sides), model)
    together = merged.m[j, group.support].astype(float)
    return log_ratio + math.log(len(merged.holders)) - _log_seeds(group, seeds, together, together, model)


def log_density_change(
    group: Group, sides: Sides, j: int, merged: Sizes, split: Sizes, model: Model
) -> float:
    """log P(c, f, z, w), π integrated out, with concept j split in j and the last one, less before."""
    prior, n_documents = model.prior, len(model.data.length)
    rows = [j, len(merged.holders)]
    change = log_text_change(group, sides, prior.alpha_pi)
    for sizes, own, sign in ((split, rows, 1), (merged, rows[:1], -1)):
        part = Sizes(sizes.m[own], sizes.holders[own], sizes.total)
        change += sign * (log_word_sets(part, prior) + log_concepts(part.holders, n_documents, prior))
    return float(change)


def _partner_weights(m: np.ndarray, pull: np.ndarray, a: int) -> np.ndarray:
    """Probabilities of b, given that a is to be merged: by the words on in both, and by how near their features are."""
    weights = _ANY_PARTNER + np.square(_cosine(m, a))
    if pull.shape[1]:
        weights += np.square(np.maximum(_cosine(pull, a), 0.0))
    weights[a] = 0.0
    return weights / weights.sum()


def _partners_after_split(place: Place, split: Sizes, j: int) -> np.ndarray:
    """The same for j in the split state, of which two rows are new."""
    own = split.m[[j, -1]].astype(float)
    m, pull = np.vstack([place.m, own[1:]]), np.vstack([place.pull, own[1:] @ place.model.data.Y])
    m[j], pull[j] = own[0], own[0] @ place.model.data.Y
    return _partner_weights(m, pull, j)


def _cosine(rows: np.ndarray, a: int) -> np.ndarray:
    """Of row a with every row."""
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return (rows @ rows[a]) / np.maximum(size * size[a], 1e-300)


def _draw(weights: np.ndarray, stream: np.ndarray) -> int:
    cumulative = np.cumsum(weights)
    chosen = int(np.searchsorted(cumulative, uniform(stream) * cumulative[-1], side="right"))
    return min(chosen, int(np.flatnonzero(weights)[-1]))


def _seed_weights(sides: Sides) -> tuple[np.ndarray, np.ndarray]:
    """Where a merge draws the seeds from: words that one concept has on and the other has not."""
    total = sides.m[0] + sides.m[1]
    return sides.m[0] ** 2 / total + _ANY_SEED * total, sides.m[1] ** 2 / total + _ANY_SEED * total


def _nearness(group: Group, at: int, model: Model) -> np.ndarray:
    """Cosine of the features of a word of the support with all others', 0 where unknown."""
    if model.data.Y.shape[1] == 0:
        return _incidence(group, at)
    return _cosine(model.data.Y[group.support], at)


def _incidence(group: Group, at: int) -> np.ndarray:
    """Without features: cosine of the sets of documents that have the words on."""
    n_words = len(group.support)
    doc = np.repeat(np.arange(len(group.doc)), np.diff(group.ptr))
    has = np.zeros(len(group.doc), bool)
    has[doc[group.word == at]] = True
    count = np.bincount(group.word, minlength=n_words)
    shared = np.bincount(group.word[has[doc]], minlength=n_words)
    return shared / np.sqrt(np.maximum(count * count[at], 1))


def _far(group: Group, first: int, weights: np.ndarray, model: Model) -> np.ndarray:
    far = weights * (1.05 - _nearness(group, first, model))
    far[first] = 0.0
    return far


def _draw_seeds(
    group: Group, first: np.ndarray, second: np.ndarray, model: Model, stream: np.ndarray
) -> Seeds:
    """Two words of the support, far from each other; none, now and then, for a blind division."""
    if len(group.support) < 2 or uniform(stream) < _BLIND:
        return None
    s = _draw(first, stream)
    return s, _draw(_far(group, s, second, model), stream)


def _log_seeds(group: Group, seeds: Seeds, first: np.ndarray, second: np.ndarray, model: Model) -> float:
    if seeds is None:
        return 0.0
    s, t = seeds
    far = _far(group, s, second, model)
    return math.log(first[s] / first.sum()) + math.log(far[t] / far.sum())


def _launch(
    group: Group, wanted: Sides | None, seeds: Seeds, total: np.ndarray, model: Model, stream: np.ndarray
) -> tuple[Sides, float]:
    """Divide the group from nothing; the last pass (the only one, without seeds) makes the `wanted` division, if any.

    `total` is n_i with the group undivided. Returns the division and the last pass's log probability.
    """
    sides = undivided(group)
    is_forced = wanted is not None
    if seeds is None:
        return sides, divide_blindly(group, sides, wanted or sides, stream, is_forced)
    rules = make_rules(model, group)
    s, t = seeds
    leaning = _SEED_LEAN * (_nearness(group, s, model) - _nearness(group, t, model))
    for _ in range(_PASSES):
        divide(group, sides, sides, leaning, rules, stream, False)
        leaning = _feature_lean(group, sides, total[group.support], model)
    return sides, divide(group, sides, wanted or sides, leaning, rules, stream, is_forced)


def _feature_lean(group: Group, sides: Sides, total: np.ndarray, model: Model) -> np.ndarray:
    """How much better, per document, the first concept would explain a word's features than the second.

    By the two concepts' mean features under the present division, at unit noise: a proposal may be rough.
    """
    known = model.data.known[group.support]
    Y = model.data.Y[group.support]
    weight = np.where(known, sides.m, 0.0)
    first, second = (weight @ Y) / (weight.sum(axis=1) + model.prior.K)[:, None]
    m = np.bincount(group.word, minlength=len(known))
    share = (m / total)[:, None]
    gain = 0.5 * ((Y - share * second) ** 2 - (Y - share * first) ** 2).sum(axis=1)
    return np.clip(np.where(known, gain, 0.0) / m, -_MOST_LEAN, _MOST_LEAN)


def _split_sizes(sizes: Sizes, j: int, group: Group, sides: Sides) -> Sizes:
    n_rows, n_words = sizes.m.shape
    m = np.zeros((n_rows + 1, n_words), np.int32)
    m[:n_rows] = sizes.m
    m[j] = 0
    m[j, group.support], m[n_rows, group.support] = sides.m
    holders = np.append(sizes.holders, 0)
    holders[[j, n_rows]] = sides.holders
    return Sizes(m, holders, sizes.total - sizes.m[j] + m[j] + m[n_rows])


def _merged_sizes(sizes: Sizes, a: int, group: Group) -> Sizes:
    m = sizes.m[:-1].copy()
    m[a] = 0
    m[a, group.support] = np.bincount(group.word, minlength=len(group.support))
    holders = sizes.holders[:-1].copy()
    holders[a] = len(group.doc)
    return Sizes(m, holders, sizes.total - sizes.m[a] - sizes.m[-1] + m[a])


def _with_last(place: Place, a: int, b: int) -> tuple[Place, int]:
    """The same with b numbered last (numbers mean nothing); and a's number then."""
    last = len(place.sizes.holders) - 1
    number = np.arange(last + 1)
    number[[b, last]] = last, b
    m, holders = place.sizes.m[number], place.sizes.holders[number]
    state = place.state._replace(concept=number[place.state.concept].astype(np.int32))
    return Place(state, place.tokens, Sizes(m, holders, place.sizes.total), place.model), int(number[a])


def _settle(
    place: Place, sizes: Sizes, group: Group, sides: Sides, numbers: tuple[int, int], stream: np.ndarray
) -> Place:
    """The state with the group divided between the two concepts, and π drawn for its documents."""
    old = place.state
    mine = np.isin(old.concept, numbers)
    n_pairs = int((~mine).sum() + sides.holders.sum())
    n_entries = int(len(old.word) - np.diff(old.pair_ptr)[mine].sum() + sides.m.sum())
    state = State(
        np.zeros_like(old.doc_ptr),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs),
        np.zeros(n_pairs + 1, np.int64),
        np.zeros(n_entries, np.int32),
        old.theta,
    )
    tokens = Tokens(np.zeros(n_entries, np.int32), np.zeros(n_pairs, np.int64), np.zeros(n_pairs, np.int64))
    _rebuild(old, place.tokens, state, tokens, group, sides, *numbers)
    _draw_weights(state, tokens, group.doc, place.model.prior.alpha_pi, stream)
    return Place(state, tokens, sizes, place.model)


@lean
def _rebuild(old, old_tokens, state, tokens, group, sides, j, second):
    """Copy every pair but the group's, which come from its division."""
    n, at, to = 0, 0, 0
    for d in range(len(old.doc_ptr) - 1):
        for p in range(old.doc_ptr[d], old.doc_ptr[d + 1]):
            if old.concept[p] == j or old.concept[p] == second:
                continue
            state.concept[at], state.weight[at] = old.concept[p], old.weight[p]
            tokens.pair[at], tokens.null[at] = old_tokens.pair[p], old_tokens.null[p]
            for e in range(old.pair_ptr[p], old.pair_ptr[p + 1]):
                state.word[to], tokens.entry[to] = old.word[e], old_tokens.entry[e]
                to += 1
            at += 1
            state.pair_ptr[at] = to
        if n < len(group.doc) and group.doc[n] == d:
            for s in range(2):
                if sides.doc[n] & (1 << s):
                    to = _copy_side(s, n, at, to, state, tokens, group, sides)
                    state.concept[at] = second if s else j
                    at += 1
                    state.pair_ptr[at] = to
            n += 1
        state.doc_ptr[d + 1] = at


@lean
def _copy_side(s, n, at, to, state, tokens, group, sides):
    tokens.null[at] = group.null[n] - sides.null[n] if s else sides.null[n]
    for e in range(group.ptr[n], group.ptr[n + 1]):
        if sides.word[e] & (1 << s):
            count = group.tokens[e] - sides.tokens[e] if s else sides.tokens[e]
            state.word[to], tokens.entry[to] = group.support[group.word[e]], count
            tokens.pair[at] += count
            to += 1
    return to


@lean
def _draw_weights(state, tokens, docs, alpha_pi, stream):
    for d in docs:
        draw_weights(state, tokens, alpha_pi, d, stream, False)
