"""Concepts split on request, and words pinned to a concept or banned from it: the chains then sample on from there.

A conditioned concept is a distinguished one that always exists: in every document that holds it its pinned words are on
and its banned words off. All else is sampled as before, and proposals that would break the condition are rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.curation import decisions
from superwords.analysis.tables import concept_index
from superwords.analysis.words import word_index
from superwords.errors import InputError
from superwords.posterior.alignment import find_partners, usage_of
from superwords.sampler.moves.split_merge.attempt import split_concept
from superwords.sampler.records import Draw
from superwords.sampler.state import State, sizes_of

if TYPE_CHECKING:
    from superwords.fitting.fitted_model import FittedModel
    from superwords.sampler.chain import Chain

Words = Mapping[int, str | Sequence[str]]
ATTEMPTS = 60  # at a division, of which the best is taken


def split(model: Any, concept: int, n_sweeps: int | None = None) -> pd.DataFrame:
    """Split a concept in two, by the best of many divisions, and sample on from there (docs/curate.md).

    Earlier draws are dropped, and half of the new sweeps are burn-in. Where the data are for one concept, the chains
    merge the two parts again.

    Parameters
    ----------
    concept : int
        Its number.
    n_sweeps : int, optional
        Sweeps to sample on; as many as the fit had if not given.

    Returns
    -------
    DataFrame
        A row per chain: `log_ratio` of two concepts to one before sampling on, whether the split `stays`, the first
        words of both parts (`first`, `second`), and the `problem` where the chain was not split.

    Examples
    --------
    >>> model.split(1, n_sweeps=10)["chain"].tolist()
    [0, 1]
    """
    with model._changing_states(n_sweeps):
        j = concept_index(model.result_, concept)
        _check_whole(model, concept, "split it")
        listed = model.sampled_.consensus.description
        found = [_split(chain, listed, j) for chain in model.chains_]
        if all(parts is None for _, parts, _ in found):
            raise InputError(f"Concept {concept} cannot be split: in every chain, {found[0][2]}.")
    vocabulary, rows = np.array(model.corpus_.vocabulary, dtype=object), []
    for c, (chain, (log_ratio, parts, problem)) in enumerate(zip(model.chains_, found)):
        stays, words = False, [list[str](), list[str]()]
        if parts is not None:
            stays = bool((find_partners(parts, chain_descriptions(chain)).of >= 0).all())
            words = [vocabulary[[i for i in np.argsort(-row)[:5] if row[i] > 0]].tolist() for row in parts.toarray()]
        rows.append([c, log_ratio, stays, *words, problem])
    return pd.DataFrame(rows, columns=["chain", "log_ratio", "stays", "first", "second", "problem"])


def _split(chain: Chain, reference: sparse.csc_array, j: int) -> tuple[float, sparse.csc_array | None, str]:
    """Return the log ratio of two concepts to one, (2, V) descriptions of the parts, and what prevented a split."""
    if chain.tokens is None:
        return np.nan, None, "nothing has been sampled yet"
    partner = int(find_partners(reference, chain_descriptions(chain)).of[j])
    if partner < 0:
        return np.nan, None, "the last state does not have the concept"
    if partner < len(chain.model.fixed):
        return np.nan, None, "its words are pinned or banned"
    found = split_concept(chain.state, chain.tokens, chain.model, partner, chain.stream, chain.sweep, ATTEMPTS)
    if found is None:
        return np.nan, None, "no division of its documents and words was found"
    chain.state, chain.tokens, log_ratio = found
    return log_ratio, sparse.csc_array(chain_descriptions(chain).tocsr()[[partner, -1]]), ""


def chain_descriptions(chain: Chain) -> sparse.csc_array:
    """Return (J, V) the descriptions of the concepts in a chain's present state."""
    assert chain.tokens is not None
    return usage_of(Draw(chain.sweep, chain.state, chain.tokens)).description


def condition(
    model: Any, pin: Words | None = None, ban: Words | None = None, n_sweeps: int | None = None
) -> pd.DataFrame:
    """Pin words to concepts or ban words from them, and sample on from the conditioned model (docs/curate.md).

    In every document that uses a concept, its pinned words are on and its banned words off; such a concept is never
    split, merged or removed. Earlier draws are dropped, and half of the new sweeps are burn-in. The conditions are
    saved with the model, and each call replaces those of the call before.

    Parameters
    ----------
    pin, ban : dict, optional
        Words by concept, such as {3: ["coal", "gas"]}; without either, earlier conditions are lifted.
    n_sweeps : int, optional
        Sweeps to sample on; as many as the fit had if not given.

    Returns
    -------
    DataFrame
        A row per conditioned concept: its number before (`concept`) and after sampling on (`now`; missing if it is
        not listed), and its pinned and banned words.

    Examples
    --------
    >>> word = model.top_words(1)[0]
    >>> model.condition(pin={1: word}, n_sweeps=10)["pinned"][0] == [word]
    True
    """
    with model._changing_states(n_sweeps):
        fixed = _fixed_words(model, pin or {}, ban or {})
        _set_at_conditioned(model, fixed)
    vocabulary = np.array(model.corpus_.vocabulary, dtype=object)
    rows = [
        [concept, number or pd.NA, *(vocabulary[row == sign].tolist() for sign in (1, -1))]
        for (concept, row), number in zip(fixed.items(), numbers_now(model))
    ]
    return pd.DataFrame(rows, columns=["concept", "now", "pinned", "banned"]).astype({"now": "Int64"})


