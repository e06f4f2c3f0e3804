"""What is said at the end of a fit, in plain words, or in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from superwords.cli.concept_list import print_concepts, rows_of, verdict_of
from superwords.cli.printing import print_line
from superwords.corpus.corpus import n_sources
from superwords.tabular import records

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

_TOP_CONCEPTS = 12


def print_outcome(model: ConceptModel, saved: Path, groups: list[str], seconds: float) -> None:
    n_concepts = len(model.result_.shown)
    print_line(f"{n_concepts} concept{'' if n_concepts == 1 else 's'} in {rows_of(model)}.")
    if n_concepts:
        print_concepts(model, groups, _TOP_CONCEPTS)
    print_line(verdict_of(model))
    print_line(f"Saved in {saved} ({saved.stat().st_size / 1e6:.1f} MB, {seconds:.0f} s in all).")
    print_line()
    print_line("Next:")
    steps = next_steps(model, saved, groups)
    width = max(len(command) for command, _ in steps)
    for command, what in steps:
        print_line(f"  {command:<{width}}  {what}")


def next_steps(model: ConceptModel, saved: Path, groups: list[str]) -> list[tuple[str, str]]:
    steps = []
    if model.verdict().startswith(("Sample longer", "The chains differ")):
        steps.append((f"superwords fit --more {model.schedule_.n_sweeps} {saved}", "continue sampling"))
    steps += [
        (f"superwords show {saved}", "all concepts"),
        (f"superwords show {saved} --concept 1", "one concept: its words and documents"),
    ]
    if groups:
        steps.append((f"superwords show {saved} --groups {groups[0]}", "who speaks of what"))
    return [
        *steps,
        (f"superwords report {saved} -o report.html", "a page to mail to a colleague"),
        (f"superwords explore {saved}", "look around in the browser"),
    ]


def outcome_as_json(model: ConceptModel, saved: Path, seconds: float, interrupted: bool) -> dict[str, Any]:
    return {
        "model": str(saved),
        "rows": model.corpus_.n_documents,
        "documents": n_sources(model.corpus_),
        "words": model.corpus_.n_words,
        "tokens": model.corpus_.n_tokens,
        "chains": len(model.chains_),
        "sweeps": [chain.sweep for chain in model.chains_],
        "draws": len(model.draws_),
        "seed": model.seed_,
        "seconds": round(seconds, 3),
        "interrupted": interrupted,
        "approximate": model.approximate,
        "n_concepts": model.n_concepts_,
        "verdict": verdict_of(model),
        "convergence": records(model.convergence()),
        "concepts": records(model.concepts()),
    }
