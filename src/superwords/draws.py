"""Draws kept from the chains: their traces, the most probable one, the consensus one, and co-membership."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from scipy import sparse

from superwords.container import Container, damage_said
from superwords.packing import DamagedError
from superwords.sampler.chain import Draw
from superwords.sampler.density import log_joint, log_score
from superwords.sampler.model import Model
from superwords.sampler.state import State, Tokens, sizes_of
from superwords.stored_state import plain_state, read_state, read_tokens

if TYPE_CHECKING:
    import xarray

TRACED = ("log_joint", "n_concepts", "n_memberships", "n_words_on")


class Kept(NamedTuple):
    """One kept draw: its state and z, the score the most probable draw is chosen by, and its concentrations."""

    sweep: int
    state: State
    tokens: Tokens
    score: float
    b1: float = 1.0
    b2: float = 1.0
    log_joint: float = float("nan")


def keep(draw: Draw, model: Model) -> Kept:
    """The draw as it is kept, in arrays of its own."""
    state = State(*(array.copy() for array in draw.state))
    score = log_score(state, draw.tokens, model)
    prior = model.prior
    return Kept(draw.sweep, state, draw.tokens, score, prior.b1, prior.b2, log_joint(state, model))


class ChainDraws(Sequence[Kept]):
    """What is kept of one chain: numbers in memory, the draws in a container, from which each is read when asked for.

    Parameters
    ----------
    container
        Where the draws are; a temporary one if None.
    chain
        The chain's number.
    shape
        Documents and words, if the container is a file: draws of other sizes are refused.
    until
        Draws of later sweeps are not seen.
    """

    def __init__(
        self,
        container: Container | None = None,
        chain: int = 0,
        shape: tuple[int, int] | None = None,
        until: int | None = None,
    ):
        self.container = container or Container.temporary()
        self.number = chain
        self.shape = shape
        self.sweeps: list[int] = []
        self.scores: list[float] = []
        self.trace: dict[str, list[float]] = {name: [] for name in TRACED}
        for c, sweep, figures in self.container.draws():
            if c == chain and (until is None or sweep <= until):
                self._note(sweep, figures)

    def _note(self, sweep: int, figures: Sequence[float]) -> None:
        score, *traced = figures
        if len(traced) != len(TRACED):
            raise DamagedError("a draw's numbers are not those of a draw")
        self.sweeps.append(sweep)
        self.scores.append(score)
        for name, value in zip(TRACED, traced):
            self.trace[name].append(value)

    def append(self, kept: Kept) -> None:
        if self.container.is_readonly:
            self.container = self._copied()
        state = kept.state
        sizes = len(np.unique(state.concept)), len(state.concept), len(state.word)
        figures = [kept.score, kept.log_joint, *map(float, sizes)]
        self.container.add_draw(self.number, kept.sweep, figures, plain_kept(kept))
        self._note(kept.sweep, figures)

    def cut(self, sweep: int) -> None:
        """Forget the draws after a sweep, from which the chain goes on."""
        n = sum(one <= sweep for one in self.sweeps)
        del self.sweeps[n:], self.scores[n:]
        for values in self.trace.values():
            del values[n:]
        if not self.container.is_readonly:
            self.container.remove_draws(self.number, sweep)

    def copy_to(self, container: Container) -> None:
        """Put all draws into another container as they are."""
        for sweep, score, *traced in zip(self.sweeps, self.scores, *self.trace.values()):
            with damage_said(self.container.name):
                packed = self.container.packed_draw(self.number, sweep)
            container.add_packed_draw(self.number, sweep, [score, *traced], packed)

    def _copied(self) -> Container:
        container = Container.temporary()
        self.copy_to(container)
        return container

    def __len__(self) -> int:
        return len(self.sweeps)

    @overload
    def __getitem__(self, place: int) -> Kept: ...
    @overload
    def __getitem__(self, place: slice) -> list[Kept]: ...
    def __getitem__(self, place: int | slice) -> Kept | list[Kept]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        sweep = self.sweeps[place]
        with damage_said(self.container.name):
            return read_kept(self.container.draw(self.number, sweep), self.shape)


def plain_kept(kept: Kept) -> dict[str, Any]:
    """A draw in dictionaries and arrays, as it is stored."""
    return {**kept._asdict(), "state": plain_state(kept.state), "tokens": kept.tokens._asdict()}


def read_kept(fields: dict[str, Any], shape: tuple[int, int] | None = None) -> Kept:
    """Inverse of `plain_kept`; what points nowhere, or is no draw of so many documents and words, is refused."""
    state = read_state(fields["state"], shape)
    kept = Kept(**{**fields, "state": state, "tokens": read_tokens(fields["tokens"], state)})
    if type(kept.sweep) is not int or not all(type(one) is float for one in (kept.score, kept.log_joint)):
        raise DamagedError("a draw's numbers are not those of a draw")
    if not all(type(one) is float and 0 < one < np.inf for one in (kept.b1, kept.b2)):
        raise DamagedError("a draw's concentrations are not positive")
    return kept


class Draws:
    """The kept draws of all chains."""

    def __init__(self, chains: list[ChainDraws]):
        self.chains = chains

    def __len__(self) -> int:
        return sum(len(chain) for chain in self.chains)

    def __iter__(self) -> Iterator[Kept]:
        """One draw after the other, chain by chain."""
        for chain in self.chains:
            yield from chain

    @property
    def chain(self) -> np.ndarray:
        """(S): which chain each draw is of."""
        return np.repeat(np.arange(len(self.chains)), [len(one) for one in self.chains]).astype(np.int32)

    def trace(self) -> xarray.DataTree:
        """The traced quantities in ArviZ layout, dims (chain, draw), as far as every chain has come."""
        n = min(len(chain) for chain in self.chains)
        values = {name: np.array([chain.trace[name][:n] for chain in self.chains]) for name in TRACED}
        for name in TRACED[1:]:
            values[name] = values[name].astype(int)
        return traced(values)

    def most_probable(self, chains: np.ndarray) -> Kept:
        """The draw of the highest density in some chains, π integrated out (docs/algebra.md section 1)."""
        best = max((self.chains[c] for c in chains), key=lambda one: max(one.scores))
        return best[int(np.argmax(best.scores))]

    def consensus(self, co_membership: Any) -> Kept:
        """The draw whose co-membership lies closest to the posterior's: the least Σ (C_s − C̄)²."""

        cost = None if sparse.issparse(co_membership) else 1 - 2 * co_membership

        def distance(draw: Kept) -> float:
            on = sizes_of(draw.state).m > 0
            if cost is not None:
                return float(cost.sum(where=shared_concepts(on)))
            together = shared_concepts(sparse.csr_array(on))
            return float((together - 2 * together.multiply(co_membership)).sum())

        return min(self, key=distance)


