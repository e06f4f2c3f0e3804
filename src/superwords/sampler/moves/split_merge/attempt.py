"""Split and merge concepts across all their documents (docs/algebra.md 6).

Given z and with π integrated out, only the documents that hold the concept change. A split divides them and the words
they use between two concepts (division.py); a merge unites both and is its reverse; words that are on without a token
are kept or redrawn (unused_words.py). π is redrawn for the group's documents.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superwords.sampler.density import log_concepts, log_word_sets
from superwords.sampler.feature_likelihood import log_features
from superwords.sampler.jit import ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.assignments import draw_weights
from superwords.sampler.moves.contract import ChainState, Info, make_info
from superwords.sampler.moves.split_merge.division import (
    BLIND,
    BOTH,
    Group,
    Sides,
    Words,
    divide,
    gather,
    join,
    log_weights,
    pick,
    undivided,
    whole,
)
from superwords.sampler.moves.split_merge.unused_words import Context, Proposal, unused_of, with_unused, without_unused
from superwords.sampler.random import (
    SPLIT_MERGE,
    accepts_from_python,
    below_from_python,
    open_stream_from_python,
    uniform_from_python,
)
from superwords.sampler.state import AFTER_SPLIT_MERGE, Sizes, State, Tokens, gathered, relabel, sizes_of, sort_pairs

_PASSES = 2  # before the pass that is scored
_ANY_PARTNER = 0.02  # weight of a merge of two concepts without a word in common
_ANY_SEED = 0.01
_BLIND = 0.25  # share of the divisions that ignore the words
_SHARES = (0.0, 0.5)  # of the documents expected in the second concept; 0: by those already assigned
_REDRAWN = 0.8  # share of the moves that redraw all unused words
_HOPEFUL = (-40.0, 5.0)  # log ratios of split to merged between these are not screened
_SCREEN = 0.3  # share of the log ratio beyond these that the screen uses
_SEED_TILT = 6.0
_MOST_TILT = 12.0
_ON_REQUEST = 1 << 42  # offset of sweep numbers, for separate random streams
_LEAST_PART = 0.1  # minimum share of the documents in the smaller concept of a split on request


Seeds = tuple[int, int, float]  # two words, as indices into a group's support, and the share of the second concept


class Snapshot(NamedTuple):
    state: State
    tokens: Tokens
    sizes: Sizes
    model: Model


class Attempt(NamedTuple):
    """A split of the concept `rows[0]`, or a merge of the two of `rows`, before it is accepted."""

    rows: list[int]
    group: Group
    new: Proposal
    sizes: Sizes
    log_ratio: float  # of Metropolis–Hastings, without that of the features


def move_split_merge(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Make `split_merges` attempts, each a split or a merge with equal probability."""
    model = now.model
    if len(now.state.concept) == 0 or model.steps.split_merges == 0:
        return now, {}
    assert now.tokens is not None
    tried, accepted = np.zeros(2, np.int64), np.zeros(2, np.int64)
    snapshot = Snapshot(now.state, now.tokens, sizes_of(now.state), model)
    for attempt in range(model.steps.split_merges):
        open_stream_from_python(stream, SPLIT_MERGE, sweep, attempt)
        is_merge, n_concepts = uniform_from_python(stream) < 0.5, len(snapshot.sizes.holders)
        if is_merge and n_concepts < 2:
            continue
        tried[int(is_merge)] += 1
        rows = [below_from_python(stream, n_concepts)]
        if is_merge:
            rows.append(_draw(_partner_weights(snapshot.sizes, model, rows[0]), stream))
        made = None if min(rows) < len(model.fixed) else propose_attempt(snapshot, rows, stream)
        if made and accepts_from_python(made.log_ratio + feature_gain(snapshot, made.sizes), stream):
            snapshot = rebuild(snapshot, made, stream)
            accepted[int(is_merge)] += 1
    relabel(snapshot.state, stream, sweep, AFTER_SPLIT_MERGE, len(model.fixed))
    now = now._replace(state=snapshot.state, tokens=snapshot.tokens)
    return now, make_info(("split", "merge"), tried, accepted)


