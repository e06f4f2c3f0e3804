"""Seeds: words that a person puts together, as features; the concept that takes them bears their name."""

import warnings

import numpy as np
import pandas as pd
import pytest

import superwords
from cli_for_tests import THEMES, loaded, run, write_documents
from models_for_tests import planted_model, with_parts
from superwords import Corpus, features
from superwords.analysis.tables import concept_names, takers
from superwords.errors import InputError
from superwords.features.seeding import SHARE, read_seeds, spread_seeds
from superwords.features.specs import make_features


def test_a_word_of_several_groups_is_in_the_column_of_each():
    table = pd.DataFrame({"word": ["plum", "tyre", "wax"], "group": ["fruit", "cars", "fruit, cars"]})
    found = features.seeds(table, ["wax", "plum", "tyre", "sky"])
    assert found[:3].tolist() == [[1, 1], [1, 0], [0, 1]]
    assert np.isnan(found[3]).all()


def test_strengths_multiply():
    table = pd.DataFrame({"word": ["plum", "pear"], "group": ["fruit"] * 2, "strength": [2.0, None]})
    assert read_seeds(table) == {"fruit": {"plum": 2.0, "pear": 1.0}}
    assert features.seeds(table, ["pear", "plum"], strength=3.0).ravel().tolist() == [3.0, 6.0]


def test_an_unknown_seed_word_is_said_in_one_sentence():
    with pytest.warns(UserWarning, match=r"^Seed words that are not in the vocabulary are left out: quince\.$"):
        features.seeds({"fruit": ["plum", "quince"]}, ["plum", "pear"])


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"fruit": ["quince"]}, "None of the seed words of 'fruit' is in the vocabulary: quince."),
        ({}, "There are no seed words"),
        ({"fruit": []}, "The group 'fruit' has no seed words"),
        ({"fruit": "plum"}, "are one string"),
        ({"fruit": {"plum": -1}}, "The strength of 'plum' is -1.0"),
        (pd.DataFrame({"word": ["plum"]}), "no column 'group'"),
        (pd.DataFrame({"word": ["plum", None], "group": ["a", "b"]}), "row 2 lacks a word or a group"),
    ],
)
def test_seeds_that_cannot_be_used_are_said_in_one_sentence(groups, said):
    with pytest.raises(InputError, match=r"^[^\n]*$") as error:
        features.seeds(groups, ["plum", "pear"])
    assert said in str(error.value)


def seeded(model, groups):
    """The planted model as if its features had come from these groups."""
    corpus = model.corpus_
    notes = {**corpus.notes, "seeds": groups}
    return with_parts(model, corpus=type(corpus)(**{**corpus.__dict__, "notes": notes}))


def test_the_concept_that_takes_a_groups_words_bears_its_name():
    model = planted_model()
    tops = [model.top_words(j, 4) for j in (1, 2)]
    names = concept_names(seeded(model, {"one": tops[0], "two": tops[1]}).result_)
    assert names[:2] == ["one", "two"]
    assert set(names[2:]) == set(concept_names(model.result_)[2:])


def test_one_concept_that_takes_two_groups_bears_both_names():
    model = planted_model()
    top = model.top_words(1, 4)
    assert concept_names(seeded(model, {"a": top[:2], "b": top[2:]}).result_)[0] == "a + b"


def test_words_that_no_concept_takes_name_none():
    model = planted_model()
    words, vocabulary = model.result_.summary.words, model.corpus_.vocabulary
    assert takers(words, model.n_concepts_, vocabulary, {"gone": ["not there"]}) == {}
    assert takers(words, 0, vocabulary, {"one": vocabulary[:2]}) == {}


def test_a_name_that_a_person_gives_comes_before_the_groups():
    model = seeded(planted_model(), {"one": planted_model().top_words(1, 4)})
    model.names_[1] = "mine"
    assert concept_names(model.result_)[0] == "mine"
    del model.names_[1]


