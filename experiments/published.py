"""The paper's steps as published, for comparison: mutants of our moves (docs/algebra.md section 2).

Each is a set of replacements in the sampler's source. Together with `PRIOR_PROPOSALS` they are the published sampler.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from experiments.mutation import MOVES, SAMPLER, Bug, mutant_move
from superwords.sampler import chain
from superwords.sampler.jit import kernel
from superwords.sampler.state import State, Tokens

_BIRTHS, _ASSIGNMENTS, _DOCUMENTS = f"{MOVES}.birth_death", f"{MOVES}.assignments", f"{MOVES}.documents"
_POISSON = """    if unique == 0:
        return 1.0
    term, cdf = math.exp(-mu), 0.0
    for n in range(unique + 1):
        cdf += term
        term *= mu / (n + 1)
    return max(1e-300, 1.0 - cdf)"""
STEPS: dict[str, dict[str, list[Bug]]] = {
    "pi": {_ASSIGNMENTS: [("scale = gamma(stream, (last - first) * alpha_pi) / total", "scale = 1.0")]},
    "birth": {_BIRTHS: [("math.log(mu / (unique + 1))", "math.log(mu / (unique + 1) / (unique + 1))")]},
    "eta": {
        _BIRTHS: [
            ("def birth_probability(unique):", "def birth_probability(unique, mu):"),
            ("    return 1.0 if unique == 0 else 0.5", _POISSON),
            ("< birth_probability(unique):", "< birth_probability(unique, mu):"),
            ("birth_probability(unique + 1)", "birth_probability(unique + 1, mu)"),
            ("- math.log(birth_probability(unique))", "- math.log(birth_probability(unique, mu))"),
        ]
    },
    "join": {
        f"{SAMPLER}.leave_one_out": [
            ("1.0 / (holders + prior.b2)", "1.0 / np.maximum(holders + prior.b2 - 1.0, 1e-300)"),
            ('wider["inverse"][before:] = 1.0 / concepts.b2', 'wider["inverse"][before:] = 1e300'),
            ("1.0 / (holders + concepts.b2)", "1.0 / (holders + concepts.b2 - 1.0)"),
        ]
    },
    "order": {
        _DOCUMENTS: [
            (
                "    relabel(state, stream, sweep, AFTER_CONCEPTS, len(model.fixed))\n"
                "    return now._replace(state=state, tokens=None), info",
                "    from experiments.published import carry_tokens\n\n"
                "    tokens = carry_tokens(before, now.tokens, state)\n"
                "    relabel(state, stream, sweep, AFTER_CONCEPTS, len(model.fixed))\n"
                "    return now._replace(state=state, tokens=tokens), info",
            )
        ],
        _ASSIGNMENTS: [
            # a word may be left that nothing explains
            ("    if first + 1 == last:", "    if first == last:\n        return\n    if first + 1 == last:")
        ],
    },
}
_ORDER = ("concepts", "words", "tokens", "theta", "concentrations")  # f by the z of the last sweep


@contextmanager
def published_steps(names: Iterable[str] = tuple(STEPS)) -> Iterator[None]:
    """Run the named steps as published, in all chains that sweep meanwhile."""
    bugs: dict[str, list[Bug]] = {}
    for name in names:
        for module, found in STEPS[name].items():
            bugs.setdefault(module, []).extend(found)
    with tempfile.TemporaryDirectory() as folder:
        moves = dict(chain.MOVES)
        tokens = {module: found for module, found in bugs.items() if module == _ASSIGNMENTS}
        concepts = {module: found for module, found in bugs.items() if module != _ASSIGNMENTS}
        if tokens:
            moves["tokens"] = mutant_move(_ASSIGNMENTS, tokens, Path(folder)).move_tokens
        if concepts:
            moves["concepts"] = mutant_move(_DOCUMENTS, concepts, Path(folder)).move_concepts
        if "order" in names:
            moves = {name: moves[name] for name in _ORDER}
        with patch.dict(chain.MOVES, moves, clear=True):
            yield


def carry_tokens(old: State, tokens: Tokens | None, new: State) -> Tokens:
    """Return the last sweep's z for the pairs that the c step left in place."""
    none = Tokens(np.zeros(len(old.word), np.int32), np.zeros(len(old.concept), np.int64))
    carried: Tokens = _carry_tokens(old, tokens or none, new)
    return carried


@kernel
def _carry_tokens(old: State, tokens: Tokens, new: State) -> Tokens:
    carried = Tokens(np.zeros(len(new.word), np.int32), np.zeros(len(new.concept), np.int64))
    for d in range(len(old.doc_ptr) - 1):
        for p in range(new.doc_ptr[d], new.doc_ptr[d + 1]):
            for before in range(old.doc_ptr[d], old.doc_ptr[d + 1]):
                if old.concept[before] != new.concept[p]:
                    continue
                e = old.pair_ptr[before]
                for at in range(new.pair_ptr[p], new.pair_ptr[p + 1]):
                    while e < old.pair_ptr[before + 1] and old.word[e] < new.word[at]:
                        e += 1
                    if e < old.pair_ptr[before + 1] and old.word[e] == new.word[at]:
                        carried.entry[at] = tokens.entry[e]
                        carried.pair[p] += tokens.entry[e]
    return carried
