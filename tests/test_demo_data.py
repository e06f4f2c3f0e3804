"""The demo's recipes, words and pictures, and the rank accuracy of translations."""

from __future__ import annotations

import json
import re
import runpy
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from superwords.demo import load_demo, picture_similarity, rank_accuracy
from superwords.errors import InputError
from superwords.features import cooccurrence

SHARED = Path(__file__).parents[2] / "shared" / "data"
SCRIPT = Path(__file__).parents[1] / "scripts" / "picture_features.py"


@pytest.fixture(scope="module")
def demo():
    return load_demo()


def test_the_corpus_is_of_the_size_promised(demo):
    corpus = demo.corpus
    assert corpus.metadata["lang"].value_counts().to_dict() == {"en": 42, "de": 42}
    assert corpus.n_words == 125
    assert len(demo.languages) == 125
    assert len(demo.pairs) == 62
    assert corpus.counts.sum(axis=1).min() >= 12
    assert (corpus.counts > 0).sum(axis=0).min() >= 4
    assert all(4 <= len(re.findall(r"[.!?](?=\s|$)", text)) <= 8 for text in corpus.texts)
    assert len(set(corpus.texts)) == len(set(corpus.ids)) == len(set(corpus.metadata["title"])) == 84


def test_no_word_is_counted_in_the_other_language(demo):
    word_is_german = np.array(demo.languages) == "de"
    row_is_german = (demo.corpus.metadata["lang"] == "de").to_numpy()
    counts = demo.corpus.counts.toarray()
    assert counts[np.ix_(row_is_german, ~word_is_german)].sum() == 0
    assert counts[np.ix_(~row_is_german, word_is_german)].sum() == 0


def test_words_are_found_by_their_forms(demo):
    corpus = demo.corpus
    row = corpus.metadata["title"].tolist().index("Strawberry ice cream")
    counts = dict(zip(corpus.vocabulary, corpus.counts[[row]].toarray().ravel(), strict=True))
    assert counts["ice cream"] == len(re.findall("ice cream", corpus.texts[row]))
    assert counts["cream"] == len(re.findall("(?<!ice )cream", corpus.texts[row]))
    assert counts["strawberry"] == len(re.findall("strawberr", corpus.texts[row]))
    assert counts["milk"] == len(re.findall("milk", corpus.texts[row])) == 1


def test_sentences_belong_to_their_recipes(demo):
    corpus = demo.corpus
    assert corpus.sentences is not None
    assert corpus.sentences.max() == 1
    together = np.zeros((corpus.n_documents, corpus.n_words))
    np.add.at(together, corpus.sentence_row, corpus.sentences.toarray())
    assert np.array_equal(together > 0, corpus.counts.toarray() > 0)
    assert cooccurrence(corpus).values.shape == (125, 50)


def test_pictures_are_known_for_the_words_that_have_one(demo):
    assert demo.picture_features.shape == (125, 10)
    unknown = np.isnan(demo.picture_features)
    assert np.array_equal(unknown.any(axis=1), unknown.all(axis=1))
    blind = {word for word, missing in zip(demo.vocabulary, unknown[:, 0], strict=True) if missing}
    assert len(blind) == 25
    assert {"flour", "Mehl", "sugar", "Zucker", "Quark"} <= blind
    assert np.allclose(np.nanmean(demo.picture_features, axis=0), 0, atol=1e-5)


def test_pictures_alone_rank_translations_above_chance(demo):
    found = rank_accuracy(picture_similarity(demo.picture_features), demo.vocabulary, demo.pairs)
    assert found.pairs["known"].sum() == 50
    assert (found.pairs.loc[~found.pairs["known"], "accuracy"] == 0.5).all()
    assert 0.62 < found.mean_known < 0.9
    assert found.mean == pytest.approx((50 * found.mean_known + 12 * 0.5) / 62)
    known = ~np.isnan(demo.picture_features[:, 0])
    rng = np.random.default_rng(0)
    by_chance = []
    for _ in range(20):
        shuffled = demo.picture_features.copy()
        shuffled[known] = rng.permutation(shuffled[known])
        by_chance.append(rank_accuracy(picture_similarity(shuffled), demo.vocabulary, demo.pairs).mean_known)
    assert np.mean(by_chance) == pytest.approx(0.5, abs=0.03)
    assert max(by_chance) < found.mean_known


