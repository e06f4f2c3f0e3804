"""Decisions about concepts in the explorer: read from a request, stored in the model file, undone."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from superwords.analysis import curation as curating
from superwords.analysis.decisions import add_choices, undo_choices
from superwords.analysis.naming import checked_name
from superwords.analysis.proposals import pasted
from superwords.analysis.ranking import automatic_names
from superwords.analysis.tables import concept_index
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.storage.model_file import Choice

MOST_CONCEPTS = 2_000  # of one decision
LONGEST_REPLY = 1_000_000  # characters of pasted names
CHANGED = "The model file has changed since it was opened, so nothing was saved; open the model again."
UNWRITABLE = "This could not be saved: the model file cannot be written."
NO_FILE = "This model was opened without its file, so nothing can be saved."


class ModelFile:
    """Store decisions in the file that a model came from."""

    def __init__(self, path: Path):
        self.path = path
        self.seen = self._mark()

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            known = self.path.stat()
        except OSError:
            return None
        return known.st_ino, known.st_size, known.st_mtime_ns

    def keep(self, choices: Sequence[Choice] | None) -> None:
        """Write choices (None: take the last ones back), unless somebody else has written another model there."""
        if self.seen is None or self._mark() != self.seen:
            raise HTTPException(409, CHANGED)
        try:
            if choices is None:
                undo_choices(self.path)
            else:
                add_choices(self.path, choices)
        except InputError:
            # Its sentence names the file; the browser need not know where it is.
            raise HTTPException(503, UNWRITABLE) from None
        self.seen = self._mark()


class Decider:
    """Apply decisions one at a time."""

    def __init__(self, path: Path | None):
        self.file = None if path is None else ModelFile(path)
        self.turn = threading.Lock()

    def decide(self, model: ConceptModel, given: Mapping[str, Any]) -> ConceptModel:
        """Return a model like this one that follows the decision as well, which its file now holds."""
        if self.file is None:
            raise HTTPException(403, NO_FILE)
        if given.get("do") == "undo":
            choices, made = curating.undone(model.choices_), None
        else:
            made = _made(model, given)
            choices = [*model.choices_, *made]
        decided = copy.copy(model).choose(
            choices
        )  # before it is stored, so that an invalid decision is refused
        if not decided.result_.shown:
            raise InputError("No concept would be left to show.")
        self.file.keep(made)
        return decided


def _made(model: ConceptModel, given: Mapping[str, Any]) -> list[Choice]:
    result, do = model.result_, given.get("do")
    if do == "themes":
        return _gathered(model, given.get("themes"))
    if do == "propose":
        return curating.propose(
            result,
            pasted(
                result, _text(given.get("text"))[:LONGEST_REPLY], curating.decisions(model.choices_).taken()
            ),
        )
    if do == "accept" and given.get("concepts") is None:
        return curating.accept(result)
    concepts = _concepts(given.get("concepts"))
    if do == "rename":
        return curating.rename(result, {one: _name(model, one, given) for one in concepts[:1]})
    if do == "merge":
        return curating.merge(result, concepts)
    if do == "hide":
        return curating.hide(result, concepts)
    if do == "restore":
        return curating.restore(result, concepts)
    if do == "accept":
        return curating.accept(result, concepts)
    if do == "gather":
        return curating.gather(result, _text(given.get("name")), concepts)
    raise HTTPException(400)


def _name(model: ConceptModel, concept: int, given: Mapping[str, Any]) -> str:
    """Return the new name, or none for the automatic one."""
    result, name = model.result_, checked_name(_text(given.get("name")))
    j = concept_index(result, concept)
    return "" if name == automatic_names(result)[j] else name


def _gathered(model: ConceptModel, themes: Any) -> list[Choice]:
    """Return several themes as one decision."""
    if not isinstance(themes, list) or not themes or not all(isinstance(one, dict) for one in themes):
        raise HTTPException(400)
    made: list[Choice] = []
    for one in themes:
        made += curating.gather(model.result_, _text(one.get("name")), _concepts(one.get("concepts")))
    return [one._replace(made=made[0].made) for one in made]


def _concepts(given: Any) -> list[int]:
    whole = isinstance(given, list) and all(type(one) is int for one in given)
    if not whole or not 1 <= len(given) <= MOST_CONCEPTS:
        raise HTTPException(400)
    return list(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise HTTPException(400)
    return given
