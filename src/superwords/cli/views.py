"""The views of a saved model that `superwords show` prints; each is made of the model's `Result`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from superwords.analysis.documents import one_document, representative_documents, row_labels
from superwords.analysis.groups import by_group, compare_groups
from superwords.analysis.ranking import TYPICAL
from superwords.analysis.tables import (
    concept_list,
    concept_names,
    listed,
    other_table,
    sources,
    vocabulary_table,
    word_table,
)
from superwords.analysis.verdict import convergence_table, verdict
from superwords.analysis.words import concepts_of_word, similar_words
from superwords.cli.concept_list import (
    FOUND_BY,
    OVER_DRAWS,
    Standing,
    fitted_groups,
    print_concepts,
    rows_of,
    sorted_concepts,
)
from superwords.cli.printing import (
    Column,
    between,
    called,
    figure,
    interval,
    percent,
    points_between,
    print_line,
    print_table,
    share,
    whole,
)
from superwords.errors import InputError
from superwords.posterior.summary import USED_BY
from superwords.tabular import points, records
from superwords.text.corpus import n_sources, row_name

if TYPE_CHECKING:
    from superwords.posterior.result import Result

_WORDS_OF_CONCEPT = 25
_OTHER_WORDS = 6
_LEAST_HELD = 0.1  # share of the draws: a document's concepts below it are only counted
_LEAST_USE = 0.01  # share of a word's uses
_GROUP_WORDS = 6
_MOST_GROUPS = 6  # of more, only those that use a concept most are shown
_MOST_HOLDERS = 3
_TOGETHER: dict[str, Column] = {
    "together": share("together"),
    "error": ("right", lambda one: f"±{one['mcse']:.1%}" if np.isfinite(one["mcse"]) else "–"),
}


def _number(field: str, form: str) -> Column:
    """Return a column of figures; "–" where one cannot be judged: too few draws, one chain, or a constant."""
    return "right", lambda one: "–" if np.isnan(one[field]) else format(one[field], form)


class ModelView:
    """One way of looking at a model: `table` is its main table."""

    table: pd.DataFrame

    def __init__(self, result: Result, asked: Any):
        self.result = result
        self.asked = asked
        self.read()

    def read(self) -> None:
        raise NotImplementedError

    def as_json(self) -> Any:
        return records(self.table)

    def print(self) -> None:
        raise NotImplementedError


class ConceptsView(ModelView):
    """All concepts, sorted by what is asked for."""

    def read(self) -> None:
        self.table = sorted_concepts(concept_list(self.result), self.asked)

    def as_json(self) -> Any:
        corpus = self.result.corpus
        return {
            "rows": corpus.n_documents,
            "documents": n_sources(corpus),
            "words": corpus.n_words,
            "tokens": corpus.n_tokens,
            "n_concepts": len(self.table),
            "verdict": str(verdict(self.result)),
            "concepts": records(self.table),
            "other_concepts": records(other_table(self.result)),
        }

    def print(self) -> None:
        corpus = self.result.corpus
        print_line(
            f"{_concepts(len(self.result.shown))} in {rows_of(self.result.corpus)}, {corpus.n_words:,} different words."
        )
        print_concepts(self.result, self.table, fitted_groups(corpus), sort=self.asked)
        self._print_others()
        print_line(str(verdict(self.result)))

    def _print_others(self) -> None:
        """Print concepts that too few chains find."""
        others = other_table(self.result, _OTHER_WORDS)
        if len(others):
            print_line("Found by too few chains to be listed:")
        for one in others.to_dict("records"):
            n_chains = len(one["stability_by_chain"])
            print_line(f"  {', '.join(one['top_words'])} ({one['found_by']} of {n_chains} chains)")


class ConceptView(ModelView):
    """One concept: its words, and documents that show what it is."""

    def read(self) -> None:
        self.table = word_table(self.result, self.asked)
        self.documents = representative_documents(self.result, self.asked)
        self.row = concept_list(self.result).set_index("concept", drop=False).loc[self.asked]

    def as_json(self) -> Any:
        concept = records(self.row.to_frame().T)[0]
        return {**concept, "word_table": records(self.table), "documents_shown": records(self.documents)}

    def print(self) -> None:
        row, corpus = self.row, self.result.corpus
        rows = row_name(corpus)
        standing = Standing(self.result)
        cut = "" if corpus.parent is None else f", in {whole(row['documents'])} of the documents"
        print_line(f"Concept {self.asked}: {row['name']}")
        print_line(
            f"Used by {whole(row['rows'])} {rows} (prevalence {percent(row['prevalence'])}, 95% interval "
            f"{interval(row['prevalence_low'], row['prevalence_high'])}){cut}; "
            f"where it is used, it is {percent(row['strength'])} of the text (strength); "
            f"{standing.in_words(self.asked)}; coherence {figure(row['coherence'])}. {OVER_DRAWS}"
        )
        print_line(f"On average a draw uses {whole(row['n_words'])} words for it.")
        for note in (standing.note(self.asked), standing.much_like(self.asked)):
            if note:
                print_line(f"{note[0].upper()}{note[1:].removesuffix('.')}.")
        shown = self.table.head(_WORDS_OF_CONCEPT)
        print_table(
            shown,
            {
                "word": "left",
                "used by": share("share_used"),
                "interval": between("used_low", "used_high"),
                "draws": share("probability"),
            },
        )
        if len(shown) < len(self.table):
            print_line(f"… and {len(self.table) - len(shown):,} more words.")
        print_line(
            f"Used by: share of the {rows} using the concept that use the word for it, with a 95% interval; draws: "
            f"share of the draws that find the concept in which at least {percent(USED_BY)} do. "
            "Words that fewer than half of the draws use are left out."
        )
        if len(self.documents):
            print_line(f"{rows.capitalize()} that show what it is:")
        labels = dict(zip(corpus.ids, row_labels(corpus)))
        for one in self.documents.to_dict("records"):
            quoted = f": {one['passage']}" if "passage" in one else ""
            print_line(f"  {called(one['document'], labels)}, weight {percent(one['weight'])}{quoted}")


class DocumentView(ModelView):
    """One document and the concepts it uses, the surest first."""

    def read(self) -> None:
        corpus = self.result.corpus
        is_passage = self.asked in corpus.ids
        names = corpus.ids if is_passage or corpus.parent is None else sources(corpus)[0]
        if self.asked not in names:
            some = ", ".join(repr(name) for name in corpus.ids[:3])
            raise InputError(f"There is no document {self.asked!r}; ids look like {some}.")
        table = one_document(self.result, names.index(self.asked), is_passage)
        # Those it uses in half of the draws by weight, the others after them by how sure they are.
        held_in = table["probability"]
        order = np.argsort(-np.where(held_in >= TYPICAL, 1 + table["weight"], held_in), kind="stable")
        self.table = table.iloc[order]

    def print(self) -> None:
        standing = Standing(self.result)
        held_in = self.table["probability"]
        shown = self.table[(held_in >= _LEAST_HELD) | (np.arange(len(self.table)) == 0)]
        if self.table.empty and self.result.n_concepts:
            print_line(f"{self.asked} has no word of the vocabulary, so nothing is known about its concepts.")
            return
        held = _concepts(int((held_in >= TYPICAL).sum()))
        print_line(f"{self.asked} uses {held}, in at least half of the draws that find each.")
        print_table(
            shown,
            {
                "": standing.numbers,
                "concept": ("words", "concept_name"),
                "probability": share("probability"),
                **standing.columns(),
                "weight": share("weight"),
                "interval": between("low", "high"),
            },
        )
        if len(shown) < len(self.table):
            rest = len(self.table) - len(shown)
            print_line(f"… and {_concepts(rest)} in fewer than {percent(_LEAST_HELD)} of the draws.")
        print_line(
            "Probability that the document uses the concept; found by: how many chains find the concept. Weight: the "
            "concept's share of what the document speaks of, posterior mean and 95% interval."
        )
        standing.print_legend(shown["concept"])


def _concepts(number: int) -> str:
    return f"{number} concept{'' if number == 1 else 's'}"


class WordView(ModelView):
    """One word: the words it shares concepts with, and those concepts."""

    def read(self) -> None:
        self.table = similar_words(self.result, self.asked)
        self.concepts = concepts_of_word(self.result, self.asked)
        words = vocabulary_table(self.result)
        self.row = words[words["word"] == self.asked].iloc[0]

    def as_json(self) -> Any:
        tables = {"concept_table": records(self.concepts), "similar_words": records(self.table)}
        return {**records(self.row.to_frame().T)[0], **tables}

    def print(self) -> None:
        rows = row_name(self.result.corpus)
        print_line(f"{self.asked}: {self.row['tokens']:,} times in {self.row['rows']:,} {rows}.")
        self._print_concepts(rows)
        print_table(self.table, {"word beside it": ("left", "word"), **_TOGETHER})
        print_line(
            f"Together: take a {rows.removesuffix('s')} that uses the one word and one that uses the other; this is "
            "the probability that both use them for the same concept, with its Monte-Carlo error."
        )

    def _print_concepts(self, rows: str) -> None:
        names, standing = concept_names(self.result), Standing(self.result)
        shown = self.concepts[self.concepts["share_of_uses"] >= _LEAST_USE]
        if shown.empty:
            print_line(f"No listed concept uses {self.asked} in at least half of the draws.")
            return
        print_table(
            shown,
            {
                "": standing.numbers,
                "concept": ("words", lambda one: names[one["concept"] - 1]),
                "of its uses": share("share_of_uses"),
                "used by": share("share_used"),
                **standing.columns(),
            },
        )
        rest = len(self.concepts) - len(shown)
        if rest:
            print_line(f"… and {_concepts(rest)} with fewer than {percent(_LEAST_USE)} of its uses.")
        print_line(
            f"Of its uses: share of the {rows} using the word that do so for the concept, over all draws; "
            f"used by: share of the concept's {rows} that do so, over the draws that find it."
        )
        standing.print_legend(shown["concept"])


class WordsView(ModelView):
    """Several words: which others belong with them, and how sure that is."""

    def read(self) -> None:
        self.table = similar_words(self.result, self.asked)

    def as_json(self) -> Any:
        return {"words": self.asked, "similar_words": records(self.table)}

    def print(self) -> None:
        print_line(f"Words that belong with {', '.join(self.asked)}:")
        evidence: Column = "right", lambda one: f"{one['evidence']:.1f}"
        print_table(self.table, {"word": "left", "evidence": evidence, **_TOGETHER})
        print_line(
            "Evidence: how far the word is used for their concepts, and beside them, beyond chance, in standard "
            "deviations. Together: the probability that a use of it and a use of one of them are for the same concept, "
            "with its Monte-Carlo error."
        )


class ConvergenceView(ModelView):
    """R-hat, effective sample sizes and errors of the traced quantities."""

    def read(self) -> None:
        self.table = convergence_table(self.result)

    def as_json(self) -> Any:
        return {"verdict": str(verdict(self.result)), "quantities": records(self.table)}

    def print(self) -> None:
        print_table(
            self.table,
            {
                "quantity": ("words", "label"),
                "R-hat": _number("rhat", ".3f"),
                "ESS bulk": _number("ess", ".0f"),
                "ESS tail": _number("ess_tail", ".0f"),
                "Monte-Carlo error": _number("mcse", ".3g"),
            },
        )
        print_line(str(verdict(self.result)))


class MethodsView(ModelView):
    """The methods paragraph for a paper."""

    def read(self) -> None:
        from superwords.analysis.export import Export
        from superwords.fitting.estimator import load
        from superwords.paper.methods import methods_paragraph

        self.text = methods_paragraph(Export(load(self.asked)))
        self.table = pd.DataFrame({"methods": [self.text]})

    def as_json(self) -> Any:
        return {"methods": self.text}

    def print(self) -> None:
        print_line(self.text)


class GroupsView(ModelView):
    """Concepts by the groups of each column that is asked for, the largest differences first."""

    asked: list[str]

    def read(self) -> None:
        self.by_column = {
            column: listed(self.result, by_group(self.result, column)) for column in dict.fromkeys(self.asked)
        }
        if len(self.by_column) == 1:
            (self.table,) = self.by_column.values()
            return
        named = [table.assign(column=column) for column, table in self.by_column.items()]
        self.table = pd.concat(named, ignore_index=True)

    def as_json(self) -> Any:
        """Return one column's tables; of several columns, those of each under its name."""
        told = {
            column: {"groups": records(table), "differences": self._differences(column, table)}
            for column, table in self.by_column.items()
        }
        return told if len(told) > 1 else next(iter(told.values()))

    def _differences(self, column: str, table: pd.DataFrame) -> list[dict[str, Any]] | None:
        return records(listed(self.result, compare_groups(self.result, column))) if len(_labels(table)) == 2 else None

    def print(self) -> None:
        standing = Standing(self.result)
        for column, table in self.by_column.items():
            self._print_sizes(column, table)
            n_groups, order = len(_labels(table)), table["concept"].unique().tolist()
            if n_groups == 2:
                order = self._print_two(column, table, standing)
            elif n_groups <= _MOST_GROUPS:
                order = self._print_several(table, standing)
            self._print_words(column, table, order, standing)
        standing.print_legend(self.table["concept"])
        print_line(str(verdict(self.result)))

    def _print_sizes(self, column: str, table: pd.DataFrame) -> None:
        rows = row_name(self.result.corpus)
        sizes = table.drop_duplicates("group").set_index("group")["n_rows"]
        largest = sizes.sort_values(ascending=False, kind="stable").head(2 * _MOST_GROUPS)
        told = ", ".join(f"{label} {size:,}" for label, size in largest.items())
        more = f" and {len(sizes) - len(largest)} smaller groups" if len(sizes) > len(largest) else ""
        missing = self.result.corpus.n_documents - int(sizes.sum())
        without = f" {missing:,} {rows} without a {column} are left out." if missing else ""
        print_line(f"{rows.capitalize()} by {column}: {told}{more}.{without}")

    def _print_two(self, column: str, table: pd.DataFrame, standing: Standing) -> list[int]:
        """Return both groups side by side, with the difference; the order of the concepts."""
        first, second = (str(label) for label in _labels(table))
        compared = listed(self.result, compare_groups(self.result, column))
        print_table(
            compared,
            {
                "": standing.numbers,
                "concept": ("words", "name"),
                **{label: share(field) for label, field in zip((first, second), compared.columns[2:4])},
                "difference": ("right", lambda one: points(one["difference"])),
                "interval": between("low", "high", points_between),
                FOUND_BY: standing.chains,
            },
            optional=[FOUND_BY],
        )
        print_line(
            f"{first}, {second}: share of the group's {row_name(self.result.corpus)} that use the concept "
            f"(prevalence). Difference: {first} − {second} in percentage points, with a 95% interval. The largest "
            "differences come first. These are shares in the draws as they are; `superwords effects` estimates "
            "differences between documents, which can be larger (docs/effects.md)."
        )
        return compared["concept"].tolist()

    def _print_several(self, table: pd.DataFrame, standing: Standing) -> list[int]:
        """Return all groups side by side, those concepts first whose intervals lie farthest apart; their order."""
        labels = _labels(table)
        gap = table.groupby("concept").agg(low=("prevalence_low", "max"), high=("prevalence_high", "min"))
        order = (gap["low"] - gap["high"]).sort_values(ascending=False, kind="stable").index
        prevalence = table.set_index(["concept", "group"])["prevalence"]

        def share_of(label: Any) -> Column:
            return "right", lambda one: percent(prevalence[one["concept"], label])

        print_table(
            table.drop_duplicates("concept").set_index("concept", drop=False).loc[order],
            {
                "": standing.numbers,
                "concept": ("words", "name"),
                **{str(label): share_of(label) for label in labels},
                FOUND_BY: standing.chains,
            },
            optional=[FOUND_BY],
        )
        print_line(
            f"Shares of each group's {row_name(self.result.corpus)} that use the concept (prevalence). First come "
            "concepts on which two groups clearly differ: their 95% intervals lie farthest apart."
        )
        return order.tolist()

    def _print_words(self, column: str, table: pd.DataFrame, order: list[int], standing: Standing) -> None:
        """Print the words each group uses for a concept; of many groups those that use it most."""
        is_cut = len(_labels(table)) > _MOST_GROUPS
        records: list[dict[Any, Any]] = []
        for j in order:
            own = table[table["concept"] == j]
            if is_cut:
                own = own.sort_values("prevalence_low", ascending=False, kind="stable").head(_MOST_HOLDERS)
            named = own.assign(number=[standing.number(j), *[""] * (len(own) - 1)])
            records += named.to_dict("records")
        columns: dict[str, Column] = {
            "": ("right", "number"),
            "concept": ("name", lambda one: one["name"] if one["number"] else ""),
            column: ("name", "group"),
            "used by": share("prevalence"),
            "interval": between("prevalence_low", "prevalence_high"),
            "with the words": ("words", lambda one: ", ".join(one["top_words"][:_GROUP_WORDS])),
        }
        print_table(records, columns, optional=["interval"])
        rows = row_name(self.result.corpus)
        which = f"The {_MOST_HOLDERS} groups that most surely use a concept; --csv has all. " if is_cut else ""
        print_line(
            f"{which}Used by: share of the group's {rows} that use the concept, mean over the draws that find it, "
            "with a 95% interval. With the words: what the group uses for it, the most telling words first."
        )


def _labels(table: pd.DataFrame) -> list[Any]:
    return table["group"].drop_duplicates().tolist()
