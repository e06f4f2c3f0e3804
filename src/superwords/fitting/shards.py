"""An approximation for corpora that are too large for one chain: `approximate="shards:8"`.

Rows are cut at random into shards. For each chain asked for, a pilot chain samples one shard; the rows of every other
shard join the concepts it has found, and then every shard is sampled by a chain of its own. Draw by draw, concepts of
different shards that share half of their descriptions are united (as chains are aligned), and rows in no shard are
folded in. What is lost: the shards do not hear of each other after the pilot, and each has the prior of its own size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.cluster import current
from superwords.errors import InputError
from superwords.fitting.folding import fold_elsewhere
from superwords.fitting.settings import Plan, make_starts, parse_approximation
from superwords.fitting.starting import part_of
from superwords.posterior.alignment import Usage, described, find_partners, longer, united_places, usage_of
from superwords.posterior.draws import ChainDraws, Kept, Schedule, keep
from superwords.sampler.chain import Chain, Draw
from superwords.sampler.init.grow import SWEEPS, join_rows, start_of
from superwords.sampler.init.starts import counts_of
from superwords.sampler.model import Data, Model, make_data, n_documents
from superwords.sampler.moves.assignments import impute_tokens
from superwords.sampler.random import INITIAL, new_stream
from superwords.sampler.state import State, Tokens, concatenated, gathered

KEPT = 20  # draws of each chain: to put one together takes all rows
_FEWEST_ROWS = 20
_CUT, _PILOT = 3, 4  # random streams of their own
_BLOCK = 4096

Run = Callable[[list[Chain], list[ChainDraws], Schedule], None]


class Sampled(NamedTuple):
    chains: list[Chain]  # at their end
    draws: list[ChainDraws]
    schedule: Schedule
    note: str  # caveat for all results


class Shard(NamedTuple):
    rows: np.ndarray
    model: Model


def cut_rows(n_rows: int, plan: Plan, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the rows of each shard, and those of none."""
    size = min(plan.n_rows, -(-n_rows // plan.n_shards))
    if n_rows // plan.n_shards < _FEWEST_ROWS:
        raise InputError(
            f"{n_rows:,} rows are too few for {plan.n_shards} shards (at least {_FEWEST_ROWS} each are needed); leave "
            "approximate out: one chain can take them all."
        )
    mixed = np.random.default_rng([seed, INITIAL, _CUT]).permutation(n_rows)
    shards = [np.sort(mixed[k :: plan.n_shards][:size]) for k in range(plan.n_shards)]
    return shards, np.setdiff1d(mixed, np.concatenate(shards))


def sample_shards(
    given: Mapping[str, Any], whole: Model, theta: np.ndarray, seed: int, schedule: Schedule, run: Run
) -> Sampled:
    """Return chains of all rows, put together from those of the shards."""
    plan = parse_approximation(given["approximate"])
    assert plan is not None
    cut, rest = cut_rows(n_documents(whole.data), plan, seed)
    shards = [Shard(rows, part_of(whole, rows, given)) for rows in cut]
    if given["thin"] is None:
        after = schedule.n_sweeps - schedule.n_burn_in
        schedule = schedule._replace(thin=max(1, after // KEPT))
    starts = make_starts(given)
    pilots = _pilots(starts, shards, theta, seed, run)
    chains = [
        Chain(shard.model, state, seed, number) for number, (shard, state) in enumerate(_starts(pilots, shards, seed))
    ]
    draws = [ChainDraws(chain=number) for number in range(len(chains))]
    run(chains, draws, schedule)
    ends, united = [], [ChainDraws(chain=c) for c in range(len(starts))]
    for c, kept in enumerate(united):
        of_shards = [draws[c * len(shards) + k] for k in range(len(shards))]
        last = None
        for one in zip(*of_shards, strict=True):
            last = _united(one, shards, rest, whole, seed, c)
            kept.append(keep(last, whole))
        assert last is not None
        end = Chain(whole, last.state, seed, c, schedule.n_sweeps)
        end.tokens = last.tokens
        ends.append(end)
    folded = f", and {len(rest):,} more folded in" if len(rest) else ""
    note = (
        f"This is an approximation: {len(cut)} shards of about {len(cut[0]):,} rows were sampled separately and "
        f"their concepts joined{folded} (docs/cluster.md says what that costs)."
    )
    return Sampled(ends, united, schedule, note)


def _pilots(starts: Sequence[str], shards: list[Shard], theta: np.ndarray, seed: int, run: Run) -> list[Chain]:
    """Return a chain on one shard for each start."""
    own = int(np.random.default_rng([seed, INITIAL, _PILOT]).integers(2**62))
    models = [shards[c % len(shards)].model for c in range(len(starts))]
    pilots = [
        Chain(model, start_of(init, model, theta, own, c), own, c)
        for c, (init, model) in enumerate(zip(starts, models))
    ]
    run(pilots, [ChainDraws(chain=c) for c in range(len(pilots))], Schedule(SWEEPS, SWEEPS, 1))
    return pilots


def _starts(pilots: list[Chain], shards: list[Shard], seed: int) -> Iterator[tuple[Shard, State]]:
    """Return where the chain of every shard begins, pilot by pilot."""
    for c, pilot in enumerate(pilots):
        for k, shard in enumerate(shards):
            if k == c % len(shards):
                yield shard, pilot.state
                continue
            state = _joined(pilot, counts_of(shard.model.data), seed, c)
            yield shard, state._replace(concept=_compact(state.concept))


def _joined(chain: Chain, counts: sparse.csr_array, seed: int, c: int) -> State:
    """Join further rows to a chain's concepts, on the cluster if there is one."""
    stream, machines = new_stream(seed, c), current()
    blocks = [sparse.csr_array(counts[a : a + _BLOCK]) for a in range(0, counts.shape[0], _BLOCK)]
    join = partial(join_rows, chain, stream=stream)
    if machines is None or len(blocks) == 1:
        return concatenated([join(block) for block in blocks], chain.state.theta)
    return concatenated(list(machines.spread(partial(fold_elsewhere, join), blocks)), chain.state.theta)


def _compact(concept: np.ndarray) -> np.ndarray:
    return np.unique(concept, return_inverse=True)[1].astype(np.int32)


def _united(draws: Sequence[Kept], shards: list[Shard], rest: np.ndarray, whole: Model, seed: int, chain: int) -> Draw:
    """Return one draw of all rows."""
    places = united_concepts([usage_of(one) for one in draws])
    theta = np.mean([one.state.theta for one in draws], axis=0)
    parts = [
        (shard.rows, one.state._replace(concept=place[one.state.concept]), one.tokens)
        for shard, one, place in zip(shards, draws, places)
    ]
    if len(rest):
        rows = np.sort(np.concatenate([shard.rows for shard in shards]))
        sampled, _ = _in_order(parts, theta)
        beside = Chain(whole._replace(data=_data_of(whole, rows)), sampled, seed, chain)
        state = _joined(beside, sparse.csr_array(counts_of(whole.data)[rest]), seed, chain)
        others = whole._replace(data=_data_of(whole, rest))
        parts.append((rest, state, impute_tokens(state, others, new_stream(seed, chain), draws[0].sweep)))
    state, tokens = _in_order(parts, theta)
    return Draw(draws[0].sweep, state._replace(concept=_compact(state.concept)), tokens)


def _data_of(whole: Model, rows: np.ndarray) -> Data:
    features = np.where(whole.data.known[:, None], whole.data.Y, np.nan)
    return make_data(sparse.csr_array(counts_of(whole.data)[rows]), features)


def united_concepts(shards: Sequence[Usage]) -> list[np.ndarray]:
    """Return for each shard the numbers of its concepts among all; partners share one."""
    places: list[np.ndarray] = []
    together = Usage(np.zeros(0, np.int64), *(sparse.csr_array((0, shards[0].used.shape[1])) for _ in range(2)))
    for usage in shards:
        partners = find_partners(described(together.used, together.holders), described(usage.used, usage.holders))
        place, put = united_places(partners.of, len(usage.holders))
        places.append(place.astype(np.int32))
        holders = np.bincount(place, usage.holders, put.shape[0])
        holders[: len(together.holders)] += together.holders
        both = [longer(a, put.shape[0]) + put @ b for a, b in zip(together[1:], usage[1:])]
        together = Usage(holders, *map(sparse.csr_array, both))
    return places


def _in_order(parts: list[tuple[np.ndarray, State, Tokens]], theta: np.ndarray) -> tuple[State, Tokens]:
    """Return rows of several parts in ascending order."""
    state = concatenated([one for _, one, _ in parts], theta)
    tokens = Tokens(*(np.concatenate(arrays) for arrays in zip(*(one for _, _, one in parts))))
    order = np.argsort(np.concatenate([rows for rows, _, _ in parts]), kind="stable")
    doc_ptr, pairs = gathered(state.doc_ptr, order)
    pair_ptr, entries = gathered(state.pair_ptr, pairs)
    return (
        State(doc_ptr, state.concept[pairs], state.weight[pairs], pair_ptr, state.word[entries], theta),
        Tokens(tokens.entry[entries], tokens.pair[pairs]),
    )
