"""The views of a saved model that `superwords show` prints, and the list of concepts of `fit`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text

from superwords.analysis import documents, groups, tables, words
from superwords.analysis.verdict import convergence_table, verdict
from superwords.cli import printing as p
from superwords.cli.printing import Column, between, left, listing, percent, print_line, print_table, right, share
from superwords.errors import InputError
from superwords.posterior.alignment import TYPICAL
from superwords.posterior.result import Result
from superwords.posterior.summary import USED_BY
from superwords.tabular import number, points, records
from superwords.text.corpus import counted_rows, fitted_groups, n_sources, row_name

FOUND_BY = "found by"  # a column: how many of the chains
_FOUND_AGAIN = "found again"  # a column: in how many of the pilots
_MARK = "*"
_WORDS_SHOWN = 8
_WORDS_OF_CONCEPT = 25
_OTHER_WORDS = 6
_LEAST_HELD = 0.1  # share of the draws: a document's concepts below it are only counted
_LEAST_USE = 0.01  # share of a word's uses
_MOST_COLUMNS = 4  # groups beside the list of concepts
_MOST_GROUPS = 6  # of more, only those that use a concept most are shown
_MOST_HOLDERS = 3
_OVER_DRAWS = "Counts and shares are means over the draws that find the concept."
_TOGETHER = {"together": share("together"), "error": right("mcse", text=lambda mcse: "±" + number(mcse, ".1%"))}


class Standing:
    """How reliable concepts are: whether they are leftovers, and how often each was found again."""

    def __init__(self, result: Result, concepts: pd.DataFrame | None = None):
        """Take the table of concepts where it was computed already."""
        table = tables.concept_list(result, 0) if concepts is None else concepts
        n_pilots = result.n_pilots
        self._leftover = table.set_index("concept")["leftover"]
        by_chain, again = table["stability_by_chain"].map(len), table["found_again"]
        found_by = {j: f"{n} of {of}" for j, n, of in zip(table["concept"], table["found_by"], by_chain)}
        found_again = {j: f"{n:.0f} of {n_pilots}" for j, n in zip(table["concept"], again)} if n_pilots else {}
        self.legend = f"{_MARK} Leftover, {tables.CONCEPT_COLUMNS['leftover'].format(rows=row_name(result.corpus))}."
        self.numbers, self.chains = right("concept", text=self.number), right("concept", text=found_by.get)
        self.columns = {_FOUND_AGAIN: right("concept", text=found_again.get)} if n_pilots else {}
        self.columns[FOUND_BY] = self.chains

    def number(self, concept: int) -> str:
        """Return a concept's number, with a mark if it is a leftover."""
        return f"{_MARK if self._leftover[concept] else ''}{concept}"

    def print_legend(self, shown: Iterable[int]) -> None:
        """Print what the mark means, if one of these concepts has it."""
        if self._leftover.loc[list(shown)].any():
            print_line(self.legend)


def counted(result: Result) -> str:
    """Return how many concepts there are, in how many documents, or passages of how many documents."""
    return f"{_concepts(len(result.shown))} in {counted_rows(result.corpus)}"


def _concepts(number: int) -> str:
    return f"{number} concept{'' if number == 1 else 's'}"


