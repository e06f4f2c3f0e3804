"""The list of concepts as `fit`, `show` and `demo` print it, with how reliable each is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.text import Text

from superwords.cli.printing import Column, figure, percent, print_line, print_table, share, whole

if TYPE_CHECKING:
    import pandas as pd

    from superwords.posterior.result import Result
    from superwords.text.corpus import Corpus

FOUND_BY = "found by"  # a column: how many of the chains
FOUND_AGAIN = "found again"  # a column: in how many of the pilots
_MARK = "*"
_MOST_GROUPS = 4
_WORDS_SHOWN = 8
OVER_DRAWS = "Counts and shares are means over the draws that find the concept."
_COHERENCE, _DOCUMENTS = "coherence", "documents"


def rows_of(corpus: Corpus) -> str:
    """Return how many documents there are, or how many passages of how many documents."""
    from superwords.text.corpus import n_sources, row_name

    said = f"{corpus.n_documents:,} {row_name(corpus)}"
    return said if corpus.parent is None else f"{said} of {n_sources(corpus):,} documents"


def sorted_concepts(table: pd.DataFrame, sort: str) -> pd.DataFrame:
    return table.sort_values(["leftover", sort], ascending=[True, False], kind="stable")


def fitted_groups(corpus: Corpus) -> list[str]:
    """Return the columns that were given to `fit` as groups."""
    return [name for name in corpus.notes.get("groups", []) if name in corpus.metadata.columns]


def print_concepts(
    result: Result, concepts: pd.DataFrame, groups: list[str], most: int | None = None, sort: str = "rows"
) -> None:
    """Print the first concepts, with their prevalence in each group of a column where there are few groups."""
    from superwords.analysis.tables import CONCEPT_COLUMNS, of_shown
    from superwords.text.corpus import row_name

    standing = Standing(result, concepts)
    table = sorted_concepts(of_shown(result, concepts), sort)
    shown = table if most is None else table.head(most)
    rows, by_group = row_name(result.corpus), _by_group(result, groups)
    columns: dict[str, Column] = {
        "": standing.numbers,
        "concept": ("words", lambda one: _words_of(one, standing)),
        rows: ("right", lambda one: f"{whole(one['rows'])} ({percent(one['prevalence'])})"),
    }
    if result.corpus.parent is not None:
        columns[_DOCUMENTS] = "right", lambda one: whole(one["documents"])
    columns[_COHERENCE] = "right", lambda one: figure(one["coherence"])
    if sort not in ("rows", _COHERENCE):
        columns[sort] = share(sort)
    columns |= standing.columns()
    columns |= by_group
    may_go = [name for name in (_COHERENCE, _DOCUMENTS) if name in columns and name != sort]
    left_out = print_table(shown, columns, optional=[*may_go, *reversed(by_group)])
    keys = {rows: "rows", FOUND_AGAIN: "found_again", FOUND_BY: "found_by"}
    printed = [name for name in columns if name not in left_out]
    notes = {name: CONCEPT_COLUMNS.get(keys.get(name, name), "").format(rows=rows) for name in printed}
    parts = [f"{name}: {note}" for name, note in notes.items() if note]
    if of_groups := [name for name in by_group if name in printed]:
        parts.append(f"{', '.join(of_groups)}: the share of the group's {rows} that use it")
    legend = "; ".join(parts)
    print_line(
        f"Sorted by {rows if sort == 'rows' else sort}, leftovers last. A concept's number is a label, the same in "
        f"every table, not a rank. {legend[:1].upper()}{legend[1:]}. {OVER_DRAWS}"
    )
    if left_out:
        print_line(f"Left out, because the terminal is narrow: {', '.join(left_out)}.")
    standing.print_legend(shown["concept"])
    if len(shown) < len(table):
        print_line(f"… and {len(table) - len(shown)} more.")
    print_line(_coverage(result))


def _coverage(result: Result) -> str:
    """Return how much of the text the listed concepts use, and frequent words that they do not."""
    from superwords.analysis.words import unused_words, used_share

    line = f"The listed concepts use {percent(used_share(result))} of the counted words"
    words = unused_words(result, _WORDS_SHOWN)["word"]
    return f"{line}; frequent words in none of them: {', '.join(words)}." if len(words) else f"{line}."


def _words_of(row: dict[Any, Any], standing: Standing) -> Text:
    """Return a concept's name, its other words, and which other it is much like."""
    named = row["name"].split(", ")
    others = ", ".join(word for word in row["top_words"][:_WORDS_SHOWN] if word not in named)
    like = standing.much_like(row["concept"])
    return Text.assemble((str(row["name"]), "bold"), f": {others}" if others else "", f" ({like})" if like else "")


