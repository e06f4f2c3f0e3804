"""User decisions about concepts (names, merges, themes), applied to a result and kept in its model file.

Of one kind and concept the last decision counts. Decisions do not change a concept's number (1, 2, …): a merged concept
has that of its first member, and the numbers of the other members and of hidden concepts are not shown.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.analysis.naming import LONGEST_NAME, LONGEST_TEXT, Proposal, checked_name
from superwords.analysis.tables import concept_index
from superwords.errors import InputError, StorageError, is_whole
from superwords.posterior.alignment import find_partners, rematch
from superwords.posterior.result import Result
from superwords.posterior.summary import summarize
from superwords.storage.model_file import Choice, ModelFile, translate_corruption
from superwords.tabular import listed

NAME, MERGE, HIDE, THEME, PROPOSED, ABOUT = KINDS = "name", "merge", "hide", "theme", "proposed", "about"
# What the history says of a decision and of its reversal, and how a lost one is called.
_SAID = {
    NAME: ("called “{}”.", "called by the automatic name again.", "the name {!r} of concept {}"),
    MERGE: ("merged into concept {}.", "shown apart again.", "the merge of concept {1} into {0}"),
    HIDE: ("hidden.", "shown again.", "the decision to hide concept {1}"),
    THEME: ("in the theme “{}”.", "in no theme.", "the theme {!r} of concept {}"),
    PROPOSED: ("given the proposed name “{}”.", "without a proposed name.", "the proposed name {!r} of concept {}"),
    ABOUT: ("described: {}", "without a description.", "the description of concept {1}"),
}


class Curation(NamedTuple):
    """The current decisions, by number of the concept."""

    names: dict[int, str]
    merged: dict[int, int]  # member: the concept that it is merged into
    hidden: set[int]
    themes: dict[int, str]
    proposed: dict[int, str]  # names not accepted yet
    descriptions: dict[int, str]

    @property
    def excluded(self) -> dict[int, str]:
        """The concepts that are not shown, and why."""
        why = {one: f"is merged into concept {self._top(one)}" for one in self.merged}
        return why | {one: "is hidden" for one in (*why, *self.hidden) if self._top(one) in self.hidden}

    def _top(self, concept: int) -> int:
        seen = {concept}
        while concept in self.merged:
            concept = self.merged[concept]
            if concept in seen:
                raise InputError("The choices merge a concept into itself; undo them.")
            seen.add(concept)
        return concept

    def taken(self, concepts: Sequence[int] = ()) -> list[str]:
        """Return the names and proposals of all concepts but these."""
        return [name for j, name in (self.proposed | self.names).items() if j not in concepts]

    def columns(self, n_concepts: int) -> np.ndarray:
        """Return (J) the column (0, 1, …) of each concept, -1 if it is hidden."""
        top = [self._top(concept) for concept in range(1, n_concepts + 1)]
        return np.array([-1 if one in self.hidden else one - 1 for one in top], int)


def decisions(choices: Iterable[Choice]) -> Curation:
    """Return the current decisions: the last of each kind and concept counts, and an empty value cancels it."""
    last = {(one.kind, one.concept): one.value for one in choices}
    found = {kind: {c: value for (k, c), value in last.items() if k == kind and value} for kind in KINDS}
    try:
        merged = {concept: int(value) for concept, value in found[MERGE].items()}
    except ValueError:
        raise InputError("A choice merges a concept into one that has no number.") from None
    return Curation(found[NAME], merged, set(found[HIDE]), found[THEME], found[PROPOSED], found[ABOUT])


def curated(sampled: Result, choices: Sequence[Choice]) -> Result:
    """Return the result with choices applied in every draw; `sampled` itself if there are none."""
    decided = decisions(choices)
    known = set(range(1, sampled.n_concepts + 1)) if choices else set[int]()
    unknown = ({one.concept for one in choices} | set(decided.merged.values())) - known
    if unknown:
        raise InputError(f"The choices speak of concept {min(unknown)}, which the model does not have.")
    if not any(decided):
        return sampled
    proposed, excluded = {one: f"{name} (proposed)" for one, name in decided.proposed.items()}, decided.excluded
    names, about = sampled.names | proposed | decided.names, decided.descriptions
    result = replace(
        sampled, names=names, excluded=excluded, themes=decided.themes, descriptions=about, choices=choices
    )
    result.sampled = sampled
    as_sampled = {"spaced", "best_draw", "consensus_draw", "co_membership", "word_sets"}
    as_sampled |= {"trace_values"} | (set() if excluded else {"summary", "concept_trace", "weights"})
    for name in as_sampled & set(vars(sampled)):  # as far as they are computed
        setattr(result, name, getattr(sampled, name))
    if excluded:
        into = decided.columns(sampled.n_concepts)
        size = np.bincount(into[into >= 0], minlength=1)
        members = {int(a): np.flatnonzero(into == a) for a in np.flatnonzero(size > 1)}
        # Merged concepts are matched with the draws again.
        found = rematch(sampled.consensus, sampled.spaced, members) if members else sampled.consensus
        summary = summarize(sampled.spaced, found, sampled.order, sampled.prior.alpha_pi, into)
        # How characteristic a word is of a concept does not depend on decisions about other concepts.
        words = sampled.summary.words
        everywhere = np.bincount(words.word, words.documents, sampled.corpus.n_words)[summary.words.word]
        result.summary = summary._replace(words=summary.words._replace(everywhere=everywhere))
    return result


def decisions_page(result: Result, choices: Sequence[Choice]) -> dict[str, Any]:
    """Return the decisions for a page, as plain JSON."""
    decided = decisions(choices)
    by_concept = ("names", "proposed", "descriptions", "merged", "themes")
    page = {name: {str(j): value for j, value in getattr(decided, name).items()} for name in by_concept}
    return page | {"hidden": sorted(decided.hidden), "shown": result.shown}


def history(choices: Sequence[Choice]) -> list[dict[str, str]]:
    """Return the decisions with their times, the latest first, each as a sentence."""
    alike: dict[str, dict[tuple[str, str], list[int]]] = {made: {} for made in (one.made for one in reversed(choices))}
    for one in choices:
        alike[one.made].setdefault((one.kind, one.value), []).append(one.concept)

    def said(kind: str, value: str, concepts: list[int]) -> str:
        who = f"Concepts {listed(concepts)} are" if len(concepts) > 1 else f"Concept {concepts[0]} is"
        return f"{who} {_SAID[kind][not value].format(value)}"

    return [{"made": made, "said": " ".join(said(*key, own[key]) for key in own)} for made, own in alike.items()]


def merged(values: Any, choices: Sequence[Choice], largest: bool = False) -> Any:
    """Return weights (D, J) summed (or the largest probabilities) over merged concepts, a column per shown concept."""
    decided = decisions(choices)
    if not decided.excluded:
        return values
    into = decided.columns(values.shape[1])
    shown = np.flatnonzero(into == np.arange(len(into)))
    if not largest:
        return values @ sparse.csr_array(into[:, None] == shown, dtype=float)
    columns = [values[:, np.flatnonzero(into == j)].max(axis=1).reshape(-1, 1) for j in shown]
    return (sparse.hstack if sparse.issparse(values) else np.hstack)(columns)


def merge(result: Result, concepts: Sequence[int]) -> list[Choice]:
    """Merge concepts under the number of the first, in all draws, tables and pages.

    Parameters
    ----------
    concepts : sequence of int

    Examples
    --------
    >>> len(model.merge([1, 2]).undo().concepts()) == model.n_concepts_
    True
    """
    numbers = shown_numbers(result, concepts)
    if len(numbers) < 2:
        raise InputError(f"merge={list(concepts)!r} names fewer than two concepts; give at least two.")
    return _made((MERGE, {one: str(numbers[0]) for one in numbers[1:]}))


def hide(result: Result, concepts: int | Sequence[int]) -> list[Choice]:
    """Hide concepts in all tables and pages.

    Parameters
    ----------
    concepts : int or sequence of int

    Examples
    --------
    >>> 1 in model.hide(1).concepts()["concept"].tolist()
    False
    >>> 1 in model.restore(1).concepts()["concept"].tolist()
    True
    """
    numbers = shown_numbers(result, concepts)
    if set(result.shown) <= set(numbers):
        raise InputError("No concept would be left to show; leave at least one.")
    return _made((HIDE, dict.fromkeys(numbers, "yes")))


def restore(result: Result, concepts: int | Sequence[int]) -> list[Choice]:
    """Show hidden concepts again, and undo merges.

    Parameters
    ----------
    concepts : int or sequence of int
        Their numbers. The number of a merged concept restores all its members, that of a member only this one.

    Examples
    --------
    >>> len(model.hide(1).restore(1).concepts()) == model.n_concepts_
    True
    """
    decided, out = decisions(result.choices), dict[str, dict[int, str]]()
    for one in _whole_numbers(concepts):
        members = [member for member, into in decided.merged.items() if into == one]
        if one not in decided.hidden and one not in decided.merged and not members:
            concept_index(result, one)
            raise InputError(f"Concept {one} is neither hidden nor merged, so it cannot be restored.")
        kind, numbers = (HIDE, [one]) if one in decided.hidden else (MERGE, [one] if one in decided.merged else members)
        out.setdefault(kind, {}).update(dict.fromkeys(numbers, ""))
    return _made(*out.items())


def rename(result: Result, names: Mapping[int, str]) -> list[Choice]:
    """Set the names of concepts.

    Parameters
    ----------
    names : mapping
        From number to name; an empty name restores the automatic one.

    Examples
    --------
    >>> model.rename({1: "breakfast"}).names_[1]
    'breakfast'
    """
    if not isinstance(names, Mapping):
        raise InputError(f'{names!r} does not name concepts; give numbers and names, such as {{3: "Insurance"}}.')
    numbers = shown_numbers(result, list(names))
    return _made((NAME, {one: checked_name(names[one]) for one in numbers}))


def propose(result: Result, proposals: Sequence[Proposal]) -> list[Choice]:
    """Return the choices that record proposed names and descriptions."""
    known = [one for one in proposals if one.name]
    shown_numbers(result, [one.concept for one in known])
    described = {one.concept: one.description for one in known if one.description}
    return _made((PROPOSED, {one.concept: one.name for one in known}), (ABOUT, described))


def accept(result: Result, concepts: int | Sequence[int] | None = None) -> list[Choice]:
    """Accept proposed names.

    Parameters
    ----------
    concepts : int or sequence of int, optional
        Their numbers; all with a proposal if not given.

    Examples
    --------
    >>> table = model.propose_names("1: Breakfast | What people drink.")
    >>> model.accept_names(1).names_[1]
    'Breakfast'
    """
    proposed = decisions(result.choices).proposed
    numbers = sorted(proposed) if concepts is None else shown_numbers(result, concepts)
    if not numbers:
        raise InputError("No name is proposed, so there is none to accept.")
    if unnamed := [one for one in numbers if one not in proposed]:
        raise InputError(f"No name is proposed for concept {unnamed[0]}; name it yourself.")
    return _made((NAME, {one: proposed[one] for one in numbers}), (PROPOSED, dict.fromkeys(numbers, "")))


def checked_value(choice: Choice) -> str:
    """Return the value of a choice; raise InputError if it cannot be shown."""
    return checked_name(choice.value, LONGEST_TEXT if choice.kind == ABOUT else LONGEST_NAME)


def gather(result: Result, theme: str, concepts: int | Sequence[int]) -> list[Choice]:
    """Assign concepts to a theme.

    Parameters
    ----------
    theme : str
        Its name; an empty one removes the concepts from their themes.
    concepts : int or sequence of int

    Examples
    --------
    >>> model.gather("at home", 1) is model
    True
    """
    return _made((THEME, dict.fromkeys(shown_numbers(result, concepts), checked_name(theme))))


def undone(choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices without those of the last call."""
    if not choices:
        raise InputError("Nothing has been decided about the concepts, so there is nothing to undo.")
    return [one for one in choices if one.made != choices[-1].made]


