"""Names given to concepts stay in the model file, and the rest of the file stays as it was."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from models_for_tests import planted_model
from superwords import load
from superwords.errors import InputError
from superwords.fitting.renaming import NAMES, checked_name, rename_concepts


@pytest.fixture
def path(tmp_path):
    return planted_model().save(tmp_path / "model.sw")


def test_names_are_kept_and_everything_else_is_untouched(path) -> None:
    before = {i.filename: i.CRC for i in zipfile.ZipFile(path).infolist()}
    rename_concepts(path, {1: "first", 2: "<b>second</b>"})
    rename_concepts(path, {2: "Größe 健康"})
    model = load(path)
    assert model.names_ == {2: "Größe 健康"}
    assert model.concepts()["name"][1] == "Größe 健康"
    assert model.concepts()["name"][0] == planted_model().concepts()["name"][0]
    with zipfile.ZipFile(path) as archive:
        after = {i.filename: i.CRC for i in archive.infolist()}
        assert archive.testzip() is None
    assert after.keys() - before.keys() == {NAMES}
    assert {name: after[name] for name in before} == before


def test_names_go_with_the_model_into_another_file_and_fall_with_its_draws(path, tmp_path) -> None:
    rename_concepts(path, {1: "taxes"})
    again = load(load(path).save(tmp_path / "again.sw"))
    assert again.names_ == {1: "taxes"}
    assert np.array_equal(again.concept_word_, planted_model().concept_word_)
    again.advance(2)
    assert again.names_ == {}


@pytest.mark.parametrize("name", ["x" * 101, "a\x00b", "\ud800", "a\u202eb"])
def test_names_that_cannot_be_shown_are_refused(name) -> None:
    with pytest.raises(InputError):
        checked_name(name)


def test_a_name_is_trimmed() -> None:
    assert checked_name("  health \n care ") == "health care"


def test_a_file_that_is_no_model_is_left_alone(tmp_path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(InputError, match="not a superwords model"):
        rename_concepts(path, {1: "a"})
    assert path.read_text() == "hello"
    assert list(tmp_path.iterdir()) == [path]