def shared_concepts(on: Any) -> Any:
    """(V, V): whether two words are on in the same concept, from (J, V) whether each is on; 1 where sparse."""
    each = on.astype(np.float32)
    together = each.T @ each
    if not sparse.issparse(together):
        return together > 0
    together.data[:] = 1.0
    return together


def traced(values: dict[str, np.ndarray]) -> xarray.DataTree:
    """(chain, draw) of each traced quantity in ArviZ layout."""
    import arviz_base  # takes a quarter of a second, and is not needed to sample

    return arviz_base.from_dict({"posterior": values}, check_conventions=False)


def convergence(trace: xarray.DataTree) -> dict[str, dict[str, float]]:
    """R-hat (needs two chains or more; NaN else), bulk effective sample size and MCSE of each traced quantity."""
    out = {}
    for name in TRACED:
        values = np.asarray(trace["posterior"][name].data, dtype=float)
        n_chains, n_draws = values.shape
        steady = values.size > 0 and bool(np.all(values == values.flat[0]))
        enough = n_draws >= 4
        out[name] = {
            "rhat": 1.0 if steady else statistic("rhat", values) if enough and n_chains > 1 else float("nan"),
            "ess": float(values.size) if steady else statistic("ess", values) if enough else float("nan"),
            "mcse": 0.0 if steady else statistic("mcse", values) if enough else float("nan"),
        }
    return out


def statistic(name: str, values: np.ndarray) -> float:
    from arviz_stats.base import array_stats

    # Chains that differ but do not move have an R-hat of infinity, which is no reason to warn.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(getattr(array_stats, name)(values, chain_axis=0, draw_axis=1))