def carried(
    choices: Sequence[Choice], before: sparse.csc_array, after: sparse.csc_array
) -> tuple[list[Choice], list[str]]:
    """Return the choices renumbered for a fit whose concepts `after` (J, V) describes, and messages for lost ones."""
    partner = find_partners(before, after).of
    number = {j + 1: int(other) + 1 for j, other in enumerate(partner) if other >= 0}
    last = {(one.kind, one.concept): one.value for one in choices}
    kept, lost = [], dict[str, None]()
    for one in choices:
        into = [int(one.value)] if one.kind == MERGE and one.value else []
        missing = next((concept for concept in (one.concept, *into) if concept not in number), None)
        if missing is None:
            value = str(number[into[0]]) if into else one.value
            kept.append(one._replace(concept=number[one.concept], value=value))
        elif one.value and one.value == last[one.kind, one.concept]:
            decision = _SAID[one.kind][2].format(one.value, one.concept)
            lost[f"After further sampling there is no concept like {missing}: {decision} is lost."] = None
    return kept, list(lost)


def add_choices(path: str | Path, choices: Iterable[Choice], identity: str = "") -> list[Choice]:
    """Append choices to a file if it holds the model of this identity; return them with their time."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    made = [one if one.made else one._replace(made=now) for one in choices]
    with locked(path, identity) as file:
        file.add_choices(made)
    return made


def undo_choices(path: str | Path, identity: str = "") -> list[Choice]:
    """Remove and return the choices of the last decision."""
    with locked(path, identity) as file:
        return file.remove_last_choices()


@contextmanager
def locked(path: str | Path, identity: str = "") -> Iterator[ModelFile]:
    """Open a model file in a transaction, committed as a whole or not at all."""
    opened = os.stat(path) if os.path.exists(path) else None
    try:
        with _opened(path) as file, file.transaction():
            # Another process may have replaced the file while this one waited for the lock.
            is_replaced = opened is None or not os.path.samestat(opened, os.stat(path))
            if is_replaced or (identity and file.identity() != identity):
                raise StorageError(
                    f"{str(path)!r} has been sampled further since it was opened, so its concepts may have other "
                    "numbers; open it again and repeat the decision."
                )
            yield file
    except sqlite3.Error as error:
        raise StorageError(f"The decision cannot be kept in {str(path)!r}: {error}.") from None


@contextmanager
def held(path: str | Path) -> Iterator[None]:
    """Block decisions about a model while its file is being replaced."""
    with _opened(path) as file, file.reading(alone=True):
        yield


def _opened(path: str | Path) -> closing[ModelFile]:
    with translate_corruption(str(path)):
        return closing(ModelFile.open(Path(path), write=True))


def _made(*decided: tuple[str, Mapping[int, str]]) -> list[Choice]:
    """Return the choices of one decision, which have one time."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    return [Choice(kind, concept, value, now) for kind, values in decided for concept, value in values.items()]


def shown_numbers(result: Result, concepts: int | Sequence[int]) -> list[int]:
    """Return the concepts' numbers without duplicates; raise if one is not shown."""
    return [concept_index(result, one) + 1 for one in _whole_numbers(concepts)]


def _whole_numbers(concepts: Any) -> list[int]:
    given = [concepts] if isinstance(concepts, str) or not isinstance(concepts, Iterable) else list(concepts)
    if not all(map(is_whole, given)):
        raise InputError(f"{concepts!r} is not a list of concepts; give their numbers, such as [3, 25].")
    numbers = list(dict.fromkeys(int(one) for one in given))
    if not numbers:
        raise InputError("No concept is named; give at least one number.")
    return numbers
