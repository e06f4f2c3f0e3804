"""What is said at the end of a fit, in plain words, or in JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superwords.cli.common import percent, print_line, print_table
from superwords.cli.verdict_lines import FOUND_BY, Standing
from superwords.corpus.corpus import n_sources, row_name
from superwords.tabular import records

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

_TOP_CONCEPTS = 12
_MOST_GROUPS = 4
_WORDS_SHOWN = 8
OVER_DRAWS = "Counts and shares are means over the draws that find the concept."


def verdict_of(model: ConceptModel) -> str:
    """Whether the chains agree, with the option's name where Python's parameter is named."""
    return model.verdict().replace("fit with n_chains=2 or more", "fit with --chains 2 or more")


def print_concepts(
    model: ConceptModel, groups: list[str], most: int | None = _TOP_CONCEPTS, sort: str = "rows"
) -> None:
    """The first concepts, with their prevalence in each group of a column where there are few groups."""
    table = model.concepts(_WORDS_SHOWN)
    standing = Standing(model, table)
    table = table.sort_values(["leftover", sort], ascending=[True, False], kind="stable")
    shown = table if most is None else table.head(most)
    rows = row_name(model.corpus_)
    figures = {rows: _counted} | ({} if model.corpus_.parent is None else {"documents": _in_documents})
    figures |= {"coherence": _coherence} | ({} if sort in ("rows", "coherence") else {sort: _share(sort)})
    by_group = _by_group(model, groups)
    columns = {"": "right", "concept": "name", **dict.fromkeys((*figures, FOUND_BY, *by_group), "right")}
    lines = [
        (
            *(standing.number(row["concept"]), row["name"], *(told(row) for told in figures.values())),
            *(standing.found_by(row["concept"]), *(shares[row["concept"]] for shares in by_group.values())),
            "; ".join(
                part
                for part in (other_words(row["name"], row["top_words"]), standing.much_like(row["concept"]))
                if part
            ),
        )
        for row in shown.to_dict("records")
    ]
    print_table({**columns, "other words": "words"}, lines)
    by = f"the {rows} that hold it" if sort == "rows" else f"its {sort}"
    print_line(
        f"{OVER_DRAWS} Sorted by {by}, leftovers last. In brackets: prevalence, the share of all {rows}. "
        "Coherence: how much its ten first words occur together (1 always, 0 as by chance). "
        "Found by: chains that find it in at least half of their draws."
    )
    standing.print_legend(shown["concept"])
    if len(shown) < len(table):
        print_line(f"… and {len(table) - len(shown)} more.")


def _by_group(model: ConceptModel, groups: list[str]) -> dict[str, dict[int, str]]:
    """For each group of the columns that have few: a concept's prevalence in it."""
    found: dict[str, dict[int, str]] = {}
    for column in groups:
        table = model.by_group(column, 0)
        labels = table["group"].drop_duplicates().tolist()
        if len(labels) <= _MOST_GROUPS:
            for label in labels:
                own = table[table["group"] == label]
                found[f"{label}"] = dict(zip(own["concept"], own["prevalence"].map(percent)))
    return found


def _counted(row: dict[Any, Any]) -> str:
    return f"{whole(row['rows'])} ({percent(row['prevalence'])})"


def _in_documents(row: dict[Any, Any]) -> str:
    return whole(row["documents"])


def _coherence(row: dict[Any, Any]) -> str:
    return figure(row["coherence"])


def _share(name: str) -> Callable[[dict[Any, Any]], str]:
    return lambda row: percent(row[name])


def whole(mean: float) -> str:
    """A mean number of rows, as people count them."""
    return f"{mean:,.0f}" if np.isfinite(mean) else "–"


def figure(value: float) -> str:
    """A coherence."""
    return f"{value:.2f}".replace("-", "−") if np.isfinite(value) else "–"


def rows_of(model: ConceptModel) -> str:
    """How many documents there are, or how many passages of how many documents."""
    corpus = model.corpus_
    said = f"{corpus.n_documents:,} {row_name(corpus)}"
    return said if corpus.parent is None else f"{said} of {n_sources(corpus):,} documents"


def other_words(name: str, words: list[str]) -> str:
    """A concept's words without those that its name is made of."""
    named = name.split(", ")
    return ", ".join(word for word in words if word not in named) or name


def print_outcome(model: ConceptModel, saved: Path, groups: list[str], seconds: float) -> None:
    n_concepts = model.n_concepts_
    print_line(f"{n_concepts} concept{'' if n_concepts == 1 else 's'} in {rows_of(model)}.")
    if n_concepts:
        print_concepts(model, groups)
    print_line(verdict_of(model))
    print_line(f"Saved in {saved} ({saved.stat().st_size / 1e6:.1f} MB, {seconds:.0f} s in all).")
    print_line()
    print_line("Next:")
    for command, what in next_steps(saved, groups):
        print_line(f"  {command:<50} {what}")


def next_steps(saved: Path, groups: list[str]) -> list[tuple[str, str]]:
    steps = [
        (f"superwords show {saved}", "all concepts"),
        (f"superwords show {saved} --concept 1", "one concept: its words and documents"),
    ]
    if groups:
        steps.append((f"superwords show {saved} --groups {groups[0]}", "who holds what"))
    return [*steps, (f"superwords export {saved} --format csv -o tables", "tables for a spreadsheet")]


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
        "n_concepts": model.n_concepts_,
        "verdict": verdict_of(model),
        "convergence": records(model.convergence()),
        "concepts": records(model.concepts()),
    }
