"""`study create`: our concepts against the topics of another model of the same counts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cli_for_tests import run
from models_for_tests import edge_model, planted_model
from superwords.errors import InputError
from superwords.lab.study import creating
from superwords.lab.study.creating import concept_weights, create_study
from superwords.lab.study.pairs import check_study

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
        told = model.top_words(int(np.argmax(held)) + 1, 40)
        told.remove(question["word"])
        n_shown = len(question["ours"]["words"])
        assert set(question["ours"]["words"]) == set(told[:n_shown])
        assert n_shown == len(question["theirs"]["words"]) > 0


def test_a_concept_is_shown_by_its_scores_and_by_as_many_words_as_it_uses() -> None:
    model = planted_model()
    weights = concept_weights(model)
    draw, order = model.best_draw_, model.result_.concept_order
    for j in range(model.n_concepts_):
        pairs = np.flatnonzero(draw.state.concept == order[j])
        entries = [slice(*draw.state.pair_ptr[p : p + 2]) for p in pairs]
        used = {int(i) for e in entries for i in draw.state.word[e][draw.tokens.entry[e] > 0]}
        table = model.words_of(j + 1).head(len(used))
        table = table[table["share_used"] > 0]
        shown = {model.corpus_.vocabulary[i]: weights[j, i] for i in np.flatnonzero(weights[j])}
        assert shown == dict(zip(table["word"], table["score"]))
    assert (weights > 0).sum() < (model.concept_word_ > 0).sum()


def test_a_word_whose_concept_uses_no_other_is_not_asked_about(monkeypatch) -> None:
    model = planted_model()
    weights = concept_weights(model)
    weights[1:] = 0.0
    monkeypatch.setattr(creating, "concept_weights", lambda model: weights)
    held = model.concept_word_ * model.concepts()["documents"].to_numpy()[:, None]
    words = [question["word"] for question in create(40)["questions"]]
    asked = [model.corpus_.vocabulary.index(word) for word in words]
    assert asked
    assert (held[:, asked].argmax(axis=0) == 0).all()


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


def test_without_tomotopy_nothing_is_begun(tmp_path, capsys, monkeypatch) -> None:
    path = planted_model().save(tmp_path / "model.sw")
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    found = run(capsys, "study", "create", path, "-o", tmp_path / "study.json")
    assert found.code == 1
    assert found.err.count("\n") == 1
    assert "superwords[compare]" in found.err
