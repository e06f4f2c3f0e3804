"""Concepts split on request, and words pinned to a concept or banned from it: the chains then sample on from there.

A conditioned concept is a distinguished one that always exists: in every document that holds it its pinned words are on
and its banned words off. All else is sampled as before, and proposals that would break the condition are rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.curation import decisions
from superwords.analysis.tables import concept_index
from superwords.errors import InputError
from superwords.posterior.alignment import described, find_partners, usage_of
from superwords.posterior.draws import Kept
from superwords.sampler.moves.split_merge.attempt import split_concept
from superwords.sampler.state import State, sizes_of

if TYPE_CHECKING:
    from superwords.fitting.fitted_model import FittedModel
    from superwords.sampler.chain import Chain

Words = Mapping[int, str | Iterable[str]]
ATTEMPTS = 60  # at a division, of which the best is taken
_Pairs = list[dict[int, tuple[float, set[int]]]]  # of each document, by concept: its weight and words


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
    if partner < len(chain.model.fixed):
        missing = "the last state does not have the concept"
        return Halves(c, float("nan"), None, missing if partner < 0 else "its words are pinned or banned")
    at = chain.stream, chain.sweep
    found = split_concept(chain.state, chain.tokens, chain.model, partner, *at, ATTEMPTS)
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

    def first_words(half: Halves, k: int) -> list[str]:
        if half.words is None:
            return []
        row = half.words.toarray()[k]
        return vocabulary[[i for i in np.argsort(-row)[:5] if row[i] > 0]].tolist()

    return pd.DataFrame(
        {
            "chain": [half.chain for half in halves],
            "log_ratio": [half.log_ratio for half in halves],
            "stays": stays,
            "first": [first_words(half, 0) for half in halves],
            "second": [first_words(half, 1) for half in halves],
            "problem": [half.problem for half in halves],
        }
    )


def condition_chains(model: FittedModel, pin: Words | None, ban: Words | None) -> list[int]:
    """Set every chain at a state that keeps the conditions, which replace all earlier ones; return the concepts."""
    fixed = _fixed_words(model, pin or {}, ban or {})
    concepts = list(fixed)
    partners = [_partners(model, chain, concepts) for chain in model.chains_]
    known = [c for c, found in enumerate(partners) if min(found, default=0) >= 0]
    if not known:
        raise InputError(
            f"No chain has concepts {', '.join(map(str, concepts))} in its last state; condition on one at a time."
        )
    rows = np.zeros((len(concepts), model.corpus_.n_words), np.int8)
    for k, one in enumerate(concepts):
        rows[k] = fixed[one]
    states = {c: _conditioned(model.chains_[c], partners[c], rows) for c in known}
    for c, chain in enumerate(model.chains_):
        # A chain without the concepts starts from the state of one that has them.
        chain.state = states[c if c in states else known[c % len(known)]]
        chain.model, chain.tokens = chain.model._replace(fixed=rows), None
    return concepts


def condition_table(model: FittedModel, concepts: list[int]) -> pd.DataFrame:
    """Return a row per conditioned concept: its number before and after sampling on, pinned and banned words."""
    vocabulary = np.array(model.corpus_.vocabulary, dtype=object)
    rows = []
    for concept, number, fixed in zip(concepts, numbers_now(model), model.chains_[0].model.fixed):
        words = [vocabulary[fixed == sign].tolist() for sign in (1, -1)]
        rows.append([concept, number or pd.NA, *words])
    return pd.DataFrame(rows, columns=pd.Index(["concept", "now", "pinned", "banned"])).astype({"now": "Int64"})


def numbers_now(model: FittedModel) -> list[int]:
    """Return the number that each conditioned concept has in the list of concepts, 0 where it is not listed."""
    n_fixed, listed = len(model.chains_[0].model.fixed), model.sampled_.consensus.description
    if not n_fixed:
        return []
    partners = [find_partners(listed, chain_descriptions(chain)).of for chain in model.chains_]
    found = [[int(np.flatnonzero(of == k)[0]) + 1 for of in partners if (of == k).any()] for k in range(n_fixed)]
    return [max(set(now), key=now.count) if now else 0 for now in found]


def _fixed_words(model: FittedModel, pin: Words, ban: Words) -> dict[int, np.ndarray]:
    """Return, for each concept, 1 at its pinned words and −1 at its banned ones."""
    at = {word: i for i, word in enumerate(model.corpus_.vocabulary)}
    fixed: dict[int, np.ndarray] = {}
    for option, given, sign in (("pin", pin, 1), ("ban", ban, -1)):
        if not isinstance(given, Mapping):
            raise InputError(f'{option}={given!r} is not a mapping; give {{concept: [words]}}, as {{3: ["coal"]}}.')
        for concept, words in given.items():
            concept_index(model.result_, concept)
            if concept in decisions(model.choices_).merged.values():
                raise InputError(f"Concept {concept} is merged from several; restore it before you condition on it.")
            if not isinstance(words, Iterable):
                raise InputError(f"{option}: {words!r} is not a list of words; give those of concept {concept}.")
            row = fixed.setdefault(int(concept), np.zeros(len(at), np.int8))
            for word in [words] if isinstance(words, str) else words:
                if word not in at:
                    raise InputError(f"{option}: {word!r} is not in the vocabulary, so no concept can have it.")
                if row[at[word]] == -sign:
                    raise InputError(f"{word!r} is both pinned to concept {concept} and banned from it; choose one.")
                row[at[word]] = sign
    return fixed


def _partners(model: FittedModel, chain: Chain, concepts: list[int]) -> list[int]:
    """Return the number that each concept has in a chain's state, −1 where it is missing."""
    if chain.tokens is None:
        raise InputError("The chains have not sampled since they were conditioned; advance them first.")
    of = find_partners(model.sampled_.consensus.description, chain_descriptions(chain)).of
    return [int(of[one - 1]) for one in concepts]


