"""What people decide about concepts: merged, hidden, named, gathered under themes. Sampling is not touched."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Self

import pandas as pd
from scipy import sparse

from superwords.analysis import curation as curating
from superwords.analysis import proposals
from superwords.analysis.tables import TOP_WORDS, concept_list
from superwords.errors import InputError
from superwords.fitting.relations import RelatedConcepts
from superwords.posterior.result import Result
from superwords.storage.model_file import Choice


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

    def concepts(self, n_words: int = TOP_WORDS) -> pd.DataFrame:
        """Return all concepts, those of most documents first.

        Parameters
        ----------
        n_words : int
            How many words of each concept to list.

        Returns
        -------
        DataFrame
            A row per concept: its number and name, its description if there are any, prevalence, strength, first words,
            how many chains find it, and whether it is a leftover. docs/model.md explains every column.

        Examples
        --------
        >>> len(model.concepts()) == model.n_concepts_
        True
        """
        return concept_list(self.result_, n_words)

    def name_prompt(self, concept: int | None = None, language: str = "en") -> str:
        """Return the prompt that asks for a concept's name, or one for all concepts, to paste into a chat.

        Parameters
        ----------
        concept : int, optional
            Its number; all concepts if not given.
        language : str
            The language of the name: a code such as "en".

        Returns
        -------
        str

        Examples
        --------
        >>> model.top_words(1)[0] in model.name_prompt(1)
        True
        """
        if concept is None:
            return proposals.prompt_for_all(self.result_, language)
        return proposals.name_prompt(self.result_, concept, language, self.taken_names([concept]))

    def propose_names(
        self,
        ask: Callable[[str], str] | str,
        language: str = "en",
        concepts: int | Sequence[int] | None = None,
    ) -> pd.DataFrame:
        """Let a language model propose names, each with a sentence; they are marked as proposed until accepted.

        Parameters
        ----------
        ask : function or str
            A function from prompt to reply (a local model, an API of your choice), called for each concept; or the
            reply to `name_prompt()`, pasted.
        language : str
            The language of the names: a code such as "en".
        concepts : int or sequence of int, optional
            Their numbers; all without a name if not given.

        Returns
        -------
        DataFrame
            The proposals beside the words; `problem` tells why a concept got no name.

        Examples
        --------
        >>> names = iter(["Breakfast", "Sea"] + ["More"] * 20)
        >>> table = model.propose_names(lambda prompt: f"Name: {next(names)}\\nDescription: What it is.")
        >>> table["name"][0], model.concepts()["name"][0]
        ('Breakfast', 'Breakfast (proposed)')
        >>> model.accept_names().names_[1]
        'Breakfast'
        """
        if isinstance(ask, str):
            found = proposals.pasted(self.result_, ask, self.taken_names())
        elif callable(ask):
            named = curating.decisions(self.choices_).names
            wanted = [j for j in self.result_.shown if j not in named] if concepts is None else concepts
            numbers = curating.shown_numbers(self.result_, wanted)
            found = proposals.propose(self.result_, ask, language, numbers, self.taken_names(numbers))
        else:
            raise InputError(
                f"{ask!r} cannot be asked; give a function from prompt to text, or the reply itself."
            )
        self.choose([*self.choices_, *curating.propose(self.result_, found)])
        return proposals.proposal_table(self.result_, found)

    def accept_names(self, concepts: int | Sequence[int] | None = None) -> Self:
        """Accept proposed names.

        Parameters
        ----------
        concepts : int or sequence of int, optional
            Their numbers; all with a proposal if not given.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> table = model.propose_names("1: Breakfast | What people drink.")
        >>> model.accept_names(1).names_[1]
        'Breakfast'
        """
        return self.choose([*self.choices_, *curating.accept(self.result_, self.choices_, concepts)])

    @property
    def descriptions_(self) -> dict[int, str]:
        """Sentences that describe concepts, by number, as they were proposed."""
        return curating.decisions(self.choices_).descriptions

    def taken_names(self, concepts: Sequence[int] = ()) -> list[str]:
        """Return the names and proposals of all concepts but these.

        Parameters
        ----------
        concepts : sequence of int
            Numbers to leave out.

        Returns
        -------
        list of str

        Examples
        --------
        >>> model.choose([]).rename({1: "tea"}).taken_names()
        ['tea']
        """
        decided = curating.decisions(self.choices_)
        return [name for j, name in (decided.proposed | decided.names).items() if j not in concepts]

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

    def _carry_choices(self, before: sparse.csc_array | None) -> None:
        """Hold on to what people decided where its concepts are still there, and say what is lost."""
        if before is not None:
            self.choices_, lost = curating.carried(self.choices_, before, self.sampled_.consensus.description)
            for sentence in lost:
                warnings.warn(sentence, stacklevel=3)


def take_choices(model: CuratedConcepts, earlier: CuratedConcepts) -> None:
    """Take over what people decided about an earlier state of a model, as far as its concepts are still there."""
    before = earlier.sampled_.consensus.description if earlier.choices_ else None
    model.choices_ = list(earlier.choices_)
    model.__dict__.pop("result_", None)
    model._carry_choices(before)
