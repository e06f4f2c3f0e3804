"""`superwords demo`: letters whose planted differences are found, and concepts of two languages."""

import contextlib
import io
import json
import re
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from cli_for_tests import loaded, run
from scripts.letters import SUBJECTS, TREND, WORDING, as_table, make_letters
from superwords.cli.demo import print_next_steps, print_recipes
from superwords.cli.main import main
from superwords.demo import load_demo
from superwords.demo.run import PICTURES, TEXT, TOGETHER, load_letters, run_demo, without_artists

LETTERS = make_letters()


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The demo, run once: its model and its JSON."""
    return run_demo()


def test_text_and_pictures_beat_either_alone(ran):
    _, told = ran
    for pairs in ("all_pairs", "pictured_pairs"):
        scores = {name: found[pairs] for name, found in told["rank_accuracy"].items()}
        assert scores[TOGETHER] > scores[PICTURES] + 0.02
        assert scores[PICTURES] > 0.5 > scores[TEXT]
    assert "better than either alone" in told["conclusion"]


def test_concepts_join_the_languages(ran):
    model, told = ran
    demo = load_demo()
    language = dict(zip(demo.vocabulary, demo.languages))
    joined = told["bilingual_concepts"]
    assert len(joined) >= 5
    for concept in joined:
        assert {language[word] for word in concept["english"]} == {"en"}
        assert {language[word] for word in concept["german"]} == {"de"}
    leftover = model.concepts()["leftover"]
    order = [(leftover[one["concept"] - 1], -len(one["translations"])) for one in joined]
    assert order == sorted(order)
    assert len({pair for concept in joined for pair in concept["translations"]}) >= 10


def test_it_is_told_to_people(capsys, ran):
    model, told = ran
    capsys.readouterr()
    print_recipes(model, told)
    print_next_steps(None)
    shown = capsys.readouterr().out
    for name, scores in told["rank_accuracy"].items():
        assert name in shown
        assert f"{scores['all_pairs']:.3f}" in shown
    assert told["bilingual_concepts"][0]["english"][0] in shown
    assert "superwords fit" in shown
    assert "settings were chosen on these pairs" in shown
    assert shown.rstrip().splitlines()[-1].startswith("  superwords fit")
    assert "proves nothing" not in shown
    leftover = model.concepts().set_index("concept")["leftover"]
    for concept in (one["concept"] for one in told["bilingual_concepts"][:8]):
        assert (f" *{concept} " in shown) == leftover[concept]
    legend = "* Leftover, not to be relied on: a handful of documents"
    assert (legend in shown) == any(leftover[one["concept"]] for one in told["bilingual_concepts"][:8])


def test_the_artists_are_taken_off_without_a_dictionary():
    demo = load_demo()
    features = without_artists(demo)
    languages = np.array(demo.languages)
    np.testing.assert_array_equal(np.isnan(features), np.isnan(demo.picture_features))
    for language in ("en", "de"):
        np.testing.assert_allclose(np.nanmean(features[languages == language], axis=0), 0, atol=1e-12)
    assert np.nanstd(features) == pytest.approx(1)


def test_the_recipes_command(capsys, tmp_path, monkeypatch):
    """Few sweeps: the command, not the figures."""
    from superwords.demo import run as demo_run

    for name, value in (("n_sweeps", 6), ("n_burn_in", 2), ("n_chains", 1)):
        monkeypatch.setitem(demo_run.SETTINGS, name, value)
    shown = run(capsys, "demo", "recipes", "-o", tmp_path / "demo", "--jobs", 1)
    assert shown.code == 0, shown.err
    assert f"superwords show {tmp_path / 'demo' / 'recipes.sw'}" in shown.out
    assert loaded(tmp_path / "demo" / "recipes.sw").corpus_.n_documents == 84
    told = run(capsys, "demo", "recipes", "--json", "--quiet")
    assert told.err == ""
    assert set(told.json["rank_accuracy"]) == {TOGETHER, PICTURES, TEXT}
    assert run(capsys, "demo", "recipes", "--quiet") == (0, "", "")


def test_wrong_use_of_the_command(capsys, tmp_path):
    assert run(capsys, "demo", "-o", tmp_path / "no" / "demo").code == 1
    (tmp_path / "file").write_text("")
    assert "is not a folder" in run(capsys, "demo", "-o", tmp_path / "file").err
    assert run(capsys, "demo", "poems").code == 2


@pytest.fixture(scope="module")
def letters_run(tmp_path_factory):
    """The letters demo with its default settings, run once by the command."""
    folder = tmp_path_factory.mktemp("demo") / "letters"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["demo", "-o", str(folder), "--json", "--quiet"]) == 0
    return folder, json.loads(out.getvalue()), loaded(folder / "letters.sw")


def shares(household, subject, first=0.0, last=1.0):
    days = pd.to_datetime([one.day for one in LETTERS])
    elapsed = (days - days[0]) / (days[-1] - days[0])
    inside = [
        subject in one.subjects
        for one, t in zip(LETTERS, elapsed)
        if first <= t <= last and household in (one.household, None)
    ]
    return float(np.mean(inside))


def test_the_letters_are_those_of_the_generator():
    stored = resources.files("superwords.demo").joinpath("letters.csv").read_text(encoding="utf-8")
    assert stored == as_table(LETTERS).to_csv(index=False, lineterminator="\n")
    table = load_letters()
    assert table["text"].nunique() == len(table) == 360
    assert table["author"].nunique() == 24
    assert not re.search(r"[{}|\[\]]|[TO]: ", " ".join(table["text"]))


def subject_of(model):
    """The planted subject that each concept follows best, and the correlation."""
    weights = np.asarray(model.doc_concept_)
    planted = {name: [float(name in one.subjects) for one in LETTERS] for name in SUBJECTS}
    found = {}
    for j in range(model.n_concepts_):
        fits = {name: np.corrcoef(weights[:, j], truth)[0, 1] for name, truth in planted.items()}
        found[j + 1] = max(fits.items(), key=lambda one: one[1])
    return found


def test_every_subject_is_found(letters_run):
    _, _, model = letters_run
    best = {}
    for subject, fit in subject_of(model).values():
        best[subject] = max(fit, best.get(subject, 0))
    assert set(best) == set(SUBJECTS)
    assert min(best.values()) > 0.6


def test_the_planted_differences_are_found(letters_run):
    _, told, model = letters_run
    subject = {concept: name for concept, (name, _) in subject_of(model).items()}
    difference, trend, wording = told["difference"], told["trend"], told["wording"]
    assert subject[difference["concept"]] == "rents"
    truth = shares("owner", "rents") - shares("tenant", "rents")
    assert difference["low"] < truth < difference["high"] < 0
    assert subject[trend["concept"]] == "meals"
    assert 0 < trend["low"] < TREND["meals"] < trend["high"]
    assert subject[wording["concept"]] == "noise"
    for household, words in WORDING["noise"].items():
        assert set(words) <= set(wording[household])
    assert len(told["quotes"]) == 3
    words = model.top_words(difference["concept"])
    for quote in told["quotes"]:
        assert "rents" in LETTERS[int(quote["document"].removeprefix("letter ")) - 1].subjects
        assert sum(word in quote["passage"] for word in words) >= 2


def test_the_demo_leaves_its_files_and_one_finding(letters_run):
    folder, told, _ = letters_run
    assert {path.name for path in folder.iterdir()} == {"letters.csv", "letters.sw", "report.html"}
    assert "95% interval" in told["finding"]
    assert "tenants" in told["finding"]
    assert (folder / "report.html").read_text().count("Letters to a town council") >= 1
    row = told["difference"]
    assert f"{row['prevalence_tenant']:.0%}" in told["finding"]
    assert pd.read_csv(folder / "letters.csv").equals(load_letters())
