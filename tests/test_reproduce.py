"""The paper's synthetic experiment, in small."""

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from superwords.cli.reproduce import app
from superwords.reproduce import synthetic


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


def test_the_command_writes_its_table_and_figure(tmp_path):
    result = CliRunner().invoke(app, ["synthetic", "-o", str(tmp_path), "--seeds", "1", "--sweeps", "20"])
    assert result.exit_code == 0, result.output
    assert result.output.count("mean Jaccard") == 8
    table = pd.read_csv(tmp_path / "synthetic.csv")
    assert len(table) == 8
    assert ((table.recovered >= 0) & (table.recovered <= 5)).all()
    assert (tmp_path / "synthetic.png").stat().st_size > 5000


def test_the_published_steps_can_be_run(tmp_path):
    result = CliRunner().invoke(
        app, ["synthetic", "-o", str(tmp_path), "--seeds", "1", "--sweeps", "20", "--published"]
    )
    assert result.exit_code == 0, result.output
    assert "published steps" in result.output
