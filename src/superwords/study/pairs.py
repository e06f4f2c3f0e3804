"""The study file: for each question word a concept's cloud and a topic's, alike in size and style."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from superwords.errors import InputError
from superwords.files import write_atomic
from superwords.plots.clouds import cloud, positive
from superwords.plots.style import figure_bytes

FORMAT, CHOICE_FORMAT = 2, 3
SIDES = ("concept", "topic")
MOST_WORDS = 30  # in a cloud: more are not read
PNG_START = b"\x89PNG\r\n\x1a\n"
OPAQUE = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Question:
    """A word, and what each of the two models says of it: words with weights."""

    word: str
    concept: Mapping[str, float]
    topic: Mapping[str, float]


def build_study(questions: Sequence[Question], title: str, subject: str) -> dict[str, Any]:
    """Build the whole study as plain data, pictures included.

    The word itself is removed, and the larger of the two clouds is cut to the size of the smaller one, so that
    neither the number of words nor the style tells the two apart.
    """
    if not questions:
        raise InputError("A study needs at least one question; give words that a concept holds.")
    check_texts(title, subject)
    if len({question.word for question in questions}) != len(questions):
        raise InputError("The study asks about the same word twice; give each word once.")
    asked: list[dict[str, Any]] = []
    for question in questions:
        asked.append({"word": question.word})
        for side, weights in zip(SIDES, matched(question)):
            if not weights:
                raise InputError(f"The {side} of the word {question.word!r} has no other word; choose another word.")
            picture = base64.b64encode(figure_bytes(cloud(weights, width=4.2, height=2.8), "png", dpi=160))
            asked[-1][side] = {"name": secrets.token_hex(8), "words": dict(weights), "picture": picture.decode("ascii")}
    return {"format": FORMAT, "id": secrets.token_hex(8), "title": title, "subject": subject, "questions": asked}


def check_texts(title: str, subject: str) -> None:
    """Raise InputError for a study without a title or a subject."""
    for name, text in (("title", title), ("subject", subject)):
        if not text.strip():
            raise InputError(f"The study's {name} is empty; say in a few words what it is about.")


def matched(question: Question) -> tuple[dict[str, float], dict[str, float]]:
    """Return both sides without the word itself, heaviest first, with equally many words."""
    sides = []
    for weights in (question.concept, question.topic):
        others = {word: weight for word, weight in positive(weights).items() if word != question.word}
        sides.append(sorted(others.items(), key=lambda item: (-item[1], item[0])))
    size = min(len(sides[0]), len(sides[1]), MOST_WORDS)
    return dict(sides[0][:size]), dict(sides[1][:size])


def create_from_concepts(
    concept_word: Any, uses: Any, vocabulary: Sequence[str], topic_word: Any, words: Sequence[str]
) -> list[Question]:
    """Pair, for each word, the concept that is most its own with the topic in which it is most probable.

    `concept_word` (J, V) says how much a word weighs in a concept (0: it is not shown), `uses` (J, V) in how many
    documents it is used for the concept, `topic_word` (T, V) the topics' words, as probabilities or counts.
    """
    shares, held, topics = (np.asarray(dense(matrix), dtype=float) for matrix in (concept_word, uses, topic_word))
    for name, matrix in (("concept_word", shares), ("uses", held), ("topic_word", topics)):
        if matrix.ndim != 2 or matrix.shape[1] != len(vocabulary) or matrix.shape[0] == 0:
            raise InputError(
                f"{name} has the shape {matrix.shape}; it needs one column for each of the "
                f"{len(vocabulary)} words and at least one row."
            )
    if shares.shape != held.shape:
        raise InputError(f"concept_word is {shares.shape} but uses is {held.shape}; they need the same shape.")
    mass = topics.sum(axis=1, keepdims=True)
    topics = np.divide(topics, mass, out=np.zeros_like(topics), where=mass > 0)
    column = {word: i for i, word in enumerate(vocabulary)}
    questions = []
    for word in words:
        if word not in column:
            raise InputError(f"The word {word!r} is not in the vocabulary; choose words of the corpus.")
        i = column[word]
        for what, matrix in (("concept", held), ("topic", topics)):
            if not matrix[:, i].any():
                raise InputError(f"No {what} holds the word {word!r}; choose another word.")
        topic = topics[topics[:, i].argmax()]
        # Smoothing gives the words that a topic never had its smallest probability; they are removed if they are most.
        is_least = topic <= topic.min() * (1 + 1e-6)
        topic = np.where(is_least, 0.0, topic) if is_least.mean() > 0.5 else topic
        sides = (
            {vocabulary[i]: float(row[i]) for i in np.flatnonzero(row > 0).tolist()}
            for row in (shares[held[:, i].argmax()], topic)
        )
        questions.append(Question(word, *sides))
    return questions


def dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def save_study(study: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    check_study(study, target.name)
    try:
        write_atomic(target, (json.dumps(study, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))
    except OSError as error:
        raise InputError(f"The study {str(target)!r} could not be written: {error.strerror}.") from None
    return target


def load_study(path: str | os.PathLike[str]) -> dict[str, Any]:
    source = Path(path)
    try:
        study = json.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The study {str(source)!r} could not be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise InputError(f"The study {str(source)!r} is not JSON; give a file made by `study create`.") from None
    check_study(study, str(source))
    return study


def check_study(study: Any, source: str) -> None:
    """Raise InputError for the first field that is not as `build_study` or `build_choice_study` makes it."""
    _require(study, {"format": int, "id": str, "title": str, "subject": str}, source, "the study")
    if study["format"] not in (FORMAT, CHOICE_FORMAT):
        raise InputError(
            f"The study {source!r} has format {study['format']}, but this version of superwords reads format "
            f"{FORMAT}; make the study again with `superwords study create`."
        )
    if not OPAQUE.fullmatch(study["id"]):
        raise InputError(f"The study {source!r}: its id must be 16 hexadecimal digits.")
    if study["format"] == CHOICE_FORMAT:
        _require(study, {"per_person": int, "tasks": list}, source, "the study")
        for number, task in enumerate(study["tasks"], 1):
            fields = {"kind": str, "concept": int, "question": str, "text": str, "options": list}
            _require(task, fields, source, f"task {number}")
            if not 2 <= len(set(map(str, task["options"]))) == len(task["options"]):
                raise InputError(f"The study {source!r}: task {number} needs at least two different options.")
        return
    _require(study, {"questions": list}, source, "the study")
    if not study["questions"]:
        raise InputError(f"The study {source!r} has no questions; it needs at least one.")
    names: set[str] = set()
    for number, question in enumerate(study["questions"], 1):
        _require(question, {"word": str, **dict.fromkeys(SIDES, dict)}, source, f"question {number}")
        for side in SIDES:
            _check_cloud(question[side], source, f"the {side} in question {number}", names)
    if len({question["word"] for question in study["questions"]}) != len(study["questions"]):
        raise InputError(f"The study {source!r} asks about the same word twice; give each word once.")


def _check_cloud(side: Mapping[str, Any], source: str, where: str, names: set[str]) -> None:
    _require(side, {"name": str, "words": dict, "picture": str}, source, where)
    if not OPAQUE.fullmatch(side["name"]) or side["name"] in names:
        raise InputError(f"The study {source!r}: the name of {where} must be 16 hexadecimal digits, used once.")
    names.add(side["name"])
    try:
        picture = base64.b64decode(side["picture"], validate=True)
    except (binascii.Error, ValueError):
        picture = b""
    if not picture.startswith(PNG_START):
        raise InputError(f"The study {source!r}: the picture of {where} must be a PNG in base64.")


def _require(record: Any, fields: Mapping[str, type], source: str, where: str) -> None:
    for name, kind in fields.items():
        if not isinstance(record, dict) or not isinstance(record.get(name), kind):
            raise InputError(
                f"The study {source!r}: {where} needs the field {name!r} ({kind.__name__}); "
                "give a file made by `study create`."
            )
