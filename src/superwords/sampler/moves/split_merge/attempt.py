"""Split and merge concepts across all their documents (docs/algebra.md 6).

Given z and with π integrated out, only the documents that hold the concept change. A split divides them and the words
they use between two concepts (division.py); a merge unites both and is its reverse; words that are on without a token
are kept or redrawn (unused_words.py). The division starts from two seed words and is biased by the features after each
pass. It is accepted or rejected by Metropolis–Hastings, after a cheap screen that leaves out unused words and features;
π is then redrawn for the group's documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from superwords.sampler.density import log_concepts, log_word_sets
from superwords.sampler.feature_likelihood import log_features
from superwords.sampler.jit import ref_kernel
from superwords.sampler.model import Model
from superwords.sampler.moves.assignments import draw_weights
from superwords.sampler.moves.contract import NOTHING_TRIED, ChainState, Info, make_info
from superwords.sampler.moves.split_merge.division import (
    BOTH,
    Group,
    Sides,
    divide,
    divide_blindly,
    gather,
    log_weights,
    make_rules,
    undivided,
    whole,
)
from superwords.sampler.moves.split_merge.unused_words import (
    Context,
    Proposal,
    Unused,
    all_words,
    keep,
    unused_of,
    with_unused,
    without_unused,
)
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


class Seeds(NamedTuple):
    """Two seed words of a division, and the share of the second concept."""

    first: int  # index into a group's support
    second: int
    share: float


@dataclass
class Snapshot:
    """A state, its z, and quantities derived from them on demand."""

    state: State
    tokens: Tokens
    sizes: Sizes
    model: Model

    @cached_property
    def m(self) -> np.ndarray:
        return self.sizes.m.astype(float)

    @cached_property
    def feature_sum(self) -> np.ndarray:
        """Return (J, F) Σ_i m_ji y_i: where a concept's words lie."""
        return self.m @ self.model.data.Y

    @cached_property
    def n_used(self) -> np.ndarray:
        """Return (J) the number of words used, over all documents."""
        concept = np.repeat(self.state.concept, np.diff(self.state.pair_ptr))
        return np.bincount(concept[self.tokens.entry > 0], minlength=len(self.m))

    @cached_property
    def log_p(self) -> float:
        return log_features(self.sizes, self.model.data, self.model.prior)


def move_split_merge(stream: np.ndarray, sweep: int, now: ChainState) -> tuple[ChainState, Info]:
    """Make `split_merges` attempts, each a split or a merge with equal probability."""
    model = now.model
    if len(now.state.concept) == 0 or model.steps.split_merges == 0:
        return now, NOTHING_TRIED
    assert now.tokens is not None
    tried, accepted = np.zeros(2, np.int64), np.zeros(2, np.int64)
    snapshot = Snapshot(now.state, now.tokens, sizes_of(now.state), model)
    for attempt in range(model.steps.split_merges):
        open_stream_from_python(stream, SPLIT_MERGE, sweep, attempt)
        is_merge = uniform_from_python(stream) < 0.5
        if is_merge and len(snapshot.sizes.holders) < 2:
            continue
        tried[int(is_merge)] += 1
        new = (_merge if is_merge else _split)(snapshot, stream)
        if new is not None:
            snapshot = new
            accepted[int(is_merge)] += 1
    relabel(snapshot.state, stream, sweep, AFTER_SPLIT_MERGE, len(model.fixed))
    now = now._replace(state=snapshot.state, tokens=snapshot.tokens)
    return now, make_info(("split", "merge"), tried, accepted)


def _split(snapshot: Snapshot, stream: np.ndarray) -> Snapshot | None:
    """Try to split a concept chosen uniformly."""
    j = below_from_python(stream, len(snapshot.sizes.holders))
    if j < len(snapshot.model.fixed):
        return None
    proposed = propose_split(snapshot, j, stream)
    if proposed is None or not _accepts(proposed.log_ratio, snapshot, proposed.sizes, stream):
        return None
    return proposed.apply(snapshot, j, stream)


class SplitProposal(NamedTuple):
    """A concept split in two, before it is accepted."""

    group: Group
    split: Proposal
    sizes: Sizes
    log_ratio: float  # of Metropolis–Hastings, without that of the features

    def apply(self, snapshot: Snapshot, j: int, stream: np.ndarray) -> Snapshot:
        """Return the state with concept j split into j and a new, last one."""
        rows = (j, len(snapshot.sizes.holders))
        return rebuild(snapshot, self.group, self.split, rows, self.sizes, stream)


