"""Names that a language model proposes: unique, cleaned, marked until they are accepted, kept in the file."""

import copy

import pytest

from cli_for_tests import run
from models_for_tests import planted_model
from superwords import load
from superwords.analysis.naming import LONGEST_TEXT, read_reply
from superwords.errors import InputError


@pytest.fixture
def model():
    return copy.deepcopy(planted_model()).choose([])


def numbered():
    """A function that gives every concept a name of its own."""
    prompts = []

    def ask(prompt):
        prompts.append(prompt)
        return f"Name: Subject {len(prompts)}\nDescription: It is number {len(prompts)}."

    return ask, prompts


def test_names_are_marked_until_they_are_accepted(model):
    ask, prompts = numbered()
    table = model.propose_names(ask)
    shown = model.result_.shown
    assert table["concept"].tolist() == shown
    assert len(prompts) == len(shown)
    assert model.concepts()["name"].tolist() == [f"Subject {n} (proposed)" for n in range(1, len(shown) + 1)]
    assert model.concepts()["description"][0] == "It is number 1."
    assert (table["top_words"][0], table["problem"][0]) == (model.top_words(1), "")
    model.accept_names([1])
    assert model.concepts()["name"].tolist()[:2] == ["Subject 1", "Subject 2 (proposed)"]
    model.accept_names()
    assert model.concepts()["name"].tolist() == [f"Subject {n}" for n in range(1, len(shown) + 1)]
    model.undo().undo().undo()
    assert model.choices_ == []
    assert "description" not in model.concepts()


def test_the_prompt_holds_words_passages_language_and_taken_names(model):
    model.rename({2: "Already here"})
    prompt = model.name_prompt(1, language="de")
    assert all(word in prompt for word in model.top_words(1, 5))
    assert "'de'" in prompt
    assert "Already here" in prompt
    ask, prompts = numbered()
    model.propose_names(ask, concepts=1)
    assert prompts == [model.name_prompt(1)]
    assert "Already here" not in model.name_prompt(2)
    for concept in model.result_.shown:
        assert f"\n{concept}: " in model.name_prompt()


def test_named_concepts_are_not_asked_about_again(model):
    model.rename({1: "Mine"})
    ask, _ = numbered()
    assert 1 not in model.propose_names(ask)["concept"].tolist()
    assert model.concepts()["name"][0] == "Mine"


def test_names_are_unique_whatever_the_function_replies(model):
    table = model.propose_names(lambda prompt: "Name: Same\nDescription: Always this.")
    names = [name.casefold() for name in table["name"]]
    assert len(set(names)) == len(names) == len(model.result_.shown)
    assert names[0] == "same"
    assert table["name"][1] == f"Same ({model.top_words(2)[0]})"


@pytest.mark.parametrize(
    ("reply", "name", "description"),
    [
        ('Name: "School meals"\nDescription: What pupils eat. And more.', "School meals", "What pupils eat."),
        ('```json\n{"name": "Rents", "description": "High."}\n```', "Rents", "High."),
        ("**Title:** Night noise.\n**Description:** Music at night", "Night noise", "Music at night"),
        ("Night noise\nMusic at night.", "Night noise", "Music at night."),
        ("Na\x00me\x1b[31m: no", "Na me [31m: no", ""),
        ("Name: " + "very long " * 30, "very long very long very long very long very long very long", ""),
        ("Name: \u202eevil\u202c name", "evil name", ""),
        ("", "", ""),
        ("   \n\t", "", ""),
        ("Name: \u2800", "", ""),
        (None, "", ""),
        ({"name": "x"}, "", ""),
    ],
)
def test_replies_are_cleaned(reply, name, description):
    assert read_reply(reply) == (name, description)


def test_a_long_description_is_cut_and_can_be_saved(model, tmp_path):
    model.propose_names(lambda prompt: "Name: A\nDescription: " + "so it goes " * 60, concepts=[1])
    assert 100 < len(model.descriptions_[1]) <= LONGEST_TEXT
    assert load(model.save(tmp_path / "m.sw")).descriptions_ == model.descriptions_


def test_a_function_that_fails_leaves_the_automatic_name(model):
    calls = []

    def ask(prompt):
        calls.append(prompt)
        if len(calls) <= 2:
            raise RuntimeError("no tokens left")
        return f"Name: Subject {len(calls)}"

    before = model.concepts()["name"][0]
    table = model.propose_names(ask)
    assert "no tokens left" in table["problem"][0]
    assert model.concepts()["name"][0] == before
    assert model.concepts()["name"][1] == "Subject 3 (proposed)"


def test_what_cannot_name_anything_is_refused(model):
    with pytest.raises(InputError, match="no name"):
        model.propose_names(lambda prompt: "")
    with pytest.raises(InputError, match="function from prompt to text"):
        model.propose_names(3)
    with pytest.raises(InputError, match="names no concept"):
        model.propose_names("what a lovely model")
    with pytest.raises(InputError, match="none to accept"):
        model.accept_names()
    model.propose_names("1: One | First.")
    with pytest.raises(InputError, match="for concept 2"):
        model.accept_names(2)
    assert model.concepts()["name"][0] == "One (proposed)"


def test_a_pasted_reply_is_read(model):
    table = model.propose_names("Sure!\n1. Fruit — What grows.\nConcept 2: Cars | What drives.\n99: None\n2: Again")
    assert table["name"].tolist() == ["Fruit", "Cars"]
    assert table["description"].tolist() == ["What grows.", "What drives."]


def test_the_command_line_pastes_and_accepts(model, tmp_path, capsys):
    path = model.save(tmp_path / "model.sw")
    assert "1: " in run(capsys, "edit", path, "--prompt", "en").out
    (tmp_path / "reply.txt").write_text("1: Fruit | What grows.\n", encoding="utf-8")
    shown = run(capsys, "edit", path, "--propose", tmp_path / "reply.txt")
    assert shown.code == 0, shown.err
    assert "Concept 1 is given the proposed name “Fruit”." in shown.out
    assert load(path).concepts()["name"][0] == "Fruit (proposed)"
    assert run(capsys, "edit", path, "--accept", "all", "--quiet").code == 0
    assert load(path).concepts()["name"][0] == "Fruit"
    assert load(path).descriptions_ == {1: "What grows."}
    assert run(capsys, "edit", path, "--propose", tmp_path / "none.txt").code == 1
