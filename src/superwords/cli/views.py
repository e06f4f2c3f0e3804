"""The views of a saved model that `superwords show` prints, and the list of concepts of `fit`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text

from superwords.analysis import documents, groups, tables, words
from superwords.analysis.ranking import TYPICAL
from superwords.analysis.verdict import convergence_table, verdict
from superwords.cli import printing
from superwords.cli.printing import Column, between, percent, print_line, print_table, printed, share, whole
from superwords.errors import InputError
from superwords.posterior.alignment import handful
from superwords.posterior.result import Result
from superwords.posterior.summary import USED_BY
from superwords.tabular import points, records
from superwords.text.corpus import Corpus, n_sources, row_name

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
_TOGETHER: dict[str, Column] = {
    "together": share("together"),
    "error": ("right", lambda one: f"±{one['mcse']:.1%}" if np.isfinite(one["mcse"]) else "–"),
}


class Standing:
    """Which concepts are leftovers, how often each was found again, and which are much alike."""

    def __init__(self, result: Result, concepts: pd.DataFrame | None = None):
        """Take the table of concepts where it was computed already."""
        table = tables.concept_list(result, 0) if concepts is None else concepts
        self._table, self._rows = table.set_index("concept"), row_name(result.corpus)
        self._few = handful(result.corpus.n_documents)
        self._n_chains = len(table["stability_by_chain"].iloc[0]) if len(table) else 0
        self._n_pilots = 0 if result.pilots is None else result.pilots.n_pilots
        self.numbers: Column = "right", lambda one: self.number(one["concept"])
        self.chains: Column = "right", lambda one: self._found_by(one["concept"])
        again: Column = "right", lambda one: self._found_again(one["concept"])
        # How reliable the concepts of a table are.
        self.columns: dict[str, Column] = ({_FOUND_AGAIN: again} if self._n_pilots else {}) | {FOUND_BY: self.chains}

    def number(self, concept: int) -> str:
        """Return a concept's number, with a mark if it is a leftover."""
        return f"{_MARK if self._table['leftover'][concept] else ''}{concept}"

    def _found_by(self, concept: int) -> str:
        """Return how many chains find the concept in at least half of their draws, as "3 of 4"."""
        return f"{self._table['found_by'][concept]} of {self._n_chains}"

    def _found_again(self, concept: int) -> str:
        """Return in how many fits to samples of the documents the concept was found again, as "7 of 8"."""
        return f"{self._table['found_again'][concept]:.0f} of {self._n_pilots}"

    def in_words(self, concept: int) -> str:
        """Return how often the concept was found, in words."""
        again = f"found again in {self._found_again(concept)} fits to samples; " if self._n_pilots else ""
        differ = "" if self._table["settled"][concept] else "figures not settled; "
        return f"{again}{differ}found by {self._found_by(concept)} chains"

    def much_like(self, concept: int) -> str:
        """Return which other concept it nearly repeats."""
        other = self._table["much_like"][concept]
        return "" if other is None else f"much like {other}"

    def note(self, concept: int) -> str:
        """Return why a concept is a leftover."""
        row = self._table.loc[concept]
        if not row["leftover"]:
            return ""
        if row["rows"] <= self._few:
            return f"used by only a handful of {self._rows}, perhaps a leftover."
        if self._n_pilots and row["found_again"] < self._n_pilots / 2:
            return f"found again in only {self._found_again(concept)} fits to samples of the documents."
        return "of a single word, perhaps a leftover."

    def print_legend(self, shown: Iterable[int]) -> None:
        """Print what the mark means, if one of these concepts has it."""
        if self._table["leftover"].loc[list(shown)].any():
            again = ", of a single word or that were found again in fewer than half of the fits to samples"
            kinds = again if self._n_pilots else " or of a single word"
            print_line(f"{_MARK} Leftovers: concepts of a handful of {self._rows}{kinds}.")


def fitted_groups(corpus: Corpus) -> list[str]:
    """Return the columns that were given to `fit` as groups."""
    return [name for name in corpus.notes.get("groups", []) if name in corpus.metadata.columns]


def counted(result: Result) -> str:
    """Return how many concepts there are, in how many documents, or passages of how many documents."""
    corpus = result.corpus
    rows = f"{corpus.n_documents:,} {row_name(corpus)}"
    of = "" if corpus.parent is None else f" of {n_sources(corpus):,} documents"
    return f"{_concepts(len(result.shown))} in {rows}{of}"


def _concepts(number: int) -> str:
    return f"{number} concept{'' if number == 1 else 's'}"


