"""Injected bugs: a module of the sampler with one piece of its source replaced, and the move that uses it."""

from __future__ import annotations

import importlib
import importlib.util
import re
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


def mutant_move(module: str, where: str, old: str, new: str, folder: Path):
    """`module`, a move's, with a bug in itself or in the module `where` that it needs, directly or through others."""
    made = {where: mutant(where, old, new, folder)}

    def rebuilt(name: str):
        if name not in made:
            imports = re.findall(
                r"^from (superwords\.sampler\.\S+) import", Path(_file(name)).read_text(), re.M
            )
            uses = {part: rebuilt(part).__name__ for part in imports}
            changed = {part: instead for part, instead in uses.items() if part != instead}
            made[name] = mutant(name, "", "", folder, changed) if changed else importlib.import_module(name)
        return made[name]

    return rebuilt(module)


def _file(module: str) -> str:
    return importlib.import_module(module).__file__


def mutant_concepts(old: str, new: str, folder: Path, where: str = "births"):
    """The c step with a bug in moves/`where`.py, or in instance.py."""
    package = "superwords.sampler" if where == "instance" else MOVES
    return mutant_move(f"{MOVES}.concepts", f"{package}.{where}", old, new, folder).move_concepts


def mutant_words(old: str, new: str, folder: Path):
    """The f step with a bug."""
    module = f"{MOVES}.words"
    return mutant_move(module, module, old, new, folder).move_words


def mutant_word_move(old: str, new: str, folder: Path):
    """The word move with a bug."""
    module = f"{MOVES}.word_move"
    return mutant_move(module, module, old, new, folder).move_word_tokens


def mutant_split_merge(old: str, new: str, folder: Path, where: str = "attempt"):
    """Split and merge with a bug in moves/split_merge/`where`.py; the first look is at everything."""
    package = f"{MOVES}.split_merge"
    made = mutant_move(f"{package}.attempt", f"{package}.{where}", old, new, folder)
    made._HOPEFUL = (0.0, 0.0)
    return made.move_split_merge