def propose_attempt(snapshot: Snapshot, rows: list[int], stream: np.ndarray) -> Attempt | None:
    """Propose to split a concept or to merge two; None if screened out, or a part is empty.

    The screen uses part of the ratio without unused words and features, which is left out of the remaining ratio.
    """
    state, tokens, before, model = snapshot
    is_merge, n_concepts = len(rows) == 2, len(before.holders)
    sign = -1.0 if is_merge else 1.0
    group, now = gather(state, tokens, model, rows)
    together = np.bincount(group.word, minlength=len(group.support)).astype(float)
    seeds = _draw_seeds(group, *(_seed_weights(now) if is_merge else (together, together)), model, stream)
    n_outside = before.total - before.m[rows].sum(axis=0)
    sides, log_q = _launch(group, now if is_merge else None, seeds, n_outside, model, stream)
    if not sides.holders.all():
        return None
    # The log proposal probability from split to merged, less the reverse
    log_ways = _log_seeds(group, seeds, *_seed_weights(sides), model) - log_q
    log_ways -= _log_seeds(group, seeds, together, together, model)
    merged, split = (without_unused(group, one, state.theta) for one in (whole(group), sides))
    first = sign * _screen(log_density_change(group, sides, merged, split, model) + log_ways)
    if not accepts_from_python(first, stream):
        return None
    present = [unused_of(state, tokens, group, row) for row in rows]
    # New unused words are drawn for all documents, or for those that hold both
    changing = (sides.doc == BOTH) | (uniform_from_python(stream) < _REDRAWN)
    context = make_context(snapshot, rows, changing, present)
    merged = with_unused(merged, context, None if is_merge else present, state.theta, stream)
    split = with_unused(split, context, present if is_merge else None, state.theta, stream)
    log_ratio = log_density_change(group, sides, merged, split, model) + merged.log_q - split.log_q + log_ways
    new = merged if is_merge else split
    sizes = change_sizes(before, rows, new)
    a, b, n_split = (*rows, n_concepts) if is_merge else (*rows, n_concepts, n_concepts + 1)
    partner = _partner_weights(before if is_merge else sizes, model, a)[b]
    log_choice = math.log(partner * (n_split - 1) / n_split)
    return Attempt(rows, group, new, sizes, sign * (log_ratio + log_choice) - first)


def _screen(log_ratio: float) -> float:
    """Return the log screening ratio: rejects hopeless splits, and merges conversely."""
    low, high = _HOPEFUL
    return _SCREEN * (min(log_ratio - low, 0.0) + max(log_ratio - high, 0.0))


def make_context(snapshot: Snapshot, rows: list[int], changing: np.ndarray, present: list[Words]) -> Context:
    """Return what does not change when these concepts are split or merged."""
    rest = Sizes(
        np.delete(snapshot.sizes.m, rows, axis=0),
        np.delete(snapshot.sizes.holders, rows),
        snapshot.sizes.total - snapshot.sizes.m[rows].sum(axis=0),
    )
    concept = np.repeat(snapshot.state.concept, np.diff(snapshot.state.pair_ptr))
    n_used = np.count_nonzero(snapshot.tokens.entry[~np.isin(concept, rows)])
    fuller = min(float(rest.total.sum() / n_used), 4.0) if n_used else 2.0
    kept = [pick(one, ~changing) for one in present]
    return Context(rest, fuller, changing, kept[0] if len(kept) == 1 else join(*kept), snapshot.model)


def feature_gain(snapshot: Snapshot, sizes: Sizes) -> float:
    """Return log P(Y | Φ) of the new counts, less that of the present ones."""
    data, prior = snapshot.model.data, snapshot.model.prior
    return log_features(sizes, data, prior) - log_features(snapshot.sizes, data, prior)


def log_density_change(group: Group, sides: Sides, merged: Proposal, split: Proposal, model: Model) -> float:
    """Return log P(c, f, z, w), π out, with the group as two concepts, less as one."""
    prior, n_documents = model.prior, len(model.data.length)
    change = log_weights(group, sides, prior.alpha_pi)
    for proposal, sign in ((split, 1), (merged, -1)):
        part = Sizes(proposal.m, proposal.holders, proposal.m.sum(axis=0))
        change += sign * (log_word_sets(part, prior) + log_concepts(proposal.holders, n_documents, prior))
        change += sign * proposal.log_text
    return float(change)