def print_concepts(
    result: Result, concepts: pd.DataFrame, columns: list[str], most: int | None = None, sort: str = "rows"
) -> None:
    """Print the first concepts, with their prevalence in each group of a column where there are few groups."""
    standing, rows = Standing(result, concepts), row_name(result.corpus)
    table = _sorted(tables.of_shown(result, concepts), sort)
    shown = table.iloc[:most]

    def words_of(row: dict[Any, Any]) -> Text:
        named = row["name"].split(", ")
        others = ", ".join(word for word in row["top_words"][:_WORDS_SHOWN] if word not in named)
        like = standing.much_like(row["concept"])
        return Text.assemble((row["name"], "bold"), f": {others}" if others else "", f" ({like})" if like else "")

    figures: dict[str, Column] = {rows: ("right", lambda one: f"{whole(one['rows'])} ({percent(one['prevalence'])})")}
    if result.corpus.parent is not None:
        figures["documents"] = "right", lambda one: whole(one["documents"])
    figures["coherence"] = "right", lambda one: printing.figure(one["coherence"])
    if sort not in ("rows", "coherence"):
        figures[sort] = share(sort)
    by_group: dict[str, Column] = {}
    for column in columns:
        of_groups = groups.by_group(result, column, 0)
        if of_groups["group"].nunique() <= _MOST_COLUMNS:
            by_group |= {f"{column} {label}": shares for label, shares in _shares_by_group(of_groups).items()}
    figures |= standing.columns | by_group
    may_go = [name for name in ("coherence", "documents") if name in figures and name != sort]
    columns_ = {"": standing.numbers, "concept": ("words", words_of), **figures}
    left_out = print_table(shown, columns_, optional=[*may_go, *reversed(by_group)])
    keys = {rows: "rows", _FOUND_AGAIN: "found_again", FOUND_BY: "found_by"}
    names = [name for name in figures if name not in left_out]
    notes = {name: tables.CONCEPT_COLUMNS.get(keys.get(name, name), "").format(rows=rows) for name in names}
    parts = [f"{name}: {note}" for name, note in notes.items() if note]
    if in_groups := [name for name in names if name in by_group]:
        parts.append(f"{', '.join(in_groups)}: the share of the group's {rows} that use it")
    legend = "; ".join(parts)
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
    prevalence = table.set_index(["concept", "group"])["prevalence"]

    def column(label: Any) -> Column:
        return "right", lambda one: percent(prevalence[one["concept"], label])

    return {str(label): column(label) for label in table["group"].unique()}


def _sorted(concepts: pd.DataFrame, sort: str) -> pd.DataFrame:
    return concepts.sort_values(["leftover", sort], ascending=[True, False], kind="stable")


# A view takes what was found, what was asked for, and "--json", "--csv" or None for people.


def all_concepts(result: Result, sort: str, form: str | None) -> None:
    """Print all concepts, sorted by what is asked for, and words of those that too few chains find."""
    table, corpus = _sorted(tables.concept_list(result), sort), result.corpus

    def as_json() -> dict[str, Any]:
        counts = {"rows": corpus.n_documents, "documents": n_sources(corpus)}
        counts |= {"words": corpus.n_words, "tokens": corpus.n_tokens, "n_concepts": len(table)}
        others, judged = records(tables.other_table(result)), str(verdict(result))
        return {**counts, "verdict": judged, "concepts": records(table), "other_concepts": others}

    if printed(form, table, as_json):
        return
    print_line(f"{counted(result)}, {corpus.n_words:,} different words.")
    print_concepts(result, table, fitted_groups(corpus), sort=sort)
    others = tables.other_table(result, _OTHER_WORDS)
    if len(others):
        print_line("Found by too few chains to be listed:")
    for one in others.to_dict("records"):
        n_chains = len(one["stability_by_chain"])
        print_line(f"  {', '.join(one['top_words'])} ({one['found_by']} of {n_chains} chains)")
    print_line(str(verdict(result)))


