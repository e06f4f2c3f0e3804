"""What people decide about concepts in the explorer: read from a request, kept in the model file, taken back."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from superwords.concepts import curating
from superwords.concepts.choices import add_choices, undo_choices
from superwords.concepts.naming import checked_name
from superwords.concepts.ranking import automatic_names
from superwords.concepts.tables import concept_index
from superwords.container import Choice
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel

MOST_CONCEPTS = 2_000  # of one decision
CHANGED = "The model file has changed since it was opened, so nothing was kept; open the model anew."
UNWRITABLE = "This could not be kept, because the model file cannot be written."
NO_FILE = "This model was opened without its file, so nothing can be kept."


class ModelFile:
    """The file a model came from, which what people decide is kept in."""

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
    """Takes decisions one after the other."""

    def __init__(self, path: Path | None):
        self.file = None if path is None else ModelFile(path)
        self.turn = threading.Lock()

    def decide(self, model: ConceptModel, given: Mapping[str, Any]) -> ConceptModel:
        """A model like this one that follows the decision as well, which its file now holds."""
        if self.file is None:
            raise HTTPException(403, NO_FILE)
        if given.get("do") == "undo":
            choices, made = curating.undone(model.choices_), None
        else:
            made = _made(model, given)
            choices = [*model.choices_, *made]
        decided = copy.copy(model).choose(choices)  # before it is kept: what makes no sense is refused
        if not decided.result_.shown:
            raise InputError("No concept would be left to show.")
        self.file.keep(made)
        return decided


def _made(model: ConceptModel, given: Mapping[str, Any]) -> list[Choice]:
    result, do = model.result_, given.get("do")
    if do == "themes":
        return _gathered(model, given.get("themes"))
    concepts = _concepts(given.get("concepts"))
    if do == "rename":
        return curating.rename(result, {one: _name(model, one, given) for one in concepts[:1]})
    if do == "merge":
        return curating.merge(result, concepts)
    if do == "hide":
        return curating.hide(result, concepts)
    if do == "restore":
        return curating.restore(result, model.choices_, concepts)
    if do == "gather":
        return curating.gather(result, _text(given.get("name")), concepts)
    raise HTTPException(400)


def _name(model: ConceptModel, concept: int, given: Mapping[str, Any]) -> str:
    """The name that is asked for; the automatic one is kept as none."""
    result, wanted = model.result_, checked_name(_text(given.get("name")))
    j = concept_index(result, concept)
    return "" if wanted == automatic_names(result)[j] else wanted


def _gathered(model: ConceptModel, themes: Any) -> list[Choice]:
    """Several themes as one decision."""
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
