"""A chain: a state, and how a sweep changes it."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np

from superwords.sampler.density import log_joint, log_score
from superwords.sampler.model import Model, n_documents, n_words
from superwords.sampler.moves.concentrations import draw_concentrations
from superwords.sampler.moves.concepts import sweep_membership
from superwords.sampler.moves.split_merge.attempt import regroup
from superwords.sampler.moves.tokens import draw_theta, impute_tokens
from superwords.sampler.moves.words import sweep_words
from superwords.sampler.published import carry_tokens
from superwords.sampler.random import new_stream
from superwords.sampler.semantics import draw_instance, start_regression
from superwords.sampler.state import (
    State,
    Tokens,
    check_state,
    count_memberships,
    n_concepts,
    relabel,
    sizes_of,
)


class Draw(NamedTuple):
    """A state after a sweep, with the z it came with."""

    sweep: int
    state: State
    tokens: Tokens


class Chain:
    """Advances a state sweep by sweep: c → z → π → f (→ θ), given the same z, which is then discarded.

    Sampled concentrations stand in `model.prior`.
    What follows depends only on (model, state, seed, chain, sweep): a chain stored and restored goes on bit by bit.
    """

    def __init__(self, model: Model, state: State, seed: int, chain: int = 0, sweep: int = 0):
        check_state(state, n_documents(model.data), n_words(model.data))
        self.model = model
        self.state = State(*(array.copy() for array in state))
        self.tokens: Tokens | None = None
        self.sweep = sweep
        self.stream = new_stream(seed, chain)
        self.accepted = np.zeros(2, np.int64)  # splits and merges
        self.seconds = {
            "semantics": 0.0,
            "concepts": 0.0,
            "tokens": 0.0,
            "regroup": 0.0,
            "words": 0.0,
            "theta": 0.0,
            "concentrations": 0.0,
        }

    def advance(self, n_sweeps: int) -> Iterator[Draw]:
        for _ in range(n_sweeps):
            self.step()
            assert self.tokens is not None
            yield Draw(self.sweep, self.state, self.tokens)

    def step(self) -> None:
        """One sweep."""
        before = self.state
        self._update_concepts()
        steps = self.model.steps
        if steps.published_order:
            none = np.zeros(len(before.concept), np.int64)
            stale = self.tokens or Tokens(np.zeros(len(before.word), np.int32), none, none)
            self.tokens = carry_tokens(before, stale, self.state)
            n_rows = relabel(self.state, n_concepts(self.state), self.stream, self.sweep, 0)
            self._update_words(n_rows)
            self._impute()
        else:
            n_rows = relabel(self.state, n_concepts(self.state), self.stream, self.sweep, 0)
            self._impute()
            n_rows = self._regroup(n_rows)
            self._update_words(n_rows)
        assert self.tokens is not None
        if steps.sample_theta:
            start = perf_counter()
            draw_theta(self.state, self.tokens, self.model, self.stream, self.sweep)
            self.seconds["theta"] += perf_counter() - start
        if steps.sample_alpha_omega or steps.sample_b1 or steps.sample_b2:
            self._draw_concentrations()
        self.sweep += 1

    def _draw_concentrations(self) -> None:
        start = perf_counter()
        model = self.model
        seed, number = int(self.stream[4]), int(self.stream[5])
        prior = draw_concentrations(
            model.prior, sizes_of(self.state), n_documents(model.data), model.steps, seed, number, self.sweep
        )
        self.model = model._replace(prior=prior)
        self.seconds["concentrations"] += perf_counter() - start

    def _update_concepts(self) -> None:
        if not (self.model.steps.flips or self.model.steps.births):
            self.state = State(*(array.copy() for array in self.state))
            return
        start = perf_counter()
        sizes = sizes_of(self.state)
        instance = draw_instance(sizes, self.model.data, self.model.prior, self.stream, self.sweep)
        middle = perf_counter()
        self.state, _, _ = sweep_membership(self.state, sizes, self.model, instance, self.stream, self.sweep)
        self.seconds["semantics"] += middle - start
        self.seconds["concepts"] += perf_counter() - middle

    def _impute(self) -> None:
        start = perf_counter()
        self.tokens = impute_tokens(self.state, self.model, self.stream, self.sweep)
        self.seconds["tokens"] += perf_counter() - start

    def _regroup(self, n_rows: int) -> int:
        """Splits and merges; returns the number of concepts."""
        if n_rows == 0 or self.model.steps.regroups == 0:
            return n_rows
        assert self.tokens is not None
        start = perf_counter()
        self.state, self.tokens, accepted = regroup(
            self.state, self.tokens, self.model, self.stream, self.sweep
        )
        self.accepted += accepted
        n_rows = relabel(self.state, n_concepts(self.state), self.stream, self.sweep, 1)
        self.seconds["regroup"] += perf_counter() - start
        return n_rows

    def _update_words(self, n_rows: int) -> None:
        steps = self.model.steps
        if n_rows == 0 or self.tokens is None or not (steps.words or steps.handovers):
            return
        start = perf_counter()
        sizes = count_memberships(self.state, n_rows, len(self.state.theta))
        regression = start_regression(sizes, self.model.data, self.model.prior)
        middle = perf_counter()
        self.state, self.tokens = sweep_words(
            self.state, self.tokens, sizes, self.model, regression, self.stream, self.sweep
        )
        self.seconds["semantics"] += middle - start
        self.seconds["words"] += perf_counter() - middle

    def log_joint(self) -> float:
        return log_joint(self.state, self.model)

    def log_score(self) -> float:
        """Of the present draw; needs the z of its sweep."""
        assert self.tokens is not None
        return log_score(self.state, self.tokens, self.model)