def _by_group(result: Result, groups: list[str]) -> dict[str, Column]:
    """Return columns of a concept's prevalence in each group of the columns that have few."""
    from superwords.analysis.groups import by_group

    def prevalence_in(group: pd.DataFrame) -> Column:
        shares = dict(zip(group["concept"], group["prevalence"].map(percent)))
        return "right", lambda one: shares[one["concept"]]

    found: dict[str, Column] = {}
    for column in groups:
        table = by_group(result, column, 0)
        if table["group"].nunique() <= _MOST_GROUPS:
            for label, group in table.groupby("group", sort=False):
                found[f"{column} {label}"] = prevalence_in(group)
    return found


class Standing:
    """Which concepts are leftovers, how often each was found again, and which are much alike."""

    def __init__(self, result: Result, concepts: pd.DataFrame | None = None):
        """Take the table of concepts where it was computed already."""
        from superwords.analysis.tables import concept_list
        from superwords.posterior.alignment import handful
        from superwords.text.corpus import row_name

        table = concept_list(result, 0) if concepts is None else concepts
        self._table = table.set_index("concept")
        self._n_chains = len(table["stability_by_chain"].iloc[0]) if len(table) else 0
        self._n_pilots = 0 if result.pilots is None else result.pilots.n_pilots
        self.numbers: Column = "right", lambda one: self.number(one["concept"])
        self.chains: Column = "right", lambda one: self.found_by(one["concept"])
        self._few, self._rows = handful(result.corpus.n_documents), row_name(result.corpus)

    def number(self, concept: int) -> str:
        """Return a concept's number, with a mark if it is a leftover."""
        return f"{_MARK if self._table['leftover'][concept] else ''}{concept}"

    def found_by(self, concept: int) -> str:
        """Return how many chains find the concept in at least half of their draws, as "3 of 4"."""
        return f"{self._table['found_by'][concept]} of {self._n_chains}"

    def found_again(self, concept: int) -> str:
        """Return in how many fits to samples of the documents the concept was found again, as "7 of 8"."""
        return f"{self._table['found_again'][concept]:.0f} of {self._n_pilots}"

    def in_words(self, concept: int) -> str:
        """Return how often the concept was found, in words."""
        again = f"found again in {self.found_again(concept)} fits to samples; " if self._n_pilots else ""
        differ = "" if self._table["settled"][concept] else "figures not settled; "
        return f"{again}{differ}found by {self.found_by(concept)} chains"

    def columns(self) -> dict[str, Column]:
        """Return the columns of a table of concepts that show how reliable they are."""
        again: Column = "right", lambda one: self.found_again(one["concept"])
        return ({FOUND_AGAIN: again} if self._n_pilots else {}) | {FOUND_BY: self.chains}

    def much_like(self, concept: int) -> str:
        """Return which other concept it nearly repeats."""
        other = self._table["much_like"][concept]
        return "" if other is None else f"much like {other}"

    def note(self, concept: int) -> str:
        """Return why a concept is a leftover."""
        if not self._table["leftover"][concept]:
            return ""
        if self._table["rows"][concept] <= self._few:
            return f"used by only a handful of {self._rows}, perhaps a leftover."
        if self._n_pilots and self._table["found_again"][concept] < self._n_pilots / 2:
            return f"found again in only {self.found_again(concept)} fits to samples of the documents."
        return "of a single word, perhaps a leftover."

    def print_legend(self, shown: Iterable[int]) -> None:
        """Print what the mark means, if one of these concepts has it."""
        if any(self._table["leftover"][concept] for concept in shown):
            kinds = (
                ", of a single word or that were found again in fewer than half of the fits to samples"
                if self._n_pilots
                else " or of a single word"
            )
            print_line(f"{_MARK} Leftovers: concepts of a handful of {self._rows}{kinds}.")
