"""What people decided about concepts (names, merges, hidden ones, themes), and a result with it applied.

A decision is a `Choice` of a model file. A concept keeps its number (1, 2, …) whatever is decided: a merged concept has
the number of the first of its members, and the numbers of the others, as those of hidden concepts, are not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from superwords.concepts.alignment import Usage, described, find_partners
from superwords.concepts.merging import gathering, merged_parts
from superwords.concepts.naming import checked_name
from superwords.concepts.result import Result
from superwords.concepts.tables import concept_index
from superwords.container import Choice
from superwords.errors import InputError

NAME, MERGE, HIDE, THEME = KINDS = "name", "merge", "hide", "theme"
_YES = "yes"


class Curation(NamedTuple):
    """What choices come to; concepts by number."""

    names: dict[int, str]
    merged: dict[int, int]  # a member and the concept that it is counted as
    hidden: set[int]
    themes: dict[int, str]

    @property
    def away(self) -> dict[int, str]:
        """The concepts that are not shown, and why."""
        merged = {one: f"is merged into concept {self._top(one)}" for one in self.merged}
        hidden = {one: "is hidden" for one in self.hidden if one not in merged}
        return {
            one: "is hidden" if self._top(one) in self.hidden else why for one, why in merged.items()
        } | hidden

    def _top(self, concept: int) -> int:
        seen = {concept}
        while concept in self.merged:
            concept = self.merged[concept]
            if concept in seen:
                raise InputError("The choices merge a concept into itself; undo them.")
            seen.add(concept)
        return concept

    def columns(self, n_concepts: int) -> np.ndarray:
        """(J): the column (0, 1, …) that each concept is counted in; -1: hidden."""
        top = [self._top(concept) for concept in range(1, n_concepts + 1)]
        return np.array([-1 if one in self.hidden else one - 1 for one in top], int)


def decisions(choices: Iterable[Choice]) -> Curation:
    """What choices come to: of one kind and concept, the last one counts, and an empty value takes it back."""
    last: dict[tuple[str, int], str] = {}
    for one in choices:
        last[one.kind, one.concept] = one.value
    found = {kind: {c: value for (k, c), value in last.items() if k == kind and value} for kind in KINDS}
    try:
        merged = {concept: int(value) for concept, value in found[MERGE].items()}
    except ValueError:
        raise InputError("A choice merges a concept into one that has no number.") from None
    return Curation(found[NAME], merged, set(found[HIDE]), found[THEME])


def curated(sampled: Result, choices: Sequence[Choice]) -> Result:
    """The same result with choices applied: every table made of it follows them.

    A merged concept is computed in every draw: a document holds it if it holds any member, a word is on (or used) in a
    document if it is in any member, and weights add. It is found in the draws that find any member.

    Parameters
    ----------
    sampled
        What a fit found.
    choices
        In the order they were made.

    Returns
    -------
    Result
        `sampled` itself where nothing was decided.
    """
    decided = decisions(choices)
    known = range(1, sampled.n_concepts + 1) if choices else ()
    unknown = {one.concept for one in choices} - set(known) | set(decided.merged.values()) - set(known)
    if unknown:
        raise InputError(f"The choices speak of concept {min(unknown)}, which the model does not have.")
    if not any(decided):
        return sampled
    names = sampled.names | decided.names
    fields = sampled.corpus, sampled.order, sampled.prior, sampled.draws, names
    result = Result(*fields, decided.away, decided.themes, sampled)
    as_sampled = (
        "chain_weights",
        "best_draw",
        "consensus_draw",
        "concept_order",
        "co_membership",
        "trace",
        "word_sets",
    )
    parts = {name: sampled.__dict__[name] for name in as_sampled if name in sampled.__dict__}
    same = {"reference_weights", "concept_word", "summary"} & set(sampled.__dict__)
    parts |= (
        merged_parts(sampled, decided.columns(sampled.n_concepts))
        if decided.away
        else {name: sampled.__dict__[name] for name in same}
    )
    result.remember(**parts)
    return result


def decisions_page(result: Result, choices: Sequence[Choice]) -> dict[str, Any]:
    """What was decided, for a page, as plain JSON."""
    decided = decisions(choices)
    return {
        "names": {str(concept): name for concept, name in decided.names.items()},
        "merged": {str(concept): into for concept, into in decided.merged.items()},
        "hidden": sorted(decided.hidden),
        "themes": {str(concept): theme for concept, theme in decided.themes.items()},
        "shown": result.shown,
    }


def history(choices: Sequence[Choice]) -> list[dict[str, str]]:
    """What was decided and when, the last decision first, each in a sentence."""
    out = []
    for made in dict.fromkeys(one.made for one in reversed(choices)):
        said = [_told(kind, value, those) for (kind, value), those in _alike(choices, made).items()]
        out.append({"made": made, "said": " ".join(said)})
    return out


def _alike(choices: Sequence[Choice], made: str) -> dict[tuple[str, str], list[int]]:
    """The concepts of one decision by what was decided."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in choices:
        if one.made == made:
            found.setdefault((one.kind, one.value), []).append(one.concept)
    return found


