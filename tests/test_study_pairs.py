"""The study file: blind pairs of equal size, picked from concepts and topics, and clear errors on reading."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from study_for_tests import small_study
from superwords.errors import InputError
from superwords.study.pairs import (
    MOST_WORDS,
    SIDES,
    Question,
    build_study,
    create_from_concepts,
    load_study,
    matched,
    save_study,
)

VOCABULARY = ["costs", "care", "jobs", "tax", "law"]
SHARES = np.array([[0.5, 1.0, 0.0, 0.25, 0.0], [1.0, 0.0, 0.75, 0.0, 0.0]])
HELD = np.array([[10, 20, 0, 5, 0], [4, 0, 3, 0, 0]])
TOPICS = np.array([[30.0, 10.0, 5.0, 50.0, 5.0], [3.0, 0.0, 4.0, 2.0, 1.0]])


def test_the_word_goes_and_the_topic_is_cut_to_the_size_of_the_concept() -> None:
    question = Question(
        "costs", {"costs": 1, "care": 0.5, "tax": 0.2, "off": 0.0}, {"a": 1, "costs": 9, "b": 3, "c": 2}
    )
    assert matched(question) == ({"care": 0.5, "tax": 0.2}, {"b": 3, "c": 2})


def test_a_topic_with_fewer_words_cuts_the_concept_so_that_size_tells_nothing() -> None:
    assert matched(Question("w", {"a": 3, "b": 2}, {"c": 1})) == ({"a": 3}, {"c": 1})


def test_no_cloud_has_more_words_than_are_read() -> None:
    many = {f"word{i}": 1.0 + i for i in range(90)}
    assert [len(side) for side in matched(Question("w", many, many))] == [MOST_WORDS, MOST_WORDS]
    assert MOST_WORDS == 30


def test_words_that_a_topic_has_by_smoothing_alone_are_not_shown() -> None:
    topic = np.array([[0.4, 0.3, 1e-4, 1e-4, 1e-4]])
    (question,) = create_from_concepts(SHARES, HELD, VOCABULARY, topic, ["costs"])
    assert set(question.topic) == {"costs", "care"}


def test_the_concept_of_most_uses_meets_the_topic_of_highest_probability() -> None:
    (question,) = create_from_concepts(SHARES, HELD, VOCABULARY, TOPICS, ["costs"])
    # Concept 1 has the higher share but concept 0 uses the word in more documents; topic 0 has the higher
    # count and, at 0.30 each, both topics give it the same probability, so the first is taken.
    assert question.concept == {"costs": 0.5, "care": 1.0, "tax": 0.25}
    assert question.topic == pytest.approx({"costs": 0.3, "care": 0.1, "jobs": 0.05, "tax": 0.5, "law": 0.05})
    (question,) = create_from_concepts(SHARES, HELD, VOCABULARY, TOPICS, ["jobs"])
    assert question.topic == pytest.approx({"costs": 0.3, "jobs": 0.4, "tax": 0.2, "law": 0.1})


def test_a_word_that_cannot_be_asked_is_named() -> None:
    with pytest.raises(InputError, match="No concept holds the word 'law'"):
        create_from_concepts(SHARES, HELD, VOCABULARY, TOPICS, ["law"])


def test_a_study_goes_to_a_file_and_back(tmp_path) -> None:
    path = save_study(small_study(), tmp_path / "study.json")
    assert load_study(path) == small_study()
    assert path.stat().st_size < 2_000_000


def test_nothing_of_a_picture_tells_whose_it_is() -> None:
    study = small_study()
    names = [question[side]["name"] for question in study["questions"] for side in SIDES]
    assert len(set(names)) == 20
    sizes = set()
    for question in study["questions"]:
        for side in SIDES:
            sizes.add(base64.b64decode(question[side]["picture"])[16:24])
            assert question["word"] not in question[side]["words"]
        assert len(question["concept"]["words"]) == len(question["topic"]["words"])
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("questions", "title", "message"),
    [
        ([], "t", "at least one question"),
        ([Question("w", {"a": 1}, {"b": 1})], " ", "title is empty"),
        ([Question("w", {"w": 1}, {"b": 1})], "t", "The concept of the word 'w' has no other word"),
        ([Question("w", {"a": 1}, {"b": 1})] * 2, "t", "twice"),
    ],
)
def test_a_study_that_cannot_be_asked_is_refused(questions, title: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_study(questions, title, "subject")


def broken(**changes) -> str:
    return json.dumps({**small_study(), **changes})


def broken_cloud(**changes) -> str:
    first, *rest = small_study()["questions"]
    return broken(questions=[{**first, "concept": {**first["concept"], **changes}}, *rest])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "the field 'format'"),
        (broken(format=99), "has format 99"),
        (broken(questions=[]), "no questions"),
        (broken(questions=[3]), "question 1 needs the field 'word'"),
        (broken(id="../../etc"), "16 hexadecimal"),
        (broken(questions=small_study()["questions"][:1] * 2), "used once"),
        (broken_cloud(name='"><script>'), "the concept in question 1"),
        (broken_cloud(picture=base64.b64encode(b"<svg>").decode()), "must be a PNG"),
        (broken_cloud(picture="*"), "must be a PNG"),
    ],
)
def test_a_file_that_is_no_study_is_one_sentence(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "study.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_study(path)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json"):
        load_study(tmp_path / "nothing.json")
