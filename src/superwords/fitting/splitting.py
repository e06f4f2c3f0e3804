"""One concept split on request, in every chain that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.curation import decisions
from superwords.analysis.tables import concept_index
from superwords.errors import InputError
from superwords.posterior.alignment import described, find_partners, usage_of
from superwords.posterior.draws import Kept
from superwords.sampler.moves.split_merge.on_request import split_concept

if TYPE_CHECKING:
    from superwords.fitting.fitted_model import FittedModel
    from superwords.sampler.chain import Chain

ATTEMPTS = 60


class Halves(NamedTuple):
    """What became of the concept in one chain."""

    chain: int
    log_ratio: float  # of two concepts to one, for the best division; NaN where there is none
    words: sparse.csc_array | None  # (2, V) descriptions of the two parts
    problem: str = ""


def split_chains(model: FittedModel, concept: int) -> list[Halves]:
    """Split a concept in the present state of every chain that has it; the chains are changed."""
    j = concept_index(model.result_, concept)
    if concept in decisions(model.choices_).merged.values():
        raise InputError(f"Concept {concept} is merged from several; restore it before you split it.")
    listed = model.sampled_.consensus.description
    halves = [_split(chain, c, listed, j) for c, chain in enumerate(model.chains_)]
    if all(half.words is None for half in halves):
        raise InputError(f"Concept {concept} cannot be split: in every chain, {halves[0].problem}.")
    return halves


def _split(chain: Chain, c: int, reference: sparse.csc_array, j: int) -> Halves:
    if chain.tokens is None:
        return Halves(c, float("nan"), None, "nothing has been sampled yet")
    partner = int(find_partners(reference, chain_descriptions(chain)).of[j])
    if 0 <= partner < len(chain.model.fixed):
        return Halves(c, float("nan"), None, "its words are pinned or banned")
    if partner < 0:
        return Halves(c, float("nan"), None, "the last state does not have the concept")
    found = split_concept(
        chain.state, chain.tokens, chain.model, partner, chain.stream, chain.sweep, ATTEMPTS
    )
    if found is None:
        return Halves(c, float("nan"), None, "no division of its documents and words was found")
    chain.state, chain.tokens, log_ratio = found
    return Halves(c, log_ratio, sparse.csc_array(chain_descriptions(chain).tocsr()[[partner, -1]]))


def chain_descriptions(chain: Chain) -> sparse.csc_array:
    """Return (J, V) the descriptions of the concepts in a chain's present state."""
    assert chain.tokens is not None
    usage = usage_of(Kept(chain.sweep, chain.state, chain.tokens, 0.0))
    return described(usage.used, usage.holders)


def split_table(model: FittedModel, halves: list[Halves]) -> pd.DataFrame:
    """Return a row per chain: the evidence for two concepts, and whether both are there after sampling on."""
    stays = [
        half.words is not None
        and bool((find_partners(half.words, chain_descriptions(model.chains_[half.chain])).of >= 0).all())
        for half in halves
    ]
    vocabulary = np.array(model.corpus_.vocabulary, dtype=object)
    words = [_first_words(half.words, vocabulary) for half in halves]
    return pd.DataFrame(
        {
            "chain": [half.chain for half in halves],
            "log_ratio": [half.log_ratio for half in halves],
            "stays": stays,
            "first": [one for one, _ in words],
            "second": [other for _, other in words],
            "problem": [half.problem for half in halves],
        }
    )


def _first_words(words: sparse.csc_array | None, vocabulary: np.ndarray) -> tuple[list[str], list[str]]:
    if words is None:
        return [], []
    rows = words.toarray()
    first, second = (vocabulary[[i for i in np.argsort(-row)[:5] if row[i] > 0]].tolist() for row in rows)
    return first, second