def _told(kind: str, value: str, concepts: list[int]) -> str:
    several = len(concepts) > 1
    numbers = ", ".join(map(str, concepts[:-1])) + (" and " if several else "") + str(concepts[-1])
    who = f"Concept{'s' if several else ''} {numbers} {'are' if several else 'is'}"
    if kind == NAME:
        return f"{who} called “{value}”." if value else f"{who} called by the automatic name again."
    if kind == MERGE:
        return f"{who} merged into concept {value}." if value else f"{who} shown apart again."
    if kind == HIDE:
        return f"{who} hidden." if value else f"{who} shown again."
    return f"{who} in the theme “{value}”." if value else f"{who} in no theme."


def merged_weights(weights: Any, choices: Sequence[Choice]) -> Any:
    """(D, J) weights of documents with those of merged concepts added and those of hidden ones 0."""
    decided = decisions(choices)
    return weights @ gathering(decided.columns(weights.shape[1])) if decided.away else weights


def merge(result: Result, concepts: Sequence[int]) -> list[Choice]:
    """Choices that take concepts together, under the number of the first.

    Parameters
    ----------
    result
        What is shown now: the concepts must be among it.
    concepts
        Two numbers or more.

    Returns
    -------
    list of Choice
    """
    wanted = _numbers(result, concepts)
    if len(wanted) < 2:
        raise InputError(f"merge={list(concepts)!r} names fewer than two concepts; give at least two.")
    return _made(MERGE, {one: str(wanted[0]) for one in wanted[1:]})


def hide(result: Result, concepts: int | Sequence[int]) -> list[Choice]:
    """Choices that leave concepts out of all tables and pages."""
    wanted = _numbers(result, concepts)
    if set(result.shown) <= set(wanted):
        raise InputError("No concept would be left to show; leave at least one.")
    return _made(HIDE, dict.fromkeys(wanted, _YES))


def restore(result: Result, choices: Sequence[Choice], concepts: int | Sequence[int]) -> list[Choice]:
    """Choices that show hidden concepts again, and take merged ones apart.

    A merged concept is taken apart by its own number (all its members are shown again) or by a member's (that one is).
    """
    decided, out = decisions(choices), []
    for one in _whole_numbers(concepts):
        members = [member for member, into in decided.merged.items() if into == one]
        if one in decided.hidden:
            out += _made(HIDE, {one: ""})
        elif one in decided.merged:
            out += _made(MERGE, {one: ""})
        elif members:
            out += _made(MERGE, dict.fromkeys(members, ""))
        else:
            _known_number(result, one)
            raise InputError(f"Concept {one} is neither hidden nor merged, so it cannot be restored.")
    made = out[0].made
    return [one._replace(made=made) for one in out]


