"""What our concepts predict of the words of a new document that were not shown (docs/lab/compare.md)."""

from __future__ import annotations

import numpy as np

from superwords.draws import Kept
from superwords.fitting.estimator import ConceptModel
from superwords.lab.compare.completion import DRAWS
from superwords.sampler.model import Prior
from superwords.sampler.prediction import Halves, predict
from superwords.sampler.state import State, sizes_of
from superwords.sampler.workspace import make_concepts


def from_draws(model: ConceptModel, halves: Halves) -> np.ndarray:
    """The mean over some kept draws of all chains, evenly spaced."""
    draws = list(model.draws_)
    chosen = np.unique(np.linspace(0, len(draws) - 1, DRAWS).round().astype(int))
    prior = model.chains_[0].model.prior
    return np.mean([_of_draw(draws[s], prior, halves, model.seed_) for s in chosen], axis=0)


def _of_draw(draw: Kept, prior: Prior, halves: Halves, seed: int) -> np.ndarray:
    return from_state(draw.state, prior._replace(b1=draw.b1, b2=draw.b2), halves, seed)


def from_state(state: State, prior: Prior, halves: Halves, seed: int) -> np.ndarray:
    concepts = make_concepts(sizes_of(state), len(state.doc_ptr) - 1, state.theta, prior)
    return predict(concepts, halves, seed)