def print_concepts(
    result: Result, concepts: pd.DataFrame, columns: list[str], most: int | None = None, sort: str = "rows"
) -> None:
    """Print the first concepts, with their prevalence in each group of a column where there are few groups."""
    standing, rows = Standing(result, concepts), row_name(result.corpus)
    table = _sorted(tables.of_shown(result, concepts), sort)
    shown = table.iloc[:most]

    def in_words(name: str, top_words: list[str], other: int | None) -> Text:
        others = ", ".join(word for word in top_words[:_WORDS_SHOWN] if word not in name.split(", "))
        like = "" if other is None else f" (much like {other})"
        return Text.assemble((name, "bold"), f": {others}" if others else "", like)

    figures = {rows: right("rows", "prevalence", text=lambda n, of: f"{number(n)} ({percent(of)})")}
    if result.corpus.parent is not None:
        figures["documents"] = right("documents", text=number)
    figures["coherence"] = right("coherence", text=p.figure)
    if sort not in ("rows", "coherence"):
        figures[sort] = share(sort)
    figures |= standing.columns
    by_group: dict[str, Column] = {}
    for column in columns:
        of_groups = groups.by_group(result, column, 0)
        if of_groups["group"].nunique() <= _MOST_COLUMNS:
            by_group |= {f"{column} {label}": shares for label, shares in _shares_by_group(of_groups).items()}
    heads = {"": standing.numbers, "concept": left("name", "top_words", "much_like", text=in_words)}
    may_go = [name for name in ("coherence", "documents") if name in figures and name != sort]
    left_out = print_table(shown, heads | figures | by_group, optional=[*may_go, *reversed(by_group)])
    keys = {name: name.replace(" ", "_") for name in figures if name not in left_out} | {rows: "rows"}
    notes = [f"{name}: {tables.CONCEPT_COLUMNS[key].format(rows=rows)}" for name, key in keys.items()]
    if beside := [name for name in by_group if name not in left_out]:
        notes.append(f"{', '.join(beside)}: the share of the group's {rows} that use it")
    legend = "; ".join(notes)
    print_line(
        f"Sorted by {rows if sort == 'rows' else sort}, leftovers last. A concept's number is a label, the same in "
        f"every table, not a rank. {legend[:1].upper()}{legend[1:]}. {_OVER_DRAWS}"
    )
    if left_out:
        print_line(f"Left out, because the terminal is narrow: {', '.join(left_out)}.")
    standing.print_legend(shown["concept"])
    if len(shown) < len(table):
        print_line(f"… and {len(table) - len(shown)} more.")
    unused = words.unused_words(result, _WORDS_SHOWN)["word"]
    without = f"; frequent words in none of them: {', '.join(unused)}" if len(unused) else ""
    print_line(f"The listed concepts use {percent(words.used_share(result))} of the counted words{without}.")


def _shares_by_group(table: pd.DataFrame) -> dict[str, Column]:
    """Return a column of each group's shares."""
    of_group = table.set_index("concept").groupby("group", sort=False)["prevalence"]
    return {str(label): right("concept", text=lambda j, of=of: percent(of[j])) for label, of in of_group}


def _sorted(concepts: pd.DataFrame, sort: str) -> pd.DataFrame:
    return concepts.sort_values(["leftover", sort], ascending=[True, False], kind="stable")


def concepts_page(result: Result, concepts: pd.DataFrame) -> dict[str, Any]:
    """Return the concepts, their corpus and the verdict as plain JSON."""
    corpus = result.corpus
    sizes = {"rows": corpus.n_documents, "documents": n_sources(corpus), "words": corpus.n_words}
    sizes |= {"tokens": corpus.n_tokens, "n_concepts": len(concepts)}
    return {**sizes, "verdict": str(verdict(result)), "concepts": records(concepts)}


# A view takes what was found, what was asked for, and "--json", "--csv" or None for people.


def all_concepts(result: Result, sort: str, form: str | None) -> None:
    """Print all concepts, sorted by what is asked for, and words of those that too few chains find."""
    table = _sorted(tables.concept_list(result), sort)
    others = tables.other_table(result)
    if p.printed(form, table, lambda: concepts_page(result, table) | {"other_concepts": records(others)}):
        return
    print_line(f"{counted(result)}, {result.corpus.n_words:,} different words.")
    print_concepts(result, table, fitted_groups(result.corpus), sort=sort)
    if len(others):
        print_line("Found by too few chains to be listed:")
    for one in others.to_dict("records"):
        top = ", ".join(one["top_words"][:_OTHER_WORDS])
        print_line(f"  {top} ({one['found_by']} of {len(one['stability_by_chain'])} chains)")
    print_line(str(verdict(result)))