def propose_split(snapshot: Snapshot, j: int, stream: np.ndarray) -> SplitProposal | None:
    """Propose a division of concept j; None if a part is empty or it is screened out."""
    model, n_concepts = snapshot.model, len(snapshot.sizes.holders)
    group, now = gather(snapshot.state, snapshot.tokens, model, j, -1)
    seeds = _draw_seeds(group, now.m[0], now.m[0], model, stream)
    n_outside = snapshot.sizes.total - snapshot.sizes.m[j]
    sides, log_q = _launch(group, None, seeds, n_outside, model, stream)
    if not sides.holders.all():
        return None
    log_ways = _log_seeds_ratio(group, sides, seeds, model) - log_q
    split, log_ratio = _outcome(snapshot, group, sides, [j], log_ways, stream)
    if split is None:
        return None
    log_ratio += math.log(_partners_after_split(snapshot, split, j)[-1] * n_concepts / (n_concepts + 1))
    return SplitProposal(group, split, split_sizes(snapshot.sizes, j, split), log_ratio)


def _merge(snapshot: Snapshot, stream: np.ndarray) -> Snapshot | None:
    """Try to merge concept b into concept a."""
    model, n_concepts = snapshot.model, len(snapshot.sizes.holders)
    a = below_from_python(stream, n_concepts)
    partners = _partner_weights(snapshot.m, snapshot.feature_sum, a)
    b = _draw(partners, stream)
    if min(a, b) < len(model.fixed):
        return None
    group, sides = gather(snapshot.state, snapshot.tokens, model, a, b)
    seeds = _draw_seeds(group, *_seed_weights(sides), model, stream)
    n_outside = snapshot.sizes.total - snapshot.sizes.m[a] - snapshot.sizes.m[b]
    _, log_q = _launch(group, sides, seeds, n_outside, model, stream)
    log_ways = _log_seeds_ratio(group, sides, seeds, model) - log_q
    merged, log_ratio = _outcome(snapshot, group, sides, [a, b], log_ways, stream)
    if merged is None:
        return None
    log_ratio -= math.log(partners[b] * (n_concepts - 1) / n_concepts)
    sizes = merged_sizes(snapshot.sizes, (a, b), merged)
    if not _accepts(log_ratio, snapshot, sizes, stream):
        return None
    new = rebuild(snapshot, group, merged, (a, b), sizes, stream)
    new.state.concept[new.state.concept == n_concepts - 1] = b  # the last concept takes the free number
    return new


def _outcome(
    snapshot: Snapshot, group: Group, sides: Sides, rows: list[int], log_ways: float, stream: np.ndarray
) -> tuple[Proposal | None, float]:
    """Return the proposal and the remaining log ratio; None if it is screened out.

    The screen uses part of the ratio without unused words and features, which is left out of the remaining ratio.
    `log_ways` is the log proposal probability from split to merged, less the reverse.
    """
    model, theta = snapshot.model, snapshot.state.theta
    is_merge = len(rows) == 2
    sign = -1.0 if is_merge else 1.0
    merged, split = without_unused(group, whole(group), theta), without_unused(group, sides, theta)
    first = sign * _screen(log_density_change(group, sides, merged, split, model) + log_ways)
    if not accepts_from_python(first, stream):
        return None, 0.0
    present = [unused_of(snapshot.state, snapshot.tokens, group, row) for row in rows]
    # New unused words are drawn for all documents, or for those that hold both
    changing = (sides.doc == BOTH) | (uniform_from_python(stream) < _REDRAWN)
    context = make_context(snapshot, rows, changing, present)
    merged = with_unused(merged, context, None if is_merge else present, stream)
    split = with_unused(split, context, present if is_merge else None, stream)
    log_ratio = log_density_change(group, sides, merged, split, model) + merged.log_q - split.log_q + log_ways
    return (merged if is_merge else split), sign * log_ratio - first


def _screen(log_ratio: float) -> float:
    """Return the log screening ratio: rejects hopeless splits, and merges conversely."""
    low, high = _HOPEFUL
    return _SCREEN * (min(log_ratio - low, 0.0) + max(log_ratio - high, 0.0))


