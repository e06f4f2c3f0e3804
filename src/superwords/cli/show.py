"""`superwords show`: what a saved model holds, for people, as JSON or as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from superwords.cli.common import (
    AsJson,
    ModelFile,
    interval,
    only_one,
    percent,
    print_csv,
    print_json,
    print_line,
    print_table,
    records,
)
from superwords.cli.outcome import print_concepts, rows_of, verdict_of
from superwords.cli.standing import FOUND_IN, Standing
from superwords.concepts.tables import concept_names, n_sources, row_name
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.estimator import ConceptModel

app = typer.Typer(add_completion=False)

_WORDS_OF_CONCEPT = 25
_GROUP_WORDS = 6
_DIFFERENCES = 8


@app.command()
def show(
    model_file: ModelFile,
    concept: Annotated[int | None, typer.Option(help="One concept: its words and documents.")] = None,
    document: Annotated[str | None, typer.Option(help="One document: the concepts it holds.")] = None,
    word: Annotated[str | None, typer.Option(help="One word: its concepts and its company.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="A column: who holds what, and with which words.")
    ] = None,
    convergence: Annotated[
        bool, typer.Option("--convergence", help="Whether the chains agree, in figures.")
    ] = False,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
) -> None:
    """Look at a saved model: all its concepts, or one concept, document, word or grouping.

    \b
    superwords show model.sw
    superwords show model.sw --concept 3
    superwords show model.sw --word insurance
    superwords show model.sw --groups party --csv > party.csv
    """
    views = {
        "--concept": concept,
        "--document": document,
        "--word": word,
        "--groups": groups,
        "--convergence": convergence,
    }
    chosen = only_one(views)
    only_one({"--json": as_json, "--csv": as_csv})
    model = load_model(model_file)
    view = VIEWS[chosen](model, views[chosen] if chosen else None)
    if as_json:
        print_json(view.as_json())
    elif as_csv:
        print_csv(view.table)
    else:
        view.print()


def load_model(path: Path) -> ConceptModel:
    """A saved model that has something to show."""
    from superwords.storage import load

    model = load(path)
    if len(model.draws_) == 0 and "best_draw_" not in model.__dict__:
        raise InputError(f"{str(path)!r} holds no draw yet; sample it further before looking at it.")
    return model


class View:
    """One way of looking at a model: `table` is its main table."""

    table: pd.DataFrame

    def __init__(self, model: ConceptModel, asked: Any):
        self.model = model
        self.asked = asked
        self.read()

    def read(self) -> None:
        raise NotImplementedError

    def as_json(self) -> Any:
        return records(self.table)

    def print(self) -> None:
        raise NotImplementedError


class Concepts(View):
    """All concepts."""

    def read(self) -> None:
        self.table = self.model.concepts()

    def as_json(self) -> Any:
        corpus = self.model.corpus_
        return {
            "documents": corpus.n_documents,
            "source_documents": n_sources(corpus),
            "words": corpus.n_words,
            "tokens": corpus.n_tokens,
            "n_concepts": self.model.n_concepts_,
            "verdict": verdict_of(self.model),
            "concepts": records(self.table),
        }

    def print(self) -> None:
        corpus = self.model.corpus_
        n_concepts = self.model.n_concepts_
        print_line(f"{n_concepts} concepts of {corpus.n_words:,} words in {rows_of(self.model)}.")
        known = [name for name in corpus.notes.get("groups", []) if name in corpus.metadata.columns]
        print_concepts(self.model, known, most=None)
        print_line(verdict_of(self.model))


class Concept(View):
    """One concept: its words, and documents that show what it is."""

    def read(self) -> None:
        self.table = self.model.words_of(self.asked)
        self.documents = self.model.representative_documents(self.asked)
        self.row = self.model.concepts().iloc[self.asked - 1]

    def as_json(self) -> Any:
        concept = records(self.row.to_frame().T)[0]
        return {**concept, "word_table": records(self.table), "documents_shown": records(self.documents)}

    def print(self) -> None:
        row, corpus = self.row, self.model.corpus_
        rows = row_name(corpus)
        cut = "" if corpus.parent is None else f", in {row['source_documents']:,} of the documents"
        print_line(f"Concept {self.asked}: {row['name']}")
        print_line(
            f"held by {row['documents']:,} {rows} ({percent(row['prevalence'])}){cut}; "
            f"where held, {percent(row['strength'])} of the text; {row['n_words']} words; "
            f"found in {percent(row['stability'])} of the draws."
        )
        note = Standing(self.model).note(self.asked)
        if note:
            print_line(f"{note[0].upper()}{note[1:]}")
        shown = self.table.head(_WORDS_OF_CONCEPT)
        print_table(
            {"word": "left", "used by": "right", "interval": "right", "open to": "right", "sure": "right"},
            [
                (
                    *(one["word"], percent(one["share_used"]), interval(one["used_low"], one["used_high"])),
                    *(percent(one["share_on"]), percent(one["probability"])),
                )
                for one in shown.to_dict("records")
            ],
        )
        if len(shown) < len(self.table):
            print_line(f"… and {len(self.table) - len(shown)} more words.")
        print_line(
            f"Of the {rows} that hold the concept, so many use the word for it, and so many might; "
            "sure: share of the draws in which any might."
        )
        if len(self.documents):
            print_line(f"{rows.capitalize()} that show what it is:")
        for one in self.documents.to_dict("records"):
            quoted = f": {one['passage']}" if "passage" in one else ""
            print_line(f"  {one['document']} ({percent(one['weight'])}){quoted}")


class Document(View):
    """One document and the concepts it holds."""

    def read(self) -> None:
        corpus = self.model.corpus_
        is_passage = corpus.parent is not None and self.asked in corpus.ids
        every = self.model.documents(passages=is_passage)
        self.table = every[every["document"] == self.asked].sort_values("weight", ascending=False)
        sources = corpus.ids if corpus.parent is None else [*corpus.ids, *every["document"].unique()]
        if self.asked not in sources:
            some = ", ".join(repr(name) for name in corpus.ids[:3])
            raise InputError(f"There is no document {self.asked!r}; the ids are such as {some}.")

    def print(self) -> None:
        n_held, standing = len(self.table), Standing(self.model)
        print_line(f"{self.asked} holds {n_held} concept{'' if n_held == 1 else 's'}.")
        print_table(
            {
                **{"": "right", "concept": "words", "weight": "right", "interval": "right"},
                **{"sure": "right", FOUND_IN: "right"},
            },
            [
                (
                    *(standing.number(one["concept"]), one["concept_name"], percent(one["weight"])),
                    *(interval(one["low"], one["high"]), percent(one["probability"])),
                    standing.found_in(one["concept"]),
                )
                for one in self.table.to_dict("records")
            ],
        )
        standing.print_legend(self.table["concept"])


class Word(View):
    """One word: the words it shares concepts with, and those concepts."""

    def read(self) -> None:
        self.table = self.model.similar_words(self.asked)
        words = self.model.words()
        self.row = words[words["word"] == self.asked].iloc[0]

    def as_json(self) -> Any:
        return {**records(self.row.to_frame().T)[0], "similar_words": records(self.table)}

    def print(self) -> None:
        row, standing = self.row, Standing(self.model)
        rows = row_name(self.model.corpus_)
        print_line(f"{self.asked}: {row['tokens']:,} times in {row['documents']:,} {rows}.")
        names = concept_names(self.model)
        print_table(
            {"": "right", "concept": "words", "open to": "right", FOUND_IN: "right"},
            [
                (standing.number(j), names[j - 1], percent(share), standing.found_in(j))
                for j, share in zip(row["concepts"], row["shares"])
            ],
        )
        standing.print_legend(row["concepts"])
        print_table(
            {"shares a concept with": "left", "probability": "right", "error": "right"},
            [
                (one["word"], percent(one["probability"]), error_of(one["mcse"]))
                for one in self.table.to_dict("records")
            ],
        )


def points(difference: float) -> str:
    """A difference of two shares in percentage points."""
    return f"{100 * difference:+.0f}"


def error_of(mcse: float) -> str:
    return f"±{mcse:.1%}" if np.isfinite(mcse) else "–"


class Groups(View):
    """Concepts by the groups of a column."""

    def read(self) -> None:
        self.table = self.model.by_group(self.asked)

    def as_json(self) -> Any:
        return {"groups": records(self.table), "differences": self._differences()}

    def _differences(self) -> list[dict[str, Any]] | None:
        two = self.table["group"].nunique() == 2
        return records(self.model.compare_groups(self.asked)) if two else None

    def print(self) -> None:
        lines, standing = [], Standing(self.model)
        for number, rows in self.table.groupby("concept"):
            for n, one in enumerate(rows.to_dict("records")):
                held = interval(one["prevalence_low"], one["prevalence_high"])
                words = ", ".join(one["top_words"][:_GROUP_WORDS])
                j = int(str(number))
                first = (standing.number(j), one["name"], standing.found_in(j)) if n == 0 else ("", "", "")
                lines.append((*first, one["group"], percent(one["prevalence"]), held, words))
        columns = {"": "right", "concept": "name", FOUND_IN: "right", self.asked: "left", "held by": "right"}
        print_table({**columns, "interval": "right", "with the words": "words"}, lines)
        standing.print_legend(self.table["concept"])
        differences = self._differences()
        if not differences:
            return
        first, second = self.table["group"].drop_duplicates()
        print_table(
            {
                "": "right",
                "largest differences": "words",
                f"{first} − {second}": "right",
                "interval": "right",
            },
            [
                (
                    standing.number(one["concept"]),
                    one["name"],
                    points(one["difference"]),
                    interval(one["low"], one["high"], points),
                )
                for one in differences[:_DIFFERENCES]
            ],
        )


class Convergence(View):
    """R-hat, effective sample sizes and errors of the traced quantities."""

    def read(self) -> None:
        self.table = self.model.convergence()

    def as_json(self) -> Any:
        return {"verdict": verdict_of(self.model), "quantities": records(self.table)}

    def print(self) -> None:
        print_table(
            {"quantity": "left", "R-hat": "right", "effective draws": "right", "Monte-Carlo error": "right"},
            [
                (one["quantity"], f"{one['rhat']:.3f}", f"{one['ess']:.0f}", f"{one['mcse']:.3g}")
                for one in self.table.to_dict("records")
            ],
        )
        print_line(verdict_of(self.model))


VIEWS: dict[str | None, type[View]] = {
    None: Concepts,
    "--concept": Concept,
    "--document": Document,
    "--word": Word,
    "--groups": Groups,
    "--convergence": Convergence,
}
