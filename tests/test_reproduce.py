"""The paper's synthetic experiment, in small; and what every experiment does about its folder."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments import lee, mixing, recipes, settings, synthetic
from experiments.__main__ import EXPERIMENTS, main
from experiments.harness import Lab, make_folder
from superwords.errors import InputError
from superwords.progress import Progress
from superwords.text.corpus import Corpus


def test_the_truth_is_five_concepts_of_five_words_one_bound_to_another():
    planted = synthetic.make_truth(3)
    assert planted.counts.shape == (100, 25)
    assert (planted.counts.sum(axis=1) == synthetic.LENGTH).all()
    np.testing.assert_array_equal(planted.truth.sum(axis=1), 5)
    assert np.flatnonzero(planted.truth[synthetic.HARD]).tolist() == [10, 11, 12, 13, 14]
    hard, companion = planted.holds[:, synthetic.HARD], planted.holds[:, synthetic.COMPANION]
    assert (hard & ~companion).sum() <= 5 < (hard & companion).sum()
    used = (planted.counts.toarray() @ planted.truth.T) > 0
    assert not (used & ~planted.holds).any()


def test_with_features_all_five_concepts_are_found():
    outcome = synthetic.run(0, "kmeans", True, "exact", 120)
    assert outcome.recovered.all()
    assert outcome.shown.shape[1] == 25


def test_without_a_name_the_experiments_are_listed(capsys):
    main([])
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in EXPERIMENTS)
    for name in EXPERIMENTS:
        assert callable(import_module(f"experiments.{name}").experiment)


def test_an_unknown_experiment_is_refused():
    with pytest.raises(InputError, match="There is no experiment 'lea'; choose one of evidence"):
        main(["lea"])


def test_quick_sets_what_the_options_do_not(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(synthetic, "experiment", lambda lab, seeds=10, sweeps=1000: given.append((seeds, sweeps)))
    main(["synthetic", "-o", str(tmp_path), "--quick", "--sweeps", "30"])
    main(["synthetic", "-o", str(tmp_path)])
    assert given == [(1, 30), (10, 1000)]


def test_the_command_writes_its_table_and_figure(tmp_path, capsys):
    main(["synthetic", "-o", str(tmp_path), "--quick"])
    assert capsys.readouterr().out.count("mean Jaccard") == 8
    table = pd.read_csv(tmp_path / "synthetic.csv")
    assert len(table) == 8
    assert ((table.recovered >= 0) & (table.recovered <= 5)).all()
    assert (tmp_path / "synthetic.png").stat().st_size > 5000


@pytest.mark.statistics  # compiles kernels anew
def test_the_published_steps_can_be_run(tmp_path, capsys):
    main(["synthetic", "-o", str(tmp_path), "--seeds", "1", "--sweeps", "20", "--published"])
    assert "published steps" in capsys.readouterr().out


def interrupted(*_):
    raise KeyboardInterrupt


def then_interrupted(*results):
    """A stand-in for a run: these results one after the other, then Ctrl-C."""
    left = list(results)
    return lambda *_: left.pop(0) if left else interrupted()


@pytest.mark.parametrize("command", ["synthetic", "recipes", "lee", "lee --halves", "congress", "settings", "mixing"])
def test_a_file_in_the_folders_place_is_refused_before_the_work(tmp_path, command):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    for name in (*settings.NEEDS, recipes.FOODS):
        (tmp_path / name).touch()
    out = tmp_path / "out"
    out.write_text("a note")
    data = [] if command == "synthetic" else ["--data", str(tmp_path)]
    with pytest.raises(InputError, match="is a file; give the name of a folder"):
        main([*command.split(), *data, "-o", str(out)])
    assert out.read_text() == "a note"


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "note").touch()
    with pytest.raises(InputError, match=r"cannot be written to \(.+\); give another with -o"):
        make_folder(tmp_path / "note" / "out")
    make_folder(tmp_path / "some" / "out")
    assert list((tmp_path / "some" / "out").iterdir()) == []


def test_finished_fits_of_the_synthetic_experiment_are_kept(tmp_path, monkeypatch):
    outcome = synthetic.Outcome(
        0, "kmeans", True, "exact", np.ones(5), np.ones((5, 25)), np.full(5, 40), per_document=2.0
    )
    monkeypatch.setattr(synthetic, "run", then_interrupted(outcome, outcome))
    with pytest.raises(KeyboardInterrupt):
        synthetic.experiment(Lab(tmp_path), seeds=3)
    assert len(pd.read_csv(tmp_path / "synthetic.csv")) == 2


def test_finished_seeds_of_the_news_are_kept(tmp_path, monkeypatch):
    human = np.array([[1, 0.2, 0.4], [0.2, 1, 0.9], [0.4, 0.9, 1]])
    corpus = Corpus.from_counts(np.array([[2, 1, 0], [1, 1, 1], [0, 3, 1]]))
    monkeypatch.setattr(lee, "load_items", lambda data: (corpus, np.arange(3), human))
    monkeypatch.setattr(lee, "similarities", then_interrupted({lee.CONCEPTS: human}))
    with pytest.raises(KeyboardInterrupt):
        lee.experiment(Lab(tmp_path), seeds=2)
    assert pd.read_csv(tmp_path / "lee_seeds.csv")["method"].tolist() == ["TF-IDF", lee.CONCEPTS]


def test_finished_seeds_of_the_recipes_are_kept(tmp_path, monkeypatch):
    corpus = Corpus.from_counts(np.ones((2, 2), int))
    found = SimpleNamespace(corpus=corpus, picture_features=np.ones((2, 1)), pairs=[])
    pair = pd.DataFrame({"pair": ["egg = Ei"], "accuracy": [0.7], "known": [True]})
    one = recipes.RecipeRun(0, dict.fromkeys(recipes.SOURCES, pair), [])
    monkeypatch.setattr(recipes, "load_recipes", lambda data: found)
    monkeypatch.setattr(recipes, "run", then_interrupted(one))
    with pytest.raises(KeyboardInterrupt):
        recipes.experiment(Lab(tmp_path), seeds=2)
    assert pd.read_csv(tmp_path / "recipes_pairs.csv")["source"].tolist() == list(recipes.SOURCES)


def test_finished_runs_of_the_settings_are_kept(tmp_path, monkeypatch):
    bench = SimpleNamespace(split=SimpleNamespace(windows=None))
    monkeypatch.setattr(settings, "load_bench", lambda *_: bench)
    monkeypatch.setattr(settings.contest, "warm_up", lambda rows: None)
    monkeypatch.setattr(settings, "fit_variation", then_interrupted((None, 1.0), (None, 2.0)))
    monkeypatch.setattr(settings, "judged", lambda *_: {"win": 0.5, "npmi": 0.1})
    monkeypatch.setattr(settings, "saturation", lambda model: {"used": 0.5})
    with pytest.raises(KeyboardInterrupt):
        settings.experiment(Lab(tmp_path))
    assert pd.read_csv(tmp_path / "settings_runs.csv")["seconds"].tolist() == [1.0, 2.0]


def test_the_trace_of_unfinished_chains_is_kept(tmp_path):
    trace = mixing.Trace(20, Lab(tmp_path))
    states = [SimpleNamespace(concept=np.arange(n)) for n in (17, 20, 60, 120, 1, 59)]
    with trace.watching(SimpleNamespace(chains_=[SimpleNamespace(state=state) for state in states])):
        for sweep in (1, 2):
            trace(Progress(2, sweep, 20, 60 + sweep, 0.0, 0.0))
    kept = pd.read_csv(tmp_path / "traces.csv", index_col="sweep")
    assert kept["kmeans:60"].tolist() == [60, 61, 62]
    assert kept["single"].dropna().tolist() == [1]