def _set_at_conditioned(model: FittedModel, fixed: Mapping[int, np.ndarray]) -> None:
    """Set every chain at a state that keeps the conditions, which replace all earlier ones."""
    listed, partners = model.sampled_.consensus.description, []
    for chain in model.chains_:
        if chain.tokens is None:
            raise InputError("The chains have not sampled since they were conditioned; advance them first.")
        of = find_partners(listed, chain_descriptions(chain)).of
        partners.append([int(of[one - 1]) for one in fixed])
    known = [c for c, found in enumerate(partners) if min(found, default=0) >= 0]
    if not known:
        numbers = ", ".join(map(str, fixed))
        raise InputError(f"No chain has concepts {numbers} in its last state; condition on one at a time.")
    rows = np.array(list(fixed.values()), np.int8).reshape(len(fixed), model.corpus_.n_words)
    states = {c: _conditioned(model.chains_[c], partners[c], rows) for c in known}
    for c, chain in enumerate(model.chains_):
        # A chain without the concepts starts from the state of one that has them.
        chain.state = states[c if c in states else known[c % len(known)]]
        chain.model, chain.tokens = chain.model._replace(fixed=rows), None


def numbers_now(model: FittedModel) -> list[int]:
    """Return the number that each conditioned concept has in the list of concepts, 0 where it is not listed."""
    n_fixed, listed = len(model.chains_[0].model.fixed), model.sampled_.consensus.description
    if not n_fixed:
        return []
    partners = [find_partners(listed, chain_descriptions(chain)).of for chain in model.chains_]
    found = [[int(np.flatnonzero(of == k)[0]) + 1 for of in partners if (of == k).any()] for k in range(n_fixed)]
    return [max(set(now), key=now.count) if now else 0 for now in found]


def _check_whole(model: FittedModel, concept: int, change: str) -> None:
    if concept in decisions(model.choices_).merged.values():
        raise InputError(f"Concept {concept} is merged from several; restore it before you {change}.")


def _fixed_words(model: FittedModel, pin: Words, ban: Words) -> dict[int, np.ndarray]:
    """Return, for each concept, 1 at its pinned words and −1 at its banned ones."""
    fixed: dict[int, np.ndarray] = {}
    for option, given, sign in (("pin", pin, 1), ("ban", ban, -1)):
        if not isinstance(given, Mapping):
            raise InputError(f'{option}={given!r} is not a mapping; give {{concept: [words]}}, as {{3: ["coal"]}}.')
        for concept, words in given.items():
            concept_index(model.result_, concept)
            _check_whole(model, concept, "condition on it")
            if not isinstance(words, Iterable):
                raise InputError(f"{option}: {words!r} is not a list of words; give those of concept {concept}.")
            row = fixed.setdefault(int(concept), np.zeros(model.corpus_.n_words, np.int8))
            for word in [words] if isinstance(words, str) else words:
                i = word_index(model.result_, word)
                if row[i] == -sign:
                    raise InputError(f"{word!r} is both pinned to concept {concept} and banned from it; choose one.")
                row[i] = sign
    return fixed


def _conditioned(chain: Chain, concepts: list[int], fixed: np.ndarray) -> State:
    """Return the chain's state with these concepts as its first ones, their words as they are fixed.

    A word of a document that no concept explains any more is turned on in the document's heaviest concept that may have
    it, or in another one that has the word, which the document then joins.
    """
    state, data, m = chain.state, chain.model.data, sizes_of(chain.state).m
    numbers = np.argsort([*concepts, *(j for j in range(len(m)) if j not in set(concepts))])
    all_words, ends = state.word.tolist(), state.pair_ptr.tolist()
    sizes, pairs = [], []
    for d, (first, last) in enumerate(zip(state.doc_ptr[:-1], state.doc_ptr[1:])):
        held = {
            int(numbers[state.concept[p]]): (float(state.weight[p]), set(all_words[ends[p] : ends[p + 1]]))
            for p in range(first, last)
        }
        for k in set(held) & set(range(len(fixed))):
            held[k][1].update(np.flatnonzero(fixed[k] > 0).tolist())
            held[k][1].difference_update(np.flatnonzero(fixed[k] < 0).tolist())
        for i in data.word[data.doc_ptr[d] : data.doc_ptr[d + 1]].tolist():
            if any(i in words for _, words in held.values()):
                continue
            may = [k for k in held if k >= len(fixed) or fixed[k, i] == 0]
            others = (j for j in np.argsort(-m[:, i], kind="stable") if m[j, i] > 0 and numbers[j] >= len(fixed))
            # A new concept, where no other has the word.
            k = max(may, key=lambda k: held[k][0]) if may else next((int(numbers[j]) for j in others), len(m))
            held.setdefault(k, (chain.model.prior.alpha_pi, set()))[1].add(i)
        sizes.append(len(held))
        pairs += [(k, weight, sorted(words)) for k, (weight, words) in held.items()]
    return State(
        np.cumsum([0, *sizes], dtype=np.int64),
        np.array([k for k, _, _ in pairs], np.int32),
        np.array([weight for _, weight, _ in pairs], float),
        np.cumsum([0, *(len(words) for _, _, words in pairs)], dtype=np.int64),
        np.array([i for _, _, words in pairs for i in words], np.int32),
        state.theta.copy(),
    )
