"""`superwords fit`: what it reads, what it says, what it saves."""

import inspect
import json
import os

import numpy as np
import pytest
from scipy import sparse

from cli_for_tests import THEMES, fit_arguments, loaded, model_file, run, write_documents
from superwords import ConceptModel
from superwords.features.specs import split_features


@pytest.fixture
def source(tmp_path):
    return write_documents(tmp_path)


def test_a_fit_says_what_it_found_in_plain_words(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    found = run(capsys, *fit_arguments(source, output, "--groups", "party"))
    assert found.code == 0, found.err
    assert "24 documents" in found.err
    assert "co-occurrence" in found.err
    assert "chain 2: 16/16 sweeps" in found.err
    model = loaded(output)
    assert f"{model.n_concepts_} concept" in found.out
    assert "The chains " in found.out
    assert f"superwords show {output}" in found.out
    assert " A " in found.out
    assert " B " in found.out
    assert model.corpus_.notes["groups"] == ["party"]
    assert set(model.corpus_.vocabulary) <= {word for words in THEMES.values() for word in words}
    assert not output.with_name("model.sw.checkpoint").exists()


def test_json_is_all_there_is_on_standard_output(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    found = run(capsys, *fit_arguments(source, output, "--json"))
    assert found.code == 0
    assert found.json["n_concepts"] == loaded(output).n_concepts_
    assert found.json["seed"] == 7
    assert found.json["sweeps"] == [16, 16]
    assert found.json["draws"] == 12
    assert found.json["interrupted"] is False
    assert found.json["concepts"][0]["top_words"]
    assert "sweeps" in found.err


def test_quiet_says_nothing(capsys, source, tmp_path):
    found = run(capsys, *fit_arguments(source, tmp_path / "model.sw", "--quiet"))
    assert found == (0, "", "")


def test_the_same_seed_gives_the_same_model(capsys, source, tmp_path):
    files = [tmp_path / "one.sw", tmp_path / "two.sw"]
    for file, jobs in zip(files, (1, 2)):
        assert run(capsys, *fit_arguments(source, file, "--jobs", jobs)).code == 0
    first, second = map(loaded, files)
    np.testing.assert_array_equal(first.doc_concept_, second.doc_concept_)


def test_options_reach_the_model(capsys, source, tmp_path):
    given = {"alpha-omega": 0.5, "b1": 2.0, "b2": 3.0, "lam": 0.1, "alpha-pi": 2.0, "k": 0.7}
    given |= {"alpha-sigma": 3.0, "beta-sigma": 1.5, "theta": "root", "init": "random:3", "chains": 1}
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, *options, "--save-draws")).code == 0
    model = loaded(output)
    prior = model.chains_[0].model.prior
    assert (prior.alpha_omega, prior.b1, prior.b2, prior.alpha_pi, prior.K) == (0.5, 2.0, 3.0, 2.0, 0.7)
    assert (prior.alpha_sigma, prior.beta_sigma) == (3.0, 1.5)
    assert np.all(prior.lam == 0.1)
    assert (model.theta, model.init, len(model.chains_)) == ("root", "random:3", 1)
    assert tuple(model.schedule_) == (16, 4, 2)
    assert len(model.draws_) == 6


def test_rows_are_placed_by_vectors_of_their_texts(capsys, source, tmp_path):
    pytest.importorskip("wordllama", reason="needs the extra embeddings")
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, "--row-vectors", "wordllama")).code == 0
    notes = loaded(output).corpus_.notes
    assert notes["row_vectors"] == notes["source"]["row_vectors"] == "wordllama"
    without = run(capsys, *fit_arguments(source, output, "--row-vectors", "wordllama", "--no-texts"))
    assert without.code == 1
    assert "--row-vectors 'wordllama' needs the texts of the rows" in without.err
    assert "--keep-texts" in without.err


def test_hyperparameters_are_sampled_on_request(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    options = [word for name in ("alpha-omega", "b1", "b2", "theta") for word in (f"--{name}", "sample")]
    assert run(capsys, *fit_arguments(source, output, *options)).code == 0
    assert loaded(output).b1 == "sample"
    wrong = run(capsys, *fit_arguments(source, output, "--b1", "guess", "-q"))
    assert wrong.code == 2
    assert "--b1 'guess' is not a positive number" in wrong.err


def test_defaults_shown_in_the_help_are_the_models(capsys):
    shown = " ".join(run(capsys, "fit", "--help").out.replace("│", " ").split())
    theirs = inspect.signature(ConceptModel).parameters
    for option, name in (("chains", "n_chains"), ("sweeps", "n_sweeps"), ("b1", "b1"), ("init", "init")):
        after = shown[shown.index(f"--{option} ") :]
        assert after[after.index("[default: ") :].startswith(f"[default: ({theirs[name].default}")


def test_features_side_by_side(capsys, source, tmp_path):
    table = tmp_path / "norms, of words.csv"
    words = [word for theme in THEMES.values() for word in theme]
    table.write_text("word,size,age\n" + "".join(f"{w},{n},{n * n % 7}\n" for n, w in enumerate(words)))
    output = tmp_path / "model.sw"
    found = run(capsys, *fit_arguments(source, output, "--features", f"cooccurrence:ppmi,table:{table}"))
    assert found.code == 0, found.err
    assert "2 columns for 12 of 12 words" in found.err
    values = loaded(output).chains_[0].model.data.Y
    # As they were combined: both blocks have half of the variance, whatever their width.
    assert values[:, -2:].var(axis=0).sum() == pytest.approx(values.shape[1] / 2)


def test_no_features(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, "--features", "none")).code == 0
    assert loaded(output).chains_[0].model.data.Y.shape[1] == 0