def _partner_weights(sizes: Sizes, model: Model, a: int) -> np.ndarray:
    """Return P(b | a is merged), by common words and similarity of features."""
    m = sizes.m.astype(float)
    weights = _ANY_PARTNER + np.square(_cosine(m, a))
    if model.data.Y.shape[1]:
        weights += np.square(np.maximum(_cosine(m @ model.data.Y, a), 0.0))  # where their words lie
    weights[a] = 0.0
    return weights / weights.sum()


def _cosine(rows: np.ndarray, a: int) -> np.ndarray:
    """Return the cosine of row a with every row."""
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return (rows @ rows[a]) / np.maximum(size * size[a], 1e-300)


def _draw(weights: np.ndarray, stream: np.ndarray) -> int:
    cumulative = np.cumsum(weights)
    chosen = int(np.searchsorted(cumulative, uniform_from_python(stream) * cumulative[-1], side="right"))
    return min(chosen, int(np.flatnonzero(weights)[-1]))


def _seed_weights(sides: Sides) -> tuple[np.ndarray, np.ndarray]:
    """Weigh the seeds of a merge: words on in one concept and not in the other."""
    total = sides.m[0] + sides.m[1]
    return sides.m[0] ** 2 / total + _ANY_SEED * total, sides.m[1] ** 2 / total + _ANY_SEED * total


def _nearness(group: Group, at: int, model: Model) -> np.ndarray:
    """Return the cosine of a support word with all others, by features or else by their documents."""
    if model.data.Y.shape[1]:
        return _cosine(model.data.Y[group.support], at)
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


def _draw_seeds(group: Group, first: np.ndarray, second: np.ndarray, model: Model, stream: np.ndarray) -> Seeds | None:
    """Draw two distant words of the support; sometimes None, for a blind division."""
    if len(group.support) < 2 or uniform_from_python(stream) < _BLIND:
        return None
    share = _SHARES[below_from_python(stream, len(_SHARES))]
    s = _draw(first, stream)
    return s, _draw(_far(group, s, second, model), stream), share


def _log_seeds(group: Group, seeds: Seeds | None, first: np.ndarray, second: np.ndarray, model: Model) -> float:
    if seeds is None:
        return 0.0
    far = _far(group, seeds[0], second, model)
    return math.log(first[seeds[0]] / first.sum()) + math.log(far[seeds[1]] / far.sum())


def _launch(
    group: Group, target: Sides | None, seeds: Seeds | None, n_outside: np.ndarray, model: Model, stream: np.ndarray
) -> tuple[Sides, float]:
    """Divide the group from scratch; the last pass makes the `target`, if given.

    `n_outside` is n_i without the group. Returns the division and the last pass's log probability.
    """
    sides = undivided(group)
    first, second, share = seeds or (0, 0, BLIND)
    tilt = np.zeros(len(group.support))
    if seeds:
        tilt = _SEED_TILT * (_nearness(group, first, model) - _nearness(group, second, model))
        for _ in range(_PASSES):
            divide(group, sides, sides, tilt, share, model.prior, stream, False)
            tilt = _feature_tilt(group, sides, n_outside[group.support], model)
    return sides, divide(group, sides, target or sides, tilt, share, model.prior, stream, target is not None)


def _feature_tilt(group: Group, sides: Sides, n_outside: np.ndarray, model: Model) -> np.ndarray:
    """Return each word's log odds per document of the first concept by features, roughly."""
    known = model.data.known[group.support]
    Y = model.data.Y[group.support]
    weight = np.where(known, sides.m, 0.0)
    first, second = (weight @ Y) / (weight.sum(axis=1) + model.prior.K)[:, None]
    m = np.bincount(group.word, minlength=len(known))
    share = (m / (n_outside + m))[:, None]
    gain = 0.5 * ((Y - share * second) ** 2 - (Y - share * first) ** 2).sum(axis=1)
    return np.clip(np.where(known, gain, 0.0) / m, -_MOST_TILT, _MOST_TILT)


