"""The ways of looking at a model that `superwords show` knows, but for groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from superwords.cli.concept_list import (
    OVER_DRAWS,
    fitted_groups,
    print_concepts,
    rows_of,
    sorted_concepts,
    verdict_of,
)
from superwords.cli.printing import called, figure, interval, percent, print_line, print_table, whole
from superwords.cli.verdict_lines import FOUND_BY, Standing
from superwords.concepts.labels import row_labels
from superwords.concepts.ranking import TYPICAL
from superwords.concepts.summary import USED_BY
from superwords.corpus.corpus import n_sources, row_name
from superwords.errors import InputError
from superwords.tabular import records

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

_WORDS_OF_CONCEPT = 25
_OTHER_WORDS = 6
_LEAST_HELD = 0.1  # share of the draws: a document's concepts below it are only counted
_LEAST_USE = 0.01  # share of a word's uses
_FIGURES = {"rhat": ".3f", "ess": ".0f", "mcse": ".3g"}


class ModelView:
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


class ConceptsView(ModelView):
    """All concepts, sorted by what is asked for."""

    def read(self) -> None:
        self.table = sorted_concepts(self.model.concepts(), self.asked)

    def as_json(self) -> Any:
        corpus = self.model.corpus_
        return {
            "rows": corpus.n_documents,
            "documents": n_sources(corpus),
            "words": corpus.n_words,
            "tokens": corpus.n_tokens,
            "n_concepts": len(self.table),
            "verdict": verdict_of(self.model),
            "concepts": records(self.table),
            "other_concepts": records(self.model.other_concepts()),
        }

    def print(self) -> None:
        corpus = self.model.corpus_
        print_line(
            f"{_concepts(len(self.model.result_.shown))} in {rows_of(self.model)}, {corpus.n_words:,} different words."
        )
        print_concepts(self.model, fitted_groups(corpus), sort=self.asked)
        self._print_others()
        print_line(verdict_of(self.model))

    def _print_others(self) -> None:
        """Concepts that other chains find."""
        others = self.model.other_concepts(_OTHER_WORDS)
        if len(others):
            print_line("Other chains also find these concepts, which are not listed above:")
        for one in others.to_dict("records"):
            n_chains = len(one["stability_by_chain"])
            print_line(f"  {', '.join(one['top_words'])} ({one['found_by']} of {n_chains} chains)")


class ConceptView(ModelView):
    """One concept: its words, and documents that show what it is."""

    def read(self) -> None:
        self.table = self.model.words_of(self.asked)
        self.documents = self.model.representative_documents(self.asked)
        self.row = self.model.concepts().set_index("concept", drop=False).loc[self.asked]

    def as_json(self) -> Any:
        concept = records(self.row.to_frame().T)[0]
        return {**concept, "word_table": records(self.table), "documents_shown": records(self.documents)}

    def print(self) -> None:
        row, corpus = self.row, self.model.corpus_
        rows = row_name(corpus)
        standing = Standing(self.model)
        cut = "" if corpus.parent is None else f", in {whole(row['documents'])} of the documents"
        print_line(f"Concept {self.asked}: {row['name']}")
        print_line(
            f"Held by {whole(row['rows'])} {rows} (prevalence {percent(row['prevalence'])}){cut}; "
            f"where it is held, it is {percent(row['strength'])} of the text (strength); "
            f"found by {standing.found_by(self.asked)} chains (stability {percent(row['stability'])}); "
            f"coherence {figure(row['coherence'])}. {OVER_DRAWS}"
        )
        print_line(f"On average a draw uses {whole(row['n_words'])} words for it.")
        for note in (standing.note(self.asked), standing.much_like(self.asked)):
            if note:
                print_line(f"{note[0].upper()}{note[1:].removesuffix('.')}.")
        shown = self.table.head(_WORDS_OF_CONCEPT)
        print_table(
            {"word": "left", "used by": "right", "interval": "right", "draws": "right"},
            [
                (
                    *(one["word"], percent(one["share_used"]), interval(one["used_low"], one["used_high"])),
                    percent(one["probability"]),
                )
                for one in shown.to_dict("records")
            ],
        )
        if len(shown) < len(self.table):
            print_line(f"… and {len(self.table) - len(shown):,} more words.")
        print_line(
            f"Used by: share of the {rows} holding the concept that use the word for it, with a 95% interval; draws: "
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
    """One document and the concepts it holds, the surest first."""

    def read(self) -> None:
        from superwords.concepts.tables import one_document, sources

        corpus = self.model.corpus_
        is_passage = self.asked in corpus.ids
        names = corpus.ids if is_passage or corpus.parent is None else sources(corpus)[0]
        if self.asked not in names:
            some = ", ".join(repr(name) for name in corpus.ids[:3])
            raise InputError(f"There is no document {self.asked!r}; ids look like {some}.")
        table = one_document(self.model.result_, names.index(self.asked), is_passage)
        # Those it holds in half of the draws by weight, the others after them by how sure they are.
        held_in = table["probability"]
        order = np.argsort(-np.where(held_in >= TYPICAL, 1 + table["weight"], held_in), kind="stable")
        self.table = table.iloc[order]

    def print(self) -> None:
        standing = Standing(self.model)
        held_in = self.table["probability"]
        shown = self.table[(held_in >= _LEAST_HELD) | (np.arange(len(self.table)) == 0)]
        if self.table.empty and self.model.n_concepts_:
            print_line(f"{self.asked} has no word of the vocabulary, so nothing is known about its concepts.")
            return
        held = _concepts(int((held_in >= TYPICAL).sum()))
        print_line(f"{self.asked} holds {held}, in at least half of the draws that find each.")
        print_table(
            {
                **{"": "right", "concept": "words", "held in": "right", FOUND_BY: "right"},
                **{"weight": "right", "interval": "right"},
            },
            [
                (
                    *(standing.number(one["concept"]), one["concept_name"], percent(one["probability"])),
                    *(standing.found_by(one["concept"]), percent(one["weight"])),
                    interval(one["low"], one["high"]),
                )
                for one in shown.to_dict("records")
            ],
        )
        if len(shown) < len(self.table):
            rest = len(self.table) - len(shown)
            print_line(f"… and {_concepts(rest)} in fewer than {percent(_LEAST_HELD)} of the draws.")
        print_line(
            "Held in: of the draws that find the concept, the share in which it holds it; found by: how many chains "
            "find the concept. Weight: share of its text, mean and 95% interval over the same draws."
        )
        standing.print_legend(shown["concept"])


def _concepts(number: int) -> str:
    return f"{number} concept{'' if number == 1 else 's'}"


class WordView(ModelView):
    """One word: the words it shares concepts with, and those concepts."""

    def read(self) -> None:
        from superwords.concepts.examples import concepts_of_word

        self.table = self.model.similar_words(self.asked)
        self.concepts = concepts_of_word(self.model.result_, self.asked)
        words = self.model.words()
        self.row = words[words["word"] == self.asked].iloc[0]

    def as_json(self) -> Any:
        tables = {"concept_table": records(self.concepts), "similar_words": records(self.table)}
        return {**records(self.row.to_frame().T)[0], **tables}

    def print(self) -> None:
        rows = row_name(self.model.corpus_)
        print_line(f"{self.asked}: {self.row['tokens']:,} times in {self.row['rows']:,} {rows}.")
        self._print_concepts(rows)
        print_table(
            {"word beside it": "left", "together": "right", "error": "right"},
            [
                (one["word"], percent(one["together"]), _error_of(one["mcse"]))
                for one in self.table.to_dict("records")
            ],
        )
        print_line(
            f"Together: take a {rows.removesuffix('s')} that uses the one word and one that uses the other; this is "
            "the probability that both use them for the same concept, with its Monte-Carlo error."
        )

    def _print_concepts(self, rows: str) -> None:
        from superwords.concepts.tables import concept_names

        names, standing = concept_names(self.model.result_), Standing(self.model)
        shown = self.concepts[self.concepts["share_of_uses"] >= _LEAST_USE]
        print_table(
            {"": "right", "concept": "words", "of its uses": "right", "used by": "right", FOUND_BY: "right"},
            [
                (
                    *(standing.number(one["concept"]), names[one["concept"] - 1]),
                    *(
                        percent(one["share_of_uses"]),
                        percent(one["share_used"]),
                        standing.found_by(one["concept"]),
                    ),
                )
                for one in shown.to_dict("records")
            ],
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
        self.table = self.model.similar_words(self.asked)

    def as_json(self) -> Any:
        return {"words": self.asked, "similar_words": records(self.table)}

    def print(self) -> None:
        print_line(f"Words that belong with {', '.join(self.asked)}:")
        print_table(
            {"word": "left", "evidence": "right", "together": "right", "error": "right"},
            [
                (one["word"], f"{one['evidence']:.1f}", percent(one["together"]), _error_of(one["mcse"]))
                for one in self.table.to_dict("records")
            ],
        )
        print_line(
            "Evidence: how far the word is used for their concepts, and beside them, beyond chance, in standard "
            "deviations. Together: the probability that a use of it and a use of one of them are for the same concept, "
            "with its Monte-Carlo error."
        )


class ConvergenceView(ModelView):
    """R-hat, effective sample sizes and errors of the traced quantities."""

    def read(self) -> None:
        self.table = self.model.convergence()

    def as_json(self) -> Any:
        return {
            "verdict": verdict_of(self.model),
            "chain_weights": self.model.result_.chain_weights.tolist(),
            "quantities": records(self.table),
        }

    def print(self) -> None:
        print_table(
            {"quantity": "left", "R-hat": "right", "effective draws": "right", "Monte-Carlo error": "right"},
            [
                (one["quantity"], *(self._told(one[name], form) for name, form in _FIGURES.items()))
                for one in self.table.to_dict("records")
            ],
        )
        weights = self.model.result_.chain_weights
        if len(weights) > 1:
            told = ", ".join(percent(weight) for weight in weights)
            print_line(f"Weight of each chain, by how well it predicts held-out tokens: {told}.")
        print_line(verdict_of(self.model))

    def _told(self, value: float, form: str) -> str:
        """A figure; where it is missing, why: only R-hat can be, of draws that are enough."""
        if not np.isnan(value):
            return format(value, form)
        return "too few draws" if self.table["ess"].isna().any() else "one chain"


def _error_of(mcse: float) -> str:
    return f"±{mcse:.1%}" if np.isfinite(mcse) else "–"