def test_a_comma_in_a_path_does_not_split_it():
    assert split_features(["cooccurrence,table:a,b.csv,vectors:v.txt", "pictures:p"]) == [
        ("cooccurrence", ""),
        ("table", "a,b.csv"),
        ("vectors", "v.txt"),
        ("pictures", "p"),
    ]


def test_ready_counts(capsys, tmp_path):
    counts = np.random.default_rng(1).poisson(1.0, (12, 5))
    sparse.save_npz(tmp_path / "counts.npz", sparse.csr_array(counts))
    (tmp_path / "counts.txt").write_text("a\nb\nc\nd\ne\n")
    output = tmp_path / "model.sw"
    found = run(capsys, "fit", tmp_path / "counts.npz", "--sweeps", 8, "--seed", 1, "-o", output)
    assert found.code == 0, found.err
    assert loaded(output).corpus_.vocabulary == list("abcde")


def test_languages_by_column(capsys, tmp_path):
    lines = [
        {
            "text": "The apple and the pear fell." if d % 2 else "Der Apfel und die Birne fielen.",
            "lang": "en" if d % 2 else "de",
        }
        for d in range(8)
    ]
    source = tmp_path / "two.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = tmp_path / "model.sw"
    quick = ["--min-df", 2, "--sweeps", 8, "--seed", 3, "-o", output]
    found = run(capsys, "fit", source, "--language", "column:lang", *quick)
    assert found.code == 0, found.err
    assert {"Apfel", "apple"} <= set(loaded(output).corpus_.vocabulary)
    assert run(capsys, "fit", source, "--language", "column:tongue").code == 1


def test_texts_are_kept_or_not(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    assert loaded(model_file(tmp_path)).corpus_.texts is not None
    assert run(capsys, *fit_arguments(source, output, "--no-texts")).code == 0
    assert loaded(output).corpus_.texts is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--text", "speeches"], "no text column 'speeches'"),
        (["--groups", "faction"], "There is no column 'faction'; the columns are"),
        (["--min-df", "400"], "--min-df 400"),
        (["-o", "no/such/folder/model.sw"], "There is no folder"),
        (["-o", "."], "is a folder"),
        (["--resume"], "a finished run leaves none. To continue a finished model: superwords fit --more 1000 MODEL"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(capsys, source, tmp_path, change, said):
    found = run(capsys, *fit_arguments(source, tmp_path / "model.sw", *change, "--quiet"))
    assert found.code == 1
    assert found.out == ""
    assert found.err.startswith("superwords: ")
    assert said in found.err
    assert found.err.count("\n") == 1
    assert not (tmp_path / "model.sw").exists()


def test_an_output_that_cannot_be_written_is_said_before_the_work(capsys, tmp_path):
    found = run(capsys, "fit", tmp_path / "not there.csv", "-o", tmp_path / "no folder" / "model.sw")
    assert found.code == 1
    assert "There is no folder" in found.err


@pytest.mark.parametrize("name", ["m" * 250, "pipe"])
def test_an_output_whose_place_cannot_be_taken_is_said_before_the_work(capsys, tmp_path, name):
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    found = run(capsys, "fit", tmp_path / "not there.csv", "-o", tmp_path / name)
    assert found.code == 1
    assert name in found.err
    assert "not there.csv" not in found.err
    assert found.err.count("\n") == 1


def test_the_documents_are_not_replaced_by_the_model(capsys, source):
    before = source.read_bytes()
    found = run(capsys, *fit_arguments(source, source))
    assert found.code == 1
    assert "holds the documents; give another name for the model" in found.err
    assert source.read_bytes() == before


def test_a_model_is_replaced_with_a_word_and_few_documents_are_called_few(capsys, tmp_path):
    source, output = write_documents(tmp_path, 12), tmp_path / "model.sw"
    first = run(capsys, *fit_arguments(source, output))
    assert "Replaces" not in first.err
    assert "too few documents for reliable concepts" in first.err
    assert f"Replaces the model in {output}." in run(capsys, *fit_arguments(source, output)).err
    many = run(capsys, *fit_arguments(write_documents(tmp_path, 24), output))
    assert "So few documents" not in many.err


def test_how_to_sample_longer_is_said(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    found = run(capsys, *fit_arguments(source, output, "--thin", "4"))
    assert "The Monte-Carlo error is not known" in found.out or "The chains agree on" in found.out
    assert f"superwords fit --more 16 {output}" in found.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"text\nThank you.\nThank you so much.\n", "There is no noun, name, verb or adjective in the 2 documents"),
        (b"text\nK\xf6ln\n", "not valid utf-8: byte 0xf6 at column 2; save it as UTF-8"),
    ],
)
def test_documents_that_cannot_be_used_are_told_in_one_sentence(capsys, tmp_path, content, said):
    (tmp_path / "d.csv").write_bytes(content)
    found = run(capsys, "fit", tmp_path / "d.csv", "-o", tmp_path / "model.sw")
    assert found.code == 1
    assert said in found.err
    assert found.err.count("\n") == 1
