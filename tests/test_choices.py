"""What people choose stays in the model file, and the rest of the file stays as it was."""

from __future__ import annotations

import numpy as np
import pytest

from choices_for_tests import read_choices
from models_for_tests import planted_model
from superwords import load
from superwords.analysis.curation import add_choices, undo_choices
from superwords.analysis.naming import checked_name
from superwords.errors import InputError
from superwords.storage.arrays import pack
from superwords.storage.model_file import Choice, ModelFile


@pytest.fixture
def path(tmp_path):
    return planted_model().save(tmp_path / "model.sw")


def packed(path):
    container = ModelFile.open(path)
    return {name: pack(container.get(name)) for name in container.parts()}


def test_choices_are_kept_and_everything_else_is_untouched(path) -> None:
    before = packed(path)
    add_choices(path, [Choice("name", 1, "first"), Choice("name", 2, "<b>second</b>")])
    add_choices(path, [Choice("name", 1, ""), Choice("name", 2, "Größe 健康"), Choice("hide", 3, "yes")])
    assert [one[:3] for one in read_choices(path)] == [
        ("name", 1, "first"),
        ("name", 2, "<b>second</b>"),
        ("name", 1, ""),
        ("name", 2, "Größe 健康"),
        ("hide", 3, "yes"),
    ]
    assert all(one.made.startswith("20") for one in read_choices(path))
    model = load(path)
    assert model.names_ == {2: "Größe 健康"}
    assert model.choices_ == read_choices(path)
    assert 3 not in set(model.concepts()["concept"])
    assert model.concepts()["name"][1] == "Größe 健康"
    assert packed(path) == before


def test_choices_are_undone_one_by_one(path) -> None:
    add_choices(path, [Choice("name", 1, "first")])
    add_choices(path, [Choice("name", 1, "second"), Choice("theme", 2, "taxes")])
    assert [one.value for one in undo_choices(path)] == ["second", "taxes"]
    assert load(path).names_ == {1: "first"}
    assert [one.value for one in undo_choices(path)] == ["first"]
    assert undo_choices(path) == []
    assert load(path).names_ == {}


def test_what_is_chosen_in_python_is_saved(tmp_path) -> None:
    model = load(planted_model().save(tmp_path / "m.sw")).rename({2: "taxes"}).merge([1, 3])
    again = load(model.save(tmp_path / "again.sw"))
    assert again.choices_ == model.choices_
    assert again.concepts().equals(model.concepts())
    assert again.undo().undo().concepts().equals(planted_model().concepts())


@pytest.mark.parametrize(
    "forged",
    [
        Choice("name", 1_000, "a"),
        Choice("name", 0, "a"),
        Choice("name", 1, " a"),
        Choice("merge", 1, "1000"),
        Choice("merge", 1, "two"),
        Choice("merge", 1, "1"),
        Choice("burn", 1, "yes"),
    ],
)
def test_forged_choices_are_refused(path, forged) -> None:
    add_choices(path, [forged])
    with pytest.raises(InputError):
        load(path)


def test_choices_go_with_the_model_into_another_file(path, tmp_path) -> None:
    add_choices(path, [Choice("name", 1, "taxes")])
    again = load(load(path).save(tmp_path / "again.sw"))
    assert again.names_ == {1: "taxes"}
    assert np.array_equal(again.concept_word_, planted_model().concept_word_)


@pytest.mark.parametrize(
    "name",
    [
        *("x" * 101, "a\x00b", "\ud800", "a\u202eb", "a\u2067b", "a\u200fb", "a\u200bb", "a\u2060b", "a\ufeffb"),
        *("a\u00adb", "a\U000e0041b", "a\U000e0100b", "a\u3164b", "a\u034fb", "\u200da", "a\u200c", "a\u200d\u200db"),
        *("a\ue000b", "\u0301"),
    ],
)
def test_names_that_cannot_be_shown_are_refused(name) -> None:
    with pytest.raises(InputError):
        checked_name(name)


@pytest.mark.parametrize("name", ["café", "می\u200cخواهم", "👩\u200d🌾 farms", "健康", "naïve – «x»", "❤\ufe0f"])
def test_names_in_any_script_are_taken(name) -> None:
    assert checked_name(name) == name


def test_a_name_is_trimmed() -> None:
    assert checked_name("  health \n care ") == "health care"


def test_a_file_that_is_no_model_is_left_alone(tmp_path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(InputError, match="not a superwords model"):
        add_choices(path, [Choice("name", 1, "a")])
    assert path.read_text() == "hello"
    assert list(tmp_path.iterdir()) == [path]