def change_sizes(sizes: Sizes, rows: list[int], new: Proposal) -> Sizes:
    """Return the counts after a split, whose second concept comes last, or after a merge."""
    m, holders = np.vstack([sizes.m, new.m[1:]]), np.append(sizes.holders, new.holders[1:])
    m[rows[0]], holders[rows[0]] = new.m[0], new.holders[0]
    if len(rows) == 2:  # the last concept takes the number that becomes free
        m[rows[1]], holders[rows[1]] = m[-1], holders[-1]
        m, holders = m[:-1], holders[:-1]
    return Sizes(m, holders, sizes.total - sizes.m[rows].sum(axis=0) + new.m.sum(axis=0))


def rebuild(snapshot: Snapshot, made: Attempt, stream: np.ndarray) -> Snapshot:
    """Return the state after a split or merge, numbered as its counts, with the group's π redrawn."""
    old, tokens, sizes, model = snapshot
    n_concepts = len(sizes.holders)
    kept = np.flatnonzero(~np.isin(old.concept, made.rows))
    ptr, entries = gathered(old.pair_ptr, kept)
    doc = np.searchsorted(old.doc_ptr, kept, side="right") - 1
    pairs = [(doc, old.concept[kept], old.weight[kept], tokens.pair[kept], np.diff(ptr))]
    words = [(old.word[entries], tokens.entry[entries])]
    for j, side, on in zip((made.rows[0], n_concepts), made.new.sides, made.new.words):
        n_pairs = int(side.held.sum())
        concept, weight = np.full(n_pairs, j, np.int32), np.ones(n_pairs)
        pairs.append((made.group.doc[side.held], concept, weight, side.per_doc[side.held], np.diff(on.ptr)[side.held]))
        words.append((on.word, on.tokens.astype(np.int32)))
    doc, concept, weight, n_tokens, size = (np.concatenate(part) for part in zip(*pairs))
    word, entry = (np.concatenate(part) for part in zip(*words))
    state, order, entries = sort_pairs(doc, concept, weight, size, word, old)
    if len(made.rows) == 2:
        state.concept[state.concept == n_concepts - 1] = made.rows[1]
    tokens = Tokens(entry[entries], n_tokens[order])
    _draw_weights(state, tokens, made.group.doc, model.prior.alpha_pi, stream)
    return Snapshot(state, tokens, made.sizes, model)


@ref_kernel
def _draw_weights(state, tokens, docs, alpha_pi, stream):
    for d in docs:
        draw_weights(state, tokens, alpha_pi, d, stream)


def split_concept(
    state: State, tokens: Tokens, model: Model, j: int, stream: np.ndarray, sweep: int, n_attempts: int
) -> tuple[State, Tokens, float] | None:
    """Split concept j on request into j and a new, last one, by the best of `n_attempts`.

    Returns the new state, its z and the log ratio of split to unsplit, which is maximised; None if no attempt divides
    it. The same stream and sweep give the same division. This is not an MCMC step: the split is made whatever its
    ratio, and the chain continues from there; if the data favour one concept, a merge undoes it.
    """
    snapshot = Snapshot(state, tokens, sizes_of(state), model)
    best, most, after = None, -math.inf, stream
    for attempt in range(n_attempts):
        open_stream_from_python(stream, SPLIT_MERGE, _ON_REQUEST + sweep, attempt)
        made = propose_attempt(snapshot, [j], stream)
        if made is None:
            continue
        holders, n_words = made.new.holders, (made.new.m > 0).sum(axis=1)
        if holders.min() >= max(2, _LEAST_PART * holders.sum()) and n_words.min() > 0:
            log_ratio = made.log_ratio + feature_gain(snapshot, made.sizes)
            if log_ratio > most:
                best, most, after = made, log_ratio, stream.copy()
    if best is None:
        return None
    new = rebuild(snapshot, best, after)
    return new.state, new.tokens, most
