"""The study file: for each question word a concept's cloud and a topic's, alike in size and style."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from superwords.analysis.tables import by_word, ranked_words
from superwords.analysis.words import word_index
from superwords.compare.peers import live_topics, topic_model
from superwords.errors import InputError
from superwords.files import write_named
from superwords.plots.clouds import cloud, positive
from superwords.plots.style import figure_bytes

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

FORMAT, CHOICE_FORMAT = 2, 3
SIDES = ("concept", "topic")
MOST_WORDS = 30  # in a cloud: more are not read
PNG_START = b"\x89PNG\r\n\x1a\n"
OPAQUE = re.compile(r"[0-9a-f]{16}")
COMMON = 0.9  # quantile of the words' documents: words above it are everywhere
FEW_WORDS = 20  # of so few words none is left out as common


@dataclass(frozen=True)
class Question:
    """A word, and what each of the two models says of it: words with weights."""

    word: str
    concept: Mapping[str, float]
    topic: Mapping[str, float]


def create_study(
    model: ConceptModel,
    words: int | Sequence[str],
    topics: str = "hdp",
    iterations: int = 1000,
    seed: int = 0,
    title: str = "Word clouds",
    subject: str = "the subject of these documents",
) -> dict[str, Any]:
    """Create the study about these words, or about as many words as `question_words` finds.

    `topics` is the model to compare with, "hdp", or "lda:K" with K topics; participants read the title as the heading,
    and that the documents are about the subject.
    """
    if model.n_concepts_ == 0:
        raise InputError("The model has no concepts, so there is nothing to ask about.")
    corpus = model.corpus_
    weights, uses = concept_weights(model), concept_uses(model)
    if isinstance(words, int):
        documents = np.diff(sparse.csc_array(corpus.counts).indptr)
        chosen = [corpus.vocabulary[i] for i in question_words(uses, weights, documents, words)]
        if not chosen:
            raise InputError("No word is typical of one concept; choose the words yourself with --words.")
    else:
        chosen = list(words)
        for word in chosen:  # before the topics are fitted
            word_index(model.result_, word)
    name, _, number = topics.partition(":")
    if topics != "hdp" and not (name == "lda" and number.isdecimal()):
        raise InputError(f"The topic model {topics!r} is not known; give hdp, or lda:50 (or another number).")
    found = topic_model(name.upper(), corpus.counts, iterations, seed, **({"k": int(number)} if number else {}))
    topic_word = live_topics(found, corpus.n_words)[1]
    questions = create_from_concepts(weights, uses, corpus.vocabulary, topic_word, chosen)
    return build_study(questions, title, subject)


def question_words(uses: np.ndarray, weights: np.ndarray, documents: np.ndarray, n_words: int) -> list[int]:
    """Choose words to ask about: typical of their own concept, neither everywhere nor rare.

    A word's score is the share of its uses that are for its own concept, squared, times the logarithm of their
    number. Words of the most common tenth ("people", "percent") are left out. The best word of every concept comes
    before the second best of any.
    """
    own = uses.argmax(axis=0)
    column = np.arange(uses.shape[1])
    best, total = uses[own, column], uses.sum(axis=0)
    score = (best / np.maximum(total, 1e-12)) ** 2 * np.log1p(best)
    n_shown, is_shown = (weights > 0).sum(axis=1), weights[own, column] > 0
    common = np.quantile(documents, COMMON) if len(documents) >= FEW_WORDS else np.inf
    # A question needs another word beside the one it is about.
    askable = (best >= 1) & (n_shown[own] > is_shown) & (documents <= common)
    ranked = [int(i) for i in np.lexsort((column, -score)) if askable[i]]
    turn: Counter[int] = Counter()
    rounds = []
    for i in ranked:
        rounds.append((turn[int(own[i])], -float(score[i]), i))
        turn[int(own[i])] += 1
    return [i for _, _, i in sorted(rounds)[:n_words]]


def concept_uses(model: ConceptModel) -> np.ndarray:
    """Return (J, V) documents in which a word is used for a concept, averaged over draws; 0 for leftovers.

    Concepts that are hidden, or merged into others, are not asked about either.
    """
    words, table = model.result_.summary.words, model.concepts(0)
    is_asked = np.zeros(model.n_concepts_, bool)
    is_asked[table["concept"] - 1] = ~table["leftover"].to_numpy(dtype=bool)
    uses = by_word(model.result_, words.documents).toarray()
    # A draw that does not find the concept does not use the word for it.
    found = model.result_.summary.alignment.found * is_asked
    return uses * (found if found.any() else np.ones(len(found)))[:, None]


def concept_weights(model: ConceptModel) -> np.ndarray:
    """Return (J, V) scores of a concept's most telling words, as many as its documents use.

    That number is the mean over the draws that find the concept.
    """
    summary, n_words = model.result_.summary, model.corpus_.n_words
    score = summary.words.score
    counts = summary.word_counts
    used = np.bincount(counts.concept[counts.used > 0], minlength=model.n_concepts_)
    n_used = (used / np.maximum(summary.alignment.matched.sum(axis=0), 1)).round().astype(int)
    weights = np.zeros((model.n_concepts_, n_words))
    for j, rows in enumerate(ranked_words(summary.words, model.n_concepts_)):
        top = rows[: n_used[j]]
        weights[j, summary.words.word[top]] = score[top]
    return weights


def build_study(questions: Sequence[Question], title: str, subject: str) -> dict[str, Any]:
    """Build the whole study as plain data, pictures included.

    The word itself is removed, and the larger of the two clouds is cut to the size of the smaller one, so that
    neither the number of words nor the style tells the two apart.
    """
    if not questions:
        raise InputError("A study needs at least one question; give words that a concept holds.")
    asked: list[dict[str, Any]] = []
    for question in questions:
        asked.append({"word": question.word})
        for side, weights in zip(SIDES, matched(question)):
            if not weights:
                raise InputError(f"The {side} of the word {question.word!r} has no other word; choose another word.")
            picture = base64.b64encode(figure_bytes(cloud(weights, width=4.2, height=2.8), "png", dpi=160))
            asked[-1][side] = {"name": secrets.token_hex(8), "words": dict(weights), "picture": picture.decode("ascii")}
    return new_study(FORMAT, title, subject, questions=asked)


def new_study(file_format: int, title: str, subject: str, **content: Any) -> dict[str, Any]:
    """Return a study of either kind as plain data, as `study serve` reads it."""
    for name, text in (("title", title), ("subject", subject)):
        if not text.strip():
            raise InputError(f"The study's {name} is empty; say in a few words what it is about.")
    study = {"format": file_format, "id": secrets.token_hex(8), "title": title, "subject": subject, **content}
    check_study(study, title)
    return study


def matched(question: Question) -> tuple[dict[str, float], dict[str, float]]:
    """Return both sides without the word itself, heaviest first, with equally many words."""
    sides = []
    for weights in (question.concept, question.topic):
        others = {word: weight for word, weight in positive(weights).items() if word != question.word}
        sides.append(sorted(others.items(), key=lambda item: (-item[1], item[0])))
    size = min(len(sides[0]), len(sides[1]), MOST_WORDS)
    return dict(sides[0][:size]), dict(sides[1][:size])


def create_from_concepts(
    shares: np.ndarray, uses: np.ndarray, vocabulary: Sequence[str], topics: np.ndarray, words: Sequence[str]
) -> list[Question]:
    """Pair, for each word, the concept that is most its own with the topic in which it is most probable.

    `shares` (J, V) says how much a word weighs in a concept (0: it is not shown), `uses` (J, V) in how many documents
    it is used for the concept, `topics` (T, V) the topics' words, as probabilities or counts.
    """
    mass = topics.sum(axis=1, keepdims=True)
    topics = np.divide(topics, mass, out=np.zeros_like(topics), where=mass > 0)
    questions = []
    for word in words:
        i = vocabulary.index(word)
        for what, matrix in (("concept", uses), ("topic", topics)):
            if not matrix[:, i].any():
                raise InputError(f"No {what} holds the word {word!r}; choose another word.")
        topic = topics[topics[:, i].argmax()]
        # Smoothing gives the words that a topic never had its smallest probability; they are removed if they are most.
        is_least = topic <= topic.min() * (1 + 1e-6)
        topic = np.where(is_least, 0.0, topic) if is_least.mean() > 0.5 else topic
        sides = (
            {vocabulary[i]: float(row[i]) for i in np.flatnonzero(row > 0).tolist()}
            for row in (shares[uses[:, i].argmax()], topic)
        )
        questions.append(Question(word, *sides))
    return questions


def save_study(study: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    check_study(study, Path(path).name)
    return write_named(path, json.dumps(study, ensure_ascii=False, indent=1) + "\n", "study")


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
    """Raise InputError for the first field that is not as `new_study` makes it."""

    def refuse(what: str) -> InputError:
        return InputError(f"The study {source!r}: {what}")

    def require(record: Any, where: str, **fields: type) -> None:
        for name, kind in fields.items():
            if not isinstance(record, dict) or not isinstance(record.get(name), kind):
                field = f"{where} needs the field {name!r} ({kind.__name__})"
                raise refuse(f"{field}; give a file made by `study create`.")

    require(study, "the study", format=int, id=str, title=str, subject=str)
    if study["format"] not in (FORMAT, CHOICE_FORMAT):
        raise InputError(
            f"The study {source!r} has format {study['format']}, but this version of superwords reads format "
            f"{FORMAT}; make the study again with `superwords study create`."
        )
    if not OPAQUE.fullmatch(study["id"]):
        raise refuse("its id must be 16 hexadecimal digits.")
    if study["format"] == CHOICE_FORMAT:
        require(study, "the study", per_person=int, tasks=list)
        for number, task in enumerate(study["tasks"], 1):
            require(task, f"task {number}", kind=str, concept=int, question=str, text=str, options=list)
            if not 2 <= len(set(map(str, task["options"]))) == len(task["options"]):
                raise refuse(f"task {number} needs at least two different options.")
        return
    require(study, "the study", questions=list)
    if not study["questions"]:
        raise InputError(f"The study {source!r} has no questions; it needs at least one.")
    names: set[str] = set()
    for number, question in enumerate(study["questions"], 1):
        require(question, f"question {number}", word=str, concept=dict, topic=dict)
        for side in SIDES:
            where, shown = f"the {side} in question {number}", question[side]
            require(shown, where, name=str, words=dict, picture=str)
            if not OPAQUE.fullmatch(shown["name"]) or shown["name"] in names:
                raise refuse(f"the name of {where} must be 16 hexadecimal digits, used once.")
            names.add(shown["name"])
            try:
                is_png = base64.b64decode(shown["picture"], validate=True).startswith(PNG_START)
            except (binascii.Error, ValueError):
                is_png = False
            if not is_png:
                raise refuse(f"the picture of {where} must be a PNG in base64.")
    if len({question["word"] for question in study["questions"]}) != len(study["questions"]):
        raise InputError(f"The study {source!r} asks about the same word twice; give each word once.")
