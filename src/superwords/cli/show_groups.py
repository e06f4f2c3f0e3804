"""`superwords show --groups`: which groups speak of which concepts, and with which words."""

from __future__ import annotations

from typing import Any

import pandas as pd

from superwords.cli.concept_list import verdict_of
from superwords.cli.printing import interval, percent, points_between, print_line, print_table
from superwords.cli.show_views import ModelView
from superwords.cli.verdict_lines import FOUND_BY, Standing
from superwords.corpus.corpus import row_name
from superwords.tabular import points, records

_WORDS = 6
_MOST_GROUPS = 6  # of more, only those that hold a concept most are shown
_MOST_HOLDERS = 3


class GroupsView(ModelView):
    """Concepts by the groups of each column that is asked for, the largest differences first."""

    asked: list[str]

    def read(self) -> None:
        self.by_column = {column: self.model.by_group(column) for column in dict.fromkeys(self.asked)}
        if len(self.by_column) == 1:
            (self.table,) = self.by_column.values()
            return
        named = [table.assign(column=column) for column, table in self.by_column.items()]
        self.table = pd.concat(named, ignore_index=True)

    def as_json(self) -> Any:
        """One column's tables; of several columns, those of each under its name."""
        told = {
            column: {"groups": records(table), "differences": self._differences(column, table)}
            for column, table in self.by_column.items()
        }
        return told if len(told) > 1 else next(iter(told.values()))

    def _differences(self, column: str, table: pd.DataFrame) -> list[dict[str, Any]] | None:
        return records(self.model.compare_groups(column)) if len(_labels(table)) == 2 else None

    def print(self) -> None:
        standing = Standing(self.model)
        for column, table in self.by_column.items():
            self._print_sizes(column, table)
            n_groups, order = len(_labels(table)), table["concept"].unique().tolist()
            if n_groups == 2:
                order = self._print_two(column, table, standing)
            elif n_groups <= _MOST_GROUPS:
                order = self._print_several(table, standing)
            self._print_words(column, table, order, standing)
        standing.print_legend(self.table["concept"])
        print_line(verdict_of(self.model))

    def _print_sizes(self, column: str, table: pd.DataFrame) -> None:
        rows = row_name(self.model.corpus_)
        sizes = table.drop_duplicates("group").set_index("group")["n_rows"]
        largest = sizes.sort_values(ascending=False, kind="stable").head(2 * _MOST_GROUPS)
        told = ", ".join(f"{label} {size:,}" for label, size in largest.items())
        more = f" and {len(sizes) - len(largest)} smaller groups" if len(sizes) > len(largest) else ""
        missing = self.model.corpus_.n_documents - int(sizes.sum())
        without = f" {missing:,} {rows} without a {column} are left out." if missing else ""
        print_line(f"{rows.capitalize()} by {column}: {told}{more}.{without}")

    def _print_two(self, column: str, table: pd.DataFrame, standing: Standing) -> list[int]:
        """Both groups side by side, with the difference; the order of the concepts."""
        first, second = (str(label) for label in _labels(table))
        compared = self.model.compare_groups(column)
        shares = compared.columns[2:4]
        head = {"": "right", "concept": "words", first: "right", second: "right"}
        print_table(
            {**head, "difference": "right", "interval": "right", FOUND_BY: "right"},
            [
                (
                    *(standing.number(one["concept"]), one["name"], *(percent(one[name]) for name in shares)),
                    *(points(one["difference"]), points_between(one["low"], one["high"])),
                    standing.found_by(one["concept"]),
                )
                for one in compared.to_dict("records")
            ],
            optional=[FOUND_BY],
        )
        print_line(
            f"{first}, {second}: share of the group's {row_name(self.model.corpus_)} that hold the concept "
            f"(prevalence). Difference: {first} − {second} in percentage points, with a 95% interval. The largest "
            "differences come first."
        )
        return compared["concept"].tolist()

    def _print_several(self, table: pd.DataFrame, standing: Standing) -> list[int]:
        """All groups side by side, those concepts first whose intervals lie farthest apart; their order."""
        labels = _labels(table)
        gap = table.groupby("concept").agg(low=("prevalence_low", "max"), high=("prevalence_high", "min"))
        order = (gap["low"] - gap["high"]).sort_values(ascending=False, kind="stable").index
        by_concept = table.set_index(["concept", "group"])["prevalence"]
        names = table.drop_duplicates("concept").set_index("concept")["name"]
        print_table(
            {"": "right", "concept": "words", **{str(label): "right" for label in labels}, FOUND_BY: "right"},
            [
                (
                    *(standing.number(j), names[j], *(percent(by_concept[j, label]) for label in labels)),
                    standing.found_by(j),
                )
                for j in order
            ],
            optional=[FOUND_BY],
        )
        print_line(
            f"Shares of each group's {row_name(self.model.corpus_)} that hold the concept (prevalence). First come "
            "concepts on which two groups clearly differ: their 95% intervals lie farthest apart."
        )
        return order.tolist()

    def _print_words(self, column: str, table: pd.DataFrame, order: list[int], standing: Standing) -> None:
        """With which words each group speaks of a concept; of many groups those that speak of it most."""
        is_cut = len(_labels(table)) > _MOST_GROUPS
        lines = []
        for j in order:
            own = table[table["concept"] == j]
            if is_cut:
                own = own.sort_values("prevalence_low", ascending=False, kind="stable").head(_MOST_HOLDERS)
            for n, one in enumerate(own.to_dict("records")):
                held = interval(one["prevalence_low"], one["prevalence_high"])
                words = ", ".join(one["top_words"][:_WORDS])
                first = (standing.number(j), one["name"]) if n == 0 else ("", "")
                lines.append((*first, one["group"], percent(one["prevalence"]), held, words))
        columns = {"": "right", "concept": "name", column: "name", "held by": "right", "interval": "right"}
        print_table({**columns, "with the words": "words"}, lines, optional=["interval"])
        rows = row_name(self.model.corpus_)
        which = (
            f"The {_MOST_HOLDERS} groups that most surely hold a concept; --csv has all. " if is_cut else ""
        )
        print_line(
            f"{which}Held by: share of the group's {rows} that hold the concept, mean over the draws that find it, "
            "with a 95% interval. With the words: what the group uses for it, the most telling words first."
        )


def _labels(table: pd.DataFrame) -> list[Any]:
    return table["group"].drop_duplicates().tolist()