def rename(result: Result, names: Mapping[int, str]) -> list[Choice]:
    """Choices that name concepts; an empty name asks for the automatic one again."""
    if not isinstance(names, Mapping):
        raise InputError(
            f'{names!r} does not name concepts; give numbers and names, such as {{3: "Insurance"}}.'
        )
    numbers = _numbers(result, list(names))
    return _made(NAME, {one: checked_name(names[one]) for one in numbers})


def gather(result: Result, theme: str, concepts: int | Sequence[int]) -> list[Choice]:
    """Choices that put concepts under a theme; an empty theme takes them out of theirs."""
    return _made(THEME, dict.fromkeys(_numbers(result, concepts), checked_name(theme)))


def undone(choices: Sequence[Choice]) -> list[Choice]:
    """The choices without those of the last call."""
    if not choices:
        raise InputError("Nothing has been decided about the concepts, so there is nothing to undo.")
    return [one for one in choices if one.made != choices[-1].made]


def carried(choices: Sequence[Choice], before: Usage, after: Usage) -> tuple[list[Choice], list[str]]:
    """Choices about the concepts of one most probable draw, as choices about those of another.

    Parameters
    ----------
    choices
        In the order they were made.
    before, after
        The two draws' concepts in the order of their numbers.

    Returns
    -------
    list of Choice
        Those whose concepts both draws have, with the new numbers.
    list of str
        A sentence for each that is lost.
    """
    partner = find_partners(*(described(one.used, one.holders) for one in (before, after))).of
    number = {j + 1: int(other) + 1 for j, other in enumerate(partner) if other >= 0}
    kept, lost = [], []
    decided = decisions(choices)
    for one in choices:
        about = [one.concept, *([int(one.value)] if one.kind == MERGE and one.value else [])]
        missing = [concept for concept in about if concept not in number]
        if not missing:
            value = str(number[int(one.value)]) if one.kind == MERGE and one.value else one.value
            kept.append(one._replace(concept=number[one.concept], value=value))
        elif one.value and one.value == _current(decided, one):
            lost.append(_lost(one, missing[0]))
    return kept, list(dict.fromkeys(lost))


def _current(decided: Curation, one: Choice) -> str:
    """The value that counts for a choice's kind and concept."""
    if one.kind == MERGE:
        return str(decided.merged.get(one.concept, ""))
    if one.kind == HIDE:
        return _YES if one.concept in decided.hidden else ""
    return (decided.names if one.kind == NAME else decided.themes).get(one.concept, "")


def _lost(one: Choice, missing: int) -> str:
    told = {
        NAME: f"the name {one.value!r} of concept {one.concept}",
        MERGE: f"the merge of concept {one.concept} into {one.value}",
        HIDE: f"the decision to hide concept {one.concept}",
        THEME: f"the theme {one.value!r} of concept {one.concept}",
    }[one.kind]
    return f"After further sampling there is no concept like {missing}: {told} is lost."


def _made(kind: str, values: Mapping[int, str]) -> list[Choice]:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    return [Choice(kind, concept, value, now) for concept, value in values.items()]


def _numbers(result: Result, concepts: int | Sequence[int]) -> list[int]:
    """Concepts that are shown, each once."""
    wanted = _whole_numbers(concepts)
    for one in wanted:
        concept_index(result, one)
    return wanted


def _whole_numbers(concepts: Any) -> list[int]:
    given = [concepts] if isinstance(concepts, str) or not isinstance(concepts, Iterable) else list(concepts)
    if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in given):
        raise InputError(f"{concepts!r} is not a list of concepts; give their numbers, such as [3, 25].")
    wanted = list(dict.fromkeys(int(one) for one in given))
    if not wanted:
        raise InputError("No concept is named; give at least one number.")
    return wanted


def _known_number(result: Result, concept: int) -> None:
    if concept not in result.away:
        concept_index(result, concept)
