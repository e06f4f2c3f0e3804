"""Decisions about concepts in the explorer: read from a request, stored in the model file, undone."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from superwords.analysis import curation as curating
from superwords.analysis.curation import add_choices, undo_choices
from superwords.analysis.naming import checked_name, pasted
from superwords.analysis.ranking import automatic_names
from superwords.analysis.tables import concept_index
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.storage.model_file import Choice

MOST_CONCEPTS = 2_000  # of one decision
LONGEST_REPLY = 1_000_000  # characters of pasted names
CHANGED = "The model file has changed since it was opened, so nothing was saved; open the model again."
UNWRITABLE = "This could not be saved: the model file cannot be written."
READ_ONLY = "Nothing is decided here: the model was opened to be read only."


class Decider:
    """Apply decisions one at a time, and store them in the file that the model came from."""

    def __init__(self, path: Path | None):
        self.path = path
        self.turn = threading.Lock()
        self._seen = self._mark()

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            known = None if self.path is None else self.path.stat()
        except OSError:
            return None
        return None if known is None else (known.st_ino, known.st_size, known.st_mtime_ns)

    def decide(self, model: ConceptModel, given: Mapping[str, Any]) -> ConceptModel:
        """Return a model like this one that follows the decision as well, which its file now holds."""
        if self.path is None:
            raise HTTPException(403, READ_ONLY)
        if given.get("do") == "undo":
            choices, made = curating.undone(model.choices_), None
        else:
            made = _made(model, given)
            choices = [*model.choices_, *made]
        # Before it is stored, so that an invalid decision is refused.
        decided = copy.copy(model).choose(choices)
        if not decided.result_.shown:
            raise InputError("No concept would be left to show.")
        self._keep(self.path, made)
        return decided

    def _keep(self, path: Path, choices: Sequence[Choice] | None) -> None:
        """Write choices (None: take the last ones back), unless somebody else has written another model there."""
        if self._seen is None or self._mark() != self._seen:
            raise HTTPException(409, CHANGED)
        try:
            if choices is None:
                undo_choices(path)
            else:
                add_choices(path, choices)
        except InputError:
            # Its sentence names the file; the browser need not know where it is.
            raise HTTPException(503, UNWRITABLE) from None
        self._seen = self._mark()


def _made(model: ConceptModel, given: Mapping[str, Any]) -> list[Choice]:
    result, do = model.result_, given.get("do")
    if do == "themes":
        return _gathered(model, given.get("themes"))
    if do == "propose":
        reply = _text(given.get("text"))[:LONGEST_REPLY]
        return curating.propose(result, pasted(result, reply, curating.decisions(model.choices_).taken()))
    if do == "accept" and given.get("concepts") is None:
        return curating.accept(result)
    concepts = _concepts(given.get("concepts"))
    if do == "rename":
        name = checked_name(_text(given.get("name")))
        is_automatic = name == automatic_names(result)[concept_index(result, concepts[0])]
        return curating.rename(result, {concepts[0]: "" if is_automatic else name})
    if do == "gather":
        return curating.gather(result, _text(given.get("name")), concepts)
    if do not in ("merge", "hide", "restore", "accept"):
        raise HTTPException(400)
    made: list[Choice] = getattr(curating, do)(result, concepts)
    return made


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
