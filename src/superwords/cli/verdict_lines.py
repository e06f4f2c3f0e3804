"""How far concepts can be relied on, as every command says it beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from superwords.cli.printing import print_line
from superwords.corpus.corpus import row_name

if TYPE_CHECKING:
    import pandas as pd

    from superwords.fitting.estimator import ConceptModel

FOUND_BY = "found by"  # a column: so many of the chains
_MARK = "*"


class Standing:
    """Which concepts are leftovers of a handful of rows, how many chains find each, and which are much alike."""

    def __init__(self, model: ConceptModel, concepts: pd.DataFrame | None = None):
        """`concepts` is the model's table of them, where it is at hand already."""
        table = (model.concepts(0) if concepts is None else concepts).set_index("concept")
        self._found_by, self._leftover, self._much_like = (
            table["found_by"],
            table["leftover"],
            table["much_like"],
        )
        self._n_chains = len(table["stability_by_chain"].iloc[0]) if len(table) else 0
        self._rows = row_name(model.corpus_)

    def number(self, concept: int) -> str:
        """A concept's number, with a mark if it is a leftover."""
        return f"{_MARK if self._leftover[concept] else ''}{concept}"

    def found_by(self, concept: int) -> str:
        """ "3 of 4": chains of which at least half of the draws find the concept."""
        return f"{self._found_by[concept]} of {self._n_chains}"

    def much_like(self, concept: int) -> str:
        """Which other concept it nearly repeats."""
        other = self._much_like[concept]
        return "" if other is None else f"much like {other}"

    def note(self, concept: int) -> str:
        """What is to be said of a leftover."""
        few = f"held by only a handful of {self._rows}, perhaps a leftover."
        return few if self._leftover[concept] else ""

    def print_legend(self, shown: Iterable[int]) -> None:
        """What the mark means, if one of these concepts has it."""
        marked = [self.note(concept) for concept in shown if self._leftover[concept]]
        if marked:
            print_line(f"{_MARK} {marked[0]}")
