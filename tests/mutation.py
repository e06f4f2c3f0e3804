"""Injected bugs: a module of the sampler with one piece of its source replaced, and the sweep that uses it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

MOVES = "superwords.sampler.moves"


def mutant(module: str, old: str, new: str, folder: Path, uses: dict[str, str] | None = None):
    """`module` with the one occurrence of `old` replaced; `uses` redirects its imports to other mutants."""
    original = importlib.import_module(module)
    source = Path(original.__file__).read_text()
    if old:
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {module}"
        source = source.replace(old, new)
    for name, instead in (uses or {}).items():
        source = source.replace(f"from {name} import", f"from {instead} import")
    name = f"mutant_{abs(hash((module, old, new, str(folder)))):x}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def mutant_membership(old: str, new: str, folder: Path, where: str = "birth"):
    """sweep_membership with a bug in birth.py, text.py or membership.py itself."""
    if where == "membership":
        return mutant(f"{MOVES}.membership", old, new, folder).sweep_membership
    part = mutant(f"{MOVES}.{where}", old, new, folder)
    return mutant(f"{MOVES}.membership", "", "", folder, {f"{MOVES}.{where}": part.__name__}).sweep_membership


def mutant_words(old: str, new: str, folder: Path, where: str = "words"):
    """sweep_words with a bug in words.py or handover.py."""
    if where == "words":
        return mutant(f"{MOVES}.words", old, new, folder).sweep_words
    part = mutant(f"{MOVES}.{where}", old, new, folder)
    return mutant(f"{MOVES}.words", "", "", folder, {f"{MOVES}.{where}": part.__name__}).sweep_words


def mutant_regroup(old: str, new: str, folder: Path, where: str = "regroup"):
    """regroup with a bug in regroup.py, allocation.py or idle.py; the first look is at everything."""
    if where == "regroup":
        made = mutant(f"{MOVES}.regroup", old, new, folder)
    else:
        part = mutant(f"{MOVES}.{where}", old, new, folder)
        made = mutant(f"{MOVES}.regroup", "", "", folder, {f"{MOVES}.{where}": part.__name__})
    made._HOPEFUL = (0.0, 0.0)
    return made.regroup
