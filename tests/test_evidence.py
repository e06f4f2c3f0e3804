"""The experiments of docs/evidence.md: their measures by hand, and whole small runs on planted data."""

from __future__ import annotations

import gzip
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from experiments import evidence, features, salient
from experiments.__main__ import main
from superwords.analysis.tables import coherence
from superwords.compare.judging import Found


def test_a_translation_is_ranked_among_the_rows_of_the_other_language() -> None:
    labels = np.array(["1", "2", "3", "1", "2", "3"], object)
    concepts = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    assert features.reciprocal_rank(concepts, labels) == 1
    # The third row is nearest to the first translation; its own comes second, tied with the other.
    concepts[2] = [1, 0, 0]
    assert features.reciprocal_rank(concepts, labels) == pytest.approx((1 + 1 + 1 / 2.5) / 3)


def test_ours_is_ahead_with_an_interval_also_of_a_peer_with_one_run() -> None:
    rows = [
        {"column": "topic", "model": model, "number": "own"} | dict.fromkeys(("P1", "ARI", "NMI", "probe"), value)
        for model, values in (("superwords", (0.5, 0.6, 0.7)), ("LDA", (0.3, 0.4)), ("STM", (0.45,)))
        for value in values
    ]
    found = evidence.ahead(pd.DataFrame(rows)).set_index("against")
    assert found.loc["LDA", "P1"] == pytest.approx(0.25)
    assert found.loc["LDA", "P1 low"] < 0.25 < found.loc["LDA", "P1 high"]
    # Student's t with two degrees of freedom: 4.303 · 0.1 / √3.
    assert found.loc["STM", "P1 high"] - found.loc["STM", "P1"] == pytest.approx(4.302653 * 0.1 / np.sqrt(3))


def test_wins_are_counted_by_part_of_the_sets() -> None:
    rng = np.random.default_rng(0)
    units = sparse.csc_array((rng.random((60, 44)) < 0.05).astype(float))
    units = sparse.csc_array(units.toarray() + np.outer(np.arange(60) % 2 == 0, np.arange(44) < 11))
    weights = np.zeros((1, 44))
    weights[0, :21] = np.arange(21, 0, -1)  # ten words that are together (beside word 0), then ten that are not
    theirs = np.zeros((1, 44))
    theirs[0, [0, *range(21, 41)]] = np.arange(21, 0, -1)
    found = salient.wins(
        Found(weights, weights, 0.0), Found(theirs, theirs, 0.0), [0], partial(coherence, (units > 0).astype(int))
    )
    assert found["1–10"] == 1
    assert salient.broadest(Found(weights, weights, 0.0), [0, 1]) == 1


def test_features_are_compared_on_few_documents(tmp_path) -> None:
    pytest.importorskip("wordllama", reason="needs the extra `embeddings`")
    rng = np.random.default_rng(1)
    themes = ("doctor hospital nurse patient", "river water dam flood", "army soldier navy base")
    records = [{"text": " ".join(rng.choice(themes[d % 3].split(), 9)) + ".", "topic": f"t{d % 3}"} for d in range(120)]
    for file in features.NEEDS:
        (tmp_path / file).write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    options = ["--cases", "few", "--seeds", "2", "--chains", "1", "--sweeps", "10", "--jobs", "1"]
    main(["features", "--data", str(tmp_path), "-o", str(tmp_path / "out"), *options])
    table = pd.read_csv(tmp_path / "out" / "features.csv").set_index("features")
    assert list(table.index) == list(features.VARIANTS)
    assert (table["NMI"] > 0.5).all()
    assert table["partners 1/3"].between(0, 1).all()