def _conditioned(chain: Chain, concepts: list[int], fixed: np.ndarray) -> State:
    """Return the chain's state with these concepts as its first ones, their words as they are fixed."""
    state, data = chain.state, chain.model.data
    m = sizes_of(state).m
    numbers = np.argsort([*concepts, *(j for j in range(len(m)) if j not in set(concepts))])
    documents = _unpacked(state, numbers)
    for d, held in enumerate(documents):
        occurring = data.word[data.doc_ptr[d] : data.doc_ptr[d + 1]]
        for k in set(held) & set(range(len(concepts))):
            words = held[k][1]
            words |= set(np.flatnonzero(fixed[k] > 0).tolist())
            words -= set(np.flatnonzero(fixed[k] < 0).tolist())
        for i in occurring.tolist():
            if not any(i in words for _, words in held.values()):
                _explain(held, i, m, numbers, fixed, chain.model.prior.alpha_pi)
    return _packed(documents, state.theta)


def _explain(
    held: dict[int, tuple[float, set[int]]],
    i: int,
    m: np.ndarray,
    numbers: np.ndarray,
    fixed: np.ndarray,
    weight: float,
) -> None:
    """Turn a word on in one of the document's concepts that may have it, or in one that it then joins."""
    may = [k for k in held if k >= len(fixed) or fixed[k, i] == 0]
    if may:
        held[max(may, key=lambda k: held[k][0])][1].add(i)
        return
    others = [j for j in np.argsort(-m[:, i], kind="stable") if m[j, i] > 0 and numbers[j] >= len(fixed)]
    number = int(numbers[others[0]]) if others else len(m)  # a new concept, where no other has the word
    held.setdefault(number, (weight, set()))[1].add(i)


def _unpacked(state: State, numbers: np.ndarray) -> _Pairs:
    words, ends = state.word.tolist(), state.pair_ptr.tolist()
    documents: _Pairs = []
    for first, last in zip(state.doc_ptr[:-1].tolist(), state.doc_ptr[1:].tolist()):
        pairs = range(first, last)
        documents.append(
            {int(numbers[state.concept[p]]): (float(state.weight[p]), set(words[ends[p] : ends[p + 1]])) for p in pairs}
        )
    return documents


def _packed(documents: _Pairs, theta: np.ndarray) -> State:
    pairs = [(concept, *pair) for held in documents for concept, pair in held.items()]
    sizes = [len(words) for _, _, words in pairs]
    return State(
        np.concatenate([[0], np.cumsum([len(held) for held in documents])]).astype(np.int64),
        np.array([concept for concept, _, _ in pairs], np.int32),
        np.array([weight for _, weight, _ in pairs], float),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([i for _, _, words in pairs for i in sorted(words)], np.int32),
        theta.copy(),
    )