def one_concept(result: Result, concept: int, form: str | None) -> None:
    """Print a concept's words, and documents that show what it is."""
    table, shown_by = tables.word_table(result, concept), documents.representative_documents(result, concept)
    listed = tables.concept_list(result)
    own = listed[listed["concept"] == concept]
    row = own.to_dict("records")[0]
    tables_ = {"word_table": table, "documents_shown": shown_by}
    if p.printed(form, table, lambda: records(own)[0] | {name: records(one) for name, one in tables_.items()}):
        return
    corpus, standing = result.corpus, Standing(result)
    rows = row_name(corpus)
    cut = "" if corpus.parent is None else f", in {number(row['documents'])} of the documents"
    times = ", ".join(f"{name} {column.cell(row)}" for name, column in standing.columns.items())
    differ = "" if row["settled"] else "figures not settled; "
    print_line(
        f"Concept {concept}: {row['name']}",
        f"Used by {number(row['rows'])} {rows} (prevalence {percent(row['prevalence'])}, 95% interval "
        f"{p.interval(row['prevalence_low'], row['prevalence_high'])}){cut}; "
        f"where it is used, it is {percent(row['strength'])} of the text (strength); "
        f"{differ}{times} chains; coherence {p.figure(row['coherence'])}. {_OVER_DRAWS}",
        f"On average a draw uses {number(row['n_words'])} words for it.",
    )
    if row["leftover"]:
        print_line(standing.legend)
    if row["much_like"] is not None:
        print_line(f"Much like {row['much_like']}.")
    used = {"word": left("word"), "used by": share("share_used"), "interval": between("used_low", "used_high")}
    print_table(table.head(_WORDS_OF_CONCEPT), used | {"draws": share("probability")})
    if len(table) > _WORDS_OF_CONCEPT:
        print_line(f"… and {len(table) - _WORDS_OF_CONCEPT:,} more words.")
    print_line(
        f"Used by: share of the {rows} using the concept that use the word for it, with a 95% interval; draws: "
        f"share of the draws that find the concept in which at least {percent(USED_BY)} do. "
        "Words that fewer than half of the draws use are left out."
    )
    if len(shown_by):
        print_line(f"{rows.capitalize()} that show what it is:")
    labels = dict(zip(corpus.ids, documents.row_labels(corpus)))
    for one in shown_by.to_dict("records"):
        quoted = f": {one['passage']}" if "passage" in one else ""
        print_line(f"  {p.called(one['document'], labels)}, weight {percent(one['weight'])}{quoted}")


def one_document(result: Result, document: str, form: str | None) -> None:
    """Print a document's concepts, those it uses in half of the draws by weight, the others by how sure they are."""
    corpus = result.corpus
    is_passage = document in corpus.ids
    names = corpus.ids if is_passage or corpus.parent is None else tables.sources(corpus)[0]
    if document not in names:
        some = ", ".join(repr(name) for name in corpus.ids[:3])
        raise InputError(f"There is no document {document!r}; ids look like {some}.")
    table = documents.one_document(result, names.index(document), is_passage)
    held_in = table["probability"]
    table = table.iloc[np.argsort(-np.where(held_in >= TYPICAL, 1 + table["weight"], held_in), kind="stable")]
    if p.printed(form, table):
        return
    if table.empty and result.n_concepts:
        print_line(f"{document} has no word of the vocabulary, so nothing is known about its concepts.")
        return
    standing, held_in = Standing(result), table["probability"]
    shown = table[(held_in >= _LEAST_HELD) | (np.arange(len(table)) == 0)]
    held = _concepts(int((held_in >= TYPICAL).sum()))
    print_line(f"{document} uses {held}, in at least half of the draws that find each.")
    columns = {"": standing.numbers, "concept": left("concept_name"), "probability": share("probability")}
    print_table(shown, columns | standing.columns | {"weight": share("weight"), "interval": between("low", "high")})
    if len(shown) < len(table):
        print_line(f"… and {_concepts(len(table) - len(shown))} in fewer than {percent(_LEAST_HELD)} of the draws.")
    print_line(
        "Probability that the document uses the concept; found by: how many chains find the concept. Weight: the "
        "concept's share of what the document speaks of, posterior mean and 95% interval."
    )
    standing.print_legend(shown["concept"])


