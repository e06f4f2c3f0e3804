"""`superwords demo`: concepts of two languages, and translations found by text and pictures together."""

import numpy as np
import pytest

from cli_for_tests import loaded, run
from superwords.demo import load_demo
from superwords.demo.run import PICTURES, TEXT, TOGETHER, without_artists


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The demo, run once: its JSON and its model."""
    from superwords.cli.demo_command import as_plain, print_next_steps, print_result
    from superwords.demo.run import run_demo

    result = run_demo()
    return result, as_plain(result, 2012, 1.0), print_result, print_next_steps


def test_text_and_pictures_beat_either_alone(ran):
    _, told, _, _ = ran
    for pairs in ("all_pairs", "pictured_pairs"):
        scores = {name: found[pairs] for name, found in told["rank_accuracy"].items()}
        assert scores[TOGETHER] > scores[PICTURES] + 0.02
        assert scores[PICTURES] > 0.5 > scores[TEXT]
    assert "better than either alone" in told["conclusion"]


def test_concepts_join_the_languages(ran):
    result, told, _, _ = ran
    language = dict(zip(result.demo.vocabulary, result.demo.languages))
    joined = told["bilingual_concepts"]
    assert len(joined) >= 5
    for concept in joined:
        assert {language[word] for word in concept["english"]} == {"en"}
        assert {language[word] for word in concept["german"]} == {"de"}
    leftover = result.model.concepts()["leftover"]
    order = [(leftover[one["concept"] - 1], -len(one["translations"])) for one in joined]
    assert order == sorted(order)
    assert len({pair for concept in joined for pair in concept["translations"]}) >= 10


def test_it_is_told_to_people(capsys, ran):
    result, told, print_result, print_next_steps = ran
    capsys.readouterr()
    print_result(result, 12.0)
    print_next_steps(None)
    shown = capsys.readouterr().out
    for name, scores in told["rank_accuracy"].items():
        assert name in shown
        assert f"{scores['all_pairs']:.3f}" in shown
    assert told["bilingual_concepts"][0]["english"][0] in shown
    assert "superwords fit" in shown
    assert "settings were chosen by these very pairs" in shown
    leftover = result.model.concepts().set_index("concept")["leftover"]
    for concept in (one["concept"] for one in told["bilingual_concepts"][:8]):
        assert (f" *{concept} " in shown) == leftover[concept]
    few = "* held by only a handful of documents, perhaps a leftover."
    assert (few in shown) == any(leftover[one["concept"]] for one in told["bilingual_concepts"][:8])


def test_the_artists_are_taken_off_without_a_dictionary():
    demo = load_demo()
    features = without_artists(demo)
    languages = np.array(demo.languages)
    np.testing.assert_array_equal(np.isnan(features), np.isnan(demo.picture_features))
    for language in ("en", "de"):
        np.testing.assert_allclose(np.nanmean(features[languages == language], axis=0), 0, atol=1e-12)
    assert np.nanstd(features) == pytest.approx(1)


def test_the_command(capsys, tmp_path, monkeypatch):
    """Few sweeps: the command, not the figures."""
    from superwords.demo import run as demo_run

    for name, value in (("n_sweeps", 6), ("n_burn_in", 2), ("n_chains", 1)):
        monkeypatch.setitem(demo_run.SETTINGS, name, value)
    output = tmp_path / "demo.sw"
    shown = run(capsys, "demo", "-o", output, "--jobs", 1)
    assert shown.code == 0, shown.err
    assert f"superwords show {output}" in shown.out
    assert loaded(output).corpus_.n_documents == 84
    told = run(capsys, "demo", "--json", "--quiet")
    assert told.err == ""
    assert set(told.json["rank_accuracy"]) == {TOGETHER, PICTURES, TEXT}
    assert run(capsys, "demo", "--quiet") == (0, "", "")
    assert run(capsys, "demo", "-o", tmp_path / "no" / "demo.sw").code == 1