def one_concept(result: Result, concept: int, form: str | None) -> None:
    """Print a concept's words, and documents that show what it is."""
    table, shown_by = tables.word_table(result, concept), documents.representative_documents(result, concept)
    row: Any = tables.concept_list(result).set_index("concept", drop=False).loc[concept]
    own = records(row.to_frame().T)[0]
    tables_ = {"word_table": table, "documents_shown": shown_by}
    if printed(form, table, lambda: {**own, **{name: records(one) for name, one in tables_.items()}}):
        return
    corpus, standing = result.corpus, Standing(result)
    rows = row_name(corpus)
    cut = "" if corpus.parent is None else f", in {whole(row['documents'])} of the documents"
    print_line(f"Concept {concept}: {row['name']}")
    print_line(
        f"Used by {whole(row['rows'])} {rows} (prevalence {percent(row['prevalence'])}, 95% interval "
        f"{printing.interval(row['prevalence_low'], row['prevalence_high'])}){cut}; "
        f"where it is used, it is {percent(row['strength'])} of the text (strength); "
        f"{standing.in_words(concept)}; coherence {printing.figure(row['coherence'])}. {_OVER_DRAWS}"
    )
    print_line(f"On average a draw uses {whole(row['n_words'])} words for it.")
    for note in filter(None, (standing.note(concept), standing.much_like(concept))):
        print_line(f"{note[0].upper()}{note[1:].removesuffix('.')}.")
    used: dict[str, Column] = {"used by": share("share_used"), "interval": between("used_low", "used_high")}
    print_table(table.head(_WORDS_OF_CONCEPT), {"word": "left", **used, "draws": share("probability")})
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
        print_line(f"  {printing.called(one['document'], labels)}, weight {percent(one['weight'])}{quoted}")


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
    if printed(form, table):
        return
    if table.empty and result.n_concepts:
        print_line(f"{document} has no word of the vocabulary, so nothing is known about its concepts.")
        return
    standing, held_in = Standing(result), table["probability"]
    shown = table[(held_in >= _LEAST_HELD) | (np.arange(len(table)) == 0)]
    held = _concepts(int((held_in >= TYPICAL).sum()))
    print_line(f"{document} uses {held}, in at least half of the draws that find each.")
    columns = {"": standing.numbers, "concept": ("words", "concept_name"), "probability": share("probability")}
    weight: dict[str, Column] = {"weight": share("weight"), "interval": between("low", "high")}
    print_table(shown, {**columns, **standing.columns, **weight})
    if len(shown) < len(table):
        rest = _concepts(len(table) - len(shown))
        print_line(f"… and {rest} in fewer than {percent(_LEAST_HELD)} of the draws.")
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
    if printed(form, table, lambda: {"words": given, "similar_words": records(table)}):
        return
    print_line(f"Words that belong with {', '.join(given)}:")
    evidence: Column = "right", lambda one: f"{one['evidence']:.1f}"
    print_table(table, {"word": "left", "evidence": evidence, **_TOGETHER})
    print_line(
        "Evidence: how far the word is used for their concepts, and beside them, beyond chance, in standard "
        "deviations. Together: the probability that a use of it and a use of one of them are for the same concept, "
        "with its Monte-Carlo error."
    )


def _one_word(result: Result, word: str, form: str | None) -> None:
    table, concepts = words.similar_words(result, word), words.concepts_of_word(result, word)
    vocabulary = tables.vocabulary_table(result)
    row = vocabulary[vocabulary["word"] == word]
    both = {"concept_table": concepts, "similar_words": table}
    if printed(form, table, lambda: records(row)[0] | {name: records(one) for name, one in both.items()}):
        return
    rows, standing = row_name(result.corpus), Standing(result)
    print_line(f"{word}: {row['tokens'].iloc[0]:,} times in {row['rows'].iloc[0]:,} {rows}.")
    shown = concepts[concepts["share_of_uses"] >= _LEAST_USE]
    if shown.empty:
        print_line(f"No listed concept uses {word} in at least half of the draws.")
    else:
        names = tables.concept_names(result)
        columns = {"": standing.numbers, "concept": ("words", lambda one: names[one["concept"] - 1])}
        uses: dict[str, Column] = {"of its uses": share("share_of_uses"), "used by": share("share_used")}
        print_table(shown, {**columns, **uses, **standing.columns})
        if rest := len(concepts) - len(shown):
            print_line(f"… and {_concepts(rest)} with fewer than {percent(_LEAST_USE)} of its uses.")
        print_line(
            f"Of its uses: share of the {rows} using the word that do so for the concept, over all draws; "
            f"used by: share of the concept's {rows} that do so, over the draws that find it."
        )
        standing.print_legend(shown["concept"])
    print_table(table, {"word beside it": ("left", "word"), **_TOGETHER})
    print_line(
        f"Together: take a {rows.removesuffix('s')} that uses the one word and one that uses the other; this is "
        "the probability that both use them for the same concept, with its Monte-Carlo error."
    )


