"""How far concepts can be relied on, as every command says it beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from superwords.cli.common import percent, print_line
from superwords.corpus.corpus import row_name

if TYPE_CHECKING:
    import pandas as pd

    from superwords.fitting.estimator import ConceptModel

FOUND_IN = "found in"  # a column: percent of the draws
_MARK = "*"


class Standing:
    """Which concepts are leftovers of a handful of rows, and the share of the draws that each is found in."""

    def __init__(self, model: ConceptModel, concepts: pd.DataFrame | None = None):
        """`concepts` is the model's table of them, where it is at hand already."""
        table = (model.concepts(0) if concepts is None else concepts).set_index("concept")
        self._stability, self._leftover = table["stability"], table["leftover"]
        self._rows = row_name(model.corpus_)

    def number(self, concept: int) -> str:
        """A concept's number, with a mark if it is a leftover."""
        return f"{_MARK if self._leftover[concept] else ''}{concept}"

    def found_in(self, concept: int) -> str:
        return percent(self._stability[concept])

    def note(self, concept: int) -> str:
        """What is to be said of a leftover."""
        few = f"held by only a handful of {self._rows} in the most probable draw, perhaps a leftover."
        return few if self._leftover[concept] else ""

    def print_legend(self, shown: Iterable[int]) -> None:
        """What the mark means, if one of these concepts has it."""
        marked = [self.note(concept) for concept in shown if self._leftover[concept]]
        if marked:
            print_line(f"{_MARK} {marked[0]}")
