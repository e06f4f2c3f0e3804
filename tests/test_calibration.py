"""Whether stability predicts what another fit finds: the counting, on fits and on made-up cases."""

import pandas as pd
import pytest

from experiments.calibration import calibration, experiment, found_again
from experiments.harness import Lab
from models_for_tests import planted_model
from superwords.errors import InputError


def test_a_fit_finds_all_of_its_own_concepts_and_none_of_other_words():
    model = planted_model()
    twice = found_again([model, model])
    assert len(twice) == 2 * model.n_concepts_
    assert (twice["jaccard"] == 1).all()
    assert twice["stability"].tolist() == model.concepts()["stability"].tolist() * 2


def test_shares_are_counted_by_band_of_stability():
    cases = pd.DataFrame(
        {
            "corpus": "a",
            "seed": 1,
            "concept": range(1, 7),
            "stability": [0.0, 0.05, 0.6, 0.95, 1.0, 0.9],
            "jaccard": [0.1, 0.4, 1 / 3, 1 / 3, 0.6, 0.2],
        }
    )
    table = calibration(cases).set_index("stability")
    assert table["concepts"].to_dict() == {"0 to 0.1": 2, "0.5 to 0.9": 1, "0.9 to 1": 3}
    assert table["found"].tolist() == pytest.approx([1 / 2, 1, 2 / 3])
    assert table["found_at_0.2"].tolist() == pytest.approx([1 / 2, 1, 1])
    assert table["found_at_0.5"].tolist() == pytest.approx([0, 0, 1 / 3])
    assert (table["low"] < table["found"]).all()


def test_one_seed_is_refused(tmp_path):
    with pytest.raises(InputError, match="give at least 2"):
        experiment(Lab(tmp_path), seeds=1)