def convergence(result: Result, _: Any, form: str | None) -> None:
    """Print R-hat, effective sample sizes and errors of the traced quantities."""
    table = convergence_table(result)
    if printed(form, table, lambda: {"verdict": str(verdict(result)), "quantities": records(table)}):
        return

    def number(field: str, digits: str) -> Column:
        # "–" where one cannot be judged: too few draws, one chain, or a constant.
        return "right", lambda one: "–" if np.isnan(one[field]) else format(one[field], digits)

    sizes = {"R-hat": number("rhat", ".3f"), "ESS bulk": number("ess", ".0f"), "ESS tail": number("ess_tail", ".0f")}
    error = number("mcse", ".3g")
    print_table(table, {"quantity": ("words", "label"), **sizes, "Monte-Carlo error": error})
    print_line(str(verdict(result)))


def methods(_: Result, path: Path, form: str | None) -> None:
    """Print the methods paragraph for a paper."""
    from superwords.analysis.export import Export
    from superwords.fitting.estimator import load
    from superwords.paper.methods import methods_paragraph

    text = methods_paragraph(Export(load(path)))
    if not printed(form, pd.DataFrame({"methods": [text]}), lambda: {"methods": text}):
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
    table = pd.concat(named, ignore_index=True) if several else named[0]

    def as_json() -> Any:
        """Return one column's tables; of several columns, those of each under its name."""
        differences = {name: records(compared[name]) if name in compared else None for name in by_column}
        told = {name: {"groups": records(by_column[name]), "differences": differences[name]} for name in by_column}
        return told if several else next(iter(told.values()))

    if printed(form, table, as_json):
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
    told = ", ".join(f"{label} {size:,}" for label, size in largest.items())
    more = f" and {len(sizes) - len(largest)} smaller groups" if len(sizes) > len(largest) else ""
    missing = result.corpus.n_documents - int(sizes.sum())
    without = f" {missing:,} {rows} without a {column} are left out." if missing else ""
    print_line(f"{rows.capitalize()} by {column}: {told}{more}.{without}")
    order = table["concept"].unique().tolist()
    columns: dict[str, Column] = {"": standing.numbers, "concept": ("words", "name")}
    found_by = {FOUND_BY: standing.chains}
    if compared is not None:
        first, second = map(str, labels)
        shares = {label: share(field) for label, field in zip((first, second), compared.columns[2:4])}
        difference: Column = "right", lambda one: points(one["difference"])
        points_ = {"difference": difference, "interval": between("low", "high", printing.points_between)}
        print_table(compared, columns | shares | points_ | found_by, optional=[FOUND_BY])
        print_line(
            f"{first}, {second}: share of the group's {rows} that use the concept (prevalence). Difference: {first} − "
            f"{second} in percentage points, with a 95% interval. The largest differences come first. These are shares "
            "in the draws as they are; `superwords effects` estimates differences between documents, which can be "
            "larger (docs/effects.md)."
        )
        order = compared["concept"].tolist()
    elif len(labels) <= _MOST_GROUPS:
        gap = table.groupby("concept").agg(low=("prevalence_low", "max"), high=("prevalence_high", "min"))
        order = (gap["low"] - gap["high"]).sort_values(ascending=False, kind="stable").index.tolist()
        first_rows = table.drop_duplicates("concept").set_index("concept", drop=False).loc[order]
        print_table(first_rows, columns | _shares_by_group(table) | found_by, optional=[FOUND_BY])
        print_line(
            f"Shares of each group's {rows} that use the concept (prevalence). First come concepts on which two groups "
            "clearly differ: their 95% intervals lie farthest apart."
        )
    is_cut = len(labels) > _MOST_GROUPS
    lines: list[dict[Any, Any]] = []
    for concept in order:
        own = table[table["concept"] == concept]
        if is_cut:
            own = own.sort_values("prevalence_low", ascending=False, kind="stable").head(_MOST_HOLDERS)
        lines += own.assign(number=[standing.number(concept), *[""] * (len(own) - 1)]).to_dict("records")
    columns = {"": ("right", "number"), "concept": ("name", lambda one: one["name"] if one["number"] else "")}
    columns |= {column: ("name", "group"), "used by": share("prevalence")}
    columns |= {"interval": between("prevalence_low", "prevalence_high")}
    print_table(lines, columns | {"with the words": printing.words_of("top_words", 6)}, optional=["interval"])
    which = f"The {_MOST_HOLDERS} groups that most surely use a concept; --csv has all. " if is_cut else ""
    print_line(
        f"{which}Used by: share of the group's {rows} that use the concept, mean over the draws that find it, "
        "with a 95% interval. With the words: what the group uses for it, the most telling words first."
    )
