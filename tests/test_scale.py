"""`python -m experiments bench --scale`: the corpora it makes, and what it says of them."""

import json

import numpy as np
import pytest

from experiments import scale
from experiments.__main__ import main
from superwords.errors import InputError


def bench(folder, *arguments):
    main(["bench", "-o", str(folder), *arguments])
    return json.loads((folder / "bench.json").read_text(encoding="utf-8"))


def test_a_large_corpus_is_made_of_its_concepts():
    planted = scale.plant_large(450, seed=1)
    assert planted.counts.shape == (450, scale.N_WORDS)
    assert planted.features.shape == (scale.N_WORDS, scale.N_FEATURES)
    assert planted.holds.sum(axis=1).mean() == pytest.approx(scale.PER_DOCUMENT, rel=0.1)
    assert planted.counts.sum() / 450 == pytest.approx(scale.LENGTH, rel=0.1)
    possible = (planted.holds.astype(int) @ planted.truth.astype(int)) > 0
    assert possible[planted.counts.nonzero()].all()
    again = scale.plant_large(450, seed=1)
    assert (again.counts != planted.counts).nnz == 0


def test_a_concept_is_matched_from_half_of_its_words_on():
    truth = np.eye(3, 6, dtype=bool) | np.eye(3, 6, 3, dtype=bool)
    found = truth[:2].copy()
    found[1, 0] = found[1, 2] = True  # 2 of 4 words are right
    assert scale.matched(truth, found) == pytest.approx(2 / 3)
    found[1, 5] = True  # 2 of 5
    assert scale.matched(truth, found) == pytest.approx(1 / 3)
    assert scale.matched(truth, found[:0]) == 0.0


def test_the_exponent_is_the_power():
    sizes = np.array([10, 100, 1000])
    assert scale.exponent(sizes, 3.0 * sizes**1.1) == pytest.approx(1.1)


def test_the_command_measures_each_size(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(scale, "N_WORDS", 500)
    monkeypatch.setattr(scale, "N_CONCEPTS", 20)
    figures = bench(tmp_path, "--scale", "--sizes", "100,200", "--sweeps", "1")
    assert [one["documents"] for one in figures["sizes"]] == [100, 200]
    assert all(one["seconds_per_sweep"] > 0 and one["memory_mb"] > 0 for one in figures["sizes"])
    assert np.isfinite(figures["exponent_memory_mb"])


def test_the_command_measures_threads(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(scale, "N_WORDS", 500)
    monkeypatch.setattr(scale, "N_CONCEPTS", 20)
    figures = bench(tmp_path, "--threads", "2", "--sizes", "100", "--sweeps", "1")
    assert figures["threads"] == 2
    assert "times as fast" in capsys.readouterr().out


def test_sizes_without_scale_are_refused(tmp_path):
    with pytest.raises(InputError, match="belong to --scale or --threads"):
        bench(tmp_path, "--sizes", "100")
