"""The list of concepts, as `fit` and `show` print it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.text import Text

from superwords.cli.printing import figure, percent, print_line, print_table, whole
from superwords.cli.verdict_lines import FOUND_BY, Standing
from superwords.concepts.tables import of_shown
from superwords.corpus.corpus import Corpus, n_sources, row_name

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

_MOST_GROUPS = 4
_WORDS_SHOWN = 8
OVER_DRAWS = "Counts and shares are means over the draws that find the concept."
NUMBER_TOLD = "A concept's number is a label, the same in every table, not a rank."
COHERENCE_TOLD = "how often its ten first words occur together (1: always; 0: as often as by chance)"
_COHERENCE, _DOCUMENTS = "coherence", "documents"


def verdict_of(model: ConceptModel) -> str:
    """Whether the chains agree, with the option's name where Python's parameter is named."""
    return model.verdict().replace("fit with n_chains=2 or more", "fit with --chains 2 or more")


def rows_of(model: ConceptModel) -> str:
    """How many documents there are, or how many passages of how many documents."""
    corpus = model.corpus_
    said = f"{corpus.n_documents:,} {row_name(corpus)}"
    return said if corpus.parent is None else f"{said} of {n_sources(corpus):,} documents"


def sorted_concepts(table: pd.DataFrame, sort: str) -> pd.DataFrame:
    return table.sort_values(["leftover", sort], ascending=[True, False], kind="stable")


def fitted_groups(corpus: Corpus) -> list[str]:
    """The columns that were given to `fit` as groups."""
    return [name for name in corpus.notes.get("groups", []) if name in corpus.metadata.columns]


def print_concepts(
    model: ConceptModel, groups: list[str], most: int | None = None, sort: str = "rows"
) -> None:
    """The first concepts, with their prevalence in each group of a column where there are few groups."""
    known = model.concepts(_WORDS_SHOWN)
    standing = Standing(model, known)
    table = sorted_concepts(of_shown(model.result_, known), sort)
    shown = table if most is None else table.head(most)
    rows = row_name(model.corpus_)
    by_group = _by_group(model, groups)
    figures = [rows, *([] if model.corpus_.parent is None else [_DOCUMENTS]), _COHERENCE]
    figures += [sort] if sort not in ("rows", _COHERENCE) else []
    columns = {"": "right", "concept": "words", **dict.fromkeys((*figures, FOUND_BY, *by_group), "right")}
    lines = []
    for row in shown.to_dict("records"):
        j = row["concept"]
        told = (_figure(row, name, rows) for name in figures)
        lines.append(
            (
                *(standing.number(j), words_of(row, standing), *told, standing.found_by(j)),
                *(shares[j] for shares in by_group.values()),
            )
        )
    may_go = [name for name in (_COHERENCE, _DOCUMENTS) if name in columns and name != sort]
    left_out = print_table(columns, lines, optional=[*may_go, *reversed(by_group)])
    _print_legend(rows, sort, [name for name in columns if name not in left_out], list(by_group))
    if left_out:
        print_line(f"Left out, because the terminal is narrow: {', '.join(left_out)}.")
    standing.print_legend(shown["concept"])
    if len(shown) < len(table):
        print_line(f"… and {len(table) - len(shown)} more.")


def words_of(row: dict[Any, Any], standing: Standing) -> Text:
    """A concept's name, its other words, and which other it is much like."""
    others = other_words(row["name"], row["top_words"])
    like = standing.much_like(row["concept"])
    return Text.assemble(
        (str(row["name"]), "bold"), f": {others}" if others else "", f" ({like})" if like else ""
    )


def other_words(name: str, words: list[str]) -> str:
    """A concept's words without those that its name is made of."""
    named = name.split(", ")
    return ", ".join(word for word in words if word not in named)


def _figure(row: dict[Any, Any], name: str, rows: str) -> str:
    if name == rows:
        return f"{whole(row['rows'])} ({percent(row['prevalence'])})"
    if name == _DOCUMENTS:
        return whole(row["documents"])
    return figure(row[name]) if name == _COHERENCE else percent(row[name])


def _print_legend(rows: str, sort: str, shown: list[str], by_group: list[str]) -> None:
    """What the columns are, in their order, and what the list is sorted by."""
    told = {
        _DOCUMENTS: f"how many documents these {rows} come from",
        rows: f"how many hold the concept and, in brackets, its prevalence: the share of all {rows}",
        _COHERENCE: COHERENCE_TOLD,
        "strength": f"its mean weight in the {rows} that hold it",
        "stability": "the share of the other chains' draws that find it",
        FOUND_BY: "how many chains find it in at least half of their draws",
    }
    parts = [f"{name}: {told[name]}" for name in shown if name in told]
    of_groups = [name for name in by_group if name in shown]
    if of_groups:
        parts.append(f"{', '.join(of_groups)}: the share of the group's {rows} that hold it")
    by = rows if sort == "rows" else sort
    print_line(f"Sorted by {by}, leftovers last. {NUMBER_TOLD} {_sentence('; '.join(parts))}. {OVER_DRAWS}")


def _by_group(model: ConceptModel, groups: list[str]) -> dict[str, dict[int, str]]:
    """For each group of the columns that have few: a concept's prevalence in it."""
    found: dict[str, dict[int, str]] = {}
    for column in groups:
        table = model.by_group(column, 0)
        labels = table["group"].drop_duplicates().tolist()
        if len(labels) <= _MOST_GROUPS:
            for label in labels:
                own = table[table["group"] == label]
                found[f"{column} {label}"] = dict(zip(own["concept"], own["prevalence"].map(percent)))
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
