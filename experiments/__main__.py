"""Run an experiment or a benchmark: `python -m experiments NAME [--data DIR] [--quick]`; without NAME, list them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

from superwords.errors import InputError

EXPERIMENTS = (
    "evidence",
    "synthetic",
    "recipes",
    "lee",
    "congress",
    "search",
    "discovery",
    "seeds",
    "effects",
    "coverage",
    "reliability",
    "judge",
    "features",
    "salient",
    "mixing",
    "arrival",
    "settings",
    "vocabularies",
    "shards",
    "bench",
)


def main(arguments: Sequence[str]) -> None:
    """Run one experiment, or list all."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        for name in EXPERIMENTS:
            print(f"  {name:<14}{_title(name)}")
        return
    name, *options = arguments
    if name not in EXPERIMENTS:
        raise InputError(f"There is no experiment {name!r}; choose one of {', '.join(EXPERIMENTS)}.")
    from experiments.harness import run_experiment  # after the list, which needs none of its imports

    run_experiment(name, options)


def _title(name: str) -> str:
    """Return the first line of a module's docstring without importing it."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"Error: {error}")
