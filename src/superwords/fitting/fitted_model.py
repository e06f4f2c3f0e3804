"""What functions of a fitted `ConceptModel` need of it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from superwords.posterior.draws import ChainDraws, Schedule
from superwords.posterior.resampling import Pilots
from superwords.posterior.result import Result
from superwords.sampler.chain import Chain
from superwords.storage.model_file import Choice
from superwords.text.corpus import Corpus


class UnknownWords(NamedTuple):
    """Tokens of new documents that were left out, and some of their words, the most frequent first."""

    n_tokens: int
    examples: list[str]


class FittedModel(Protocol):
    """The attributes of a fitted `ConceptModel`."""

    corpus_: Corpus
    order_: np.ndarray
    seed_: int
    schedule_: Schedule
    chains_: list[Chain]
    kept_: list[ChainDraws]
    pilots_: Pilots
    choices_: list[Choice]
    identity_: str
    unknown_words_: UnknownWords
    n_jobs: int | None

    @property
    def sampled_(self) -> Result: ...
    @property
    def result_(self) -> Result: ...
    def get_params(self) -> dict[str, Any]: ...
