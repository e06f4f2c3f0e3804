"""Injected bugs: a module of the sampler with one piece of its source replaced, and the move that uses it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path

MOVES = "superwords.sampler.moves"


Bug = tuple[str, str]  # what stands in a source, and what instead


def mutant(module: str, bugs: list[Bug], folder: Path, uses: dict[str, str]):
    """`module` with bugs, each of which stands in one place; `uses` redirects its imports to other mutants."""
    original = importlib.import_module(module)
    source = Path(original.__file__).read_text()
    for old, new in bugs:
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {module}"
        source = source.replace(old, new)
    for name, instead in uses.items():
        source = source.replace(f"from {name} import", f"from {instead} import")
    name = f"mutant_{abs(hash((module, source, str(folder)))):x}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def mutant_move(module: str, bugs: dict[str, list[Bug]], folder: Path):
    """`module`, a move's, with bugs in itself or in modules it needs, directly or through others."""
    made = {}

    def rebuilt(name: str):
        if name not in made:
            imports = re.findall(
                r"^from (superwords\.sampler\.\S+) import", Path(_file(name)).read_text(), re.M
            )
            uses = {part: rebuilt(part).__name__ for part in imports}
            changed = {part: instead for part, instead in uses.items() if part != instead}
            if changed or name in bugs:
                made[name] = mutant(name, bugs.get(name, []), folder, changed)
            else:
                made[name] = importlib.import_module(name)
        return made[name]

    return rebuilt(module)


def _file(module: str) -> str:
    return importlib.import_module(module).__file__


def _place(where: str) -> str:
    return f"superwords.sampler.{where}" if where == "instance" else f"{MOVES}.{where}"


def mutant_concepts(folder: Path, **bugs: list[Bug]):
    """The c step with bugs in modules of moves/, or in instance.py."""
    places = {_place(where): found for where, found in bugs.items()}
    return mutant_move(f"{MOVES}.concepts", places, folder).move_concepts


def mutant_part(module: str, move: str, old: str, new: str, folder: Path):
    """A move of moves/`module`.py, with a bug there."""
    name = f"{MOVES}.{module}"
    return getattr(mutant_move(name, {name: [(old, new)]}, folder), move)


def mutant_word_move(old: str, new: str, folder: Path, where: str = "word_move"):
    """The word move with a bug."""
    return mutant_move(f"{MOVES}.word_move", {_place(where): [(old, new)]}, folder).move_word_tokens


def mutant_split_merge(old: str, new: str, folder: Path, where: str = "attempt"):
    """Split and merge with a bug in moves/split_merge/`where`.py; the first look is at everything."""
    package = f"{MOVES}.split_merge"
    made = mutant_move(f"{package}.attempt", {f"{package}.{where}": [(old, new)]}, folder)
    made._HOPEFUL = (0.0, 0.0)
    return made.move_split_merge


def rewrite(monkeypatch, module, function: str, old: str, new: str) -> None:
    """A function of a module, in Python and not a kernel, with one piece of its source replaced."""
    source, made = inspect.getsource(getattr(module, function)), {}
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {function}"
    exec(source.replace(old, new), vars(module), made)
    monkeypatch.setattr(module, function, made[function])
