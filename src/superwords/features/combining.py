"""Blocks of features side by side, scaled so that none drowns the others."""

from __future__ import annotations

import numpy as np

from superwords.errors import InputError
from superwords.features.block import WordFeatures


def combine(*blocks: np.ndarray | WordFeatures) -> np.ndarray:
    """The blocks side by side, (V, sum of F), every block with the same total variance.

    Each block is centred and divided by one number, so that its columns keep their proportions and its total
    variance over its known rows is the number of all columns divided by the number of blocks: one per column
    on average. Use the result as it is (`standardize_features=False`), or wide blocks gain weight again.
    A word missing in one block but known in another gets that block's mean, 0; only a word missing in every
    block stays unknown (NaN).

    Parameters
    ----------
    *blocks : array or WordFeatures
        Each (V, F) with one row per word, NaN where a word is unknown.

    Returns
    -------
    numpy.ndarray
        (V, sum of F).

    Examples
    --------
    >>> import numpy as np
    >>> from superwords import features
    >>> loud, quiet = np.array([[100.0], [-100.0]]), np.array([[0.1], [-0.1]])
    >>> features.combine(loud, quiet)
    array([[ 1.,  1.],
           [-1., -1.]])
    """
    if not blocks:
        raise InputError("There is nothing to combine; give at least one block of features.")
    arrays = [check_block(block, number) for number, block in enumerate(blocks, start=1)]
    for number, array in enumerate(arrays, start=1):
        if len(array) != len(arrays[0]):
            raise InputError(
                f"Block {number} has {len(array)} rows and block 1 has {len(arrays[0])}; "
                "every block needs one row per word."
            )
    share = sum(array.shape[1] for array in arrays) / len(arrays)
    known = np.array([~np.isnan(array).any(axis=1) for array in arrays])
    values = np.hstack([scale(array, rows, share) for array, rows in zip(arrays, known, strict=True)])
    values[~known.any(axis=0)] = np.nan
    return values


def scale(array: np.ndarray, known: np.ndarray, total_variance: float) -> np.ndarray:
    """The block centred over its known rows and scaled to the total variance; 0 where a row is unknown."""
    centred = np.zeros_like(array)
    centred[known] = array[known] - array[known].mean(axis=0)
    variance = float((centred[known] ** 2).mean(axis=0).sum())
    magnitude = float(np.abs(array[known]).max(initial=0.0))
    if variance <= (1e-12 * magnitude) ** 2:
        return np.zeros_like(array)
    return centred * np.sqrt(total_variance / variance)


def check_block(block: np.ndarray | WordFeatures, number: int) -> np.ndarray:
    given = block.values if isinstance(block, WordFeatures) else block
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"Block {number} does not hold numbers; give a words-by-features array.") from None
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"Block {number} has the shape {array.shape}; give a words-by-features array.")
    if np.isinf(array).any():
        row = int(np.flatnonzero(np.isinf(array).any(axis=1))[0])
        raise InputError(f"Block {number} is infinite in row {row}; give finite numbers, or NaN for unknown.")
    if np.isnan(array).any(axis=1).all():
        raise InputError(f"Block {number} knows no word at all: every row has a missing number.")
    return array
