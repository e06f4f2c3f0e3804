"""Moves with injected bugs, for the joint-distribution tests."""

from __future__ import annotations

import inspect
from pathlib import Path

from experiments.mutation import MOVES, SAMPLER, Bug, mutant_move
from superwords.sampler.model import Steps

# Moves of a document that a test switches off need not be compiled.
_UNUSED = {
    "flips": ("    if steps.flips:", "    if False:"),
    "swaps": ("    if steps.swaps > 0:", "    if False:"),
    "divisions": ("    if steps.divisions > 0:", "    if False:"),
    "births": ("        birth_or_death(doc, concepts, model, regression, stream)\n", ""),
}


def _place(where: str) -> str:
    return f"{SAMPLER}.{where}" if where in ("feature_draw", "leave_one_out") else f"{MOVES}.{where}"


def mutant_concepts(folder: Path, steps: Steps, **bugs: list[Bug]):
    """The c step with bugs in modules of moves/, or in feature_draw.py, without the moves that `steps` never makes."""
    places = {_place(where): found for where, found in bugs.items()}
    unused = [change for move, change in _UNUSED.items() if not getattr(steps, move)]
    places[f"{MOVES}.documents"] = unused
    return mutant_move(f"{MOVES}.documents", places, folder).move_concepts


def mutant_part(module: str, move: str, old: str, new: str, folder: Path):
    """A move of moves/`module`.py, with a bug there."""
    name = f"{MOVES}.{module}"
    return getattr(mutant_move(name, {name: [(old, new)]}, folder), move)


def mutant_word_move(old: str, new: str, folder: Path, where: str = "reassign_word"):
    """The word move with a bug."""
    return mutant_move(f"{MOVES}.reassign_word", {_place(where): [(old, new)]}, folder).move_word_tokens


def mutant_split_merge(old: str, new: str, folder: Path, where: str = "attempt"):
    """Split and merge with a bug in moves/split_merge/`where`.py or in assignments.py; every attempt is screened."""
    package = f"{MOVES}.split_merge"
    place = _place(where) if where == "assignments" else f"{package}.{where}"
    made = mutant_move(f"{package}.attempt", {place: [(old, new)]}, folder)
    made._HOPEFUL = (0.0, 0.0)
    return made.move_split_merge


def rewrite(monkeypatch, module, function: str, old: str, new: str) -> None:
    """A function of a module, in Python and not a kernel, with one piece of its source replaced."""
    source, made = inspect.getsource(getattr(module, function)), {}
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {function}"
    exec(source.replace(old, new), vars(module), made)
    monkeypatch.setattr(module, function, made[function])
