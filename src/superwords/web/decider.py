"""Decisions about concepts in the explorer: read from a request, stored in the model file, undone."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from superwords.analysis import curation
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

    def __init__(self, path: Path | None) -> None:
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
        """Return a model like this one that follows the decision as well, which its file now holds.

        Nothing is written if somebody else has written another model there.
        """
        if self.path is None:
            raise HTTPException(403, READ_ONLY)
        is_undo = given.get("do") == "undo"
        made = [] if is_undo else _made(model, given)
        # Before it is stored, so that an invalid decision is refused.
        decided = copy.copy(model).choose(curation.undone(model.choices_) if is_undo else [*model.choices_, *made])
        if not decided.result_.shown:
            raise InputError("No concept would be left to show.")
        if self._seen is None or self._mark() != self._seen:
            raise HTTPException(409, CHANGED)
        try:
            if is_undo:
                undo_choices(self.path)
            else:
                add_choices(self.path, made)
        except InputError:
            # Its sentence names the file; the browser need not know where it is.
            raise HTTPException(503, UNWRITABLE) from None
        self._seen = self._mark()
        return decided


def _made(model: ConceptModel, given: Mapping[str, Any]) -> list[Choice]:
    """Return the choices that a request asks for."""
    result, do = model.result_, given.get("do")
    if do == "themes":  # several, as one decision
        themes = given.get("themes")
        if not isinstance(themes, list) or not themes or not all(isinstance(one, dict) for one in themes):
            raise HTTPException(400)
        made = [choice for one in themes for choice in curation.gather(result, _text(one, "name"), _concepts(one))]
        return [one._replace(made=made[0].made) for one in made]
    if do == "propose":
        reply = _text(given, "text")[:LONGEST_REPLY]
        return curation.propose(result, pasted(result, reply, curation.decisions(model.choices_).taken()))
    if do == "accept" and given.get("concepts") is None:
        return curation.accept(result)
    concepts = _concepts(given)
    if do == "rename":
        name = checked_name(_text(given, "name"))
        is_automatic = name == automatic_names(result)[concept_index(result, concepts[0])]
        return curation.rename(result, {concepts[0]: "" if is_automatic else name})
    if do == "gather":
        return curation.gather(result, _text(given, "name"), concepts)
    acts = {"merge": curation.merge, "hide": curation.hide, "restore": curation.restore, "accept": curation.accept}
    act = acts.get(str(do))
    if act is None:
        raise HTTPException(400)
    return act(result, concepts)


def _concepts(given: Mapping[str, Any]) -> list[int]:
    concepts = given.get("concepts")
    if not isinstance(concepts, list) or not 1 <= len(concepts) <= MOST_CONCEPTS:
        raise HTTPException(400)
    if not all(type(one) is int for one in concepts):
        raise HTTPException(400)
    return concepts


def _text(given: Mapping[str, Any], name: str) -> str:
    text = given.get(name)
    if not isinstance(text, str):
        raise HTTPException(400)
    return text