def test_the_command_takes_seeds_and_names_their_concepts(capsys, tmp_path):
    source, file, model = write_documents(tmp_path), tmp_path / "seeds.csv", tmp_path / "model.sw"
    rows = [(word, name) for name, words in THEMES.items() for word in words[:3]] + [("quince", "orchard")]
    file.write_text("word,group\n" + "".join(f"{word},{name}\n" for word, name in rows), encoding="utf-8")
    arguments = ["--text", "speech", "--words", "plain", "--min-df", 2, "--chains", 1, "--sweeps", 40]
    done = run(
        capsys, "fit", source, *arguments, "--jobs", 1, "--seed", 1, "-o", model,
        "--features", f"cooccurrence,seeds:{file}",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Seed words that are not in the vocabulary are left out: quince." in done.out + done.err
    assert set(THEMES) & set(loaded(model).concepts()["name"])


def test_seeds_are_read_without_a_warning_where_all_words_are_known():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.seeds({"fruit": ["plum", "pear"]}, ["plum", "pear"])


def test_beside_other_features_a_word_without_a_group_leans_to_the_seeds_it_is_like():
    others = np.array([[2.0, 0.0], [1.5, 0.1], [0.0, 1.5], [-3.5, -1.6], [np.nan, np.nan], [np.nan, np.nan]])
    given = np.array([[1.0], [np.nan], [np.nan], [np.nan], [1.0], [np.nan]])
    found = spread_seeds(given, others)
    column = found[:, 0]
    assert column[0] == column[4] > column[1] > column[2]
    assert np.isnan(found[5]).all()  # nothing is known of it
    assert not np.isnan(found[:5]).any()
    np.testing.assert_allclose(found[:4, 1:], others[:4])


def test_strength_scales_the_block_of_seeds():
    rng = np.random.default_rng(0)
    others = rng.normal(size=(30, 4))
    given = np.full((30, 2), np.nan)
    given[:3], given[3:6] = [1.0, 0.0], [0.0, 1.0]
    once, twice = spread_seeds(given, others), spread_seeds(2 * given, others)
    np.testing.assert_allclose(twice[:, :2], 2 * once[:, :2])
    np.testing.assert_array_equal(twice[:, 2:], once[:, 2:])
    total = (once[:, :2] ** 2).mean(axis=0).sum()
    assert total == pytest.approx(SHARE * (others**2).mean(axis=0).sum())


def test_seeds_of_two_files_stand_side_by_side(tmp_path):
    corpus = Corpus.from_counts([[1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1]] * 2, ["plum", "pear", "tyre", "wax"])
    for name, word in (("one", "plum"), ("two", "tyre")):
        (tmp_path / f"{name}.csv").write_text(f"word,group\n{word},{name}\n", encoding="utf-8")
    both = f"cooccurrence,seeds:{tmp_path}/one.csv,seeds:{tmp_path}/two.csv"
    made = make_features(both, corpus)
    assert made.seeds == {"one": ["plum"], "two": ["tyre"]}
    assert made.values.shape[1] == 2 + make_features("cooccurrence", corpus).values.shape[1]
    assert made.values[0, 0] == made.values[:, 0].max()
    assert made.values[2, 1] == made.values[:, 1].max()


def test_in_python_groups_are_given_as_they_are_and_name_their_concepts():
    counts = [[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 2, 3], [0, 0, 3, 2]] * 6
    corpus = Corpus.from_counts(counts, ["plum", "pear", "tyre", "brake"])
    groups = {"fruit": ["plum", "pear"], "cars": ["tyre"]}
    both = make_features(["cooccurrence", groups], corpus)
    assert both.seeds == groups
    alone = make_features(groups, corpus)
    np.testing.assert_array_equal(alone.values, features.seeds(groups, corpus.vocabulary))
    assert both.values.shape[1] == 2 + make_features("cooccurrence", corpus).values.shape[1]
    model = superwords.fit(corpus, features=["cooccurrence", groups], n_chains=1, n_sweeps=20, random_state=1, n_jobs=1)
    assert set(model.concepts()["name"]) & set(groups)
    with pytest.raises(InputError, match="None of the seed words of 'sky'"):
        superwords.fit(corpus, features={"sky": ["cloud"]})
    with pytest.raises(InputError, match="cannot be joined"):
        make_features(["none", groups], corpus)


def test_seed_words_that_are_no_list_and_tables_without_columns_are_refused():
    with pytest.raises(InputError, match="The seed words of 'sweet' are given as 5; give a list of words"):
        features.seeds({"sweet": 5}, ["sugar"])
    with pytest.raises(InputError, match="The table of seeds has no column 'word'; the columns are none"):
        features.seeds(pd.DataFrame(), ["sugar"])
    with pytest.raises(InputError, match="The table of seeds is of type int; give a DataFrame"):
        features.seeds(5, ["sugar"])
