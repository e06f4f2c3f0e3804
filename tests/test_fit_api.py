"""One door: superwords.fit takes any documents, with the command's defaults, and refuses what is wrong at once."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from joblib import cpu_count

import superwords
from cli_for_tests import QUICK, assert_same_bits, fit_arguments, loaded, run, write_documents
from superwords import ConceptModel, Corpus, InputError
from superwords.cli.fit_run import asked_for
from superwords.fitting.fit import checked
from superwords.machine import n_workers
from superwords.progress import Display, Progress, Watcher, make_watcher
from superwords.text.read import read_documents

SMALL = {"n_chains": 2, "n_sweeps": 16, "n_burn_in": 4, "thin": 2, "random_state": 7, "min_df": 2}


@pytest.fixture
def source(tmp_path):
    return write_documents(tmp_path)


def test_documents_of_every_kind_have_the_bits_of_the_command(capsys, source, tmp_path):
    assert run(capsys, *fit_arguments(source, tmp_path / "model.sw", "-q", "--groups", "party")).code == 0
    of_command = loaded(tmp_path / "model.sw")
    table = pd.read_csv(source)
    columns = {"text": "speech", "id": "name", "groups": "party"}
    for documents, named in ((source, columns), (str(source), columns), (table, columns)):
        model = superwords.fit(documents, **named, **SMALL)
        assert_same_bits(model, of_command)
        assert model.corpus_.ids == of_command.corpus_.ids
        assert model.corpus_.notes["groups"] == ["party"]
    words = {name: SMALL[name] for name in SMALL if name != "min_df"}
    corpus = read_documents(table, text="speech", id="name", min_df=2)
    for documents in (table["speech"], table["speech"].tolist(), tuple(table["speech"])):
        assert_same_bits(superwords.fit(documents, **SMALL), of_command)
    assert_same_bits(superwords.fit(corpus, **words), of_command)
    assert_same_bits(ConceptModel(**words).fit(corpus), of_command)


def test_passages_and_co_occurrence_are_chosen_as_on_the_command_line(capsys, tmp_path):
    text = "The apple fell near the pear. A basket of cherries stood there. The orchard slept. "
    source = tmp_path / "long.csv"
    pd.DataFrame({"text": [text * 9, text[::-1] + text * 9] * 3}).to_csv(source, index=False)
    output = tmp_path / "model.sw"
    assert run(capsys, "fit", source, *QUICK, "-q", "-o", output).code == 0
    model = superwords.fit(source, **SMALL)
    assert model.corpus_.unit == "passages:5"
    assert model.chains_[0].model.data.Y.shape[1] > 0
    assert_same_bits(model, loaded(output))


def test_defaults_are_the_same_for_the_command_the_function_and_the_class():
    given = dict.fromkeys(("chains", "sweeps", "b1", "b2", "init", "burn_in", "thin", "jobs", "seed", "k"))
    of_command = checked(asked_for(given | {"features": (), "quiet": False}))[0]
    assert of_command.get_params() == checked({})[0].get_params() == ConceptModel().get_params()
    assert (of_command.b1, of_command.b2) == ("auto", "auto")


class Unread:
    """Documents that must not be touched."""

    def __iter__(self):
        raise AssertionError("the documents were read")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"b1": "banana"}, "b1='banana' is not a positive number"),
        ({"lam": [0.5, 2.0]}, "lam is 2.0 for word 1"),
        ({"theta": "often"}, "theta='often' is not known"),
        ({"init": "chaos"}, "init='chaos' is not known; choose 'rows', 'topics'"),
        ({"init": 5}, "init=5 is not known; choose 'rows', 'topics'"),
        ({"init": ["single"], "n_chains": 2}, "init names 1 starts for 2 chains"),
        ({"n_sweeps": 0}, "n_sweeps=0"),
        ({"n_burn_in": 2000}, "n_burn_in=2000 leaves no draw"),
        ({"steps": "fast"}, "steps='fast'"),
        ({"steps": ["exact"]}, "steps=['exact'] is not known"),
        ({"random_state": -1}, "random_state=-1"),
        ({"n_jobs": 0}, "n_jobs=0 is not a number of cores"),
        ({"n_jobs": 2.5}, "n_jobs=2.5 is not a number of cores"),
        ({"progress": 3}, "progress=3 is not known"),
        ({"cluster": "anywhere"}, "cluster='anywhere' is not an address; give 'auto'"),
        ({"features": "smell"}, "'smell' are not known"),
        ({"features": "seeds:nowhere.csv"}, "nowhere.csv: there is no such file"),
        ({"language": "english"}, "english"),
        ({"unit": "pages:2"}, "unit='pages:2'"),
        ({"words": "letters"}, "words='letters'"),
        ({"min_df": "few"}, "min_df='few' is not possible"),
        ({"max_df": -1}, "max_df=-1"),
        ({"min_df": float("nan")}, "min_df=nan is not possible"),
        ({"max_df": float("inf")}, "max_df=inf is not possible"),
        ({"tagger": 5}, "There is no tagger 5"),
        ({"drop": "nowhere.txt"}, "nowhere.txt"),
        ({"sweeps": 3}, "sweeps=3 is not known; the options are K, alpha_omega"),
    ],
)
def test_what_is_wrong_is_refused_before_any_text_is_read(wrong, said):
    with pytest.raises(InputError) as refused:
        superwords.fit(Unread(), **wrong)
    assert said in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_generator_is_not_drawn_from_by_the_check():
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    checked({"random_state": rng})
    assert rng.integers(1000) == same.integers(1000)


@pytest.mark.parametrize(("n_jobs", "n"), [(None, cpu_count()), (-1, cpu_count()), (1, 1), (np.int64(3), 3)])
def test_jobs_are_counted_as_joblib_counts_them(n_jobs, n):
    assert n_workers(n_jobs) == n
    assert n_workers(-cpu_count()) == 1


TEXTS = ["Milk and sugar for the coffee.", "The boat left the harbour at high tide."] * 10


def test_progress_may_be_a_function():
    seen: list[Progress] = []
    superwords.fit(TEXTS, min_df=2, n_chains=2, n_sweeps=6, random_state=1, progress=seen.append)
    assert sorted((one.chain, one.sweep) for one in seen) == [(c, s) for c in (0, 1) for s in range(1, 7)]
    assert all(one.n_sweeps == 6 for one in seen)


def test_progress_is_said_on_request_and_not_unasked_where_nobody_sits(capsys):
    given = {"min_df": 2, "n_sweeps": 6, "random_state": 1}
    superwords.fit(TEXTS, **given, progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "20 documents, 7 different words, 70 in all." in said.err
    assert "Word features from co-occurrence" in said.err
    assert "chain 2: 6/6 sweeps" in said.err
    for progress in (False, "auto"):
        superwords.fit(TEXTS, **given, progress=progress)
        assert capsys.readouterr() == ("", "")


def test_progress_is_shown_by_default_in_a_terminal_and_in_a_notebook(monkeypatch):
    assert type(make_watcher("auto")) is Watcher
    for name in ("is_terminal", "is_jupyter"):
        with monkeypatch.context() as where:
            console = "superwords.progress.messages" if name == "is_jupyter" else "rich.console.Console"
            where.setattr(f"{console}.{name}", True)
            assert isinstance(make_watcher("auto"), Display)
            assert type(make_watcher(False)) is Watcher


def test_bars_on_a_terminal():
    code = f"import superwords; superwords.fit({TEXTS!r}, min_df=2, n_chains=1, n_sweeps=60, random_state=1)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "COLUMNS": "160"},
    )
    assert told.stdout == ""
    assert "chain 1" in told.stderr
    assert "━" in told.stderr
    assert "concepts" in told.stderr


def test_dir_shows_what_there_is():
    assert {"fit", "ConceptModel", "Corpus", "load", "features"} <= set(dir(superwords))
    for name in dir(superwords):
        assert getattr(superwords, name) is not None
    code = "import superwords; superwords.features.cooccurrence; print(len(dir(superwords)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 15


def test_a_corpus_and_a_model_are_printed_in_a_few_lines():
    corpus = Corpus.from_texts([*TEXTS, "<b>milk</b> & tea & <b>milk</b>"], min_df=1)
    assert str(corpus).startswith("Corpus of 21 documents: 8 different words")
    assert len(str(corpus).splitlines()) == 3
    model = ConceptModel(n_sweeps=8, random_state=1).fit(corpus)
    lines = str(model).splitlines()
    assert lines[0] == f"ConceptModel of 21 documents: {model.n_concepts_} concepts."
    assert lines[-1] == str(model.verdict())
    assert len(lines) <= 8
    for one in (corpus, model):
        assert one._repr_html_().startswith("<div><b>")
        assert "<script" not in one._repr_html_()
    assert str(ConceptModel(b1=3)) == "ConceptModel(b1=3)"
    assert model._repr_mimebundle_()["text/plain"] == str(model)
    assert Corpus.from_counts([[1]], ["<script>"])._repr_html_().count("&lt;script&gt;") == 1


def test_a_table_of_counts_brings_its_words():
    table = pd.DataFrame({"tea": [2, 1, 0, 0], "milk": [1, 2, 0, 0], "ink": [0, 0, 3, 1]}, index=list("abcd"))
    model = ConceptModel(n_sweeps=10, random_state=1).fit(table, features=None)
    assert model.corpus_.vocabulary == ["tea", "milk", "ink"]
    assert model.corpus_.ids == list("abcd")
    plain = ConceptModel(n_sweeps=10, random_state=1).fit(table.to_numpy(), features=None)
    np.testing.assert_array_equal(model.doc_concept_, plain.doc_concept_)
    sparse = ConceptModel(n_sweeps=10, random_state=1).fit(table.astype(pd.SparseDtype(int, 0)), features=None)
    np.testing.assert_array_equal(sparse.doc_concept_, plain.doc_concept_)
    swapped = table[["ink", "tea", "milk"]]
    np.testing.assert_array_equal(model.transform(swapped), model.transform(table.to_numpy()))


def test_a_model_of_texts_folds_texts_in():
    model = ConceptModel(n_sweeps=10, random_state=1).fit(TEXTS)
    assert {"coffee", "harbour"} <= set(model.corpus_.vocabulary)
    assert model.transform(["Sugar!"]).shape == (1, model.n_concepts_)
    assert model.fit_transform(TEXTS).shape == (20, model.n_concepts_)
