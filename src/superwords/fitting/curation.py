"""What people decide about concepts: merged, hidden, named, gathered under themes. Sampling is not touched."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self

from superwords.concepts import curating
from superwords.concepts.alignment import Usage
from superwords.concepts.result import Result
from superwords.container import Choice
from superwords.fitting.relations import RelatedConcepts


class CuratedConcepts(RelatedConcepts):
    """The deciding part of `ConceptModel`. The examples use the `model` of the example in `ConceptModel`."""

    @cached_property
    def result_(self) -> Result:  # type: ignore[override]
        """What was found, with people's choices, read-only: tables, plots and pages are made of it."""
        return curating.curated(self.sampled_, self.choices_)

    def choose(self, choices: Sequence[Choice]) -> Self:
        """Take these for what people decided about the concepts, in the place of all earlier choices.

        Parameters
        ----------
        choices : sequence of Choice
            As `choices_` holds them.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> model.choose([]).choices_
        []
        """
        result = curating.curated(self.sampled_, choices)
        self.choices_, self.result_ = list(choices), result
        return self

    def merge(self, concepts: Sequence[int]) -> Self:
        """Take concepts together, under the number of the first, in every draw and in all tables and pages.

        Parameters
        ----------
        concepts : sequence of int
            Their numbers.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> len(model.merge([1, 2]).undo().concepts()) == model.n_concepts_
        True
        """
        return self.choose([*self.choices_, *curating.merge(self.result_, concepts)])

    def hide(self, concepts: int | Sequence[int]) -> Self:
        """Leave concepts out of all tables and pages.

        Parameters
        ----------
        concepts : int or sequence of int
            Their numbers.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> 1 in model.hide(1).concepts()["concept"].tolist()
        False
        >>> 1 in model.restore(1).concepts()["concept"].tolist()
        True
        """
        return self.choose([*self.choices_, *curating.hide(self.result_, concepts)])

    def restore(self, concepts: int | Sequence[int]) -> Self:
        """Show hidden concepts again, and take merged ones apart.

        Parameters
        ----------
        concepts : int or sequence of int
            Their numbers.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> len(model.hide(1).restore(1).concepts()) == model.n_concepts_
        True
        """
        return self.choose([*self.choices_, *curating.restore(self.result_, self.choices_, concepts)])

    def rename(self, names: Mapping[int, str]) -> Self:
        """Name concepts.

        Parameters
        ----------
        names : mapping
            From number to name; an empty name asks for the automatic one again.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> model.rename({1: "breakfast"}).names_[1]
        'breakfast'
        """
        return self.choose([*self.choices_, *curating.rename(self.result_, names)])

    def gather(self, theme: str, concepts: int | Sequence[int]) -> Self:
        """Put concepts under a theme.

        Parameters
        ----------
        theme : str
            Its name; an empty one takes the concepts out of theirs.
        concepts : int or sequence of int
            Their numbers.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> model.gather("at home", 1) is model
        True
        """
        return self.choose([*self.choices_, *curating.gather(self.result_, theme, concepts)])

    def undo(self) -> Self:
        """Take the last of these decisions back.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> model.choose([]).rename({1: "tea"}).undo().choices_
        []
        """
        return self.choose(curating.undone(self.choices_))

    def _carry_choices(self, before: Usage | None) -> None:
        """Hold on to what people decided where its concepts are still there, and say what is lost."""
        if before is not None:
            self.choices_, lost = curating.carried(self.choices_, before, self.sampled_.reference)
            for sentence in lost:
                warnings.warn(sentence, stacklevel=3)