def named_words(result: Result, text: str, form: str | None) -> None:
    """Print one word's concepts and the words it shares them with; of several, the words that belong with them."""
    given = words.named_words(result, text)
    if len(given) == 1:
        _one_word(result, given[0], form)
        return
    table = words.similar_words(result, given)
    if p.printed(form, table, lambda: {"words": given, "similar_words": records(table)}):
        return
    print_line(f"Words that belong with {', '.join(given)}:")
    print_table(table, {"word": left("word"), "evidence": right("evidence", text="{:.1f}".format)} | _TOGETHER)
    print_line(
        "Evidence: how many standard deviations beyond chance the word is used for their concepts and beside them. "
        "Together: the probability that a use of it and one of theirs are for one concept, with its Monte-Carlo error."
    )


def _one_word(result: Result, word: str, form: str | None) -> None:
    table, concepts = words.similar_words(result, word), words.concepts_of_word(result, word)
    vocabulary = tables.vocabulary_table(result)
    own = records(vocabulary[vocabulary["word"] == word])[0]
    if p.printed(form, table, lambda: own | {"concept_table": records(concepts), "similar_words": records(table)}):
        return
    rows, standing = row_name(result.corpus), Standing(result)
    print_line(f"{word}: {own['tokens']:,} times in {own['rows']:,} {rows}.")
    shown = concepts[concepts["share_of_uses"] >= _LEAST_USE]
    if shown.empty:
        print_line(f"No listed concept uses {word} in at least half of the draws.")
    else:
        names = tables.concept_names(result)
        columns = {"": standing.numbers, "concept": left("concept", text=lambda j: names[j - 1])}
        columns |= {"of its uses": share("share_of_uses"), "used by": share("share_used")}
        print_table(shown, columns | standing.columns)
        if rest := len(concepts) - len(shown):
            print_line(f"… and {_concepts(rest)} with fewer than {percent(_LEAST_USE)} of its uses.")
        print_line(
            f"Of its uses: share of the {rows} using the word that do so for the concept, over all draws; "
            f"used by: share of the concept's {rows} that do so, over the draws that find it."
        )
        standing.print_legend(shown["concept"])
    print_table(table, {"word beside it": left("word")} | _TOGETHER)
    print_line(
        f"Together: take a {rows.removesuffix('s')} that uses the one word and one that uses the other; this is "
        "the probability that both use them for the same concept, with its Monte-Carlo error."
    )


def convergence(result: Result, _: Any, form: str | None) -> None:
    """Print R-hat, effective sample sizes and errors of the traced quantities."""
    table = convergence_table(result)
    if p.printed(form, table, lambda: {"verdict": str(verdict(result)), "quantities": records(table)}):
        return
    forms = {"R-hat": ("rhat", ".3f"), "ESS bulk": ("ess", ".0f"), "ESS tail": ("ess_tail", ".0f")}
    forms["Monte-Carlo error"] = "mcse", ".3g"
    figures = {head: right(field, text=partial(number, form=digits)) for head, (field, digits) in forms.items()}
    print_table(table, {"quantity": left("label")} | figures)
    print_line(str(verdict(result)))


def methods(_: Result, path: Path, form: str | None) -> None:
    """Print the methods paragraph for a paper."""
    from superwords.analysis.export import Export
    from superwords.fitting.estimator import load
    from superwords.paper.methods import methods_paragraph

    text = methods_paragraph(Export(load(path)))
    if not p.printed(form, pd.DataFrame({"methods": [text]}), lambda: {"methods": text}):
        print_line(text)


