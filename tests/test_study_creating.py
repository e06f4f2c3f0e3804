"""`study create`: concepts against the topics of another model of the same counts."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest

from cli_for_tests import run
from models_for_tests import edge_model, planted_model
from superwords.analysis.words import concepts_of_word
from superwords.errors import InputError
from superwords.study.pairs import check_study, concept_uses, concept_weights, create_study, question_words

pytest.importorskip("tomotopy", reason="needs the extra `compare`")
pytestmark = pytest.mark.filterwarnings("ignore:No installed font covers")


def create(words, topics: str = "hdp") -> dict:
    return create_study(planted_model(), words, topics, 30, 1, "Clouds", "words")


def test_a_word_is_shown_by_the_concept_that_is_most_its_own() -> None:
    model = planted_model()
    study = create(["word20", "größe"])
    check_study(study, "here")
    for question in study["questions"]:
        own = int(concepts_of_word(model.result_, question["word"])["concept"][0])
        told = model.top_words(own, 40)
        told.remove(question["word"])
        n_shown = len(question["concept"]["words"])
        assert set(question["concept"]["words"]) == set(told[:n_shown])
        assert n_shown == len(question["topic"]["words"]) > 0


def test_words_typical_of_one_concept_are_asked_about_and_common_ones_are_not() -> None:
    n_words = 40
    uses = np.zeros((3, n_words))
    uses[0, :10], uses[1, 10:20], uses[2, 20:30] = 20.0, 15.0, 10.0
    uses[:, 30:] = 12.0  # used for all three alike
    uses[0, 0] = 500.0  # typical, but in nearly every document
    documents = np.where(np.arange(n_words) == 0, 900, 50)
    asked = question_words(uses, uses, documents, 6)
    assert sorted(int(uses[:, i].argmax()) for i in asked[:3]) == [0, 1, 2]
    assert sorted(int(uses[:, i].argmax()) for i in asked[3:]) == [0, 1, 2]
    assert all(0 < i < 30 for i in asked)
    assert len(question_words(uses, uses, documents, 1000)) == n_words - 1


def test_a_concept_is_shown_by_its_scores_and_by_as_many_words_as_it_uses() -> None:
    model = planted_model()
    weights = concept_weights(model)
    result = model.result_
    for j in range(model.n_concepts_):
        n_used = []
        for draw, partner in zip(result.spaced, result.consensus.partner):
            pairs = np.flatnonzero(draw.state.concept == partner[j])
            entries = [slice(*draw.state.pair_ptr[p : p + 2]) for p in pairs]
            n_used.append(len({int(i) for e in entries for i in draw.state.word[e][draw.tokens.entry[e] > 0]}))
        table = model.words_of(j + 1).head(round(np.mean(n_used)))
        table = table[table["share_used"] > 0]
        shown = {model.corpus_.vocabulary[i]: weights[j, i] for i in np.flatnonzero(weights[j])}
        assert shown == dict(zip(table["word"], table["score"]))
    assert (weights > 0).sum() < (model.concept_word_ > 0).sum()


def test_a_word_whose_concept_uses_no_other_is_not_asked_about() -> None:
    uses = np.array([[5.0, 4.0, 0.0], [0.0, 0.0, 9.0]])
    assert sorted(question_words(uses, uses, np.full(3, 9), 3)) == [0, 1]


def test_words_are_chosen_if_none_are_given() -> None:
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
        create_study(edge_model("no concept"), 3)


def test_without_tomotopy_nothing_is_begun(tmp_path, capsys, monkeypatch) -> None:
    path = planted_model().save(tmp_path / "model.sw")
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    found = run(capsys, "study", "create", path, "-o", tmp_path / "study.json")
    assert found.code == 1
    assert found.err.count("\n") == 1
    assert "superwords[compare]" in found.err


def test_hidden_concepts_are_not_asked_about() -> None:
    model = copy.deepcopy(planted_model())
    before = concept_uses(model)
    model.hide(1)
    uses = concept_uses(model)
    assert uses.shape == before.shape
    assert before[0].any()
    assert not uses[0].any()