def make_context(snapshot: Snapshot, rows: list[int], changing: np.ndarray, present: list[Unused]) -> Context:
    """Return what does not change when these concepts are split or merged."""
    rest = Sizes(
        np.delete(snapshot.sizes.m, rows, axis=0),
        np.delete(snapshot.sizes.holders, rows),
        snapshot.sizes.total - snapshot.sizes.m[rows].sum(axis=0),
    )
    n_used = snapshot.n_used.sum() - snapshot.n_used[rows].sum()
    fuller = min(float(rest.total.sum() / n_used), 4.0) if n_used else 2.0
    return Context(rest, fuller, changing, keep(present, ~changing), snapshot.state.theta, snapshot.model)


def _accepts(log_ratio: float, snapshot: Snapshot, sizes: Sizes, stream: np.ndarray) -> bool:
    """Accept by Metropolis–Hastings, adding the features' ratio."""
    return bool(accepts_from_python(log_ratio + feature_gain(snapshot, sizes), stream))


def feature_gain(snapshot: Snapshot, sizes: Sizes) -> float:
    """Return log P(Y | Φ) of the new counts, less that of the present ones."""
    return log_features(sizes, snapshot.model.data, snapshot.model.prior) - snapshot.log_p


def _log_seeds_ratio(group: Group, sides: Sides, seeds: Seeds | None, model: Model) -> float:
    """Return the log probability of the seeds when merging, less when splitting."""
    together = np.bincount(group.word, minlength=len(group.support)).astype(float)
    of_merge = _log_seeds(group, seeds, *_seed_weights(sides), model)
    return of_merge - _log_seeds(group, seeds, together, together, model)


def log_density_change(group: Group, sides: Sides, merged: Proposal, split: Proposal, model: Model) -> float:
    """Return log P(c, f, z, w), π out, with the group as two concepts, less as one."""
    prior, n_documents = model.prior, len(model.data.length)
    change = log_weights(group, sides, prior.alpha_pi)
    for proposal, sign in ((split, 1), (merged, -1)):
        part = Sizes(proposal.m, proposal.holders, proposal.m.sum(axis=0))
        change += sign * (log_word_sets(part, prior) + log_concepts(proposal.holders, n_documents, prior))
        change += sign * proposal.log_text
    return float(change)


def _partner_weights(m: np.ndarray, feature_sum: np.ndarray, a: int) -> np.ndarray:
    """Return P(b | a is merged), by common words and similarity of features."""
    weights = _ANY_PARTNER + np.square(_cosine(m, a))
    if feature_sum.shape[1]:
        weights += np.square(np.maximum(_cosine(feature_sum, a), 0.0))
    weights[a] = 0.0
    return weights / weights.sum()


def _partners_after_split(snapshot: Snapshot, split: Proposal, j: int) -> np.ndarray:
    """Return P(b | j is merged) in the split state, in which two rows are new."""
    own, Y = split.m.astype(float), snapshot.model.data.Y
    m, feature_sum = np.vstack([snapshot.m, own[1:]]), np.vstack([snapshot.feature_sum, own[1:] @ Y])
    m[j], feature_sum[j] = own[0], own[0] @ Y
    return _partner_weights(m, feature_sum, j)


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
    """Return the cosine of a support word with all others.

    It is that of their features, 0 if unknown, or without features that of the sets of documents that use them.
    """
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
    return Seeds(s, _draw(_far(group, s, second, model), stream), share)


def _log_seeds(group: Group, seeds: Seeds | None, first: np.ndarray, second: np.ndarray, model: Model) -> float:
    if seeds is None:
        return 0.0
    far = _far(group, seeds.first, second, model)
    return math.log(first[seeds.first] / first.sum()) + math.log(far[seeds.second] / far.sum())


def _launch(
    group: Group, target: Sides | None, seeds: Seeds | None, n_outside: np.ndarray, model: Model, stream: np.ndarray
) -> tuple[Sides, float]:
    """Divide the group from scratch; the last pass makes the `target`, if given.

    `n_outside` is n_i without the group. Returns the division and the last pass's log probability.
    """
    sides = undivided(group)
    is_forced = target is not None
    if seeds is None:
        return sides, divide_blindly(group, sides, target or sides, stream, is_forced)
    rules = make_rules(model, group, seeds.share)
    tilt = _SEED_TILT * (_nearness(group, seeds.first, model) - _nearness(group, seeds.second, model))
    for _ in range(_PASSES):
        divide(group, sides, sides, tilt, rules, stream, False)
        tilt = _feature_tilt(group, sides, n_outside[group.support], model)
    return sides, divide(group, sides, target or sides, tilt, rules, stream, is_forced)