def by_groups(result: Result, columns: list[str], form: str | None) -> None:
    """Print concepts by the groups of each column that is asked for, the largest differences first."""
    by_column = {name: tables.listed(result, groups.by_group(result, name)) for name in dict.fromkeys(columns)}
    compared = {
        name: tables.listed(result, groups.compare_groups(result, name))
        for name, table in by_column.items()
        if table["group"].nunique() == 2
    }
    several = len(by_column) > 1
    named = [table.assign(column=name) if several else table for name, table in by_column.items()]
    table = pd.concat(named, ignore_index=True)
    differences = {name: records(compared[name]) if name in compared else None for name in by_column}
    pages = {name: {"groups": records(own), "differences": differences[name]} for name, own in by_column.items()}
    # One column's tables; of several columns, those of each under its name.
    if p.printed(form, table, lambda: pages if several else pages[columns[0]]):
        return
    standing = Standing(result)
    for name, own in by_column.items():
        _print_groups(result, name, own, compared.get(name), standing)
    standing.print_legend(table["concept"])
    print_line(str(verdict(result)))


def _print_groups(
    result: Result, column: str, table: pd.DataFrame, compared: pd.DataFrame | None, standing: Standing
) -> None:
    """Print the sizes of the groups, the concepts by group, and the words that each group uses for a concept."""
    rows, labels = row_name(result.corpus), table["group"].drop_duplicates().tolist()
    sizes = table.drop_duplicates("group").set_index("group")["n_rows"]
    largest = sizes.sort_values(ascending=False, kind="stable").head(2 * _MOST_GROUPS)
    of_groups = ", ".join(f"{label} {size:,}" for label, size in largest.items())
    more = f" and {len(sizes) - len(largest)} smaller groups" if len(sizes) > len(largest) else ""
    missing = result.corpus.n_documents - int(sizes.sum())
    without = f" {missing:,} {rows} without a {column} are left out." if missing else ""
    print_line(f"{rows.capitalize()} by {column}: {of_groups}{more}.{without}")
    order = table["concept"].unique().tolist()
    columns, found_by = {"": standing.numbers, "concept": left("name")}, {FOUND_BY: standing.chains}
    if compared is not None:
        first, second = map(str, labels)
        shares = {label: share(field) for label, field in zip((first, second), compared.columns[2:4])}
        difference = {"difference": right("difference", text=points)}
        difference["interval"] = between("low", "high", text=p.points_between)
        print_table(compared, columns | shares | difference | found_by, optional=[FOUND_BY])
        print_line(
            f"{first}, {second}: share of the group's {rows} that use the concept (prevalence). Difference: {first} − "
            f"{second} in percentage points, with a 95% interval. `superwords effects` estimates differences between "
            "documents, which can be larger (docs/effects.md)."
        )
        order = compared["concept"].tolist()
    elif len(labels) <= _MOST_GROUPS:
        gap = table.groupby("concept").agg(low=("prevalence_low", "max"), high=("prevalence_high", "min"))
        order = (gap["low"] - gap["high"]).sort_values(ascending=False, kind="stable").index.tolist()
        of_concepts = table.drop_duplicates("concept").set_index("concept", drop=False).loc[order]
        print_table(of_concepts, columns | _shares_by_group(table) | found_by, optional=[FOUND_BY])
        print_line(
            f"Prevalence: share of each group's {rows} that use the concept; the clearest differences come first."
        )
    is_cut = len(labels) > _MOST_GROUPS
    if is_cut:
        table = table.sort_values("prevalence_low", ascending=False, kind="stable")
        table = table.groupby("concept").head(_MOST_HOLDERS)
    lines = table.set_index("concept", drop=False).loc[order]
    columns = {
        "": right("concept", "is_first", text=lambda j, is_first: standing.number(j) if is_first else ""),
        "concept": left("name", "is_first", text=lambda name, is_first: name if is_first else ""),
        column: left("group"),
        "used by": share("prevalence"),
        "interval": between("prevalence_low", "prevalence_high"),
        "with the words": listing("top_words", most=_OTHER_WORDS),
    }
    print_table(lines.assign(is_first=~lines.index.duplicated()), columns, optional=["interval"])
    which = f"The {_MOST_HOLDERS} groups that most surely use a concept; --csv has all. " if is_cut else ""
    print_line(
        f"{which}Used by: share of the group's {rows} that use the concept, with a 95% interval. "
        "With the words: what the group uses for it, the most telling words first."
    )