def naive_rank(similarity, word, translation, competitors):
    own = similarity[word][translation]
    below = sum(similarity[word][other] < own for other in competitors)
    level = sum(similarity[word][other] == own for other in competitors)
    return (below + level / 2) / len(competitors)


def test_rank_accuracy_equals_its_naive_twin():
    words = ["egg", "eggs", "Eier", "milk", "Milch", "salt"]
    rng = np.random.default_rng(4)
    matrix = rng.integers(0, 4, size=(6, 6)).astype(float)
    similarity = {a: dict(zip(words, row, strict=True)) for a, row in zip(words, matrix, strict=True)}
    pairs = [({"egg", "eggs"}, {"Eier"}), ({"milk"}, {"Milch"})]
    found = rank_accuracy(matrix, words, pairs)
    others = ["milk", "Milch", "salt"]
    forward = np.mean([naive_rank(similarity, word, "Eier", others) for word in ("egg", "eggs")])
    backward = np.mean([naive_rank(similarity, "Eier", word, others) for word in ("egg", "eggs")])
    assert found.pairs.loc[0, ["forward", "backward"]].tolist() == pytest.approx([forward, backward])
    others = ["egg", "eggs", "Eier", "salt"]
    milk = [naive_rank(similarity, *pair, others) for pair in (("milk", "Milch"), ("Milch", "milk"))]
    assert found.pairs.loc[1, "accuracy"] == pytest.approx(np.mean(milk))
    assert found.mean == pytest.approx(np.mean([(forward + backward) / 2, np.mean(milk)]))


def test_rank_accuracy_at_its_ends_and_without_knowledge():
    words = ["a", "b", "A", "B"]
    pairs = [({"a"}, {"A"}), ({"b"}, {"B"})]
    perfect = np.kron(np.ones((2, 2)), np.eye(2))
    assert rank_accuracy(perfect, words, pairs).mean == 1.0
    assert rank_accuracy(-perfect, words, pairs).mean == 0.0
    assert rank_accuracy(np.zeros((4, 4)), words, pairs).mean == 0.5
    unknown = perfect.copy()
    unknown[0, 2] = unknown[2, 0] = np.nan
    found = rank_accuracy(unknown, words, pairs)
    assert found.pairs["accuracy"].tolist() == [0.5, 1.0]
    assert found.mean_known == 1.0
    assert np.isnan(rank_accuracy(np.full((4, 4), np.nan), words, pairs).mean_known)


@pytest.mark.parametrize(
    ("matrix", "pairs", "said"),
    [
        (np.eye(3), [({"a"}, {"b"})], "shape"),
        (np.eye(2), [], "no pair"),
        (np.eye(2), [({"a"}, {"z"})], "'z'"),
        (np.eye(2), [({"a"}, set())], "no or unknown"),
    ],
)
def test_rank_accuracy_says_what_is_wrong(matrix, pairs, said):
    with pytest.raises(InputError, match=said):
        rank_accuracy(matrix, ["a", "b"], pairs)


def test_the_script_recomputes_the_features_from_other_copies_of_the_pictures(demo, tmp_path, monkeypatch, capsys):
    noto, openmoji = (SHARED / "food_pictures" / artist for artist in ("noto", "openmoji"))
    if not noto.is_dir():
        pytest.skip(f"the pictures are not at {noto}")
    output = tmp_path / "pictures.csv"
    arguments = ["--noto", str(noto), "--openmoji", str(openmoji), "-o", str(output)]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    with pytest.raises(SystemExit) as exit_code:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert exit_code.value.code == 0
    assert "mushroom" in capsys.readouterr().err
    again = pd.read_csv(output).set_index("word")
    shipped = pd.DataFrame(demo.picture_features, index=demo.vocabulary).loc[again.index]
    distances = [picture_similarity(table.to_numpy())[np.triu_indices(len(again), 1)] for table in (again, shipped)]
    assert np.corrcoef(distances)[0, 1] > 0.95


def test_no_picture_and_no_address_is_in_the_data():
    for entry in resources.files("superwords.demo").iterdir():
        if entry.name.endswith((".jsonl", ".csv", ".md", ".py")):
            assert "://" not in entry.read_text(encoding="utf-8")
        else:
            assert entry.name == "__pycache__"


def test_every_line_of_the_recipes_has_the_four_fields():
    text = resources.files("superwords.demo").joinpath("recipes.jsonl").read_text(encoding="utf-8")
    assert all(set(json.loads(line)) == {"id", "lang", "title", "text"} for line in text.splitlines())
