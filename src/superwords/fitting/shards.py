"""An approximation for corpora that are too large for one chain: `approximate="shards:8"`.

Rows are cut at random into shards. For each chain asked for, a pilot chain samples one shard; the rows of every other
shard join the concepts it has found, and then every shard is sampled by a chain of its own. Draw by draw, concepts of
different shards that share half of their descriptions are united (as chains are aligned), and rows in no shard are
folded in. What is lost: the shards do not hear of each other after the pilot, and each has the prior of its own size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from superwords.errors import InputError
from superwords.fitting.folding import in_blocks
from superwords.fitting.settings import Plan, make_starts, parse_approximation
from superwords.fitting.starting import part_of
from superwords.posterior.alignment import Usage, find_partners, unite, usage_of
from superwords.posterior.draws import ChainDraws, Kept, Schedule, keep
from superwords.sampler.chain import Chain, Draw
from superwords.sampler.init.grow import SWEEPS, join_rows, start_of
from superwords.sampler.init.starts import counts_of
from superwords.sampler.model import Model, make_data
from superwords.sampler.moves.assignments import impute_tokens
from superwords.sampler.random import INITIAL, new_stream
from superwords.sampler.state import State, Tokens, concatenated, take_rows

KEPT = 20  # draws of each chain: to put one together takes all rows
_FEWEST_ROWS = 20
_CUT, _PILOT = 3, 4  # random streams of their own
_BLOCK = 4096

Run = Callable[[SimpleNamespace], None]  # of chains_, kept_ and schedule_, as a model has them


def cut_rows(n_rows: int, plan: Plan, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the rows of each shard, and those of none."""
    size = min(plan.n_rows, -(-n_rows // plan.n_shards))
    if n_rows // plan.n_shards < _FEWEST_ROWS:
        problem = f"{n_rows:,} rows are too few for {plan.n_shards} shards (at least {_FEWEST_ROWS} each are needed)"
        raise InputError(f"{problem}; leave approximate out: one chain can take them all.")
    mixed = np.random.default_rng([seed, INITIAL, _CUT]).permutation(n_rows)
    shards = [np.sort(mixed[k :: plan.n_shards][:size]) for k in range(plan.n_shards)]
    return shards, np.setdiff1d(mixed, np.concatenate(shards))


def sample_shards(
    given: Mapping[str, Any], whole: Model, theta: np.ndarray, seed: int, schedule: Schedule, run: Run
) -> tuple[list[Chain], list[ChainDraws], Schedule, str]:
    """Return chains of all rows, put together from those of the shards, their draws, and a caveat for all results."""
    plan = parse_approximation(given["approximate"])
    assert plan is not None
    shards, rest = cut_rows(len(whole.data.length), plan, seed)
    models = [part_of(whole, rows, given) for rows in shards]
    if given["thin"] is None:
        schedule = schedule._replace(thin=max(1, (schedule.n_sweeps - schedule.n_burn_in) // KEPT))
    own, starts = int(np.random.default_rng([seed, INITIAL, _PILOT]).integers(2**62)), make_starts(given)
    in_turn = [(models[c % len(shards)], init) for c, init in enumerate(starts)]
    pilots = [Chain(one, start_of(init, one, theta, own, c), own, c) for c, (one, init) in enumerate(in_turn)]
    nothing_kept = [ChainDraws(chain=c) for c in range(len(pilots))]
    run(SimpleNamespace(chains_=pilots, kept_=nothing_kept, schedule_=Schedule(SWEEPS, SWEEPS, 1)))
    chains: list[Chain] = []
    for c, pilot in enumerate(pilots):
        for k, model in enumerate(models):
            is_own = k == c % len(shards)
            state = pilot.state if is_own else _compacted(_joined(pilot, counts_of(model.data), seed, c))
            chains.append(Chain(model, state, seed, len(chains)))
    draws = [ChainDraws(chain=number) for number in range(len(chains))]
    run(SimpleNamespace(chains_=chains, kept_=draws, schedule_=schedule))
    ends, united = [], [ChainDraws(chain=c) for c in range(len(pilots))]
    for c, kept in enumerate(united):
        last = None
        for one in zip(*draws[c * len(shards) : (c + 1) * len(shards)], strict=True):
            last = _united(one, shards, rest, whole, seed, c)
            kept.append(keep(last, whole))
        assert last is not None
        end = Chain(whole, last.state, seed, c, schedule.n_sweeps)
        end.tokens = last.tokens
        ends.append(end)
    folded = f", and {len(rest):,} more folded in" if len(rest) else ""
    note = (
        f"This is an approximation: {len(shards)} shards of about {len(shards[0]):,} rows were sampled separately and "
        f"their concepts joined{folded} (docs/cluster.md says what that costs)."
    )
    return ends, united, schedule, note


def _joined(chain: Chain, counts: sparse.csr_array, seed: int, c: int) -> State:
    """Join further rows to a chain's concepts."""
    join = partial(join_rows, chain, stream=new_stream(seed, c))
    return concatenated(in_blocks(join, counts, _BLOCK, n_jobs=1), chain.state.theta)


def _compacted(state: State) -> State:
    """Return a state whose concepts are numbered without gaps."""
    return state._replace(concept=np.unique(state.concept, return_inverse=True)[1].astype(np.int32))


def _united(
    draws: Sequence[Kept], shards: list[np.ndarray], rest: np.ndarray, whole: Model, seed: int, chain: int
) -> Draw:
    """Return one draw of all rows."""
    places = united_concepts([usage_of(one) for one in draws])
    theta = np.mean([one.state.theta for one in draws], axis=0)
    parts = [
        (rows, one.state._replace(concept=place[one.state.concept]), one.tokens)
        for rows, one, place in zip(shards, draws, places)
    ]
    if len(rest):
        counts, features = counts_of(whole.data), np.where(whole.data.known[:, None], whole.data.Y, np.nan)
        sampled, others = (
            whole._replace(data=make_data(sparse.csr_array(counts[rows]), features))
            for rows in (np.sort(np.concatenate(shards)), rest)
        )
        beside = Chain(sampled, _in_order(parts, theta)[0], seed, chain)
        state = _joined(beside, sparse.csr_array(counts[rest]), seed, chain)
        parts.append((rest, state, impute_tokens(state, others, new_stream(seed, chain), draws[0].sweep)))
    state, tokens = _in_order(parts, theta)
    return Draw(draws[0].sweep, _compacted(state), tokens)


def united_concepts(shards: Sequence[Usage]) -> list[np.ndarray]:
    """Return for each shard the numbers of its concepts among all; partners share one."""
    places: list[np.ndarray] = []
    together = Usage(np.zeros(0), sparse.csr_array((0, shards[0].used.shape[1])))
    for usage in shards:
        *united, place = unite(*together, *usage, find_partners(together.description, usage.description).of)
        together = Usage(*united)
        places.append(place.astype(np.int32))
    return places


def _in_order(parts: list[tuple[np.ndarray, State, Tokens]], theta: np.ndarray) -> tuple[State, Tokens]:
    """Return rows of several parts in ascending order."""
    state = concatenated([one for _, one, _ in parts], theta)
    tokens = Tokens(*(np.concatenate(arrays) for arrays in zip(*(one for _, _, one in parts))))
    order = np.argsort(np.concatenate([rows for rows, _, _ in parts]), kind="stable")
    # Tokens move as the weights and words that they are of.
    moved = take_rows(state._replace(weight=tokens.pair, word=tokens.entry), order)
    return take_rows(state, order), Tokens(moved.word, moved.weight)
