"""What every peer's adapter gives back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superwords.lab.compare.completion import Predict


class Fitted(NamedTuple):
    weights: np.ndarray  # (T, V) how much a word says of a topic; 0: not in it
    predict: Predict | None  # None: the model gives words no probability
