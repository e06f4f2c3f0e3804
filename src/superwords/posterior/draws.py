"""Draws kept from the chains, and the evenly spaced ones that summaries are computed from."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from superwords.sampler.model import Model
from superwords.sampler.records import Draw, State
from superwords.storage.arrays import DamagedError
from superwords.storage.draws import Kept as Kept
from superwords.storage.draws import pack_draw, unpack_draw
from superwords.storage.model_file import ModelFile, checksum, translate_corruption

TRACED = ("log_joint", "n_concepts", "n_memberships", "n_words_on")
# Summaries are computed from evenly spaced draws: from all of them while they are small.
FEWEST_SPACED, _MOST_SPACED = 20, 200
_MOST_MEMBERSHIPS, _MOST_WORDS_ON = 500_000, 8_000_000  # in all spaced draws together


class Schedule(NamedTuple):
    """Sweeps in all, those before the first kept draw, and one kept draw every `thin`."""

    n_sweeps: int
    n_burn_in: int
    thin: int

    def keeps(self, sweep: int) -> bool:
        """Return whether the draw after this many sweeps is kept."""
        return sweep > self.n_burn_in and (sweep - self.n_burn_in) % self.thin == 0

    def n_kept(self, sweep: int) -> int:
        """Return how many draws are kept until this sweep."""
        return max(0, sweep - self.n_burn_in) // self.thin


def keep(draw: Draw, model: Model, acceptance: float = float("nan")) -> Kept:
    """Return the draw as it is stored, in arrays of its own; π is replaced by its mean given z.

    `acceptance` is the share of the sweep's proposals that were accepted.
    """
    from superwords.sampler.density import log_joint, log_score  # kernels, which only sampling needs

    prior, tokens = model.prior, draw.tokens
    state = State(*(array.copy() for array in draw.state))
    score, density = log_score(state, tokens, model), log_joint(state, model)
    stored = state._replace(weight=prior.alpha_pi + tokens.pair)
    figures = score, prior.b1, prior.b2, density, prior.alpha_pi, prior.alpha_omega, acceptance
    return Kept(draw.sweep, stored, tokens, *figures)


class ChainDraws:
    """The draws of one chain: traces of all kept draws, and the stored draws, each read from its file on demand.

    A run stores every draw that it keeps. A saved model may have fewer: those that its summaries are computed from.
    Draws that are not of the `shape` (documents, words) are refused; those of sweeps after `until` are ignored.
    """

    def __init__(
        self,
        file: ModelFile | None = None,  # None: a temporary one
        chain: int = 0,
        shape: tuple[int, int] | None = None,
        until: int | None = None,
    ):
        self.file = file or ModelFile.create()
        self.number = chain
        self.shape = shape
        self.kept_sweeps: list[int] = []
        self.trace: dict[str, list[float]] = {name: [] for name in TRACED}
        self.sweeps: list[int] = []  # of the stored draws, as are the scores
        self.scores: list[float] = []
        for row in self.file.draws():
            if row.chain == chain and (until is None or row.sweep <= until):
                self._note(row.sweep, row.figures, bool(row.content))

    def _note(self, sweep: int, figures: Sequence[float], is_stored: bool) -> None:
        score, *traced = figures
        if len(traced) != len(TRACED):
            raise DamagedError("a draw's numbers are not those of a draw")
        self.kept_sweeps.append(sweep)
        for name, value in zip(TRACED, traced):
            self.trace[name].append(value)
        if is_stored:
            self.sweeps.append(sweep)
            self.scores.append(score)

    @property
    def has_all(self) -> bool:
        """Whether every kept draw is stored."""
        return len(self.sweeps) == len(self.kept_sweeps)

    def append(self, kept: Kept) -> None:
        """Store a further draw."""
        if self.file.is_readonly:
            copied = ModelFile.create()
            self.copy_to(copied)
            self.file = copied
        state = kept.state
        sizes = len(np.unique(state.concept)), len(state.concept), len(state.word)
        figures = [kept.score, kept.log_joint, *map(float, sizes)]
        self.file.add_draw(self.number, kept.sweep, figures, pack_draw(kept))
        self._note(kept.sweep, figures, True)

    def cut(self, sweep: int) -> None:
        """Forget the draws after a sweep, from which the chain continues."""
        n_kept, n_stored = (sum(one <= sweep for one in some) for some in (self.kept_sweeps, self.sweeps))
        del self.kept_sweeps[n_kept:], self.sweeps[n_stored:], self.scores[n_stored:]
        for values in self.trace.values():
            del values[n_kept:]
        if not self.file.is_readonly:
            self.file.remove_draws(self.number, sweep)

    def copy_to(self, file: ModelFile) -> None:
        """Copy the traces of all kept draws, and the stored draws, to another file."""
        score = dict(zip(self.sweeps, self.scores))
        for sweep, *traced in zip(self.kept_sweeps, *self.trace.values()):
            packed = None
            if sweep in score:
                with translate_corruption(self.file.name):
                    packed = self.file.draw(self.number, sweep)
            file.add_draw(self.number, sweep, [score.get(sweep, float("-inf")), *traced], packed)

    def spaced(self, most: int) -> ChainDraws:
        """Return a view with at most `most` stored draws, evenly spaced over the kept ones."""
        view = copy.copy(self)
        n = len(self.kept_sweeps)
        evenly = [self.kept_sweeps[round(k)] for k in np.linspace(0, n - 1, min(n, most))]
        score = dict(zip(self.sweeps, self.scores))
        view.sweeps = sorted({min(self.sweeps, key=lambda one: abs(one - sweep)) for sweep in evenly})
        view.scores = [score[sweep] for sweep in view.sweeps]
        return view

    def digest(self) -> bytes:
        """Return a checksum of the stored draws."""
        contents = {row.sweep: row.content for row in self.file.draws() if row.chain == self.number}
        return checksum(*(value for sweep in self.sweeps for value in (sweep, contents[sweep])))

    def __len__(self) -> int:
        return len(self.sweeps)

    def __getitem__(self, place: int) -> Kept:
        sweep = self.sweeps[place]
        with translate_corruption(self.file.name):
            return unpack_draw(self.file.draw(self.number, sweep), self.shape)

    def __iter__(self) -> Iterator[Kept]:
        return map(self.__getitem__, range(len(self)))


class Draws:
    """The kept draws of all chains."""

    def __init__(self, chains: list[ChainDraws]):
        self.chains = chains

    def __len__(self) -> int:
        return sum(len(chain) for chain in self.chains)

    @property
    def n_kept(self) -> int:
        """How many draws were kept, stored or not."""
        return sum(len(chain.kept_sweeps) for chain in self.chains)

    @property
    def has_all(self) -> bool:
        """Whether every kept draw is stored."""
        return all(chain.has_all for chain in self.chains)

    def digest(self) -> bytes:
        """Return a checksum of the stored draws."""
        return checksum(*(chain.digest() for chain in self.chains))

    def __iter__(self) -> Iterator[Kept]:
        """Yield one draw after the other, chain by chain."""
        for chain in self.chains:
            yield from chain

    @property
    def chain(self) -> np.ndarray:
        """(S): which chain each draw is of."""
        return np.repeat(np.arange(len(self.chains)), [len(one) for one in self.chains]).astype(np.int32)

    def spaced(self) -> Draws:
        """Return the draws that every summary is computed from: evenly spaced, the same number from each chain.

        All of them if they are small, never fewer than 20 in total (if there are that many). Which ones depends
        on the traces only, so that a saved model has the same ones as the model in memory.
        """
        sampled = [chain for chain in self.chains if len(chain)]
        memberships, words_on = (
            max((max(chain.trace[name]) for chain in sampled), default=1.0) for name in ("n_memberships", "n_words_on")
        )
        most = -(-most_spaced(memberships, words_on) // max(len(sampled), 1))
        return Draws([chain.spaced(most) for chain in self.chains])


def most_spaced(n_memberships: float, n_words_on: float) -> int:
    """Return how many draws of this size are summarised."""
    most = min(_MOST_MEMBERSHIPS // max(1, n_memberships), _MOST_WORDS_ON // max(1, n_words_on), _MOST_SPACED)
    return max(FEWEST_SPACED, int(most))
