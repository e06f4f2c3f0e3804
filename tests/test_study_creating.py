"""`study create`: our concepts against the topics of another model of the same counts."""

from __future__ import annotations

import numpy as np
import pytest

from models_for_tests import edge_model, planted_model
from superwords.errors import InputError
from superwords.study.creating import create_study
from superwords.study.pairs import check_study

pytest.importorskip("tomotopy", reason="needs the extra `compare`")
pytestmark = pytest.mark.filterwarnings("ignore:No installed font covers")


def create(words, topics: str = "hdp") -> dict:
    return create_study(planted_model(), words, topics, 30, 1, "Clouds", "words")


def test_a_word_is_shown_by_the_concept_that_holds_it_in_most_documents() -> None:
    model = planted_model()
    study = create(["word20", "größe"])
    check_study(study, "here")
    for question in study["questions"]:
        i = model.corpus_.vocabulary.index(question["word"])
        held = model.concept_word_[:, i] * model.concepts()["documents"].to_numpy()
        concept = int(np.argmax(held))
        members = {model.corpus_.vocabulary[w] for w in np.flatnonzero(model.concept_word_[concept])}
        assert set(question["ours"]["words"]) <= members - {question["word"]}
        assert len(question["ours"]["words"]) == len(question["theirs"]["words"]) > 0


def test_the_most_salient_words_are_taken_if_none_are_given() -> None:
    study = create(3, "lda:4")
    words = [question["word"] for question in study["questions"]]
    assert len(set(words)) == 3


@pytest.mark.parametrize(
    ("words", "topics", "said"),
    [(["nothing"], "hdp", "not in the vocabulary"), (3, "lsa", "not known"), (3, "lda:", "not known")],
)
def test_what_cannot_be_asked_is_said(words, topics, said) -> None:
    with pytest.raises(InputError, match=said):
        create(words, topics)


def test_a_model_without_concepts_is_refused() -> None:
    with pytest.raises(InputError, match="no concepts"):
        create_study(edge_model("no concept"), 3, "hdp", 10, 1, "Clouds", "words")
