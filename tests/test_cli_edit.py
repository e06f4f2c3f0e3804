"""The command edit: decisions are kept in the model file, bind every command, and can be undone."""

import pytest

from cli_for_tests import run
from models_for_tests import planted_model
from superwords import load


@pytest.fixture
def saved(tmp_path):
    return planted_model().save(tmp_path / "model.sw")


def shown(capsys, saved):
    return [one["concept"] for one in run(capsys, "show", saved, "--json").json["concepts"]]


def test_decisions_are_kept_bind_every_table_and_are_undone(capsys, saved):
    before = shown(capsys, saved)
    assert {1, 2, 3, 4} <= set(before)
    told = run(capsys, "edit", saved, "--merge", "1,2", "--hide", "3", "--name", "1", "Fruit & cars", "--name", 4, "x")
    assert told.code == 0, told.err
    for said in ("Concept 2 is merged into concept 1.", "Concept 3 is hidden.", "Concept 1 is called “Fruit & cars”."):
        assert said in told.out
    assert "--undo" in told.err
    assert shown(capsys, saved) == [j for j in before if j not in (2, 3)]
    again = load(saved)
    assert again.concepts().set_index("concept")["name"][[1, 4]].tolist() == ["Fruit & cars", "x"]
    assert set(again.by_group("party")["concept"]) == set(shown(capsys, saved))
    assert run(capsys, "show", saved, "--concept", "2").err == (
        "superwords: Concept 2 is merged into concept 1; restore it to see it on its own.\n"
    )
    page = run(capsys, "edit", saved, "--theme", "1,4", "Things", "--json").json
    assert page["themes"] == {"1": "Things", "4": "Things"}
    assert page["hidden"] == [3]
    run(capsys, "edit", saved, "--undo")
    assert run(capsys, "edit", saved, "--json").json["themes"] == {}
    run(capsys, "edit", saved, "--undo", "--quiet")  # one call is one decision
    assert shown(capsys, saved) == before
    assert run(capsys, "edit", saved).out.strip() == "Nothing has been decided about the concepts."
    none = run(capsys, "edit", saved, "--undo")
    assert none.code == 1
    assert "nothing to undo" in none.err


def test_restore_in_the_same_call_and_saved_again(capsys, saved, tmp_path):
    run(capsys, "edit", saved, "--hide", "1,2")
    run(capsys, "edit", saved, "--restore", "1", "--name", "1", "back")
    model = load(saved)
    assert model.result_.excluded == {2: "is hidden"}
    assert load(model.save(tmp_path / "copy.sw")).choices_ == model.choices_


@pytest.mark.parametrize("arguments", [["--name", "1", "two\twords"], ["--name=1", "two words"]])
def test_names_may_have_a_tab_and_options_an_equals_sign(capsys, saved, arguments):
    assert run(capsys, "edit", saved, *arguments).code == 0
    assert load(saved).names_ == {1: "two words"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--merge", "1"], 1, "fewer than two concepts"),
        (["--merge", "1,x"], 2, "--merge '1,x' does not name concepts"),
        (["--hide", "99"], 1, "There is no concept 99"),
        (["--restore", "1"], 1, "neither hidden nor merged"),
        (["--name", "1"], 2, "--name' requires 2 arguments"),
        (["--name", "1", "\u200b"], 1, "a character that cannot be shown (U+200B)"),
        (["--name=1"], 2, "--name' requires 2 arguments"),
        (["--undo", "--hide", "1"], 2, "--undo cannot be used together"),
    ],
)
def test_wrong_edits_change_nothing_and_are_one_sentence(capsys, saved, arguments, code, said):
    before = saved.read_bytes()
    told = run(capsys, "edit", saved, *arguments)
    assert told.code == code
    assert said in told.err
    assert told.err.count("\n") == 1
    assert saved.read_bytes() == before


def test_split_and_pinned_words_sample_on_and_replace_the_file(capsys, saved):
    word = load(saved).top_words(1)[0]
    told = run(capsys, "edit", saved, "--split", "1", "--sweeps", "4", "--json")
    assert [one["chain"] for one in told.json] == list(range(len(load(saved).chains_)))
    told = run(capsys, "edit", saved, "--pin", "1", word, "--sweeps", "4", "--json")
    assert told.json[0]["pinned"] == [word]
    assert load(saved).chains_[0].model.fixed.sum() == 1
    assert "cannot be used together" in run(capsys, "edit", saved, "--pin", "1", word, "--hide", "2").err
    assert "names no word" in run(capsys, "edit", saved, "--ban", "1", " , ").err
    assert "--sweeps" in run(capsys, "edit", saved, "--sweeps", "4").err