def _feature_tilt(group: Group, sides: Sides, n_outside: np.ndarray, model: Model) -> np.ndarray:
    """Return each word's log odds per document of the first concept by features.

    Uses the two concepts' mean features under the present division at unit noise; a proposal may be approximate.
    """
    known = model.data.known[group.support]
    Y = model.data.Y[group.support]
    weight = np.where(known, sides.m, 0.0)
    first, second = (weight @ Y) / (weight.sum(axis=1) + model.prior.K)[:, None]
    m = np.bincount(group.word, minlength=len(known))
    share = (m / (n_outside + m))[:, None]
    gain = 0.5 * ((Y - share * second) ** 2 - (Y - share * first) ** 2).sum(axis=1)
    return np.clip(np.where(known, gain, 0.0) / m, -_MOST_TILT, _MOST_TILT)


def split_sizes(sizes: Sizes, j: int, split: Proposal) -> Sizes:
    """Return the counts with concept j split into j and a new, last one."""
    m, holders = np.vstack([sizes.m, split.m[1:]]), np.append(sizes.holders, split.holders[1])
    m[j], holders[j] = split.m[0], split.holders[0]
    return Sizes(m, holders, sizes.total - sizes.m[j] + split.m.sum(axis=0))


def merged_sizes(sizes: Sizes, rows: tuple[int, int], merged: Proposal) -> Sizes:
    """Return the counts with two concepts merged and the last renumbered."""
    a, b = rows
    m, holders = sizes.m.copy(), sizes.holders.copy()
    m[a], holders[a] = merged.m[0], merged.holders[0]
    m[b], holders[b] = m[-1], holders[-1]
    return Sizes(m[:-1], holders[:-1], sizes.total - sizes.m[a] - sizes.m[b] + merged.m[0])


def rebuild(
    snapshot: Snapshot, group: Group, proposal: Proposal, numbers: tuple[int, int], sizes: Sizes, stream: np.ndarray
) -> Snapshot:
    """Return the state with the proposed group and its π redrawn; `sizes` its counts."""
    old, tokens = snapshot.state, snapshot.tokens
    kept = np.flatnonzero(~np.isin(old.concept, numbers))
    ptr, entries = gathered(old.pair_ptr, kept)
    doc = np.searchsorted(old.doc_ptr, kept, side="right") - 1
    pairs = [(doc, old.concept[kept], old.weight[kept], tokens.pair[kept], np.diff(ptr))]
    words = [(old.word[entries], tokens.entry[entries])]
    for j, side, unused in zip(numbers, proposal.sides, proposal.unused):
        n_pairs = int(side.held.sum())
        size = np.diff(side.ptr + unused.ptr)[side.held]
        concept, weight = np.full(n_pairs, j, np.int32), np.ones(n_pairs)
        pairs.append((group.doc[side.held], concept, weight, side.per_doc[side.held], size))
        words.append(all_words(side, unused))
    doc, concept, weight, n_tokens, size = (np.concatenate(part) for part in zip(*pairs))
    word, entry = (np.concatenate(part) for part in zip(*words))
    state, order, entries = sort_pairs(doc, concept, weight, size, word, old)
    tokens = Tokens(entry[entries], n_tokens[order])
    _draw_weights(state, tokens, group.doc, snapshot.model.prior.alpha_pi, stream)
    return Snapshot(state, tokens, sizes, snapshot.model)


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
        proposed = propose_split(snapshot, j, stream)
        if proposed is None:
            continue
        holders, n_words = proposed.split.holders, (proposed.split.m > 0).sum(axis=1)
        if holders.min() >= max(2, _LEAST_PART * holders.sum()) and n_words.min() > 0:
            log_ratio = proposed.log_ratio + feature_gain(snapshot, proposed.sizes)
            if log_ratio > most:
                best, most, after = proposed, log_ratio, stream.copy()
    if best is None:
        return None
    new = best.apply(snapshot, j, after)
    return new.state, new.tokens, most
