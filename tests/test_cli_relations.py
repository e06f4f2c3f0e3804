"""The commands trends, effects and themes."""

from dataclasses import replace

import pytest

from cli_for_tests import model_file, run
from models_for_tests import planted_model, with_parts


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return model_file(tmp_path_factory.mktemp("relations"))


def test_trends_print_what_rises(saved, capsys, tmp_path):
    told = run(capsys, "trends", saved, "year", "--picture", tmp_path / "time.png")
    assert told.code == 0, told.err
    assert "from 2000 to 2002" in told.out
    assert (tmp_path / "time.png").stat().st_size > 1000
    page = run(capsys, "trends", saved, "year", "--json").json
    assert [one["period"] for one in page["periods"]] == ["2000", "2001", "2002"]
    assert run(capsys, "trends", saved, "year", "--by", "2", "--csv").out.startswith("concept,name,period")
    one = run(capsys, "trends", saved, "year", "--concept", "1")
    assert "early" in one.out
    assert run(capsys, "trends", saved, "year", "--concept", "1", "--json").json["words"]


def test_effects_print_points(saved, capsys, tmp_path):
    told = run(capsys, "effects", saved, "party + year", "--picture", tmp_path / "effects.svg")
    assert told.code == 0, told.err
    assert "Effect of party B compared with A:" in told.out
    assert "Based on" not in told.out
    assert "year counts in years from 2001." in told.out
    assert (tmp_path / "effects.svg").exists()
    page = run(capsys, "effects", saved, "party + year", "--concept", "1", "--json").json
    assert {one["term"] for one in page["effects"]} == {"party[T.B]", "year"}
    assert run(capsys, "effects", saved, "party", "--of", "strength", "--csv").out.startswith("concept,name,term")


def test_effects_take_groups_clusters_and_predictions(saved, capsys):
    told = run(capsys, "effects", saved, "party", "--reference", "party=B", "--only", "party=A,B")
    assert "Effect of party A compared with B:" in told.out, told.err
    page = run(capsys, "effects", saved, "party + year", "--predict", "year,party", "--json").json
    assert {(one["year"], one["party"]) for one in page["predicted"]} == {
        (year, party) for year in (2000, 2001, 2002) for party in "AB"
    }
    out = run(capsys, "effects", saved, "party", "--predict", "party").out
    assert "Predicted: the share of documents that use the concept" in out
    assert "party=" in run(capsys, "effects", saved, "party", "--reference", "party=").err
    assert "There is no column 'who'" in run(capsys, "effects", saved, "party", "--cluster-by", "who").err
    export = ("export", saved, "effects", "--formula", "party", "-o", saved.parent / "effects.csv")
    for name in ("--cluster-by", "--cluster"):
        assert "There is no column 'who'" in run(capsys, *export, name, "who").err


def test_effects_say_how_many_documents_are_left_out(capsys, tmp_path):
    model = planted_model()
    metadata = model.corpus_.metadata.assign(party=[None] * 5 + ["A", "B"] * 17 + ["A"])
    changed = with_parts(model, corpus=replace(model.corpus_, metadata=metadata))
    told = run(capsys, "effects", changed.save(tmp_path / "some.sw"), "party")
    assert "Based on 35 of 40 documents; the others lack a value or were excluded." in told.out


def test_themes_are_proposed(saved, capsys, tmp_path):
    told = run(capsys, "themes", saved, "--picture", tmp_path / "tree.png")
    assert told.code == 0, told.err
    assert "These themes are proposed" in told.out
    page = run(capsys, "themes", saved, "--json").json
    assert page["themes"]
    assert page["tree"]
    assert run(capsys, "themes", saved, "--csv").out.startswith("theme,concepts")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trends", "date"], "There is no column 'date'"),
        (["trends", "party"], "which is not a date"),
        (["trends", "year", "--by", "fortnight"], "by='fortnight' is not a width"),
        (["trends", "year", "--concept", "99"], "There is no concept 99"),
        (["effects", "seniority"], "There is no column 'seniority'"),
        (["effects", "party", "--concept", "99"], "There is no concept 99"),
        (["effects", "party", "--of", "size"], "of='size' is not known"),
        (["themes", "--picture", "tree.jpg"], "must end in .png, .svg or .pdf"),
    ],
)
def test_wrong_use_is_one_sentence(saved, capsys, arguments, said):
    command, *rest = arguments
    told = run(capsys, command, saved, *rest)
    assert told.code == 1
    assert said in told.err
    assert told.err.count("\n") == 1
