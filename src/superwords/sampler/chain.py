"""A chain: a state, and how a sweep changes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from time import perf_counter

from superwords.sampler.density import log_joint
from superwords.sampler.document import KINDS
from superwords.sampler.model import Model
from superwords.sampler.moves.assignments import move_theta, move_tokens
from superwords.sampler.moves.contract import ChainState, Move
from superwords.sampler.moves.documents import move_concepts
from superwords.sampler.moves.hyperparameters import move_concentrations
from superwords.sampler.moves.reassign_word import move_word_tokens
from superwords.sampler.moves.split_merge.attempt import move_split_merge
from superwords.sampler.moves.word_inclusion import move_words
from superwords.sampler.random import new_stream
from superwords.sampler.records import Draw as Draw
from superwords.sampler.records import Position, State, Tokens, check_state

# The moves of a sweep in their order: c → z and π → word moves → splits and merges → f → θ → concentrations. z is
# imputed once, and discarded with the sweep. A new move is one line here.
MOVES: dict[str, Move] = {
    "concepts": move_concepts,
    "tokens": move_tokens,
    "word_moves": move_word_tokens,
    "split_merge": move_split_merge,
    "words": move_words,
    "theta": move_theta,
    "concentrations": move_concentrations,
}
# The kinds of proposal that a move counts; moves that are not here are Gibbs steps, which are always accepted.
PROPOSALS = {"concepts": KINDS, "word_moves": ("word move",), "split_merge": ("split", "merge")}


class Chain:
    """A Markov chain, which applies the moves of `MOVES` in every sweep.

    Sampled concentrations are kept in `model.prior`. `seconds` is by move, `tried` and `accepted` by kind of proposal.
    The next sweep depends only on (model, state, seed, chain, sweep), so a restored chain continues bit for bit;
    `n_threads` affects the running time only.
    """

    def __init__(self, model: Model, state: State, seed: int, chain: int = 0, sweep: int = 0):
        check_state(state, len(model.data.length), len(model.data.known))
        self.model = model
        self.state = State(*(array.copy() for array in state))
        self.tokens: Tokens | None = None
        self.n_threads = 1
        self.sweep = sweep
        self.seed = seed
        self.stream = new_stream(seed, chain)
        self.seconds = dict.fromkeys(MOVES, 0.0)
        self.tried: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()

    def position(self) -> Position:
        """Return a checkpoint of the chain, with copies of its arrays."""
        state = State(*(array.copy() for array in self.state))
        counts = dict(self.seconds), dict(self.tried), dict(self.accepted)
        return Position(self.sweep, self.model.prior, state, self.tokens, *counts)

    def go_to(self, at: Position) -> None:
        """Continue from a checkpoint."""
        self.sweep, self.state, self.tokens = at.sweep, State(*(one.copy() for one in at.state)), at.tokens
        self.model = self.model._replace(prior=at.prior)
        self.seconds = {**dict.fromkeys(MOVES, 0.0), **at.seconds}
        self.tried, self.accepted = Counter(at.tried), Counter(at.accepted)

    def advance(self, n_sweeps: int) -> Iterator[Draw]:
        for _ in range(n_sweeps):
            self.step()
            assert self.tokens is not None
            yield Draw(self.sweep, self.state, self.tokens)

    def step(self) -> None:
        """Run one sweep."""
        now = ChainState(self.model, self.state, self.tokens, self.n_threads)
        for name, move in MOVES.items():
            start = perf_counter()
            now, info = move(self.stream, self.sweep, now)
            self.seconds[name] += perf_counter() - start
            for kind, (tried, accepted) in info.items():
                self.tried[kind] += tried
                self.accepted[kind] += accepted
        self.model, self.state, self.tokens = now.model, now.state, now.tokens
        self.sweep += 1

    def log_joint(self) -> float:
        return log_joint(self.state, self.model)
