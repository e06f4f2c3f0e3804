"""The studies of search, discovery and seeds: how they judge, and that they go on where they were broken off."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from experiments import discovery as discovery_study
from experiments import search as search_study
from experiments import seed_lists
from experiments import seeds as seeds_study
from experiments.__main__ import main
from experiments.harness import GrowingTable, Lab
from models_for_tests import planted_model
from superwords.errors import InputError
from superwords.text.corpus import Corpus


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("search", search_study.DOCUMENTS),
        ("discovery", discovery_study.SPEECHES),
        ("seeds", seed_lists.FILES["recipes"]),
    ],
)
def test_missing_data_are_named_before_a_folder_is_made(tmp_path, command, missing):
    with pytest.raises(InputError, match=re.escape(missing)):
        main([command, "--data", str(tmp_path), "-o", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_measures_of_a_ranking_are_those_of_the_textbook():
    scores = np.array([[4.0, 3.0, 2.0, 1.0]])
    relevant = np.array([[False, True, False, True]])
    gain, precision = search_study.judge(scores, relevant)
    assert precision[0] == pytest.approx((1 / 2 + 2 / 4) / 2)
    ideal = 1 + 1 / np.log2(3)
    assert gain[0] == pytest.approx((1 / np.log2(3) + 1 / np.log2(5)) / ideal)


def test_a_setting_is_judged_on_the_half_that_did_not_choose_it():
    """Setting a is best on even queries, b on odd ones: each half is judged under the other's choice."""
    rows = [
        {"query": q, "setting": setting, "nDCG@10": float(good), "AP": float(good) / 2}
        for q in range(6)
        for setting, good in (("a", q % 2 == 0), ("b", q % 2 == 1))
    ]
    found, chosen = search_study.judged_on_the_other_half(pd.DataFrame(rows))
    assert found.tolist() == [[0.0] * 6, [0.0] * 6]
    assert set(chosen.split(" / ")) == {"a", "b"}


def test_a_paired_test_sees_a_difference_and_none():
    rng = np.random.default_rng(0)
    values = rng.random(50)
    assert search_study.paired_p(values + 0.2 + 0.1 * rng.random(50), values) < 0.001
    assert search_study.paired_p(values, rng.permutation(values)) > 0.05


@pytest.mark.parametrize("peer", [search_study.bm25_peers, search_study.lsa_peers, search_study.neighbour_peers])
def test_peers_find_the_documents_with_the_querys_words(peer):
    rng = np.random.default_rng(1)
    counts = sparse.csr_array(rng.poisson(np.kron(np.eye(3), np.full((10, 8), 1.5)) + 0.02).astype(float))
    query = sparse.csr_array(np.eye(3).repeat(8, axis=1))
    for one in peer(query, counts, 3):
        assert one.values.shape == (3, 30)
        best = np.argsort(-one.values, axis=1)[:, :5] // 10
        assert (best == np.arange(3)[:, None]).all()


def test_a_growing_table_takes_up_what_is_there(tmp_path):
    table = GrowingTable(tmp_path / "rows.csv", sweeps=5)
    assert not table.has(seed=1)
    table.add([{"seed": 1, "value": 0.25}])
    again = GrowingTable(tmp_path / "rows.csv", sweeps=5)
    assert again.has(seed=1)
    assert not again.has(seed=2)
    again.add([{"seed": 2, "value": 0.5}])
    assert GrowingTable(tmp_path / "rows.csv", sweeps=5).table["value"].tolist() == [0.25, 0.5]
    with pytest.raises(InputError, match="is of a run with another sweeps"):
        GrowingTable(tmp_path / "rows.csv", sweeps=6)


def test_readers_gains_are_of_the_same_readers():
    rows = [
        {"seed": 0, "half": 1, "reader": r, "likes": "a party", "judgements": 5, "served by": who, "precision": p}
        for r in range(4)
        for who, p in (("superwords", 0.5 + r / 10), ("TF-IDF, mean", 0.4 + r / 10), ("chance", 0.1))
    ]
    found = discovery_study.gains(pd.DataFrame(rows))
    assert found["against"].tolist() == ["TF-IDF, mean"]
    assert found["gain"].iloc[0] == pytest.approx(0.1)
    assert found["low"].iloc[0] == pytest.approx(0.1)


def test_average_precision_leaves_out_what_was_given():
    scores = np.array([9.0, 5.0, 4.0, 3.0, 2.0])
    assert seeds_study.average_precision(scores, [0], [1, 3]) == pytest.approx((1 + 2 / 3) / 2)


def test_half_of_every_list_is_given_and_none_is_lost():
    lists = {"a": list("pqrstuv"), "b": list("wxyz")}
    halves = seeds_study.cut(lists, 3)
    assert [len(words) for words in halves.given.values()] == [4, 2]
    assert all(sorted(halves.given[group] + halves.hidden[group]) == lists[group] for group in lists)
    assert seeds_study.cut(lists, 4) != halves


def test_words_used_for_the_same_concepts_are_ranked_first():
    model = planted_model()
    number = {word: i for i, word in enumerate(model.corpus_.vocabulary)}
    own, other = ([number[word] for word in model.top_words(j, 4)] for j in (1, 2))
    scores = seeds_study._ranked(model.result_, [own[:2]])[0]
    assert min(scores[own[2:]]) > max(scores[other])


def test_typical_words_of_a_section_are_those_in_excess():
    rng = np.random.default_rng(0)
    section = np.repeat(["a", "b"], 100)
    counts = rng.random((200, 4)) < np.where(section[:, None] == "a", [0.9, 0.1, 0.5, 0.5], [0.1, 0.9, 0.5, 0.5])
    corpus = Corpus.from_counts(counts.astype(int), ["of a", "of b", "of both", "of none"])
    assert seed_lists.typical_words(corpus, section.tolist()) == {"a": ["of a"], "b": ["of b"]}


def test_the_study_of_seeds_compares_everyone_on_the_same_halves(tmp_path, monkeypatch):
    pytest.importorskip("topica")
    model = planted_model()
    groups = {f"list {j}": model.top_words(j, 4) for j in (1, 2)}
    task = seed_lists.WordLists("recipes", model.corpus_, groups)
    monkeypatch.setattr(seeds_study, "read_task", lambda *given: task)
    monkeypatch.setattr(seeds_study, "RESIDUALS", (1,))
    table = seeds_study.experiment(Lab(tmp_path, jobs=1), ("recipes",), 1, 1, 20)
    assert set(table["model"]) == {
        seeds_study.OURS, seeds_study.UNGUIDED, seeds_study.ROWS, seeds_study.COREX, seeds_study.SEEDED,
    }  # fmt: skip
    assert table["MAP"].between(0, 1).all()
    assert table.set_index("model").loc[seeds_study.OURS, "MAP"] > 0.25  # by chance 0.12
    with pytest.raises(InputError, match="There are no lists for 'news'"):
        seeds_study.experiment(Lab(tmp_path), ("news",))
