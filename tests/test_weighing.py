"""Any number of documents weighed into Parquet files: the weights of `transform`, part by part, and no part twice."""

import pandas as pd
import pytest

from cli_for_tests import model_file, run, write_documents
from superwords.fitting import folding


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("weighing")


@pytest.fixture
def documents(folder):
    path = folder / "new.parquet"
    table = pd.read_csv(write_documents(folder, 40))[["name", "speech"]]
    table.to_parquet(path, row_group_size=10)
    return path


def weigh(capsys, folder, documents, *more):
    columns = ["--text", "speech", "--id", "name", "--jobs", "1"]
    return run(capsys, "transform", model_file(folder), documents, *columns, *more)


def test_parts_hold_the_weights_of_transform_and_are_not_made_again(capsys, folder, documents):
    out = folder / "weights"
    told = weigh(capsys, folder, documents, "--parts", out)
    assert told.code == 0, told.err
    assert "Wrote the weights of 40 documents" in told.err
    parts = sorted(out.glob("*.parquet"))
    assert [part.name for part in parts] == [f"part-0000{n}.parquet" for n in range(4)]
    assert {path.name for path in out.iterdir()} == {folding.KEY_FILE, *(part.name for part in parts)}
    together = pd.concat([pd.read_parquet(part) for part in parts], ignore_index=True)
    assert weigh(capsys, folder, documents, "-o", folder / "weights.csv", "--quiet").code == 0
    pd.testing.assert_frame_equal(together, pd.read_csv(folder / "weights.csv"), check_exact=True)

    written = {part: part.stat().st_mtime_ns for part in parts}
    parts[2].unlink()
    assert weigh(capsys, folder, documents, "--parts", out, "--quiet").code == 0
    assert {part.name for part in parts if part.stat().st_mtime_ns != written[part]} == {"part-00002.parquet"}


def test_a_folder_with_something_else_in_it_is_left_alone(capsys, folder, documents, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    told = weigh(capsys, folder, documents, "--parts", tmp_path)
    assert told.code == 1
    assert "is not empty and holds no parts of these weights; give another folder." in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_parts_are_for_texts_and_go_to_one_place(capsys, folder, documents, tmp_path):
    both = weigh(capsys, folder, documents, "--parts", tmp_path / "a", "-o", tmp_path / "b.csv")
    assert both.code == 2
    assert "--parts cannot be used with --output or --json" in both.err
