"""Modules of the sampler with pieces of their source replaced: the paper's inexact steps, and the bugs of the tests."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

SAMPLER = "superwords.sampler"
MOVES = f"{SAMPLER}.moves"

Bug = tuple[str, str]  # a piece of source that occurs once, and its replacement


def mutant(module: str, bugs: list[Bug], folder: Path, uses: dict[str, str]) -> ModuleType:
    """Return `module` with bugs; `uses` redirects its imports to other mutants."""
    source = _source(module)
    for old, new in bugs:
        assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {module}"
        source = source.replace(old, new)
    for name, instead in uses.items():
        source = source.replace(f"from {name} import", f"from {instead} import")
    name = f"mutant_{abs(hash((module, source, str(folder)))):x}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def mutant_move(module: str, bugs: dict[str, list[Bug]], folder: Path) -> ModuleType:
    """Return `module`, a move's, with bugs in itself or in modules it imports, directly or not."""
    made: dict[str, ModuleType] = {}

    def rebuilt(name: str) -> ModuleType:
        if name not in made:
            imports = re.findall(rf"^from ({SAMPLER}\.\S+) import", _source(name), re.M)
            uses = {part: rebuilt(part).__name__ for part in imports}
            changed = {part: instead for part, instead in uses.items() if part != instead}
            if changed or name in bugs:
                made[name] = mutant(name, bugs.get(name, []), folder, changed)
            else:
                made[name] = importlib.import_module(name)
        return made[name]

    move = rebuilt(module)
    unused = sorted(set(bugs) - set(made))
    assert not unused, f"{module} does not import {unused}: no bug was injected"
    return move


def _source(module: str) -> str:
    return Path(str(importlib.import_module(module).__file__)).read_text()
